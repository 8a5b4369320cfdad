//! The pieces of a pattern.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Unit(u32),
    One,
    Star,
    StarStar,
}

pub(super) const SLASH: Token = Token::Unit(b'/' as u32);

pub(super) fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    for unit in pattern.encode_utf16() {
        match (u8::try_from(unit), tokens.last_mut()) {
            (Ok(b'*'), Some(last @ (Token::Star | Token::StarStar))) => *last = Token::StarStar,
            (Ok(b'*'), _) => tokens.push(Token::Star),
            (Ok(b'?'), _) => tokens.push(Token::One),
            _ => tokens.push(Token::Unit(unit.into())),
        }
    }
    tokens
}
