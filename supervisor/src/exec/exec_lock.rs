//! Serialises the execs of one process.
//!
//! Threads of one process that exec at once end each other. A tracer that has seized several of them may wait for a
//! task that another thread's exec has already removed.

use std::collections::HashSet;
use std::time::Duration;

use guard_openclaw::peer::proc::Tid;
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use crate::caller::Caller;
use crate::worker::Worker;

/// How often a waiting exec checks that its caller is still alive.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The processes with an exec in progress.
#[derive(Debug, Default)]
pub struct ExecLocks {
    busy: Mutex<Busy>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Busy {
    processes: HashSet<Tid>,
    /// How many execs wait. Usually none, and then nobody needs to be woken.
    waiting: usize,
}

/// The right to exec in a process, until dropped.
#[derive(Debug)]
pub struct ExecLock<'t> {
    locks: &'t ExecLocks,
    tgid: Tid,
}

impl ExecLocks {
    /// Waits for the process's turn.
    ///
    /// # Errors
    /// ESRCH when the caller is gone; EAGAIN or ENFILE if too many calls wait already.
    pub fn acquire(&self, worker: &Worker, caller: &Caller<'_>) -> Result<ExecLock<'_>, Errno> {
        let tgid = caller.process()?;
        if !self.busy.lock().processes.insert(tgid) {
            worker.wait_for_turn(caller, || self.wait(tgid, caller))?;
        }
        Ok(ExecLock { locks: self, tgid })
    }

    fn wait(&self, tgid: Tid, caller: &Caller<'_>) -> Result<(), Errno> {
        let mut busy = self.busy.lock();
        while !busy.processes.insert(tgid) {
            busy.waiting += 1;
            self.freed.wait_for(&mut busy, POLL_INTERVAL);
            busy.waiting -= 1;
            caller.check()?;
        }
        Ok(())
    }
}

impl Drop for ExecLock<'_> {
    fn drop(&mut self) {
        let mut busy = self.locks.busy.lock();
        busy.processes.remove(&self.tgid);
        if busy.waiting > 0 {
            self.locks.freed.notify_all();
        }
    }
}
