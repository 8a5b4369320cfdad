//! The approvals page.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use guard_tests::{Announced, Arena};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use super::{reached, watch};
use crate::attempt::Outside;

/// A page on every address of this host, although the real one has just one. `work/port` contains its port.
pub fn page(arena: &Arena) -> Outside {
    let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0")).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    arena.world.write("work/port", port.to_string());
    listener.set_nonblocking(true).expect("a socket");
    let announced = Announced::by(arena.world.page_file(&format!("127.0.0.1:{port}\n")));
    let accepts = reached(move || listener.accept().is_ok());
    watch(arena, while_owning(accepts, announced))
}

/// A page that starts listening once the tree waits for it.
pub fn late_page(arena: &Arena) -> Outside {
    coming(arena, "work/port-unknown", |_| true)
}

/// Like [`late_page`], but `work/port-to-come` contains its port beforehand. Only a caller that sends
/// something counts: the kernel may have connected before the guard looked again and cut the connection, and
/// the caller does not learn of it.
pub fn page_to_come(arena: &Arena) -> Outside {
    coming(arena, "work/port-to-come", |mut caller| {
        caller.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        caller.read(&mut [0]).is_ok_and(|count| count > 0)
    })
}

/// Returns what `looks` returns, and owns `had` for as long.
fn while_owning<T: Send + 'static>(
    mut looks: impl FnMut() -> bool + Send + 'static,
    had: T,
) -> impl FnMut() -> bool + Send + 'static {
    move || {
        let _had = &had;
        looks()
    }
}

fn coming(arena: &Arena, port_file: &str, counts: fn(TcpStream) -> bool) -> Outside {
    // Binds the port without listening yet.
    let bound =
        socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("a socket");
    bind(&bound, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let listener = TcpListener::from(bound);
    let port = listener.local_addr().expect("an address").port();
    arena.world.write(port_file, port.to_string());
    let work = arena.root().join("work");
    let waits = work.join("waits");
    // The file is not locked yet: it announces no page.
    let file = arena.world.page_file(&format!("127.0.0.1:{port}\n"));
    let mut announced = None;
    let comes = move || {
        if announced.is_none() && waits.exists() {
            announced = Some(Announced::by(file.clone()));
            listen(&listener, 8).expect("a socket");
            listener.set_nonblocking(true).expect("a socket");
            std::fs::write(work.join("port"), port.to_string()).expect("a port");
        }
        announced.is_some() && listener.accept().is_ok_and(|(caller, _)| counts(caller))
    };
    watch(arena, reached(comes))
}
