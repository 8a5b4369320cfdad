//! The views of the queue, for a human or a script.

use std::io;

use ratatui::crossterm::event::Event;
use tokio::time::Instant;

use super::act::Act;
use super::event::{AnswerOutcome, Sender};
use super::lines::LineView;
use super::queue::{Key, Queue, QueueChange};
use crate::approvals::tui::Screen;
use crate::approvals::web::WebView;

/// A view.
pub enum WatchView {
    /// A terminal screen.
    Screen(Box<Screen>),
    /// Lines of text or JSON.
    Lines(LineView),
    /// A page in a browser.
    Page(Box<WebView>),
}

impl WatchView {
    /// Starts the view. Input goes to `events`.
    ///
    /// # Errors
    /// Returns the I/O error of the terminal or of standard output, here and in the other methods.
    pub fn start(&mut self, events: &Sender) -> io::Result<()> {
        match self {
            WatchView::Screen(screen) => screen.start(events.clone()),
            WatchView::Lines(lines) => lines.start(events.clone()),
            WatchView::Page(page) => page.start(events.clone()),
        }
    }

    pub fn show(&mut self, queue: &Queue) -> io::Result<()> {
        match self {
            WatchView::Screen(screen) => screen.show(queue),
            WatchView::Lines(_) => Ok(()),
            WatchView::Page(page) => {
                page.show(queue);
                Ok(())
            }
        }
    }

    /// Returns when the view must be shown again at the latest; `None` when nothing is left to show.
    pub fn due(&self) -> Option<Instant> {
        match self {
            WatchView::Page(page) => page.due(),
            WatchView::Screen(_) | WatchView::Lines(_) => None,
        }
    }

    pub fn changed(&mut self, change: &QueueChange, queue: &Queue) -> io::Result<()> {
        match self {
            // The screen draws the whole queue each time.
            WatchView::Screen(_) => Ok(()),
            WatchView::Lines(lines) => lines.changed(change, queue),
            WatchView::Page(page) => {
                page.changed(change);
                Ok(())
            }
        }
    }

    pub fn rejected(&mut self, pid: Option<i32>, why: &str) -> io::Result<()> {
        match self {
            WatchView::Screen(screen) => {
                let who = pid.map(|pid| format!("process {pid}: ")).unwrap_or_default();
                screen.note(&format!("turned away: {who}{why}"));
                Ok(())
            }
            WatchView::Lines(lines) => lines.rejected(pid, why),
            WatchView::Page(page) => {
                page.rejected(pid, why);
                Ok(())
            }
        }
    }

    pub fn answered(&mut self, key: &Key, outcome: &AnswerOutcome) -> io::Result<()> {
        match self {
            WatchView::Screen(screen) => {
                match outcome {
                    Ok(text) => screen.note(text),
                    Err(error) => screen.note(&error.to_string()),
                }
                Ok(())
            }
            WatchView::Lines(lines) => lines.answered(key, outcome),
            WatchView::Page(page) => {
                page.answered(key, outcome);
                Ok(())
            }
        }
    }

    pub fn lifecycle(&mut self, key: &Key, text: &str) -> io::Result<()> {
        match self {
            WatchView::Screen(screen) => {
                screen.note(text);
                Ok(())
            }
            WatchView::Lines(lines) => lines.lifecycle(key, text),
            WatchView::Page(page) => {
                page.lifecycle(key, text);
                Ok(())
            }
        }
    }

    pub fn typed(&mut self, event: &Event, queue: &Queue) -> Act {
        match self {
            WatchView::Screen(screen) => screen.typed(event, queue),
            WatchView::Lines(_) | WatchView::Page(_) => Act::Nothing,
        }
    }

    pub fn line(&mut self, line: &str, queue: &Queue) -> io::Result<Act> {
        match self {
            WatchView::Screen(_) | WatchView::Page(_) => Ok(Act::Nothing),
            WatchView::Lines(lines) => lines.line(line, queue),
        }
    }
}
