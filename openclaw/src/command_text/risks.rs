//! The risks that a human should see before approving a command that can be read.

use std::fmt;

use guard_policy::programs::inline_eval::{FIND, Hit, inline_eval};
use guard_policy::programs::name::program_name;

use super::shells;
use super::wrappers::{self, Wrapper};

/// A risk of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Risk {
    /// `eval`: text becomes code.
    Eval,
    /// `source`, `.`: this shell runs a file as code.
    Source,
    /// `alias`: names change their meaning.
    Alias,
    /// A shell's code after another program: `nice bash -c …`.
    ShellThroughCarrier,
    /// A program that starts others unseen, or a wrapper that cannot be looked through.
    CommandCarrier,
    /// An interpreter's code as an argument.
    InlineEval,
    /// `NAME=value` before the command.
    EnvAssignment,
}

impl Risk {
    /// Returns OpenClaw's name for the risk.
    pub const fn name(self) -> &'static str {
        match self {
            Risk::Eval => "eval",
            Risk::Source => "source",
            Risk::Alias => "alias",
            Risk::ShellThroughCarrier => "shell-wrapper-through-carrier",
            Risk::CommandCarrier => "command-carrier",
            Risk::InlineEval => "inline-eval",
            Risk::EnvAssignment => "shell-env-assignment",
        }
    }

    /// Returns whether a command with this risk needs an approval each time, even if an entry lists it. An
    /// entry may allow inline code, but an answer never creates such an entry.
    pub(super) const fn is_asked(self) -> bool {
        !matches!(self, Risk::InlineEval)
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(super) fn risks(argv: &[String]) -> Vec<Risk> {
    let mut risks = Vec::new();
    if is_shell_behind(argv) {
        risks.push(Risk::ShellThroughCarrier);
    }
    if layers(argv).any(starts_unseen) || is_opaque(argv) {
        risks.push(Risk::CommandCarrier);
    }
    if inline_eval_behind(argv).is_some() {
        risks.push(Risk::InlineEval);
    }
    match builtin_behind(argv).as_deref() {
        Some("eval") => risks.push(Risk::Eval),
        Some("source" | ".") => risks.push(Risk::Source),
        Some("alias") => risks.push(Risk::Alias),
        _ => {}
    }
    risks
}

/// Returns whether a program determines by itself what it starts.
fn starts_unseen(argv: &[String]) -> bool {
    match argv.first().map(program_name).as_deref() {
        Some("xargs") => true,
        Some("find") => argv.iter().any(|argument| FIND.contains(&argument.as_str())),
        Some("env") => argv.iter().skip(1).any(|argument| splits(argument)),
        _ => false,
    }
}

/// Returns whether an argument of `env` is `-S`, which splits a string into a command.
fn splits(argument: &str) -> bool {
    argument.starts_with("--split-string") || argument.starts_with("-S") || argument == "-s"
}

/// Returns whether a dispatching program cannot be looked through. `env` can be looked through if its command
/// is found, whatever variables it changes.
fn is_opaque(argv: &[String]) -> bool {
    wrappers::dispatch(argv) == Wrapper::Blocked
        && !(program_name(&argv[0]) == "env" && wrappers::env_command(argv).is_some())
}

/// Returns the command after one wrapper or shell builtin, whatever the wrapper changes.
fn behind(argv: &[String]) -> Option<&[String]> {
    let first = argv.first()?;
    if matches!(first.trim(), "command" | "builtin" | "exec") {
        return wrappers::word(argv);
    }
    match wrappers::dispatch(argv) {
        Wrapper::Starts(inner) => Some(inner),
        Wrapper::Blocked if program_name(first) == "env" => wrappers::env_command(argv),
        _ => None,
    }
}

/// Iterates over a command and the commands that it wraps, as far as they are known.
fn layers(argv: &[String]) -> impl Iterator<Item = &[String]> {
    // Eight layers are more than are ever unwrapped. Each layer is a part of the one before.
    std::iter::successors(Some(argv), |argv| behind(argv)).take(8)
}

fn is_shell_behind(argv: &[String]) -> bool {
    let is_code = |argv: &[String]| shells::code(argv).is_some();
    !is_code(argv) && (shells::behind_wrappers(argv).is_some() || layers(argv).any(is_code))
}

/// Finds code for an interpreter, also after wrappers.
pub(super) fn inline_eval_behind(argv: &[String]) -> Option<Hit> {
    layers(argv).find_map(inline_eval)
}

/// Returns the program's name, after any `command`, `builtin` or `exec`.
fn builtin_behind(argv: &[String]) -> Option<String> {
    let innermost = std::iter::successors(Some(argv), |argv| {
        matches!(argv.first()?.trim(), "command" | "builtin" | "exec").then(|| wrappers::word(argv))?
    });
    innermost.take(8).last()?.first().map(program_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risks_are_named() {
        use Risk::{Alias, CommandCarrier, Eval, InlineEval, ShellThroughCarrier, Source};
        let cases: &[(&[&str], &[Risk])] = &[
            (&["ls"], &[]),
            (&["bash", "-c", "ls"], &[]),
            (&["nice", "bash", "-c", "ls"], &[ShellThroughCarrier]),
            (&["env", "A=1", "bash", "-c", "ls"], &[ShellThroughCarrier]),
            (&["exec", "bash", "-c", "ls"], &[ShellThroughCarrier]),
            (&["busybox", "sh", "-c", "ls"], &[ShellThroughCarrier]),
            (&["sudo", "ls"], &[CommandCarrier]),
            (&["env", "-S", "ls -la"], &[CommandCarrier]),
            (&["env", "A=1", "ls"], &[]),
            (&["xargs", "ls"], &[CommandCarrier, InlineEval]),
            (&["find", ".", "-exec", "ls", ";"], &[CommandCarrier, InlineEval]),
            (&["nice", "python3", "-c", "1"], &[InlineEval]),
            (&["eval", "ls"], &[Eval]),
            (&["builtin", "command", "eval", "ls"], &[Eval]),
            (&[".", "x"], &[Source]),
            (&["alias", "a=b"], &[Alias]),
        ];
        for (argv, expected) in cases {
            let argv: Vec<_> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(risks(&argv), *expected, "{argv:?}");
        }
    }
}
