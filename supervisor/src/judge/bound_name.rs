//! What an AF_UNIX socket is bound to, as the kernel itself knows it.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};

use super::sock_diag::{ANY_STATE, SocketAnswer, ask};

/// `UDIAG_SHOW_NAME` and `UDIAG_SHOW_VFS`, and the attributes for which they ask, `UNIX_DIAG_NAME` and `UNIX_DIAG_VFS`
/// (linux/unix_diag.h).
const SHOW_NAME: u32 = 1;
const NAME: u16 = 0;
const SHOW_FILE: u32 = 2;
const FILE: u16 = 1;
/// The length of `struct unix_diag_msg`, and where the socket's type is in it.
const ANSWER: usize = 16;
const TYPE: usize = 1;

/// A socket, whatever becomes of its descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundSocket {
    /// The socket's inode, which is not its file's.
    pub inode: u32,
    /// What no other socket ever has (SO_COOKIE in socket(7)): inode numbers come again.
    pub cookie: u64,
}

impl BoundSocket {
    /// Takes the numbers of a socket.
    ///
    /// # Errors
    /// The kernel's; EOVERFLOW if its inode number is none of a socket's.
    pub fn from_socket(socket: BorrowedFd<'_>) -> Result<BoundSocket, Errno> {
        let inode = u32::try_from(rustix::fs::fstat(socket)?.st_ino).map_err(|_| Errno::OVERFLOW)?;
        Ok(BoundSocket { inode, cookie: sockopt::socket_cookie(socket)? })
    }

    /// Whether the socket is there, is of this type, and has this abstract name, with its leading NUL. In a network namespace
    /// only one socket of a type has a name.
    pub fn has_name(self, name: &[u8], kind: SocketType) -> bool {
        let is_this = |answer: SocketAnswer<'_>| {
            let is_of_type = answer.byte(TYPE).map(u32::from) == Some(kind.as_raw());
            Some(is_of_type && answer.attribute(ANSWER, NAME) == Some(name))
        };
        ask(&self.question(SHOW_NAME), is_this) == Ok(true)
    }

    /// The inode number of the file to which the socket is bound: its lower half, which is all that the kernel tells.
    ///
    /// # Errors
    /// ENOENT if it has no file, or is not there.
    pub fn file(self) -> Result<u32, Errno> {
        ask(&self.question(SHOW_FILE), |answer| SocketAnswer(answer.attribute(ANSWER, FILE)?).word(0))
    }

    /// `struct unix_diag_req`.
    fn question(self, show: u32) -> Vec<u8> {
        let mut question = vec![libc::AF_UNIX as u8, 0, 0, 0];
        for field in [ANY_STATE, self.inode, show, self.cookie as u32, (self.cookie >> 32) as u32] {
            question.extend_from_slice(&field.to_ne_bytes());
        }
        question
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn a_socket_has_its_name_while_it_is_open() {
        let name = format!("guard-test-name-{}\0x", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let name = [b"\0", name.as_bytes()].concat();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let datagrams = UnixDatagram::bind_addr(&address).unwrap();
        let [one, other] =
            [listener.as_fd(), datagrams.as_fd()].map(|socket| BoundSocket::from_socket(socket).unwrap());
        assert!(one.has_name(&name, SocketType::STREAM) && !one.has_name(&name, SocketType::DGRAM));
        assert!(other.has_name(&name, SocketType::DGRAM) && !other.has_name(&name, SocketType::STREAM));
        assert!(!one.has_name(&name[..name.len() - 1], SocketType::STREAM));
        let reborn = BoundSocket { cookie: one.cookie + 1, ..one };
        assert!(!reborn.has_name(&name, SocketType::STREAM), "another socket with its inode number");
        drop(listener);
        assert!(!one.has_name(&name, SocketType::STREAM));
        assert_eq!(one.file(), Err(Errno::NOENT));
        assert_eq!(
            BoundSocket::from_socket(UnixDatagram::unbound().unwrap().as_fd()).unwrap().file(),
            Err(Errno::NOENT)
        );
    }
}
