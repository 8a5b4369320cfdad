//! How deeply values of TOML are nested, and how many there are, before anything is parsed.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Returns how many values TOML may have; `None` if one may lie deeper than `most`. The depth of a value is the number of open
/// brackets, plus the dots in the keys and headers around it. The count is too high rather than too low: the dot of a number
/// counts, and so does what is behind an error.
///
/// The tokens are the parser's own: if the count and the parser saw strings and comments differently, values could hide.
pub fn count(text: &str, most: usize) -> Option<usize> {
    let mut depth = TomlDepth { open: vec![0], sum: 0, header: 0, in_header: false, is_start: true };
    let mut values = 1;
    for token in Source::new(text).lex() {
        depth.add(token.kind());
        let is_value = matches!(
            token.kind(),
            TokenKind::LeftSquareBracket
                | TokenKind::LeftCurlyBracket
                | TokenKind::Dot
                | TokenKind::Comma
                | TokenKind::Equals
        );
        values += usize::from(is_value);
        if depth.total() > most {
            return None;
        }
    }
    Some(values)
}

struct TomlDepth {
    /// The dots since the last comma or line, for each open bracket, and for the line around them.
    open: Vec<usize>,
    /// The number of all these dots.
    sum: usize,
    /// The depth of the table that the last header has opened.
    header: usize,
    in_header: bool,
    /// Whether nothing was in the line yet.
    is_start: bool,
}

impl TomlDepth {
    fn total(&self) -> usize {
        let header = if self.in_header { 0 } else { self.header };
        header + self.inner()
    }

    /// The depth below the header.
    fn inner(&self) -> usize {
        self.open.len() - 1 + self.sum
    }

    fn add(&mut self, token: TokenKind) {
        let is_line = self.open.len() == 1;
        let is_first = self.is_start;
        self.is_start &= matches!(token, TokenKind::Whitespace | TokenKind::Newline);
        match token {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                if is_line && is_first && token == TokenKind::LeftSquareBracket {
                    (self.in_header, self.header) = (true, 0);
                }
                self.open.push(0);
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket if !is_line => {
                if self.in_header {
                    self.header = self.header.max(self.inner());
                }
                self.forget();
                self.open.pop();
            }
            TokenKind::Dot => {
                self.sum += 1;
                if let Some(dots) = self.open.last_mut() {
                    *dots += 1;
                }
            }
            TokenKind::Comma => self.forget(),
            TokenKind::Newline if is_line => {
                (self.in_header, self.is_start) = (false, true);
                self.forget();
            }
            _ => {}
        }
    }

    fn forget(&mut self) {
        if let Some(dots) = self.open.last_mut() {
            self.sum -= std::mem::take(dots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_dots_and_headers_count() {
        for (text, depth) in [
            ("a = 1", 0),
            ("a.b = 1", 1),
            ("a = [1]", 1),
            ("a.b = { c.d = [1] }", 4),
            ("[a.b]\nc.d = [1]", 4),
            ("[[a]]\nb = 1", 2),
            ("a = [\n  [1],\n  [2],\n]\nb.c = 1", 2),
            ("a = \"[[[.\\\"[[[\" # [[[", 0),
            ("a = '''\n[[[\n'''\nb = \"\"\"x\n[[[\"\"\"", 0),
            ("a = '[[[\\'\nb = [1]", 1),
            ("a = \"\"\"x\"\"\"\"\nb = [1]", 1),
            ("a = [\"\"\"x\"\"\"\"\", [[1]]]", 3),
            ("a = ['''x'''', [[1]]]", 3),
            ("a = [\"\", '', \"\"\"\"\"\", [1]]", 2),
            ("a = 1.5\nb = 2.5", 1),
            ("a = [1.5, 2.5, 3.5]", 2),
        ] {
            assert!(count(text, depth).is_some(), "{text}");
            assert!(depth == 0 || count(text, depth - 1).is_none(), "{text}");
        }
    }

    #[test]
    fn a_table_ends_with_the_next_header() {
        let header = format!("[{}]\n", ["a"; 30].join("."));
        let text = format!("{header}a = 1\n[b]\n{} = 1\n", ["a"; 40].join("."));
        assert!(count(&text, 64).is_some());
        assert_eq!(count(&format!("{header}{} = 1", ["a"; 40].join(".")), 64), None);
    }

    #[test]
    fn each_part_of_a_key_and_of_a_list_is_a_value() {
        for (text, values) in [("", 1), ("a = 1", 2), ("a.b = [1, 2]", 5), ("[a]\nb = { c = 1 }", 5)] {
            assert_eq!(count(text, 64), Some(values), "{text}");
        }
    }

    /// What the parser reads behind a string or a comment counts.
    #[test]
    fn no_string_and_no_comment_hides_what_follows() {
        for hidden in ["# c\r", "x = \"\\\n", "x = 1'''\n", "x = 1\"\"\"\n", "x = '\n"] {
            let text = format!("{hidden}{}", "[a]\n".repeat(100));
            assert!(count(&text, 64).is_some_and(|values| values > 100), "{hidden:?}");
        }
    }
}
