//! Subcommands inside a guarded tree. The guard hides from the tree what these subcommands need. So such a subcommand
//! says in one sentence that it cannot work here. If it tried, the guard would deny and log the attempts.

use std::fs;
use std::io::{self, Write};

use guard_openclaw::peer::nested_guard::guard_above;
use guard_supervisor::audit::report::LAST_DENIAL;
use guard_supervisor::config::options::Options;

use crate::approvals::command::ApprovalsCommand;
use crate::cli::Task;
use crate::doctor::feature::Above;
use crate::doctor::listener;
use crate::policy::PolicyCommand;
use crate::sandbox::SandboxCommand;

/// Prints what the guard above says of its session's last denial, if the task asks for that and there is one.
pub fn answer(task: Option<&Task>) -> Option<io::Result<()>> {
    let asks = matches!(task, Some(Task::Why(question)) if question.wants_last_in_words());
    if !asks || listener::above() != Above::Guard {
        return None;
    }
    // The guard answers this open; elsewhere there is no such file.
    let text = fs::read(LAST_DENIAL).ok()?;
    let outside = b"  outside   openclaw-guard why --last   says what would allow it\n";
    Some(io::stdout().lock().write_all(&[&text[..], outside].concat()))
}

/// Returns the line that says why this task cannot be done here, if a guard is above this process.
pub fn refusal(options: &Options, task: Option<&Task>) -> Option<String> {
    let obstacle = obstacle(options, task)?;
    let is_guarded = listener::above() == Above::Guard && is_certain();
    is_guarded.then(|| format!("openclaw-guard: this runs inside a guard, {obstacle}"))
}

/// Why a task cannot be done inside a guard, and where it can. `None` if nothing prevents it.
fn obstacle(options: &Options, task: Option<&Task>) -> Option<&'static str> {
    let files = "which keeps its policy, its log and its questions from what it guards; use a terminal outside of \
                 that guard";
    let start = "which guards every program that you start here. The kernel allows only one, so another guard can \
                 only run outside of it";
    match task {
        None | Some(Task::Learn(_) | Task::Node(_) | Task::Sandbox(SandboxCommand::Run(_))) => Some(start),
        // These two look for guards above themselves, whatever the filters are.
        Some(Task::Approvals(ApprovalsCommand::Watch(_) | ApprovalsCommand::Serve(_))) => None,
        Some(
            Task::Allow(_)
            | Task::Approvals(_)
            | Task::Audit(_)
            | Task::Deny(_)
            | Task::Sandbox(SandboxCommand::Prune(_))
            | Task::Session(_)
            | Task::Why(_),
        ) => Some(files),
        // A policy that the command line names may be readable here.
        Some(_) if options.policy.is_some() => None,
        Some(Task::Check(question)) if question.batch => None,
        Some(Task::Check(_) | Task::Init(_) | Task::Policy(PolicyCommand::Show(_))) => Some(files),
        Some(_) => None,
    }
}

/// Whether the process above is certainly a guard. If the parents of a process are hidden, that is uncertain.
fn is_certain() -> bool {
    let name = |pid: i32| fs::read(format!("/proc/{pid}/comm")).ok();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    guard_above(own).is_some_and(|guard| name(guard).is_some() && name(guard) == name(own))
}
