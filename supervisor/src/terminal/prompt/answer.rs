//! Decides when typed keys are an answer.

use std::time::Instant;

use guard_approvals::decision::{Decision, GrantWidth, HALF_HOUR, Span};

use super::card;
use super::edited::EditedPattern;
use super::input::Typed;
use super::panel::PromptView;
use super::proof::Proof;
use super::queue::Card;
use super::seen::Seen;
use super::{MIN_READ_INTERVAL, QUERY_TIMEOUT};

/// The maximum length of an answer, in characters.
const MAX_ANSWER_LEN: usize = 16;
/// The maximum length of a pattern, in characters: a request to the guard has 4096 bytes.
const MAX_PATTERN_LEN: usize = 800;

/// Returns whether everything that the answer allows was on the screen.
pub fn is_informed(decision: Decision, pattern: Option<&EditedPattern>, card: &Card, seen: &Seen) -> bool {
    !decision.allows() || seen.covers(&card::allowed(card, decision, pattern))
}

/// Reads an answer that needs no confirmation: `n` before another answer denies as much as the other answer allows.
fn read_answer(line: &str) -> Option<Decision> {
    let (denies, rest) = match line.strip_prefix('n') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (width, span) = match rest {
        "" if denies => return Some(Decision::Deny),
        "y" if !denies => return Some(Decision::AllowOnce),
        "c" => (GrantWidth::Directory, Span::Command),
        "s" => (GrantWidth::Narrow, Span::Session),
        "t" => (GrantWidth::Narrow, HALF_HOUR),
        "ds" => (GrantWidth::Directory, Span::Session),
        "dt" => (GrantWidth::Directory, HALF_HOUR),
        _ => return None,
    };
    Some(if denies { Decision::DenyFor(width, span) } else { Decision::AllowFor(width, span) })
}

/// The result of typed keys.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyOutcome {
    Nothing,
    Suspend,
    Redraw,
    Page(PromptView),
    /// The pattern is to be edited.
    Edit,
    /// The pattern as it was typed.
    Pattern(String),
    Answer(Decision),
    Note(&'static str),
}

/// The dialog about one card.
#[derive(Debug, Default)]
pub struct Dialog {
    /// When the card was drawn.
    since: Option<Instant>,
    /// When the terminal answered the query: everything typed before has been read.
    answered: Option<Instant>,
    /// What a yes must contain, because the terminal did not answer in time.
    proof: Option<Proof>,
    /// Whether another card was drawn before.
    is_later: bool,
    line: String,
    /// Whether the last input was Enter alone.
    was_empty: bool,
}

impl Dialog {
    /// Starts again for a card that is drawn: keys typed so far are not for it.
    pub fn restart(&mut self, now: Instant) {
        let is_later = self.is_later || self.since.is_some();
        *self = Dialog { since: Some(now), is_later, proof: self.proof.take(), ..Dialog::default() };
        self.renew_proof();
    }

    /// Chooses another number, for another drawing: the earlier one proves nothing about it.
    pub fn renew_proof(&mut self) {
        self.proof = self.proof.as_ref().map(|_| Proof::new());
    }

    /// Records that the next card is not the first.
    pub fn later(&mut self) {
        self.is_later = true;
    }

    /// Returns whether no other card was drawn before.
    pub fn is_first(&self) -> bool {
        !self.is_later
    }

    /// Records that the terminal has answered the query. What was typed until then may be meant for the program.
    pub fn answered(&mut self, now: Instant) {
        self.answered = Some(now);
        self.proof = None;
        self.line.clear();
        self.was_empty = false;
    }

    /// Records that the terminal is not asked, so that it will not answer.
    pub fn expect_silence(&mut self) {
        self.proof = Some(Proof::new());
    }

    /// Returns whether the terminal has answered the query.
    pub fn is_answered(&self) -> bool {
        self.answered.is_some()
    }

    /// Checks whether the terminal failed to answer in time. Returns true once, at the first check after the
    /// timeout.
    pub fn gives_up(&mut self, now: Instant) -> bool {
        let is_late = self.answered.is_none() && self.since.is_some_and(|since| now >= since + QUERY_TIMEOUT);
        let is_first = is_late && self.proof.is_none();
        if is_first {
            self.expect_silence();
        }
        is_first
    }

    /// Returns what a yes must contain. Without it, single letters are answers; with it, only words are.
    pub fn proof(&self) -> Option<&str> {
        self.proof.as_ref().map(Proof::as_str)
    }

    /// Returns whether keys typed at this time count.
    pub fn listens(&self, now: Instant) -> bool {
        match (self.answered, self.since) {
            (Some(answered), _) => now >= answered + MIN_READ_INTERVAL,
            (None, Some(since)) => self.proof.is_some() && now >= since + QUERY_TIMEOUT,
            (None, None) => false,
        }
    }

    /// Returns the line typed so far.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Handles the keys of one read. More than one key, or a key and Enter, were pasted or sent by a program,
    /// not typed.
    pub fn read(&mut self, keys: &[Typed], page: &PromptView) -> KeyOutcome {
        // A pattern is no answer yet: it may be typed fast.
        let is_text = *page == PromptView::Editing && !keys.contains(&Typed::Enter);
        let is_typed = is_text || matches!(keys, [_] | [Typed::Key(_), Typed::Enter]);
        if !is_typed {
            self.line.clear();
            return KeyOutcome::Note("several keys at once are not an answer: type one key, then Enter");
        }
        let was_empty = std::mem::take(&mut self.was_empty);
        let mut reading = KeyOutcome::Nothing;
        for key in keys {
            reading = self.key(*key, page, was_empty);
        }
        reading
    }

    fn key(&mut self, key: Typed, page: &PromptView, was_empty: bool) -> KeyOutcome {
        match (key, page) {
            (Typed::Interrupt, _) => KeyOutcome::Answer(Decision::Deny),
            (Typed::Suspend, _) => KeyOutcome::Suspend,
            (Typed::Redraw, _) => KeyOutcome::Redraw,
            (Typed::Escape, _) => self.back(),
            (Typed::Key('q'), PromptView::Everything(_) | PromptView::Help) => self.back(),
            (Typed::Key('v'), PromptView::Question) if self.line.is_empty() => {
                KeyOutcome::Page(PromptView::Everything(0))
            }
            (Typed::Key('?'), PromptView::Question) if self.line.is_empty() => {
                KeyOutcome::Page(PromptView::Help)
            }
            // Only the question page takes answers.
            (_, PromptView::Everything(_) | PromptView::Help) => KeyOutcome::Nothing,
            (Typed::Key(character), page) => {
                let most = if *page == PromptView::Editing { MAX_PATTERN_LEN } else { MAX_ANSWER_LEN };
                if self.line.chars().count() < most {
                    self.line.push(character);
                }
                KeyOutcome::Nothing
            }
            (Typed::Backspace, _) => {
                self.line.pop();
                KeyOutcome::Nothing
            }
            (Typed::Enter, page) => {
                let line = std::mem::take(&mut self.line);
                self.enter(&line, page, was_empty)
            }
            _ => KeyOutcome::Nothing,
        }
    }

    fn back(&mut self) -> KeyOutcome {
        self.line.clear();
        KeyOutcome::Page(PromptView::Question)
    }

    /// Starts the line with a text.
    pub fn begin(&mut self, text: String) {
        self.line = text;
    }

    fn enter(&mut self, line: &str, page: &PromptView, was_empty: bool) -> KeyOutcome {
        let confirms = match page {
            PromptView::Editing => return KeyOutcome::Pattern(line.to_owned()),
            PromptView::Always(width) => Some(*width),
            PromptView::Edited(_) => Some(GrantWidth::Narrow),
            _ => None,
        };
        if let Some(proof) = &self.proof {
            let allows = confirms.map_or(Decision::AllowOnce, Decision::AllowAlways);
            let is_yes = proof.is_in(line);
            return if is_yes { KeyOutcome::Answer(allows) } else { self.word(line, was_empty) };
        }
        match (line, confirms) {
            ("y" | "yes", Some(width)) => KeyOutcome::Answer(Decision::AllowAlways(width)),
            ("q", Some(_)) => self.back(),
            ("e", Some(GrantWidth::Narrow)) => KeyOutcome::Edit,
            ("yes", None) => KeyOutcome::Answer(Decision::AllowOnce),
            ("a", None) => KeyOutcome::Page(PromptView::Always(GrantWidth::Narrow)),
            ("d", None) => KeyOutcome::Page(PromptView::Always(GrantWidth::Directory)),
            ("n" | "no", _) => KeyOutcome::Answer(Decision::Deny),
            ("", _) => self.empty(was_empty),
            (line, confirms) => match read_answer(line) {
                Some(decision) if confirms.is_none() || !decision.allows() => KeyOutcome::Answer(decision),
                _ => KeyOutcome::Note("that is not an answer: type y, s, a or n, then Enter"),
            },
        }
    }

    /// Handles a line that allows nothing, on a terminal that does not answer queries.
    fn word(&mut self, line: &str, was_empty: bool) -> KeyOutcome {
        match line {
            "no" => KeyOutcome::Answer(Decision::Deny),
            "" => self.empty(was_empty),
            _ => KeyOutcome::Note("that is not an answer: type yes and the number, or no, then Enter"),
        }
    }

    fn empty(&mut self, was_empty: bool) -> KeyOutcome {
        if was_empty {
            return KeyOutcome::Answer(Decision::Deny);
        }
        self.was_empty = true;
        KeyOutcome::Note("Enter once more denies")
    }
}
