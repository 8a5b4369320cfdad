//! Asks the kernel about sockets (sock_diag(7), which needs no rights).
//!
//! The tables in /proc/net are made in parts, and a part begins after as many sockets as came before: a socket is left out
//! if enough of the others are closed meanwhile, which the tree can arrange. An answer of sock_diag is made in one pass.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Every state of a socket.
pub(super) const ANY_STATE: u32 = u32::MAX;
/// Both halves of `INET_DIAG_NOCOOKIE` (linux/inet_diag.h).
pub(super) const NO_COOKIE: u64 = u64::MAX;

/// `SOCK_DIAG_BY_FAMILY` (linux/sock_diag.h): the type of request and answer.
const BY_FAMILY: u16 = 20;
/// `NLMSG_NOOP`, `NLMSG_ERROR` and `NLMSG_DONE` (linux/netlink.h).
const NOTHING: u16 = 1;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_REQUEST`, `NLM_F_ACK` and `NLM_F_DUMP`.
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const DUMP: u16 = 0x300;
/// The lengths of `struct nlmsghdr` and `struct nlattr`.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
/// The kernel makes its answers no longer (net/netlink/af_netlink.c, `netlink_recvmsg`).
const MAX_ANSWER: usize = 32 << 10;

/// The answer about one socket: a structure of its family, and attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SocketAnswer<'a>(pub(super) &'a [u8]);

impl<'a> SocketAnswer<'a> {
    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub(super) fn word(self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    /// The content of the attribute of this type, if the kernel has sent it. `fixed` is the length of the structure before
    /// the attributes.
    pub(super) fn attribute(self, fixed: usize, kind: u16) -> Option<&'a [u8]> {
        let mut rest = self.0.get(fixed..)?;
        loop {
            let length = usize::from(half(rest, 0)?);
            let content = rest.get(ATTRIBUTE..length)?;
            if half(rest, 2)? == kind {
                return Some(content);
            }
            // Attributes begin at multiples of four.
            rest = rest.get(length.next_multiple_of(4)..)?;
        }
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Asks about one socket.
///
/// # Errors
/// The kernel's: ENOENT if there is no such socket, ESTALE if it has another cookie.
pub(super) fn ask<T>(question: &[u8], read: impl FnOnce(SocketAnswer<'_>) -> Option<T>) -> Result<T, Errno> {
    let kernel = connection()?;
    send(&kernel, BY_FAMILY, REQUEST, question)?;
    let mut buffer = [0; 512];
    let message = messages(receive(&kernel, &mut buffer)?).next().ok_or(Errno::BADMSG)?;
    read(message.answer()?.ok_or(Errno::NOENT)?).ok_or(Errno::NOENT)
}

/// Asks about all sockets that fit the question, in one pass of the kernel.
///
/// # Errors
/// The kernel's: ENOENT if it does not know the protocol. E2BIG if the answer does not fit into one message: the kernel would
/// make several passes, and leave out a socket between two of them.
pub(super) fn ask_all<T>(
    question: &[u8],
    read: impl Fn(SocketAnswer<'_>) -> Option<T>,
) -> Result<Vec<T>, Errno> {
    let kernel = connection()?;
    let mut buffer = vec![0; MAX_ANSWER];
    // The first answer gets as much room as the longest read before, so this is one.
    send(&kernel, NOTHING, REQUEST | ACKNOWLEDGE, &[])?;
    receive(&kernel, &mut buffer)?;
    send(&kernel, BY_FAMILY, REQUEST | DUMP, question)?;
    let mut found: Vec<T> = Vec::new();
    loop {
        let is_first = found.is_empty();
        for message in messages(receive(&kernel, &mut buffer)?) {
            let Some(answer) = message.answer()? else { return Ok(found) };
            if !is_first {
                return Err(Errno::TOOBIG);
            }
            found.push(read(answer).ok_or(Errno::BADMSG)?);
        }
    }
}

fn connection() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))
}

fn send(kernel: &OwnedFd, kind: u16, flags: u16, question: &[u8]) -> Result<(), Errno> {
    let mut message = Vec::with_capacity(HEADER + question.len());
    message.extend_from_slice(&((HEADER + question.len()) as u32).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    // Sequence number and sender.
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(question);
    rustix::net::sendto(kernel, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).map(drop)
}

/// Receives what the kernel has answered, before it returned from the question.
fn receive<'b>(kernel: &OwnedFd, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let (_, length, sender) = rustix::net::recvfrom(kernel, &mut *buffer, RecvFlags::empty())?;
    // A privileged process may send to this socket, too (netlink(7)); the kernel's number is 0.
    let sender = sender.ok_or(Errno::BADMSG).and_then(SocketAddrNetlink::try_from)?;
    if sender.pid() == 0 { buffer.get(..length).ok_or(Errno::MSGSIZE) } else { Err(Errno::BADMSG) }
}

/// One message of the kernel's.
struct NetlinkMessage<'a> {
    kind: u16,
    content: &'a [u8],
}

impl<'a> NetlinkMessage<'a> {
    /// The answer about a socket; `None` at the end of a list.
    fn answer(&self) -> Result<Option<SocketAnswer<'a>>, Errno> {
        match self.kind {
            BY_FAMILY => Ok(Some(SocketAnswer(self.content))),
            DONE => Ok(None),
            ERROR => {
                let error = SocketAnswer(self.content).word(0).ok_or(Errno::BADMSG)?;
                Err(Errno::from_raw_os_error((error as i32).wrapping_neg()))
            }
            _ => Err(Errno::BADMSG),
        }
    }
}

fn messages(datagram: &[u8]) -> impl Iterator<Item = NetlinkMessage<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = SocketAnswer(rest).word(0)? as usize;
        let message = NetlinkMessage { kind: half(rest, 4)?, content: rest.get(HEADER..length)? };
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_by_their_type_and_never_beyond_the_answer() {
        let attribute = |kind: u16, content: &[u8]| {
            let mut bytes = ((ATTRIBUTE + content.len()) as u16).to_ne_bytes().to_vec();
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(content);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let answer = [vec![7; 16], attribute(0, b"name"), attribute(5, b"x"), attribute(1, b"file")].concat();
        let found = |answer: &[u8], kind| SocketAnswer(answer).attribute(16, kind).map(<[u8]>::to_vec);
        assert_eq!(found(&answer, 0).as_deref(), Some(&b"name"[..]));
        assert_eq!(found(&answer, 1).as_deref(), Some(&b"file"[..]));
        assert_eq!(found(&answer, 2), None);
        assert!((0..answer.len()).all(|end| found(&answer[..end], 1).is_none()));
        let without_length = [&answer[..16], &[0; 8]].concat();
        assert_eq!(found(&without_length, 1), None);
    }

    #[test]
    fn an_error_is_the_kernels() {
        let error = [20_u32.to_ne_bytes(), [2, 0, 0, 0], [0; 4], [0; 4], (-2_i32).to_ne_bytes()].concat();
        let message = messages(&error).next().unwrap();
        assert_eq!(message.answer().err(), Some(Errno::NOENT));
        assert!(messages(&error[..19]).next().is_none());
    }
}
