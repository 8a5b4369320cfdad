//! Servers on sockets, which would act for whoever connects.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::time::Duration;

use guard_tests::Arena;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::{reached, watch};
use crate::attempt::Outside;

fn listening(arena: &Arena, listener: UnixListener) -> Outside {
    listener.set_nonblocking(true).expect("a socket");
    watch(arena, reached(move || listener.accept().is_ok()))
}

/// Listens at a path of the arena.
pub fn server_at(arena: &Arena, path: &str) -> Outside {
    let path = arena.root().join(path);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
    // Binds a short name: the path may be longer than an address.
    let directory = std::fs::File::open(path.parent().expect("a directory")).expect("a directory");
    let name = path.file_name().expect("a name").to_str().expect("a name");
    let short = if path.as_os_str().len() < 100 {
        path.clone()
    } else {
        format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()).into()
    };
    listening(arena, UnixListener::bind(short).expect("a socket"))
}

/// Listens at `work/server`: the tree may write there, but no rule names the socket.
pub fn server(arena: &Arena) -> Outside {
    server_at(arena, "work/server")
}

/// Returns the arena's own abstract name, followed by `rest`.
fn abstract_name(arena: &Arena, rest: &str) -> SocketAddr {
    let name = [arena.root().as_os_str().as_bytes(), rest.as_bytes()].concat();
    SocketAddr::from_abstract_name(name).expect("a name")
}

/// Listens at the abstract name `$R`, and at the same name followed by a NUL and `more`.
pub fn abstract_server(arena: &Arena) -> Outside {
    let at = |rest| listening(arena, UnixListener::bind_addr(&abstract_name(arena, rest)).expect("a socket"));
    Box::new([at(""), at("\0more")])
}

/// Listens at the abstract name `$R`, once nobody else has it.
pub fn late_server(arena: &Arena) -> Outside {
    let name = abstract_name(arena, "");
    let taken = std::fs::canonicalize(arena.root().join("work")).expect("a directory").join("taken");
    let mut listener = None;
    watch(arena, move || {
        // Waits until the tree has had the name.
        if listener.is_none() && taken.exists() {
            listener = UnixListener::bind_addr(&name).ok();
            if let Some(listener) = &listener {
                listener.set_nonblocking(true).expect("a socket");
                std::fs::write(taken.with_file_name("late"), "").expect("a file");
            }
        }
        listener.as_ref().is_some_and(|listener| listener.accept().is_ok())
    })
}

/// A server that is started again and again, with the abstract name `$R` for datagrams and for connections: it gets the name
/// as soon as the tree closes its own socket.
pub fn restarting_server(arena: &Arena) -> Outside {
    /// How often one look tries to bind the name.
    const TRIES: usize = 2000;
    let name = abstract_name(arena, "");
    watch(arena, move || {
        let datagrams = (0..TRIES).find_map(|_| UnixDatagram::bind_addr(&name).ok());
        let listener = UnixListener::bind_addr(&name).ok();
        std::thread::sleep(Duration::from_millis(10));
        let was_sent = datagrams.is_some_and(|socket| {
            socket.set_nonblocking(true).expect("a socket");
            socket.recv(&mut [0; 9]).is_ok()
        });
        let was_connected = listener.is_some_and(|listener| {
            listener.set_nonblocking(true).expect("a socket");
            listener.accept().is_ok()
        });
        was_sent || was_connected
    })
}

/// Listens at an abstract name that the kernel chose. `work/name` contains it.
pub fn autobound(arena: &Arena) -> Outside {
    let socket = unnamed(SocketType::STREAM);
    // Binding an address of only the family asks the kernel for a name.
    nix::sys::socket::bind(socket.as_raw_fd(), &nix::sys::socket::UnixAddr::new_unnamed()).expect("a name");
    rustix::net::listen(&socket, 16).expect("a socket");
    let listener = UnixListener::from(socket);
    let address = listener.local_addr().expect("an address");
    std::fs::write(arena.root().join("work/name"), address.as_abstract_name().expect("a name"))
        .expect("a file");
    listening(arena, listener)
}

/// Receives datagrams at `work/datagrams` and at the abstract name `$R`.
pub fn datagrams(arena: &Arena) -> Outside {
    let by_path = UnixDatagram::bind(arena.root().join("work/datagrams")).expect("a socket");
    let by_name = UnixDatagram::bind_addr(&abstract_name(arena, "")).expect("a socket");
    let sockets = [by_path, by_name];
    for socket in &sockets {
        socket.set_nonblocking(true).expect("a socket");
    }
    watch(arena, move || sockets.iter().any(|socket| socket.recv(&mut [0; 9]).is_ok()))
}

/// Accepts SOCK_SEQPACKET connections at `work/messages`.
pub fn messages(arena: &Arena) -> Outside {
    let socket = unnamed(SocketType::SEQPACKET);
    let address = SocketAddrUnix::new(arena.root().join("work/messages")).expect("an address");
    rustix::net::bind(&socket, &address).expect("a socket");
    rustix::net::listen(&socket, 16).expect("a socket");
    listening(arena, UnixListener::from(socket))
}

fn unnamed(kind: SocketType) -> OwnedFd {
    rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("a socket")
}
