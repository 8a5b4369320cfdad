//! connect and bind. The supervisor does both on the caller's own socket, with the address that it read.

use std::os::fd::{AsFd, BorrowedFd};

use guard_policy::Access;
use rustix::fs::{Access as Mode, AtFlags, CWD, FileType};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, sockopt};

use super::Request;
use crate::answer::{Answer, Outcome};
use crate::kernel::requests;
use crate::pool::blocking;
use crate::report::Operation;
use crate::resolve::{Last, Target, link_to};

/// `sizeof(struct sockaddr_storage)`: the kernel takes no longer address.
const ADDRESS_MAX: u64 = 128;
const FAMILY: usize = 2;
/// `sizeof(struct sockaddr_un)`: the kernel takes no longer address of this family.
const UNIX_MAX: usize = 110;

/// An address as the caller gave it.
enum Address<'a> {
    /// A socket in the file system.
    Path(&'a [u8]),
    /// A socket with a name that is no path.
    Abstract,
    /// Everything else, an address without a name included.
    Other,
}

fn read_address(request: &Request<'_, '_>, address: u64, length: u64) -> Result<Vec<u8>, Errno> {
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

fn kind<'a>(socket: BorrowedFd<'_>, raw: &'a [u8]) -> Result<Address<'a>, Errno> {
    if sockopt::socket_domain(socket)? != AddressFamily::UNIX || raw.len() <= FAMILY || raw.len() > UNIX_MAX {
        return Ok(Address::Other);
    }
    // The kernel fails with EINVAL for another family, but AF_UNSPEC, which disconnects.
    if u16::from_ne_bytes([raw[0], raw[1]]) != libc::AF_UNIX as u16 {
        return Ok(Address::Other);
    }
    let name = &raw[FAMILY..];
    if name[0] == 0 {
        return Ok(Address::Abstract);
    }
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Ok(Address::Path(&name[..end]))
}

/// `struct sockaddr_un` with this path.
fn unix_address(path: &[u8]) -> Vec<u8> {
    let mut raw = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    raw.extend_from_slice(path);
    raw.push(0);
    raw
}

pub fn connect(request: &Request<'_, '_>, fd: i32, address: u64, length: u64) -> Outcome {
    let socket = request.caller.descriptor(fd)?;
    let raw = read_address(request, address, length)?;
    let connected = match kind(socket.as_fd(), &raw)? {
        Address::Path(path) => {
            let target =
                request.guard.resolver.resolve(request.caller, libc::AT_FDCWD, path, Last::Follow)?;
            let (object, path) = target.into_object()?;
            if object.kind() != FileType::Socket {
                rustix::fs::accessat(CWD, link_to(object.fd.as_fd()), Mode::WRITE_OK, AtFlags::EACCESS)?;
                return Err(Errno::CONNREFUSED);
            }
            request.guard.judge(
                request.caller,
                Operation::Connect,
                &path,
                Some(&object.stat),
                Access::WRITE,
            )?;
            let there = unix_address(link_to(object.fd.as_fd()).as_bytes());
            blocking(request.caller, || requests::connect(socket.as_fd(), &there))
        }
        Address::Abstract => {
            let connected = blocking(request.caller, || requests::connect(socket.as_fd(), &raw));
            return connected.and_then(|()| refuse_outsider(request, socket.as_fd(), &raw[FAMILY + 1..]));
        }
        Address::Other => blocking(request.caller, || requests::connect(socket.as_fd(), &raw)),
    };
    match connected {
        Ok(()) => Ok(Answer::Value(0)),
        Err(Errno::INTR) => Ok(Answer::Interrupted),
        Err(error) => Err(error),
    }
}

/// An abstract socket has no path that could be judged: only the tree's own servers may be reached. Who listens is
/// known once the connection is there, before the caller can send anything.
fn refuse_outsider(request: &Request<'_, '_>, socket: BorrowedFd<'_>, name: &[u8]) -> Outcome {
    let peer = sockopt::socket_peercred(socket)?;
    if request.guard.tree.contains(peer.pid.as_raw_nonzero().get()) {
        return Ok(Answer::Value(0));
    }
    let path = [b"@", name].concat();
    let refused = request.guard.refuse(
        request.caller,
        Operation::Connect,
        &path,
        "a socket of a process that is not guarded",
    );
    if refused.is_err() {
        rustix::net::shutdown(socket, Shutdown::Both)?;
        return Err(Errno::CONNREFUSED);
    }
    Ok(Answer::Value(0))
}

pub fn bind(request: &Request<'_, '_>, fd: i32, address: u64, length: u64) -> Outcome {
    let socket = request.caller.descriptor(fd)?;
    let raw = read_address(request, address, length)?;
    let Address::Path(path) = kind(socket.as_fd(), &raw)? else {
        requests::bind(socket.as_fd(), &raw)?;
        return Ok(Answer::Value(0));
    };
    let target = request.guard.resolver.resolve(request.caller, libc::AT_FDCWD, path, Last::Name)?;
    let entry = match target {
        Target::Entry(entry) if entry.object.is_none() => entry,
        Target::Entry(_) | Target::Object { .. } => return Err(Errno::ADDRINUSE),
    };
    request.guard.judge(request.caller, Operation::Write, &entry.path, None, Access::WRITE)?;
    request.take_umask()?;
    let name = entry.written();
    let here = if path == name {
        // This worker's directory is its own (CLONE_FS): the socket gets the name that the caller wrote.
        rustix::process::fchdir(&rustix::fs::openat(
            &entry.parent,
            c".",
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?)?;
        unix_address(&name)
    } else {
        unix_address(&[link_to(entry.parent.as_fd()).as_bytes(), b"/", &name].concat())
    };
    let bound = requests::bind(socket.as_fd(), &here);
    rustix::process::chdir(c"/")?;
    bound?;
    Ok(Answer::Value(0))
}
