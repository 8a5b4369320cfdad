//! `openclaw-guard tools`: which of OpenClaw's tools an agent has. The same function answers `check --batch`.

mod arguments;
mod check;
mod explain;
mod holder;
mod list;
mod source;

pub use arguments::release;

use std::io;

use clap::Subcommand;
use guard_openclaw::gateway::ConfigProblem;
use guard_policy::tools::{RemovedBy, ToolIssue};
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

/// What to do with OpenClaw's tools.
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// Show which tools an agent has, and what removed the others
    Explain(explain::ExplainArgs),
    /// May an agent use this tool?
    Check(check::ToolCheckArgs),
    /// List the tools, groups and profiles of a release of OpenClaw
    List(list::ToolListArgs),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Config(ConfigProblem),
    #[error("there is no {0}")]
    NoConfig(String),
    #[error("{file}: {issue}")]
    Issue {
        file: String,
        #[source]
        issue: ToolIssue,
    },
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Runs the subcommand.
///
/// # Errors
/// When the configuration cannot be read, or the output cannot be written.
pub fn act(options: &Options, action: &ToolsCommand) -> Result<Exit, ToolsError> {
    let done = match action {
        ToolsCommand::Explain(arguments) => explain::explain(options, arguments),
        ToolsCommand::Check(arguments) => check::check(options, arguments),
        ToolsCommand::List(arguments) => list::list(arguments),
    };
    match done {
        // A closed pipe means that the reader has seen enough.
        Err(ToolsError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        done => done,
    }
}

/// The list that removed a tool, and its entry, as JSON has them.
fn list_and_entry(by: &RemovedBy) -> (&'static str, Option<&str>) {
    match by {
        RemovedBy::Deny(entry) => ("deny", Some(entry)),
        RemovedBy::Allow => ("allow", None),
    }
}

/// Why a tool is missing, for people.
fn sentence(by: &RemovedBy) -> String {
    match by {
        RemovedBy::Deny(entry) => format!("deny \"{entry}\""),
        RemovedBy::Allow => "not in its allow list".to_owned(),
    }
}
