//! The state that the routes share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use guard_supervisor::config::options::Options;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::super::watch::event::Sender;
use super::SnapshotJson;
use super::origin::{OPEN, Origin};
use super::sessions::Sessions;

/// How many threads read files at a time.
const MAX_READERS: usize = 2;

/// How many pages receive events at a time.
const MAX_PAGES: usize = 32;
/// The state that the routes share.
#[derive(Debug)]
pub struct AppState {
    pub(super) origin: Origin,
    pub(super) sessions: Mutex<Sessions>,
    pub(super) snapshot: watch::Receiver<SnapshotJson>,
    pub(super) events: Sender,
    pub(super) options: Options,
    pub(super) pages: Arc<Semaphore>,
    pub(super) readers: Semaphore,
}

impl AppState {
    /// The state of the page at this address.
    pub fn new(
        address: SocketAddr,
        sessions: Sessions,
        snapshot: watch::Receiver<SnapshotJson>,
        events: Sender,
        options: Options,
    ) -> AppState {
        AppState {
            origin: Origin::new(address),
            sessions: Mutex::new(sessions),
            snapshot,
            events,
            options,
            pages: Arc::new(Semaphore::new(MAX_PAGES)),
            readers: Semaphore::new(MAX_READERS),
        }
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Runs `act` on the sessions, under their lock.
    pub fn sessions<T>(&self, act: impl FnOnce(&mut Sessions) -> T) -> T {
        act(&mut self.sessions.lock())
    }

    /// Makes another link.
    pub fn link(&self) -> String {
        self.sessions(|sessions| link(&self.origin, sessions))
    }
}

/// Makes another link that opens the page of this origin.
pub fn link(origin: &Origin, sessions: &mut Sessions) -> String {
    format!("{}{OPEN}?token={}", origin.url(), sessions.link(Instant::now()).text())
}
