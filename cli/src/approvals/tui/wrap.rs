//! Wraps text to a width.

use ratatui::text::Span;

/// Splits the text into lines of at most `width` cells. A longer line continues, indented, on the next one; no text is
/// dropped.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "            ";
    let mut lines = Vec::new();
    for line in text.lines() {
        let indent = if width > 3 * INDENT.len() { INDENT } else { "" };
        let (mut out, mut used) = (String::new(), 0);
        for character in line.chars() {
            let cells = Span::raw(character.encode_utf8(&mut [0; 4]) as &str).width();
            if used + cells > width && used > 0 {
                lines.push(std::mem::replace(&mut out, indent.to_owned()));
                used = indent.len();
            }
            out.push(character);
            used += cells;
        }
        lines.push(out);
    }
    lines
}
