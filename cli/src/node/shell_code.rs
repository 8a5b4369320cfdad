//! What an approval covers, also behind the shell by which gateways start the commands of an agent's exec tool:
//! `sh -lc CODE`.

use std::path::Path;

use guard_openclaw::command_text::Evaluation;
use guard_openclaw::node::{Denied, FileOperand};
use guard_policy::environment::Variable;
use guard_policy::programs::name::program_name;
use guard_supervisor::config::node_run::{ApprovedFile, ApprovedStart, RunApproval};

use super::bind::{BoundFiles, bind};

/// The code, which is read in place of the whole: the files that a login shell reads first are the operator's (OpenClaw
/// 2026.9.6, `isLegacyShLoginInlineForm`).
pub fn of_gateway(argv: &[String]) -> Option<&str> {
    match argv {
        [shell, option, code, ..] if program_name(shell) == "sh" && option.trim() == "-lc" => Some(code),
        _ => None,
    }
}

/// What an approval of a command covers, and what of it is reported to the gateway. `evaluation` is that of the command.
///
/// # Errors
/// If the guard cannot tell for certain which files run first.
pub fn covered(
    argv: &[String],
    evaluation: &Evaluation,
    cwd: &Path,
    env: &[Variable],
) -> Result<(RunApproval, FileOperand), Denied> {
    let BoundFiles { files, operand } = bind(argv, cwd, env)?;
    let code = single_start(argv, evaluation, cwd, env);
    Ok((RunApproval { first: Some(start(argv, cwd, files)?), code }, operand))
}

/// What an approval of these arguments covers in this directory.
fn start(argv: &[String], cwd: &Path, files: Vec<ApprovedFile>) -> Result<ApprovedStart, Denied> {
    let cwd = cwd.to_str().ok_or(Denied::DirectoryChanged)?.to_owned();
    Ok(ApprovedStart { argv: argv.to_vec(), cwd, files })
}

/// The start of a program that is all that the code does, without assignments and other changes of what the program gets. An
/// approval covers it as well: a human who was shown the code has approved this program, and not just the shell.
fn single_start(
    argv: &[String],
    evaluation: &Evaluation,
    cwd: &Path,
    env: &[Variable],
) -> Option<ApprovedStart> {
    of_gateway(argv)?;
    let ([only], None) = (&evaluation.segments[..], evaluation.reason) else { return None };
    if !only.risks.is_empty() || only.program != only.argv {
        return None;
    }
    let bound = bind(&only.argv, cwd, env).ok()?;
    start(&only.argv, cwd, bound.files).ok()
}
