//! Bits that a human answered with "always": they grant what the map asks for, and nothing that it withholds.
//! They are stored apart from the rules, so that no edit of guard.json can widen them.
//!
//! Why: docs/decisions.md, "A saved rule for files is an answer, not a rule."

use std::fmt;

use super::entry::Match;
use super::expansion::{expand, file_problem};
use super::glob::Glob;
use super::index::Index;
use crate::verdict::CompiledReason;
use crate::{Bits, Grant};

/// Saved bits for a pattern of files. They grant what the map asks for, and nothing that it withholds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileRule {
    /// A pattern of files, as in `permissions.filesystem.rules`.
    pub pattern: String,
    /// The bits that are granted.
    pub bits: Bits,
}

/// Why a saved rule cannot have another pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is no pattern of a rule.
    #[error("{0}")]
    Invalid(String),
    /// It may match files elsewhere.
    #[error("the pattern must begin with {0}/")]
    Elsewhere(String),
    /// It does not match the file that was asked about.
    #[error("the pattern does not match {0}")]
    Misses(String),
}

impl FileRule {
    /// Returns a rule with the same bits for another pattern, which a human has written. `below` is the widest
    /// directory that the pattern may be for.
    ///
    /// # Errors
    /// If the pattern is not one for files below that directory, or does not match the file of this rule.
    pub fn edited(&self, pattern: &str, below: &str) -> Result<FileRule, PatternError> {
        if let Some(problem) = file_problem(pattern) {
            return Err(PatternError::Invalid(problem));
        }
        if !pattern.strip_prefix(below).is_some_and(|rest| rest.starts_with('/')) {
            return Err(PatternError::Elsewhere(below.to_owned()));
        }
        let edited = FileRule { pattern: pattern.to_owned(), bits: self.bits };
        if edited.covers(self.pattern.as_bytes()) {
            Ok(edited)
        } else {
            Err(PatternError::Misses(self.pattern.clone()))
        }
    }

    /// Whether the rule is for a file at this real path.
    pub fn covers(&self, path: &[u8]) -> bool {
        // An absolute pattern has no home in it.
        expand(&self.pattern, b"/").glob(true).covers(path)
    }
}

impl fmt::Display for FileRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" {}", self.pattern, self.bits)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SavedRule {
    pub(crate) glob: Glob,
    pub(crate) bits: Bits,
    pub(crate) reason: CompiledReason,
}

/// All saved rules of the agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    answers: Vec<SavedRule>,
    index: Index,
}

impl Answers {
    pub(crate) fn new(answers: Vec<SavedRule>) -> Answers {
        let index = Index::new(answers.iter().map(|answer| &answer.glob));
        Answers { answers, index }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SavedRule> {
        self.answers.iter()
    }

    /// Grants the saved bits of a path that are asked for; the first rule that has a bit gives its reason.
    #[inline]
    pub(crate) fn answer<'m>(&'m self, path: &[u8], found: &mut Match<'m>) {
        if !self.answers.is_empty() && found.rights.any(Grant::Ask) {
            self.look(path, found);
        }
    }

    #[cold]
    fn look<'m>(&'m self, path: &[u8], found: &mut Match<'m>) {
        self.index.candidates(path, |i| {
            let answer = &self.answers[i];
            if answer.glob.covers(path) {
                found.answer(answer.bits, &answer.reason);
            }
            found.rights.any(Grant::Ask)
        });
    }
}
