//! Notices when what the floor grants is moved, replaced, or mounted over.

use std::collections::{BTreeMap, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_shim::failpoints::{Fallible, fail_point};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::grants::{Grants, PlacedGrant};
use super::location::Location;
use crate::panics::{Panic, restart_on_panic};

/// The minimum time between two checks.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// The time between two checks if the kernel does not report every change.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long the watch checks at that interval before it has the kernel report changes. The kernel takes up to 20 ms to
/// close an inotify instance, and the end of a short command would wait for that.
const POLL_PERIOD: Duration = Duration::from_secs(1);

/// Watches for as long as the process lives. Moves by the tree itself are checked at once by [`Grants::recheck_below`];
/// this is for the rest of the machine. `relocated` is called after something that is granted was found elsewhere than
/// before, and `tell` receives panics.
///
/// # Errors
/// If no thread can be started.
pub fn watch(
    grants: &Arc<Grants>,
    relocated: impl Fn() + Send + 'static,
    tell: impl Fn(&Panic) + Send + 'static,
) -> std::io::Result<()> {
    let grants = Arc::clone(grants);
    if grants.iter().next().is_none() {
        return Ok(());
    }
    let look = move || follow(&grants, &relocated);
    std::thread::Builder::new().name("floor".into()).spawn(move || restart_on_panic(look, tell))?;
    Ok(())
}

fn follow(grants: &Grants, relocated: &impl Fn()) {
    // The kernel wakes pollers of this file when something is mounted or unmounted (proc_pid_mounts(5)).
    let mounts = std::fs::File::open("/proc/self/mountinfo");
    let started = Instant::now();
    let mut changes: Option<Result<OwnedFd, Errno>> = None;
    let mut is_mounted =
        wait(None, mounts.as_ref().ok(), Some(started + POLL_INTERVAL), grants) == Change::Mount;
    if is_mounted {
        grants.look_at_mounts();
    }
    loop {
        if changes.is_none() && started.elapsed() >= POLL_PERIOD {
            changes = Some(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK));
        }
        let changes = changes.as_ref().and_then(|changes| changes.as_ref().ok());
        let is_watched = changes.is_some_and(|changes| attend(changes, grants).is_ok());
        // After the watches: something may have moved before they began.
        let is_moved = grants.recheck();
        if is_moved || std::mem::take(&mut is_mounted) {
            relocated();
        }
        if is_moved {
            // Other directories lead there now.
            continue;
        }
        fail_point(Fallible::Floor, b"");
        std::thread::sleep(RETRY_INTERVAL);
        // Without: it is too early, there are too many watches (inotify(7)), or no /proc.
        let is_reported = is_watched && mounts.is_ok();
        let due = (!is_reported).then(|| Instant::now() + POLL_INTERVAL);
        is_mounted = wait(changes, mounts.as_ref().ok(), due, grants) == Change::Mount;
        if is_mounted {
            grants.look_at_mounts();
        }
    }
}

/// What may have changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Something was mounted or unmounted.
    Mount,
    /// The place of a grant.
    Other,
}

/// Waits until something that is granted may have changed, or until then.
fn wait(
    changes: Option<&OwnedFd>,
    mounts: Option<&std::fs::File>,
    due: Option<Instant>,
    grants: &Grants,
) -> Change {
    let names: HashSet<Vec<u8>> =
        grants.iter().filter_map(|granted| Some(name(&granted)?.to_vec())).collect();
    loop {
        let mut ready = Vec::new();
        ready.extend(changes.map(|changes| PollFd::new(changes.as_fd(), PollFlags::POLLIN)));
        ready.extend(mounts.map(|mounts| PollFd::new(mounts.as_fd(), PollFlags::POLLPRI)));
        // Other events must not put the end off.
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        let timeout = left.map_or(PollTimeout::NONE, |left| left.try_into().unwrap_or(PollTimeout::ZERO));
        match poll(&mut ready, timeout) {
            Ok(0) => return Change::Other,
            Ok(_) => {}
            Err(_) => continue,
        }
        let is_mount = ready
            .last()
            .and_then(PollFd::revents)
            .is_some_and(|events| events.intersects(PollFlags::POLLPRI | PollFlags::POLLERR));
        if is_mount {
            return Change::Mount;
        }
        if changes.is_some_and(|changes| concerns(changes, &names)) {
            return Change::Other;
        }
    }
}

/// The last name of a grant's path; `None` if it is nowhere, or `/`.
fn name<'g>(granted: &'g PlacedGrant<'_>) -> Option<&'g [u8]> {
    match &granted.location {
        Location::At(path) => path.rsplit(|&byte| byte == b'/').next(),
        Location::Gone | Location::Unknown => None,
    }
}

/// Watches what is granted and the directories above, whose moves also move what is below. If an open object is
/// removed, only its directory reports it, and for a file its link count.
///
/// # Errors
/// If something cannot be watched.
fn attend(changes: &OwnedFd, grants: &Grants) -> Result<(), Errno> {
    let itself = WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF | WatchFlags::DONT_FOLLOW;
    let mut paths: BTreeMap<Vec<u8>, WatchFlags> = BTreeMap::new();
    for granted in grants.iter() {
        let Location::At(path) = granted.location else { continue };
        for end in (1..path.len()).filter(|&end| path[end] == b'/') {
            paths.entry(path[..end].to_vec()).or_insert(itself);
        }
        let parent = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0).max(1);
        *paths.entry(path[..parent].to_vec()).or_insert(itself) |=
            WatchFlags::DELETE | WatchFlags::MOVED_FROM;
        *paths.entry(path).or_insert(itself) |= WatchFlags::ATTRIB;
    }
    for (path, what) in paths {
        match inotify::add_watch(changes, path, what) {
            // It has just gone: the check after this notices.
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads all events. Returns whether one concerns a grant: names come and go all the time next to a directory in /tmp.
fn concerns(changes: &OwnedFd, names: &HashSet<Vec<u8>>) -> bool {
    let mut is_ours = false;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(changes, &mut buffer);
    loop {
        match reader.next() {
            // An event without a name is about what is watched itself, or says that some events are lost.
            Ok(event) if !event.events().contains(ReadFlags::IGNORED) => {
                is_ours |= event.file_name().is_none_or(|name| names.contains(name.to_bytes()));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return is_ours,
        }
    }
}
