//! Reads the parts of a git configuration that the guard needs, without starting git.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use guard_openclaw::plain_file;
use guard_policy::git_config::{Entry, parse};

/// The maximum size of a configuration, in bytes.
pub const MAX_BYTES: u64 = guard_policy::git_config::MAX_BYTES as u64;

/// A line of a configuration. Sections and keys are in lower case.
#[derive(Debug, Default)]
pub struct GitSetting {
    /// `core` of `core.hooksPath`.
    pub section: String,
    /// The name in quotes after the section; empty if there is none.
    pub subsection: Vec<u8>,
    /// `hookspath` of `core.hooksPath`.
    pub key: String,
    /// Never empty.
    pub value: Vec<u8>,
}

/// What was read of a configuration.
#[derive(Debug, Default)]
pub struct Read {
    pub settings: Vec<GitSetting>,
    /// All of it was understood: the file exists, is not too large, and git would accept it.
    pub is_whole: bool,
    pub bytes: usize,
}

/// Reads a configuration.
///
/// # Errors
/// As [`plain_file::read_at_most`].
pub fn read(file: &Path) -> io::Result<Read> {
    let text = plain_file::read_at_most(file, MAX_BYTES)?;
    let (settings, is_whole) = match parse(&text) {
        Ok(entries) => (entries.iter().filter_map(GitSetting::from_entry).collect(), true),
        Err(_) => (parse_loosely(&String::from_utf8_lossy(&text)), false),
    };
    Ok(Read { settings, is_whole, bytes: text.len() })
}

impl GitSetting {
    fn from_entry(entry: &Entry) -> Option<GitSetting> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let value = entry.value.as_deref().filter(|value| !value.is_empty())?;
        Some(GitSetting {
            section: text(entry.section()),
            subsection: entry.subsection().unwrap_or_default().to_vec(),
            key: text(entry.key()),
            value: value.to_vec(),
        })
    }
}

/// Returns the text after `word` in a file of one line; None if it is empty or the word is missing.
///
/// # Errors
/// As [`plain_file::read_at_most`].
pub fn line_after(file: &Path, word: &str) -> io::Result<Option<OsString>> {
    let text = plain_file::read_at_most(file, MAX_BYTES)?;
    let Some(mut line) = text.strip_prefix(word.as_bytes()).map(<[u8]>::trim_ascii_start) else {
        return Ok(None);
    };
    while let Some(rest) = line.strip_suffix(b"\n").or_else(|| line.strip_suffix(b"\r")) {
        line = rest;
    }
    Ok((!line.is_empty()).then(|| OsString::from_vec(line.to_vec())))
}

/// Returns what can be found in a text that does not parse. A value that continues in the next line is cut.
fn parse_loosely(text: &str) -> Vec<GitSetting> {
    let mut settings = Vec::new();
    let (mut section, mut subsection) = (String::new(), String::new());
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let Some((head, after)) = rest.split_once(']') else { continue };
            let name = head.split(|c: char| c.is_whitespace() || c == '"').next().unwrap_or_default();
            section = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
            let quoted = head.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
            subsection = quoted.map_or(String::new(), |(name, _)| name.to_owned());
            line = after.trim();
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value.trim();
        let value = match value.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            Some((quoted, _)) => quoted,
            None => value.split([';', '#']).next().unwrap_or_default().trim_end(),
        };
        if !value.is_empty() {
            settings.push(GitSetting {
                section: section.clone(),
                subsection: subsection.clone().into_bytes(),
                key: key.trim().to_ascii_lowercase(),
                value: value.as_bytes().to_vec(),
            });
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_as_git_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        // A header that ends elsewhere than at the first bracket, and a value in two lines.
        let text =
            "[branch \"a]\"] [core] hooksPath = a\\\n b\n[include]\n\tpath = \"x\\\\y\"\n[core]\n\tbare\n";
        std::fs::write(&file, text).unwrap();
        let Read { settings, is_whole, .. } = read(&file).unwrap();
        let found: Vec<_> = settings
            .iter()
            .map(|one| (&*one.section, &*one.key, str::from_utf8(&one.value).unwrap()))
            .collect();
        assert_eq!(found, [("core", "hookspath", "a b"), ("include", "path", "x\\y")]);
        assert!(is_whole && read(directory.path()).is_err());
        std::fs::write(&file, "[core]\n\thooksPath = x\n[broken").unwrap();
        let Read { settings, is_whole, .. } = read(&file).unwrap();
        assert_eq!((&*settings[0].value, is_whole), (&b"x"[..], false));
    }

    #[test]
    fn what_does_not_parse_is_searched_line_by_line() {
        let text = "# [core]\n[core] hooksPath = a b ; c\n\tHooksPath=\"with # ; in\" # c\n[includeIf \"gitdir:~/x/\"]\n\
            path = ../y\n[core]\n  bare\n  empty =\n[remote \"core\"]\nurl = x\n[Core.sub]\nworktree = w\n[broken\nx = y\n";
        let found = parse_loosely(text);
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.section.as_str(), one.key.as_str(), str::from_utf8(&one.value).unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                ("core", "hookspath", "a b"),
                ("core", "hookspath", "with # ; in"),
                ("includeif", "path", "../y"),
                ("remote", "url", "x"),
                ("core", "worktree", "w"),
                ("core", "x", "y"),
            ]
        );
    }
}
