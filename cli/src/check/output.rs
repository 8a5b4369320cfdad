//! The answer for programs: a line of JSON and an exit status.

use std::io;

use guard_policy::text::shown_json;
use guard_policy::{Outcome, Reason, Source, Verdict};
use guard_supervisor::exit::Exit;
use serde::Serialize;

use super::CheckError;

#[derive(Serialize)]
struct CheckOutput<'a> {
    outcome: Outcome,
    #[serde(rename = "because")]
    reason: ReasonOutput<'a>,
}

/// The reason in JSON.
#[derive(Serialize)]
pub struct ReasonOutput<'a> {
    source: Source,
    path: &'a str,
    text: &'a str,
}

impl<'a> ReasonOutput<'a> {
    /// The reason of a verdict.
    pub fn from_reason(reason: &'a Reason<'_>) -> ReasonOutput<'a> {
        ReasonOutput { source: reason.source, path: &reason.path, text: &reason.text }
    }
}

/// The exit status for an outcome.
pub fn status(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Allow => Exit::Success,
        Outcome::Deny => Exit::Denied,
        Outcome::Ask => Exit::Ask,
    }
}

/// Converts the result of writing the answer. It is no error if the reader has seen enough and closed its pipe.
///
/// # Errors
/// Any other error.
pub fn written(done: io::Result<()>) -> Result<(), CheckError> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CheckError::Output(error)),
        _ => Ok(()),
    }
}

/// A verdict as one line of JSON.
pub fn json(verdict: &Verdict<'_>) -> String {
    let reason = ReasonOutput::from_reason(&verdict.reason);
    // Serializing strings and enum names cannot fail.
    let json = serde_json::to_string(&CheckOutput { outcome: verdict.outcome, reason }).unwrap_or_default();
    shown_json(&json).into_owned()
}
