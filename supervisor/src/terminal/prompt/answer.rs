//! When something typed is an answer.

use std::time::Instant;

use super::card::Extent;
use super::input::Typed;
use super::panel::Page;
use super::{SILENT, TOO_SOON};

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Once,
    Session,
    Always(Extent),
    Deny,
}

impl Answer {
    /// As the supervisor calls it.
    pub fn decision(self) -> &'static str {
        match self {
            Answer::Once => "allow-once",
            Answer::Session => "allow-session",
            Answer::Always(Extent::This) => "allow-always",
            Answer::Always(Extent::Directory) => "allow-always-directory",
            Answer::Deny => "deny",
        }
    }
}

/// What keys came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    Nothing,
    Suspend,
    Redraw,
    Page(Page),
    Answer(Answer),
    Note(&'static str),
}

/// What is asked of whoever types.
#[derive(Debug, Default)]
pub struct Asking {
    /// When the card was drawn.
    since: Option<Instant>,
    /// When the terminal said that all before had been read.
    answered: Option<Instant>,
    /// It did not.
    is_silent: bool,
    /// Another card was drawn before.
    is_later: bool,
    line: String,
    /// An Enter without a key came already.
    was_empty: bool,
}

impl Asking {
    /// A card is drawn: nothing typed so far was for it.
    pub fn restart(&mut self, now: Instant) {
        let is_later = self.is_later || self.since.is_some();
        *self = Asking { since: Some(now), is_later, is_silent: self.is_silent, ..Asking::default() };
    }

    /// What is drawn next is not the first.
    pub fn later(&mut self) {
        self.is_later = true;
    }

    /// Whether nothing was drawn before.
    pub fn is_first(&self) -> bool {
        !self.is_later
    }

    /// The terminal has answered.
    pub fn answered(&mut self, now: Instant) {
        self.answered = Some(now);
        self.is_silent = false;
    }

    /// Whether it has.
    pub fn is_answered(&self) -> bool {
        self.answered.is_some()
    }

    /// It never will. True at the first time.
    pub fn gives_up(&mut self, now: Instant) -> bool {
        let is_late = self.answered.is_none() && self.since.is_some_and(|since| now >= since + SILENT);
        is_late && !std::mem::replace(&mut self.is_silent, true)
    }

    /// Whether single letters are answers; if not, words are.
    pub fn takes_letters(&self) -> bool {
        !self.is_silent
    }

    /// Whether what is typed now counts.
    pub fn listens(&self, now: Instant) -> bool {
        match (self.answered, self.since) {
            (Some(answered), _) => now >= answered + TOO_SOON,
            (None, Some(since)) => self.is_silent && now >= since + SILENT,
            (None, None) => false,
        }
    }

    /// What is typed so far.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Takes what one read has brought. More than a key, or a key and Enter, was pasted or sent, not typed.
    pub fn read(&mut self, keys: &[Typed], page: &Page) -> Reading {
        let is_typed = matches!(keys, [_] | [Typed::Key(_), Typed::Enter]);
        if !is_typed {
            self.line.clear();
            return Reading::Note("so much at once answers nothing: type a key, then Enter");
        }
        let was_empty = std::mem::take(&mut self.was_empty);
        let mut reading = Reading::Nothing;
        for key in keys {
            reading = self.key(*key, page, was_empty);
        }
        reading
    }

    fn key(&mut self, key: Typed, page: &Page, was_empty: bool) -> Reading {
        match (key, page) {
            (Typed::Interrupt, _) => Reading::Answer(Answer::Deny),
            (Typed::Suspend, _) => Reading::Suspend,
            (Typed::Redraw, _) => Reading::Redraw,
            (Typed::Escape, _) => self.back(),
            (Typed::Key('q'), Page::Everything(_) | Page::Help) => self.back(),
            (Typed::Key('v'), Page::Question) if self.line.is_empty() => Reading::Page(Page::Everything(0)),
            (Typed::Key('?'), Page::Question) if self.line.is_empty() => Reading::Page(Page::Help),
            // Answers are given to the question alone.
            (_, Page::Everything(_) | Page::Help) => Reading::Nothing,
            (Typed::Key(character), _) => {
                if self.line.chars().count() < 16 {
                    self.line.push(character);
                }
                Reading::Nothing
            }
            (Typed::Backspace, _) => {
                self.line.pop();
                Reading::Nothing
            }
            (Typed::Enter, page) => {
                let line = std::mem::take(&mut self.line);
                self.enter(&line, page, was_empty)
            }
            _ => Reading::Nothing,
        }
    }

    fn back(&mut self) -> Reading {
        self.line.clear();
        Reading::Page(Page::Question)
    }

    fn enter(&mut self, line: &str, page: &Page, was_empty: bool) -> Reading {
        let confirms = match page {
            Page::Always(extent) => Some(*extent),
            _ => None,
        };
        match (line, self.takes_letters(), confirms) {
            ("y", true, Some(extent)) | ("yes", _, Some(extent)) => Reading::Answer(Answer::Always(extent)),
            ("q", true, Some(_)) => self.back(),
            ("y", true, None) | ("yes", _, None) => Reading::Answer(Answer::Once),
            ("s", true, None) => Reading::Answer(Answer::Session),
            ("a", true, None) => Reading::Page(Page::Always(Extent::This)),
            ("d", true, None) => Reading::Page(Page::Always(Extent::Directory)),
            ("n", true, _) | ("no", _, _) => Reading::Answer(Answer::Deny),
            ("", _, _) if was_empty => Reading::Answer(Answer::Deny),
            ("", _, _) => {
                self.was_empty = true;
                Reading::Note("Enter once more refuses")
            }
            (_, true, _) => Reading::Note("that is no answer: one of y s a n, then Enter"),
            (_, false, _) => Reading::Note("that is no answer: yes or no, then Enter"),
        }
    }
}
