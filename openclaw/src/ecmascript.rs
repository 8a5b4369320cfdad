//! Treats text and numbers like ECMAScript, where OpenClaw's answers depend on it.

use serde_json::Number;

/// Trims like `String.prototype.trim`: a byte order mark is white space, U+0085 (a line end of Unicode) is not.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c == '\u{feff}' || c.is_whitespace() && c != '\u{85}')
}

/// Trims, and turns into lower case.
pub(crate) fn folded(text: &str) -> String {
    trim(text).to_lowercase()
}

/// Writes a finite number like `String(number)`: the shortest digits, with an exponent from 1e21 on and below 1e-6.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-6..1e21).contains(&size) {
        value.to_string()
    } else {
        let text = format!("{value:e}");
        if text.contains("e-") { text } else { text.replacen('e', "e+", 1) }
    }
}

/// Returns the double that ECMAScript reads for a number of JSON.
pub(crate) fn double(value: &Number) -> f64 {
    // Each number has a double, except with the feature `arbitrary_precision` of serde_json.
    value.as_f64().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{folded, number, trim};

    #[test]
    fn texts() {
        assert_eq!(trim("\u{feff} a\u{a0}\n"), "a");
        assert_eq!(trim("\u{85}a"), "\u{85}a");
        assert_eq!(folded(" ÄB "), "äb");
    }

    #[test]
    fn numbers() {
        let of = [0.0, -0.0, 1.0, 1.5, -3.25, 536_870_912.0, 1e20, 1e21, 1.5e300, 1e-6, 1e-7, 2.5e-9];
        let texts = [
            "0",
            "0",
            "1",
            "1.5",
            "-3.25",
            "536870912",
            "100000000000000000000",
            "1e+21",
            "1.5e+300",
            "0.000001",
            "1e-7",
            "2.5e-9",
        ];
        assert_eq!(of.map(number), texts);
    }
}
