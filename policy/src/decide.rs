//! The one function that answers.

use crate::{Because, Outcome, Policy, Request, Source, Verdict};

/// Answers a request. Total: every policy and every request give a verdict.
pub fn decide<'p>(policy: &'p Policy, request: &Request<'_>) -> Verdict<'p> {
    let _ = (policy, request);
    Verdict { outcome: Outcome::Deny, because: Because::new(Source::Builtin, "", "", "") }
}

impl Policy {
    /// What *ask* becomes where nobody can be asked.
    pub fn fallback<'p>(&'p self, request: &Request<'_>, verdict: Verdict<'p>) -> Verdict<'p> {
        let _ = request;
        verdict
    }
}
