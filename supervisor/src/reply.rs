//! How a held call ends.

use std::os::fd::{AsFd, OwnedFd};

use guard_shim::failpoints::{Fallible, Layer, fail_point, is_off};
use parking_lot::RwLock;
use rustix::io::Errno;

use crate::caller::Caller;
use crate::kernel::Response;

/// What a handler decided for its call.
#[derive(Debug)]
pub enum Reply {
    /// The call returns this value.
    Value(i64),
    /// The call returns a new descriptor of this file.
    Descriptor {
        /// The file, open as the caller asked.
        file: OwnedFd,
        /// Whether the descriptor closes on exec.
        cloexec: bool,
        /// Whether our copy must be gone before the caller goes on.
        copy: OurCopy,
    },
    /// A signal came while the call was blocked.
    Interrupted,
    /// The kernel does it.
    Continue(ContinueReason),
    /// The handler has answered already.
    Done,
    /// The same: the program that was asked for runs.
    Started,
}

/// What our own descriptor of an injected file would do while it lingers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OurCopy {
    /// Nothing, but that a lock on the file lasts as long: a regular file that cannot be written through it.
    Harmless,
    /// ETXTBSY for an exec after write and close, a late end of file on a FIFO, a lock held too long.
    Felt,
}

/// Why it cannot matter what the kernel finds when it reads the caller's memory again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueReason {
    /// Everything that the call acts on is in registers, which nobody else can change.
    Registers,
    /// The call gives no access: the descriptor (O_PATH) or answer (AT_EXECVE_CHECK) is judged when it is used,
    /// and the floor allows no more than reading where the policy lets everything be read.
    NoAccess,
    /// The floor decides about what the kernel finds, and for this access it grants only hierarchies of which the policy
    /// allows every object without asking.
    Floored,
    /// Hardening that is no boundary: mapping a file as code gives nothing that reading it did not.
    Hardening,
    /// It does matter: only where a test has switched the broker off.
    Untrue,
}

/// A handler's result; an error is the errno that the caller sees.
pub type HandlerResult = Result<Reply, Errno>;

/// Answers the held call. The caller may be gone: then nobody waits for the answer.
pub fn send(caller: &Caller<'_>, outcome: HandlerResult) {
    let id = caller.call().id;
    if outcome.is_ok() {
        fail_point(Fallible::Answer, crate::syscall::number::name(caller.call().number).as_bytes());
    }
    if is_off(Layer::Broker) && matches!(outcome, Ok(Reply::Descriptor { .. })) {
        let _ = caller.kernel().respond(id, Response::Continue);
        return;
    }
    let response = match outcome {
        Ok(Reply::Done | Reply::Started) => return,
        Ok(Reply::Value(value)) => Response::Value(value),
        Ok(Reply::Interrupted) => Response::Interrupted,
        Ok(Reply::Continue(why)) => {
            tracing::debug!("system call {} goes on in the kernel: {why:?}", caller.call().number);
            Response::Continue
        }
        Ok(Reply::Descriptor { file, cloexec, copy }) => match install(caller, file, cloexec, copy) {
            Ok(None) => return,
            Ok(Some(number)) => Response::Value(number),
            Err(error) => Response::Error(error),
        },
        Err(error) => Response::Error(error),
    };
    match caller.kernel().respond(id, response) {
        Ok(()) | Err(Errno::NOENT) => {}
        // The kernel refused the form of the answer; the call must still end, and end closed.
        Err(_) => drop(caller.kernel().respond(id, Response::Error(Errno::ACCESS))),
    }
}

/// Held by who hands over a file and still has a copy when the caller goes on.
static LINGERING: RwLock<()> = RwLock::new(());

/// Waits until no copy is left of what has been handed over so far. A lock taken after this ends with the caller's own
/// descriptors.
pub fn wait_for_inflight_fds() {
    drop(LINGERING.write());
}

/// Puts the file into the caller. None when that answered the call as well.
fn install(caller: &Caller<'_>, file: OwnedFd, cloexec: bool, copy: OurCopy) -> Result<Option<i64>, Errno> {
    let reply = copy == OurCopy::Harmless;
    let lingering = reply.then(|| LINGERING.read());
    let number = caller.kernel().install(caller.call().id, file.as_fd(), cloexec, reply)?;
    drop(file);
    drop(lingering);
    Ok((!reply).then_some(number))
}
