//! Translates ECMAScript expressions to the syntax of the regex crate.
//!
//! Why: docs/decisions.md, "An `argPattern` is translated for the regex crate"

use std::collections::BTreeSet;

use super::character;
use super::units::{DIGITS, LINE_ENDS, SPACES, Set, WORDS, complement, ordered};

/// What an escape stands for.
enum Escape {
    Unit(u16),
    Set(Set),
}

/// A translator that reads a pattern unit by unit.
pub(super) struct Translator<'p> {
    units: &'p [u16],
    at: usize,
    /// The names of groups so far.
    names: BTreeSet<&'p [u16]>,
    out: String,
}

impl<'p> Translator<'p> {
    pub(super) fn new(units: &'p [u16]) -> Translator<'p> {
        Translator { units, at: 0, names: BTreeSet::new(), out: String::new() }
    }

    fn peek(&self) -> Option<u16> {
        self.units.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u16> {
        let unit = self.peek()?;
        self.at += 1;
        Some(unit)
    }

    /// Skips this text if it comes next.
    fn skip(&mut self, text: &str) -> bool {
        let is_next = text.bytes().enumerate().all(|(i, b)| self.units.get(self.at + i) == Some(&b.into()));
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn unit(&mut self, unit: u16) {
        self.out.push_str(&format!("\\x{{{:x}}}", u32::from(character(unit))));
    }

    pub(super) fn translate(mut self) -> Option<String> {
        let mut open = 0usize;
        // Whether a quantifier may follow.
        let mut is_atom = false;
        while let Some(unit) = self.next() {
            let ascii = u8::try_from(unit).unwrap_or(0);
            is_atom = match ascii {
                b'^' | b'$' | b'|' => {
                    self.out.push(char::from(ascii));
                    false
                }
                b'(' => {
                    self.group()?;
                    open += 1;
                    false
                }
                b')' => {
                    open = open.checked_sub(1)?;
                    self.out.push(')');
                    true
                }
                b'*' | b'+' | b'?' if is_atom => {
                    self.out.push(char::from(ascii));
                    self.lazy();
                    false
                }
                b'*' | b'+' | b'?' => return None,
                b'{' => match self.bounds() {
                    Some(bounds) if is_atom => {
                        self.out.push_str(&bounds?);
                        self.lazy();
                        false
                    }
                    Some(_) => return None,
                    None => {
                        self.unit(unit);
                        true
                    }
                },
                b'.' => {
                    self.set(&complement(LINE_ENDS));
                    true
                }
                b'[' => {
                    self.class()?;
                    true
                }
                b'\\' if self.skip("b") => {
                    self.out.push_str(r"(?-u:\b)");
                    false
                }
                b'\\' if self.skip("B") => {
                    self.out.push_str(r"(?-u:\B)");
                    false
                }
                b'\\' => {
                    match self.escape()? {
                        Escape::Unit(unit) => self.unit(unit),
                        Escape::Set(set) => self.set(&set),
                    }
                    true
                }
                _ => {
                    self.unit(unit);
                    true
                }
            };
        }
        (open == 0).then_some(self.out)
    }

    /// Translates what follows an opening parenthesis. Nothing refers back, so no group has to capture.
    fn group(&mut self) -> Option<()> {
        self.out.push_str("(?:");
        if !self.skip("?") || self.skip(":") {
            return Some(());
        }
        // Look-behind fails here too: its = or ! is not part of a name.
        let is_name = |unit: u16| u8::try_from(unit).is_ok_and(|b| b.is_ascii_alphanumeric() || b == b'_');
        let start = self.at;
        if !self.skip("<") || self.peek().is_some_and(|unit| (0x30..=0x39).contains(&unit)) {
            return None;
        }
        while self.peek().is_some_and(is_name) {
            self.at += 1;
        }
        let name = &self.units[start + 1..self.at];
        (!name.is_empty() && self.skip(">") && self.names.insert(name)).then_some(())
    }

    fn lazy(&mut self) {
        if self.skip("?") {
            self.out.push('?');
        }
    }

    /// Parses bounds after an opening brace. Returns `None` if the brace is literal, `Some(None)` for bounds
    /// that are invalid or too large.
    #[expect(clippy::option_option, reason = "no bounds at all are a literal brace")]
    fn bounds(&mut self) -> Option<Option<String>> {
        let start = self.at;
        let low = self.number();
        let comma = self.skip(",");
        let high = self.number();
        if low.is_none() || !self.skip("}") || (!comma && high.is_some()) {
            self.at = start;
            return None;
        }
        let bound = |digits: &str| digits.parse::<u16>().ok().filter(|n| *n <= 1000);
        let (low, high) = (bound(&low?), high.map(|digits| bound(&digits)));
        Some(match (low, high) {
            (Some(low), None) if comma => Some(format!("{{{low},}}")),
            (Some(low), None) => Some(format!("{{{low}}}")),
            (Some(low), Some(Some(high))) if low <= high => Some(format!("{{{low},{high}}}")),
            _ => None,
        })
    }

    fn number(&mut self) -> Option<String> {
        let mut digits = String::new();
        while let Some(digit) =
            self.peek().and_then(|unit| u8::try_from(unit).ok()).filter(u8::is_ascii_digit)
        {
            digits.push(char::from(digit));
            self.at += 1;
        }
        (!digits.is_empty()).then_some(digits)
    }

    fn hex(&mut self, length: usize) -> Option<u16> {
        let digits = self.units.get(self.at..self.at + length)?;
        let digits: String = digits.iter().map(|unit| character(*unit)).collect();
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex)?;
        self.at += length;
        Some(code)
    }

    /// Parses an escape after its backslash.
    fn escape(&mut self) -> Option<Escape> {
        let unit = self.next()?;
        Some(match u8::try_from(unit).unwrap_or(0) {
            b'd' => Escape::Set(DIGITS.to_vec()),
            b'D' => Escape::Set(complement(DIGITS)),
            b'w' => Escape::Set(WORDS.to_vec()),
            b'W' => Escape::Set(complement(WORDS)),
            b's' => Escape::Set(SPACES.to_vec()),
            b'S' => Escape::Set(complement(SPACES)),
            b't' => Escape::Unit(0x09),
            b'n' => Escape::Unit(0x0a),
            b'v' => Escape::Unit(0x0b),
            b'f' => Escape::Unit(0x0c),
            b'r' => Escape::Unit(0x0d),
            b'0' if !self.peek().is_some_and(|unit| (0x30..=0x39).contains(&unit)) => Escape::Unit(0),
            b'x' => Escape::Unit(self.hex(2).unwrap_or(unit)),
            b'u' => Escape::Unit(self.hex(4).unwrap_or(unit)),
            // Refused: octal, back-references, controls, and properties, which need a flag.
            b'0'..=b'9' | b'k' | b'c' | b'p' | b'P' | b'B' => return None,
            _ => Escape::Unit(unit),
        })
    }

    /// Translates a class after its opening bracket.
    fn class(&mut self) -> Option<()> {
        let is_negated = self.skip("^");
        let mut set = Set::new();
        while !self.skip("]") {
            let low = match self.member()? {
                Escape::Unit(unit) => unit,
                Escape::Set(members) => {
                    set.extend(members);
                    continue;
                }
            };
            let dash = self.at;
            if !self.skip("-") || self.peek() == Some(b']'.into()) {
                self.at = dash;
                set.push((low, low));
                continue;
            }
            match self.member()? {
                Escape::Unit(high) if low <= high => set.push((low, high)),
                Escape::Unit(_) => return None,
                Escape::Set(members) => {
                    set.extend([(low, low), (b'-'.into(), b'-'.into())]);
                    set.extend(members);
                }
            }
        }
        let set = ordered(set);
        self.set(&if is_negated { complement(&set) } else { set });
        Some(())
    }

    /// Parses a member of a class, where \b is a backspace.
    fn member(&mut self) -> Option<Escape> {
        match self.next()? {
            0x5c if self.skip("b") => Some(Escape::Unit(0x08)),
            0x5c => self.escape(),
            unit => Some(Escape::Unit(unit)),
        }
    }

    /// Writes a class that matches one unit of the set. Never a negated class: in regex-syntax its complement
    /// always includes the characters on both sides of the surrogates, whatever the class holds.
    fn set(&mut self, set: &[(u16, u16)]) {
        if set.is_empty() {
            // [] matches nothing.
            self.out.push_str(r"[^\x{0}-\x{10ffff}]");
            return;
        }
        self.out.push('[');
        for (low, high) in set {
            for (first, last) in [(0, 0xd7ff), (0xd800, 0xdfff), (0xe000, 0xffff)] {
                let (low, high) = (*low.max(&first), *high.min(&last));
                if low <= high {
                    self.unit(low);
                    self.out.push('-');
                    self.unit(high);
                }
            }
        }
        self.out.push(']');
    }
}
