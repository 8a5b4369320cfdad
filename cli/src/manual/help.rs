//! The output of `-h` and `--help`: `-h` has what is needed daily, `--help` everything. clap's long help would
//! give each option several lines, too many for a screen. The texts left out here are in the manual.

use std::ffi::OsString;

use clap::builder::PossibleValue;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command};

/// Stands in a subcommand's help for the options that every command has.
const GLOBAL: &str =
    "The options of `openclaw-guard --help` work here, too: --policy FILE, --agent NAME, ...";

/// Replaces clap's help by ours.
pub fn asked_for(program: &Command, words: &[OsString], found: clap::Error) -> clap::Error {
    let is_help = |error: &clap::Error| error.kind() == ErrorKind::DisplayHelp;
    // Only -h is defined here, so that other ways to ask for help are errors.
    let brief = Arg::new("brief").short('h').global(true).action(ArgAction::HelpShort);
    let brief = program.clone().disable_help_flag(true).disable_help_subcommand(true).arg(brief);
    let is_brief = brief.try_get_matches_from(words).is_err_and(|error| is_help(&error));
    let command = if is_brief { without_global(program.clone()) } else { whole(program.clone()) };
    command.try_get_matches_from(words).err().filter(is_help).unwrap_or(found)
}

/// Builds the command, with everything in its short help.
pub fn whole(command: Command) -> Command {
    without_global(short(command))
}

/// Builds the command. The options that every command has are only in the top command's own help.
fn without_global(mut command: Command) -> Command {
    command.build();
    command.mut_subcommands(hidden)
}

/// Removes the texts by which the long help would differ from the short one.
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

fn hidden(command: Command) -> Command {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let gap = if after.is_empty() { "" } else { "\n\n" };
    command
        .mut_args(|argument| {
            let is_hidden = argument.is_global_set() || argument.is_hide_set();
            argument.hide(is_hidden)
        })
        .after_help(format!("{after}{gap}{GLOBAL}"))
        .mut_subcommands(hidden)
}
