//! The result of evaluating a command: its parts, and the rule that satisfies each.

use std::ops::Range;

use guard_policy::Reason;
use guard_policy::programs::allow_always::{BoundEntry, Once};

use super::reason::Blocker;
use super::risks::Risk;

/// A program as the caller resolved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path found along PATH or from the current directory.
    pub path: String,
    /// The real path of the same file.
    pub real: String,
}

/// The directories and programs that a command would find.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The current directory.
    pub cwd: &'a str,
    /// The directory that `~` means in a program's name.
    pub home: &'a str,
    /// Resolves a program's name: by a search along PATH, or as a path from `cwd`. It may be called more than once.
    pub resolve: &'a dyn Fn(&str) -> Option<Resolved>,
}

/// The rule that satisfies a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SatisfiedBy {
    /// An allowlist entry.
    Allowlist,
    /// A safe bin whose arguments restrict it to standard input.
    SafeBins,
    /// A program that a skill provides.
    Skills,
    /// A harmless shell builtin.
    Builtin,
    /// No rule.
    None,
}

impl SatisfiedBy {
    /// Returns OpenClaw's name for the rule, if it has one.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            SatisfiedBy::Allowlist => Some("allowlist"),
            SatisfiedBy::SafeBins => Some("safeBins"),
            SatisfiedBy::Skills => Some("skills"),
            SatisfiedBy::Builtin => Some("safeBuiltins"),
            SatisfiedBy::None => None,
        }
    }
}

/// One command of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its words, without quotes.
    pub argv: Vec<String>,
    /// Its span in the text; for a command in a shell's code, the span of the outermost shell.
    pub span: Range<usize>,
    /// The rule that satisfies it.
    pub by: SatisfiedBy,
    /// The pattern of the entry that matches it.
    pub matched: Option<String>,
    /// The policy's reason for the match.
    pub reason: Option<Reason<'static>>,
    /// The words that run, without the wrappers before them.
    pub program: Vec<String>,
    /// The program's file.
    pub resolved: Option<Resolved>,
    /// The name of a wrapper that cannot be looked through.
    pub blocked: Option<String>,
    /// The risks that a human should see.
    pub risks: Vec<Risk>,
}

/// The result of evaluating a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Why it could not be read as a whole.
    pub reason: Option<Blocker>,
    /// Its commands, as far as they were read.
    pub segments: Vec<Segment>,
    /// The entries that "allow always" would save for it.
    pub allow_always: Vec<BoundEntry>,
    /// Why "allow always" would allow the command only once; `None` if it would save entries for the whole command.
    pub once: Option<Once>,
}

impl Evaluation {
    /// Returns whether the command could be read: OpenClaw's `analysisOk`.
    pub fn analysis_ok(&self) -> bool {
        self.reason.is_none()
    }

    /// Returns whether a rule satisfies each of its commands: OpenClaw's `allowlistSatisfied`.
    pub fn satisfied(&self) -> bool {
        self.analysis_ok() && self.segments.iter().all(|segment| segment.by != SatisfiedBy::None)
    }
}
