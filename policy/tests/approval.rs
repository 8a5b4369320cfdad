//! Compares the text of a command for approval with OpenClaw's own output; see `data/README.md`.

use crate::common::data_text;
use guard_policy::approval::display_text;
use proptest::prelude::*;
use serde_json::{Value, json};

const NEWEST: &str = "2026.9.6";

#[test]
fn displays() {
    // A lone surrogate: JSON can express it, a Rust string cannot. Its WTF-8 form is inserted afterwards.
    let (written, mark, wtf8) = (r"\ud800", "<a lone surrogate>", b"\xed\xa0\x80");
    let file = data_text("approval-display-sanitize.json");
    assert_eq!(file.matches(written).count(), 1);
    let data: Value = serde_json::from_str(&file.replace(written, mark)).unwrap();
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let input = case["input"].as_str().unwrap();
        let bytes = match input.split_once(mark) {
            Some((before, after)) => [before.as_bytes(), wtf8, after.as_bytes()].concat(),
            None => input.as_bytes().to_vec(),
        };
        assert_eq!(json!(display_text(&bytes)), case[NEWEST], "{case}");
        agreed += 1;
    }
    println!("approval-display-sanitize: {agreed} of {}", cases.len());
}

proptest! {
    /// For any input, the output contains nothing that acts on a terminal, and is not too long.
    #[test]
    fn nothing_invisible_is_shown(text in proptest::collection::vec(any::<u8>(), 0..80)) {
        let shown = display_text(&text);
        let acts = |c: char| c.is_control() || c == '\u{200b}' || c == '\u{2028}';
        prop_assert!(!shown.chars().any(acts));
    }

    /// As above, with valid text, which random bytes seldom are.
    #[test]
    fn nothing_invisible_is_shown_of_text(text in any::<String>()) {
        prop_assert!(!display_text(text.as_bytes()).chars().any(char::is_control));
    }

    /// Characters with a meaning to a shell are always shown, whatever is next to them.
    #[test]
    fn a_mask_hides_no_command(parts in proptest::collection::vec(
        prop_oneof!["(TOKEN=|--password |sk-abcdefgh|Bearer |https://a:b@|[a-z]{1,20}|\\n|\u{200b})", "[;|&$`()<> ]"], 0..12)
    ) {
        let text = parts.concat();
        let shown = display_text(text.as_bytes());
        for sign in [";", "|", "&", "$", "`", "(", "<", ">", "\n"] {
            let escaped = if sign == "\n" { r"\u{A}" } else { sign };
            prop_assert_eq!(shown.matches(escaped).count(), text.matches(sign).count(), "{}", shown);
        }
    }

    /// A token is never shown whole, wherever invisible characters are put into it.
    #[test]
    fn no_token_is_shown(at in 3..30_usize, before in "[a-z ]{0,5} ") {
        let token = "sk-abcdefghijklmnopqrstuvwxyz0123";
        let (head, tail) = token.split_at(at);
        let shown = display_text(format!("{before}{head}\u{2060}{tail}").as_bytes());
        prop_assert!(!shown.contains("klmnopq") && !shown.contains(&tail[1..]), "{}", shown);
    }
}
