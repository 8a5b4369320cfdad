//! Temporary files of writers that died: `.exec-approvals.PID.UUID.tmp`, as OpenClaw names its own.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use super::directory::Directory;
use super::disk::Disk;

/// The age from which a file counts as stale if its writer looks dead. A writer needs much less time, but a
/// living writer in another pid namespace looks dead from here.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// Returns the name of a new temporary file.
pub fn temporary() -> String {
    format!(".exec-approvals.{}.{}.tmp", getpid().as_raw_nonzero(), super::new_id())
}

/// Removes stale files. The caller holds the lock, so this process itself uses no temporary file.
///
/// # Errors
/// The kernel's error if the directory cannot be read. A file that cannot be removed stays.
pub fn remove(disk: &dyn Disk, directory: &Directory) -> io::Result<()> {
    for entry in Dir::read_from(directory)?.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if writer(name).is_some_and(is_dead) && is_old(directory, name) {
            // The next writer tries again.
            let _ = disk.remove(directory.as_fd(), name);
        }
    }
    Ok(())
}

fn writer(name: &str) -> Option<Pid> {
    let (pid, _) = name.strip_prefix(".exec-approvals.")?.strip_suffix(".tmp")?.split_once('.')?;
    Pid::from_raw(pid.parse().ok().filter(|pid| *pid > 0)?)
}

fn is_dead(pid: Pid) -> bool {
    pid == getpid() || test_kill_process(pid) == Err(Errno::SRCH)
}

fn is_old(directory: &Directory, name: &str) -> bool {
    let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return false };
    let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
    let age = SystemTime::now().duration_since(changed).unwrap_or_default();
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && age >= STALE_AFTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_writers_are_taken_for_such() {
        assert_eq!(writer(&temporary()), Some(getpid()));
        for name in [
            "exec-approvals.json",
            ".exec-approvals.tmp",
            ".exec-approvals.12.tmp",
            ".exec-approvals.x.y.tmp",
            ".exec-approvals.0.y.tmp",
            ".exec-approvals.-1.y.tmp",
            ".exec-approvals.12.y.tmp.bak",
            ".exec-approvals.99999999999.y.tmp",
        ] {
            assert_eq!(writer(name), None, "{name}");
        }
    }
}
