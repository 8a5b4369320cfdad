//! How a held call ends.

use std::os::fd::{AsFd, OwnedFd};

use guard_shim::failpoints::{Fallible, Layer, fail_point, is_layer_off};
use rustix::io::Errno;

use crate::caller::Caller;
use crate::inflight::Inflight;
use crate::kernel::Response;
use crate::resolve::Identity;

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
        /// Whether the supervisor's copy must be closed before the caller goes on.
        copy: SupervisorCopy,
    },
    /// A signal came while the call was blocked.
    Interrupted,
    /// The kernel performs the call.
    Continue(ContinueReason),
    /// The handler has replied already.
    Done,
    /// The handler has replied already, and the requested program runs.
    Started,
}

/// What the supervisor may do with its own descriptor of an injected file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorCopy {
    /// Keep it a little longer, so that one step hands over the file and replies. Only for a directory or a regular file:
    /// calls that would notice the copy wait for its end ([`crate::inflight`]).
    MayLinger {
        /// The file, if it is open for writing.
        written: Option<Identity>,
    },
    /// Close it before the caller goes on. Otherwise a FIFO or a terminal may end too late.
    CloseBeforeReply,
}

/// Why it cannot matter what the kernel finds when it reads the caller's memory again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueReason {
    /// Everything that the call acts on is in registers, which no other thread can change.
    Registers,
    /// The call gives no access: the descriptor (O_PATH) or result (AT_EXECVE_CHECK) is judged when it is used, and the
    /// floor allows no more than reading where the policy allows reading everything.
    NoAccess,
    /// The floor decides about what the kernel finds. For this access it grants only hierarchies in which the policy
    /// allows every object without asking.
    Floored,
    /// Hardening that is not a boundary: whoever maps a file as code gains nothing that reading the file did not give.
    Hardening,
    /// It does matter: used only if a test has switched the broker off.
    BrokerOff,
}

/// A handler's result; an error is the errno that the caller sees.
pub type HandlerResult = Result<Reply, Errno>;

/// Replies to the held call. If the caller is gone, the reply is dropped.
pub fn send(caller: &Caller<'_>, outcome: HandlerResult) {
    let id = caller.call().id;
    if outcome.is_ok() {
        fail_point(Fallible::Answer, || crate::syscall::number::name(caller.call().number).as_bytes());
    }
    if is_layer_off(Layer::Broker) && matches!(outcome, Ok(Reply::Descriptor { .. })) {
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
        // The kernel rejected the form of the reply; the call must still end, and be refused.
        Err(_) => drop(caller.kernel().respond(id, Response::Error(Errno::ACCESS))),
    }
}

/// Installs the file in the caller. Returns `None` if that also replied to the call.
fn install(
    caller: &Caller<'_>,
    file: OwnedFd,
    cloexec: bool,
    copy: SupervisorCopy,
) -> Result<Option<i64>, Errno> {
    let inflight = match copy {
        SupervisorCopy::MayLinger { written } => Inflight::begin(written),
        SupervisorCopy::CloseBeforeReply => None,
    };
    let reply = inflight.is_some();
    let number = caller.kernel().install(caller.call().id, file.as_fd(), cloexec, reply);
    drop(file);
    drop(inflight);
    Ok((!reply).then_some(number?))
}
