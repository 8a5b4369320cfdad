//! Which file a socket is bound to, as the kernel itself knows it.
//!
//! A look at the name after bind(2) may find another socket: a server of the operator's may have removed the tree's
//! socket and bound its own. The socket still has the file that it made, so the guard asks the kernel for that file
//! (sock_diag(7), which needs no rights). No other file can have the inode number by then: a bound socket holds on to
//! its file.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::bound_name::BoundSocket;

/// Whether a socket is bound to this file. False if that cannot be found out, and for a socket of another network namespace.
///
/// Only inodes are compared: the file is in the directory in which the socket was bound, so in its file system.
pub fn is_bound_to(socket: BorrowedFd<'_>, file: BorrowedFd<'_>) -> bool {
    matches!((bound_inode(socket), kernel_inode(file)), (Ok(bound), Some(there)) if bound == there)
}

/// The inode number of the file that a socket is bound to: its lower half, which is all that the kernel tells.
fn bound_inode(socket: BorrowedFd<'_>) -> Result<u32, Errno> {
    BoundSocket::from_socket(socket)?.file()
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
}
