//! Opening, creating, changing and removing.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use guard_tests::Arena;

use crate::arena::{race, race_over_the_floor, race_prepared};

macro_rules! races {
    ($race:path, $($name:ident: $mode:literal, $flipper:literal;)*) => {
        $(#[test] fn $name() { $race($mode, $flipper); })*
    };
}

races! {
    race,
    read_by_a_thread: "read", "thread";
    read_by_a_process: "read", "process";
    truncating_open: "truncating-open", "thread";
    chmod: "chmod", "thread";
    utimes: "utimes", "thread";
    truncate: "truncate", "thread";
    create_by_a_thread: "create", "thread";
    create_by_a_process: "create", "process";
    creat: "creat", "thread";
    mkdir: "mkdir", "thread";
    mknod: "mknod", "thread";
    symlink: "symlink", "thread";
    link: "link", "thread";
    rename: "rename", "thread";
    rename_away: "rename-away", "thread";
    unlink: "unlink", "thread";
    open_how: "open_how", "thread";
    open_how_of_o_path: "open_how-path", "thread";
    symlink_swap: "symlink-swap", "process";
    symlink_swap_create: "symlink-swap-create", "process";
    directory_swap: "directory-swap", "process";
    directory_swap_unlink: "directory-swap-unlink", "process";
    moved_cwd: "moved-cwd", "process";
    dirfd: "dirfd", "thread";
    proc_fd: "proc-fd", "thread";
    write: "write", "thread";
    rmdir: "rmdir", "thread";
    chdir: "chdir", "thread";
    mapping: "mapping", "thread";
    hard_link: "hard-link", "thread";
    reopen: "reopen", "thread";
}

/// Calls that continue in the kernel: only Landlock protects what is closed.
mod over_the_floor {
    use super::race_over_the_floor;

    races! {
        race_over_the_floor,
        read_by_a_thread: "read", "thread";
        read_by_a_process: "read", "process";
        write: "write", "thread";
        truncating_open: "truncating-open", "thread";
        create: "create", "thread";
        unlink: "unlink", "thread";
        rmdir: "rmdir", "thread";
        dirfd: "dirfd", "thread";
        chdir: "chdir", "thread";
        mapping: "mapping", "thread";
        symlink_swap: "symlink-swap", "process";
        directory_swap: "directory-swap", "process";
        moved_cwd: "moved-cwd", "process";
    }
}

/// Waits for a client of a server; false when there will be no more.
type NextClient = Box<dyn FnMut() -> bool + Send>;

/// Races for the closed one of two servers, the first of which is open.
fn race_for_closed(mode: &str, serve: impl Fn(&Arena) -> [NextClient; 2]) {
    let reached = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&reached);
    let listen = move |arena: &Arena| {
        for (mut wait, is_closed) in serve(arena).into_iter().zip([false, true]) {
            let reached = Arc::clone(&reached);
            std::thread::spawn(move || {
                while wait() {
                    reached.fetch_add(usize::from(is_closed), Ordering::Relaxed);
                }
            });
        }
    };
    race_prepared(mode, "thread", listen, move |_| {
        (seen.swap(0, Ordering::Relaxed) > 0).then(|| "reached the closed server".to_owned())
    });
}

/// Binds the same port at an open and at a closed address, and writes it down for the racer.
fn at_two_addresses<S>(
    arena: &Arena,
    bind: impl Fn(SocketAddr) -> io::Result<S>,
    address: impl Fn(&S) -> io::Result<SocketAddr>,
) -> [S; 2] {
    let both = (0..).find_map(|_| {
        let open = bind(([127, 0, 0, 1], 0).into()).expect("a socket");
        let port = address(&open).expect("an address").port();
        let closed = bind(([127, 0, 0, 2], port).into()).ok()?;
        arena.world.write("work/port", port.to_string());
        Some([open, closed])
    });
    both.expect("a port that is free at both")
}

/// The paths of an open and of a closed socket.
const SOCKETS: [&str; 2] = ["work/sock", "shut/sock"];

#[test]
fn connect_tcp() {
    race_for_closed("connect-tcp", |arena| {
        at_two_addresses(arena, TcpListener::bind, TcpListener::local_addr)
            .map(|listener| -> NextClient { Box::new(move || listener.incoming().next().is_some()) })
    });
}

#[test]
fn connect() {
    race_for_closed("connect", |arena| {
        SOCKETS.map(|name| -> NextClient {
            let listener = UnixListener::bind(arena.root().join(name)).expect("a socket");
            Box::new(move || listener.incoming().next().is_some())
        })
    });
}

#[test]
fn sendto_udp() {
    race_for_closed("sendto-udp", |arena| {
        at_two_addresses(arena, UdpSocket::bind, UdpSocket::local_addr)
            .map(|socket| -> NextClient { Box::new(move || socket.recv(&mut [0; 9]).is_ok()) })
    });
}

#[test]
fn sendmsg() {
    race_for_closed("sendmsg", |arena| {
        SOCKETS.map(|name| -> NextClient {
            let socket = UnixDatagram::bind(arena.root().join(name)).expect("a socket");
            Box::new(move || socket.recv(&mut [0; 9]).is_ok())
        })
    });
}
