//! What "allow always" saves for a program: an entry for exactly these arguments in this directory, as in
//! OpenClaw 2026.9.6.

use serde::Serialize;

use super::allowlist::exec_pattern;
use super::inline_eval::{inline_eval_of, is_interpreter};
use super::reads_programs::reads_programs;
use super::starters;
use crate::Exec;

/// An allowlist entry that binds a program, its arguments and the directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BoundEntry {
    /// The real path.
    pub pattern: String,
    /// `sha256:cwd-argv:v1:…`.
    #[serde(rename = "argPattern")]
    pub arg_pattern: String,
}

/// Why an "allow always" answer counts only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Once {
    /// The command could not be read as a whole.
    NotRead,
    /// Part of the command is asked about each time.
    AskedEachTime,
    /// No entry can name a part that needs one.
    PartUnnamed,
    /// It is a shell, which runs any command.
    Shell,
    /// It starts another program, which is judged by itself.
    Carrier,
    /// Its arguments contain code.
    InlineCode,
    /// It is an interpreter: the file that it runs may change.
    Interpreter,
    /// The tree may write the program's file, or a file among the arguments that the program may run.
    Writable,
    /// The tree may write a file among the arguments, and nothing says that the program uses this file only as data.
    Operand,
    /// It runs code from an input that no entry can bind. Later the input may hold other code.
    Input,
    /// The program's path is not UTF-8, or would match other paths if it were used as a pattern.
    Path,
}

impl Once {
    /// Returns a clause for a human.
    pub const fn text(self) -> &'static str {
        match self {
            Once::NotRead => "the command could not be parsed completely",
            Once::AskedEachTime => "a part of it is asked about every time",
            Once::PartUnnamed => "an entry cannot cover every part of it",
            Once::Shell => "a shell runs any command",
            Once::Carrier => "it starts another program, which is judged on its own",
            Once::InlineCode => "its arguments contain code",
            Once::Interpreter => "it runs code from a file that may change",
            Once::Writable => "the tree may write its file, so it could replace the program",
            Once::Operand => "the tree may write a file among its arguments, which may be a program to it",
            Once::Input => "it runs code from standard input or a pipe, which an entry cannot bind",
            Once::Path => "its path cannot be written as a pattern",
        }
    }
}

/// What "allow always" saves for one exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowAlways {
    /// An entry that allows it next time.
    Entry(BoundEntry),
    /// Nothing: the answer counts only this time.
    Once {
        /// Why nothing is saved.
        why: Once,
    },
}

/// `exec.strictInlineEval`: if on, code in arguments is always asked about, so that interpreters can be saved with
/// arguments that contain no code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrictInlineEval {
    /// Interpreters are never saved.
    #[default]
    Off,
    /// Interpreters are saved if their arguments contain no code.
    On,
}

/// Returns what "allow always" saves for a program that is about to start, as the kernel reports it in
/// `exec`.
pub fn derive(exec: &Exec<'_>, strict: StrictInlineEval) -> AllowAlways {
    let called = exec.argv.first().map_or(&[][..], Vec::as_slice);
    let arguments = exec.argv.get(1..).unwrap_or_default();
    let names = [exec.path, called];
    let any = |is: &dyn Fn(&[u8]) -> bool| names.iter().any(|name| is(name));
    let starts_others = |name: &[u8]| starters::starts_others(&String::from_utf8_lossy(name));
    let has_code = names.iter().any(|name| inline_eval_of(name, arguments).is_some());
    let why = if any(&|name| starters::is_shell(name)) {
        Some(Once::Shell)
    } else if any(&starts_others) {
        Some(Once::Carrier)
    } else if has_code {
        Some(Once::InlineCode)
    } else if any(&|name| reads_programs(name, arguments))
        || strict == StrictInlineEval::Off && any(&|name| is_interpreter(name))
    {
        Some(Once::Interpreter)
    } else {
        None
    };
    if let Some(why) = why {
        return AllowAlways::Once { why };
    }
    match std::str::from_utf8(exec.path).ok().and_then(literal) {
        Some(pattern) => {
            AllowAlways::Entry(BoundEntry { pattern: pattern.to_owned(), arg_pattern: exec_pattern(exec) })
        }
        None => AllowAlways::Once { why: Once::Path },
    }
}

/// Returns the path if, as a pattern, it matches only itself.
pub fn literal(path: &str) -> Option<&str> {
    let is_literal = path.starts_with('/') && !path.contains(['*', '?', '\\', '\0']) && path.trim() == path;
    is_literal.then_some(path)
}
