//! Blocking work of a worker: another worker must wait for calls meanwhile, and this one must be woken when its caller
//! no longer waits.
//!
//! The tree must not be able to block all workers at once, or leave the supervisor without descriptors. Otherwise
//! nobody could answer the call that ends the others, a kill(2) that the filter holds.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use guard_approvals::Cancel;
use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;

use super::share::{Share, max_descriptors};
use crate::caller::Caller;

/// The call that a worker is blocked in; all zero if it is not blocked.
#[derive(Debug, Default)]
pub struct Slot {
    /// The worker's own thread.
    pub worker: AtomicU64,
    /// The held call's cookie.
    pub call: AtomicU64,
    /// Its caller.
    pub caller: AtomicU64,
    /// Whether the blocking call is under way.
    pub blocked: AtomicBool,
    /// Cancels waiting for a human, while that is in progress.
    asks: Mutex<Option<Cancel>>,
}

impl Slot {
    /// Sets the caller for which this worker is about to wait.
    fn set_caller(&self, caller: &Caller<'_>) {
        self.call.store(caller.call().id, Ordering::Relaxed);
        self.caller.store(caller.tid() as u64, Ordering::Relaxed);
    }

    /// Cancels waiting for a human, if set.
    pub fn asks(&self) -> MutexGuard<'_, Option<Cancel>> {
        self.asks.lock()
    }
}

/// The most descriptors that are left for calls that do not block: a quarter of all, but no more than this.
const RESERVED_DESCRIPTORS: usize = 64;
/// Descriptors that a blocked call may hold: the directories on its way, its object, and what it opens.
const DESCRIPTORS_PER_CALL: usize = 4;

/// The most bytes of messages that wait to be sent.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// The number of calls that block. One that holds many descriptors counts as several.
static BLOCKED: AtomicUsize = AtomicUsize::new(0);
/// The part of `BLOCKED` that is for messages waiting to be sent, and the bytes of these messages.
static SENDS: AtomicUsize = AtomicUsize::new(0);
static SENT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The part of `BLOCKED` that is for starts of programs that wait for another start of their process.
static TURNS: AtomicUsize = AtomicUsize::new(0);

/// Takes the place of a start that waits for another. Such starts have half of the calls that may block: a process with
/// many threads leaves the rest to others, for as long as a human takes to answer about the first.
fn wait_for_turn() -> Option<Share> {
    Share::acquire(&TURNS, 1, max_blocked() / 2)
}

/// Takes the place of a message that waits to be sent. Sends have half of the calls that may block: opens go on, however
/// many messages nobody reads.
fn wait_to_send(calls: usize, bytes: usize) -> Option<[Share; 2]> {
    let calls = Share::acquire(&SENDS, calls, max_blocked() / 2)?;
    Some([calls, Share::acquire(&SENT_BYTES, bytes, MAX_WAITING_BYTES)?])
}

/// Takes the place of `count` calls that block.
fn begin_blocking(count: usize) -> Result<Share, Errno> {
    Share::acquire(&BLOCKED, count, max_blocked()).ok_or(Errno::NFILE)
}

/// How many calls may block at once.
fn max_blocked() -> usize {
    max_blocked_with(max_descriptors())
}

/// How many calls may block at once in a supervisor that may have this many descriptors. At least one.
fn max_blocked_with(descriptors: usize) -> usize {
    let reserved = RESERVED_DESCRIPTORS.min(descriptors / 4);
    let by_descriptors = (descriptors - reserved) / DESCRIPTORS_PER_CALL;
    by_descriptors.clamp(1, super::MAX_BLOCKED)
}

/// The worker that handles a call.
pub struct Worker {
    /// What it is blocked in.
    slot: Arc<Slot>,
    /// Whether the pool counts it as handling a call.
    is_counted: Cell<bool>,
    /// Whether it shares the only processor with its callers.
    has_one_processor: bool,
    /// Ensures that another worker waits for calls; the argument says whether this worker was counted until now.
    ensure_spare: Box<dyn Fn(bool)>,
}

impl Worker {
    /// A worker of a pool.
    pub(super) fn new(
        slot: Arc<Slot>,
        has_one_processor: bool,
        ensure_spare: impl Fn(bool) + 'static,
    ) -> Worker {
        Worker { slot, is_counted: Cell::new(false), has_one_processor, ensure_spare: Box::new(ensure_spare) }
    }

    /// A worker without a pool: nothing waits for calls while it is blocked, and nobody wakes it.
    pub fn alone() -> Worker {
        Worker::new(Arc::default(), true, |_| ())
    }

    /// Who blocks in this worker's place, in another thread: what wakes the worker wakes that thread.
    pub fn deputy(&self) -> Deputy {
        Deputy(Arc::clone(&self.slot))
    }

    /// Counts the worker as handling a call.
    pub(super) fn begin(&self) {
        self.is_counted.set(true);
    }

    /// Counts the worker no longer. Returns whether it was still counted.
    pub(super) fn end(&self) -> bool {
        self.is_counted.replace(false)
    }

    /// Forgets what the worker was blocked in.
    pub(super) fn clear(&self) {
        self.slot.blocked.store(false, Ordering::Release);
        *self.slot.asks() = None;
    }

    /// Ensures that another worker waits for the next call, before this one does something that may take long.
    pub fn ensure_spare(&self) {
        (self.ensure_spare)(self.end());
    }

    /// Runs a call that may block for long.
    ///
    /// # Errors
    /// The call's own. EINTR if the caller died or has a pending signal. ENFILE if the maximum number of calls blocks
    /// already.
    pub fn block<T>(&self, caller: &Caller<'_>, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        self.block_as(1, caller, call)
    }

    /// Runs a call that blocks for long only where the file system does, such as the creation of a file. No other worker
    /// is made to wait first, which would take longer than the call; the pool finds a worker that stays.
    ///
    /// # Errors
    /// As [`Worker::block`].
    pub fn block_briefly<T>(
        &self,
        caller: &Caller<'_>,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let _blocked = begin_blocking(1)?;
        self.run_blocked(caller, call)
    }

    /// Opens a file that no other process can delay, except by the file system. Where another processor may be idle,
    /// another worker is made to wait: the kernel will move the caller there when it gets the file, and that processor
    /// wakes up in the meantime.
    ///
    /// # Errors
    /// As [`Worker::block`].
    pub fn open_file<T>(
        &self,
        caller: &Caller<'_>,
        open: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if self.has_one_processor { self.block_briefly(caller, open) } else { self.block(caller, open) }
    }

    /// Waits until no other thread of the caller's process starts a program.
    ///
    /// # Errors
    /// As [`Worker::block`]; EAGAIN if too many starts wait already.
    pub fn wait_for_turn<T>(
        &self,
        caller: &Caller<'_>,
        wait: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let _waits = wait_for_turn().ok_or(Errno::AGAIN)?;
        self.block(caller, wait)
    }

    /// Sends a message that may wait for long. While it waits, it holds this many descriptors, and the message's bytes.
    ///
    /// # Errors
    /// As [`Worker::block`]; ENOBUFS if too many messages wait already.
    pub fn block_send<T>(
        &self,
        caller: &Caller<'_>,
        descriptors: usize,
        bytes: usize,
        send: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let calls = descriptors.div_ceil(DESCRIPTORS_PER_CALL);
        let _waits = wait_to_send(calls, bytes).ok_or(Errno::NOBUFS)?;
        self.block_as(calls, caller, send)
    }

    fn block_as<T>(
        &self,
        count: usize,
        caller: &Caller<'_>,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let _blocked = begin_blocking(count)?;
        self.ensure_spare();
        self.run_blocked(caller, call)
    }

    /// Closes the supervisor's descriptors of a caller's files. If the caller has closed its own meanwhile, the kernel waits
    /// as long as a socket lingers (SO_LINGER), which the tree chooses. A signal to the caller ends the wait; the pool finds a
    /// worker that stays.
    pub fn close(&self, caller: &Caller<'_>, files: impl IntoIterator<Item = OwnedFd>) {
        files.into_iter().for_each(|file| self.run_blocked(caller, || drop(file)));
    }

    fn run_blocked<T>(&self, caller: &Caller<'_>, call: impl FnOnce() -> T) -> T {
        self.slot.set_caller(caller);
        self.slot.blocked.store(true, Ordering::Release);
        let result = call();
        self.slot.blocked.store(false, Ordering::Release);
        result
    }

    /// Waits for a lock, by trying to take it. Returns whether it is taken.
    pub fn wait_for_lock(&self, caller: &Caller<'_>, lock: &mut dyn FnMut() -> bool) -> bool {
        self.block(caller, || Ok(lock())).unwrap_or(false)
    }

    /// Waits for a human. The wait is cancelled if the caller died or has a pending signal.
    pub fn wait_for_answer<T>(&self, caller: &Caller<'_>, cancel: Cancel, wait: impl FnOnce() -> T) -> T {
        self.ensure_spare();
        self.slot.set_caller(caller);
        *self.slot.asks() = Some(cancel);
        let answer = wait();
        *self.slot.asks() = None;
        answer
    }
}

/// A worker whose blocking call another thread makes.
pub struct Deputy(Arc<Slot>);

impl Deputy {
    /// Makes the call in this thread, while the worker waits for it.
    pub fn run<T>(self, call: impl FnOnce() -> T) -> T {
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u64;
        let worker = self.0.worker.swap(own, Ordering::Relaxed);
        let _returned = SlotReturn { slot: self.0, worker };
        call()
    }
}

/// Gives a worker its slot back, also if the call panics.
struct SlotReturn {
    slot: Arc<Slot>,
    worker: u64,
}

impl Drop for SlotReturn {
    fn drop(&mut self) {
        self.slot.worker.store(self.worker, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_wait_leave_room_for_opens() {
        let half = max_blocked() / 2;
        let held: Vec<_> = (0..half).map_while(|_| wait_to_send(1, 1)).collect();
        assert_eq!(held.len(), half);
        assert!(wait_to_send(1, 1).is_none());
        drop(held);
        let large = wait_to_send(1, MAX_WAITING_BYTES).unwrap();
        assert!(wait_to_send(1, 1).is_none());
        drop(large);
        assert!(wait_to_send(half, 1).is_some());
        // What was refused counts no more.
        assert_eq!([&SENDS, &SENT_BYTES].map(|used| used.load(Ordering::Relaxed)), [0, 0]);
    }

    #[test]
    fn starts_that_wait_leave_room_for_opens() {
        let half = max_blocked() / 2;
        let held: Vec<_> = (0..half).map_while(|_| wait_for_turn()).collect();
        assert_eq!(held.len(), half);
        assert!(wait_for_turn().is_none());
        drop(held);
        assert!(wait_for_turn().is_some());
    }

    #[test]
    fn some_workers_and_descriptors_are_left() {
        assert_eq!(max_blocked_with(usize::MAX), 4080);
        assert_eq!(max_blocked_with(300), 59);
        assert_eq!(max_blocked_with(64), 12);
        assert_eq!(max_blocked_with(0), 1);
    }
}
