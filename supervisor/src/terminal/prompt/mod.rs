//! A prompt on the operator's terminal, for calls that wait for an answer.
//!
//! `link` is the way to the supervisor, `queue` what it has said waits; `card` puts that into words and `panel` into
//! lines; `input` is what comes back and `reading` what comes of it, `query` how it is known to come after the prompt was
//! seen, and `answer` when it is one. `overlay` is how the prompt gets onto the screen and off it.

mod answer;
mod card;
mod input;
mod link;
mod overlay;
mod panel;
mod query;
mod queue;
mod reading;

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime};

use guard_approvals::protocol::{Body, QuestionState};
use guard_policy::text::shown;

pub use overlay::{Surface, TerminalFeatures};

use answer::Dialog;
use input::InputDecoder;
use link::PromptLink;
use overlay::Overlay;
use panel::{Panel, PromptView};
use query::Query;
use queue::{Card, Queue};

/// After this time a terminal that was asked does not answer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// Nothing typed so soon after a card is seen is an answer to it.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(500);
/// The rest of a sequence comes before this, or never.
const SEQUENCE_TIMEOUT: Duration = Duration::from_millis(100);
/// So long stands what became of a card.
const NOTICE_INTERVAL: Duration = Duration::from_millis(1500);

/// The prompts of a front.
pub struct Prompt {
    link: PromptLink,
    queue: Queue,
    reader: InputDecoder,
    /// When the beginning of a sequence came.
    begun: Option<Instant>,
    up: Option<Up>,
    /// A question to the terminal that was not answered before the prompt went.
    late: Option<(Query, Instant)>,
    /// Ids that were spoken of where no prompt can be drawn.
    told: Vec<String>,
}

/// A prompt that is seen.
struct Up {
    cover: Overlay,
    asking: Dialog,
    query: Query,
    /// The question to the terminal is not sent yet.
    asks_again: bool,
    /// The card as it was drawn.
    card: Option<Card>,
    page: PromptView,
    note: Option<String>,
    /// What stands in place of a card.
    notice: Option<Notice>,
    /// What was typed before it was seen, for the program.
    ahead: Vec<u8>,
    /// What is drawn, and how many seconds were left then.
    drawn: Option<u64>,
    /// An answer was given, and its outcome is not known.
    sent: Option<Instant>,
}

/// What became of a card.
struct Notice {
    text: String,
    until: Instant,
    /// Whether it is said beside the next card, too.
    matters: bool,
}

/// What is to be done when a prompt goes.
#[derive(Debug, Default)]
pub struct Fall {
    /// For the screen.
    pub shown: Vec<u8>,
    /// For the program: typed before the prompt was seen.
    pub keys: Vec<u8>,
    /// The program must draw again.
    pub is_lossy: bool,
}

/// What comes of something typed.
#[derive(Debug, Default)]
pub struct InputOutcome {
    /// For the program.
    pub keys: Vec<u8>,
    /// The operator suspends.
    pub suspends: bool,
}

impl Prompt {
    /// Asks the supervisor to be told.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn new(stream: UnixStream) -> std::io::Result<Prompt> {
        Ok(Prompt {
            link: PromptLink::new(stream)?,
            queue: Queue::default(),
            reader: InputDecoder::default(),
            begun: None,
            up: None,
            late: None,
            told: Vec::new(),
        })
    }

    /// What to wait for.
    pub fn link(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// Whether there is something to be seen.
    pub fn wants_up(&self) -> bool {
        self.queue.first().is_some() || self.up.as_ref().is_some_and(|up| up.notice.is_some())
    }

    /// Whether it is seen.
    pub fn is_up(&self) -> bool {
        self.up.is_some()
    }

    /// Whether what is typed must come here first.
    pub fn reads(&self) -> bool {
        self.up.is_some() || self.late.is_some()
    }

    /// Takes what the supervisor says. False when it is gone.
    pub fn receive(&mut self, now: Instant) -> bool {
        let Ok(said) = self.link.receive() else {
            self.queue = Queue::default();
            return false;
        };
        said.into_iter().for_each(|said| self.hear(said, now));
        true
    }

    fn hear(&mut self, said: Body, now: Instant) {
        match said {
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
            Body::Found { .. } | Body::Told { .. } => {}
        }
    }

    fn has(&self, number: u64) -> bool {
        self.queue.first().is_some_and(|first| first.number == number)
    }

    /// What to say of calls that wait where no prompt can be drawn: a line for each, once.
    pub fn lines(&mut self) -> Vec<String> {
        let Some(card) = self.queue.first() else {
            self.told.clear();
            return Vec::new();
        };
        let new = card.approvals.iter().filter(|approval| !self.told.contains(&approval.id));
        let lines: Vec<_> = new.map(card::waiting).collect();
        self.told = card.approvals.iter().map(|approval| approval.id.clone()).collect();
        lines
    }

    /// Brings it onto the screen.
    pub fn rise(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        let mut up = Up {
            cover: Overlay::new(surface),
            asking: Dialog::default(),
            query: Query::new(surface.size(), false),
            asks_again: false,
            card: None,
            page: PromptView::default(),
            note: None,
            notice: None,
            ahead: Vec::new(),
            drawn: None,
            sent: None,
        };
        up.query = up.cover.query(surface);
        if let Some((late, _)) = self.late.take() {
            up.query.follow(surface.size(), late);
        }
        let bytes = up.cover.begin(surface, &up.query);
        self.up = Some(up);
        bytes
    }

    /// Takes it off the screen.
    pub fn fall(&mut self, surface: &Surface<'_>, now: Instant) -> Fall {
        let Some(mut up) = self.up.take() else { return Fall::default() };
        let (shown, is_lossy) = (up.cover.end(surface), up.cover.is_lossy(surface.model));
        if !up.asking.is_answered() {
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

    /// Draws what has changed.
    pub fn draw(&mut self, surface: &Surface<'_>, now: Instant) -> Vec<u8> {
        let Some(up) = &mut self.up else { return Vec::new() };
        let mut note = None;
        if self.queue.first().is_some()
            && let Some(notice) = up.notice.take()
        {
            // What waits is not kept waiting: it is said there.
            (note, up.card) = (notice.matters.then_some(notice.text), None);
        }
        if let Some(Notice { text, .. }) = &up.notice {
            if up.drawn == Some(u64::MAX) {
                return Vec::new();
            }
            up.drawn = Some(u64::MAX);
            let lines = [format!(" openclaw-guard: {text}")];
            let width = usize::from(surface.size().1).max(1);
            let lines: Vec<_> = lines.iter().flat_map(|line| card::wrapped(line, width, width)).collect();
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
            (up.page, up.note, up.sent) = (PromptView::default(), note, None);
            // Nothing typed for what was drawn before counts for this.
            let was_answered = up.asking.is_answered();
            up.asking.restart(now);
            if !up.asking.is_first() {
                let before = std::mem::replace(&mut up.query, Query::new(surface.size(), false));
                if !was_answered {
                    up.query.follow(surface.size(), before);
                }
            }
        }
        up.drawn = Some(left);
        let panel = Panel {
            size: surface.size(),
            card,
            waiting: self.queue.len(),
            left,
            page: &up.page,
            line: up.asking.line(),
            note: up.note.as_deref(),
            letters: up.asking.takes_letters(),
        };
        let asks = is_other || std::mem::take(&mut up.asks_again);
        up.cover.draw(surface, &panel.lines(), asks.then_some(&up.query))
    }

    /// The screen has another size, or was drawn on.
    pub fn redraw(&mut self, surface: &Surface<'_>) -> Vec<u8> {
        let Some(up) = &mut self.up else { return Vec::new() };
        up.drawn = None;
        if !up.asking.is_answered() {
            let before = std::mem::replace(&mut up.query, Query::new(surface.size(), false));
            up.query.follow(surface.size(), before);
            up.asks_again = true;
        }
        up.cover.again(surface)
    }

    /// When to look again, whatever happens.
    pub fn due(&self, now: Instant) -> Option<Duration> {
        let begun = self.begun.map(|begun| begun + SEQUENCE_TIMEOUT);
        let late = self.late.as_ref().map(|(_, until)| *until);
        let up = self.up.as_ref().map(|up| match &up.notice {
            Some(notice) => notice.until,
            // The seconds that are left, and the end of waiting for an answer of the terminal's.
            None => now + Duration::from_millis(250),
        });
        let first = [begun, late, up].into_iter().flatten().min()?;
        Some(first.saturating_duration_since(now))
    }

    /// The time has come for something. What is for the program after all.
    pub fn tick(&mut self, now: Instant) -> InputOutcome {
        let mut outcome = InputOutcome::default();
        if self.begun.is_some_and(|begun| now >= begun + SEQUENCE_TIMEOUT) {
            self.begun = None;
            if let Some((typed, bytes)) = self.reader.give_up() {
                match &mut self.up {
                    Some(up) if up.listens(now) => drop(self.read(&[typed], now)),
                    Some(up) if up.asking.is_first() => up.ahead.extend(bytes),
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
                up.asking.later();
            }
            if up.sent.is_some_and(|sent| now >= sent + 5 * QUERY_TIMEOUT) {
                up.sent = None;
                up.note = Some("the guard does not answer; the call still waits".to_owned());
                up.drawn = None;
            }
            if up.asking.gives_up(now) {
                up.drawn = None;
                outcome.keys.extend(up.query.give_up());
            }
        }
        outcome
    }
}

impl Up {
    /// Whether what is typed now is for the card that is seen.
    fn listens(&self, now: Instant) -> bool {
        self.notice.is_some() || self.asking.listens(now)
    }

    /// The card that is seen has ended.
    fn end(&mut self, state: &QuestionState, now: Instant) {
        let text = match state {
            // Its own answer needs no telling.
            QuestionState::Resolved { by, .. } if by.as_deref() == Some("terminal") => None,
            QuestionState::Resolved { decision, by } => {
                let by = match by.as_deref() {
                    Some("cli") => "approvals resolve".to_owned(),
                    by => shown(by.unwrap_or("others").as_bytes()),
                };
                Some(format!("{}: answered by {by}", shown(decision.as_bytes())))
            }
            QuestionState::Expired => Some("nobody answered in time: refused".to_owned()),
            QuestionState::Failed => Some("it could not be asked elsewhere: refused".to_owned()),
            QuestionState::NoRoute => Some("nobody could answer: exec.askFallback holds".to_owned()),
            QuestionState::Withdrawn => Some("withdrawn: the caller has gone".to_owned()),
            QuestionState::Pending => None,
        };
        self.sent = None;
        self.drawn = None;
        if let Some(text) = text {
            // A caller that a signal has interrupted asks again at once.
            let matters = *state != QuestionState::Withdrawn;
            self.notice = Some(Notice { text, until: now + NOTICE_INTERVAL, matters });
        }
    }
}

/// Seconds until nobody is asked any more.
fn seconds_left(card: &Card) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let first = card.approvals.iter().map(|approval| approval.expires_at_ms).min().unwrap_or_default();
    first.saturating_sub(now).div_ceil(1000)
}
