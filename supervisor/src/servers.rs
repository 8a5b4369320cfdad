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

/// Whether somebody may listen at a socket file of this user, at this real path. What cannot be told may be: a name that
/// was relative to some directory, a file of another user, whose server may be in another network namespace.
pub fn may_be_served(socket: &Object, path: &[u8]) -> bool {
    let is_ours = socket.stat.st_uid == rustix::process::geteuid().as_raw();
    let Ok(table) = std::fs::read("/proc/net/unix") else { return true };
    let name = last(path);
    let is_it = |bound: &[u8]| {
        last(bound) == name
            && (bound[0] != b'/'
                || rustix::fs::stat(bound).map_or(true, |stat| {
                    (stat.st_dev, stat.st_ino) == (socket.stat.st_dev, socket.stat.st_ino)
                }))
    };
    !is_ours || name.contains(&b'\n') || table.split(|&byte| byte == b'\n').filter_map(bound).any(is_it)
}

fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// The name in a line of /proc/net/unix (proc_net(5)): the eighth field and all behind it.
pub(crate) fn bound(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..7 {
        let start = rest.iter().position(|&byte| byte != b' ')?;
        let length = rest[start..].iter().position(|&byte| byte == b' ')?;
        rest = &rest[start + length..];
    }
    rest.strip_prefix(b" ").filter(|name| !name.is_empty())
}

fn identity(directory: impl std::os::fd::AsFd, name: &[u8], flags: AtFlags) -> Result<File, Errno> {
    let stat = rustix::fs::statx(directory, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino, stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_the_name() {
        let line = b"0000000000000000: 00000002 00000000 00010000 0001 01 27347 /run/a b";
        assert_eq!(bound(line), Some(&b"/run/a b"[..]));
        assert_eq!(bound(b"00000000358f07f3: 00000003 00000000 00000000 0001 03  1061"), None);
        assert_eq!(bound(b"Num       RefCount Protocol Flags    Type St Inode Path"), Some(&b"Path"[..]));
        assert_eq!(bound(b""), None);
    }

    #[test]
    fn a_socket_is_served_until_its_server_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let open = || Object::of(rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap()).unwrap();
        assert!(may_be_served(&open(), path.as_os_str().as_encoded_bytes()));
        drop(listener);
        assert!(!may_be_served(&open(), path.as_os_str().as_encoded_bytes()));
    }
}
