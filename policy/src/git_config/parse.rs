//! git's configuration syntax (git-config(1), "Syntax"), as git's config.c reads it, and stricter where programs differ.

use std::fmt;

/// The maximum size of a configuration, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The full name as `git config --list` prints it: section and key in lower case, a subsection as written.
    pub name: Vec<u8>,
    /// The value; `None` for a key without `=`, which means true.
    pub value: Option<Vec<u8>>,
}

impl Entry {
    /// `branch` of `branch.a.b.merge`.
    pub fn section(&self) -> &[u8] {
        let end = self.name.iter().position(|byte| *byte == b'.').unwrap_or(self.name.len());
        &self.name[..end]
    }

    /// `a.b` of `branch.a.b.merge`; `None` for `user.name`.
    pub fn subsection(&self) -> Option<&[u8]> {
        let (first, last) = (self.section().len(), self.name.iter().rposition(|byte| *byte == b'.')?);
        self.name.get(first + 1..last)
    }

    /// `merge` of `branch.a.b.merge`.
    pub fn key(&self) -> &[u8] {
        let start = self.name.iter().rposition(|byte| *byte == b'.').map_or(0, |at| at + 1);
        &self.name[start..]
    }
}

/// Why a text is no configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Reads every key in order.
///
/// # Errors
/// If git would refuse the text, or if programs read it differently: a NUL byte, a carriage return that ends no line, a
/// key before the first section, a section without a name.
pub fn parse(text: &[u8]) -> Result<Vec<Entry>, ParseError> {
    let mut reader = Reader { text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text), at: 0, line: 1 };
    reader.entries().map_err(|what| ParseError { line: reader.line, what })
}

/// The error; its line is the reader's current line.
type Parsed<T> = Result<T, &'static str>;

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
}

/// git's `isspace`, without the carriage return, which [`Reader::next`] handles.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Reader<'_> {
    fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The next byte. After the end of the text, every call returns the end of a line.
    fn next(&mut self) -> Parsed<u8> {
        let Some(byte) = self.text.get(self.at).copied() else {
            self.at += 1;
            return Ok(b'\n');
        };
        self.at += 1;
        match byte {
            b'\0' => Err("a NUL byte"),
            b'\r' if self.text.get(self.at) == Some(&b'\n') => self.next(),
            b'\r' => Err("a carriage return that ends no line"),
            b'\n' => {
                self.line += 1;
                Ok(byte)
            }
            _ => Ok(byte),
        }
    }

    fn entries(&mut self) -> Parsed<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut section: Option<Vec<u8>> = None;
        let mut is_comment = false;
        while !self.is_at_end() {
            match self.next()? {
                b'\n' => is_comment = false,
                _ if is_comment => {}
                byte if is_space(byte) => {}
                b'#' | b';' => is_comment = true,
                b'[' => section = Some(self.section()?),
                byte if byte.is_ascii_alphabetic() => {
                    let section = section.as_deref().ok_or("a key before the first section")?;
                    entries.push(self.entry(section, byte)?);
                }
                _ => return Err("neither a section nor a key begins like this"),
            }
        }
        Ok(entries)
    }

    /// The rest of a section's header after `[`.
    fn section(&mut self) -> Parsed<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            if self.is_at_end() {
                return Err("a section's name has no end");
            }
            match self.next()? {
                b']' => break,
                byte if is_space(byte) => {
                    self.subsection(byte, &mut name)?;
                    break;
                }
                byte if is_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return Err("a section's name has only letters, digits, - and ."),
            }
        }
        match name.first() {
            None | Some(b'.') => Err("a section has no name"),
            Some(_) => Ok(name),
        }
    }

    /// The subsection in quotes, with the bracket after it. `space` is what came after the section.
    fn subsection(&mut self, mut space: u8, name: &mut Vec<u8>) -> Parsed<()> {
        const NO_END: &str = "a subsection has no end in its line";
        while is_space(space) {
            if space == b'\n' {
                return Err(NO_END);
            }
            space = self.next()?;
        }
        if space != b'"' {
            return Err("a subsection is not in quotes");
        }
        name.push(b'.');
        loop {
            let byte = match self.next()? {
                b'"' => break,
                b'\\' => self.next()?,
                byte => byte,
            };
            if byte == b'\n' {
                return Err(NO_END);
            }
            name.push(byte);
        }
        if self.next()? == b']' { Ok(()) } else { Err("no ] after a subsection") }
    }

    fn entry(&mut self, section: &[u8], first: u8) -> Parsed<Entry> {
        let mut name = [section, b".", &[first.to_ascii_lowercase()]].concat();
        let mut byte = self.next()?;
        while is_key(byte) {
            name.push(byte.to_ascii_lowercase());
            byte = self.next()?;
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next()?;
        }
        let value = match byte {
            b'\n' => None,
            b'=' => Some(self.value()?),
            _ => return Err("no = after a key"),
        };
        Ok(Entry { name, value })
    }

    fn value(&mut self) -> Parsed<Vec<u8>> {
        let mut value = Vec::new();
        // How long the value is without the blanks at its end.
        let mut trimmed = 0;
        let (mut is_quoted, mut is_comment) = (false, false);
        loop {
            let byte = self.next()?;
            match byte {
                b'\n' if is_quoted => return Err("a quote has no end in its line"),
                b'\n' => break,
                _ if is_comment => {}
                b' ' | b'\t' if !is_quoted => {
                    // Blanks before the value do not belong to it.
                    if !value.is_empty() {
                        value.push(byte);
                    }
                }
                b'#' | b';' if !is_quoted => is_comment = true,
                b'"' => {
                    is_quoted = !is_quoted;
                    trimmed = value.len();
                }
                b'\\' => {
                    match self.next()? {
                        b'\n' => {}
                        b't' => value.push(b'\t'),
                        b'b' => value.push(8),
                        b'n' => value.push(b'\n'),
                        same @ (b'\\' | b'"') => value.push(same),
                        _ => return Err("an escape that git does not know"),
                    }
                    trimmed = value.len();
                }
                _ => {
                    value.push(byte);
                    trimmed = value.len();
                }
            }
        }
        value.truncate(trimmed);
        Ok(value)
    }
}
