//! `openclaw-guard policy`: inspects guard.json before anything runs under it.

mod examples;
mod findings;
mod schema;
mod show;
mod source;
mod tiers;
mod validate;

pub use show::{Effective, by, effective, title};
pub use source::PolicyText;
pub use validate::{ValidationReport, report};

use clap::Subcommand;
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

/// What to do with a policy.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Print the JSON Schema of guard.json
    Schema(schema::SchemaArgs),
    /// List a policy's errors and warnings
    Validate(validate::ValidateArgs),
    /// Show guard.json, or the whole policy in force
    Show(show::ShowArgs),
    /// Check the examples in a policy
    Test(examples::ExamplesArgs),
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("cannot read the policy from standard input: {0}")]
    Input(std::io::Error),
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs the subcommand.
///
/// # Errors
/// When the policy cannot be read, or the output cannot be written.
pub fn act(options: &Options, action: &PolicyCommand) -> Result<Exit, PolicyError> {
    let done = match action {
        PolicyCommand::Schema(arguments) => schema::print(arguments),
        PolicyCommand::Validate(arguments) => validate::validate(options, arguments),
        PolicyCommand::Show(arguments) => show::show(options, arguments),
        PolicyCommand::Test(arguments) => examples::test(options, arguments),
    };
    match done {
        // A closed pipe means that the reader has seen enough.
        Err(PolicyError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(Exit::Success)
        }
        done => done,
    }
}
