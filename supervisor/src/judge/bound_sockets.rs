//! The AF_UNIX sockets that the tree itself has bound.

use std::collections::HashSet;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::sys::socket::UnixAddr;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use crate::resolve::{DirEntry, Object};

/// A socket in the file system: device, inode and time of birth, as inodes are used again.
type File = (u32, u32, u64, i64, u32);

/// What the tree has bound. Of both, only a few are ever made.
#[derive(Debug, Default)]
pub struct Servers {
    files: Mutex<HashSet<File>>,
    /// Abstract names, with the NUL that they start with, and the inode of the socket that has it: a name is free again
    /// when its socket is closed, and sockets of each type have names of their own.
    names: Mutex<HashSet<(Vec<u8>, u64)>>,
}

impl Servers {
    /// Remembers what has just been bound at this entry. One that cannot be looked at is not remembered.
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

    /// Remembers the abstract name of a socket that has just been bound, whoever chose it.
    pub fn add_name(&self, socket: BorrowedFd<'_>) {
        if let Ok(address) = nix::sys::socket::getsockname::<UnixAddr>(socket.as_raw_fd())
            && let Some(name) = address.as_abstract()
        {
            let name = [b"\0", name].concat();
            let Ok(stat) = rustix::fs::fstat(socket) else { return };
            self.names.lock().insert((name, stat.st_ino));
        }
    }

    /// Whose the sockets are that can be reached by this abstract name. The kernel shows a NUL in it as `@`: whose name
    /// looks the same counts, too.
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

/// Who has an abstract name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Processes of the tree alone.
    Trees,
    /// Nobody does.
    Nobodys,
    /// Somebody outside, or it cannot be told.
    Others,
}

/// A line of /proc/net/unix (proc_net(5)) about a socket that has a name.
pub struct ProcNetUnixEntry<'t> {
    /// As it was bound; what is abstract begins with `@`.
    pub name: &'t [u8],
    /// Of the socket.
    pub inode: u64,
    /// Whether it listens, or takes datagrams. Connections that were accepted have their server's name.
    pub can_be_reached: bool,
}

fn lines(table: &[u8]) -> impl Iterator<Item = ProcNetUnixEntry<'_>> {
    // A name may hold a line break: what follows it is no line, or one too many.
    table.split(|&byte| byte == b'\n').filter_map(parse_entry)
}

/// A line of that table; None where it tells of no name.
pub fn parse_entry(line: &[u8]) -> Option<ProcNetUnixEntry<'_>> {
    /// `__SO_ACCEPTCON`, and `SOCK_DGRAM`, as they are written.
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
    // The heading has no number.
    let inode = std::str::from_utf8(inode).ok()?.parse().ok()?;
    Some(ProcNetUnixEntry { name, inode, can_be_reached: flags == LISTENS || kind == DATAGRAM })
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
