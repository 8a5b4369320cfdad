//! Notices when what the floor grants is moved, replaced, or mounted over.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_policy::Unreadable;
use guard_shim::failpoints::{Fallible, fail_point};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::awaited::{NextName, WatchedNames, existing};
use super::grants::Grants;
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
/// this is for the rest of the machine. `relocated` is called after a granted object was found at another place, or
/// after something appeared or disappeared at one of the `awaited` paths. `tell` receives panics. Returns the handle
/// that wakes the watch when other paths are awaited; `None` if nothing is granted.
///
/// # Errors
/// If no thread can be started.
pub fn watch(
    grants: &Arc<Grants>,
    awaited: impl Fn() -> Vec<Unreadable> + Send + 'static,
    relocated: impl Fn() + Send + 'static,
    tell: impl Fn(&Panic) + Send + 'static,
) -> std::io::Result<Option<Waker>> {
    let grants = Arc::clone(grants);
    if grants.iter().next().is_none() {
        return Ok(None);
    }
    let waker = Waker::new()?;
    let wakes = waker.clone();
    let look = move || follow(&grants, &wakes, &awaited, &relocated);
    std::thread::Builder::new().name("floor".into()).spawn(move || restart_on_panic(look, tell))?;
    Ok(Some(waker))
}

/// Wakes the watch (eventfd(2)).
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    fn new() -> Result<Waker, Errno> {
        Ok(Waker(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    /// Makes the watch look again at what is awaited.
    pub fn wake(&self) {
        // It fails only if 2^64 - 2 wake-ups are pending.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Takes the pending wake-ups. Returns whether there were any.
    fn take(&self) -> bool {
        rustix::io::read(&self.0, &mut [0; 8]).is_ok()
    }
}

fn follow(grants: &Grants, waker: &Waker, awaited: &impl Fn() -> Vec<Unreadable>, relocated: &impl Fn()) {
    // The kernel wakes pollers of this file when something is mounted or unmounted (proc_pid_mounts(5)).
    let mounts = std::fs::File::open("/proc/self/mountinfo");
    let started = Instant::now();
    let mut changes: Option<Result<OwnedFd, Errno>> = None;
    let mut present: Vec<Vec<u8>> = Vec::new();
    let mut names = WatchedNames::default();
    let mut due = Some(started + POLL_INTERVAL);
    loop {
        let events = changes.as_ref().and_then(|changes| changes.as_ref().ok());
        let is_mounted = wait(events, mounts.as_ref().ok(), waker, due, &names) == Change::Mount;
        if is_mounted {
            grants.look_at_mounts();
        }
        let mut is_due = is_mounted;
        // If something has moved, the loop runs again, because other directories lead there now.
        loop {
            if changes.is_none() && started.elapsed() >= POLL_PERIOD {
                changes = Some(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK));
            }
            let events = changes.as_ref().and_then(|changes| changes.as_ref().ok());
            let awaited = awaited();
            let is_watched = events.is_some_and(|events| attend(events, grants, &awaited).is_ok());
            // The check comes after the watches, because something may have moved before they began.
            let is_moved = grants.recheck();
            let now: Vec<_> = awaited.iter().filter_map(existing).collect();
            let is_changed = std::mem::replace(&mut present, now) != present;
            names = names_of(grants, &awaited);
            // The kernel does not report every change if it is too early, if there are too many watches (inotify(7)),
            // or without /proc.
            let is_reported = is_watched && mounts.is_ok();
            due = (!is_reported).then(|| Instant::now() + POLL_INTERVAL);
            if !is_moved && !is_changed && !is_due {
                break;
            }
            relocated();
            is_due = false;
        }
        fail_point(Fallible::Floor, || b"");
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// What may have changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Something was mounted or unmounted.
    Mount,
    /// The place of a grant, or what is awaited.
    Other,
}

/// Waits until something that is granted may have changed, or until `due`.
fn wait(
    changes: Option<&OwnedFd>,
    mounts: Option<&std::fs::File>,
    waker: &Waker,
    due: Option<Instant>,
    names: &WatchedNames,
) -> Change {
    loop {
        let mut ready = vec![PollFd::new(waker.0.as_fd(), PollFlags::POLLIN)];
        ready.extend(changes.map(|changes| PollFd::new(changes.as_fd(), PollFlags::POLLIN)));
        ready.extend(mounts.map(|mounts| PollFd::new(mounts.as_fd(), PollFlags::POLLPRI)));
        // Events of other names must not delay the end of the wait.
        let left = due.map(|due| due.saturating_duration_since(Instant::now()));
        let timeout = left.map_or(PollTimeout::NONE, |left| left.try_into().unwrap_or(PollTimeout::ZERO));
        match poll(&mut ready, timeout) {
            Ok(0) => return Change::Other,
            Ok(_) => {}
            Err(_) => continue,
        }
        let is_mount = mounts.is_some()
            && ready
                .last()
                .and_then(PollFd::revents)
                .is_some_and(|events| events.intersects(PollFlags::POLLPRI | PollFlags::POLLERR));
        if is_mount {
            return Change::Mount;
        }
        if waker.take() || changes.is_some_and(|changes| concerns(changes, names)) {
            return Change::Other;
        }
    }
}

/// The names whose coming or going concerns a grant or an awaited path.
fn names_of(grants: &Grants, awaited: &[Unreadable]) -> WatchedNames {
    let granted = grants.iter().filter_map(|granted| match granted.location {
        Location::At(path) => Some(path),
        Location::Gone | Location::Unknown => None,
    });
    let granted: Vec<Vec<u8>> = granted.collect();
    WatchedNames::new(granted.iter().map(Vec::as_slice), awaited)
}

/// Watches what is granted and the directories above, whose moves also move what is below. If an open object is
/// removed, only its directory reports that, or for a file its link count.
///
/// # Errors
/// If something cannot be watched.
fn attend(changes: &OwnedFd, grants: &Grants, awaited: &[Unreadable]) -> Result<(), Errno> {
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
    for next in awaited.iter().map(NextName::new) {
        *paths.entry(next.directory.to_vec()).or_insert(itself) |=
            WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE | WatchFlags::MOVED_FROM;
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
fn concerns(changes: &OwnedFd, names: &WatchedNames) -> bool {
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
