//! A question to the operator's terminal: what was typed before it is answered was typed before the prompt was seen.
//!
//! The cursor is put in two places at random, and the terminal is asked where it is. The command may ask the same, and
//! its answers come on the same way, but it cannot know those places.

use std::mem::take;

/// Where the cursor is, row and column from 1.
pub type CursorPosition = (u16, u16);

/// So many places of questions before are remembered.
const MAX_QUERIES: usize = 32;

/// The question, until it is answered.
#[derive(Debug)]
pub struct Query {
    places: [CursorPosition; 2],
    /// Whether the place of the cursor before is asked for as well.
    with_cursor: bool,
    /// What came, which may be ours or the command's; and without a place what is the command's, but came after it.
    held: Vec<(Option<CursorPosition>, Vec<u8>)>,
    /// Places of questions before this one, whose answers are still to come; whether the one of the cursor comes before it.
    older: Vec<(CursorPosition, bool)>,
}

/// What an answer was.
#[derive(Debug, PartialEq, Eq)]
pub enum QueryReply {
    /// Ours has come, and the cursor was there.
    Complete(Option<CursorPosition>),
    /// The command's, as far as is known.
    Other(Vec<u8>),
}

impl Query {
    /// Two places on a screen of this size.
    pub fn new((rows, columns): (u16, u16), with_cursor: bool) -> Query {
        let mut bytes = [0; 8];
        // Without randomness the places are guessed more easily, and the pause after it still counts.
        let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let number = |at: usize, most: u16| u16::from_ne_bytes([bytes[at], bytes[at + 1]]) % most.max(1) + 1;
        let places = [(number(0, rows), number(2, columns)), (number(4, rows), number(6, columns))];
        Query { places, with_cursor, held: Vec::new(), older: Vec::new() }
    }

    /// Comes in place of one that was not answered. A terminal that became smaller has moved its cursor.
    pub fn follow(&mut self, size: (u16, u16), before: Query) {
        let [first, second] = before.places;
        let asked = before.older.into_iter().chain([(first, before.with_cursor), (second, false)]);
        let moved = |(row, column): CursorPosition| (row.min(size.0), column.min(size.1));
        self.older = asked.flat_map(|(place, cursor)| [(place, cursor), (moved(place), cursor)]).collect();
        self.older.drain(..self.older.len().saturating_sub(MAX_QUERIES));
        for (place, bytes) in before.held {
            if !place.is_some_and(|place| self.is_older(place)) {
                self.held.push((place, bytes));
            }
        }
    }

    /// Whether it answers a question before this one. The answer about the cursor, which came before it, goes with it.
    fn is_older(&mut self, place: CursorPosition) -> bool {
        let known = self.older.iter().find(|(older, _)| *older == place);
        let Some((_, after_cursor)) = known.filter(|_| !self.places.contains(&place)) else { return false };
        let cursor = self.held.iter().rposition(|(place, _)| place.is_some()).filter(|_| *after_cursor);
        cursor.map(|at| self.held.remove(at));
        true
    }

    /// What is sent first, before the cursor moves.
    pub fn before(&self) -> &'static [u8] {
        if self.with_cursor { b"\x1b[6n" } else { b"" }
    }

    /// What is sent when the prompt is drawn. The cursor moves.
    pub fn after(&self) -> Vec<u8> {
        let [first, second] = self.places.map(|(row, column)| format!("\x1b[{row};{column}H\x1b[6n"));
        (first + &second).into_bytes()
    }

    /// The terminal says where the cursor is.
    pub fn cursor_reported(&mut self, place: CursorPosition, bytes: Vec<u8>) -> Vec<QueryReply> {
        if self.is_older(place) {
            return Vec::new();
        }
        self.held.push((Some(place), bytes));
        let places: Vec<CursorPosition> = self.held.iter().filter_map(|(place, _)| *place).collect();
        if !places.ends_with(&self.places) {
            // The last two may be the first of ours, and what was asked before.
            return self.release(if self.with_cursor { 2 } else { 1 });
        }
        let cursor = if self.with_cursor { places.iter().rev().nth(2).copied() } else { None };
        // Of the places the first are the command's; what has none always is.
        let theirs = places.len() - self.places.len() - usize::from(cursor.is_some());
        let mut count = 0;
        let others = take(&mut self.held).into_iter().filter(|(place, _)| {
            count += usize::from(place.is_some());
            place.is_none() || count <= theirs
        });
        others.map(|(_, bytes)| QueryReply::Other(bytes)).chain([QueryReply::Complete(cursor)]).collect()
    }

    /// The terminal says something else, which is the command's: it goes on in its turn. What does so now.
    pub fn pass(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        if self.held.is_empty() {
            return bytes;
        }
        self.held.push((None, bytes));
        Vec::new()
    }

    /// All but so many places, and what came after them.
    fn release(&mut self, kept: usize) -> Vec<QueryReply> {
        let places = self.held.iter().enumerate().filter(|(_, (place, _))| place.is_some());
        let older = places.rev().nth(kept - 1).map_or(0, |(at, _)| at);
        self.held.drain(..older).map(|(_, bytes)| QueryReply::Other(bytes)).collect()
    }

    /// No answer comes any more: what was kept is the command's, after all.
    pub fn give_up(&mut self) -> Vec<u8> {
        take(&mut self.held).into_iter().flat_map(|(_, bytes)| bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(with_cursor: bool) -> Query {
        Query { places: [(3, 4), (5, 6)], with_cursor, held: Vec::new(), older: Vec::new() }
    }

    #[test]
    fn ours_is_known_by_its_places() {
        let mut query = query(true);
        // Two of the command's, then where the cursor was, then the two places.
        assert_eq!(query.cursor_reported((1, 1), b"a".to_vec()), []);
        assert_eq!(query.cursor_reported((3, 4), b"b".to_vec()), []);
        assert_eq!(query.cursor_reported((9, 9), b"c".to_vec()), [QueryReply::Other(b"a".to_vec())]);
        assert_eq!(query.cursor_reported((3, 4), b"d".to_vec()), [QueryReply::Other(b"b".to_vec())]);
        assert_eq!(query.cursor_reported((5, 6), b"e".to_vec()), [QueryReply::Complete(Some((9, 9)))]);
    }

    #[test]
    fn what_is_the_commands_is_the_commands() {
        let mut query = query(false);
        assert_eq!(query.cursor_reported((3, 4), b"a".to_vec()), []);
        assert_eq!(query.cursor_reported((3, 4), b"b".to_vec()), [QueryReply::Other(b"a".to_vec())]);
        assert_eq!(query.give_up(), b"b");
        assert_eq!(query.cursor_reported((3, 4), Vec::new()), []);
        assert_eq!(query.cursor_reported((5, 6), Vec::new()), [QueryReply::Complete(None)]);
    }

    #[test]
    fn whatever_is_the_commands_comes_in_its_turn() {
        for with_cursor in [false, true] {
            let mut query = query(with_cursor);
            assert_eq!(query.pass(b"first".to_vec()), b"first");
            assert_eq!(query.cursor_reported((1, 1), b"a".to_vec()), []);
            // Asked of the terminal together with the place: nothing of it may come before.
            assert_eq!(query.pass(b"b".to_vec()), b"");
            assert_eq!(query.pass(b"c".to_vec()), b"");
            let mut came = query.cursor_reported((2, 2), b"d".to_vec());
            if with_cursor {
                came.extend(query.cursor_reported((9, 9), Vec::new()));
            }
            came.extend(query.cursor_reported((3, 4), Vec::new()));
            came.extend(query.cursor_reported((5, 6), Vec::new()));
            let other = |text: &[u8]| QueryReply::Other(text.to_vec());
            let complete = QueryReply::Complete(with_cursor.then_some((9, 9)));
            assert_eq!(came, [other(b"a"), other(b"b"), other(b"c"), other(b"d"), complete]);
            assert_eq!(query.pass(b"e".to_vec()), b"e");
        }
    }

    #[test]
    fn another_question_loses_nothing_of_the_commands() {
        let mut before = query(false);
        assert_eq!(before.cursor_reported((1, 1), b"a".to_vec()), []);
        assert_eq!(before.pass(b"b".to_vec()), b"");
        let mut query = Query { places: [(7, 7), (8, 8)], ..query(true) };
        query.follow((24, 80), before);
        assert_eq!(query.cursor_reported((3, 4), Vec::new()), []);
        assert_eq!(query.give_up(), b"ab");
    }

    #[test]
    fn where_the_cursor_was_before_is_nobodys() {
        // Answered before the next question is asked, and after.
        for early in [true, false] {
            let (mut before, mut next) = (query(true), query(false));
            assert_eq!(before.cursor_reported((1, 1), b"a".to_vec()), []);
            next.places = [(7, 7), (8, 8)];
            if early {
                assert_eq!(before.cursor_reported((9, 9), b"cursor".to_vec()), []);
                next.follow((24, 80), before);
            } else {
                next.follow((24, 80), before);
                assert_eq!(
                    next.cursor_reported((9, 9), b"cursor".to_vec()),
                    [QueryReply::Other(b"a".to_vec())]
                );
            }
            assert_eq!(next.cursor_reported((3, 4), Vec::new()), []);
            assert_eq!(next.cursor_reported((5, 6), Vec::new()), []);
            assert_eq!(next.give_up(), if early { b"a".to_vec() } else { Vec::new() });
        }
    }

    #[test]
    fn answers_to_questions_before_are_nobodys() {
        let before = query(false);
        let mut query = Query::new((24, 80), false);
        query.follow((4, 4), before);
        for place in [(3, 4), (5, 6), (4, 4)] {
            if !query.places.contains(&place) {
                assert_eq!(query.cursor_reported(place, Vec::new()), []);
            }
        }
        let [first, second] = query.places;
        assert_eq!(query.cursor_reported(first, Vec::new()), []);
        assert_eq!(query.cursor_reported(second, Vec::new()), [QueryReply::Complete(None)]);
    }

    #[test]
    fn places_are_on_the_screen() {
        for _ in 0..1000 {
            let query = Query::new((5, 20), false);
            assert!(
                query.places.iter().all(|(row, column)| (1..=5).contains(row) && (1..=20).contains(column))
            );
        }
    }
}
