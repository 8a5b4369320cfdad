//! The pattern that "always" saves, changed by the operator.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use guard_approvals::protocol::{Approval, Saved};
use guard_policy::Bits;
use guard_policy::approval::{FileRule, PatternError};
use guard_policy::text::{counted, shown_exactly};

use super::queue::Card;

/// How many names are looked at to say what a pattern matches. So many take no noticeable time.
const MAX_NAMES: usize = 4096;
/// How many matching files are named.
const MAX_SHOWN: usize = 3;

/// A pattern that matches all files of the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedPattern {
    /// The pattern.
    pub pattern: String,
    /// The rules that are saved with it, one for each file of the card.
    pub rules: Vec<FileRule>,
    /// The existing files that it matches, in words.
    pub covered: String,
}

impl EditedPattern {
    /// Checks what the operator has typed.
    ///
    /// # Errors
    /// If it is no pattern for each file of the card, or could match files that it must not.
    pub fn new(card: &Card, pattern: &str) -> Result<EditedPattern, PatternError> {
        let rules = card.approvals.iter().filter_map(rule);
        let rules: Vec<FileRule> =
            rules.map(|(rule, below)| rule.edited(pattern, below)).collect::<Result<_, _>>()?;
        // All rules have the same pattern.
        let covered = rules.first().map(covered_files).unwrap_or_default();
        Ok(EditedPattern { pattern: pattern.to_owned(), rules, covered })
    }
}

/// The pattern that "always" saves unless it is edited.
pub fn pattern(card: &Card) -> Option<String> {
    card.approvals.first().and_then(rule).map(|(rule, _)| rule.pattern)
}

/// The rule that "always" saves for a call, and the directory in which the rule must stay.
fn rule(approval: &Approval) -> Option<(FileRule, &str)> {
    let below = approval.edited_below.as_deref()?;
    let Saved::Saves { saves, .. } = &approval.always else { return None };
    let [one] = &saves[..] else { return None };
    let bits = Bits::parse(one.bits.as_ref()?)?;
    Some((FileRule { pattern: one.pattern.clone(), bits }, below))
}

/// The existing files that a rule matches: `2 files: /srv/a, /srv/b`.
fn covered_files(rule: &FileRule) -> String {
    let literal = rule.pattern.split(['*', '?']).next().unwrap_or_default();
    let start = literal.rsplit_once('/').map_or(literal, |(start, _)| start);
    let (mut directories, mut names) = (vec![PathBuf::from(start)], 0);
    let (mut found, mut first) = (0, Vec::new());
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            names += 1;
            if names > MAX_NAMES {
                return format!("at least {}", list(found, &first));
            }
            let path = entry.path();
            if rule.covers(path.as_os_str().as_bytes()) {
                found += 1;
                first.extend((first.len() < MAX_SHOWN).then(|| shown_exactly(path.as_os_str().as_bytes())));
            }
            // Links are not followed: the rule is for real paths.
            directories.extend(entry.file_type().is_ok_and(|kind| kind.is_dir()).then_some(path));
        }
    }
    list(found, &first)
}

fn list(found: usize, first: &[String]) -> String {
    let more = if found > first.len() { ", ..." } else { "" };
    match found {
        0 => "nothing that is there now".to_owned(),
        _ => format!("{} there now: {}{more}", counted(found, "name"), first.join(", ")),
    }
}
