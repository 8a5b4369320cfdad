//! `openclaw-guard check`: asks the policy what it would say, by the same function that enforces it.

pub mod batch;
mod command;
pub mod lookup;
mod question;

pub use question::originals;

use std::sync::Arc;

use guard_policy::{Because, Outcome, Source, Verdict};
use serde::Serialize;

use crate::cli::Question;
use guard_policy::text::{shown, shown_json};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Places, SetupError};
use guard_supervisor::exit::Exit;

/// Why `check` gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(
        "nothing to check: give --read, --write, --exec, --connect, --bind, --batch or -- CMD (see openclaw-guard check --help)"
    )]
    NoQuestion,
    #[error("{0}: command not found")]
    NotFound(String),
    #[error("{0}: not UTF-8, so it cannot be read as a command")]
    NoText(String),
    #[error("cannot read standard input: {0}")]
    Input(std::io::Error),
    #[error("cannot write the answer: {0}")]
    Output(std::io::Error),
}

/// Answers the question.
///
/// # Errors
/// When the policy cannot be loaded, or nothing was asked.
pub fn check(options: &Options, question: &Question) -> Result<Exit, CheckError> {
    let places = Places::find(options)?;
    if question.batch {
        return batch::answer(&config::policy(options, &places, Disk::Unused)?, &places.home);
    }
    let policy = Arc::new(config::policy(options, &places, Disk::Used)?);
    for warning in policy.warnings() {
        eprintln!("openclaw-guard: {}", shown(warning.as_bytes()));
    }
    question::answer(question, &policy, &places)
}

#[derive(Serialize)]
struct Answer<'a> {
    outcome: Outcome,
    because: Reason<'a>,
}

#[derive(Serialize)]
struct Reason<'a> {
    source: Source,
    path: &'a str,
    text: &'a str,
}

impl<'a> Reason<'a> {
    fn of(because: &'a Because<'_>) -> Reason<'a> {
        Reason { source: because.source, path: &because.path, text: &because.text }
    }
}

/// The status that stands for an outcome.
fn status(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Allow => Exit::Success,
        Outcome::Deny => Exit::Denied,
        Outcome::Ask => Exit::Ask,
    }
}

/// A verdict as one line of JSON.
fn json(verdict: &Verdict<'_>) -> String {
    let because = Reason::of(&verdict.because);
    // Strings and names of enums: there is nothing that could fail.
    let json = serde_json::to_string(&Answer { outcome: verdict.outcome, because }).unwrap_or_default();
    shown_json(&json).into_owned()
}
