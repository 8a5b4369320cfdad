//! Remembers which parts of a card have been on the screen: nobody can allow a call without having seen it.
//!
//! Why: docs/decisions.md, "A yes on the terminal needs every argument to have been drawn"

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::field::{Field, PanelLine};

/// The parts of a card's fields that were drawn.
#[derive(Debug, Default)]
pub struct Seen {
    /// Ranges of characters, in order, with gaps between them.
    drawn: HashMap<Rc<Field>, Vec<Range<usize>>>,
}

impl Seen {
    /// Records that these lines were drawn.
    pub fn record(&mut self, lines: &[PanelLine]) {
        for (field, range) in lines.iter().filter_map(|line| line.shows.as_ref()) {
            let drawn = self.drawn.entry(Rc::clone(field)).or_default();
            drawn.push(range.clone());
            drawn.sort_unstable_by_key(|range| range.start);
            drawn.dedup_by(|next, before| {
                let touches = next.start <= before.end;
                if touches {
                    before.end = before.end.max(next.end);
                }
                touches
            });
        }
    }

    /// Returns whether every character of these fields was drawn.
    pub fn covers(&self, fields: &[Field]) -> bool {
        fields.iter().all(|field| {
            let drawn = self.drawn.get(field).map(Vec::as_slice);
            matches!(drawn, Some([range]) if *range == (0..field.length()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize) -> (Field, Vec<PanelLine>) {
        let field = Field::new("argv[1]", text);
        (field.clone(), field.lines(width))
    }

    #[test]
    fn a_text_is_seen_when_all_of_it_was_drawn() {
        let (field, all) = lines(&"0123456789".repeat(9), 50);
        let mut seen = Seen::default();
        assert!(!seen.covers(std::slice::from_ref(&field)));
        for (n, line) in all.iter().enumerate().rev() {
            assert!(!seen.covers(std::slice::from_ref(&field)), "{n}");
            seen.record(std::slice::from_ref(line));
        }
        assert!(all.len() > 2 && seen.covers(std::slice::from_ref(&field)));
        // The same text of another call is another field.
        assert!(!seen.covers(&[Field::for_call(1, "argv[1]", "0123456789".repeat(9))]));
    }

    #[test]
    fn an_empty_text_is_drawn_too() {
        let (field, all) = lines("", 50);
        let mut seen = Seen::default();
        assert!(!seen.covers(std::slice::from_ref(&field)));
        seen.record(&all);
        assert!(seen.covers(&[field]));
    }

    /// Parts of a field in lines of another width count for the characters that they show.
    #[test]
    fn another_width_makes_no_gap_and_hides_none() {
        let text = "x".repeat(100);
        let (field, wide) = lines(&text, 80);
        let (_, narrow) = lines(&text, 50);
        let mut seen = Seen::default();
        seen.record(&wide[..1]);
        seen.record(&narrow[2..]);
        assert!(!seen.covers(std::slice::from_ref(&field)));
        seen.record(&narrow[1..2]);
        assert!(seen.covers(&[field]));
    }
}
