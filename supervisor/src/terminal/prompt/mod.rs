//! A prompt on the operator's terminal, for calls that wait for an answer.
//!
//! `link` connects to the supervisor, and `queue` holds the waiting calls. `card` words them, `field` and `panel`
//! lay them out in lines, and `seen` remembers which lines were drawn. `input` decodes the keyboard, and `reading`
//! handles the result. `query` detects keys typed before the prompt was visible, and `proof` does so on a terminal that
//! does not answer queries. `answer` decides what is an answer. `overlay` draws the prompt and removes it.

mod answer;
mod card;
mod edited;
mod field;
mod input;
mod link;
mod overlay;
mod panel;
mod proof;
mod query;
mod queue;
mod reading;
mod seen;

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime};

use guard_approvals::facts::waiting_by_command;
use guard_approvals::protocol::{Body, QuestionState};
use guard_policy::text::shown;

pub use overlay::{Surface, TerminalFeatures};

use answer::Dialog;
use field::{PanelLine, wrapped};
use input::InputDecoder;
use link::PromptLink;
use overlay::Overlay;
use panel::{Panel, PromptView};
use query::Query;
use queue::{Card, Queue};
use seen::Seen;

/// How long to wait for the terminal's answer to a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// The minimum time between the display of a card and an answer to it.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(500);
/// How long to wait for the rest of a sequence.
const SEQUENCE_TIMEOUT: Duration = Duration::from_millis(100);
/// How long the outcome of a card is shown.
const NOTICE_INTERVAL: Duration = Duration::from_millis(1500);

/// The prompts of a front.
pub struct Prompt {
    link: PromptLink,
    queue: Queue,
    reader: InputDecoder,
    /// When the beginning of an incomplete sequence arrived.
    begun: Option<Instant>,
    up: Option<Up>,
    /// A query that was not answered before the prompt was removed.
    late: Option<(Query, Instant)>,
    /// The ids of calls that were announced as lines.
    announced: Vec<String>,
}

/// A prompt on the screen.
struct Up {
    cover: Overlay,
    dialog: Dialog,
    query: Query,
    /// Whether a new query is still to be sent.
    asks_again: bool,
    /// The card as it was drawn.
    card: Option<Card>,
    page: PromptView,
    /// The parts of the card that were drawn, on a screen of this size.
    seen: Seen,
    note: Option<String>,
    /// A notice shown in place of a card.
    notice: Option<Notice>,
    /// Keys for the program, typed before the prompt was visible.
    ahead: Vec<u8>,
    /// The seconds left when the card was drawn; `u64::MAX` for a notice; None if it must be redrawn.
    drawn: Option<u64>,
    /// When an answer was sent whose outcome is not known yet.
    sent: Option<Instant>,
}

/// The outcome of a card.
struct Notice {
    text: String,
    until: Instant,
    /// Whether it is also shown with the next card.
    matters: bool,
}

/// What to do when a prompt is removed.
#[derive(Debug, Default)]
pub struct Fall {
    /// Output for the screen.
    pub shown: Vec<u8>,
    /// Keys for the program, typed before the prompt was visible.
    pub keys: Vec<u8>,
    /// Whether the program must redraw.
    pub is_lossy: bool,
}

/// The result of typed keys.
#[derive(Debug, Default)]
pub struct InputOutcome {
    /// Keys for the program.
    pub keys: Vec<u8>,
    /// Whether the operator suspends.
    pub suspends: bool,
}

impl Prompt {
    /// Subscribes to the supervisor's questions.
    ///
    /// # Errors
    /// If the supervisor cannot be reached.
    pub fn new(stream: UnixStream) -> std::io::Result<Prompt> {
        Ok(Prompt {
            link: PromptLink::new(stream)?,
            queue: Queue::default(),
            reader: InputDecoder::default(),
            begun: None,
            up: None,
            late: None,
            announced: Vec::new(),
        })
    }

    /// Returns the descriptor to wait for.
    pub fn link(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// Returns whether there is a card or notice to show.
    pub fn wants_up(&self) -> bool {
        self.queue.first().is_some() || self.up.as_ref().is_some_and(|up| up.notice.is_some())
    }

    /// Returns whether a prompt is on the screen.
    pub fn is_up(&self) -> bool {
        self.up.is_some()
    }

    /// Returns whether typed keys must come here first.
    pub fn reads(&self) -> bool {
        self.up.is_some() || self.late.is_some()
    }

    /// Handles messages from the supervisor. Returns false if the supervisor is gone.
    pub fn receive(&mut self, now: Instant) -> bool {
        let Ok(bodies) = self.link.receive() else {
            self.queue = Queue::default();
            return false;
        };
        bodies.into_iter().for_each(|body| self.hear(body, now));
        true
    }

    fn hear(&mut self, body: Body, now: Instant) {
        match body {
            Body::Approvals { approvals } => self.queue.replace(approvals),
            Body::Requested { approval } => self.queue.add(*approval),
            Body::Ended { id, state } => {
                let card = self.queue.remove(&id);
                let is_gone = card.is_some_and(|card| !self.has(card));
                if let Some(up) = &mut self.up
                    && is_gone
                    && up.card.as_ref().map(|card| card.number) == card
                {
                    up.end(&state, now);
                }
            }
            Body::Resolved { unsaved, .. } => {
                if let Some(up) = &mut self.up {
                    up.sent = None;
                    if let Some(why) = unsaved.first() {
                        let text = format!("allowed this time, but not saved: {}", shown(why.as_bytes()));
                        up.notice = Some(Notice { text, until: now + 2 * NOTICE_INTERVAL, matters: true });
                    }
                }
            }
            Body::Error { message, .. } => {
                if let Some(up) = &mut self.up {
                    up.sent = None;
                    up.note = Some(shown(message.as_bytes()));
                    up.drawn = None;
                }
            }
            Body::Found { .. } | Body::Lifecycle { .. } => {}
        }
    }

    fn has(&self, number: u64) -> bool {
        self.queue.first().is_some_and(|first| first.number == number)
    }

    /// Returns a line for each waiting call that was not announced yet, for use without a prompt.
    pub fn lines(&mut self) -> Vec<String> {
        let Some(card) = self.queue.first() else {
            self.announced.clear();
            return Vec::new();
        };
        let new = card.approvals.iter().filter(|approval| !self.announced.contains(&approval.id));
        let lines: Vec<_> = new.map(waiting_by_command).collect();
        self.announced = card.approvals.iter().map(|approval| approval.id.clone()).collect();
        lines
    }

    /// Puts a prompt up. Returns the bytes to send first.
    pub fn rise(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        let mut up = Up {
            cover: Overlay::new(surface),
            dialog: Dialog::default(),
            query: Query::new(surface.size(), false),
            asks_again: false,
            card: None,
            page: PromptView::default(),
            seen: Seen::default(),
            note: None,
            notice: None,
            ahead: Vec::new(),
            drawn: None,
            sent: None,
        };
        if !up.cover.asks() {
            up.dialog.expect_silence();
        }
        up.query = up.cover.query(surface);
        if let Some((late, _)) = self.late.take() {
            up.query.follow(surface.size(), late);
        }
        let bytes = up.cover.begin(surface, &up.query);
        self.up = Some(up);
        bytes
    }

    /// Removes the prompt from the screen.
    pub fn fall(&mut self, surface: &Surface<'_>, now: Instant) -> Fall {
        let Some(mut up) = self.up.take() else { return Fall::default() };
        let (shown, is_lossy) = (up.cover.end(surface), up.cover.is_lossy(surface.model));
        if !up.dialog.is_answered() {
            if up.cover.asks() {
                self.late = Some((up.query, now + QUERY_TIMEOUT));
            } else {
                up.ahead.splice(..0, up.query.give_up());
            }
        }
        if let Some((_, rest)) = self.reader.give_up() {
            up.ahead.extend(rest);
        }
        Fall { shown, keys: up.ahead, is_lossy }
    }

    /// Returns what must be drawn because it has changed.
    pub fn draw(&mut self, surface: &Surface<'_>, now: Instant) -> Vec<u8> {
        let Some(up) = &mut self.up else { return Vec::new() };
        let mut note = None;
        if self.queue.first().is_some()
            && let Some(notice) = up.notice.take()
        {
            // A waiting card replaces the notice at once, and shows it if it matters.
            (note, up.card) = (notice.matters.then_some(notice.text), None);
        }
        if let Some(Notice { text, .. }) = &up.notice {
            if up.drawn == Some(u64::MAX) {
                return Vec::new();
            }
            up.drawn = Some(u64::MAX);
            let lines = [format!(" openclaw-guard: {text}")];
            let width = usize::from(surface.size().1).max(1);
            let lines = lines.iter().flat_map(|line| wrapped(line, width, width));
            let lines: Vec<_> = lines.map(PanelLine::from).collect();
            return up.cover.draw(surface, &lines, None);
        }
        let Some(card) = self.queue.first() else { return Vec::new() };
        let left = seconds_left(card);
        if up.card.as_ref() == Some(card) && up.drawn == Some(left) {
            return Vec::new();
        }
        let is_other = up.card.as_ref() != Some(card);
        if is_other {
            up.card = Some(card.clone());
            (up.page, up.seen, up.note, up.sent) = (PromptView::default(), Seen::default(), note, None);
            // Keys typed for an earlier card do not count for this one.
            let was_answered = up.dialog.is_answered();
            up.dialog.restart(now);
            if !up.dialog.is_first() {
                let before = std::mem::replace(&mut up.query, Query::new(surface.size(), false));
                if !was_answered {
                    up.query.follow(surface.size(), before);
                }
            }
        }
        up.drawn = Some(left);
        let panel = Panel {
            size: up.cover.room(surface),
            card,
            waiting: self.queue.len(),
            left,
            page: &up.page,
            line: up.dialog.line(),
            note: up.note.as_deref(),
            proof: up.dialog.proof(),
        };
        let asks = is_other || std::mem::take(&mut up.asks_again);
        let lines = panel.lines();
        let drawn = up.cover.draw(surface, &lines, asks.then_some(&up.query));
        if !drawn.is_empty() {
            up.seen.record(&lines);
        }
        drawn
    }

    /// Redraws after the screen was resized or drawn on.
    pub fn redraw(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        let Some(up) = &mut self.up else { return Vec::new() };
        up.drawn = None;
        // If the screen has shrunk, rows of the last drawing may have been outside of it.
        up.seen = Seen::default();
        if !up.dialog.is_answered() {
            let before = std::mem::replace(&mut up.query, Query::new(surface.size(), false));
            up.query.follow(surface.size(), before);
            up.dialog.renew_proof();
            up.asks_again = true;
        }
        up.cover.again(surface)
    }

    /// Returns the time until `tick` is due.
    pub fn due(&self, now: Instant) -> Option<Duration> {
        let begun = self.begun.map(|begun| begun + SEQUENCE_TIMEOUT);
        let late = self.late.as_ref().map(|(_, until)| *until);
        let up = self.up.as_ref().map(|up| match &up.notice {
            Some(notice) => notice.until,
            // For the countdown, and for the timeout of the query.
            None => now + Duration::from_millis(250),
        });
        let first = [begun, late, up].into_iter().flatten().min()?;
        Some(first.saturating_duration_since(now))
    }

    /// Handles timeouts. Returns keys that belong to the program after all.
    pub fn tick(&mut self, now: Instant) -> InputOutcome {
        let mut outcome = InputOutcome::default();
        if self.begun.is_some_and(|begun| now >= begun + SEQUENCE_TIMEOUT) {
            self.begun = None;
            if let Some((typed, bytes)) = self.reader.give_up() {
                match &mut self.up {
                    Some(up) if up.listens(now) => drop(self.read(&[typed], now)),
                    Some(up) if up.dialog.is_first() => up.ahead.extend(bytes),
                    Some(_) => {}
                    None => outcome.keys.extend(bytes),
                }
            }
        }
        if let Some((mut query, until)) = self.late.take() {
            if now < until {
                self.late = Some((query, until));
            } else {
                outcome.keys.extend(query.give_up());
            }
        }
        if let Some(up) = &mut self.up {
            if up.notice.as_ref().is_some_and(|notice| now >= notice.until) {
                (up.notice, up.drawn, up.card) = Default::default();
                up.dialog.later();
            }
            if up.sent.is_some_and(|sent| now >= sent + 5 * QUERY_TIMEOUT) {
                up.sent = None;
                up.note = Some("the guard does not answer; the call still waits".to_owned());
                up.drawn = None;
            }
            if up.dialog.gives_up(now) {
                up.drawn = None;
                outcome.keys.extend(up.query.give_up());
            }
        }
        outcome
    }
}

impl Up {
    /// Returns whether keys typed at this time are for the card on the screen.
    fn listens(&self, now: Instant) -> bool {
        self.notice.is_some() || self.dialog.listens(now)
    }

    /// Handles the end of the card on the screen.
    fn end(&mut self, state: &QuestionState, now: Instant) {
        let text = match state {
            // An answer from this prompt needs no notice.
            QuestionState::Resolved { by, .. } if by.as_deref() == Some("terminal") => None,
            QuestionState::Resolved { decision, by } => {
                let by = match by.as_deref() {
                    Some("cli") => "approvals resolve".to_owned(),
                    by => shown(by.unwrap_or("others").as_bytes()),
                };
                Some(format!("{}: answered by {by}", shown(decision.as_bytes())))
            }
            QuestionState::Expired => Some("nobody answered in time: denied".to_owned()),
            QuestionState::Failed => Some("the question could not be asked elsewhere: denied".to_owned()),
            QuestionState::NoRoute => Some("nobody could answer: exec.askFallback decides".to_owned()),
            QuestionState::Withdrawn => Some("withdrawn: the caller has gone".to_owned()),
            QuestionState::Pending => None,
        };
        self.sent = None;
        self.drawn = None;
        if let Some(text) = text {
            // A caller that was interrupted by a signal asks again at once.
            let matters = *state != QuestionState::Withdrawn;
            self.notice = Some(Notice { text, until: now + NOTICE_INTERVAL, matters });
        }
    }
}

fn seconds_left(card: &Card) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let first = card.approvals.iter().map(|approval| approval.expires_at_ms).min().unwrap_or_default();
    first.saturating_sub(now).div_ceil(1000)
}
