//! Notices when a hierarchy that the floor grants is moved, replaced, or mounted over.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use guard_shim::failpoints::{Fallible, fail_point};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::LandlockPlan;
use super::grants::Grants;
use crate::panics::{Panic, restart_on_panic};

/// The minimum time between two checks.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Watches for as long as the process lives. Moves by the tree itself are checked at once by [`Grants::recheck_below`];
/// this is for the rest of the machine. Until a change is noticed, the floor refuses what is new there. `tell` receives
/// panics.
///
/// # Errors
/// If watching is impossible, or no thread can be started.
pub fn watch(plan: &LandlockPlan, tell: impl Fn(&Panic) + Send + 'static) -> std::io::Result<()> {
    let grants = Arc::clone(plan.grants());
    if grants.is_empty() {
        return Ok(());
    }
    let changes = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    // The kernel wakes pollers of this file when something is mounted or unmounted (proc_pid_mounts(5)).
    let mounts = std::fs::File::open("/proc/self/mountinfo")?;
    let look = move || {
        attend(&changes, &grants);
        // Something may have moved before the watch began.
        grants.recheck();
        fail_point(Fallible::Floor, b"");
        loop {
            let mut ready = [
                PollFd::new(changes.as_fd(), PollFlags::POLLIN),
                PollFd::new(mounts.as_fd(), PollFlags::POLLPRI),
            ];
            if poll(&mut ready, PollTimeout::NONE).is_err() {
                continue;
            }
            drain(&changes);
            grants.recheck();
            attend(&changes, &grants);
            // Names come and go all the time next to a hierarchy in /tmp.
            std::thread::sleep(RETRY_INTERVAL);
        }
    };
    std::thread::Builder::new().name("floor".into()).spawn(move || restart_on_panic(look, tell))?;
    Ok(())
}

/// Watches the hierarchies and the directories above, whose moves also move what is below. If an open object is
/// removed, only its directory reports it, and for a file its link count.
fn attend(changes: &OwnedFd, grants: &Grants) {
    let itself = WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF | WatchFlags::DONT_FOLLOW;
    let mut paths: BTreeMap<&[u8], WatchFlags> = BTreeMap::new();
    for (path, _) in grants.iter() {
        for end in (1..path.len()).filter(|&end| path[end] == b'/') {
            paths.entry(&path[..end]).or_insert(itself);
        }
        let parent = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0).max(1);
        *paths.entry(&path[..parent]).or_insert(itself) |= WatchFlags::DELETE | WatchFlags::MOVED_FROM;
        *paths.entry(path).or_insert(itself) |= WatchFlags::ATTRIB;
    }
    for (path, what) in paths {
        // Errors are fine: a hierarchy that is gone has already been checked.
        let _ = inotify::add_watch(changes, path, what);
    }
}

fn drain(changes: &OwnedFd) {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(changes, &mut buffer);
    loop {
        match reader.next() {
            Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {}
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
