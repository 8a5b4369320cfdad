//! `openclaw-guard sandbox`: what the sandbox settings of openclaw.json mean on this machine.
//!
//! Nothing is started or changed; docker is not asked.

mod args;
mod check;
mod explain;
mod host;
mod question;

pub use host::{blocked_paths, directories};

use clap::Subcommand;
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Say whether a session runs in a sandbox, and in which
    Explain(explain::ExplainArgs),
    /// Check binds, network, profiles and variables as OpenClaw does, and more strictly
    Check(check::SandboxCheckArgs),
    /// Print the arguments with which OpenClaw would have docker make the container
    Args(args::ArgsArgs),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("there is no {0}: give the path of OpenClaw's configuration")]
    NoFile(String),
    #[error("{0}")]
    Unreadable(String),
    #[error("{file}: {problem}")]
    Setting { file: String, problem: String },
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs the subcommand.
///
/// # Errors
/// When openclaw.json cannot be used, or the output cannot be written.
pub fn act(options: &Options, action: &SandboxCommand) -> Result<Exit, SandboxError> {
    let done = match action {
        SandboxCommand::Explain(arguments) => explain::explain(options, arguments),
        SandboxCommand::Check(arguments) => check::check(options, arguments),
        SandboxCommand::Args(arguments) => args::args(options, arguments),
    };
    match done {
        // A closed pipe means that the reader has seen enough.
        Err(SandboxError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(Exit::Success)
        }
        done => done,
    }
}
