//! `openclaw-guard approvals serve`: the queue as a page in a browser, on the loopback interface.
//!
//! Here is the face: it writes down what waits (`cards`) on a board. `listen` takes connections of whom `peer` lets pass,
//! `routes` answers them; what changes or tells anything takes a request that is `admission::Admitted`, which has a
//! session of `sessions` and came from the page itself. `links` gives a link that opens one to whoever asks on the command
//! line. `headers` stand in every answer. `assets` is what a browser loads: text, without a build.

mod admission;
mod assets;
mod cards;
mod command;
mod headers;
mod history;
mod links;
mod listen;
mod origin;
mod peer;
mod reply;
mod routes;
mod rules;
mod sessions;
mod state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::clock::now_ms;
use guard_policy::text::shown;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use super::watch::event::Sender;
use super::watch::queue::{Key, Queue, QueueChange, QueueRow};
use cards::WebCard;
use listen::Service;

pub use command::{ServeArguments, ServeError, serve};

/// Between two boards: what happens meanwhile is on the next one.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// What was asked on the socket alone is shown after this: a guard's is told by the guard itself by then, and in full.
const UNTOLD_MS: u64 = 1500;
/// Notes that are kept, for whoever was away for a moment.
const MAX_NOTES: usize = 64;

/// What is on the page, as JSON of one line.
type BoardJson = Arc<str>;

/// The face.
pub struct WebFace {
    service: Option<Service>,
    board: watch::Sender<BoardJson>,
    /// What stands on the board.
    seen: Vec<(Key, u64)>,
    notes: VecDeque<Note>,
    noted: u64,
    is_stale: bool,
    written: Option<Instant>,
}

/// Something that happened.
#[derive(Debug, Serialize)]
struct Note {
    /// Counts up.
    n: u64,
    at: u64,
    what: NoteKind,
    guard: Option<u32>,
    id: Option<String>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum NoteKind {
    /// A question does not wait any more.
    Ended,
    /// What came of an answer.
    Answered,
    /// An answer was not taken.
    Refused,
    /// How a program goes on.
    Told,
    /// Somebody was turned away.
    Turned,
}

#[derive(Serialize)]
struct All<'a> {
    cards: Vec<WebCard>,
    notes: &'a VecDeque<Note>,
}

/// A card that changes as soon as it is there helps nobody.
fn is_half_known(row: &QueueRow, now_ms: u64) -> bool {
    row.approval.is_none() && now_ms < row.since_ms + UNTOLD_MS
}

impl WebFace {
    /// Served so.
    fn new(service: Service) -> WebFace {
        let (board, _) = watch::channel(BoardJson::from(""));
        let mut page = WebFace {
            service: Some(service),
            board,
            seen: Vec::new(),
            notes: VecDeque::new(),
            noted: 0,
            is_stale: true,
            written: None,
        };
        page.show(&Queue::default());
        page
    }

    /// Begins to serve.
    ///
    /// # Errors
    /// The kernel's.
    pub fn start(&mut self, news: Sender) -> io::Result<()> {
        self.service.take().map_or(Ok(()), |service| service.start(self.board.subscribe(), news))
    }

    /// Writes the board, unless nothing has changed or it was written a moment ago.
    pub fn show(&mut self, queue: &Queue) {
        let mut rows = queue.rows();
        rows.retain(|(_, row)| !is_half_known(row, now_ms()));
        self.is_stale |= !rows
            .iter()
            .map(|(key, row)| (*key, row.version))
            .eq(self.seen.iter().map(|(key, version)| (key, *version)));
        if !self.is_stale || self.due().is_some_and(|due| due > Instant::now()) {
            return;
        }
        self.seen = rows.iter().map(|(key, row)| ((*key).clone(), row.version)).collect();
        let cards = rows.iter().filter_map(|(key, row)| WebCard::from_row(key, row)).collect();
        // Strings, numbers and lists of them: nothing that could fail.
        let text = serde_json::to_string(&All { cards, notes: &self.notes }).unwrap_or_default();
        self.board.send_replace(text.into());
        (self.is_stale, self.written) = (false, Some(Instant::now()));
    }

    /// When what has changed is written.
    pub fn due(&self) -> Option<Instant> {
        self.written.map(|written| written + RETRY_INTERVAL).filter(|_| self.is_stale)
    }

    /// A question came or went.
    pub fn changed(&mut self, change: &QueueChange) {
        if let QueueChange::Ended(key, how) = change {
            self.note(NoteKind::Ended, Some(key), how);
        }
    }

    /// Somebody was turned away.
    pub fn turned(&mut self, pid: Option<i32>, why: &str) {
        let who = pid.map(|pid| format!("process {pid}: ")).unwrap_or_default();
        let text = format!("{who}{why}");
        let is_again = self
            .notes
            .back()
            .is_some_and(|last| last.what == NoteKind::Turned && last.text == shown(text.as_bytes()));
        if !is_again {
            self.note(NoteKind::Turned, None, &text);
        }
    }

    /// What came of an answer.
    pub fn answered(&mut self, key: &Key, outcome: &Result<String, String>) {
        match outcome {
            Ok(text) => self.note(NoteKind::Answered, Some(key), text),
            Err(why) => self.note(NoteKind::Refused, Some(key), why),
        }
    }

    /// How a program goes on.
    pub fn told(&mut self, key: &Key, text: &str) {
        self.note(NoteKind::Told, Some(key), text);
    }

    fn note(&mut self, what: NoteKind, key: Option<&Key>, text: &str) {
        self.noted += 1;
        self.is_stale = true;
        self.notes.push_back(Note {
            n: self.noted,
            at: now_ms(),
            what,
            guard: key.map(|key| key.pid),
            id: key.map(|key| key.id.clone()),
            text: shown(text.as_bytes()),
        });
        if self.notes.len() > MAX_NOTES {
            self.notes.pop_front();
        }
    }
}
