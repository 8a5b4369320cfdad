//! Opening, creating, changing and removing.

use std::net::{TcpListener, UdpSocket};
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

/// The same port at two addresses; only the open one may be reached.
#[test]
fn connect_tcp() {
    let reached = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&reached);
    let listen = move |arena: &Arena| {
        let (open, closed) = (0..)
            .find_map(|_| {
                let open = TcpListener::bind("127.0.0.1:0").expect("a listener");
                let port = open.local_addr().expect("an address").port();
                Some((open, TcpListener::bind(("127.0.0.2", port)).ok()?))
            })
            .expect("a port that is free at both");
        arena.world.write("work/port", open.local_addr().expect("an address").port().to_string());
        for (listener, is_closed) in [(open, false), (closed, true)] {
            let reached = Arc::clone(&reached);
            std::thread::spawn(move || {
                for _ in listener.incoming() {
                    reached.fetch_add(usize::from(is_closed), Ordering::Relaxed);
                }
            });
        }
    };
    race_prepared("connect-tcp", "thread", listen, move |_| {
        (seen.swap(0, Ordering::Relaxed) > 0).then(|| "reached the closed address".to_owned())
    });
}

/// Listens on an open and on a closed socket; only the open one may be reached.
#[test]
fn connect() {
    let reached = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&reached);
    let listen = move |arena: &Arena| {
        for (name, closed) in [("work/sock", false), ("shut/sock", true)] {
            let listener = UnixListener::bind(arena.root().join(name)).expect("a socket");
            let reached = Arc::clone(&reached);
            std::thread::spawn(move || {
                for _ in listener.incoming() {
                    reached.fetch_add(usize::from(closed), Ordering::Relaxed);
                }
            });
        }
    };
    race_prepared("connect", "thread", listen, move |_| {
        (seen.swap(0, Ordering::Relaxed) > 0).then(|| "reached the closed socket".to_owned())
    });
}

/// As [`connect_tcp`], for datagrams.
#[test]
fn sendto_udp() {
    let reached = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&reached);
    let listen = move |arena: &Arena| {
        let (open, closed) = (0..)
            .find_map(|_| {
                let open = UdpSocket::bind("127.0.0.1:0").expect("a socket");
                let port = open.local_addr().expect("an address").port();
                Some((open, UdpSocket::bind(("127.0.0.2", port)).ok()?))
            })
            .expect("a port that is free at both");
        arena.world.write("work/port", open.local_addr().expect("an address").port().to_string());
        for (socket, is_closed) in [(open, false), (closed, true)] {
            let reached = Arc::clone(&reached);
            std::thread::spawn(move || {
                while socket.recv(&mut [0; 9]).is_ok() {
                    reached.fetch_add(usize::from(is_closed), Ordering::Relaxed);
                }
            });
        }
    };
    race_prepared("sendto-udp", "thread", listen, move |_| {
        (seen.swap(0, Ordering::Relaxed) > 0).then(|| "reached the closed address".to_owned())
    });
}

/// As [`connect`], for datagrams.
#[test]
fn sendmsg() {
    let reached = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&reached);
    let listen = move |arena: &Arena| {
        for (name, closed) in [("work/sock", false), ("shut/sock", true)] {
            let socket = UnixDatagram::bind(arena.root().join(name)).expect("a socket");
            let reached = Arc::clone(&reached);
            std::thread::spawn(move || {
                while socket.recv(&mut [0; 9]).is_ok() {
                    reached.fetch_add(usize::from(closed), Ordering::Relaxed);
                }
            });
        }
    };
    race_prepared("sendmsg", "thread", listen, move |_| {
        (seen.swap(0, Ordering::Relaxed) > 0).then(|| "reached the closed socket".to_owned())
    });
}
