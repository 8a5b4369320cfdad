//! Files on their way to callers: the supervisor's copy may outlive the call by a moment.
//!
//! Handing a file over and replying in one step saves a wake-up of the caller, which may then run before the supervisor
//! closes its copy. Calls that would notice the copy wait for its end.
//!
//! Why: docs/decisions.md, "A file open for writing is handed over in one step, too"

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard};

use crate::resolve::Identity;

/// How long a call waits for copies of one file. The supervisor closes its copy as soon as the caller has its own, so
/// the limit is reached only if that caller does not run. Then the wait may end: the caller cannot have closed a file
/// that it does not have yet.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Read-locked by a worker while it has a copy.
static ALL: RwLock<()> = RwLock::new(());

/// The files that can be written through a worker's copy.
static WRITABLE: Mutex<Vec<Identity>> = Mutex::new(Vec::new());
static CLOSED: Condvar = Condvar::new();

/// Whether the tree has asked for events of files.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// The supervisor has a copy of a file while this lives.
pub struct Inflight {
    _all: RwLockReadGuard<'static, ()>,
    written: Option<Identity>,
}

impl Inflight {
    /// Notes that the supervisor is about to hand over a copy. `written` is the file, if it is open for writing.
    ///
    /// Returns `None` if the copy must be closed before the caller goes on. Otherwise a watcher would see a file written and
    /// closed without IN_CLOSE_WRITE (inotify(7)), which the kernel sends when the last descriptor is closed.
    pub fn begin(written: Option<Identity>) -> Option<Inflight> {
        let all = ALL.read();
        if written.is_some() && WATCHED.load(Ordering::SeqCst) {
            return None;
        }
        WRITABLE.lock().extend(written);
        Some(Inflight { _all: all, written })
    }
}

impl Drop for Inflight {
    fn drop(&mut self) {
        let Some(written) = self.written else { return };
        let mut writable = WRITABLE.lock();
        if let Some(at) = writable.iter().position(|file| *file == written) {
            writable.swap_remove(at);
        }
        drop(writable);
        CLOSED.notify_all();
    }
}

/// Waits until the supervisor has no copy left of any file handed over so far. A lock that is taken after this wait
/// ends with the caller's own descriptors.
pub fn wait_for_all() {
    drop(ALL.write());
}

/// Notes that a process of the tree is about to get an inotify instance. From now on, no copy of a written file
/// outlives its call.
pub fn watch() {
    WATCHED.store(true, Ordering::SeqCst);
    wait_for_all();
}

/// Waits until the supervisor has no copy left that a file can be written through. Otherwise a program that was just
/// written would be busy (ETXTBSY in execve(2)), a watcher would see a file renamed or removed before it is closed
/// (IN_CLOSE_WRITE in inotify(7)), and NFS would keep a removed file under another name.
pub fn wait_for(file: Identity) {
    let end = Instant::now() + MAX_WAIT;
    let mut writable = WRITABLE.lock();
    while writable.contains(&file) && !CLOSED.wait_until(&mut writable, end).timed_out() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(inode: u64) -> Identity {
        // No test opens files of this device.
        Identity { device: u64::MAX, inode }
    }

    fn begin(written: Option<Identity>) -> Inflight {
        Inflight::begin(written).expect("nothing is watched")
    }

    #[test]
    fn a_call_waits_for_copies_of_its_own_file() {
        let (first, second) = (begin(Some(file(1))), begin(Some(file(1))));
        let other = begin(Some(file(2)));
        let waits = std::thread::spawn(|| {
            let since = Instant::now();
            wait_for(file(1));
            (since.elapsed() < MAX_WAIT, !WRITABLE.lock().contains(&file(1)))
        });
        drop(first);
        assert!(WRITABLE.lock().contains(&file(1)), "the second copy is left");
        drop(second);
        assert_eq!(waits.join().unwrap(), (true, true));
        assert!(WRITABLE.lock().contains(&file(2)));
        drop(other);
        // Files that are only read are not waited for.
        let _read = begin(None);
        wait_for(file(2));
    }

    #[test]
    fn a_caller_that_does_not_run_delays_others_for_a_while() {
        let _held = begin(Some(file(3)));
        let since = Instant::now();
        wait_for(file(3));
        assert!(since.elapsed() >= MAX_WAIT);
    }
}
