//! `openclaw-guard doctor`: what is there, what is not, and what to do about it.

mod finding;
mod gateway;

use clap::{Args, Subcommand};

use crate::cli::Options;
use crate::exit::Exit;
use crate::setup::SetupError;

/// What to look at.
#[derive(Debug, Subcommand)]
pub enum Topic {
    /// OpenClaw's gateway: whether questions reach somebody there
    ///
    /// Connects as a guarded command's guard would, and asks a question about nothing, which it takes back at once: whoever
    /// is connected may see a card for a moment.
    #[command(after_help = "Examples:\n  \
        openclaw-guard doctor gateway\n  \
        openclaw-guard --policy guard.json doctor gateway --no-question\n  \
        openclaw-guard doctor gateway --json | jq -r '.[] | select(.state == \"problem\").fix'\n\n\
        Exit status: 0 when questions would be asked there, 1 when something is wrong, 125 when it cannot be told.")]
    Gateway(Arguments),
}

/// How to look.
#[derive(Args, Debug)]
pub struct Arguments {
    /// An array of objects: state (ok, warning, problem), name, text, fix
    #[arg(long)]
    json: bool,
    /// Ask nothing: then it is not known whether anybody would answer
    #[arg(long)]
    no_question: bool,
}

/// Why nothing was found out.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("cannot start: {0}")]
    Runtime(std::io::Error),
    #[error("cannot write: {0}")]
    Output(std::io::Error),
}

/// Looks, and tells. The status is 1 where something is wrong.
///
/// # Errors
/// When it cannot be looked at.
pub fn act(options: &Options, topic: &Topic) -> Result<Exit, DoctorError> {
    match topic {
        Topic::Gateway(arguments) => {
            let findings = gateway::look(options, !arguments.no_question)?;
            findings.print(arguments.json).map_err(DoctorError::Output)?;
            Ok(if findings.has_problem() { Exit::Wrong } else { Exit::Success })
        }
    }
}
