//! Finds a change that would allow something, and tries it on the policy first.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use guard_policy::remedy::{FileKind, Near, fitting};
use guard_policy::{Access, Bits, Outcome, Scope};
use guard_supervisor::audit::Operation;
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;

use super::asked::WhyQuery;
use super::reason::LocatedReason;
use crate::edit::{
    Aim, BlockedBy, Denials, EditContext, EditRequest, Effect, Limit, NoPlan, PathQuery, blocked_by, plan,
};

/// A remedy.
#[derive(Clone, Debug)]
pub enum Remedy {
    /// This command allows it.
    Command(Command),
    /// No command allows it.
    Blocked(BlockedBy),
}

/// A command that allows it.
#[derive(Clone, Debug)]
pub struct Command {
    /// The command's words.
    pub words: Vec<String>,
    /// The risk of the command.
    pub caution: Option<String>,
    /// Whether a running guard must be restarted.
    pub takes_restart: bool,
    /// Whether guard.json must be created first.
    pub needs_init: bool,
}

/// A possible command.
struct Candidate {
    words: Vec<String>,
    request: EditRequest,
    caution: Option<String>,
}

/// Finds the remedy.
///
/// # Errors
/// When a policy cannot be compiled.
pub fn remedy(
    context: &EditContext,
    options: &Options,
    asked: &WhyQuery,
    part: &PathQuery,
    near: Option<Near>,
    reason: &LocatedReason,
) -> Result<Remedy, SetupError> {
    let candidates = candidates(context, asked, part, near);
    let agent = Scope::Agent(context.agent().to_owned());
    // Without --agent, a change for every agent is tried first, then one for main.
    let scopes = match options.agent_is_named || context.agent() != "main" {
        true => vec![agent],
        false => vec![Scope::Everyone, agent],
    };
    let mut first_block = None;
    for denials in [Denials::Keep, Denials::Remove] {
        for scope in &scopes {
            for candidate in &candidates {
                match tried(context, options, asked, scope, candidate, denials)? {
                    Tried::Allows(command) => return Ok(Remedy::Command(command)),
                    // This still blocks the request once rules and lists allow it.
                    Tried::Blocked(by) => first_block = first_block.or(Some(by)),
                    Tried::No => {}
                }
            }
        }
    }
    let LocatedReason { source, path, text, .. } = reason;
    Ok(Remedy::Blocked(first_block.unwrap_or_else(|| blocked_by(*source, path, text, Some(asked.operation)))))
}

/// The result of a try.
enum Tried {
    Allows(Command),
    Blocked(BlockedBy),
    No,
}

/// Tries a command: `Allows` if the engine then allows everything that was asked.
fn tried(
    context: &EditContext,
    options: &Options,
    asked: &WhyQuery,
    scope: &Scope,
    candidate: &Candidate,
    denials: Denials,
) -> Result<Tried, SetupError> {
    let planned = match plan(context, scope, &candidate.request, Aim::Allow(denials)) {
        Ok(planned) => planned,
        Err(NoPlan::Setup(error)) => return Err(error),
        Err(NoPlan::Blocked(blocker)) if blocker.denial.is_none() => {
            let by = blocked_by(blocker.source, &blocker.path, &blocker.text, Some(asked.operation));
            return Ok(Tried::Blocked(by));
        }
        Err(NoPlan::Blocked(_) | NoPlan::Pattern(_)) => return Ok(Tried::No),
    };
    let policy = context.policy(&planned.draft)?;
    let is_allowed = asked.parts.iter().all(|part| part.decide(&policy).outcome == Outcome::Allow);
    if !is_allowed || planned.changes.is_empty() {
        return Ok(Tried::No);
    }
    let lossy = |path: &Path| path.to_string_lossy().into_owned();
    let mut words = vec!["openclaw-guard".to_owned()];
    for (name, value) in [("--policy", &options.policy), ("--home", &options.home)] {
        words.extend(value.iter().flat_map(|value| [name.to_owned(), lossy(value)]));
    }
    if let Scope::Agent(name) = scope {
        words.extend(["--agent".to_owned(), name.clone()]);
    }
    words.push("allow".to_owned());
    let removed: Vec<_> = planned.changes.iter().filter(|change| change.is.is_none()).collect();
    let (verb, rest) =
        candidate.words.split_first().map_or((None, &[][..]), |(verb, rest)| (Some(verb), rest));
    words.extend(verb.cloned());
    if denials == Denials::Remove {
        words.push("--remove-deny".to_owned());
    }
    words.extend(rest.iter().cloned());
    let lifted = removed.iter().filter_map(|change| change.was.as_deref()).map(|was| format!("\"{was}\""));
    let lifted = lifted.collect::<Vec<_>>().join(" and ");
    let caution = (!lifted.is_empty())
        .then(|| format!("this removes the whole denial of {lifted}, which somebody wrote on purpose"));
    Ok(Tried::Allows(Command {
        words,
        caution: caution.or_else(|| candidate.caution.clone()),
        takes_restart: planned.takes_effect == Effect::AtNextStart,
        needs_init: context.text()?.is_none(),
    }))
}

/// The possible commands, the best one first.
fn candidates(
    context: &EditContext,
    asked: &WhyQuery,
    part: &PathQuery,
    near: Option<Near>,
) -> Vec<Candidate> {
    let paths = &context.paths;
    let mut found = Vec::new();
    let mut file = |path: &[u8], verb: &str, access: Access, bits: Bits| {
        // The directory; if that is not enough, the file.
        for object in [object(path), FileKind::Socket] {
            let Ok(fitting) = fitting(path, object, context.home()) else { continue };
            let words = vec![verb.to_owned(), fitting.pattern.clone()];
            let caution = fitting.secret.map(|secret| {
                format!("{secret} holds secrets: the tree can send elsewhere what it can read")
            });
            if let Ok(request) =
                EditRequest::files(&[fitting.pattern.into()], access, bits, paths, Limit::Sensible)
            {
                found.push(Candidate { words, request, caution });
            }
        }
    };
    match part {
        PathQuery::File { path, access } if access.contains(Access::WRITE) => {
            file(path, "write", Access::READ | Access::WRITE, Bits::R.union(Bits::W));
        }
        PathQuery::Socket { path } => {
            file(path, "write", Access::READ | Access::WRITE, Bits::R.union(Bits::W))
        }
        PathQuery::File { path, access } if *access == Access::READ => {
            file(path, "read", Access::READ, Bits::R)
        }
        PathQuery::File { .. } | PathQuery::Start { .. } => found = starting(context, asked, near),
        PathQuery::Connect { .. } | PathQuery::Bind { .. } => {}
    }
    found
}

/// The commands that allow a start: of the program with any arguments, or, if the allowlist has another command
/// of this program, with these arguments only.
fn starting(context: &EditContext, asked: &WhyQuery, near: Option<Near>) -> Vec<Candidate> {
    let Ok(policy) = context.in_force() else { return Vec::new() };
    let (paths, bits) = (&context.paths, Bits::R.union(Bits::X));
    let program = OsString::from(asked.path.clone());
    let pattern = guard_policy::remedy::tilde(&asked.path, context.home());
    let any = EditRequest::programs(std::slice::from_ref(&program), bits, &policy, paths, Limit::Sensible)
        .ok()
        .map(|request| Candidate { words: vec!["exec".to_owned(), pattern], request, caution: None });
    let mut line = vec![program];
    line.extend(asked.argv.iter().skip(1).map(|argument| OsString::from_vec(argument.clone().into_bytes())));
    let these = (asked.operation == Operation::Exec)
        .then(|| EditRequest::command(&line, bits, &policy, paths).ok())
        .flatten()
        .map(|request| {
            let words = ["run".to_owned(), "--".to_owned(), asked.path.clone()].into_iter();
            Candidate {
                words: words.chain(asked.argv.iter().skip(1).cloned()).collect(),
                request,
                caution: None,
            }
        });
    match near {
        Some(Near::OtherArguments) => these.into_iter().chain(any).collect(),
        _ => any.into_iter().chain(these).collect(),
    }
}

fn object(path: &[u8]) -> FileKind {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    match path.symlink_metadata().map(|metadata| metadata.file_type()) {
        Ok(kind) if kind.is_dir() => FileKind::Directory,
        Ok(kind) if kind.is_socket() => FileKind::Socket,
        _ => FileKind::File,
    }
}
