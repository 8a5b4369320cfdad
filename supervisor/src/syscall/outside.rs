//! A client of `run-outside` gets its channel.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use guard_policy::unavailable;
use rustix::io::Errno;

use super::Request;
use crate::kernel::errno;
use crate::outside::wire::{ClientMessage, Order, send_with};
use crate::outside::{Approved, Pass, Running};
use crate::reply::{HandlerResult, Reply, SupervisorCopy};

/// Answers an open of [`crate::outside::CHANNEL`]. A process that has a pass gets a socket, and the pass is used up.
/// For every other process there is no such file.
///
/// # Errors
/// ENOENT without a pass; the kernel's.
pub fn claim(request: &Request<'_, '_>) -> HandlerResult {
    let (guard, caller) = (request.guard, request.caller);
    let pass = guard.starts.outside.take_pass(caller.process()?).ok_or(Errno::NOENT)?;
    caller.check()?;
    let (ours, theirs) = guard_shim::channel().map_err(errno::from_io)?;
    let refusal = match pass {
        Pass::Refused(text) => Some(text),
        Pass::Run(approved) => shut_meanwhile(request).or_else(|| start(request, *approved, &ours).err()),
    };
    if let Some(text) = refusal {
        send_with(ours.as_fd(), &ClientMessage::Refused(text).encode(), &[])?;
    }
    Ok(Reply::Descriptor { file: theirs, cloexec: true, copy: SupervisorCopy::CloseBeforeReply })
}

/// Why the command may no longer run, if a gate was shut after the yes: the tree can delay its client until then.
fn shut_meanwhile(request: &Request<'_, '_>) -> Option<String> {
    let (outside, policy) = (&request.guard.starts.outside, request.guard.policy());
    let failing = policy.elevated().failing(outside.sender(), outside.level(policy));
    (!failing.is_empty()).then(|| unavailable(&failing))
}

fn start(request: &Request<'_, '_>, approved: Approved, channel: &OwnedFd) -> Result<(), String> {
    let (outside, caller) = (&request.guard.starts.outside, request.caller);
    let failed = |error: Errno| format!("cannot run it outside the guard: {}", std::io::Error::from(error));
    let link = outside.link().map_err(|_| failed(Errno::PERM))?;
    let words = |words: Vec<Vec<u8>>| words.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>();
    let Approved { argv, environment, program, directory, script, path, shown } = approved;
    let pid = caller.process().map_err(failed)?;
    let id = outside.begin(Running { pid, path, argv: shown });
    let send = || -> Result<(), Errno> {
        let order = Order {
            id,
            argv: words(argv).map_err(|_| Errno::INVAL)?,
            environment: words(environment).map_err(|_| Errno::INVAL)?,
            program,
            directory,
            script,
            stdio: caller.stdio()?,
            channel: channel.try_clone().map_err(errno::from_io)?,
        };
        order.send(link)
    };
    send().map_err(failed).inspect_err(|_| outside.cancel(id))
}
