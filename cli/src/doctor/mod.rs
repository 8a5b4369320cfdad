//! `openclaw-guard doctor`: checks what works, what is missing, and what to do about it.
//!
//! Each module checks one thing and adds to [`finding::Findings`], which `print` shows. Only `--fix` (`mend`)
//! changes anything, and only the topic `gateway` contacts another process besides the gate.

mod daemons;
mod environment;
pub mod feature;
mod files;
mod finding;
mod floor;
mod gate;
mod gateway;
mod host;
mod kernel;
pub mod listener;
mod mend;
mod node;
mod openclaw;
mod owners;
mod path;
mod policy;
mod print;
mod reach;
mod real_time;
mod safe_bins;
mod space;
mod tools;

use clap::{Args, Subcommand};
use guard_policy::Policy;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{Paths, SetupError};
use guard_supervisor::exit::Exit;

use feature::Above;
use finding::{Findings, Section};
use print::Colours;
use reach::Exposure;

/// What to check, and how to print it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard doctor\n  \
    openclaw-guard --policy guard.json doctor\n  \
    openclaw-guard doctor --fix\n  \
    openclaw-guard doctor --json | jq -r '.[] | select(.state == \"problem\").fix'\n  \
    openclaw-guard doctor gateway\n\n\
    Doctor tries the kernel's features. It asks nobody, and changes nothing without --fix.\n\
    ✓ is as it should be; · could not be checked, or is neither good nor bad;\n\
    ⚠ works, but may not be what you want; ✗ does not work, or somebody can get around it.\n\n\
    Exit status: 0; 1 when something is wrong (✗); 125 when doctor cannot check anything.")]
pub struct Doctor {
    /// Print a JSON array of objects: section, state (ok, note, warning, problem), name, text, fix
    #[arg(long)]
    json: bool,
    /// Before checking, chmod files that the guard relies on, if other users can change or read them
    #[arg(long)]
    fix: bool,
    #[command(subcommand)]
    topic: Option<Topic>,
}

/// What else to check.
#[derive(Debug, Subcommand)]
enum Topic {
    /// Check whether questions reach somebody at OpenClaw's gateway
    ///
    /// Connects as a guard would, asks a test question about a command that does nothing, and withdraws it at once. Clients
    /// of the gateway may show its card for a moment.
    #[command(after_help = "Examples:\n  \
        openclaw-guard doctor gateway\n  \
        openclaw-guard --policy guard.json doctor gateway --no-question\n  \
        openclaw-guard doctor gateway --json | jq -r '.[] | select(.state == \"problem\").fix'\n\n\
        Exit status: 0 when questions reach the gateway, 1 when something is wrong, 125 when doctor\n\
        cannot check anything.")]
    Gateway(DoctorArgs),
    /// Check OpenClaw's tool policy for mistakes, and show who enforces it
    #[command(after_help = "Examples:\n  \
        openclaw-guard doctor tools\n  \
        openclaw-guard doctor tools --json | jq -r '.[] | select(.state == \"warning\").text'\n\n\
        Exit status: 0, 1 when something is wrong (✗), 125 when doctor cannot check anything.")]
    Tools {
        /// Print a JSON array of objects: section, state (ok, note, warning, problem), name, text, fix
        #[arg(long)]
        json: bool,
    },
}

/// How to check.
#[derive(Args, Debug)]
struct DoctorArgs {
    /// Print a JSON array of objects: section, state (ok, note, warning, problem), name, text, fix
    #[arg(long)]
    json: bool,
    /// Send no test question; then it stays unknown whether anybody would answer
    #[arg(long)]
    no_question: bool,
}

/// Why the checks did not run.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("cannot start: {0}")]
    Runtime(std::io::Error),
    #[error("cannot write: {0}")]
    Output(std::io::Error),
}

/// Runs the checks and prints the findings. The exit status is 1 if there is a problem.
///
/// # Errors
/// When the checks cannot run, or the output cannot be written.
pub fn act(options: &Options, doctor: &Doctor) -> Result<Exit, DoctorError> {
    let (findings, json) = match &doctor.topic {
        None => (all(options, doctor.fix)?, doctor.json),
        Some(Topic::Tools { json }) => (tools::check(options)?, doctor.json || *json),
        Some(Topic::Gateway(arguments)) => {
            (gateway::check(options, !arguments.no_question)?, doctor.json || arguments.json)
        }
    };
    let printed = if json { print::json(&findings) } else { print::text(&findings, Colours::of_stdout()) };
    match printed {
        // A closed pipe means that the reader has seen enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(DoctorError::Output(error)),
        _ => Ok(if findings.has_problem() { Exit::Wrong } else { Exit::Success }),
    }
}

/// Everything that can be checked without asking anyone. `mends` says whether modes are mended first.
fn all(options: &Options, mends: bool) -> Result<Findings, DoctorError> {
    // The probes come first: they need a process with one thread.
    let above = listener::above();
    let mut findings = Findings::about(Section::Kernel);
    kernel::look(above, &mut findings);
    let paths = Paths::find(options)?;
    let policy = match above {
        Above::Nothing => policies(options, &paths, mends, &mut findings),
        // The files that an outer guard relies on are hidden from its tree.
        Above::Guard => {
            findings.turn_to(Section::Policy);
            findings.note("policy", "not checked inside a guard, which hides it from its tree");
            None
        }
    };
    findings.turn_to(Section::Host);
    path::look(&paths, &Exposure::new(policy.as_ref()), &mut findings);
    environment::check(policy.as_ref(), &paths, &mut findings);
    host::check(&paths, &mut findings);
    if above == Above::Guard {
        return Ok(findings);
    }
    daemons::check(&paths, &mut findings);
    space::look(&paths, policy.as_ref(), &mut findings);
    findings.turn_to(Section::Openclaw);
    openclaw::look(&paths, policy.as_ref(), &mut findings);
    gate::look(&paths, &mut findings);
    safe_bins::look(options, &paths, policy.as_ref(), &mut findings);
    node::look(&paths, &mut findings);
    Ok(findings)
}

/// Checks what is enforced, by which policy, and who may change that. Returns the policy if it is valid.
fn policies(options: &Options, paths: &Paths, mends: bool, findings: &mut Findings) -> Option<Policy> {
    let mut read = Findings::about(Section::Policy);
    let policy = policy::look(options, paths, &mut read);
    findings.turn_to(Section::Enforcement);
    floor::check(options, policy.as_ref(), findings);
    findings.append(read);
    findings.turn_to(Section::Policy);
    let reach = Exposure::new(policy.as_ref());
    if mends {
        files::mend(paths, &reach, findings);
    }
    files::check(paths, &reach, findings);
    policy
}
