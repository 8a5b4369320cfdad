//! The output of `-h` and `--help`: the first has what is needed daily, the second everything. clap's long help would
//! give each option several lines, too many for a screen; the manual has the texts that are left out here.

use clap::builder::PossibleValue;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

/// The heading for options that every command has.
const GLOBAL: &str = "Global options";

/// Replaces clap's help by ours where the command line asks for the full help.
pub fn asked_for(program: &Command, found: clap::Error) -> clap::Error {
    let is_help = |error: &clap::Error| error.kind() == ErrorKind::DisplayHelp;
    // Only -h is defined here, so that other ways to ask for help are errors.
    let brief = Arg::new("brief").short('h').global(true).action(ArgAction::HelpShort);
    let brief = program.clone().disable_help_flag(true).disable_help_subcommand(true).arg(brief);
    if brief.try_get_matches().is_err_and(|error| is_help(&error)) {
        return found;
    }
    whole(program.clone()).try_get_matches().err().filter(is_help).unwrap_or(found)
}

/// The command with everything in its short help, and built.
pub fn whole(command: Command) -> Command {
    let mut command = short(command);
    command.build();
    command.mut_subcommands(headed)
}

/// Removes the texts that would make the long help differ.
fn short(command: Command) -> Command {
    let after = command.get_after_long_help().or(command.get_after_help()).cloned();
    let command = command
        .long_about(None)
        .after_long_help(None)
        .after_help(after.unwrap_or_default())
        .mut_args(|argument| values_named(argument.hide_short_help(false).long_help(None)));
    command.mut_subcommands(short)
}

/// Lists the values after the help text, if any of them has a text of its own.
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

/// Puts the options that every command has under a heading of their own.
fn headed(command: Command) -> Command {
    let command = command
        .mut_args(|argument| if argument.is_global_set() { argument.help_heading(GLOBAL) } else { argument });
    command.mut_subcommands(headed)
}
