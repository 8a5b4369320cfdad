//! Accepts connections to the page.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use guard_approvals::page_lock::Serving;
use guard_supervisor::config::options::Options;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use super::super::watch::event::{Sender, WatchEvent};
use super::routes;
use super::sessions::Sessions;
use super::state::AppState;
use super::{SnapshotJson, links, peer};

/// The most open connections; further ones wait. A browser opens at most 256, whatever its pages do, so another
/// browser finds room.
const MAX_CONNECTIONS: usize = 320;
/// How many peers are identified at a time.
const MAX_LOOKS: usize = 4;
/// How long a connection may be idle, or take to send a request's head.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest head, in bytes. A browser sends all cookies of a host, whichever port has set them: up to 180 of 4 KiB
/// each. This limit keeps servers on other ports from locking the operator out.
const MAX_HEAD_LEN: usize = 1024 * 1024;
/// How long to wait when no descriptors are left.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Everything that is needed to serve, before serving begins.
pub struct Service {
    serving: Serving,
    links: UnixListener,
    sessions: Sessions,
    options: Options,
}

impl Service {
    /// Prepares to serve at this address, with this socket for links. `options` select the log and the policy to show.
    pub fn new(serving: Serving, links: UnixListener, sessions: Sessions, options: Options) -> Service {
        Service { serving, links, sessions, options }
    }

    /// Starts serving in the current runtime.
    ///
    /// # Errors
    /// Returns an I/O error when a listener cannot be registered.
    pub fn start(self, snapshot: watch::Receiver<SnapshotJson>, events: Sender) -> io::Result<()> {
        let Service { serving, links, sessions, options } = self;
        let address = serving.address();
        let links = tokio::net::UnixListener::from_std(links)?;
        let app = Arc::new(AppState::new(address, sessions, snapshot, events.clone(), options));
        tokio::spawn(links::hand_out(links, Arc::clone(&app), events.clone()));
        tokio::spawn(accept(TcpListener::from_std(serving.listener()?)?, serving, routes::all(app), events));
        Ok(())
    }
}

async fn accept(listener: TcpListener, serving: Serving, routes: Router, events: Sender) {
    let own = serving.address();
    let (permits, looks) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), Arc::new(Semaphore::new(MAX_LOOKS)));
    loop {
        // The semaphore is never closed.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(RETRY_INTERVAL).await;
            continue;
        };
        let (routes, looks, events) = (routes.clone(), Arc::clone(&looks), events.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let Ok(_look) = looks.acquire_owned().await else { return };
            let checked = tokio::task::spawn_blocking(move || peer::check(own, peer)).await;
            drop(_look);
            let why = match checked {
                Ok(Ok(())) => return serve(stream, routes).await,
                Ok(Err(away)) => away.to_string(),
                Err(_) => "cannot identify the process that opened the page".to_owned(),
            };
            // At shutdown there is no receiver.
            let _ = events.send(WatchEvent::Rejected { pid: None, why: why.clone() });
            serve(stream, routes::turned_away(&why)).await;
        });
    }
}

async fn serve(stream: TcpStream, routes: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT).max_buf_size(MAX_HEAD_LEN);
    // The result does not matter: a browser may go at any time, and hyper itself answers what is not HTTP.
    let _ = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
}
