//! Blocking work of a worker: another worker must wait for calls meanwhile, and this one must be woken when its caller
//! no longer waits.
//!
//! The tree must not be able to block all workers at once, or leave the supervisor without descriptors. Otherwise
//! nobody could answer the call that ends the others, a kill(2) that the filter holds.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use guard_approvals::Cancel;
use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;

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

/// Workers that never block for long.
const RESERVED_WORKERS: usize = 16;
/// The most descriptors that are left for calls that do not block: a quarter of all, but no more than this.
const RESERVED_DESCRIPTORS: usize = 64;
/// Descriptors that a blocked call may hold: the directories on its way, its object, and what it opens.
const DESCRIPTORS_PER_CALL: usize = 4;

/// The number of calls that block. One that holds many descriptors counts as several.
static BLOCKED: AtomicUsize = AtomicUsize::new(0);

/// A call that may block, until dropped, and as how many it counts.
struct BlockedCall(usize);

impl BlockedCall {
    /// # Errors
    /// ENFILE if the maximum number of calls blocks already.
    fn begin(count: usize) -> Result<BlockedCall, Errno> {
        let before = BLOCKED.fetch_add(count, Ordering::Relaxed);
        let call = BlockedCall(count);
        if before + count <= max_blocked() { Ok(call) } else { Err(Errno::NFILE) }
    }
}

impl Drop for BlockedCall {
    fn drop(&mut self) {
        BLOCKED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// The most bytes of messages that wait to be sent.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// How many calls the messages count as that wait to be sent, and their bytes.
static SENDS: AtomicUsize = AtomicUsize::new(0);
static SENT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A message that waits to be sent, until dropped. Sends have half of the calls that may block: opens go on, however many
/// messages nobody reads.
#[derive(Debug)]
struct WaitingSend {
    bytes: usize,
    count: usize,
}

impl WaitingSend {
    /// # Errors
    /// ENOBUFS if too many wait already.
    fn begin(descriptors: usize, bytes: usize) -> Result<WaitingSend, Errno> {
        let send = WaitingSend { bytes, count: descriptors.div_ceil(DESCRIPTORS_PER_CALL).max(1) };
        let sends = SENDS.fetch_add(send.count, Ordering::Relaxed) + send.count;
        let waiting = SENT_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let fits = sends <= max_blocked() / 2 && waiting <= MAX_WAITING_BYTES;
        if fits { Ok(send) } else { Err(Errno::NOBUFS) }
    }
}

impl Drop for WaitingSend {
    fn drop(&mut self) {
        SENDS.fetch_sub(self.count, Ordering::Relaxed);
        SENT_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// How many calls may block at once.
fn max_blocked() -> usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    *MAX.get_or_init(|| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        max_blocked_with(limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX))
    })
}

/// How many calls may block at once in a supervisor that may have so many descriptors. Always some.
fn max_blocked_with(descriptors: usize) -> usize {
    let reserved = RESERVED_DESCRIPTORS.min(descriptors / 4);
    let by_descriptors = (descriptors - reserved) / DESCRIPTORS_PER_CALL;
    by_descriptors.clamp(1, super::MAX_WORKERS - RESERVED_WORKERS)
}

/// The worker that handles a call.
pub struct Worker {
    /// What it is blocked in.
    slot: Arc<Slot>,
    /// Whether the pool counts it as handling a call.
    is_counted: Cell<bool>,
    /// Ensures that another worker waits for calls; says whether this one was counted until now.
    ensure_spare: Box<dyn Fn(bool)>,
}

impl Worker {
    /// A worker of a pool.
    pub(super) fn new(slot: Arc<Slot>, ensure_spare: impl Fn(bool) + 'static) -> Worker {
        Worker { slot, is_counted: Cell::new(false), ensure_spare: Box::new(ensure_spare) }
    }

    /// A worker without a pool: nothing waits for calls while it is blocked, and nobody wakes it.
    pub fn alone() -> Worker {
        Worker::new(Arc::default(), |_| ())
    }

    /// Counts it as handling a call.
    pub(super) fn begin(&self) {
        self.is_counted.set(true);
    }

    /// Ends that. Returns whether it was still counted.
    pub(super) fn end(&self) -> bool {
        self.is_counted.replace(false)
    }

    /// Forgets what it was blocked in.
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

    /// Sends a message that may wait for long. It holds so many descriptors, and its bytes.
    ///
    /// # Errors
    /// As [`Worker::block`]; ENOBUFS if too many wait already.
    pub fn block_send<T>(
        &self,
        caller: &Caller<'_>,
        descriptors: usize,
        bytes: usize,
        send: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let waiting = WaitingSend::begin(descriptors, bytes)?;
        self.block_as(waiting.count, caller, send)
    }

    fn block_as<T>(
        &self,
        count: usize,
        caller: &Caller<'_>,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let _blocked = BlockedCall::begin(count)?;
        self.ensure_spare();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_wait_leave_room_for_opens() {
        let half = max_blocked() / 2;
        let held: Vec<_> = (0..half).map_while(|_| WaitingSend::begin(1, 1).ok()).collect();
        assert_eq!(held.len(), half);
        assert_eq!(WaitingSend::begin(1, 1).err(), Some(Errno::NOBUFS));
        drop(held);
        // As many as its descriptors need.
        let one = WaitingSend::begin(255, 1).unwrap();
        assert_eq!(one.count, 64);
        drop(one);
        let large = WaitingSend::begin(1, MAX_WAITING_BYTES).unwrap();
        assert_eq!(WaitingSend::begin(1, 1).err(), Some(Errno::NOBUFS));
        drop(large);
        assert!(WaitingSend::begin(1, 1).is_ok());
    }

    #[test]
    fn some_workers_and_descriptors_are_left() {
        assert_eq!(max_blocked_with(usize::MAX), 4080);
        assert_eq!(max_blocked_with(300), 59);
        assert_eq!(max_blocked_with(64), 12);
        assert_eq!(max_blocked_with(0), 1);
    }
}
