//! Checks the space for the audit log, and lists the guards that write it.

use std::path::Path;

use guard_policy::text::shown;
use guard_policy::{OnError, Policy};
use guard_supervisor::config::Paths;
use rustix::fs::statvfs;

use super::finding::Findings;
use crate::approvals::client::Guards;

/// The bytes that a day of work may need.
const ENOUGH: u64 = 64 << 20;

/// Runs both checks.
pub fn look(paths: &Paths, policy: Option<&Policy>, findings: &mut Findings) {
    let settings = policy.map(Policy::audit);
    let log = paths.audit(settings.and_then(|settings| settings.path.as_deref()));
    disk(&log, ENOUGH, settings.map(|settings| settings.on_error).unwrap_or_default(), findings);
    guards(paths, findings);
}

/// Checks the space that this user may fill on the log's file system.
fn disk(log: &Path, enough: u64, on_error: OnError, findings: &mut Findings) {
    let path = shown(log.as_os_str().as_encoded_bytes());
    let found = log.ancestors().find_map(|directory| statvfs(directory).ok());
    let Some(found) = found else {
        return findings.note("disk", format!("the free space for {path} is unknown"));
    };
    let room = found.f_bavail.saturating_mul(found.f_frsize);
    let text = format!("{} MiB are free for {path}", room >> 20);
    // Some file systems have no limit on files (btrfs).
    let is_out_of_names = found.f_files > 0 && found.f_favail == 0;
    if room < enough || is_out_of_names {
        let text = if is_out_of_names { format!("no file can be created for {path}") } else { text };
        return findings.warning(
            "disk",
            format!("{text}: a call that cannot be logged {}", becomes(on_error)),
            "free some space, or move the log elsewhere with --audit or audit.path",
        );
    }
    findings.ok("disk", text);
}

/// What happens to a call whose line cannot be written.
fn becomes(on_error: OnError) -> &'static str {
    match on_error {
        OnError::Deny => "is denied (audit.onError)",
        OnError::Continue => "goes on without a record (audit.onError is \"continue\")",
    }
}

/// Lists this user's other guards.
fn guards(paths: &Paths, findings: &mut Findings) {
    match Guards::find(&paths.state_directory).and_then(|guards| guards.pids()) {
        Ok(pids) => {
            let alive = |pid: &u32| Path::new("/proc").join(pid.to_string()).exists();
            let pids: Vec<_> = pids.into_iter().filter(alive).map(|pid| pid.to_string()).collect();
            match pids.len() {
                0 => findings.ok("guards", "none runs now"),
                1 => findings.ok("guards", format!("one runs now: process {}", pids[0])),
                count => findings.ok("guards", format!("{count} run now: processes {}", pids.join(", "))),
            }
        }
        Err(error) => findings.warning(
            "guards",
            format!("running guards cannot be found, so their questions cannot be answered: {error}"),
            format!("look at {}/guard/run", shown(paths.state_directory.as_os_str().as_encoded_bytes())),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Section, State};
    use super::*;

    #[test]
    fn a_disk_without_room_is_reported() {
        let of = |enough| {
            let mut findings = Findings::about(Section::Host);
            disk(Path::new("/no/such/directory/audit.jsonl"), enough, OnError::Deny, &mut findings);
            findings.all()[0].state
        };
        assert_eq!(of(0), State::Ok);
        assert_eq!(of(u64::MAX), State::Warning);
    }
}
