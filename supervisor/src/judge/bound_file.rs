//! Which file a socket is bound to, as the kernel itself knows it.
//!
//! A look at the name after bind(2) may find another socket: a server of the operator's may have removed the tree's
//! socket and bound its own. The socket still has the file that it made, so the guard asks the kernel for that file
//! (sock_diag(7), which needs no rights). No other file can have the inode number by then: a bound socket holds on to
//! its file.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// `SOCK_DIAG_BY_FAMILY` (linux/sock_diag.h): the type of request and answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST` (linux/netlink.h).
const REQUEST: u16 = 1;
/// `UDIAG_SHOW_VFS`, and `UNIX_DIAG_VFS` in the answer (linux/unix_diag.h).
const SHOW_FILE: u32 = 2;
const FILE: u16 = 1;
/// The lengths of `struct nlmsghdr`, `struct unix_diag_req`, `struct unix_diag_msg` and `struct nlattr`.
const HEADER: usize = 16;
const QUESTION: usize = 24;
const ANSWER: usize = 16;
const ATTRIBUTE: usize = 4;

/// Whether a socket is bound to this file. False if that cannot be found out, and for a socket of another network namespace.
///
/// Only inodes are compared: the file is in the directory in which the socket was bound, so in its file system.
pub fn is_bound_to(socket: BorrowedFd<'_>, file: BorrowedFd<'_>) -> bool {
    matches!((bound_inode(socket), kernel_inode(file)), (Ok(bound), Some(there)) if bound == there)
}

/// The inode number of the file that a socket is bound to: its lower half, which is all that the kernel tells.
fn bound_inode(socket: BorrowedFd<'_>) -> Result<u32, Errno> {
    let number = rustix::fs::fstat(socket)?.st_ino;
    let number = u32::try_from(number).map_err(|_| Errno::OVERFLOW)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let kernel = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
    rustix::net::sendto(&kernel, &question(number), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 512];
    // The kernel has answered before it returns from the call above.
    let (_, length) = rustix::net::recv(&kernel, &mut answer[..], RecvFlags::empty())?;
    inode_in(answer.get(..length).ok_or(Errno::MSGSIZE)?).ok_or(Errno::NOENT)
}

/// The question for a socket's file. `socket` is the inode number of the socket itself.
fn question(socket: u32) -> Vec<u8> {
    /// Every state, and no cookie.
    const ANY: u32 = u32::MAX;
    let mut message = Vec::with_capacity(HEADER + QUESTION);
    message.extend_from_slice(&((HEADER + QUESTION) as u32).to_ne_bytes());
    message.extend_from_slice(&BY_FAMILY.to_ne_bytes());
    message.extend_from_slice(&REQUEST.to_ne_bytes());
    // Sequence number and sender.
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(&[libc::AF_UNIX as u8, 0, 0, 0]);
    for field in [ANY, socket, SHOW_FILE, ANY, ANY] {
        message.extend_from_slice(&field.to_ne_bytes());
    }
    message
}

/// The inode number in the kernel's answer; `None` if the answer is an error, or the socket has no file.
fn inode_in(answer: &[u8]) -> Option<u32> {
    let half = |at: usize| Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
    if half(4)? != BY_FAMILY {
        return None;
    }
    let end = answer.len().min(word(0)? as usize);
    let mut at = HEADER + ANSWER;
    while at + ATTRIBUTE <= end {
        let length = usize::from(half(at)?);
        if length < ATTRIBUTE {
            return None;
        }
        if half(at + 2)? == FILE {
            return word(at + ATTRIBUTE);
        }
        // Attributes begin at multiples of four.
        at += length.next_multiple_of(4);
    }
    None
}

/// The inode number that the kernel itself has for an open file: some file systems (overlayfs) show another one to stat(2).
fn kernel_inode(file: BorrowedFd<'_>) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    let number: u64 = text.lines().find_map(|line| line.strip_prefix("ino:"))?.trim().parse().ok()?;
    // The lower half is what is compared.
    Some(number as u32)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use rustix::fs::{Mode, OFlags};

    use super::*;

    #[test]
    fn a_socket_is_bound_to_its_own_file_and_to_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let open = |name: &str| rustix::fs::open(root.join(name), OFlags::PATH, Mode::empty()).unwrap();
        let (one, other) = (UnixListener::bind(root.join("one")), UnixDatagram::bind(root.join("other")));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(
            is_bound_to(one.as_fd(), open("one").as_fd())
                && is_bound_to(other.as_fd(), open("other").as_fd())
        );
        assert!(!is_bound_to(one.as_fd(), open("other").as_fd()));
        // The name goes to another server. The socket keeps its file, wherever that is.
        std::fs::rename(root.join("one"), root.join("moved")).unwrap();
        let later = UnixListener::bind(root.join("one")).unwrap();
        assert!(
            is_bound_to(one.as_fd(), open("moved").as_fd()) && !is_bound_to(one.as_fd(), open("one").as_fd())
        );
        assert!(is_bound_to(later.as_fd(), open("one").as_fd()));
        for number in 0..100 {
            std::fs::remove_file(root.join("moved")).unwrap_or_default();
            let name = format!("again{number}");
            let _again = UnixListener::bind(root.join(&name)).unwrap();
            assert!(!is_bound_to(one.as_fd(), open(&name).as_fd()), "its inode is not given out again");
        }
        assert!(!is_bound_to(UnixDatagram::unbound().unwrap().as_fd(), open("one").as_fd()));
        assert!(!is_bound_to(File::open(&root).unwrap().as_fd(), open("one").as_fd()));
    }

    #[test]
    fn an_answer_that_is_cut_has_no_inode() {
        let mut answer = question(7);
        answer.resize(HEADER + ANSWER, 0);
        assert_eq!(inode_in(&answer), None);
        answer.extend_from_slice(&[12_u16, FILE].map(u16::to_ne_bytes).concat());
        answer.extend_from_slice(&[99_u32, 1].map(u32::to_ne_bytes).concat());
        let length = answer.len() as u32;
        answer[..4].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(inode_in(&answer), Some(99));
        for end in 0..HEADER + ANSWER + ATTRIBUTE + 4 {
            assert_eq!(inode_in(&answer[..end]), None, "{end}");
        }
        answer[HEADER + ANSWER..HEADER + ANSWER + 2].copy_from_slice(&0_u16.to_ne_bytes());
        assert_eq!(inode_in(&answer), None, "an attribute without a length");
    }
}
