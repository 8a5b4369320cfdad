//! `openclaw-guard sandbox`: what the sandbox settings of openclaw.json mean on this machine, and commands that run under
//! them.
//!
//! Only `run` starts something, and only `run` and `prune` change something.

mod access;
mod args;
mod check;
mod container;
mod error;
mod explain;
mod host;
mod prune;
mod question;
mod run;
mod scratch;

pub use error::SandboxError;
pub use host::{blocked_paths, directories};

use clap::Subcommand;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Say whether a session runs in a sandbox, and in which
    Explain(explain::ExplainArgs),
    /// Check binds, network, profiles and variables as OpenClaw does, and more strictly
    Check(check::SandboxCheckArgs),
    /// Print the arguments of the docker command with which OpenClaw would create the container
    Args(args::ArgsArgs),
    /// Run a command in a session's sandbox
    Run(run::RunArgs),
    /// Remove the directories of sandboxes that nobody has used for a while
    Prune(prune::PruneArgs),
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
        SandboxCommand::Run(arguments) => run::run(options, arguments),
        SandboxCommand::Prune(arguments) => prune::prune(options, arguments),
    };
    match done {
        // A closed pipe means that the reader has seen enough.
        Err(SandboxError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(Exit::Success)
        }
        done => done,
    }
}
