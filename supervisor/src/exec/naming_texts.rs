//! Files whose text names other files that run: files of arguments (`java @FILE`), and package.json.
//!
//! The tree learns by inotify(7) when such a file is read, and can change it, or turn the link that leads to it, before it is read
//! again. So what was read for its names must be what is bound.

use std::collections::{HashMap, HashSet};

use guard_approvals::Digest;

/// What was read, by the name that was opened: the real path and the content. `None` where there was no file.
#[derive(Debug, Default)]
pub struct NamingTexts(HashMap<Vec<u8>, Option<(Vec<u8>, Digest)>>);

impl NamingTexts {
    /// Notes what was read.
    pub fn add(&mut self, name: Vec<u8>, path: Vec<u8>, content: Digest) {
        self.0.insert(name, Some((path, content)));
    }

    /// Notes that there was no file.
    pub fn add_absent(&mut self, name: Vec<u8>) {
        self.0.insert(name, None);
    }

    /// Whether the file of this name is what was read, if anything was.
    pub fn agrees(&self, name: &[u8], path: &[u8], content: Digest) -> bool {
        let is_same = |read: &Option<(Vec<u8>, Digest)>| {
            read.as_ref().is_some_and(|(read, digest)| read == path && *digest == content)
        };
        self.0.get(name).is_none_or(is_same)
    }
}

/// How a program reads a file of arguments. In both, quotes keep blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentSyntax {
    /// The java command, "java Command-Line Argument Files": a quote ends with its line, unless a backslash ends the line; a
    /// backslash in quotes is an escape; `#` begins a comment.
    Java,
    /// Between quotes, a backslash keeps the next character (ghc).
    Plain,
}

/// The words of a file of arguments, in each syntax.
pub fn words_of(text: &[u8]) -> Vec<Vec<u8>> {
    let mut seen = HashSet::new();
    let words =
        [ArgumentSyntax::Java, ArgumentSyntax::Plain].into_iter().flat_map(|syntax| words_in(text, syntax));
    words.filter(|word| !word.is_empty() && seen.insert(word.clone())).collect()
}

/// The words of a file of arguments; some may be empty.
fn words_in(text: &[u8], syntax: ArgumentSyntax) -> Vec<Vec<u8>> {
    let is_java = syntax == ArgumentSyntax::Java;
    let (mut words, mut word, mut quote) = (Vec::new(), Vec::new(), None);
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), b'\\') => match bytes.next() {
                Some(b'\n' | b'\r') if is_java => while bytes.next_if(u8::is_ascii_whitespace).is_some() {},
                Some(letter) if is_java => word.push(escaped(letter)),
                other => word.extend(other),
            },
            (Some(_), b'\n' | b'\r') if is_java => {
                quote = None;
                words.push(std::mem::take(&mut word));
            }
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'#') if is_java => {
                while bytes.next_if(|byte| !matches!(byte, b'\n' | b'\r')).is_some() {}
                words.push(std::mem::take(&mut word));
            }
            (None, blank) if blank.is_ascii_whitespace() => words.push(std::mem::take(&mut word)),
            _ => word.push(byte),
        }
    }
    words.push(word);
    words
}

/// What a letter after a backslash stands for.
fn escaped(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'f' => b'\x0c',
        other => other,
    }
}

/// The parts of a word that may name a file: `-javaagent:FILE=x`, `NODE_OPTIONS=--require=FILE --import FILE`.
pub fn parts_of(word: &[u8]) -> Vec<Vec<u8>> {
    let parts = word.split(|byte| byte.is_ascii_whitespace() || matches!(byte, b':' | b'=' | b',' | b';'));
    parts.filter(|part| !part.is_empty() && *part != word).map(<[u8]>::to_vec).collect()
}

/// The value of an option such as `--class-path=FILE`; empty without one.
pub fn behind_equals(word: &[u8]) -> Vec<u8> {
    let at = word.iter().position(|byte| *byte == b'=');
    at.map(|at| word[at + 1..].to_vec()).unwrap_or_default()
}

/// The main file that a package names, relative to its directory.
///
/// # Errors
/// The text cannot be parsed. node reads some such texts.
pub fn main_of(text: &[u8]) -> Result<Option<Vec<u8>>, serde_json::Error> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    if text.is_empty() {
        return Ok(None);
    }
    let value: serde_json::Value = serde_json::from_slice(text)?;
    Ok(value.get("main").and_then(|main| Some(main.as_str()?.as_bytes().to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_java_reads_them() {
        let words = |text: &str| {
            let words = words_of(text.as_bytes()).into_iter().map(|word| String::from_utf8(word).unwrap());
            words.collect::<Vec<_>>()
        };
        assert_eq!(words("-cp a\tb a\n"), ["-cp", "a", "b"]);
        assert_eq!(words(r#""a b" 'c\"d' "e\\f" g\h"#)[..4], ["a b", "c\"d", "e\\f", r"g\h"]);
        assert_eq!(words(r#""open "#), ["open "]);
        assert_eq!(words("# it's\nx y#z\n")[..2], ["x", "y"]);
        assert_eq!(words("\"a\\\n  b\\tc\" \"d\ne")[..3], ["ab\tc", "d", "e"]);
        let parts =
            |word: &str| parts_of(word.as_bytes()).into_iter().map(|part| String::from_utf8(part).unwrap());
        assert_eq!(parts("-javaagent:a.jar=x").collect::<Vec<_>>(), ["-javaagent", "a.jar", "x"]);
        assert_eq!(parts("x").count(), 0);
        assert_eq!(behind_equals(b"--x=a=b"), b"a=b");
        assert_eq!(behind_equals(b"x"), b"");
    }

    #[test]
    fn a_file_is_what_was_read() {
        let mut texts = NamingTexts::default();
        let [one, other] = [&b"1"[..], b"2"].map(Digest::of_bytes);
        texts.add(b"/n".to_vec(), b"/p".to_vec(), one);
        texts.add_absent(b"/absent".to_vec());
        assert!(texts.agrees(b"/n", b"/p", one) && texts.agrees(b"/unread", b"/p", other));
        assert!(!texts.agrees(b"/n", b"/p", other) && !texts.agrees(b"/n", b"/q", one));
        assert!(!texts.agrees(b"/absent", b"/p", one));
    }
}
