//! Reads what the guard needs of a git configuration, without starting git.

use std::path::Path;

/// The maximum size of a configuration, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// A line of a configuration. Sections and keys are in lower case.
#[derive(Debug, Default)]
pub struct GitSetting {
    /// `core` of `core.hooksPath`.
    pub section: String,
    /// The name in quotes behind the section; empty if there is none.
    pub subsection: String,
    /// `hookspath` of `core.hooksPath`.
    pub key: String,
    /// Never empty.
    pub value: String,
}

/// Reads a configuration. None if it cannot be read or is too large.
pub fn read(file: &Path) -> Option<Vec<GitSetting>> {
    text(file).map(|text| parse(&text))
}

/// Returns the text after `word` in a file of one line; None if it is empty or the word is missing.
pub fn line_after(file: &Path, word: &str) -> Option<String> {
    let text = text(file)?;
    let line = text.strip_prefix(word)?.trim_end_matches(['\n', '\r']).trim_start();
    (!line.is_empty()).then(|| line.to_owned())
}

fn text(file: &Path) -> Option<String> {
    let meta = std::fs::metadata(file).ok()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return None;
    }
    std::fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the settings in a text (git-config(1), "Syntax"). Enough to find paths: a value that continues in the next
/// line is cut.
fn parse(text: &str) -> Vec<GitSetting> {
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
                subsection: subsection.clone(),
                key: key.trim().to_ascii_lowercase(),
                value: value.to_owned(),
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
        let text = "# [core]\n[core] hooksPath = a b ; c\n\tHooksPath=\"with # ; in\" # c\n[includeIf \"gitdir:~/x/\"]\n\
            path = ../y\n[core]\n  bare\n  empty =\n[remote \"core\"]\nurl = x\n[Core.sub]\nworktree = w\n[broken\nx = y\n";
        let found = parse(text);
        let found: Vec<_> =
            found.iter().map(|one| (one.section.as_str(), one.key.as_str(), one.value.as_str())).collect();
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
