//! Connections to the page.

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
use super::{BoardJson, links, peer};

/// Connections at a time; more wait. A browser has no more than 256, whatever pages in it do: they leave room for another one.
const MAX_CONNECTIONS: usize = 320;
/// Peers that are looked at at a time.
const MAX_LOOKS: usize = 4;
/// How long a connection may say nothing, or take for the head of a request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// A longer head is none. A browser sends all cookies of a host, whichever port of it has set them: 180 of 4 KiB each.
/// Whoever listens on another port keeps nobody from the page by that.
const MAX_HEAD_LEN: usize = 1024 * 1024;
/// How long nothing is accepted when no descriptors are left.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What is served, before it is.
pub struct Service {
    serving: Serving,
    links: UnixListener,
    sessions: Sessions,
    options: Options,
}

impl Service {
    /// At this place, and with this socket for links. `options` say which log and which policy are shown.
    pub fn new(serving: Serving, links: UnixListener, sessions: Sessions, options: Options) -> Service {
        Service { serving, links, sessions, options }
    }

    /// Begins to answer, in a runtime.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(self, board: watch::Receiver<BoardJson>, news: Sender) -> io::Result<()> {
        let Service { serving, links, sessions, options } = self;
        let address = serving.address();
        let links = tokio::net::UnixListener::from_std(links)?;
        let desk = Arc::new(AppState::new(address, sessions, board, news.clone(), options));
        tokio::spawn(links::hand_out(links, Arc::clone(&desk), news.clone()));
        tokio::spawn(accept(TcpListener::from_std(serving.listener()?)?, serving, routes::all(desk), news));
        Ok(())
    }
}

async fn accept(listener: TcpListener, serving: Serving, routes: Router, news: Sender) {
    let own = serving.address();
    let (places, looks) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), Arc::new(Semaphore::new(MAX_LOOKS)));
    loop {
        // Neither is ever closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(RETRY_INTERVAL).await;
            continue;
        };
        let (routes, looks, news) = (routes.clone(), Arc::clone(&looks), news.clone());
        tokio::spawn(async move {
            let _place = place;
            let Ok(_look) = looks.acquire_owned().await else { return };
            let checked = tokio::task::spawn_blocking(move || peer::check(own, peer)).await;
            drop(_look);
            let why = match checked {
                Ok(Ok(())) => return serve(stream, routes).await,
                Ok(Err(away)) => away.to_string(),
                Err(_) => "who wants the page could not be looked at".to_owned(),
            };
            // Nobody listens at the end.
            let _ = news.send(WatchEvent::Turned { pid: None, why: why.clone() });
            serve(stream, routes::turned_away(&why)).await;
        });
    }
}

async fn serve(stream: TcpStream, routes: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT).max_buf_size(MAX_HEAD_LEN);
    // However it ends: a browser may go at any time, and what is no HTTP is told so by hyper.
    let _ = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
}
