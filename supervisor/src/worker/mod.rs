//! The workers: plain threads, because receiving a notification is a blocking ioctl and ptrace belongs to a thread.
//!
//! Usually one worker waits for the next call, because a call wakes all that wait (kernel/seccomp.c, recv_wait_event).
//! A worker about to do something that may take long ensures that another one waits. If calls overlap, more workers
//! keep waiting, so that callers on several processors are served on their own. A worker stuck in a blocking open or
//! connect is woken when its caller dies or gets a signal. Workers have a real-time priority where the guard may give
//! it to them.
//!
//! Why: docs/decisions.md, "Normally one worker waits."

mod blocking;
mod idle;
mod load;
mod priority;
pub mod share;
mod unattended;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use guard_shim::failpoints::{Fallible, fail_point};
use parking_lot::Mutex;
use rustix::io::Errno;

pub use blocking::Worker;
pub use priority::Priorities;

use crate::audit::report::print;
use crate::caller::Caller;
use crate::judge::active::Current;
use crate::judge::consent;
use crate::kernel::fork::quit;
use crate::kernel::{Kernel, requests};
use crate::panics::{Panic, caught, restart_on_panic};
use crate::reply::send;
use crate::syscall::number::name;
use blocking::Slot;
use idle::IdleWorkers;
use load::{Counts, Load};
use priority::Priority;
use unattended::{Relief, Unattended};

/// The maximum number of waiting workers if calls overlap: one per processor up to this.
const BUSY_CALLS: usize = 4;
/// Several workers wait if more than one in this many calls overlaps another or takes long: then waking one each time
/// costs more than sometimes waking one too many.
const CROWDED_CALLS: u64 = 16;
/// How many calls may block at once, however many descriptors there are.
const MAX_BLOCKED: usize = 4080;
/// The number of workers that neither block for long nor wait for a human.
const RESERVED_WORKERS: usize = 16;
/// The maximum number of workers, which bounds the threads: one for each call that may block, and for each that may wait for
/// a human. More calls than this at once must wait for a worker.
const MAX_WORKERS: usize = MAX_BLOCKED + guard_approvals::MAX_WAITERS + RESERVED_WORKERS;
/// How often a blocked worker is checked: the delay of a signal to a program that waits in open(2). Also how long no worker
/// may wait for calls before more start.
const WATCH_INTERVAL: Duration = Duration::from_millis(5);
/// Empty receives in a row before the worker backs off.
const MAX_EMPTY_RECEIVES: u32 = 16;
/// How often to check whether any worker is blocked, or any call came.
const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Callers checked per poll among those that block or wait for a human: with hundreds of them, each is checked less often.
const MAX_POLLS: usize = 32;

/// Looks at slots from `turn` on, until [`MAX_POLLS`] of them counted. `look` says which slots count. Returns where the
/// next poll starts.
fn look_at_some(slots: &[Arc<Slot>], turn: usize, look: impl Fn(&Slot) -> bool) -> usize {
    let mut looks = 0;
    for at in 0..slots.len() {
        let at = (turn + at) % slots.len();
        looks += usize::from(look(&slots[at]));
        if looks == MAX_POLLS {
            return at + 1;
        }
    }
    0
}

/// The workers of one tree.
pub struct Pool {
    kernel: Arc<dyn Kernel>,
    current: Arc<Current>,
    waiting: AtomicUsize,
    running: AtomicUsize,
    /// How many workers may wait for calls.
    wanted: AtomicUsize,
    /// The value of `wanted` if calls overlap.
    busy: usize,
    idle: IdleWorkers,
    load: Load,
    unattended: Unattended,
    slots: Mutex<Vec<Arc<Slot>>>,
    priorities: Arc<Priorities>,
}

impl Pool {
    /// Starts the first workers and the watcher.
    ///
    /// # Errors
    /// The kernel's, if no thread can be started.
    pub fn start(
        kernel: Arc<dyn Kernel>,
        current: Arc<Current>,
        priorities: Arc<Priorities>,
    ) -> std::io::Result<Arc<Pool>> {
        requests::handle_wake()?;
        let pool = Arc::new(Pool {
            kernel,
            current,
            waiting: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            wanted: AtomicUsize::new(1),
            busy: std::thread::available_parallelism()
                .map_or(BUSY_CALLS, |processors| BUSY_CALLS.min(processors.get())),
            idle: IdleWorkers::default(),
            load: Load::default(),
            unattended: Unattended::default(),
            slots: Mutex::new(Vec::new()),
            priorities,
        });
        pool.spawn()?;
        let watcher = Arc::clone(&pool);
        let tell = Arc::clone(&pool);
        let watch = move || restart_on_panic(|| watcher.watch(), |fault| tell.report(fault));
        std::thread::Builder::new().name("watch".into()).spawn(watch)?;
        Ok(pool)
    }

    fn spawn(self: &Arc<Self>) -> std::io::Result<()> {
        let pool = Arc::clone(self);
        self.running.fetch_add(1, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let started = std::thread::Builder::new()
            .name("worker".into())
            .stack_size(256 * 1024)
            .spawn(move || pool.work());
        if started.is_err() {
            self.running.fetch_sub(1, Ordering::Relaxed);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        started.map(drop)
    }

    fn work(self: &Arc<Self>) {
        let slot = Arc::new(Slot::default());
        slot.worker.store(rustix::thread::gettid().as_raw_nonzero().get() as u64, Ordering::Relaxed);
        self.slots.lock().push(Arc::clone(&slot));
        let pool = Arc::clone(self);
        let worker = Worker::new(Arc::clone(&slot), self.busy == 1, move |was_counted| {
            if was_counted {
                pool.load.end();
            }
            pool.ensure_spare_worker();
        });
        // Give the worker its own umask and directory. Otherwise workers would apply their callers' umasks to each
        // other.
        if nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).is_ok() {
            let priority = self.priorities.join();
            let served = caught(|| self.serve(&worker, &priority));
            self.priorities.remove(&priority);
            if let Err(fault) = served {
                // The panic was outside a handler: the counts, and whether the call was replied to, are unknown.
                self.end(&fault);
            }
        } else {
            print(
                "openclaw-guard: a worker thread cannot have a umask of its own (unshare) and does not start",
            );
        }
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.slots.lock().retain(|other| !Arc::ptr_eq(other, &slot));
    }

    fn serve(self: &Arc<Self>, worker: &Worker, priority: &Priority) {
        let mut current = self.current.view();
        let mut vain = 0_u32;
        let mut since = Instant::now();
        loop {
            let call = match self.kernel.receive() {
                Ok(call) => call,
                // The caller died before the receive, or a wake-up came late. Once no caller is left, the receive
                // returns at once each time, until the process ends.
                Err(Errno::NOENT | Errno::INTR | Errno::AGAIN) => {
                    vain += 1;
                    if vain > MAX_EMPTY_RECEIVES {
                        std::thread::sleep(WATCH_INTERVAL);
                    }
                    continue;
                }
                Err(error) => {
                    tracing::error!("cannot receive: {error}");
                    return;
                }
            };
            priority.step();
            vain = 0;
            let mut caller = Caller::new(&*self.kernel, call);
            self.unattended.begin(caller.received());
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            self.load.begin(caller.received().saturating_duration_since(since));
            worker.begin();
            let done = caught(|| {
                let outcome = consent::answer(worker, &mut current, &mut caller);
                send(&caller, outcome);
            });
            if let Err(fault) = &done {
                self.refuse(&caller, fault);
            }
            if worker.end() {
                self.load.end();
            }
            if done.is_err() && self.replace(worker) {
                return;
            }
            priority.step();
            fail_point(Fallible::Worker, || name(call.number).as_bytes());
            while !self.wait_again() {
                if !self.idle.sleep() {
                    self.waiting.fetch_add(1, Ordering::AcqRel);
                    return;
                }
            }
            since = Instant::now();
        }
    }

    /// Refuses the call of a handler that panicked, unless it has replied already.
    fn refuse(&self, caller: &Caller<'_>, fault: &Panic) {
        send(caller, Err(Errno::ACCESS));
        let call = (caller.tid(), name(caller.call().number));
        self.current.guard().reporter.fault(fault, Some(call));
    }

    fn report(&self, fault: &Panic) {
        self.current.guard().reporter.fault(fault, None);
    }

    /// Starts a replacement for this worker, whose thread may be in any state after the panic: its thread locals, its
    /// umask, a process that it traces. Returns false if no thread can be started: then this worker goes on.
    fn replace(self: &Arc<Self>, worker: &Worker) -> bool {
        if self.spawn().is_ok() {
            // This worker counts as waiting, so that the count is right when it ends.
            self.waiting.fetch_add(1, Ordering::AcqRel);
            return true;
        }
        worker.clear();
        false
    }

    /// Ends the supervisor: then the kernel answers every call with ENOSYS.
    fn end(&self, fault: &Panic) -> ! {
        print(&format!("openclaw-guard: {fault}; no call is allowed any more"));
        let reporter = &self.current.guard().reporter;
        reporter.fault(fault, None);
        reporter.flush();
        quit()
    }

    /// Counts one more waiting worker, unless enough wait. This is one atomic step: a worker about to block must not
    /// rely on one that then goes to sleep.
    fn wait_again(&self) -> bool {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let more = |waiting| (waiting < wanted).then_some(waiting + 1);
        self.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    fn ensure_spare_worker(self: &Arc<Self>) {
        self.load.slow_call();
        if self.waiting.load(Ordering::Acquire) > 0 {
            return;
        }
        if !self.idle.call() && self.running.load(Ordering::Relaxed) < MAX_WORKERS {
            // If no thread can be started, the next call waits for this one.
            let _ = self.spawn();
        }
    }

    /// Adapts the number of waiting workers to the calls since `before`.
    fn adapt(&self, before: Counts) -> Counts {
        let now = self.load.counts();
        let (calls, met) = now.since(before);
        if calls > 0 {
            let wanted = if met * CROWDED_CALLS > calls { self.busy } else { 1 };
            self.wanted.store(wanted, Ordering::Relaxed);
        }
        now
    }

    /// Starts workers if none has waited for an interval: then the calls in progress take unexpectedly long. Any call that
    /// looks a name up or makes one may wait for another process that has locked the directory.
    fn relieve(self: &Arc<Self>, relief: &mut Relief) {
        let waits = self.waiting.load(Ordering::Acquire) > 0;
        let wanted = relief.workers(!waits && self.unattended.elapsed() >= WATCH_INTERVAL);
        if wanted > 0 {
            self.ensure_spare_worker();
        }
        for _ in 1..wanted {
            if self.running.load(Ordering::Relaxed) >= MAX_WORKERS || self.spawn().is_err() {
                return;
            }
        }
    }

    /// Wakes workers whose caller no longer waits, and starts workers where none waits.
    fn watch(self: &Arc<Self>) {
        // Calls that were in progress at the last check: most opens are over before a wake-up could be needed.
        let mut seen = Vec::new();
        let mut glanced = Instant::now();
        let (mut wakes, mut cancels) = (0, 0);
        let mut counts = Counts::default();
        let mut relief = Relief::default();
        let mut is_idle = true;
        loop {
            std::thread::sleep(if is_idle { IDLE_POLL_INTERVAL } else { WATCH_INTERVAL });
            fail_point(Fallible::Watch, || b"");
            let slots = self.slots.lock().clone();
            let blocked = slots.iter().filter(|slot| slot.blocked.load(Ordering::Acquire));
            let now: Vec<u64> = blocked.map(|slot| slot.call.load(Ordering::Relaxed)).collect();
            wakes = look_at_some(&slots, wakes, |slot| self.wake_moot(slot, &seen));
            seen = now;
            self.relieve(&mut relief);
            if glanced.elapsed() >= IDLE_POLL_INTERVAL {
                cancels = look_at_some(&slots, cancels, |slot| self.cancel_moot(slot));
                let before = counts;
                counts = self.adapt(before);
                is_idle = counts.since(before).0 == 0 && self.waiting.load(Ordering::Acquire) > 0;
                glanced = Instant::now();
            }
            is_idle &= seen.is_empty();
        }
    }

    /// Wakes a worker if it is blocked in one of the calls that were `seen`, and its caller no longer waits. Returns
    /// whether the caller was looked at.
    fn wake_moot(&self, slot: &Slot, seen: &[u64]) -> bool {
        let call = slot.call.load(Ordering::Relaxed);
        if !slot.blocked.load(Ordering::Acquire) || !seen.contains(&call) {
            return false;
        }
        if self.is_moot(call, slot.caller.load(Ordering::Relaxed) as i32) {
            requests::wake_thread(slot.worker.load(Ordering::Relaxed) as i32);
        }
        true
    }

    /// Cancels a worker's question if its caller no longer waits. Returns whether the worker has a question.
    fn cancel_moot(&self, slot: &Slot) -> bool {
        // The slot's lock is not held: cancelling notifies others.
        let asks = slot.asks().clone();
        let Some(cancel) = asks else { return false };
        // If the worker has moved on to another call, nothing of that call is cancelled: the handle is for this
        // question.
        let (call, caller) = (slot.call.load(Ordering::Relaxed), slot.caller.load(Ordering::Relaxed) as i32);
        if !self.kernel.valid(call) {
            cancel.cancel();
        } else if self.kernel.is_signalled(caller) {
            cancel.pause();
        }
        true
    }

    /// Whether the caller is gone, or has a pending signal.
    fn is_moot(&self, call: u64, caller: i32) -> bool {
        !self.kernel.valid(call) || self.kernel.is_signalled(caller)
    }
}
