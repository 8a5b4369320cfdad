//! What the routes work with.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use guard_supervisor::config::options::Options;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::super::watch::event::Sender;
use super::BoardJson;
use super::origin::{OPEN, Origin};
use super::sessions::Sessions;

/// Readers of files at a time.
const MAX_READERS: usize = 2;

/// Pages that are told what happens, at a time.
const MAX_PAGES: usize = 32;
/// What the routes work with.
#[derive(Debug)]
pub struct AppState {
    pub(super) origin: Origin,
    pub(super) sessions: Mutex<Sessions>,
    pub(super) board: watch::Receiver<BoardJson>,
    pub(super) news: Sender,
    pub(super) options: Options,
    pub(super) pages: Arc<Semaphore>,
    pub(super) readers: Semaphore,
}

impl AppState {
    /// Of the page at this address.
    pub fn new(
        address: SocketAddr,
        sessions: Sessions,
        board: watch::Receiver<BoardJson>,
        news: Sender,
        options: Options,
    ) -> AppState {
        AppState {
            origin: Origin::new(address),
            sessions: Mutex::new(sessions),
            board,
            news,
            options,
            pages: Arc::new(Semaphore::new(MAX_PAGES)),
            readers: Semaphore::new(MAX_READERS),
        }
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Does something with the sessions.
    pub fn sessions<T>(&self, act: impl FnOnce(&mut Sessions) -> T) -> T {
        act(&mut self.sessions.lock())
    }

    /// Another link.
    pub fn link(&self) -> String {
        self.sessions(|sessions| link(&self.origin, sessions))
    }
}

/// Another link that opens the page at this place.
pub fn link(origin: &Origin, sessions: &mut Sessions) -> String {
    format!("{}{OPEN}?token={}", origin.url(), sessions.link(Instant::now()).text())
}
