//! The engine's verdict now, the nearest rule, and the change that would allow it.

use guard_policy::Outcome;
use guard_policy::remedy::{Near, Nearest};
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;

use super::asked::WhyQuery;
use super::reason::LocatedReason;
use super::remedy::{Remedy, remedy};
use crate::edit::{EditContext, PathQuery, blocked_by, is_of_sandbox};

/// The engine's verdict now.
#[derive(Clone, Debug)]
pub struct Now {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason.
    pub reason: LocatedReason,
    /// The file of a start that the verdict is about, if that is not the program itself.
    pub about: Option<String>,
}

/// The complete answer.
#[derive(Debug)]
pub struct Explanation {
    /// The question.
    pub asked: WhyQuery,
    /// The recorded outcome; for a question without a record, the current one.
    pub outcome: Outcome,
    /// The reason for that outcome.
    pub reason: LocatedReason,
    /// The verdict now; `None` where no policy decides.
    pub now: Option<Now>,
    /// The rule that comes nearest to allowing it.
    pub nearest: Option<(Near, LocatedReason)>,
    /// The change that would allow it; `None` if it is allowed.
    pub remedy: Option<Remedy>,
}

/// Asks the engine.
///
/// # Errors
/// When the policy cannot be compiled.
pub fn answer(context: &EditContext, options: &Options, asked: WhyQuery) -> Result<Explanation, SetupError> {
    let policy = context.in_force()?;
    // Reports the first file that blocks the start.
    let mut decided: Option<(&PathQuery, Now)> = None;
    for part in &asked.parts {
        let verdict = part.decide(&policy);
        let own = part.path().map(|path| String::from_utf8_lossy(path).into_owned());
        let about = own.filter(|path| *path != asked.path);
        let now = Now { outcome: verdict.outcome, reason: LocatedReason::new(&verdict.reason), about };
        if decided.as_ref().is_none_or(|(_, other)| now.outcome < other.outcome) {
            decided = Some((part, now));
        }
    }
    let then = asked.line.as_ref().map(|line| {
        let reason = &line.decision.reason;
        let rule = if reason.path.is_empty() { &reason.text } else { &reason.path };
        let (path, text) = (reason.path.clone(), reason.text.clone());
        (line.decision.verdict, LocatedReason { source: reason.source, path, rule: rule.clone(), text })
    });
    let now = decided.as_ref().map(|(_, now)| now.clone());
    let Some((outcome, reason)) = then.clone().or_else(|| now.clone().map(|now| (now.outcome, now.reason)))
    else {
        unreachable!("there is a line of the log, or a question to the engine");
    };
    let (mut nearest, mut found) = (None, None);
    match &decided {
        // The policy that is asked now is not that of the sandbox.
        _ if outcome != Outcome::Allow && is_of_sandbox(&reason.path) => {
            let LocatedReason { source, path, text, .. } = &reason;
            found = Some(Remedy::Blocked(blocked_by(*source, path, text, Some(asked.operation))));
        }
        Some((part, now)) if now.outcome != Outcome::Allow => {
            // No rule lifts a bound on sizes, so none is near.
            let is_size = policy.read_bound_key() == Some(&*now.reason.path);
            let near = part.nearest(&policy).filter(|_| !is_size);
            nearest = near.map(|Nearest { reason, near }| (near, LocatedReason::new(&reason)));
            found = Some(remedy(
                context,
                options,
                &asked,
                part,
                nearest.as_ref().map(|(near, _)| *near),
                &now.reason,
            )?);
        }
        None if outcome != Outcome::Allow => {
            let LocatedReason { source, path, text, .. } = &reason;
            found = Some(Remedy::Blocked(blocked_by(*source, path, text, Some(asked.operation))));
        }
        _ => {}
    }
    Ok(Explanation { outcome, reason, now, nearest, remedy: found, asked })
}
