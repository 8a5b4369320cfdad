//! The reason of a verdict, as `why` shows it.

use guard_policy::{Reason, Source};

/// A reason, with its place if it has one.
#[derive(Clone, Debug)]
pub struct LocatedReason {
    /// The source of the rule.
    pub source: Source,
    /// The place of the rule; empty if no policy made the decision.
    pub path: String,
    /// The rule in short.
    pub rule: String,
    /// The reason, as one sentence.
    pub text: String,
}

impl LocatedReason {
    /// The reason of a verdict.
    pub fn new(reason: &Reason<'_>) -> LocatedReason {
        LocatedReason {
            source: reason.source,
            path: reason.path.to_string(),
            rule: reason.rule().to_owned(),
            text: reason.text.to_string(),
        }
    }
}
