//! `openclaw-guard check`: asks the policy for a verdict, by the same function that enforces it.

mod arguments;
pub mod batch;
pub mod command;
pub mod file;
pub mod lookup;
mod output;
mod question;

pub use arguments::CheckArgs;
pub use question::start_verdict;

use std::sync::Arc;

use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError};
use guard_supervisor::exit::Exit;

/// Why `check` has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(
        "there is no question: give --read, --write, --exec, --connect, --url, --bind, --batch or -- CMD (`openclaw-guard check --help`)"
    )]
    NoQuestion,
    #[error("{0}: command not found")]
    NotFound(String),
    #[error("{0}: it is not UTF-8, so it cannot be parsed as a command")]
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
pub fn check(options: &Options, question: &CheckArgs) -> Result<Exit, CheckError> {
    let paths = Paths::find(options)?;
    if question.batch {
        return batch::answer(&config::policy(options, &paths, Disk::Unused)?, &paths.home);
    }
    let policy = Arc::new(config::policy(options, &paths, Disk::Used)?);
    for warning in policy.warnings() {
        eprintln!("openclaw-guard: {}", shown(warning.as_bytes()));
    }
    question::answer(question, &policy, &paths)
}
