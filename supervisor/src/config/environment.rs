//! The environment variables that the command inherits from the operator.

use std::env;
use std::ffi::{CString, NulError, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use guard_openclaw::gateway::{GatewaySettings, SecretVariables};
use guard_policy::environment::{Dropped, Inherited, Variable};
use guard_policy::text::shown;
use guard_policy::{Policy, Reason};

use crate::config::options::Options;

/// The variables that name a proxy. Programs read them in capitals or in small letters, and some know only one form.
pub const PROXIES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// Returns the command's environment: the guard's own, filtered by the policy. Credentials for OpenClaw's
/// gateway are dropped, whatever the name of the variable.
pub fn of_command(policy: &Policy, state: &Path) -> Inherited {
    filtered(env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec())), policy, state)
}

/// Filters these variables by a policy, as [`of_command`] filters the guard's own.
pub fn filtered(given: impl IntoIterator<Item = Variable>, policy: &Policy, state: &Path) -> Inherited {
    let withheld = SecretVariables::find(&GatewaySettings::from_policy(policy), state);
    let is_secret =
        |(name, value): &Variable| withheld.has(OsStr::from_bytes(name), OsStr::from_bytes(value));
    let (ours, others): (Vec<_>, Vec<_>) = given.into_iter().partition(is_secret);
    let mut inherited = policy.environment(others);
    let reason = || Reason::unmentioned("it opens OpenClaw's gateway");
    let dropped = ours.into_iter().map(|(name, _)| Dropped { name, reason: reason() });
    inherited.dropped.extend(dropped);
    inherited
}

/// Gives variables these values, whatever the operator's are.
pub fn replace(inherited: &mut Inherited, variables: Vec<Variable>) {
    inherited.env.retain(|(name, _)| variables.iter().all(|(other, _)| other != name));
    inherited.env.extend(variables);
}

/// The variable that names a proxy, if one is passed on.
pub fn proxy(inherited: &Inherited) -> Option<String> {
    let names_one = |(name, value): &&Variable| {
        let is_name = PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy.as_bytes()));
        is_name && !value.is_empty()
    };
    inherited.env.iter().find(names_one).map(|(name, _)| shown(name))
}

/// Prints which variables are not passed on: one line with all names, or with `-v` one line each with its
/// reason. Values are never shown.
pub fn announce(options: &Options, inherited: &Inherited) {
    let is_verbose = options.verbose > 0;
    for (name, sentence) in &inherited.suspicious {
        eprintln!("openclaw-guard: {}: {sentence}", shown(name));
    }
    let mut dropped =
        inherited.dropped.iter().filter(|one| is_verbose || !one.reason.is_unmentioned()).peekable();
    if is_verbose {
        for one in dropped {
            eprintln!("openclaw-guard: not inherited: {}: {}", shown(&one.name), one.reason.text);
        }
    } else if dropped.peek().is_some() {
        let names: Vec<_> = dropped.map(|one| shown(&one.name)).collect();
        let variables = if names.len() == 1 { "variable is" } else { "variables are" };
        eprintln!(
            "openclaw-guard: {} {variables} not inherited: {} (-v says why)",
            names.len(),
            names.join(", ")
        );
    }
}

/// Returns the files that execvp(3) would try for a command, given the command's `PATH`.
pub fn candidates(name: &OsStr, env: &[Variable]) -> Vec<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(name)];
    }
    let path = env.iter().find(|(name, _)| name == b"PATH").map(|(_, value)| OsStr::from_bytes(value));
    // The fallback of execvp(3).
    env::split_paths(path.unwrap_or("/bin:/usr/bin".as_ref()))
        .map(|directory| if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory })
        .map(|directory| directory.join(name))
        .collect()
}

/// Formats variables as `NAME=VALUE` for execve(2).
///
/// # Errors
/// Returns an error if a variable contains a NUL byte.
pub fn c_strings(env: Vec<Variable>) -> Result<Vec<CString>, NulError> {
    env.into_iter().map(|(name, value)| CString::new([name, value].join(&b'='))).collect()
}
