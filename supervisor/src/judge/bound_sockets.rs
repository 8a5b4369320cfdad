//! The AF_UNIX sockets that the tree itself has bound.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use guard_policy::Policy;
use nix::sys::socket::UnixAddr;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::judge::bound_file::is_bound_to;
use crate::judge::bound_name::BoundSocket;
use crate::resolve::{DirEntry, Object, link_to};

/// A socket in the file system: device, inode and birth time, because inode numbers are reused.
type File = (u32, u32, u64, i64, u32);

/// The most sockets of a kind that the guard remembers. Any further socket counts as a stranger's: the tree reaches it
/// only where a rule names it.
const MAX_SOCKETS: usize = 16_384;
/// How many sockets of a kind are bound between two searches for sockets that are gone.
const BINDS_PER_SEARCH: usize = 1024;

/// The sockets that the tree has bound, of both kinds. There are only ever a few.
#[derive(Debug, Default)]
pub struct BoundSockets {
    files: Mutex<SocketTable<File>>,
    /// Abstract names, with their leading NUL, and the type of the socket that has the name: each type has its own names. A
    /// name is free again once its socket is closed.
    names: Mutex<SocketTable<(Vec<u8>, u32)>>,
}

/// Sockets that were bound.
#[derive(Debug)]
struct SocketTable<K> {
    sockets: HashMap<K, Remembered>,
    /// How many were bound since the last search.
    binds: usize,
}

#[derive(Debug)]
struct Remembered {
    socket: BoundSocket,
    /// Whether the last search did not find the socket. The kernel releases its lock while the table is read, so one
    /// search may skip a socket that is there. Only a socket that two searches did not find is gone.
    is_missing: bool,
}

impl<K> Default for SocketTable<K> {
    fn default() -> Self {
        SocketTable { sockets: HashMap::new(), binds: 0 }
    }
}

impl<K: Hash + Eq> SocketTable<K> {
    fn add(&mut self, key: K, socket: BoundSocket, table: impl FnOnce() -> Option<HashSet<u32>>) {
        self.binds += 1;
        if self.binds >= BINDS_PER_SEARCH {
            self.binds = 0;
            // The guard forgets nothing if it cannot read the table.
            if let Some(there) = table() {
                self.forget(&there);
            }
        }
        if self.sockets.len() < MAX_SOCKETS || self.sockets.contains_key(&key) {
            self.sockets.insert(key, Remembered { socket, is_missing: false });
        }
    }

    /// Forgets the sockets that neither this search nor the one before found: nobody can connect to them any more.
    fn forget(&mut self, there: &HashSet<u32>) {
        self.sockets.retain(|_, known| {
            let was_missing = std::mem::replace(&mut known.is_missing, !there.contains(&known.socket.inode));
            !(was_missing && known.is_missing)
        });
    }

    fn get(&self, key: &K) -> Option<BoundSocket> {
        self.sockets.get(key).map(|known| known.socket)
    }
}

/// The inodes of all sockets that have a name; `None` if they cannot be found out.
fn named_sockets() -> Option<HashSet<u32>> {
    let table = std::fs::read("/proc/net/unix").ok()?;
    Some(lines(&table).map(|line| line.inode).collect())
}

impl BoundSockets {
    /// Remembers a socket just bound at this entry, unless the file there is another socket's by now. If the guard
    /// cannot inspect the entry, it does not remember the socket.
    pub fn add_file(&self, entry: &DirEntry, socket: BorrowedFd<'_>) {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if let Ok(there) = rustix::fs::openat(&entry.parent, &entry.name[..], flags, Mode::empty())
            && is_bound_to(socket, there.as_fd())
            && let Ok(file) = identity(&there, b"", AtFlags::EMPTY_PATH)
            && let Ok(socket) = BoundSocket::from_socket(socket)
        {
            self.files.lock().add(file, socket, named_sockets);
        }
    }

    /// Whether the tree made this socket.
    ///
    /// # Errors
    /// The kernel's.
    pub fn has_file(&self, socket: &Object) -> Result<bool, Errno> {
        let file = identity(&socket.fd, b"", AtFlags::EMPTY_PATH)?;
        Ok(self.files.lock().get(&file).is_some())
    }

    /// Whether the tree may take its name from a socket. It may not if a process outside the tree serves the socket and
    /// no rule names it: whoever connects there next would reach the tree. False in doubt.
    pub fn may_displace(&self, policy: &Policy, socket: &Object, path: &[u8]) -> bool {
        self.has_file(socket).unwrap_or(false) || policy.names(path) || !may_be_served(socket)
    }

    /// Remembers the abstract name of a socket that has just been bound, even if the kernel chose it.
    pub fn add_name(&self, socket: BorrowedFd<'_>) {
        if let Ok(address) = nix::sys::socket::getsockname::<UnixAddr>(socket.as_raw_fd())
            && let Some(name) = address.as_abstract()
        {
            let name = [b"\0", name].concat();
            let (Ok(bound), Ok(kind)) = (BoundSocket::from_socket(socket), sockopt::socket_type(socket))
            else {
                return;
            };
            self.names.lock().add((name, kind.as_raw()), bound, named_sockets);
        }
    }

    /// Runs `act`, which may give an AF_UNIX socket its first name, and remembers that name. With SO_PASSCRED or
    /// SO_PASSPIDFD the kernel gives a name to a socket that connects or sends, so that it can be answered (unix(7),
    /// "Autobind feature").
    pub fn naming<T>(
        &self,
        socket: BorrowedFd<'_>,
        act: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let is_unnamed = nix::sys::socket::getsockname::<UnixAddr>(socket.as_raw_fd())
            .is_ok_and(|address| address.path().is_none() && address.as_abstract().is_none());
        let done = act()?;
        if is_unnamed {
            self.add_name(socket);
        }
        Ok(done)
    }

    /// The owner of the socket of this type that can be reached by this abstract name.
    pub fn owner_of_name(&self, name: &[u8], kind: SocketType) -> NameOwner {
        let bound = self.names.lock().get(&(name.to_vec(), kind.as_raw()));
        match bound.filter(|bound| bound.has_name(name, kind)) {
            Some(bound) => NameOwner::Tree(bound),
            None if is_seen(name, kind) => NameOwner::Outside,
            None => NameOwner::Nobody,
        }
    }
}

/// Whether the kernel's table has a socket of this type with this name that can be reached; true in doubt. It shows a NUL in a name as
/// `@`, so names that look the same count, too. The table may leave a socket out, so nothing but the message to the operator
/// depends on this.
fn is_seen(name: &[u8], kind: SocketType) -> bool {
    let Ok(table) = std::fs::read("/proc/net/unix") else { return true };
    let shown: Vec<u8> = name.iter().map(|&byte| if byte == 0 { b'@' } else { byte }).collect();
    lines(&table).any(|line| line.name == shown && line.kind == kind && line.can_be_reached)
}

/// The owner of an abstract name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOwner {
    /// The tree, by this socket.
    Tree(BoundSocket),
    /// Nobody, as far as can be seen.
    Nobody,
    /// A process outside the tree, or the owner is unknown.
    Outside,
}

/// An entry of /proc/net/unix (proc_net(5)) for a socket that has a name.
pub struct ProcNetUnixEntry<'t> {
    /// The name as it was bound; an abstract name begins with `@`.
    pub name: &'t [u8],
    /// The socket's inode.
    pub inode: u32,
    /// Its type.
    pub kind: SocketType,
    /// Whether it listens, or receives datagrams. Accepted connections carry their server's name.
    pub can_be_reached: bool,
}

fn lines(table: &[u8]) -> impl Iterator<Item = ProcNetUnixEntry<'_>> {
    // A name may contain a line break: the rest then parses as no entry, or as an extra one.
    table.split(|&byte| byte == b'\n').filter_map(parse_entry)
}

/// Parses a line of /proc/net/unix; `None` if the line has no name.
pub fn parse_entry(line: &[u8]) -> Option<ProcNetUnixEntry<'_>> {
    /// `__SO_ACCEPTCON`, as the table shows it.
    const LISTENS: &[u8] = b"00010000";
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
    let kind = SocketType::from_raw(u32::from_str_radix(std::str::from_utf8(kind).ok()?, 16).ok()?);
    Some(ProcNetUnixEntry {
        name,
        inode,
        kind,
        can_be_reached: flags == LISTENS || kind == SocketType::DGRAM,
    })
}

/// Whether a process has a socket bound to this file, also in another network namespace. Such sockets are not in
/// /proc/net/unix, but a client finds its server by the file alone. True in doubt.
///
/// The kernel says so itself (net/unix/af_unix.c, `unix_find_bsd`): it refuses a connection to a file that no socket is bound
/// to, and has another error for a socket of another type. A server notices nothing: on a datagram socket, a connection
/// only sets the client's default receiver.
pub fn may_be_served(file: &Object) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connected = SocketAddrUnix::new(link_to(file.fd.as_fd())).and_then(|address| {
        let client = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        connect(&client, &address)
    });
    connected != Err(Errno::CONNREFUSED)
}

fn identity(directory: impl AsFd, name: &[u8], flags: AtFlags) -> Result<File, Errno> {
    let stat = rustix::fs::statx(directory, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)?;
    Ok((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino, stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_net_unix_is_parsed() {
        let entry =
            parse_entry(b"0000000000000000: 00000002 00000000 00010000 0001 01 27347 /run/a b").unwrap();
        assert_eq!((entry.name, entry.inode, entry.can_be_reached), (&b"/run/a b"[..], 27347, true));
        let entry = parse_entry(b"0000000000000000: 00000003 00000000 00000000 0001 03 27348 @x").unwrap();
        assert_eq!((entry.name, entry.inode, entry.can_be_reached), (&b"@x"[..], 27348, false));
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
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
        let name = format!("guard-test-servers-{}\0x", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let name = [b"\0", name.as_bytes()].concat();
        let sockets = BoundSockets::default();
        let owner = |kind| sockets.owner_of_name(&name, kind);
        let is_trees = |kind| matches!(owner(kind), NameOwner::Tree(_));
        assert_eq!(owner(SocketType::STREAM), NameOwner::Nobody);
        let listener = UnixListener::bind_addr(&address).unwrap();
        assert_eq!(owner(SocketType::STREAM), NameOwner::Outside);
        sockets.add_name(listener.as_fd());
        assert!(is_trees(SocketType::STREAM));
        // A socket of another type may have the same name, and another owner.
        let datagrams = UnixDatagram::bind_addr(&address).unwrap();
        assert_eq!(owner(SocketType::DGRAM), NameOwner::Outside);
        drop((listener, datagrams));
        assert_eq!(owner(SocketType::STREAM), NameOwner::Nobody);
        let again = UnixListener::bind_addr(&address).unwrap();
        assert_eq!(owner(SocketType::STREAM), NameOwner::Outside);
        sockets.add_name(again.as_fd());
        assert!(is_trees(SocketType::STREAM));
    }

    /// `SocketTable` after this many binds of sockets, of which the first `open` stay open.
    fn after(binds: u32, open: u32) -> SocketTable<u32> {
        let mut bound = SocketTable::default();
        for inode in 0..binds {
            bound.add(inode, socket(inode), || Some((0..open).chain([inode]).collect()));
        }
        bound
    }

    fn socket(inode: u32) -> BoundSocket {
        BoundSocket { inode, cookie: inode.into() }
    }

    #[test]
    fn sockets_that_are_gone_are_forgotten_and_no_others() {
        let bound = after(85_000, 100);
        assert!(bound.sockets.len() <= 100 + 3 * BINDS_PER_SEARCH, "{}", bound.sockets.len());
        assert!((0..100).all(|inode| bound.get(&inode).is_some()));
    }

    #[test]
    fn a_socket_that_one_search_misses_is_not_forgotten() {
        let mut bound = after(10, 10);
        bound.forget(&HashSet::new());
        bound.forget(&(0..10).collect());
        bound.forget(&HashSet::new());
        assert_eq!(bound.sockets.len(), 10);
        bound.forget(&HashSet::new());
        assert!(bound.sockets.is_empty());
    }

    #[test]
    fn beyond_the_bound_nothing_new_is_remembered() {
        let (last, most) = (MAX_SOCKETS as u32, MAX_SOCKETS as u32 + 1);
        let mut bound = after(most, most);
        assert_eq!(bound.sockets.len(), MAX_SOCKETS);
        assert!(bound.get(&0).is_some() && bound.get(&last).is_none());
        // A name that is bound again has its new socket.
        bound.add(0, socket(last), || None);
        assert_eq!(bound.get(&0), Some(socket(last)));
    }

    #[test]
    fn nothing_is_forgotten_where_the_table_cannot_be_read() {
        let mut bound = SocketTable::default();
        (0..5000).for_each(|inode| bound.add(inode, socket(inode), || None));
        assert_eq!(bound.sockets.len(), 5000);
    }

    #[test]
    fn the_table_of_the_kernel_has_a_socket_until_it_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let listener = std::os::unix::net::UnixListener::bind(directory.path().join("socket")).unwrap();
        let inode = BoundSocket::from_socket(listener.as_fd()).unwrap().inode;
        assert!(named_sockets().unwrap().contains(&inode));
        drop(listener);
        assert!(!named_sockets().unwrap().contains(&inode));
    }

    #[test]
    fn a_socket_is_served_until_its_server_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        let open =
            || Object::from_fd(rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap()).unwrap();
        assert!(may_be_served(&open()));
        // The name by which it was bound may be another socket's by now.
        let named = path.with_file_name("named");
        std::fs::rename(&path, &named).unwrap();
        let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(other);
        let moved = rustix::fs::open(&named, flags, rustix::fs::Mode::empty()).unwrap();
        let moved = Object::from_fd(moved).unwrap();
        assert!(may_be_served(&moved));
        drop(listener);
        assert!(!may_be_served(&moved));
        assert!(!may_be_served(&open()));
        let datagrams = std::os::unix::net::UnixDatagram::bind(path.with_file_name("datagrams")).unwrap();
        let file = rustix::fs::open(path.with_file_name("datagrams"), flags, rustix::fs::Mode::empty());
        let file = Object::from_fd(file.unwrap()).unwrap();
        assert!(may_be_served(&file));
        drop(datagrams);
        assert!(!may_be_served(&file));
    }
}
