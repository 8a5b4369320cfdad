//! Handles what is typed while a prompt is up.

use std::time::Instant;

use guard_approvals::protocol::Method;

use guard_approvals::decision::{Decision, GrantWidth};

use super::answer::{KeyOutcome, is_informed};
use super::card;
use super::edited::{self, EditedPattern};
use super::input::{Scroll, Typed};
use super::panel::{Panel, PromptView};
use super::query::{self, Query};
use super::{InputOutcome, Prompt};

impl Prompt {
    /// Handles typed bytes.
    pub fn typed(&mut self, bytes: &[u8], now: Instant) -> InputOutcome {
        let mut outcome = InputOutcome::default();
        let taken = self.reader.feed(bytes);
        self.begun = self.reader.waits().then_some(now);
        let was_listening = self.up.as_ref().is_some_and(|up| up.listens(now));
        let mut keys = Vec::new();
        for (typed, bytes) in taken {
            match typed {
                Typed::Cursor(row, column) => self.located((row, column), bytes, &mut outcome.keys, now),
                Typed::Reply => outcome.keys.extend(self.passed(bytes)),
                _ => match &mut self.up {
                    Some(_) if was_listening => keys.push(typed),
                    Some(up) if up.dialog.is_first() => up.ahead.extend(bytes),
                    // Keys typed between two cards are dropped: they are neither for a card nor for the program.
                    Some(_) => {}
                    None => outcome.keys.extend(bytes),
                },
            }
        }
        outcome.suspends = self.read(&keys, now);
        outcome
    }

    /// Returns the query that the terminal has not answered yet.
    fn open_query(&mut self) -> Option<&mut Query> {
        match (&mut self.up, &mut self.late) {
            (Some(up), _) if !up.dialog.is_answered() && up.cover.asks() => Some(&mut up.query),
            (_, Some((late, _))) => Some(late),
            _ => None,
        }
    }

    /// Handles a reply of the terminal to the command. Returns what can be passed on at once.
    fn passed(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        match self.open_query() {
            Some(query) => query.pass(bytes),
            None => bytes,
        }
    }

    /// Handles a cursor report of the terminal, to the guard's query or the command's.
    fn located(&mut self, position: query::CursorPosition, bytes: Vec<u8>, keys: &mut Vec<u8>, now: Instant) {
        let Some(query) = self.open_query() else {
            keys.extend(bytes);
            return;
        };
        let mut complete = None;
        for answer in query.cursor_reported(position, bytes) {
            match answer {
                query::QueryReply::Other(bytes) => keys.extend(bytes),
                query::QueryReply::Complete(cursor) => complete = Some(cursor),
            }
        }
        if let Some(cursor) = complete {
            match &mut self.up {
                Some(up) if !up.dialog.is_answered() => {
                    up.dialog.answered(now);
                    (up.drawn, up.note) = (None, None);
                    up.cover.cursor_found(cursor);
                }
                _ => self.late = None,
            }
        }
    }

    /// Handles keys that were typed while the card was visible. Returns true if they suspend.
    pub(super) fn read(&mut self, keys: &[Typed], now: Instant) -> bool {
        let Some(up) = &mut self.up else { return false };
        if keys.is_empty() || up.sent.is_some() {
            return keys.contains(&Typed::Suspend);
        }
        if up.notice.is_some() {
            up.notice.iter_mut().for_each(|notice| notice.until = now);
            return false;
        }
        let Some(card) = up.card.clone() else { return false };
        up.drawn = None;
        up.note = None;
        if let (PromptView::Everything(from), [Typed::Scroll(scroll)]) = (&mut up.page, keys) {
            let most = Panel {
                size: up.cover.size(),
                card: &card,
                waiting: 0,
                left: 0,
                page: &PromptView::Question,
                line: "",
                note: None,
                proof: None,
            }
            .most();
            let page = usize::from(up.cover.size().0).saturating_sub(4).max(1);
            *from = match scroll {
                Scroll::Up => from.saturating_sub(1),
                Scroll::Down => *from + 1,
                Scroll::PageUp => from.saturating_sub(page),
                Scroll::PageDown => *from + page,
                Scroll::Home => 0,
                Scroll::End => most,
            }
            .min(most);
            return false;
        }
        match up.dialog.read(keys, &up.page) {
            KeyOutcome::Nothing => {}
            KeyOutcome::Suspend => return true,
            KeyOutcome::Redraw => up.cover.forget(),
            KeyOutcome::Note(note) => up.note = Some(note.to_owned()),
            KeyOutcome::Page(PromptView::Always(width)) => match card::no_always(&card) {
                Some(why) => up.note = Some(format!("always is unavailable: {why}")),
                None if width == GrantWidth::Directory && !card::has_directory(&card) => {
                    up.note = Some("no directory or domain can be saved for this".to_owned());
                }
                None => up.page = PromptView::Always(width),
            },
            KeyOutcome::Page(page) => up.page = page,
            KeyOutcome::Edit => {
                match edited::pattern(&card).filter(|_| card::is_editable(&card, GrantWidth::Narrow)) {
                    Some(pattern) => {
                        up.dialog.begin(pattern);
                        up.page = PromptView::Editing;
                    }
                    None => up.note = Some("what this saves has no pattern that can be edited".to_owned()),
                }
            }
            KeyOutcome::Pattern(pattern) => match EditedPattern::new(&card, &pattern) {
                Ok(edited) => up.page = PromptView::Edited(edited),
                Err(error) => {
                    up.note = Some(format!("not saved: {error}"));
                    up.dialog.begin(pattern);
                }
            },
            KeyOutcome::Answer(decision) => match card::offered(&card, decision) {
                None => up.note = Some("that answer is not offered for this: ? has the keys".to_owned()),
                Some(decision) if !is_informed(decision, edited_pattern(&up.page), &card, &up.seen) => {
                    up.note = Some("read all of it first: v, then PgDn to the end, then q".to_owned());
                }
                Some(decision) => {
                    if let Some(first) = card.approvals.first() {
                        let (id, revision) = (first.id.clone(), Some(card.revision));
                        let is_always = matches!(decision, Decision::AllowAlways(_));
                        let decision = decision.to_string();
                        up.sent = Some(now);
                        let pattern = edited_pattern(&up.page)
                            .filter(|_| is_always)
                            .map(|edited| edited.pattern.clone());
                        if self.link.send(Method::Resolve { id, decision, revision, pattern }).is_err() {
                            up.note = Some("the guard does not answer".to_owned());
                        }
                    }
                }
            },
        }
        false
    }
}

/// The pattern that an answer on this page saves, if it was edited.
fn edited_pattern(page: &PromptView) -> Option<&EditedPattern> {
    match page {
        PromptView::Edited(edited) => Some(edited),
        _ => None,
    }
}
