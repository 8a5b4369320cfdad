//! `openclaw-guard why`: why something was denied, or would be, and what would have to change.
//!
//! `asked` finds the subject, on the command line or in the audit log. `answer` asks the engine again, and `remedy`
//! tries every change that it proposes. `print` shows the answer to people and programs.

mod answer;
mod asked;
mod print;
mod reason;
mod remedy;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use clap::Args;
use guard_policy::text::shown;
use guard_supervisor::audit::reader::ReadError;
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

use crate::edit::EditContext;

/// What is asked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard why                  the last denial\n  \
    openclaw-guard why 3f9a2c01\n  \
    openclaw-guard why --write ~/x/notes\n  \
    openclaw-guard why --exec -- git push\n\n\
    `why` tests each proposed change on a copy of the policy. It changes nothing.\n\n\
    Exit status: 0 answered; 1 there is no such denial or line; 125 error.")]
pub struct WhyArgs {
    /// The id of a line of the audit log or of a question, or a prefix of it
    #[arg(conflicts_with_all = ["last", "read", "write", "exec", "command"])]
    id: Option<String>,
    /// Explain the last denial in the audit log, as `why` alone does
    #[arg(long, conflicts_with_all = ["read", "write", "exec", "command"])]
    last: bool,
    /// Explain reading this file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["write", "exec", "command"])]
    read: Option<PathBuf>,
    /// Explain writing, creating or removing this file
    #[arg(long, value_name = "PATH", conflicts_with_all = ["exec", "command"])]
    write: Option<PathBuf>,
    /// Explain starting this program, or the command after --
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1)]
    exec: Option<Option<OsString>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

impl WhyArgs {
    /// Whether the question is about the last denial.
    fn is_last(&self) -> bool {
        let names_file = self.read.is_some() || self.write.is_some();
        let names_program = self.exec.is_some() || !self.command.is_empty();
        self.last || !(self.id.is_some() || names_file || names_program)
    }

    /// Whether the question is about the last denial, and the answer is for people.
    pub fn wants_last_in_words(&self) -> bool {
        self.is_last() && !self.json
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(
        "there is no question: give an id, --read PATH, --write PATH or --exec -- CMD (`openclaw-guard why --help`)"
    )]
    NoQuestion,
    #[error("{}: command not found; name the program by its path", shown(.0.as_encoded_bytes()))]
    NotFound(OsString),
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Answers on stdout.
///
/// # Errors
/// When the policy or the audit log cannot be read, the arguments ask nothing, there is no such program, or the answer cannot
/// be written.
pub fn act(options: &Options, question: &WhyArgs) -> Result<Exit, WhyError> {
    let context = EditContext::find(options)?;
    let (context, asked) = match asked::find(context, options, question)? {
        Ok(found) => found,
        Err(nothing) => {
            eprintln!("openclaw-guard: {nothing}");
            return Ok(Exit::Wrong);
        }
    };
    let answer = answer::answer(&context, options, asked)?;
    let printed = match question.json {
        true => crate::edit::print(&print::json(&context, &answer)),
        false => print::print(&context, &answer),
    };
    match printed {
        // A closed pipe means that the reader has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Success),
    }
}
