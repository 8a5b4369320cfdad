//! What an approval of a command covers.

use std::path::Path;

use guard_openclaw::command_text::Evaluation;
use guard_openclaw::node::{Denied, FileOperand};
use guard_policy::environment::Variable;
use guard_policy::programs::starters::is_shell;
use guard_supervisor::config::node_run::{ApprovedFile, ApprovedStart, RunApproval};

use super::bind::{BoundFiles, bind};
use super::judge::CallPolicy;

/// Returns what an approval of a command covers, and the part of it that is reported to the gateway.
/// `evaluation` is that of `code` if there is code, and else that of the command.
///
/// # Errors
/// If the guard cannot tell for certain which files run first.
pub fn covered(
    argv: &[String],
    code: Option<&str>,
    evaluation: &Evaluation,
    rules: &CallPolicy,
    cwd: &Path,
    env: &[Variable],
) -> Result<(RunApproval, FileOperand), Denied> {
    let BoundFiles { files, operand } = bind(argv, rules, cwd, env)?;
    let code = code.and_then(|code| single_command(code, evaluation)).and_then(|argv| {
        let bound = bind(argv, rules, cwd, env).ok()?;
        start(argv, cwd, bound.files).ok()
    });
    Ok((RunApproval { first: Some(start(argv, cwd, files)?), code }, operand))
}

/// What an approval of these arguments covers in this directory.
fn start(argv: &[String], cwd: &Path, files: Vec<ApprovedFile>) -> Result<ApprovedStart, Denied> {
    let cwd = cwd.to_str().ok_or(Denied::DirectoryChanged)?.to_owned();
    Ok(ApprovedStart { argv: argv.to_vec(), cwd, files })
}

/// Returns the arguments of the program if the code starts only one program. An approval covers this program as well:
/// a human who was shown the code has approved this program, and not just the shell.
fn single_command<'e>(code: &str, evaluation: &'e Evaluation) -> Option<&'e [String]> {
    let ([only], None) = (&evaluation.segments[..], evaluation.reason) else { return None };
    let name = only.argv.first()?;
    let is_whole = only.span == (0..code.len());
    // The program must be written out, and must not come from the code of another shell.
    let is_written = code.split([' ', '\t']).next() == Some(name) && !is_shell(name);
    (is_whole && is_written && only.risks.is_empty() && only.program == only.argv).then_some(&only.argv)
}
