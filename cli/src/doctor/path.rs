//! The operator's PATH: who may leave a program there that the operator starts later, outside of the guard.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard_policy::Outcome;
use guard_policy::text::shown;
use guard_supervisor::config::Places;

use super::finding::Findings;
use super::owners::{Openness, Owners, user, word};
use super::reach::Reach;

const DENY: &str = "add it to permissions.filesystem.deny of guard.json, or take it out of PATH";

/// Each directory of PATH.
pub fn look(places: &Places, reach: &Reach<'_>, findings: &mut Findings) {
    let Some(path) = env::var_os("PATH") else {
        return findings.note("path", "there is no PATH");
    };
    let owners = Owners::of(&places.home);
    let mut seen: Vec<PathBuf> = Vec::new();
    let (mut fine, mut missing) = (0, Vec::new());
    for directory in env::split_paths(&path) {
        if seen.contains(&directory) {
            continue;
        }
        match judge(&directory, reach, &owners) {
            Way::Fine => fine += 1,
            Way::Missing => missing.push(shown(directory.as_os_str().as_encoded_bytes())),
            Way::Problem(text, fix) => findings.problem("path", text, fix),
            Way::Warning(text, fix) => findings.warning("path", text, fix),
        }
        seen.push(directory);
    }
    if !missing.is_empty() {
        findings.note("path-missing", format!("not there: {}", missing.join(", ")));
    }
    let of = if reach.policy().is_some() { "neither others nor the guarded tree" } else { "nobody else" };
    findings.ok("path", format!("{fine} directories that {of} may write"));
}

enum Way {
    Fine,
    Missing,
    Warning(String, String),
    Problem(String, String),
}

fn judge(directory: &Path, reach: &Reach<'_>, owners: &Owners) -> Way {
    let path = shown(directory.as_os_str().as_encoded_bytes());
    if !directory.is_absolute() {
        let what = if path.is_empty() { "an empty entry".to_owned() } else { format!("\"{path}\"") };
        let text = format!("{what}: a program runs that lies in whatever directory you are in");
        return Way::Problem(text, "take it out of PATH".to_owned());
    }
    let Ok(meta) = fs::metadata(directory) else {
        return match reach.makes(directory) {
            Outcome::Allow => Way::Problem(
                format!("{path} is not there, and the guarded tree may make it"),
                "take it out of PATH, or make it".to_owned(),
            ),
            _ => Way::Missing,
        };
    };
    match reach.leaves_in(directory) {
        Outcome::Allow => {
            return Way::Problem(format!("the guarded tree may leave programs in {path}"), DENY.to_owned());
        }
        Outcome::Ask => {
            let text = format!("the guarded tree may leave programs in {path}, after asking");
            return Way::Warning(text, DENY.to_owned());
        }
        Outcome::Deny => {}
    }
    // A sticky directory takes new files from everybody.
    if meta.mode() & 0o002 != 0 {
        return Way::Problem(
            format!("everybody may leave programs in {path}"),
            format!("chmod o-w {}, or take it out of PATH", word(directory)),
        );
    }
    match owners.openness(&meta) {
        Openness::Other(uid) => {
            Way::Warning(format!("{path} belongs to {}", user(uid)), "take it out of PATH".to_owned())
        }
        Openness::Group => Way::Warning(
            format!("the group {} may leave programs in {path}", meta.gid()),
            format!("chmod g-w {}", word(directory)),
        ),
        Openness::Closed | Openness::Everybody => Way::Fine,
    }
}
