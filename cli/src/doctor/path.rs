//! Checks the operator's PATH: who may put a program there that the operator later starts outside the guard.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard_policy::Outcome;
use guard_policy::text::shown;
use guard_supervisor::config::Paths;

use super::finding::Findings;
use super::owners::{Openness, Owners, user, word};
use super::reach::Exposure;

const DENY: &str = "add it to permissions.filesystem.deny of guard.json, or take it out of PATH";

/// Checks each directory of PATH.
pub fn look(paths: &Paths, reach: &Exposure<'_>, findings: &mut Findings) {
    let Some(path) = env::var_os("PATH") else {
        return findings.note("path", "PATH is not set");
    };
    let owners = Owners::find(&paths.home);
    let mut seen: Vec<PathBuf> = Vec::new();
    let (mut fine, mut missing) = (0, Vec::new());
    for directory in env::split_paths(&path) {
        if seen.contains(&directory) {
            continue;
        }
        match judge(&directory, reach, &owners) {
            Judgement::Fine => fine += 1,
            Judgement::Missing => missing.push(shown(directory.as_os_str().as_encoded_bytes())),
            Judgement::Problem(text, fix) => findings.problem("path", text, fix),
            Judgement::Warning(text, fix) => findings.warning("path", text, fix),
        }
        seen.push(directory);
    }
    if !missing.is_empty() {
        findings.note("path-missing", format!("missing: {}", missing.join(", ")));
    }
    let of = if reach.policy().is_some() { "neither others nor the guarded tree" } else { "nobody else" };
    findings.ok("path", format!("{of} may write its {fine} directories"));
}

enum Judgement {
    Fine,
    Missing,
    Warning(String, String),
    Problem(String, String),
}

fn judge(directory: &Path, reach: &Exposure<'_>, owners: &Owners) -> Judgement {
    let path = shown(directory.as_os_str().as_encoded_bytes());
    if !directory.is_absolute() {
        let what = if path.is_empty() { "an empty entry".to_owned() } else { format!("\"{path}\"") };
        let text = format!(
            "{what}: commands start programs from the current directory, whichever it is, and the guarded tree may put \
             some where it works"
        );
        return Judgement::Problem(text, "take it out of PATH".to_owned());
    }
    let Ok(meta) = fs::metadata(directory) else {
        return match reach.makes(directory) {
            Outcome::Allow => Judgement::Problem(
                format!("{path} does not exist, and the guarded tree may create it"),
                "take it out of PATH, or create it".to_owned(),
            ),
            _ => Judgement::Missing,
        };
    };
    match reach.leaves_in(directory) {
        Outcome::Allow => {
            return Judgement::Problem(
                format!("the guarded tree may put programs into {path}"),
                DENY.to_owned(),
            );
        }
        Outcome::Ask => {
            let text = format!("the guarded tree may put programs into {path}, after asking");
            return Judgement::Warning(text, DENY.to_owned());
        }
        Outcome::Deny => {}
    }
    // A sticky directory, too, accepts new files from everybody.
    if meta.mode() & 0o002 != 0 {
        return Judgement::Problem(
            format!("everybody may put programs into {path}"),
            format!("chmod o-w {}, or take it out of PATH", word(directory)),
        );
    }
    match owners.openness(&meta) {
        Openness::Other(uid) => {
            Judgement::Warning(format!("{path} belongs to {}", user(uid)), "take it out of PATH".to_owned())
        }
        Openness::Group => Judgement::Warning(
            format!("the group {} may put programs into {path}", meta.gid()),
            format!("chmod g-w {}", word(directory)),
        ),
        Openness::Closed | Openness::Everybody => Judgement::Fine,
    }
}
