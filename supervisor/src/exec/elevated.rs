//! Whether a command may run outside the guard: the gates, the policy, and a human.

use std::os::fd::{AsFd, OwnedFd};

use guard_approvals::{BoundScript, CodeInput, Digest, Executable};
use guard_policy::analysis::{AllowAlways, CodeOnInput, StrictInlineEval, derive, script_operands};
use guard_policy::{
    ElevatedLevel, Exec, FailedGate, Outcome, Policy, Reason, Request as Asked, Role, Source, Verdict,
    is_by_own_name, unavailable,
};
use parking_lot::Mutex;
use rustix::io::Errno;

use super::approval_subject::standard_input;
use super::exec_plan::ExecPlan;
use super::outside_program::{HeldFile, OutsideProgram, check_program, find};
use crate::audit::Operation;
use crate::judge::consent::{ConsentState, about_outside};
use crate::judge::guard::decide_program;
use crate::outside::{Approved, Pass, Unavailable, sealed, words};
use crate::resolve::real_path;
use crate::syscall::Request;

/// Why a command does not run.
enum NotRun {
    /// It is refused. Holds a sentence that says why.
    Refused(String),
    /// Its call ends with this error: there is no answer yet, or the caller is gone.
    Call(Errno),
}

impl From<Errno> for NotRun {
    fn from(error: Errno) -> NotRun {
        NotRun::Call(error)
    }
}

/// Settles the start of the program that asks for a command outside: `plan` has that program's own files, `argv`
/// its arguments. Returns the pass for its process.
///
/// # Errors
/// EACCES if there is no answer yet, or this program itself may not start; ESRCH if the caller is gone.
pub fn settle(request: &Request<'_, '_>, plan: &ExecPlan<'_>, argv: &[Vec<u8>]) -> Result<Pass, Errno> {
    let guard = request.guard;
    let _ = guard.starts.take_first();
    let words = words(argv).unwrap_or_default();
    match judge(request, words) {
        Ok(approved) => {
            plan.conclude(request, &ConsentState::Approved("it only asks for a command outside the guard"))?;
            Ok(Pass::Run(Box::new(approved)))
        }
        Err(NotRun::Call(error)) => Err(error),
        Err(NotRun::Refused(text)) => {
            let path = words.first().map(Vec::as_slice).unwrap_or_default();
            let rule = format!("elevated: {text}");
            let reason = Reason::new(Source::Global, "elevated", rule, text.clone());
            let _ = guard.deny(request.caller, Operation::ElevatedDenied, path, words, &reason);
            // Nobody has allowed this program itself to start.
            if plan.asked().next().is_some() && !guard.session.observe {
                return Err(Errno::ACCESS);
            }
            plan.conclude(request, &ConsentState::Unasked)?;
            Ok(Pass::Refused(text))
        }
    }
}

fn judge(request: &Request<'_, '_>, words: &[Vec<u8>]) -> Result<Approved, NotRun> {
    let (guard, caller) = (request.guard, request.caller);
    let (outside, policy) = (&guard.starts.outside, guard.policy());
    let level = outside.level(policy);
    let mut failing = policy.elevated().failing(outside.sender(), level);
    if failing.is_empty() && outside.link().is_err_and(|why| why == Unavailable::NotAtStart) {
        failing.push(FailedGate::new("enabled", "elevated.enabled was false when this guard was started"));
    }
    let elevated = policy.for_elevated(level).filter(|_| failing.is_empty());
    let elevated = elevated.ok_or_else(|| NotRun::Refused(unavailable(&failing)))?;
    if caller.stdio().is_err() {
        caller.check()?;
        return Err(NotRun::Refused("run-outside needs descriptors 0, 1 and 2 open".to_owned()));
    }
    let directory = caller.directory(libc::AT_FDCWD)?;
    let cwd = real_path(directory.as_fd())?;
    let found = find(&elevated, words, directory.as_fd(), outside.path());
    let found = found.map_err(|error| NotRun::Refused(error.to_string()))?;
    // The tree may write its files at any time: what is judged is what will run.
    let copies = Copies::make(&elevated, &found)?;
    let asks = asks(request, &elevated, &found, &copies, &cwd, level)?;
    match outside.link() {
        Err(Unavailable::Observes) => {
            let what = if asks.is_some() { "it would ask about this" } else { "it would run this unasked" };
            return Err(NotRun::Refused(format!(
                "this guard only observes: {what}, and runs nothing outside"
            )));
        }
        Err(_) => {
            return Err(NotRun::Refused("this guard asks nobody, so nothing runs outside of it".to_owned()));
        }
        Ok(_) => {}
    }
    let environment = environment(outside.environment(), &cwd);
    let subject = subject(request, &found, &copies, &cwd, &environment)?;
    let how = match asks {
        None => "not asked".to_owned(),
        Some(reason) => consent(request, subject, reason)?.to_owned(),
    };
    let argv = found.program.argv.clone();
    let path = found.program.path.clone();
    let text = format!("runs outside the guard: {how} (elevated level {})", level.as_str());
    let reason = Reason::new(Source::Global, "elevated", format!("elevated: {how}"), text);
    let verdict = Verdict { outcome: Outcome::Allow, reason };
    guard.settle(caller, Operation::Elevated, &path, &argv, &verdict)?;
    let script = found.script_at.zip(copies.script);
    let script = script.map(|(at, copy)| (at, OwnedFd::from(copy)));
    let OutsideProgram { program, .. } = found;
    let program = copies.program.unwrap_or(program.file);
    Ok(Approved {
        shown: crate::audit::shortened(&argv, crate::audit::MAX_ARGV),
        argv,
        environment,
        program: program.into(),
        directory,
        script,
        path,
    })
}

/// The operator's variables, with the directory in which the command runs.
fn environment(operators: &[Vec<u8>], cwd: &[u8]) -> Vec<Vec<u8>> {
    let own = [b"PWD=", cwd].concat();
    operators.iter().cloned().chain([own]).collect()
}

/// Judges the files of the command. If a human must be asked, returns why.
fn asks(
    request: &Request<'_, '_>,
    policy: &Policy,
    found: &OutsideProgram,
    copies: &Copies,
    cwd: &[u8],
    level: ElevatedLevel,
) -> Result<Option<Reason<'static>>, NotRun> {
    let (guard, caller) = (request.guard, request.caller);
    let mut because = None;
    let is_open = level == ElevatedLevel::Full && policy.ask() == guard_policy::Ask::Off;
    let files = || found.scripts.iter().chain([&found.program]).chain(&found.operand).chain(&found.others);
    for held in found.scripts.iter().chain([&found.program]) {
        let content = copies.copy_of(found, held).map_or(held.object.fd.as_fd(), AsFd::as_fd);
        let originals = guard.copies.originals(&held.path, content, &|| caller.check())?;
        let exec = Exec { path: &held.path, argv: &held.argv, cwd, role: held.role };
        let verdict = decide_program(policy, exec, &originals);
        if verdict.outcome == Outcome::Deny {
            let path = guard_policy::text::shown(&held.path);
            return Err(NotRun::Refused(format!("{path} may not start ({})", verdict.reason.rule())));
        }
        if !policy.within_exec_roots(&held.path) {
            let path = guard_policy::text::shown(&held.path);
            return Err(NotRun::Refused(format!("{path} may not start (it is not below exec.roots)")));
        }
        // The policy may allow the program by an entry of the allowlist that counts only inside. The question then says
        // so.
        if level != ElevatedLevel::Ask
            && !is_open
            && held.role == Role::Program
            && !names_arguments(policy, &exec)
            && let Some(inside) = guard.policy().counts_inside_only(&exec)
        {
            because.get_or_insert(inside);
        }
        if verdict.outcome == Outcome::Ask {
            because.get_or_insert(verdict.reason.rule().to_string());
        }
        if !is_open && held.role == Role::Program && starts_anything(&exec, &verdict) {
            because.get_or_insert("it runs what its arguments or its input say".to_owned());
        }
        if !is_open && held.role == Role::Program && !names_arguments(policy, &exec) {
            because.get_or_insert("no entry of elevated.allowlist names it with these arguments".to_owned());
        }
    }
    let of_tree = files().find(|held| held.is_of_tree);
    if let Some(held) = of_tree.filter(|_| !is_open) {
        because.get_or_insert(format!("the tree may write {}", guard_policy::text::shown(&held.path)));
    }
    if level == ElevatedLevel::Ask {
        because.get_or_insert("elevated level ask".to_owned());
    }
    let of_tree =
        of_tree.map(|held| format!("; the tree may write {}", guard_policy::text::shown(&held.path)));
    Ok(because.map(|rule| {
        let text = format!(
            "it would run OUTSIDE the guard, with all of your rights, and what it reads is the tree's{}",
            of_tree.unwrap_or_default()
        );
        Reason::new(Source::Global, "elevated", format!("elevated {}: {rule}", level.as_str()), text)
    }))
}

/// Whether a program is allowed inside only because each program that it starts is judged. Outside, none of them is
/// judged.
fn starts_anything(exec: &Exec<'_>, verdict: &Verdict<'_>) -> bool {
    verdict.reason.path == "exec.carriers"
        || !matches!(derive(exec, StrictInlineEval::Off), AllowAlways::Entry(_))
}

/// Whether an entry of `elevated.allowlist` is for these arguments, and the program is called by its own name: by
/// another name it may do something else.
fn names_arguments(policy: &Policy, exec: &Exec<'_>) -> bool {
    is_by_own_name(exec)
        && policy.entry(exec).is_some_and(|entry| entry.is_written() && entry.names_arguments())
}

/// Copies of the files that the tree may write. The copies are hashed, asked about and run.
struct Copies {
    program: Option<std::fs::File>,
    script: Option<std::fs::File>,
}

impl Copies {
    fn make(policy: &Policy, found: &OutsideProgram) -> Result<Copies, NotRun> {
        // The copies take the guard's memory, so one call at a time makes them.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock();
        let copy = |held: &HeldFile| {
            let name = guard_policy::text::shown(&held.path);
            sealed(&held.file)
                .map_err(|error| NotRun::Refused(format!("{name}: {}", std::io::Error::from(error))))
        };
        let of_tree = |held: Option<&HeldFile>| held.filter(|held| held.is_of_tree).map(copy).transpose();
        let program = of_tree(Some(&found.program))?;
        if let Some(copy) = &program {
            // The copy may name another loader than the file did when it was found.
            let checked = check_program(policy, &found.program.path, copy);
            checked.map_err(|error| NotRun::Refused(error.to_string()))?;
        }
        Ok(Copies { program, script: of_tree(found.script())? })
    }

    /// The copy of one of the files, if it has one.
    fn copy_of(&self, found: &OutsideProgram, held: &HeldFile) -> Option<&std::fs::File> {
        if std::ptr::eq(held, &raw const found.program) {
            return self.program.as_ref();
        }
        self.script.as_ref().filter(|_| found.script().is_some_and(|script| std::ptr::eq(script, held)))
    }
}

fn subject(
    request: &Request<'_, '_>,
    found: &OutsideProgram,
    copies: &Copies,
    cwd: &[u8],
    environment: &[Vec<u8>],
) -> Result<guard_approvals::Exec, NotRun> {
    let caller = request.caller;
    let digest = |held: &HeldFile, copy: Option<&std::fs::File>| {
        Digest::of_file(copy.unwrap_or(&held.file), || caller.check())
    };
    let bound = |held: &HeldFile, copy| -> Result<BoundScript, Errno> {
        Ok(BoundScript { path: held.path.clone(), sha256: digest(held, copy)? })
    };
    let program = &found.program;
    let script = found.script();
    let through = found.scripts.iter().skip(1).map(|held| bound(held, None));
    // The command reads input and other files later, and outside the guard nothing keeps them unchanged. So they have
    // no digest.
    let unheld = |input: CodeInput| CodeInput { sha256: None, ..input };
    let runs_input = script_operands(&program.path, &program.argv).input == CodeOnInput::Runs;
    Ok(guard_approvals::Exec {
        argv: program.argv.clone(),
        executable: Executable {
            path: program.path.clone(),
            device: program.object.stat.st_dev,
            inode: program.object.stat.st_ino,
            sha256: digest(program, copies.program.as_ref())?,
        },
        script: script.map(|held| bound(held, copies.script.as_ref())).transpose()?,
        through: through.collect::<Result<_, _>>()?,
        files: Vec::new(),
        inputs: if runs_input {
            standard_input(request)?.into_iter().map(unheld).collect()
        } else {
            Vec::new()
        },
        cwd: cwd.to_vec(),
        environment: Digest::of_environment(environment.iter().map(Vec::as_slice)),
        program_variables: Vec::new(),
        is_outside: true,
    })
}

/// Asks, and returns how the command was approved.
fn consent(
    request: &Request<'_, '_>,
    subject: guard_approvals::Exec,
    reason: Reason<'static>,
) -> Result<&'static str, NotRun> {
    let (guard, caller) = (request.guard, request.caller);
    let program = subject.executable.path.clone();
    let argv = subject.argv.clone();
    let question = || {
        let exec = Exec { path: &program, argv: &argv, cwd: &subject.cwd, role: Role::Program };
        about_outside(&guard.background(), caller, subject.clone(), &reason, &[Asked::Exec(exec)])
    };
    match guard.consent(caller, question) {
        ConsentState::Approved(how) => Ok(how),
        ConsentState::Unasked => Err(NotRun::Call(Errno::ACCESS)),
        ConsentState::Unanswered(_, why) if why.is_empty() => {
            Err(NotRun::Refused("this guard asks nobody, so nothing runs outside of it".to_owned()))
        }
        ConsentState::Unanswered(_, why) | ConsentState::Refused(_, why) => {
            Err(NotRun::Refused(format!("it does not run outside the guard: {why}")))
        }
    }
}
