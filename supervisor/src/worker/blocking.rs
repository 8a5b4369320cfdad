//! What a worker does that may take long: another one is to wait for calls meanwhile, and this one is to be woken when its
//! caller no longer waits.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guard_approvals::Cancel;
use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;

use crate::caller::Caller;

/// What one worker is blocked in; all zero when it is not.
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
    /// What ends the waiting for a human, while that is under way.
    asks: Mutex<Option<Cancel>>,
}

impl Slot {
    /// For whom this worker is about to wait.
    fn set_caller(&self, caller: &Caller<'_>) {
        self.call.store(caller.call().id, Ordering::Relaxed);
        self.caller.store(caller.tid() as u64, Ordering::Relaxed);
    }

    /// What ends the waiting for a human.
    pub fn asks(&self) -> MutexGuard<'_, Option<Cancel>> {
        self.asks.lock()
    }
}

/// How a worker calls another one.
type MakeWay = Box<dyn Fn()>;

thread_local! {
    static SLOT: RefCell<Option<Arc<Slot>>> = const { RefCell::new(None) };
    static MAKE_WAY: RefCell<Option<MakeWay>> = const { RefCell::new(None) };
}

/// Makes this thread a worker: what it is blocked in is in `slot`, and `make_way` sees to it that another one waits.
pub fn enter(slot: Arc<Slot>, make_way: impl Fn() + 'static) {
    SLOT.set(Some(slot));
    MAKE_WAY.set(Some(Box::new(make_way)));
}

/// What this thread is blocked in counts no more.
pub fn clear() {
    SLOT.with_borrow(|slot| {
        if let Some(slot) = slot {
            slot.blocked.store(false, Ordering::Release);
            *slot.asks() = None;
        }
    });
}

/// Sees to it that the next call finds a worker, before this one does what may take long.
pub fn make_way() {
    MAKE_WAY.with_borrow(|make_way| {
        if let Some(make_way) = make_way {
            make_way();
        }
    });
}

/// Does a call that may block for long. EINTR when the caller died or has a signal to take.
pub fn blocking<T>(caller: &Caller<'_>, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    make_way();
    SLOT.with_borrow(|slot| {
        let Some(slot) = slot else { return call() };
        slot.set_caller(caller);
        slot.blocked.store(true, Ordering::Release);
        let result = call();
        slot.blocked.store(false, Ordering::Release);
        result
    })
}

/// Waits for a human. The waiting is cancelled when the caller died or has a signal to take.
pub fn asking<T>(caller: &Caller<'_>, cancel: Cancel, wait: impl FnOnce() -> T) -> T {
    make_way();
    SLOT.with_borrow(|slot| {
        let Some(slot) = slot else { return wait() };
        slot.set_caller(caller);
        *slot.asks() = Some(cancel);
        let answer = wait();
        *slot.asks() = None;
        answer
    })
}
