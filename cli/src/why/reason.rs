//! Why something is so, as `why` says it.

use guard_policy::{Reason, Source};

/// A reason, with its place where it has one.
#[derive(Clone, Debug)]
pub struct LocatedReason {
    /// Who wrote it.
    pub source: Source,
    /// Where; empty where it was no policy's.
    pub path: String,
    /// In short.
    pub rule: String,
    /// One sentence.
    pub text: String,
}

impl LocatedReason {
    /// Of a verdict.
    pub fn new(because: &Reason<'_>) -> LocatedReason {
        LocatedReason {
            source: because.source,
            path: because.path.to_string(),
            rule: because.rule().to_owned(),
            text: because.text.to_string(),
        }
    }
}
