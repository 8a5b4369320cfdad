//! The AF_UNIX sockets that the tree itself has bound.

use std::collections::HashSet;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::UnixAddr;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use crate::resolve::{DirEntry, Object};

/// A socket in the file system: device, inode and birth time, because inode numbers are reused.
type File = (u32, u32, u64, i64, u32);

/// The sockets that the tree has bound, of both kinds. There are only ever a few.
#[derive(Debug, Default)]
pub struct Servers {
    files: Mutex<HashSet<File>>,
    /// Abstract names, with their leading NUL, and the inode of the socket that has the name. A name is free again once
    /// its socket is closed, and each socket type has its own names.
    names: Mutex<HashSet<(Vec<u8>, u64)>>,
}

impl Servers {
    /// Remembers a socket just bound at this entry. If it cannot be inspected, it is not remembered.
    pub fn add_file(&self, entry: &DirEntry) {
        if let Ok(file) = identity(&entry.parent, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
            self.files.lock().insert(file);
        }
    }

    /// Whether the tree made this socket.
    ///
    /// # Errors
    /// The kernel's.
    pub fn has_file(&self, socket: &Object) -> Result<bool, Errno> {
        let file = identity(&socket.fd, b"", AtFlags::EMPTY_PATH)?;
        Ok(self.files.lock().contains(&file))
    }

    /// Remembers the abstract name of a socket that has just been bound, even if the kernel chose it.
    pub fn add_name(&self, socket: BorrowedFd<'_>) {
        if let Ok(address) = nix::sys::socket::getsockname::<UnixAddr>(socket.as_raw_fd())
            && let Some(name) = address.as_abstract()
        {
            let name = [b"\0", name].concat();
            let Ok(stat) = rustix::fs::fstat(socket) else { return };
            self.names.lock().insert((name, stat.st_ino));
        }
    }

    /// The owner of the sockets that can be reached by this abstract name. The kernel shows a NUL in a name as `@`, so
    /// names that look the same count, too.
    pub fn of_name(&self, name: &[u8]) -> Whose {
        let Ok(table) = std::fs::read("/proc/net/unix") else { return Whose::Others };
        let shown: Vec<u8> = name.iter().map(|&byte| if byte == 0 { b'@' } else { byte }).collect();
        let names = self.names.lock();
        let mut there = lines(&table).filter(|line| line.name == shown && line.can_be_reached).peekable();
        if there.peek().is_none() {
            Whose::Nobodys
        } else if there.all(|line| names.contains(&(name.to_vec(), line.inode))) {
            Whose::Trees
        } else {
            Whose::Others
        }
    }
}

/// The owner of an abstract name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Only processes of the tree.
    Trees,
    /// Nobody.
    Nobodys,
    /// A process outside the tree, or the owner is unknown.
    Others,
}

/// An entry of /proc/net/unix (proc_net(5)) for a socket that has a name.
pub struct ProcNetUnixEntry<'t> {
    /// The name as it was bound; an abstract name begins with `@`.
    pub name: &'t [u8],
    /// The socket's inode.
    pub inode: u64,
    /// Whether it listens, or receives datagrams. Accepted connections carry their server's name.
    pub can_be_reached: bool,
}

fn lines(table: &[u8]) -> impl Iterator<Item = ProcNetUnixEntry<'_>> {
    // A name may contain a line break: the rest then parses as no entry, or as an extra one.
    table.split(|&byte| byte == b'\n').filter_map(parse_entry)
}

/// Parses a line of that table; `None` if it has no name.
pub fn parse_entry(line: &[u8]) -> Option<ProcNetUnixEntry<'_>> {
    /// `__SO_ACCEPTCON`, and `SOCK_DGRAM`, as the table shows them.
    const LISTENS: &[u8] = b"00010000";
    const DATAGRAM: &[u8] = b"0002";
    let mut fields = [&line[..0]; 7];
    let mut rest = line;
    for field in &mut fields {
        let start = rest.iter().position(|&byte| byte != b' ')?;
        let length = rest[start..].iter().position(|&byte| byte == b' ')?;
        *field = &rest[start..start + length];
        rest = &rest[start + length..];
    }
    let name = rest.strip_prefix(b" ").filter(|name| !name.is_empty())?;
    let [_, _, _, flags, kind, _, inode] = fields;
    // The heading has no inode number.
    let inode = std::str::from_utf8(inode).ok()?.parse().ok()?;
    Some(ProcNetUnixEntry { name, inode, can_be_reached: flags == LISTENS || kind == DATAGRAM })
}

/// Whether a process of this user may listen at the socket file at this real path. In doubt it returns true: for a name
/// that was relative to some directory, or a file of another user, whose server may be in another network namespace.
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
    !is_ours || name.contains(&b'\n') || lines(&table).any(|line| is_it(line.name))
}

fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

fn identity(directory: impl std::os::fd::AsFd, name: &[u8], flags: AtFlags) -> Result<File, Errno> {
    let stat = rustix::fs::statx(directory, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino, stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_of_a_socket() {
        let told =
            parse_entry(b"0000000000000000: 00000002 00000000 00010000 0001 01 27347 /run/a b").unwrap();
        assert_eq!((told.name, told.inode, told.can_be_reached), (&b"/run/a b"[..], 27347, true));
        let told = parse_entry(b"0000000000000000: 00000003 00000000 00000000 0001 03 27348 @x").unwrap();
        assert_eq!((told.name, told.inode, told.can_be_reached), (&b"@x"[..], 27348, false));
        assert!(
            parse_entry(b"0000000000000000: 00000002 00000000 00000000 0002 01   345 @x")
                .unwrap()
                .can_be_reached
        );
        assert!(parse_entry(b"00000000358f07f3: 00000003 00000000 00000000 0001 03  1061").is_none());
        assert!(parse_entry(b"Num       RefCount Protocol Flags    Type St Inode Path").is_none());
        assert!(parse_entry(b"").is_none());
    }

    #[test]
    fn a_name_is_the_trees_as_long_as_its_socket_is() {
        use std::os::fd::AsFd;
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixListener};
        let name = format!("guard-test-servers-{}\0x", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let name = [b"\0", name.as_bytes()].concat();
        let servers = Servers::default();
        assert_eq!(servers.of_name(&name), Whose::Nobodys);
        let listener = UnixListener::bind_addr(&address).unwrap();
        assert_eq!(servers.of_name(&name), Whose::Others);
        servers.add_name(listener.as_fd());
        assert_eq!(servers.of_name(&name), Whose::Trees);
        drop(listener);
        assert_eq!(servers.of_name(&name), Whose::Nobodys);
        let _other = UnixListener::bind_addr(&address).unwrap();
        assert_eq!(servers.of_name(&name), Whose::Others);
    }

    #[test]
    fn a_socket_is_served_until_its_server_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let open =
            || Object::from_fd(rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap()).unwrap();
        assert!(may_be_served(&open(), path.as_os_str().as_encoded_bytes()));
        drop(listener);
        assert!(!may_be_served(&open(), path.as_os_str().as_encoded_bytes()));
    }
}
