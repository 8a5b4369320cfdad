//! The command line as people type it: `openclaw-guard bash -c …` and `openclaw-guard check ls`, without `--`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command};
use nix::unistd::{AccessFlags, User, access, getuid};

/// How the program is called.
pub const USAGE: &str = "openclaw-guard [OPTIONS] [--] [CMD]...\n       openclaw-guard [OPTIONS] <COMMAND>";

/// Inserts the `--` that is missing before a command. A word that is a subcommand's name is never taken for a command.
///
/// # Errors
/// When the first word names no program and looks like a subcommand that is misspelt.
pub fn with_separator(program: &Command, mut words: Vec<OsString>) -> Result<Vec<OsString>, clap::Error> {
    // clap could build all subcommands to ask for one, at a cost of milliseconds at each start.
    let mut command = Nested { command: program, program };
    let mut at = 1;
    while let Some(next) = first_word(command, &words, at) {
        let word = words[next].to_str();
        match word.and_then(|word| command.command.find_subcommand(word)) {
            Some(below) => (command.command, at) = (below, next + 1),
            // The parser adds this subcommand to the declared ones.
            None if word == Some("help") && command.command.has_subcommands() => break,
            None => {
                if takes_command(command.command) {
                    misspelt(command.command, &words[next])?;
                    words.insert(next, "--".into());
                }
                break;
            }
        }
    }
    Ok(words)
}

/// A subcommand, or the program itself, before it is built: it then lacks the options for help and version,
/// which end the parse anyway.
#[derive(Clone, Copy)]
struct Nested<'c> {
    command: &'c Command,
    program: &'c Command,
}

impl<'c> Nested<'c> {
    fn option(self, is_it: impl Fn(&Arg) -> bool) -> Option<&'c Arg> {
        let global = self.program.get_arguments().filter(|argument| argument.is_global_set());
        self.command.get_arguments().chain(global).find(|argument| is_it(argument))
    }
}

/// A program that is on every machine, and that only the kernel starts (init(8)).
const NOBODY_RUNS: &str = "init";

/// The program that has the name of the subcommand in these words. None if there is no such program.
pub fn namesake(program: &Command, words: &[OsString]) -> Option<String> {
    let name = words[first_word(Nested { command: program, program }, words, 1)?].to_str()?;
    let is_meant = program.find_subcommand(name).is_some() && name != NOBODY_RUNS;
    (is_meant && on_path(OsStr::new(name))).then(|| name.to_owned())
}

/// Whether a command takes no words but those of another command after `--`.
fn takes_command(command: &Command) -> bool {
    let mut positionals = command.get_positionals().peekable();
    positionals.peek().is_some() && positionals.all(Arg::is_last_set)
}

/// The place of the first word that is neither an option nor an option's value. None where the words cannot be told
/// apart: the parser reports what is wrong with them.
fn first_word(command: Nested<'_>, words: &[OsString], mut at: usize) -> Option<usize> {
    loop {
        let word = words.get(at)?.as_bytes();
        match word.strip_prefix(b"-") {
            None | Some(b"") => return Some(at),
            Some(b"-") => return None,
            Some(name) => at += 1 + usize::from(takes_next(command, name)?),
        }
    }
}

/// Whether the value of this option is the next word. None if there is no such option.
fn takes_next(command: Nested<'_>, name: &[u8]) -> Option<bool> {
    if let Some(long) = name.strip_prefix(b"-") {
        if let Some(end) = long.iter().position(|byte| *byte == b'=') {
            return command.option(|argument| names_long(argument, &long[..end])).map(|_| false);
        }
        return command.option(|argument| names_long(argument, long)).map(takes_value);
    }
    let letters = std::str::from_utf8(name).ok()?;
    for (place, letter) in letters.char_indices() {
        if takes_value(command.option(|argument| argument.get_short() == Some(letter))?) {
            return Some(place + letter.len_utf8() == letters.len());
        }
    }
    Some(false)
}

fn names_long(argument: &Arg, name: &[u8]) -> bool {
    argument.get_long().is_some_and(|long| long.as_bytes() == name)
}

fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

/// # Errors
/// When the word is close to a subcommand's name and there is no program of this name.
fn misspelt(command: &Command, word: &OsStr) -> Result<(), clap::Error> {
    if word.as_bytes().contains(&b'/') || on_path(word) {
        return Ok(());
    }
    // Without the argument after `--` the parser compares the word with the names of subcommands.
    let names = Command::new(env!("CARGO_PKG_NAME"))
        .override_usage(USAGE)
        .disable_help_subcommand(true)
        .subcommands(command.get_subcommands());
    match names.try_get_matches_from([OsStr::new(env!("CARGO_PKG_NAME")), word]) {
        Err(error)
            if error.kind() == ErrorKind::InvalidSubcommand
                && error.get(ContextKind::SuggestedSubcommand).is_some() =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Whether a program of this name is on the guard's own PATH.
fn on_path(name: &OsStr) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| is_executable(&directory.join(name)))
}

/// The user's shell: `$SHELL`, or that of the password database.
pub fn shell() -> PathBuf {
    let own = env::var_os("SHELL").map(PathBuf::from).filter(|shell| is_program(shell));
    let database = || User::from_uid(getuid()).ok().flatten().map(|user| user.shell);
    own.or_else(|| database().filter(|shell| is_program(shell))).unwrap_or_else(|| "/bin/sh".into())
}

fn is_program(path: &Path) -> bool {
    path.is_absolute() && is_executable(path)
}

fn is_executable(path: &Path) -> bool {
    access(path, AccessFlags::X_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn separated(line: &str) -> String {
        let words = std::iter::once("openclaw-guard").chain(line.split_whitespace()).map(OsString::from);
        let words = with_separator(&Cli::command(), words.collect()).expect("no misspelt word");
        let words: Vec<_> = words[1..].iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn a_command_needs_no_separator() {
        for (typed, meant) in [
            ("bash -c x", "-- bash -c x"),
            ("/bin/ls -q", "-- /bin/ls -q"),
            ("-q --policy guard.json bash --observe", "-q --policy guard.json -- bash --observe"),
            ("--policy=guard.json -qv make test", "--policy=guard.json -qv -- make test"),
            ("--agent check bash", "--agent check -- bash"),
            ("--observe sh -- x", "--observe -- sh -- x"),
            ("check ls -l", "check -- ls -l"),
            ("check --json --agent a ls --json", "check --json --agent a -- ls --json"),
            ("--agent a check ls", "--agent a check -- ls"),
            ("learn npm test", "learn -- npm test"),
            ("check help", "check -- help"),
        ] {
            assert_eq!(separated(typed), meant);
        }
    }

    #[test]
    fn a_subcommand_wins() {
        for typed in [
            "",
            "-q",
            "-- bash",
            "-q -- check",
            "man ls",
            "help check",
            "-q help check",
            "--help bash",
            "check -h ls",
            "why 3f9a2c01",
            "check --read /x",
            "check -- ls",
            "policy show --effective",
            "approvals list",
            "allow exec nc",
            // The parser says what is wrong.
            "--nonsense bash",
            "--policy",
        ] {
            assert_eq!(separated(typed), typed);
        }
    }

    #[test]
    fn a_misspelt_subcommand_is_no_command() {
        let words = |word: &str| vec!["openclaw-guard".into(), word.into()];
        let error = with_separator(&Cli::command(), words("aprovals")).expect_err("misspelt");
        assert!(error.to_string().contains("'approvals'"), "{error}");
        assert!(with_separator(&Cli::command(), words("nothing-like-it")).is_ok());
        assert!(with_separator(&Cli::command(), words("./aprovals")).is_ok());
    }
}
