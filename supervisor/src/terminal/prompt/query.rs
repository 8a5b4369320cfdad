//! A query to the operator's terminal. Keys that arrive before its answer were typed before the prompt was
//! visible.
//!
//! The query puts the cursor at two random places, and asks the terminal for the position each time. The
//! command may ask for the position too, and its answers arrive the same way, but it cannot know those
//! places.
//!
//! Why: docs/decisions.md, "A prompt takes an answer only after the terminal has reported the cursor's position"

use std::mem::take;

/// The cursor's row and column, from 1.
pub type CursorPosition = (u16, u16);

/// The number of places of earlier queries that are remembered.
const MAX_QUERIES: usize = 32;

/// A query that is not answered yet.
#[derive(Debug)]
pub struct Query {
    positions: [CursorPosition; 2],
    /// Whether the query first asks where the cursor was.
    with_cursor: bool,
    /// The replies held back. Replies with a place may be the guard's or the command's. Replies without a place are the
    /// command's, and wait because they came after a held reply.
    held: Vec<(Option<CursorPosition>, Vec<u8>)>,
    /// The places of earlier queries whose answers may still come; true if an answer about the cursor comes before the
    /// answer with that place.
    older: Vec<(CursorPosition, bool)>,
}

/// The meaning of a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum QueryReply {
    /// The query is answered; with the place where the cursor was, if that was asked.
    Complete(Option<CursorPosition>),
    /// A reply to the command, as far as is known.
    Other(Vec<u8>),
}

impl Query {
    /// Creates a query with two random places on a screen of this size.
    pub fn new((rows, columns): (u16, u16), with_cursor: bool) -> Query {
        let mut bytes = [0; 8];
        // Without randomness the places are easier to guess, but the pause after the answer still protects.
        let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let number = |at: usize, most: u16| u16::from_ne_bytes([bytes[at], bytes[at + 1]]) % most.max(1) + 1;
        let positions = [(number(0, rows), number(2, columns)), (number(4, rows), number(6, columns))];
        Query { positions, with_cursor, held: Vec::new(), older: Vec::new() }
    }

    /// Replaces the unanswered query `before`. If the screen is smaller now, the places of `before` also count at its
    /// edge, because the terminal has moved the cursor there.
    pub fn follow(&mut self, size: (u16, u16), before: Query) {
        let [first, second] = before.positions;
        let asked = before.older.into_iter().chain([(first, before.with_cursor), (second, false)]);
        let moved = |(row, column): CursorPosition| (row.min(size.0), column.min(size.1));
        self.older =
            asked.flat_map(|(position, cursor)| [(position, cursor), (moved(position), cursor)]).collect();
        self.older.drain(..self.older.len().saturating_sub(MAX_QUERIES));
        for (position, bytes) in before.held {
            if !position.is_some_and(|position| self.is_older(position)) {
                self.held.push((position, bytes));
            }
        }
    }

    /// Returns whether a report answers an earlier query. The report about the cursor that preceded it is
    /// then dropped.
    fn is_older(&mut self, position: CursorPosition) -> bool {
        let known = self.older.iter().find(|(older, _)| *older == position);
        let Some((_, after_cursor)) = known.filter(|_| !self.positions.contains(&position)) else {
            return false;
        };
        let cursor = self.held.iter().rposition(|(position, _)| position.is_some()).filter(|_| *after_cursor);
        cursor.map(|at| self.held.remove(at));
        true
    }

    /// Returns the bytes to send first, before the cursor moves.
    pub fn before(&self) -> &'static [u8] {
        if self.with_cursor { b"\x1b[6n" } else { b"" }
    }

    /// Returns the bytes to send when the prompt is drawn. They move the cursor.
    pub fn after(&self) -> Vec<u8> {
        let [first, second] = self.positions.map(|(row, column)| format!("\x1b[{row};{column}H\x1b[6n"));
        (first + &second).into_bytes()
    }

    /// Handles a report of the cursor's position.
    pub fn cursor_reported(&mut self, position: CursorPosition, bytes: Vec<u8>) -> Vec<QueryReply> {
        if self.is_older(position) {
            return Vec::new();
        }
        self.held.push((Some(position), bytes));
        let positions: Vec<CursorPosition> = self.held.iter().filter_map(|(position, _)| *position).collect();
        if !positions.ends_with(&self.positions) {
            // The last reports may be the first ones of this query, about the cursor and the first place.
            return self.release(if self.with_cursor { 2 } else { 1 });
        }
        let cursor = if self.with_cursor { positions.iter().rev().nth(2).copied() } else { None };
        // The first reports are the command's. Replies without a place always are.
        let theirs = positions.len() - self.positions.len() - usize::from(cursor.is_some());
        let mut count = 0;
        let others = take(&mut self.held).into_iter().filter(|(position, _)| {
            count += usize::from(position.is_some());
            position.is_none() || count <= theirs
        });
        others.map(|(_, bytes)| QueryReply::Other(bytes)).chain([QueryReply::Complete(cursor)]).collect()
    }

    /// Handles another reply, which is for the command. Returns it if it can be passed on at once; otherwise
    /// it is held, to keep the order.
    pub fn pass(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        if self.held.is_empty() {
            return bytes;
        }
        self.held.push((None, bytes));
        Vec::new()
    }

    /// Releases all held replies before the last `count` reports.
    fn release(&mut self, count: usize) -> Vec<QueryReply> {
        let positions = self.held.iter().enumerate().filter(|(_, (position, _))| position.is_some());
        let older = positions.rev().nth(count - 1).map_or(0, |(at, _)| at);
        self.held.drain(..older).map(|(_, bytes)| QueryReply::Other(bytes)).collect()
    }

    /// Returns all held replies: without an answer to the query, they are for the command.
    pub fn give_up(&mut self) -> Vec<u8> {
        take(&mut self.held).into_iter().flat_map(|(_, bytes)| bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(with_cursor: bool) -> Query {
        Query { positions: [(3, 4), (5, 6)], with_cursor, held: Vec::new(), older: Vec::new() }
    }

    #[test]
    fn our_query_is_recognised_by_its_positions() {
        let mut query = query(true);
        // Two reports for the command, then where the cursor was, then the two places.
        assert_eq!(query.cursor_reported((1, 1), b"a".to_vec()), []);
        assert_eq!(query.cursor_reported((3, 4), b"b".to_vec()), []);
        assert_eq!(query.cursor_reported((9, 9), b"c".to_vec()), [QueryReply::Other(b"a".to_vec())]);
        assert_eq!(query.cursor_reported((3, 4), b"d".to_vec()), [QueryReply::Other(b"b".to_vec())]);
        assert_eq!(query.cursor_reported((5, 6), b"e".to_vec()), [QueryReply::Complete(Some((9, 9)))]);
    }

    #[test]
    fn reports_for_the_command_are_passed_on() {
        let mut query = query(false);
        assert_eq!(query.cursor_reported((3, 4), b"a".to_vec()), []);
        assert_eq!(query.cursor_reported((3, 4), b"b".to_vec()), [QueryReply::Other(b"a".to_vec())]);
        assert_eq!(query.give_up(), b"b");
        assert_eq!(query.cursor_reported((3, 4), Vec::new()), []);
        assert_eq!(query.cursor_reported((5, 6), Vec::new()), [QueryReply::Complete(None)]);
    }

    #[test]
    fn reports_for_the_command_keep_their_order() {
        for with_cursor in [false, true] {
            let mut query = query(with_cursor);
            assert_eq!(query.pass(b"first".to_vec()), b"first");
            assert_eq!(query.cursor_reported((1, 1), b"a".to_vec()), []);
            // Replies that came after a held report must not overtake it.
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
        let mut query = Query { positions: [(7, 7), (8, 8)], ..query(true) };
        query.follow((24, 80), before);
        assert_eq!(query.cursor_reported((3, 4), Vec::new()), []);
        assert_eq!(query.give_up(), b"ab");
    }

    #[test]
    fn the_cursors_position_before_the_query_is_not_passed_on() {
        // Answered before the next query is sent, and after.
        for early in [true, false] {
            let (mut before, mut next) = (query(true), query(false));
            assert_eq!(before.cursor_reported((1, 1), b"a".to_vec()), []);
            next.positions = [(7, 7), (8, 8)];
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
    fn answers_to_earlier_queries_are_dropped() {
        let before = query(false);
        let mut query = Query::new((24, 80), false);
        query.follow((4, 4), before);
        for position in [(3, 4), (5, 6), (4, 4)] {
            if !query.positions.contains(&position) {
                assert_eq!(query.cursor_reported(position, Vec::new()), []);
            }
        }
        let [first, second] = query.positions;
        assert_eq!(query.cursor_reported(first, Vec::new()), []);
        assert_eq!(query.cursor_reported(second, Vec::new()), [QueryReply::Complete(None)]);
    }

    #[test]
    fn query_positions_are_on_the_screen() {
        for _ in 0..1000 {
            let query = Query::new((5, 20), false);
            assert!(
                query
                    .positions
                    .iter()
                    .all(|(row, column)| (1..=5).contains(row) && (1..=20).contains(column))
            );
        }
    }
}
