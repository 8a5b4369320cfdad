//! JSON with comments and commas at the end, which editors and some agents take for their settings.

/// Returns the text as plain JSON. Its strings stay what they are.
pub fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('"', _) => {
                plain.push('"');
                while let Some(letter) = letters.next() {
                    plain.push(letter);
                    match letter {
                        '\\' => plain.extend(letters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while letters.next_if(|letter| *letter != '\n').is_some() {},
            ('/', Some('*')) => {
                letters.next();
                let mut before = ' ';
                for letter in letters.by_ref() {
                    if (before, letter) == ('*', '/') {
                        break;
                    }
                    before = letter;
                }
            }
            (']' | '}', _) => {
                let end = plain.trim_end();
                if let Some(end) = end.strip_suffix(',') {
                    plain.truncate(end.len());
                }
                plain.push(letter);
            }
            _ => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_commas_at_the_end_are_left_out() {
        let text = r#"{ // a "b"
            "x": ["/* no */", "a\"//b",], /* c, */ "y": 1,
        }"#;
        let plain: serde_json::Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(plain, serde_json::json!({"x": ["/* no */", "a\"//b"], "y": 1}));
        for odd in ["", "\"", "\"\\", "/", "/*", "//", ",}"] {
            without_comments(odd);
        }
    }
}
