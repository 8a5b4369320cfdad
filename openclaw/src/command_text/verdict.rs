//! Judges a command given as text by the policy.

use guard_policy::programs::inline_eval::Inline;
use guard_policy::{Ask, Grant, Outcome, Policy, Reason, Security, Source, Verdict};

use super::evaluation::{Evaluation, SatisfiedBy, Segment};
use super::risks::inline_eval_behind;

/// The verdict on a whole command, and on each of its segments.
pub struct Verdicts<'p> {
    /// The strictest of the segments' verdicts and of the verdict on unreadable text.
    pub whole: Verdict<'p>,
    /// One verdict per segment, in the order of the segments.
    pub segments: Vec<Verdict<'p>>,
}

/// Judges a command that was read with the same policy. Unreadable text counts as an allowlist miss.
pub fn verdicts<'p>(policy: &'p Policy, evaluation: &Evaluation) -> Verdicts<'p> {
    let unread = evaluation.reason.map(|reason| {
        let rule = format!("not read as a whole: {reason}");
        let text = "the command as text cannot be authorized; what it starts is judged when it starts";
        let reason = Reason::new(Source::Builtin, "analysis", rule, text);
        match policy.security() {
            Security::Full => Verdict { outcome: Outcome::Allow, reason },
            Security::Allowlist => Verdict { outcome: missed(policy), reason },
            Security::Deny => denied(policy),
        }
    });
    let of_one = |segment: &Segment| one(policy, segment, unread.as_ref());
    let segments: Vec<_> = evaluation.segments.iter().map(of_one).collect();
    let strictest = unread.iter().chain(&segments).min_by_key(|verdict| verdict.outcome).cloned();
    // A text without commands counts as unread, so there is a verdict.
    Verdicts { whole: strictest.unwrap_or_else(|| denied(policy)), segments }
}

fn denied(policy: &Policy) -> Verdict<'_> {
    Verdict { outcome: Outcome::Deny, reason: policy.nothing_starts() }
}

fn missed(policy: &Policy) -> Outcome {
    if policy.ask() == Ask::Off { Outcome::Deny } else { Outcome::Ask }
}

/// Judges one segment. With `unread` the command was not read as a whole, and the allowlist is not consulted.
fn one<'p>(policy: &'p Policy, segment: &Segment, unread: Option<&Verdict<'p>>) -> Verdict<'p> {
    let yes = segment.reason.clone().map(|reason| Verdict { outcome: Outcome::Allow, reason });
    if policy.security() == Security::Deny {
        return denied(policy);
    }
    // A builtin starts nothing, so no file is judged.
    if let (SatisfiedBy::Builtin, Some(yes)) = (segment.by, &yes) {
        return yes.clone();
    }
    let found = segment.resolved.as_ref().map(|found| policy.start(found.real.as_bytes()));
    match found {
        Some((Grant::No, reason)) => return Verdict { outcome: Outcome::Deny, reason },
        Some((Grant::Ask, reason)) => return Verdict { outcome: Outcome::Ask, reason },
        _ => {}
    }
    let has_code = || inline_eval_behind(&segment.argv).is_some_and(|hit| hit.kind == Inline::Code);
    if let Some(reason) = policy.code_asked_for().filter(|_| has_code()) {
        return Verdict { outcome: Outcome::Ask, reason };
    }
    match yes {
        _ if policy.security() == Security::Full => {
            Verdict { outcome: Outcome::Allow, reason: policy.everything_starts() }
        }
        None => {
            unread.cloned().unwrap_or_else(|| Verdict { outcome: missed(policy), reason: policy.missed() })
        }
        Some(_) if policy.ask() == Ask::Always => {
            Verdict { outcome: Outcome::Ask, reason: policy.asked_each_time() }
        }
        Some(yes) => yes,
    }
}
