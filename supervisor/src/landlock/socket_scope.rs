//! The Landlock scope of the tree's abstract sockets.
//!
//! For an abstract name, the kernel looks for the socket itself, and looks again when a call that has waited goes on. Meanwhile
//! the tree may have closed the socket that was judged, and a server outside may have got the name. So the reaper, from which
//! the tree descends, is forked by a thread in a scope (Linux 6.12), and the supervisor connects and sends to such names in
//! threads of the same scope: the kernel refuses each socket that was not made in it. The supervisor's other threads stay
//! outside, because a domain keeps them from looking at processes outside of it (ptrace(2)), such as OpenClaw's gateway.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use guard_shim::landlock::scope_abstract_sockets;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use rustix::io::Errno;

/// The signals that a thread of the supervisor leaves to those that read them.
pub const LEFT_TO_OTHERS: [Signal; 2] = [Signal::SIGCHLD, Signal::SIGHUP];

/// The stack of a thread that makes one call.
const STACK: usize = 64 << 10;

type Job = Box<dyn FnOnce() + Send>;

/// What the scope's first thread does.
enum Assignment {
    /// Runs this itself.
    Run(Job),
    /// Starts a thread that runs this, in the same scope.
    Start(Job),
}

/// A scope that threads run in. All clones share it. The default is none: nothing is refused.
#[derive(Clone, Debug, Default)]
pub struct SocketScope(Option<Sender<Assignment>>);

impl SocketScope {
    /// Starts the first thread of a scope. On a kernel that has none, there is no thread and no scope.
    ///
    /// # Errors
    /// If no thread can be started, or the kernel has scopes and refuses this one.
    pub fn enter() -> io::Result<SocketScope> {
        let (assignments, given) = channel();
        let (entered, has_entered) = channel();
        let lead = move || {
            let is_scoped = scope_abstract_sockets();
            let leads = matches!(is_scoped, Ok(true));
            if entered.send(is_scoped).is_ok() && leads {
                follow(&given);
            }
        };
        // The thread has no name of its own: the reaper would have it, too, and other guards know a guard's processes by theirs.
        let thread = std::thread::Builder::new().spawn(lead)?;
        let is_scoped = has_entered.recv().map_err(|_| io::Error::from(Errno::IO))??;
        if is_scoped {
            return Ok(SocketScope(Some(assignments)));
        }
        // Whoever forks next must be alone.
        let _ = thread.join();
        Ok(SocketScope::default())
    }

    /// Whether there is a scope.
    pub fn is_entered(&self) -> bool {
        self.0.is_some()
    }

    /// Runs a job that does not block in the scope's first thread, and waits for it. Without a scope, runs it here.
    ///
    /// # Errors
    /// EIO if a job has panicked.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Errno> {
        self.assign(Assignment::Run, job)
    }

    /// Runs a job that may block in a thread of its own in the scope, and waits for it. Without a scope, runs it here.
    ///
    /// # Errors
    /// EAGAIN if no thread can be started, or the job has panicked.
    pub fn start<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Errno> {
        self.assign(Assignment::Start, job).map_err(|_| Errno::AGAIN)
    }

    fn assign<T: Send + 'static>(
        &self,
        assignment: fn(Job) -> Assignment,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Errno> {
        let Some(assignments) = &self.0 else { return Ok(job()) };
        let (answer, answered) = channel();
        // Nobody waits for the answer if this thread has panicked.
        let job = move || drop(answer.send(job()));
        assignments.send(assignment(Box::new(job))).map_err(|_| Errno::IO)?;
        answered.recv().map_err(|_| Errno::IO)
    }
}

/// Follows assignments until nobody gives any.
fn follow(assignments: &Receiver<Assignment>) {
    leave_signals(SigmaskHow::SIG_BLOCK);
    for assignment in assignments {
        match assignment {
            Assignment::Run(job) => job(),
            Assignment::Start(job) => {
                let thread = std::thread::Builder::new().name("scoped".into()).stack_size(STACK);
                // Whoever waits learns that the job is gone.
                let _ = thread.spawn(move || {
                    leave_signals(SigmaskHow::SIG_SETMASK);
                    job();
                });
            }
        }
    }
}

/// Leaves signals to the threads that read them. With SIG_SETMASK, takes all others, such as the one that wakes a thread.
fn leave_signals(how: SigmaskHow) {
    let _ = pthread_sigmask(how, Some(&SigSet::from_iter(LEFT_TO_OTHERS)), None);
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::*;

    #[test]
    fn a_thread_in_the_scope_reaches_only_what_was_made_in_it() {
        let scope = SocketScope::enter().unwrap();
        let at = |name: &str| {
            SocketAddr::from_abstract_name(format!("guard-{name}-{}", std::process::id())).unwrap()
        };
        let (inside, outside) = (at("inside"), at("outside"));
        let _outside = UnixDatagram::bind_addr(&outside).unwrap();
        let name = inside.clone();
        let _inside = scope.start(move || UnixDatagram::bind_addr(&name).unwrap()).unwrap();
        let send = |to: &SocketAddr| UnixDatagram::unbound().unwrap().send_to_addr(b"x", to).is_ok();
        assert!(send(&inside) && send(&outside), "this thread is in no scope");
        let reached = scope.start(move || [send(&inside), send(&outside)]).unwrap();
        assert_eq!(reached, [true, !scope.is_entered()]);
    }

    #[test]
    fn a_job_that_panics_is_an_error() {
        let scope = SocketScope::enter().unwrap();
        if scope.is_entered() {
            assert_eq!(scope.start(|| panic!("as a fault would")), Err::<(), _>(Errno::AGAIN));
            assert_eq!(scope.start(|| 7), Ok(7));
            assert_eq!(scope.run(|| 7), Ok(7));
        }
    }
}
