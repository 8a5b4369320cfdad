//! The parts of a card, laid out in lines that know what they show.

use std::ops::Range;
use std::rc::Rc;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of the names before the text.
const MAX_NAMES: usize = 9;
/// Below this width, names are not padded and further lines are not indented.
const NARROW: usize = 40;

/// A name and its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The call of the card that it belongs to, from 0.
    call: usize,
    /// Empty for a sentence.
    name: String,
    text: String,
}

/// A line of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelLine {
    /// What is drawn.
    pub text: String,
    /// Which characters of which field are in it, if all of them fit on the screen.
    pub shows: Option<(Rc<Field>, Range<usize>)>,
}

impl From<String> for PanelLine {
    fn from(text: String) -> PanelLine {
        PanelLine { text, shows: None }
    }
}

impl Field {
    /// Creates a field of the card's first call.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Field {
        Field::for_call(0, name, text)
    }

    /// Creates a field of a call.
    pub fn for_call(call: usize, name: impl Into<String>, text: impl Into<String>) -> Field {
        Field { call, name: name.into(), text: text.into() }
    }

    /// Returns the number of characters in the text.
    pub fn length(&self) -> usize {
        self.text.chars().count()
    }

    /// Returns the field in lines of this width.
    pub fn lines(self, width: usize) -> Vec<PanelLine> {
        let (first, next) = if self.name.is_empty() {
            let margin = if width < NARROW { "" } else { " " };
            (margin.to_owned(), margin.to_owned())
        } else if width < NARROW {
            (format!("{} ", self.name), String::new())
        } else {
            (format!(" {:<MAX_NAMES$} ", self.name), " ".repeat(MAX_NAMES + 2))
        };
        let field = Rc::new(self);
        let room = |before: &str| width.saturating_sub(before.width()).max(1);
        let mut lines = Vec::new();
        let mut from = 0;
        for (n, part) in wrapped(&field.text, room(&first), room(&next)).into_iter().enumerate() {
            let before = if n == 0 { &first } else { &next };
            let to = from + part.chars().count();
            let fits = before.width() + part.chars().map(cells).sum::<usize>() <= width;
            let shows = fits.then(|| (Rc::clone(&field), from..to));
            lines.push(PanelLine { text: format!("{before}{part}"), shows });
            from = to;
        }
        lines
    }
}

/// Splits a text into parts: the first fits into `first` cells, the others into `others`. Nothing is left
/// out.
pub fn wrapped(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut used, mut room) = (0, first);
    for character in text.chars() {
        let width = cells(character);
        if used + width > room && used > 0 {
            parts.push(String::new());
            (used, room) = (0, others);
        }
        used += width;
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts
}

/// Returns the most cells that a terminal may take for a character. Terminals differ about characters that are narrow
/// or wide by the font (UAX #11, "Ambiguous"), and about marks. What is past the last column is not seen.
fn cells(character: char) -> usize {
    if character.is_ascii() { 1 } else { character.width_cjk().unwrap_or(2).max(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_on_terminals_that_draw_some_characters_wide() {
        assert_eq!(wrapped("abcd", 2, 2), ["ab", "cd"]);
        // Greek is narrow here and wide there; a mark may get a cell of its own.
        assert_eq!(wrapped("\u{3b1}\u{3b2}c", 2, 2), ["\u{3b1}", "\u{3b2}", "c"]);
        assert_eq!(wrapped("e\u{301}e", 3, 3), ["e\u{301}", "e"]);
        assert_eq!(wrapped("", 2, 2), [""]);
    }

    #[test]
    fn a_line_that_does_not_fit_shows_nothing() {
        let shown = |width| {
            let lines = Field::new("argv[10]", "\u{65e5}b").lines(width);
            lines
                .into_iter()
                .filter_map(|line| line.shows.map(|(_, range)| (range.start, range.end)))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(80), [(0, 2)]);
        assert_eq!(shown(11), [(0, 1), (1, 2)]);
        assert_eq!(shown(10), [(1, 2)]);
        assert_eq!(shown(1), [(1, 2)]);
    }
}
