//! The queue on a terminal screen: what each key does. `draw` has the layout, `terminal` the output.
//!
//! An answer needs a key and then Enter. It holds for the row that was shown when the key was pressed: it names the row
//! rather than its position, and is void when the row changes or goes.

mod draw;
mod terminal;
mod wrap;

use std::io;
use std::time::{Duration, Instant};

use guard_approvals::decision::{Decision, GrantWidth, HALF_HOUR, Span};
use guard_approvals::routes::guard_socket::{Approval, Saved};
use guard_openclaw::clock::now_ms;
use guard_policy::text::shown;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::watch::act::Act;
use super::watch::event::Sender;
use super::watch::queue::{Key, Queue, QueueRow};
use terminal::Terminal;

#[cfg(test)]
pub use draw::draw;

/// How long answers are ignored after another row has come under the cursor by itself: a key typed then was
/// meant for the previous row.
const SETTLE_INTERVAL: Duration = Duration::from_millis(700);
/// An Enter that follows a key sooner than this is part of a pasted text.
const MIN_KEY_INTERVAL: Duration = Duration::from_millis(80);
/// The smallest size, in columns and rows, that shows enough to answer.
const SMALLEST: (u16, u16) = (30, 10);

/// The state of the screen.
#[derive(Default)]
pub struct Screen {
    selected: Option<Key>,
    /// Position of the selected row. When that row goes, the row that takes its position is selected.
    selected_index: usize,
    armed: Option<Armed>,
    page: View,
    scroll: usize,
    note: String,
    settled: Option<Instant>,
    is_small: bool,
    terminal: Option<Terminal>,
}

/// An answer that waits for Enter.
struct Armed {
    decision: Decision,
    key: Key,
    version: u64,
    since: Instant,
}

/// Which view is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum View {
    /// The list, with the details of the selected row beside it.
    #[default]
    List,
    /// The selected row in full.
    Details,
    /// The help for the keys.
    Help,
}

impl Screen {
    /// Takes over the terminal; dropping the screen restores it.
    ///
    /// # Errors
    /// Returns the terminal's I/O error.
    pub fn start(&mut self, events: Sender) -> io::Result<()> {
        self.terminal = Some(Terminal::enter(events)?);
        Ok(())
    }

    /// Draws the queue.
    ///
    /// # Errors
    /// Returns the terminal's I/O error.
    pub fn show(&mut self, queue: &Queue) -> io::Result<()> {
        self.follow(queue, Instant::now());
        let Some(mut terminal) = self.terminal.take() else { return Ok(()) };
        let shown = terminal.draw(|frame| {
            self.resize(frame.area().width, frame.area().height);
            self.scroll = draw::draw(frame, self, queue, now_ms());
        });
        self.terminal = Some(terminal);
        shown
    }

    /// Notes the screen's new size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.is_small = width < SMALLEST.0 || height < SMALLEST.1;
        if self.is_small {
            self.armed = None;
        }
    }

    /// Shows a message at the bottom.
    pub fn note(&mut self, text: &str) {
        self.note = shown(text.as_bytes());
    }

    /// Handles a key or another terminal event.
    pub fn typed(&mut self, event: &Event, queue: &Queue) -> Act {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, queue, Instant::now()),
            // A new size takes effect with the next drawing; a paste is never an answer.
            _ => Act::Nothing,
        }
    }

    /// Keeps the selection on its row. If that row has gone, selects the row that is now in its position.
    pub fn follow(&mut self, queue: &Queue, now: Instant) {
        let rows = queue.rows();
        if let Some(armed) = &self.armed {
            let is_same = queue.get(&armed.key).is_some_and(|row| row.version == armed.version);
            if !is_same {
                self.note("it has changed: look again");
                self.armed = None;
                self.settled = Some(now + SETTLE_INTERVAL);
            }
        }
        let found = self.selected.as_ref().and_then(|key| rows.iter().position(|(row, _)| *row == key));
        if let Some(selected_index) = found {
            self.selected_index = selected_index;
            return;
        }
        self.selected_index = self.selected_index.min(rows.len().saturating_sub(1));
        self.selected = rows.get(self.selected_index).map(|(key, _)| (*key).clone());
        self.scroll = 0;
        if self.selected.is_some() {
            self.settled = Some(now + SETTLE_INTERVAL);
        } else if self.page == View::Details {
            self.page = View::List;
        }
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent, queue: &Queue, now: Instant) -> Act {
        self.follow(queue, now);
        let armed = self.armed.take();
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if is_control => return Act::End,
            _ if is_control || key.modifiers.contains(KeyModifiers::ALT) => {}
            KeyCode::Enter => match armed {
                Some(armed) if now.saturating_duration_since(armed.since) >= MIN_KEY_INTERVAL => {
                    self.note.clear();
                    return Act::Answer(armed.key, armed.decision);
                }
                Some(_) => self.note("that was too fast for a human: once more"),
                // As in the prompt on a terminal, Enter alone means no.
                None => self.arm(Decision::Deny, queue, now),
            },
            KeyCode::Char('y') => self.arm(Decision::AllowOnce, queue, now),
            KeyCode::Char('s') => self.arm(Decision::AllowFor(GrantWidth::Narrow, Span::Session), queue, now),
            KeyCode::Char('c') => {
                self.arm(Decision::AllowFor(GrantWidth::Directory, Span::Command), queue, now);
            }
            KeyCode::Char('t') => self.arm(Decision::AllowFor(GrantWidth::Narrow, HALF_HOUR), queue, now),
            KeyCode::Char('S') => {
                self.arm(Decision::AllowFor(GrantWidth::Directory, Span::Session), queue, now);
            }
            KeyCode::Char('T') => self.arm(Decision::AllowFor(GrantWidth::Directory, HALF_HOUR), queue, now),
            KeyCode::Char('N') => {
                self.arm(Decision::DenyFor(GrantWidth::Directory, Span::Command), queue, now);
            }
            KeyCode::Char('a') => self.arm(Decision::AllowAlways(GrantWidth::Narrow), queue, now),
            KeyCode::Char('d') => self.arm(Decision::AllowAlways(GrantWidth::Directory), queue, now),
            KeyCode::Char('n') => self.arm(Decision::Deny, queue, now),
            KeyCode::Char('j') | KeyCode::Down => self.select(self.selected_index.saturating_add(1), queue),
            KeyCode::Char('k') | KeyCode::Up => self.select(self.selected_index.saturating_sub(1), queue),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll = self.scroll.saturating_add(10),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::Char('v') => self.turn(View::Details),
            KeyCode::Char('?') => self.turn(View::Help),
            KeyCode::Esc | KeyCode::Char('q') if self.page != View::List => self.turn(self.page),
            KeyCode::Char('q') => return Act::End,
            _ => {}
        }
        Act::Nothing
    }

    fn turn(&mut self, page: View) {
        self.page = if self.page == page { View::List } else { page };
        self.scroll = 0;
    }

    fn select(&mut self, selected_index: usize, queue: &Queue) {
        let rows = queue.rows();
        self.selected_index = selected_index.min(rows.len().saturating_sub(1));
        self.selected = rows.get(self.selected_index).map(|(key, _)| (*key).clone());
        self.scroll = 0;
        self.note.clear();
    }

    /// Prepares an answer, which Enter then sends.
    fn arm(&mut self, decision: Decision, queue: &Queue, now: Instant) {
        let Some((key, row)) = self.selected.as_ref().and_then(|key| Some((key, queue.get(key)?))) else {
            return;
        };
        if self.settled.is_some_and(|settled| now < settled) {
            return self.note("this question has just moved here: look, and press the key again");
        }
        if self.is_small {
            return self.note("too small to answer");
        }
        match row.can(decision) {
            Ok(()) => {
                self.armed = Some(Armed { decision, key: key.clone(), version: row.version, since: now });
                self.note.clear();
            }
            Err(why) => self.note(&why.to_string()),
        }
    }

    /// Says what Enter would do now.
    fn question(&self, queue: &Queue) -> Option<String> {
        let armed = self.armed.as_ref()?;
        let row = queue.get(&armed.key)?;
        let saves = row.approval.as_ref().map(|approval| match (&approval.always, armed.decision) {
            (Saved::Saves { saves, .. }, Decision::AllowAlways(GrantWidth::Narrow)) => &saves[..],
            (Saved::Saves { directory, .. }, Decision::AllowAlways(GrantWidth::Directory)) => &directory[..],
            _ => &[],
        });
        let texts: Vec<_> = saves.unwrap_or_default().iter().map(|one| shown(one.text.as_bytes())).collect();
        let what = match armed.decision {
            Decision::Deny => "deny".to_owned(),
            Decision::AllowOnce => "allow once".to_owned(),
            Decision::AllowFor(width, span) => lasting("allow", row, width, span),
            Decision::DenyFor(width, span) => lasting("deny", row, width, span),
            Decision::AllowAlways(_) if texts.is_empty() => {
                "allow always; the asker decides what that saves".to_owned()
            }
            Decision::AllowAlways(_) => format!("allow always, and save {}", texts.join("; ")),
        };
        Some(format!("Enter: {what}"))
    }
}

/// Says what an answer covers that lasts for more than one call.
fn lasting(verb: &str, row: &QueueRow, width: GrantWidth, span: Span) -> String {
    let approval = row.approval.as_ref();
    let directory = approval.and_then(|approval| approval.directory.as_deref());
    let what = match (width, directory) {
        (GrantWidth::Directory, Some(directory)) => format!("what is in {}", shown(directory.as_bytes())),
        _ => "the same again".to_owned(),
    };
    let time = match span {
        Span::Command => {
            let command = approval.and_then(Approval::command_line).unwrap_or_default();
            format!("for {command}")
        }
        Span::Session => "as long as the guard runs".to_owned(),
        Span::Minutes(minutes) => format!("for {minutes} minutes"),
    };
    format!("{verb}, and {what} {time}")
}
