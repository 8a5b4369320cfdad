//! Matches arguments with an entry's `argPattern`.

use regex::bytes::Regex;

use super::cwd_argv::CWD_ARGV;
use super::{exec_pattern, expression};
use crate::Exec;

/// The prefix with which an older release bound an entry to arguments, without the directory.
pub(crate) const ARGV_ONLY: &str = "sha256:argv:";

/// The arguments with which an entry matches.
#[derive(Clone, Debug)]
pub(crate) enum ArgumentMatch {
    /// Any arguments.
    Any,
    /// Exactly these arguments, in this directory, by the name that the program was called by.
    Exactly(String),
    /// Arguments that the expression matches when joined with spaces.
    Spaced(Regex),
    /// Arguments that the expression matches with a NUL between them and at the end.
    Separate(Regex),
}

impl ArgumentMatch {
    /// Parses a pattern (OpenClaw 2026.9.6, `matchAllowlist`). `Err` is why the entry can match nothing.
    /// `is_generated` is true for an entry that an "allow always" made.
    pub(crate) fn new(pattern: Option<&str>, is_generated: bool) -> Result<ArgumentMatch, &'static str> {
        match pattern.unwrap_or_default() {
            exact if exact.starts_with(CWD_ARGV) => Ok(ArgumentMatch::Exactly(exact.to_owned())),
            legacy if legacy.starts_with(ARGV_ONLY) => Err(
                "an older OpenClaw created it for these arguments in any directory; it is no longer in force",
            ),
            _ if is_generated => {
                Err("an older OpenClaw created it for any arguments; it is no longer in force")
            }
            "" => Ok(ArgumentMatch::Any),
            pattern => {
                let is_separate = pattern.contains('\0');
                let wrap = if is_separate { ArgumentMatch::Separate } else { ArgumentMatch::Spaced };
                expression::compile(pattern).map(wrap).ok_or(
                    "its argPattern is not a regular expression, or could take forever: look-around, \
                     back-references and repetitions that share characters are not allowed",
                )
            }
        }
    }

    /// Returns true for an entry that does not restrict the arguments.
    pub(crate) fn is_any(&self) -> bool {
        matches!(self, ArgumentMatch::Any)
    }
}

/// The arguments of one exec, converted to each form that patterns need at most once.
pub(crate) struct Given<'e> {
    exec: &'e Exec<'e>,
    hash: Option<String>,
    spaced: Option<Option<String>>,
    separate: Option<Option<String>>,
}

impl<'e> Given<'e> {
    pub(crate) fn new(exec: &'e Exec<'e>) -> Given<'e> {
        Given { exec, hash: None, spaced: None, separate: None }
    }

    /// Returns whether these arguments match. Arguments that are not UTF-8 match no expression.
    pub(crate) fn satisfy(&mut self, condition: &ArgumentMatch) -> bool {
        let arguments = self.exec.argv.get(1..).unwrap_or_default();
        let (regex, text) = match condition {
            ArgumentMatch::Any => return true,
            ArgumentMatch::Exactly(hash) => {
                return self.hash.get_or_insert_with(|| exec_pattern(self.exec)) == hash;
            }
            ArgumentMatch::Spaced(regex) => {
                (regex, self.spaced.get_or_insert_with(|| text(&arguments.join(&b' '))))
            }
            ArgumentMatch::Separate(regex) => {
                let joined = || {
                    let mut joined = arguments.join(&b'\0');
                    joined.extend(if arguments.is_empty() { &b"\0\0"[..] } else { b"\0" });
                    text(&joined)
                };
                (regex, self.separate.get_or_insert_with(joined))
            }
        };
        text.as_ref().is_some_and(|text| regex.is_match(text.as_bytes()))
    }
}

/// Returns whether an `argPattern` as written covers the arguments of a command.
///
/// # Errors
/// If the pattern can match nothing: why.
pub fn matches_arg_pattern(pattern: &str, exec: &Exec<'_>) -> Result<bool, &'static str> {
    let condition = ArgumentMatch::new(Some(pattern), false)?;
    Ok(Given::new(exec).satisfy(&condition))
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(expression::subject)
}
