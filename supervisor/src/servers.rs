//! The AF_UNIX sockets that the tree itself has bound.

use std::collections::HashSet;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use nix::sys::socket::UnixAddr;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use crate::resolve::{Entry, Object};

/// A socket in the file system: device, inode and time of birth, as inodes are used again.
type File = (u32, u32, u64, i64, u32);

/// What the tree has bound. Of both, only a few are ever made.
#[derive(Debug, Default)]
pub struct Servers {
    files: Mutex<HashSet<File>>,
    /// Abstract names, with the NUL that they start with.
    names: Mutex<HashSet<Vec<u8>>>,
}

impl Servers {
    /// Remembers what has just been bound at this entry. One that cannot be looked at is not remembered.
    pub fn add_file(&self, entry: &Entry) {
        if let Ok(file) = identity(&entry.parent, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file);
        }
    }

    /// Whether the tree made this socket.
    ///
    /// # Errors
    /// The kernel's.
    pub fn has_file(&self, socket: &Object) -> Result<bool, Errno> {
        let file = identity(&socket.fd, b"", AtFlags::EMPTY_PATH)?;
        Ok(self.files.lock().unwrap_or_else(PoisonError::into_inner).contains(&file))
    }

    /// Remembers the abstract name of a socket that has just been bound, whoever chose it.
    pub fn add_name(&self, socket: BorrowedFd<'_>) {
        if let Ok(address) = nix::sys::socket::getsockname::<UnixAddr>(socket.as_raw_fd())
            && let Some(name) = address.as_abstract()
        {
            let name = [b"\0", name].concat();
            self.names.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        }
    }

    /// Whether the tree has bound this abstract name.
    pub fn has_name(&self, name: &[u8]) -> bool {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

fn identity(directory: impl std::os::fd::AsFd, name: &[u8], flags: AtFlags) -> Result<File, Errno> {
    let stat = rustix::fs::statx(directory, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino, stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
}
