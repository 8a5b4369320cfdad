//! The pieces of a pattern, and what counts as one character.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A character, or a unit of UTF-16.
    Unit(u32),
    One,
    Star,
    StarStar,
}

pub(super) const SLASH: Token = Token::Unit(b'/' as u32);

/// Calls `each` with every unit of a text: its characters, or its units of UTF-16. Stops when `each` returns false.
pub(super) fn units(text: &str, is_for_files: bool, mut each: impl FnMut(u32) -> bool) -> bool {
    match is_for_files {
        true => text.chars().all(|c| each(c.into())),
        false => text.encode_utf16().all(|unit| each(unit.into())),
    }
}

/// The text of units; `None` for half of a pair of UTF-16.
pub(super) fn text(units: impl Iterator<Item = u32>, is_for_files: bool) -> Option<String> {
    match is_for_files {
        true => units.map(char::from_u32).collect(),
        false => {
            let units: Option<Vec<u16>> = units.map(|unit| u16::try_from(unit).ok()).collect();
            String::from_utf16(&units?).ok()
        }
    }
}

pub(super) fn tokens(pattern: &str, is_for_files: bool) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    units(pattern, is_for_files, |unit| {
        match (u8::try_from(unit), tokens.last_mut()) {
            (Ok(b'*'), Some(last @ (Token::Star | Token::StarStar))) => *last = Token::StarStar,
            (Ok(b'*'), _) => tokens.push(Token::Star),
            (Ok(b'?'), _) => tokens.push(Token::One),
            _ => tokens.push(Token::Unit(unit)),
        }
        true
    });
    tokens
}
