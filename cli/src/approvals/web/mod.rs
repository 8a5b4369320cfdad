//! `openclaw-guard approvals serve`: the queue as a web page on the loopback interface.
//!
//! This module is the view: it publishes the pending questions (`cards`) as a snapshot. `listen` accepts
//! connections from peers that `peer` admits, and `routes` answers them. Routes that show or change anything take an
//! `admission::Admitted`: a request with a session (`sessions`) that came from the page itself. `links` gives out links
//! that open a session, for the command line. `headers` are those of every response. `assets` are the files for the
//! browser, which need no build.

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

use super::watch::event::{AnswerOutcome, Sender};
use super::watch::queue::{Key, Queue, QueueChange, QueueRow};
use cards::WebCard;
use listen::Service;

pub use command::{ServeArguments, ServeError, serve};

/// The shortest time between two snapshots. Events in between are in the next one.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// How long a question from the socket alone is held back. By then the guard that asks has listed the question
/// in full.
const SOCKET_ONLY_DELAY_MS: u64 = 1500;
/// How many notes are kept, for a page that was disconnected for a moment.
const MAX_NOTES: usize = 64;

/// The snapshot as one line of JSON.
type SnapshotJson = Arc<str>;

/// The web view.
pub struct WebView {
    service: Option<Service>,
    snapshot: watch::Sender<SnapshotJson>,
    /// The rows of the snapshot, with their versions.
    seen: Vec<(Key, u64)>,
    notes: VecDeque<Note>,
    noted: u64,
    is_stale: bool,
    written: Option<Instant>,
}

/// A message for the page about an event.
#[derive(Debug, Serialize)]
struct Note {
    /// Counts up with each note.
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
    /// A question is no longer pending.
    Ended,
    /// The result of an answer.
    Answered,
    /// An answer was refused.
    Refused,
    /// What became of an allowed program.
    #[serde(rename = "told")]
    Lifecycle,
    /// A peer was turned away.
    #[serde(rename = "turned")]
    Rejected,
}

#[derive(Serialize)]
struct All<'a> {
    cards: Vec<WebCard>,
    notes: &'a VecDeque<Note>,
}

/// Returns whether to hold the row back, because its card would change as soon as it was shown.
fn is_half_known(row: &QueueRow, now_ms: u64) -> bool {
    row.approval.is_none() && now_ms < row.since_ms + SOCKET_ONLY_DELAY_MS
}

impl WebView {
    /// A view served by this service.
    fn new(service: Service) -> WebView {
        let (snapshot, _) = watch::channel(SnapshotJson::from(""));
        let mut page = WebView {
            service: Some(service),
            snapshot,
            seen: Vec::new(),
            notes: VecDeque::new(),
            noted: 0,
            is_stale: true,
            written: None,
        };
        page.show(&Queue::default());
        page
    }

    /// Starts serving.
    ///
    /// # Errors
    /// Returns an I/O error when the listeners cannot be started.
    pub fn start(&mut self, events: Sender) -> io::Result<()> {
        self.service.take().map_or(Ok(()), |service| service.start(self.snapshot.subscribe(), events))
    }

    /// Publishes a snapshot, unless nothing has changed or the last one is too recent.
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
        // Serializing strings, numbers and lists of them cannot fail.
        let text = serde_json::to_string(&All { cards, notes: &self.notes }).unwrap_or_default();
        self.snapshot.send_replace(text.into());
        (self.is_stale, self.written) = (false, Some(Instant::now()));
    }

    /// When the pending changes are to be published; None if there are none.
    pub fn due(&self) -> Option<Instant> {
        self.written.map(|written| written + MIN_UPDATE_INTERVAL).filter(|_| self.is_stale)
    }

    /// Handles a question that came or went.
    pub fn changed(&mut self, change: &QueueChange) {
        if let QueueChange::Ended(key, how) = change {
            self.note(NoteKind::Ended, Some(key), how);
        }
    }

    /// Notes that a peer was turned away.
    pub fn rejected(&mut self, pid: Option<i32>, why: &str) {
        let who = pid.map(|pid| format!("process {pid}: ")).unwrap_or_default();
        let text = format!("{who}{why}");
        let is_again = self
            .notes
            .back()
            .is_some_and(|last| last.what == NoteKind::Rejected && last.text == shown(text.as_bytes()));
        if !is_again {
            self.note(NoteKind::Rejected, None, &text);
        }
    }

    /// Notes the result of an answer.
    pub fn answered(&mut self, key: &Key, outcome: &AnswerOutcome) {
        match outcome {
            Ok(text) => self.note(NoteKind::Answered, Some(key), text),
            Err(error) => self.note(NoteKind::Refused, Some(key), &error.to_string()),
        }
    }

    /// Notes what became of an allowed program.
    pub fn lifecycle(&mut self, key: &Key, text: &str) {
        self.note(NoteKind::Lifecycle, Some(key), text);
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
