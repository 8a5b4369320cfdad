//! What a human, or a script, sees of the queue.

use std::io;

use ratatui::crossterm::event::Event;
use tokio::time::Instant;

use super::act::Act;
use super::event::Sender;
use super::lines::LineFace;
use super::queue::{Key, Queue, QueueChange};
use crate::approvals::tui::Screen;
use crate::approvals::web::WebFace;

/// A face.
pub enum Face {
    /// A screen.
    Screen(Box<Screen>),
    /// Lines.
    Lines(LineFace),
    /// A page in a browser.
    Page(Box<WebFace>),
}

impl Face {
    /// Begins; what is typed comes as news.
    ///
    /// # Errors
    /// The terminal's, or the pipe's: of everything here.
    pub fn start(&mut self, news: &Sender) -> io::Result<()> {
        match self {
            Face::Screen(screen) => screen.start(news.clone()),
            Face::Lines(lines) => lines.start(news.clone()),
            Face::Page(page) => page.start(news.clone()),
        }
    }

    pub fn show(&mut self, queue: &Queue) -> io::Result<()> {
        match self {
            Face::Screen(screen) => screen.show(queue),
            Face::Lines(_) => Ok(()),
            Face::Page(page) => {
                page.show(queue);
                Ok(())
            }
        }
    }

    /// When it is to be shown again at the latest, where something is left to show.
    pub fn due(&self) -> Option<Instant> {
        match self {
            Face::Page(page) => page.due(),
            Face::Screen(_) | Face::Lines(_) => None,
        }
    }

    pub fn changed(&mut self, change: &QueueChange, queue: &Queue) -> io::Result<()> {
        match self {
            // It shows the queue as it is.
            Face::Screen(_) => Ok(()),
            Face::Lines(lines) => lines.changed(change, queue),
            Face::Page(page) => {
                page.changed(change);
                Ok(())
            }
        }
    }

    pub fn turned(&mut self, pid: Option<i32>, why: &str) -> io::Result<()> {
        match self {
            Face::Screen(screen) => {
                let who = pid.map(|pid| format!("process {pid}: ")).unwrap_or_default();
                screen.note(&format!("turned away: {who}{why}"));
                Ok(())
            }
            Face::Lines(lines) => lines.turned(pid, why),
            Face::Page(page) => {
                page.turned(pid, why);
                Ok(())
            }
        }
    }

    pub fn answered(&mut self, key: &Key, outcome: &Result<String, String>) -> io::Result<()> {
        match self {
            Face::Screen(screen) => {
                screen.note(match outcome {
                    Ok(text) | Err(text) => text,
                });
                Ok(())
            }
            Face::Lines(lines) => lines.answered(key, outcome),
            Face::Page(page) => {
                page.answered(key, outcome);
                Ok(())
            }
        }
    }

    pub fn told(&mut self, key: &Key, text: &str) -> io::Result<()> {
        match self {
            Face::Screen(screen) => {
                screen.note(text);
                Ok(())
            }
            Face::Lines(lines) => lines.told(key, text),
            Face::Page(page) => {
                page.told(key, text);
                Ok(())
            }
        }
    }

    pub fn typed(&mut self, event: &Event, queue: &Queue) -> Act {
        match self {
            Face::Screen(screen) => screen.typed(event, queue),
            Face::Lines(_) | Face::Page(_) => Act::Nothing,
        }
    }

    pub fn line(&mut self, line: &str, queue: &Queue) -> io::Result<Act> {
        match self {
            Face::Screen(_) | Face::Page(_) => Ok(Act::Nothing),
            Face::Lines(lines) => lines.line(line, queue),
        }
    }
}
