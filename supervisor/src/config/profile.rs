//! Finds the profile of the guarded command.
//!
//! The operator chooses the command by its name, but a guarded program may have put another program there. So a name
//! counts only if no run, under this policy or in a directory of an earlier run, may write that program or put another
//! one into `PATH`. The program must also be where programs are installed, because the record of runs does not have
//! everything that runs could write.
//!
//! Why: docs/decisions.md, "A command's name gives it a profile only where no run could have chosen what it names."

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use guard_openclaw::real_path::real;
use guard_policy::environment::Variable;
use guard_policy::text::shown;
use guard_policy::{Policy, Profile};

use crate::config::Paths;
use crate::config::environment::candidates;
use crate::config::options::Options;
use crate::config::realpath::Links;

/// The result of the search.
#[derive(Debug, PartialEq, Eq)]
pub enum FoundProfile {
    /// The command is not an agent's, or the policy already has all of the profile: the command line names it, or the
    /// operator wrote it into the policy.
    Absent,
    /// The command gets this profile.
    Present(Profile),
    /// A guarded program may have made the program that would start, so its name means nothing. Contains the path.
    Untrusted(Profile, PathBuf),
}

impl FoundProfile {
    /// From now on, policies are compiled with the profile. Returns whether there is a profile.
    pub fn lay_over(&self, paths: &mut Paths) -> bool {
        let FoundProfile::Present(profile) = *self else { return false };
        paths.profile = Some(profile);
        true
    }

    /// Returns the line for the operator.
    pub fn line(&self) -> Option<String> {
        match self {
            FoundProfile::Absent => None,
            FoundProfile::Present(profile) => {
                let kept: Vec<&str> = profile.own_paths().collect();
                Some(format!(
                    "profile {}: its own files are allowed, too ({}); --profile none leaves it out",
                    profile.as_str(),
                    kept.join(" ")
                ))
            }
            FoundProfile::Untrusted(profile, path) => Some(format!(
                "profile {} is left out: a guarded program may have written {}; --profile {0} uses it all the same",
                profile.as_str(),
                shown(path.as_os_str().as_bytes())
            )),
        }
    }
}

/// Finds the profile for a command, if the command line names none. `policy` is the policy in force without a profile.
pub fn find(options: &Options, paths: &Paths, command: &OsStr, policy: &Policy) -> FoundProfile {
    // With an untrusted environment, the operator has chosen neither the command nor PATH.
    if options.profile.is_some() || options.untrusted_environment {
        return FoundProfile::Absent;
    }
    let name = Path::new(command).file_name().unwrap_or_default();
    let of_command = Profile::of_command(name.as_bytes());
    let Some(profile) = of_command.filter(|profile| !profile.is_granted_by(policy)) else {
        return FoundProfile::Absent;
    };
    let record = paths.runs();
    let is_writable =
        |path: &Path| policy.writable_unasked(path.as_os_str().as_bytes()) || record.may_be_written(path);
    let home = paths.home.as_os_str().as_bytes();
    let is_installed = |path: &Path| profile.has_program_at(path.as_os_str().as_bytes(), home);
    let links = Links::default();
    let mut found = FoundProfile::Absent;
    // All candidates count: if one is refused, execvp(3) tries the next.
    for candidate in candidates(command, &policy.environment(environment()).env) {
        let written = paths.cwd.join(candidate);
        let name = named(&written);
        if is_writable(&name) {
            return FoundProfile::Untrusted(profile, name);
        }
        if found == FoundProfile::Absent && is_program(&name) {
            // Each link on the way decides what starts, also a link to a directory.
            let trail = |path: &Path| {
                let way = links.trail(path.as_os_str().as_bytes()).into_iter();
                way.map(|path| PathBuf::from(OsString::from_vec(path)))
            };
            let mut way = [name.clone()].into_iter().chain(trail(&name));
            let unfit = way.find(|path| is_writable(path) || !is_installed(path));
            let unfit = unfit.or_else(|| trail(&written).find(|path| is_writable(path)));
            if let Some(path) = unfit {
                return FoundProfile::Untrusted(profile, path);
            }
            found = FoundProfile::Present(profile);
        }
    }
    found
}

/// Returns the path of a file in the real form of its directory.
fn named(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(name)) => real(directory).join(name),
        _ => path.to_owned(),
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn environment() -> Vec<Variable> {
    env::vars_os().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}
