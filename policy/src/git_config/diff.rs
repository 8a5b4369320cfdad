//! The difference between two configurations, for a human who decides whether git may make it: each key with what it was
//! and what it would be, those that run something first.

use std::collections::BTreeMap;

use super::changes::{Refusal, objection, read, remotes_have_urls, remotes_stay};
use super::lines::first_odd;
use super::parse::Entry;
use super::submodule::module_depth;
use super::table::executing_key;
use super::values::Around;
use crate::text::shown;
use crate::{OwnGitParts, Policy};

/// The most lines that a human is shown. More could hide one.
const MAX_LINES: usize = 48;
/// The longest value that is shown, in bytes.
const MAX_VALUE: usize = 512;

/// Returns a line for each name whose values change, in words that have no control characters.
///
/// # Errors
/// If nobody could judge it: a text that programs read differently, a value or a list that is too long.
pub(crate) fn key_diff(
    path: &[u8],
    old: &[u8],
    new: &[u8],
    own: OwnGitParts<'_>,
    this_host: &[Vec<u8>],
) -> Result<Vec<String>, Refusal> {
    let around = Around { depth: module_depth(path).filter(|_| own.directory), this_host };
    let (before, after) = (read(old, "what is there")?, read(new, "what is new")?);
    if let Some(line) = first_odd(old, new) {
        return Err(Refusal::odd_line(line));
    }
    let runs = |entry: &&Entry| objection(entry, around).is_some();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    let (was, is) = (by_name(&before), by_name(&after));
    let names = was.keys().chain(is.keys().filter(|name| !was.contains_key(*name)));
    for name in names.filter(|name| was.get(*name) != is.get(*name)) {
        let line = format!("{}: {} -> {}", key(name), values(was.get(name))?, values(is.get(name))?);
        match after.iter().chain(&before).filter(|entry| entry.name == *name).find(runs) {
            Some(entry) => first.push(format!("{line}  ({})", why(entry, around))),
            None => others.push(line),
        }
    }
    first.extend(moved(&before, &after, runs));
    for judged in [remotes_have_urls(&before, &after), remotes_stay(&before, &after, own.remotes)] {
        first.extend(judged.err().map(|refusal| format!("{}: {}", refusal.subject, refusal.why)));
    }
    first.append(&mut others);
    if first.len() > MAX_LINES {
        let why = format!("{} keys change at once, more than can be shown", first.len());
        return Err(Refusal::new("the file", why));
    }
    Ok(first)
}

/// Returns what a human is shown of the change to the configuration at `path`: a line for each key, without control
/// characters. `None` if nobody could judge it; [`crate::decide`] denies it then.
pub fn shown_changes(
    policy: &Policy,
    path: &[u8],
    old: &[u8],
    new: &[u8],
    own: OwnGitParts<'_>,
) -> Option<Vec<String>> {
    key_diff(path, old, new, own, policy.map.protected().shapes().this_host()).ok()
}

type Values<'e> = Vec<Option<&'e [u8]>>;

fn by_name(entries: &[Entry]) -> BTreeMap<&[u8], Values<'_>> {
    let mut values: BTreeMap<&[u8], Values<'_>> = BTreeMap::new();
    for entry in entries {
        values.entry(&entry.name).or_default().push(entry.value.as_deref());
    }
    values
}

/// The name of a key as it is written, in quotes if it has unusual characters.
fn key(name: &[u8]) -> String {
    let entry = Entry { name: name.to_vec(), value: None };
    match executing_key(entry.section(), entry.subsection(), entry.key()) {
        Some((known, _)) if !known.contains('*') => known.to_owned(),
        _ => {
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_/+@".contains(byte);
            if name.iter().all(is_plain) { shown(name) } else { quoted(name) }
        }
    }
}

fn quoted(text: &[u8]) -> String {
    let escaped = shown(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

fn values(values: Option<&Values<'_>>) -> Result<String, Refusal> {
    let Some(values) = values else { return Ok("(not set)".to_owned()) };
    let one = |value: &Option<&[u8]>| match value {
        None => Ok("true (without a value)".to_owned()),
        Some(value) if value.len() > MAX_VALUE => {
            Err(Refusal::new("a value", format!("it has {} bytes, more than can be shown", value.len())))
        }
        Some(value) => Ok(quoted(value)),
    };
    let all: Result<Vec<_>, _> = values.iter().map(one).collect();
    Ok(all?.join(", "))
}

fn why(entry: &Entry, around: Around<'_>) -> &'static str {
    let known = executing_key(entry.section(), entry.subsection(), entry.key()).map(|(_, why)| why);
    known.or_else(|| objection(entry, around)).unwrap_or_default()
}

/// Returns a line if entries that may run something stay but change their order. The order matters: the last entry of a
/// name counts, and an include counts where it stands.
fn moved(before: &[Entry], after: &[Entry], runs: impl Fn(&&Entry) -> bool) -> Option<String> {
    let both = |entries: &[Entry], others: &[Entry]| {
        let kept = entries.iter().filter(&runs).filter(|entry| others.contains(entry));
        kept.map(|entry| key(&entry.name)).collect::<Vec<_>>()
    };
    let (was, is) = (both(before, after), both(after, before));
    (was != is).then(|| format!("the order of what may run something: {} -> {}", was.join(" "), is.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> Result<Vec<String>, String> {
        let lines = key_diff(b"/w/.git/config", old.as_bytes(), new.as_bytes(), OwnGitParts::default(), &[]);
        lines.map_err(|refusal| format!("{}: {}", refusal.subject, refusal.why))
    }

    #[test]
    fn each_key_is_shown_with_both_values_and_what_runs_something_comes_first() {
        let old = "[core]\n\tbare = false\n[user]\n\tname = a\n";
        let new = "[aaa]\n\tx = y\n[core]\n\tbare = false\n\thooksPath = .husky\n[user]\n\tname = \"b \\\" -> c\"\n";
        assert_eq!(
            diff(old, new).unwrap(),
            [
                "aaa.x: (not set) -> \"y\"  (it is not among the keys that are known to run nothing)",
                "core.hooksPath: (not set) -> \".husky\"  (git runs the hooks in that directory)",
                "user.name: \"a\" -> \"b \\\" -> c\"",
            ]
        );
        assert_eq!(
            diff(new, old).unwrap()[1],
            "core.hooksPath: \".husky\" -> (not set)  (git runs the hooks in that directory)"
        );
        assert_eq!(diff(old, old).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn several_values_and_another_order_are_shown() {
        let two = |a: &str, b: &str| format!("[include]\n\tpath = {a}\n\tpath = {b}\n");
        let lines = diff(&two("x", "y"), &two("y", "x")).unwrap();
        assert!(lines[0].starts_with("include.path: \"x\", \"y\" -> \"y\", \"x\"  ("), "{lines:?}");
        let turned = diff(
            "[include]\n\tpath = x\n[core]\n\tpager = p\n",
            "[core]\n\tpager = p\n[include]\n\tpath = x\n",
        );
        assert_eq!(
            turned.unwrap(),
            ["the order of what may run something: include.path core.pager -> core.pager include.path"]
        );
    }

    #[test]
    fn a_name_cannot_pass_for_a_line_and_nothing_acts_on_a_terminal() {
        let new = "[alias \"x: (not set) -> \u{202e}\"]\n\tst = \"!a\u{1b}[2J\"\n";
        let line = &diff("", new).unwrap()[0];
        assert!(
            line.starts_with("\"alias.x: (not set) -> \\\\u{202E}.st\": (not set) -> \"!a\\\\u{1B}[2J\""),
            "{line}"
        );
    }

    #[test]
    fn what_nobody_could_judge_has_no_lines() {
        assert!(diff("", &format!("[alias]\n\tx = \"!{}\"\n", "a".repeat(MAX_VALUE))).is_err());
        let many: String = (0..=MAX_LINES).map(|n| format!("[alias]\n\tx{n} = !y\n")).collect();
        assert!(diff("", &many).unwrap_err().contains("more than can be shown"));
        assert!(diff("", "[core] pager = x\n").unwrap_err().contains("line 1"));
        assert!(diff("", "[core\n").is_err());
    }
}
