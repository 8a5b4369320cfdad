//! What is known of a command: its parts, and what says yes to each.

use std::ops::Range;

use guard_policy::Reason;
use guard_policy::programs::allow_always::{BoundEntry, Once};

use super::reason::Blocker;
use super::risks::Risk;

/// A program as the caller found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Where the name led: along PATH, or from the current directory.
    pub path: String,
    /// The real path of that.
    pub real: String,
}

/// Where the command would run.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The current directory.
    pub cwd: &'a str,
    /// What `~` means in the name of a program.
    pub home: &'a str,
    /// The program that a name leads to: a search along PATH, or a path from `cwd`. Asked once or more for each name.
    pub resolve: &'a dyn Fn(&str) -> Option<Resolved>,
}

/// What says yes to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SatisfiedBy {
    /// An entry.
    Allowlist,
    /// It is a safe bin, and its arguments keep it to standard input.
    SafeBins,
    /// A skill brings it.
    Skills,
    /// It is one of the shell's own words and harmless.
    Builtin,
    /// Nothing.
    None,
}

impl SatisfiedBy {
    /// OpenClaw's name for it, where it has one.
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
    /// Where it stands in the text; for a command in a shell's code, where the shell does.
    pub span: Range<usize>,
    /// What says yes to it.
    pub by: SatisfiedBy,
    /// The pattern of the entry that does.
    pub matched: Option<String>,
    /// Where the policy says so.
    pub because: Option<Reason<'static>>,
    /// What runs, without the wrappers before it.
    pub program: Vec<String>,
    /// The file of it.
    pub resolved: Option<Resolved>,
    /// The wrapper that cannot be looked through.
    pub blocked: Option<String>,
    /// What a human should see.
    pub risks: Vec<Risk>,
}

/// What is known of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Why it could not be read as a whole.
    pub reason: Option<Blocker>,
    /// Its commands, as far as they were read.
    pub segments: Vec<Segment>,
    /// The entries that "allow always" would make of it.
    pub allow_always: Vec<BoundEntry>,
    /// Why the answer would count only once all the same.
    pub once: Option<Once>,
}

impl Evaluation {
    /// Whether the command could be read: OpenClaw's `analysisOk`.
    pub fn analysis_ok(&self) -> bool {
        self.reason.is_none()
    }

    /// Whether something says yes to each of its commands: OpenClaw's `allowlistSatisfied`.
    pub fn satisfied(&self) -> bool {
        self.analysis_ok() && self.segments.iter().all(|segment| segment.by != SatisfiedBy::None)
    }
}
