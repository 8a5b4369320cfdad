//! Bytes from a guarded process on their way to a human: no control character reaches a terminal raw.

use std::fmt::Write as _;

/// The bytes as text in which nothing acts on a terminal: control, invisible and direction-changing characters
/// and bytes that are no UTF-8 are escaped.
pub fn shown(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if acts(character) {
                let _ = write!(out, "{}", character.escape_default());
            } else {
                out.push(character);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Whether a character does something other than fill its cell.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn escapes_what_acts_and_keeps_what_is_text() {
        assert_eq!(shown("häuser/日本.txt".as_bytes()), "häuser/日本.txt");
        assert_eq!(shown(b"a\x1b[31m\nb\tc\x07"), "a\\u{1b}[31m\\nb\\tc\\u{7}");
        assert_eq!(shown("x\u{202e}y\u{200b}\u{9b}".as_bytes()), "x\\u{202e}y\\u{200b}\\u{9b}");
        assert_eq!(shown(b"\xff\xfe."), "\\xff\\xfe.");
    }
}
