//! connect, bind, sendto, sendmsg and sendmmsg, which the supervisor performs on the caller's own socket, with the address
//! that it read. Also socket, which the policy may refuse.

pub mod address;
mod control_messages;
mod internet;
mod message;
mod send;
mod unix;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_policy::Transport;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::sockopt;

use super::Request;
use crate::kernel::requests;
use crate::reply::{ContinueReason, HandlerResult, Reply};
use address::{Address, Use};
pub(crate) use send::{sendmmsg, sendmsg, sendto};

/// The type of a socket without its flags (SOCK_TYPE_MASK of linux/net.h).
const TYPE: u32 = 0xf;
/// `sizeof(struct sockaddr_storage)`: the kernel accepts no longer address.
const ADDRESS_MAX: u64 = 128;

/// Reads the raw address from the caller's memory.
///
/// # Errors
/// EINVAL for a length that no address has, EFAULT, and ESRCH if the caller is gone.
pub fn read_address(request: &Request<'_, '_>, address: u64, length: u64) -> Result<Vec<u8>, Errno> {
    let length = length as u32 as i32;
    if length < 0 || length as u64 > ADDRESS_MAX {
        return Err(Errno::INVAL);
    }
    let mut raw = vec![0; length as usize];
    if length > 0 {
        request.caller.bytes(address, &mut raw)?;
    }
    Ok(raw)
}

pub(crate) fn connect(request: &Request<'_, '_>, fd: i32, address: u64, length: u64) -> HandlerResult {
    let socket = request.caller.descriptor(fd)?;
    let done = connect_to(request, &socket, address, length);
    request.worker.close(request.caller, [socket]);
    done
}

fn connect_to(request: &Request<'_, '_>, socket: &OwnedFd, address: u64, length: u64) -> HandlerResult {
    let raw = match read_address(request, address, length) {
        // connect(2) rejects an O_PATH descriptor before anything else.
        Err(_) if rustix::fs::fcntl_getfl(socket)?.contains(OFlags::PATH) => return Err(Errno::BADF),
        read => read?,
    };
    match Address::parse(&raw, sockopt::socket_domain(socket)?, Use::Connect) {
        Address::Path(path) => unix::connect_path(request, socket.as_fd(), path),
        Address::Abstract => unix::connect_name(request, socket.as_fd(), &raw),
        Address::Internet(to) => internet::connect(request, socket.as_fd(), &raw, to),
        Address::Other => request.connect(socket.as_fd(), &raw),
    }
}

/// socket(2) for UDP, and for TCP where there is no network at all.
pub(crate) fn socket(request: &Request<'_, '_>, kind: u64) -> HandlerResult {
    let is_stream = kind as u32 & TYPE == libc::SOCK_STREAM as u32;
    request.guard.judge_socket(request.caller, if is_stream { Transport::Tcp } else { Transport::Udp })?;
    Ok(Reply::Continue(ContinueReason::Registers))
}

pub(crate) fn bind(request: &Request<'_, '_>, fd: i32, address: u64, length: u64) -> HandlerResult {
    let socket = request.caller.descriptor(fd)?;
    let done = bind_to(request, &socket, address, length);
    request.worker.close(request.caller, [socket]);
    done
}

fn bind_to(request: &Request<'_, '_>, socket: &OwnedFd, address: u64, length: u64) -> HandlerResult {
    // Unlike connect(2), bind(2) checks that the descriptor is a socket before it looks at the address.
    let domain = sockopt::socket_domain(socket)?;
    let raw = read_address(request, address, length)?;
    match Address::parse(&raw, domain, Use::Bind) {
        Address::Path(path) => unix::bind_path(request, socket, &raw, path),
        Address::Internet(at) => internet::bind(request, socket.as_fd(), &raw, at),
        Address::Abstract | Address::Other => {
            let done = request.perform(|| requests::bind(socket.as_fd(), &raw))?;
            request.guard.created.sockets.add_name(socket.as_fd());
            Ok(done)
        }
    }
}

impl Request<'_, '_> {
    /// Connects to the judged address; may block for long.
    fn connect(&self, socket: BorrowedFd<'_>, address: &[u8]) -> HandlerResult {
        self.perform(|| self.worker.block(self.caller, || requests::connect(socket, address)))
    }
}
