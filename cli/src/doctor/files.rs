//! Who may change the files that the guard relies on: the policy, the stores, the log, its program, and their
//! directories.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store;
use guard_openclaw::gateway;
use guard_policy::Outcome;
use guard_policy::text::shown;
use guard_supervisor::audit;
use guard_supervisor::config::Paths;

use super::finding::{Findings, State};
use super::mend::{ExcessBits, close};
use super::owners::{Openness, Owners, user, word};
use super::reach::Exposure;

/// Who may read the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrecy {
    /// Everybody.
    Open,
    /// Only its owner, because it may hold a token, or records what was done.
    Private,
    /// Only its owner. If others may read it, the guard refuses to use it.
    Secret,
}

/// A file that the guard relies on.
struct GuardFile {
    name: &'static str,
    path: PathBuf,
    secrecy: Secrecy,
}

/// The files that may exist.
fn guard_files(paths: &Paths, reach: &Exposure<'_>) -> Vec<GuardFile> {
    let of = |name, path: PathBuf, secrecy| GuardFile { name, path, secrecy };
    let state = &paths.state_directory;
    let own = state.join(approvals_store::GUARD);
    let log = paths.audit(reach.policy().and_then(|policy| policy.audit().path.as_deref()));
    let mut all = vec![
        of("guard.json", paths.policy.clone(), Secrecy::Open),
        of("state", paths.state.clone(), Secrecy::Private),
        of("openclaw.json", gateway::config(&paths.state), Secrecy::Private),
        of("exec-approvals.json", state.join(approvals_store::NAME), Secrecy::Private),
        of("guard", own.clone(), Secrecy::Private),
        of("approvals.json", approvals_store::own(state), Secrecy::Private),
        of("workspaces", own.join("workspaces.jsonl"), Secrecy::Private),
        of("gateway-policy.json", approvals_store::gateways(state), Secrecy::Private),
        of("device.json", own.join(gateway::DEVICE), Secrecy::Secret),
        of("node-device.json", own.join(gateway::NODE_DEVICE), Secrecy::Secret),
        of("audit-files", audit::beside(&log), Secrecy::Private),
        of("audit", log, Secrecy::Private),
    ];
    let token = reach.policy().and_then(|policy| gateway::GatewaySettings::from_policy(policy).token_file);
    all.extend(token.and_then(Result::ok).map(|path| of("token", path, Secrecy::Secret)));
    all.extend(std::env::current_exe().ok().map(|path| of("program", path, Secrecy::Open)));
    all
}

/// Checks every file that exists, and the directories that lead to it.
pub fn check(paths: &Paths, reach: &Exposure<'_>, findings: &mut Findings) {
    let owners = Owners::find(&paths.home);
    let all = guard_files(paths, reach);
    for one in &all {
        let Ok(meta) = fs::metadata(&one.path) else { continue };
        let before = findings.all().len();
        open(one, &meta, &owners, findings);
        written(one, reach, findings);
        if findings.all().len() == before {
            let path = shown(one.path.as_os_str().as_encoded_bytes());
            findings.ok(one.name, format!("{path} ({:04o})", meta.mode() & 0o7777));
        }
    }
    check_parents(&all, reach, &owners, findings);
    check_record(paths, findings);
}

/// Reports a record of runs that is lost.
fn check_record(paths: &Paths, findings: &mut Findings) {
    let Some((path, why)) = paths.lost_record() else { return };
    let path = shown(path.as_os_str().as_encoded_bytes());
    findings.warning(
        "record",
        format!(
            "{path}: {why}; so any earlier run may have written anything: no saved answer counts, and no repository \
             above the start directory"
        ),
        format!("if you trust what guarded runs have written until now, remove it: `rm {path}`"),
    );
}

/// Removes the permissions of others for the files of this user that the guard relies on, and for the directories on
/// the way to them (`--fix`).
pub fn mend(paths: &Paths, reach: &Exposure<'_>, findings: &mut Findings) {
    let owners = Owners::find(&paths.home);
    let all = guard_files(paths, reach);
    for one in &all {
        let Ok(meta) = fs::metadata(&one.path) else { continue };
        let written = match owners.openness(&meta) {
            Openness::Closed => 0,
            Openness::Group => 0o020,
            Openness::Everybody => 0o022,
            Openness::Other(_) => continue,
        };
        let read = if one.secrecy == Secrecy::Open || meta.mode() & 0o044 == 0 { 0 } else { 0o077 };
        close(&one.path, ExcessBits(written | read), findings);
    }
    for directory in parents(&all, reach) {
        match fs::metadata(&directory).map(|meta| owners.openness(&meta)) {
            Ok(Openness::Group) => close(&directory, ExcessBits(0o020), findings),
            Ok(Openness::Everybody) => close(&directory, ExcessBits(0o002), findings),
            _ => {}
        }
    }
}

/// Reports what the mode and owner let others do.
fn open(one: &GuardFile, meta: &fs::Metadata, owners: &Owners, findings: &mut Findings) {
    let path = shown(one.path.as_os_str().as_encoded_bytes());
    let is_directory = if meta.is_dir() { "the directory " } else { "" };
    match owners.openness(meta) {
        Openness::Closed => {}
        Openness::Everybody => findings.problem(
            one.name,
            format!("everybody may write {is_directory}{path}"),
            format!("chmod go-w {}", word(&one.path)),
        ),
        Openness::Group => findings.warning(
            one.name,
            format!("the group {} may write {is_directory}{path}", meta.gid()),
            format!("chmod g-w {}", word(&one.path)),
        ),
        Openness::Other(uid) => findings.problem(
            one.name,
            format!("{is_directory}{path} belongs to {}, who may change it", user(uid)),
            format!("chown \"$(id -u)\" {}", word(&one.path)),
        ),
    }
    if meta.mode() & 0o044 == 0 || one.secrecy == Secrecy::Open {
        return;
    }
    let mode = if meta.is_dir() { 700 } else { 600 };
    let fix = format!("chmod {mode} {}", word(&one.path));
    if one.secrecy == Secrecy::Secret {
        findings.problem(one.name, format!("others may read {path}, which is therefore not used"), fix);
    } else {
        let why = if meta.is_dir() { "see what is in" } else { "read" };
        findings.warning(one.name, format!("others may {why} {path}"), fix);
    }
}

/// Reports whether the tree may write or replace a file.
fn written(one: &GuardFile, reach: &Exposure<'_>, findings: &mut Findings) {
    let (links, end) = reach.trail(&one.path);
    let fix = "add it to permissions.filesystem.deny of guard.json";
    if let Some((state, may)) = danger(reach.writes(&end)) {
        let what = if one.name == "program" { ", which starts the next guard" } else { "" };
        let path = shown(end.as_os_str().as_encoded_bytes());
        findings.add(state, one.name, format!("the guarded tree {may} write {path}{what}"), fix.to_owned());
    }
    for link in links {
        if let Some((state, may)) = danger(reach.writes(&link)) {
            let path = shown(link.as_os_str().as_encoded_bytes());
            let text = format!("the guarded tree {may} replace the link {path} on the way to it");
            findings.add(state, one.name, text, format!("give a path without that link, or {fix}"));
        }
    }
}

fn danger(outcome: Outcome) -> Option<(State, &'static str)> {
    match outcome {
        Outcome::Allow => Some((State::Problem, "may")),
        Outcome::Ask => Some((State::Warning, "may, after asking,")),
        Outcome::Deny => None,
    }
}

/// The directories that lead to these files, without directories that are themselves among the files.
fn parents(all: &[GuardFile], reach: &Exposure<'_>) -> BTreeSet<PathBuf> {
    let mut directories = BTreeSet::new();
    for one in all {
        let (links, end) = reach.trail(&one.path);
        for path in links.iter().chain([&end]) {
            directories.extend(path.ancestors().skip(1).map(Path::to_owned));
        }
    }
    // These directories have been checked themselves.
    let itself: Vec<_> = all.iter().map(|one| reach.trail(&one.path).1).collect();
    directories.retain(|directory| !itself.contains(directory));
    directories
}

/// A process that may write a directory may replace the files in it.
fn check_parents(all: &[GuardFile], reach: &Exposure<'_>, owners: &Owners, findings: &mut Findings) {
    let mut fine = 0;
    for directory in parents(all, reach) {
        let Ok(meta) = fs::metadata(&directory) else { continue };
        let path = shown(directory.as_os_str().as_encoded_bytes());
        let what = "and so replace the files in it";
        match owners.openness(&meta) {
            Openness::Closed => fine += 1,
            Openness::Everybody => findings.problem(
                "way",
                format!("everybody may write {path}, {what}"),
                format!("chmod o-w {}", word(&directory)),
            ),
            Openness::Group => findings.warning(
                "way",
                format!("the group {} may write {path}, {what}", meta.gid()),
                format!("chmod g-w {}", word(&directory)),
            ),
            Openness::Other(uid) => findings.problem(
                "way",
                format!("{path} belongs to {}, who may replace the files in it", user(uid)),
                format!("chown \"$(id -u)\" {}", word(&directory)),
            ),
        }
    }
    findings.ok("way", format!("nobody else may write the {fine} directories above these files"));
}
