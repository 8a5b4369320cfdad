//! Bits that a human has answered with "always": they turn what the map asks for into a yes, and nothing else. Kept
//! apart from the rules, so that no edit of guard.json can make more of them.

use std::fmt;

use super::entry::Match;
use super::glob::Glob;
use super::index::Index;
use crate::verdict::CompiledReason;
use crate::{Bits, Grant};

/// Bits that are not asked for any more. It grants what the map asks for, and nothing that is withheld.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileRule {
    /// A pattern of files, as in `permissions.filesystem.rules`.
    pub pattern: String,
    /// Which bits.
    pub bits: Bits,
}

impl fmt::Display for FileRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" {}", self.pattern, self.bits)
    }
}

/// One saved rule.
#[derive(Clone, Debug)]
pub(crate) struct SavedRule {
    pub(crate) glob: Glob,
    pub(crate) bits: Bits,
    pub(crate) reason: CompiledReason,
}

/// All that are saved for the agent.
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

    /// Answers what is asked of a path; each bit is told of by the first rule that has it.
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
