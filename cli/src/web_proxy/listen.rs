//! Accepts the tree's connections.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use guard_supervisor::web::wire::{ProxySocket, WebPeer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::client::Client;
use super::supervisor_link::SupervisorLink;

/// The maximum number of connections at a time. Further ones wait in the kernel's queue.
const MAX_CLIENTS: usize = 1024;
/// The pause when there are no descriptors left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// The places of all connections.
pub(super) fn seats() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(MAX_CLIENTS))
}

/// Accepts, and has `serve` serve each connection, without an end.
pub(super) async fn accept(
    listener: TcpListener,
    socket: ProxySocket,
    (link, seats): (Rc<SupervisorLink>, Arc<Semaphore>),
    serve: impl AsyncFn(TcpStream, &Rc<Client>) + Copy + 'static,
) {
    loop {
        // The semaphore is never closed.
        let Ok(seat) = Arc::clone(&seats).acquire_owned().await else { return };
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
                continue;
            }
        };
        let link = Rc::clone(&link);
        tokio::task::spawn_local(async move {
            let peer = WebPeer { from, to: socket };
            let client = Client::new(&link, (&stream, peer), seat);
            serve(stream, &client).await;
        });
    }
}
