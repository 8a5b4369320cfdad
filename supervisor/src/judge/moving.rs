//! One move at a time, among all guards of this user that share a state directory.
//!
//! Why: docs/decisions.md, "Moves wait for those of other guards, and are refused where one does not go on"

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guard_openclaw::approvals_store::{Directory, GUARD};
use parking_lot::{Mutex, MutexGuard};
use procfs::process::Process;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// The lock's file, beside the approvals. No policy opens that directory to a tree.
const LOCK: &str = "moves.lock";
/// How long a move waits for a move of another guard that may be stopped. The longest move looks through a directory of
/// 200,000 names.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a move waits for a move of another guard that runs: a tree can keep a directory locked for seconds, in which
/// its guard makes a name.
const LONG_PATIENCE: Duration = Duration::from_secs(60);
/// How long a move waits after another guard, which is stopped or hangs, has kept this one waiting in vain.
const LITTLE_PATIENCE: Duration = Duration::from_millis(50);
/// The longest pause between two looks at the lock.
const LONGEST_PAUSE: Duration = Duration::from_millis(2);
/// After all moves of a guard together have held the lock for so long, the guard lets other guards have the lock before
/// its next move.
const SHARE: Duration = Duration::from_millis(100);

/// The lock of moves.
#[derive(Debug, Default)]
pub struct Moving {
    own: Mutex<Own>,
    shared: Option<SharedLock>,
}

/// What the moves of one guard share.
#[derive(Debug, Default)]
struct Own {
    /// Whether the last wait for another guard was in vain.
    was_in_vain: bool,
    /// How long the lock was held since others could have it.
    held: Duration,
}

#[derive(Debug)]
struct SharedLock {
    path: PathBuf,
    file: File,
}

/// Held from the judgement of a move to its end.
#[derive(Debug)]
pub struct Alone<'m> {
    shared: Option<&'m SharedLock>,
    since: Instant,
    own: MutexGuard<'m, Own>,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared {
            // Unlocking fails only for an invalid descriptor.
            let _ = flock(&shared.file, FlockOperation::Unlock);
            self.own.held += self.since.elapsed();
            if self.own.held > SHARE {
                // A guard that waits looks at the lock again within this time. The next move of this guard still
                // waits for its own lock.
                std::thread::sleep(LONGEST_PAUSE * 2);
                self.own.held = Duration::ZERO;
            }
        }
    }
}

impl Moving {
    /// The lock that all guards with this state directory share. Without such a directory, the guard has a lock of its
    /// own.
    ///
    /// # Errors
    /// The error of the failed system call, or a sentence if the lock is not a regular file.
    pub fn shared(state: &Path) -> io::Result<Moving> {
        if Directory::open(state)?.is_none() {
            return Ok(Moving::default());
        }
        let directory = Directory::make_own(state)?;
        let path = state.join(GUARD).join(LOCK);
        let file = directory.make_regular(LOCK, OFlags::RDWR)?;
        Ok(Moving { own: Mutex::default(), shared: Some(SharedLock { path, file }) })
    }

    /// Waits until nothing else moves. `wait` runs the part that may take long.
    ///
    /// # Errors
    /// The path of the lock, if another guard holds it and does not release it.
    pub fn alone(&self, wait: impl FnOnce(&mut dyn FnMut() -> bool) -> bool) -> Result<Alone<'_>, &Path> {
        let alone = |shared, own| Alone { shared, since: Instant::now(), own };
        let mut own = self.own.lock();
        let Some(shared) = &self.shared else { return Ok(alone(None, own)) };
        let is_locked = shared.try_lock() || {
            let was_in_vain = own.was_in_vain;
            wait(&mut || {
                if was_in_vain {
                    shared.lock_within(LITTLE_PATIENCE)
                } else {
                    shared.lock_while_holder_runs()
                }
            })
        };
        own.was_in_vain = !is_locked;
        if is_locked { Ok(alone(Some(shared), own)) } else { Err(&shared.path) }
    }
}

impl SharedLock {
    fn try_lock(&self) -> bool {
        loop {
            match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return true,
                Err(Errno::INTR) => {}
                // This may also mean that the kernel has no memory for the lock. Without the lock, the guard moves nothing.
                Err(_) => return false,
            }
        }
    }

    /// Whether a process that holds the lock is known, and is not stopped.
    fn holder_runs(&self) -> bool {
        let (Ok(own), Ok(locks)) = (rustix::fs::fstat(&self.file), std::fs::read_to_string("/proc/locks"))
        else {
            return false;
        };
        let runs = |pid| {
            let state = Process::new(pid).and_then(|process| process.stat()).map(|stat| stat.state);
            state.is_ok_and(|state| !matches!(state, 'T' | 't' | 'Z' | 'X'))
        };
        locks.lines().filter_map(holder).any(|(pid, inode)| inode == own.st_ino && runs(pid))
    }

    /// Waits for [`PATIENCE`], and up to [`LONG_PATIENCE`] while the process that holds the lock runs.
    fn lock_while_holder_runs(&self) -> bool {
        let start = Instant::now();
        loop {
            if self.lock_within(PATIENCE) {
                return true;
            }
            if start.elapsed() >= LONG_PATIENCE || !self.holder_runs() {
                return false;
            }
        }
    }

    /// flock(2) itself has no time limit.
    fn lock_within(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut pause = Duration::from_micros(20);
        loop {
            if self.try_lock() {
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Returns the process and the inode of a lock by flock(2) from a line of /proc/locks (proc_locks(5)), such as
/// `1: FLOCK ADVISORY WRITE 652 00:14:16763 0 EOF`. procfs reads no line if there is one that it does not know.
fn holder(line: &str) -> Option<(i32, u64)> {
    let mut words = line.split_whitespace().skip(1);
    (words.next()? == "FLOCK").then_some(())?;
    let (pid, file) = (words.nth(2)?, words.next()?);
    Some((pid.parse().ok()?, file.rsplit(':').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn moves_of_two_guards_exclude_each_other() {
        let state = tempfile::tempdir().unwrap();
        let guards = [(); 2].map(|()| Moving::shared(state.path()).unwrap());
        let [one, other] = &guards;
        let at_once = |moving: &Moving| moving.alone(|_| false).is_ok();
        let alone = one.alone(|wait| wait()).unwrap();
        assert!(!at_once(other));
        drop(alone);
        assert!(at_once(other) && at_once(one));
        let counted = Mutex::new((0, 0));
        std::thread::scope(|scope| {
            for moving in guards.iter().chain(&guards) {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _alone = moving.alone(|wait| wait()).unwrap();
                        let before = counted.lock().0;
                        std::thread::yield_now();
                        let mut counted = counted.lock();
                        assert_eq!(counted.0, before);
                        *counted = (before + 1, counted.1 + 1);
                    }
                });
            }
        });
        assert_eq!(counted.into_inner(), (2000, 2000));
    }

    #[test]
    fn a_guard_that_moves_without_a_pause_lets_others_move() {
        let state = tempfile::tempdir().unwrap();
        let (busy, other) = (Moving::shared(state.path()).unwrap(), Moving::shared(state.path()).unwrap());
        let (has_ended, held) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !has_ended.load(Ordering::Relaxed) {
                        let alone = busy.alone(|wait| wait()).unwrap();
                        held.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(400));
                        drop(alone);
                    }
                });
            }
            let moves = || {
                let before = held.load(Ordering::Relaxed);
                while held.load(Ordering::Relaxed) == before {
                    std::thread::sleep(Duration::from_millis(1));
                }
                other.alone(|wait| wait()).is_ok()
            };
            let moved = (0..4).filter(|_| moves()).count();
            has_ended.store(true, Ordering::Relaxed);
            assert_eq!(moved, 4);
        });
    }

    #[test]
    fn holders_are_read_from_their_lines() {
        for (line, found) in [
            ("1: FLOCK  ADVISORY  WRITE 652 00:14:16763 0 EOF", Some((652, 16763))),
            ("2: -> FLOCK  ADVISORY  WRITE 652 00:14:16763 0 EOF", None),
            ("3: POSIX  ADVISORY  WRITE 1280 00:14:16200 0 0", None),
            ("4: FLOCK  ADVISORY  WRITE 0 <none>:0 0 EOF", Some((0, 0))),
            ("5: FLOCK", None),
        ] {
            assert_eq!(holder(line), found, "{line}");
        }
    }

    #[test]
    fn a_guard_that_is_stopped_is_waited_for_once() {
        let state = tempfile::tempdir().unwrap();
        let moving = Moving::shared(state.path()).unwrap();
        let path = state.path().join("guard/moves.lock");
        // The program that holds the lock stops itself.
        let mut holder = Command::new("flock")
            .arg("--no-fork")
            .arg(&path)
            .args(["sh", "-c", "kill -STOP $$"])
            .spawn()
            .expect("flock (util-linux) is installed");
        while moving.shared.as_ref().unwrap().holder_runs() || moving.alone(|_| false).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let waited = || {
            let start = Instant::now();
            assert_eq!(moving.alone(|wait| wait()).unwrap_err(), path);
            start.elapsed()
        };
        assert!(waited() < PATIENCE, "it was in vain before");
        moving.own.lock().was_in_vain = false;
        assert!(waited() >= PATIENCE);
        assert!(waited() < PATIENCE);
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert!(moving.alone(|wait| wait()).is_ok());
    }

    #[test]
    fn a_guard_that_runs_is_waited_for() {
        let state = tempfile::tempdir().unwrap();
        let (one, other) = (Moving::shared(state.path()).unwrap(), Moving::shared(state.path()).unwrap());
        std::thread::scope(|scope| {
            let alone = one.alone(|wait| wait()).unwrap();
            let waits = scope.spawn(|| other.alone(|wait| wait()).is_ok());
            std::thread::sleep(PATIENCE + Duration::from_millis(500));
            assert!(!waits.is_finished());
            drop(alone);
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn without_a_state_directory_a_guard_has_its_own_lock() {
        let moving = Moving::default();
        drop(moving.alone(|wait| wait()).unwrap());
        assert!(moving.alone(|wait| wait()).is_ok());
    }
}
