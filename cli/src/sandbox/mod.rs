//! `openclaw-guard sandbox`: what the sandbox settings of openclaw.json mean on this machine, and commands that run under
//! them.
//!
//! Only `run` starts something, and only `run` and `prune` change something.

mod args;
mod check;
mod container;
mod explain;
mod host;
mod prune;
mod question;
mod run;
mod scratch;

pub use host::{blocked_paths, directories};

use clap::Subcommand;
use guard_policy::text::shown;
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use guard_supervisor::run::RunError;

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Say whether a session runs in a sandbox, and in which
    Explain(explain::ExplainArgs),
    /// Check binds, network, profiles and variables as OpenClaw does, and more strictly
    Check(check::SandboxCheckArgs),
    /// Print the arguments with which OpenClaw would have docker make the container
    Args(args::ArgsArgs),
    /// Run a command in a session's sandbox
    Run(run::RunArgs),
    /// Remove the directories of sandboxes that nobody has used for a while
    Prune(prune::PruneArgs),
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
    #[error(
        "the session {key} runs without a sandbox, since {why}: --backend guard runs the command in one all the same",
        key = shown(key.as_bytes())
    )]
    NotSandboxed { key: String, why: &'static str },
    #[error(
        "the backend {0:?} makes no container on this machine: --backend guard runs the command without one"
    )]
    NoContainer(String),
    #[error(
        "there is no {0} in PATH: install it (Debian: apt install {package}), or use --backend guard, which needs none",
        package = if *.0 == "docker" { "docker.io" } else { .0 }
    )]
    NotInstalled(&'static str),
    #[error(
        "the image {image} is not on this machine: {program} pull {image}, or build it as OpenClaw's documents say",
        image = shown(image.as_bytes())
    )]
    NoImage { program: &'static str, image: String },
    #[error(
        "{program} does not answer ({problem}): start its service, or use --backend guard, which needs none",
        problem = shown(problem.as_bytes())
    )]
    Engine { program: &'static str, problem: String },
    #[error("{}", lines(.0))]
    Refused(Vec<String>),
    #[error("{0}")]
    Place(String),
    #[error(transparent)]
    Scratch(#[from] scratch::ScratchError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

fn lines(sentences: &[String]) -> String {
    let shown: Vec<_> = sentences.iter().map(|sentence| shown(sentence.as_bytes())).collect();
    shown.join("\nopenclaw-guard: ")
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
