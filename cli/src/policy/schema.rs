//! `policy schema`

use clap::Args;
use guard_supervisor::exit::Exit;

use super::PolicyError;
use super::findings::print_json;

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard policy schema > guard.schema.json\n  \
    then, at the top of guard.json: \"$schema\": \"./guard.schema.json\"\n\n\
    Exit status: 0, 125 error.")]
pub struct SchemaArgs {}

pub fn print(SchemaArgs {}: &SchemaArgs) -> Result<Exit, PolicyError> {
    print_json(&guard_policy::schema())?;
    Ok(Exit::Success)
}
