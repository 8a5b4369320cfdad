//! `openclaw-guard policy`: what an operator does with guard.json before anything runs under it.

mod examples;
mod findings;
mod schema;
mod source;
mod validate;

use clap::Subcommand;

use crate::cli::Options;
use crate::exit::Exit;
use crate::setup::SetupError;

/// What to do with a policy.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print the JSON Schema of guard.json
    Schema(schema::Arguments),
    /// Say what is wrong with a policy, and what may be meant otherwise
    Validate(validate::Arguments),
    /// Ask the examples that a policy carries
    Test(examples::Arguments),
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("cannot read the policy from standard input: {0}")]
    Input(std::io::Error),
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// Does it.
///
/// # Errors
/// When the policy cannot be read, or nothing can be written.
pub fn act(options: &Options, action: &Action) -> Result<Exit, PolicyError> {
    match action {
        Action::Schema(arguments) => schema::print(arguments),
        Action::Validate(arguments) => validate::validate(options, arguments),
        Action::Test(arguments) => examples::test(options, arguments),
    }
}
