//! Real-time priority for workers, where the guard may give it.
//!
//! Until a worker has received a call, a signal to the caller interrupts it. An ordinary worker may have to wait for
//! its processor first; a real-time worker takes it.
//!
//! A real-time thread that never sleeps would keep others off its processor. So one thread of the same priority takes
//! turns with the workers. It makes a worker ordinary if the worker stays in one call. No other thread keeps the
//! capability to set priorities.
//!
//! Why: docs/decisions.md, "Workers have a real-time priority where the guard may give it"

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, Thread, current, park_timeout};
use std::time::Duration;

use guard_openclaw::peer::proc::Tid;
use parking_lot::Mutex;

use crate::kernel::{limits, schedule};

/// How often the workers are looked at. A call keeps its worker's priority for at most two intervals.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The priorities of all workers.
#[derive(Debug, Default)]
pub struct Priorities {
    workers: Mutex<Vec<Arc<Priority>>>,
    /// The thread that sets them, if it may.
    thread: OnceLock<Thread>,
}

impl Priorities {
    /// Starts the thread that sets priorities. It inherits the capabilities of this thread, of which it uses
    /// CAP_SYS_NICE. The workers stay ordinary if neither that capability nor a limit allows more, or if the operator
    /// has chosen a priority for the guard.
    pub fn start(has_capability: bool) -> Arc<Priorities> {
        let priorities = Arc::new(Priorities::default());
        if (has_capability || limits::allow_real_time()) && schedule::is_default() {
            let shared = Arc::clone(&priorities);
            // Without the thread, the workers stay ordinary.
            let _ = Builder::new().name("priority".into()).spawn(move || shared.run());
        }
        priorities
    }

    /// Adds this thread, a worker.
    pub fn join(&self) -> Arc<Priority> {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let priority = Arc::new(Priority::read(own));
        self.workers.lock().push(Arc::clone(&priority));
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
        priority
    }

    /// Removes a worker that ends.
    pub fn remove(&self, priority: &Arc<Priority>) {
        self.workers.lock().retain(|other| !Arc::ptr_eq(other, priority));
    }

    /// Sets the workers' priorities. Returns if this thread may not have the priority itself: without it, a worker that
    /// loops could keep this thread off its processor.
    fn run(&self) {
        if schedule::raise(schedule::THIS_THREAD).is_err() {
            return;
        }
        // This is set before the first look: a worker adds itself first, and then reads it.
        self.thread.get_or_init(current);
        loop {
            self.workers.lock().iter().for_each(|worker| worker.look());
            park_timeout(LOOK_INTERVAL);
        }
    }
}

/// The priority of one worker.
#[derive(Debug)]
pub struct Priority {
    thread: Tid,
    /// Counts the beginnings and ends of calls: odd during a call.
    steps: AtomicU64,
    /// The count at the last look.
    seen: AtomicU64,
    /// Whether the last look has left it real-time.
    raised: AtomicBool,
}

impl Priority {
    fn read(thread: Tid) -> Priority {
        Priority { thread, steps: AtomicU64::new(0), seen: AtomicU64::new(0), raised: AtomicBool::new(false) }
    }

    /// Counts that the worker, which is this thread, begins or ends a call.
    pub fn step(&self) {
        // Only this thread counts, so this need not be one atomic step.
        self.steps.store(self.steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Makes the worker ordinary if it is in the same call as at the last look, and real-time otherwise.
    fn look(&self) {
        let raise = !self.stays();
        if raise != self.raised.load(Ordering::Relaxed) {
            let set = if raise { schedule::raise } else { schedule::lower };
            // An error means that the worker has ended, or that the right to raise it has been taken away.
            let is_set = set(self.thread).is_ok();
            self.raised.store(raise && is_set, Ordering::Relaxed);
        }
    }

    /// Whether the worker is in the same call as the last time.
    fn stays(&self) -> bool {
        let steps = self.steps.load(Ordering::Relaxed);
        self.seen.swap(steps, Ordering::Relaxed) == steps && steps % 2 == 1
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::kernel::schedule::{THIS_THREAD, policy};

    /// A worker that never sleeps: on its processor nothing but threads of its own priority runs.
    #[test]
    fn a_worker_that_loops_becomes_ordinary_until_its_call_ends() {
        let priorities = Priorities::start(true);
        std::thread::sleep(LOOK_INTERVAL);
        if priorities.thread.get().is_none() {
            eprintln!("skipped: this user has no real-time priority");
            return;
        }
        let until = |wanted| {
            let end = Instant::now() + Duration::from_secs(60);
            while policy(THIS_THREAD) != wanted && Instant::now() < end {}
            policy(THIS_THREAD) == wanted
        };
        let priority = priorities.join();
        assert!(until(libc::SCHED_RR), "a worker gets its priority");
        priority.step();
        assert!(until(libc::SCHED_OTHER), "a long call loses it");
        priority.step();
        assert!(until(libc::SCHED_RR), "between two calls it is as before");
        // A thread that it starts is ordinary.
        let started = std::thread::spawn(|| policy(THIS_THREAD)).join().unwrap();
        assert_eq!(started, libc::SCHED_OTHER);
        priorities.remove(&priority);
        assert!(priorities.workers.lock().is_empty());
    }

    #[test]
    fn only_a_worker_in_the_same_call_stays() {
        let priority = Priority::read(Tid::MAX);
        assert!(!priority.stays() && !priority.stays(), "between two calls");
        for _ in 0..3 {
            priority.step();
            assert!(!priority.stays(), "the first look at a call");
            priority.step();
        }
        priority.step();
        assert!(!priority.stays() && priority.stays() && priority.stays());
        priority.step();
        assert!(!priority.stays());
    }
}
