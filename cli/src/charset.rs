//! Signs beyond ASCII, for locales whose character set has them.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;

/// Each non-ASCII character in the guard's own texts, with its replacement in ASCII.
const SIGNS: [(char, &str); 8] =
    [('✓', "+"), ('·', "-"), ('⚠', "!"), ('✗', "x"), ('→', "->"), ('…', "..."), ('µ', "u"), ('×', "x")];

/// The text in the signs that the locale can show.
pub fn fitted(text: &str) -> Cow<'_, str> {
    if is_utf8(|name| env::var_os(name)) { Cow::Borrowed(text) } else { Cow::Owned(plain(text)) }
}

/// Whether the locale's character set is UTF-8 (locale(7)). If no variable is set, the answer is yes, because most
/// terminals use UTF-8.
pub fn is_utf8(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let mut values = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    values.find(|value| !value.is_empty()).is_none_or(|value| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

fn plain(text: &str) -> String {
    let sign = |character| SIGNS.iter().find(|(sign, _)| *sign == character).map(|(_, plain)| *plain);
    let mut fitted = String::with_capacity(text.len());
    for character in text.chars() {
        match sign(character) {
            Some(plain) => fitted.push_str(plain),
            None => fitted.push(character),
        }
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let is_utf8 = |set: &[(&str, &str)]| {
            is_utf8(|name| set.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into()))
        };
        assert!(is_utf8(&[]) && is_utf8(&[("LANG", "de_DE.UTF-8")]) && is_utf8(&[("LC_ALL", "C.utf8")]));
        assert!(!is_utf8(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!is_utf8(&[("LC_CTYPE", "POSIX"), ("LANG", "C.UTF-8")]));
        assert!(!is_utf8(&[("LC_ALL", ""), ("LANG", "de_DE.ISO-8859-1")]));
    }

    #[test]
    fn each_sign_has_a_plain_one() {
        assert_eq!(plain("✓ a · b → c… 1 µs ×"), "+ a - b -> c... 1 us x");
        assert_eq!(plain("Grüße"), "Grüße", "names stay as they are");
    }
}
