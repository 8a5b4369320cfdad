//! What `-h` and `--help` print: the first what is needed daily, the second all of it. clap would give each option of the
//! second lines of its own, and no screen holds that; the manual has what is left out here.

use clap::builder::PossibleValue;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

/// The heading of what holds for every command.
const GLOBAL: &str = "Global options";

/// The help that the command line of `program` asks for, where clap has found that it asks for one.
pub fn asked_for(program: &Command, found: clap::Error) -> clap::Error {
    let is_help = |error: &clap::Error| error.kind() == ErrorKind::DisplayHelp;
    // Only -h is known here: the other ways to ask are errors.
    let brief = Arg::new("brief").short('h').global(true).action(ArgAction::HelpShort);
    let brief = program.clone().disable_help_flag(true).disable_help_subcommand(true).arg(brief);
    if brief.try_get_matches().is_err_and(|error| is_help(&error)) {
        return found;
    }
    whole(program.clone()).try_get_matches().err().filter(is_help).unwrap_or(found)
}

/// The same command with everything in its short help, and built.
pub fn whole(command: Command) -> Command {
    let mut command = short(command);
    command.build();
    command.mut_subcommands(headed)
}

/// With no text that would make the long help another one.
fn short(command: Command) -> Command {
    let after = command.get_after_long_help().or(command.get_after_help()).cloned();
    let command = command
        .long_about(None)
        .after_long_help(None)
        .after_help(after.unwrap_or_default())
        .mut_args(|argument| values_named(argument.hide_short_help(false).long_help(None)));
    command.mut_subcommands(short)
}

/// With its values in the line of its help, where each has a text of its own.
fn values_named(argument: Arg) -> Arg {
    let values = argument.get_possible_values();
    if argument.is_hide_possible_values_set() || values.iter().all(|value| value.get_help().is_none()) {
        return argument;
    }
    let names: Vec<&str> =
        values.iter().filter(|value| !value.is_hide_set()).map(PossibleValue::get_name).collect();
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let help = format!("{help} [{}]", names.join(", "));
    argument.hide_possible_values(true).help(help)
}

/// With what holds for every command below what is its own.
fn headed(command: Command) -> Command {
    let command = command
        .mut_args(|argument| if argument.is_global_set() { argument.help_heading(GLOBAL) } else { argument });
    command.mut_subcommands(headed)
}
