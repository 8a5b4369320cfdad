//! Selects the commands of a text to authorize, or reports why it cannot be authorized.

use guard_policy::programs::name::program_name;
use guard_policy::programs::starters::is_shell;

use super::name::is_path;
use super::reason::Blocker;
use super::risks::Risk;
use super::shells::{self, Start};
use super::syntax::{self, ParsedText, Position, SimpleCommand};
use super::{MAX_LENGTH, wrappers};

/// Which entry can authorize a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// An entry for its program.
    Executable,
    /// Only an entry for exactly this command: it is a shell whose code is not examined.
    Exact,
    /// No entry: each run of the command needs an approval of its own.
    Asked,
}

/// One command to authorize.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its index among the steps.
    pub(super) step: usize,
    pub(super) trust: Trust,
    /// Whether an answer may be saved for the next time.
    pub(super) is_reusable: bool,
}

/// A parsed text, with its commands to authorize or the obstacle to that.
pub(super) struct CommandPlan {
    pub(super) script: ParsedText,
    pub(super) outcome: Result<Vec<Candidate>, Blocker>,
}

/// Parses a command and selects what to authorize.
pub(super) fn plan(command: &str) -> CommandPlan {
    if command.len() > MAX_LENGTH || command.contains('\0') {
        let outcome = Err(if command.len() > MAX_LENGTH { Blocker::TooLong } else { Blocker::SyntaxError });
        return CommandPlan { script: ParsedText::default(), outcome };
    }
    let script = syntax::read(command);
    if let Some(bound) = script.bound {
        return CommandPlan { script: ParsedText::default(), outcome: Err(bound) };
    }
    let asked = asked(&script);
    let outcome = candidates(&script, &asked);
    CommandPlan { script, outcome }
}

fn candidates(script: &ParsedText, asked: &[bool]) -> Result<Vec<Candidate>, Blocker> {
    let top: Vec<usize> = indices(script, |step| step.position == Position::Top);
    let obstacle = script.obstacles.first();
    // A command that needs an approval each time may have dynamic arguments.
    let excused = |owner: &Option<usize>| chain(script, *owner).any(|step| asked[step]);
    let dynamic = script.dynamic.iter().any(|owner| !excused(owner)).then_some(Blocker::DynamicArgument);
    let blocking = obstacle.map(|(reason, _)| *reason).or_else(|| script.shapes.first().copied()).or(dynamic);
    // A single shell with its code is authorized as one command, whatever the code is.
    let only_shell = match top[..] {
        [only] => Some(only).filter(|only| is_shell_code(&script.steps[*only])),
        _ => None,
    };
    let is_inside =
        |step: usize| obstacle.is_none_or(|(_, owner)| chain(script, *owner).any(|owner| owner == step));
    if script.is_broken || blocking.is_some() && !only_shell.is_some_and(is_inside) {
        return Err(blocking.unwrap_or(Blocker::Unparsed));
    }
    let payload = only_shell.filter(|_| blocking.is_none()).and_then(|shell| payload(script, shell));
    let (steps, is_direct) = payload.map_or((top, true), |steps| (steps, false));
    if steps.is_empty() {
        return Err(Blocker::NoCommands);
    }
    Ok(steps.into_iter().map(|step| candidate(script, step, asked[step], is_direct)).collect())
}

fn indices(script: &ParsedText, is_wanted: impl Fn(&SimpleCommand) -> bool) -> Vec<usize> {
    let steps = script.steps.iter().enumerate();
    steps.filter(|(_, step)| is_wanted(step)).map(|(index, _)| index).collect()
}

/// Iterates over a command and the commands that enclose it, outwards.
fn chain(script: &ParsedText, step: Option<usize>) -> impl Iterator<Item = usize> {
    std::iter::successors(step, |step| script.steps[*step].within)
}

/// Returns the commands that need an approval each time, because they or a command inside them are risky.
fn asked(script: &ParsedText) -> Vec<bool> {
    let mut asked = vec![false; script.steps.len()];
    for (index, step) in script.steps.iter().enumerate() {
        if step.risks.iter().any(|risk| risk.is_asked() && *risk != Risk::EnvAssignment) {
            chain(script, Some(index)).for_each(|step| asked[step] = true);
        }
    }
    asked
}

fn is_shell_code(step: &SimpleCommand) -> bool {
    shells::code(&step.argv).is_some()
}

/// Returns the commands of a shell's code, if they can be authorized in place of the shell.
fn payload(script: &ParsedText, shell: usize) -> Option<Vec<usize>> {
    let wrapper = &script.steps[shell];
    let code = shells::code(&wrapper.argv)?;
    let is_plain = !is_path(&wrapper.argv[0])
        && shells::is_read(&wrapper.argv[0])
        && code.start == Start::Plain
        && !wrapper.risks.contains(&Risk::EnvAssignment);
    let steps = indices(script, |step| step.position == Position::Payload && step.within == Some(shell));
    // An entry for a name covers neither a program given by its path nor a skill's wrapper.
    let by_name = |step: &usize| {
        let first = &script.steps[*step].argv[0];
        !is_path(first) && !program_name(first).ends_with("-wrapper")
    };
    (is_plain && !steps.is_empty() && steps.iter().all(by_name)).then_some(steps)
}

fn candidate(script: &ParsedText, index: usize, is_asked: bool, is_direct: bool) -> Candidate {
    let step = &script.steps[index];
    let trust = if wrappers::unwrap(&step.argv).blocked.is_some() || step.risks.contains(&Risk::EnvAssignment)
    {
        Trust::Asked
    } else if is_direct
        && shells::behind_wrappers(&step.argv).is_some_and(|(_, code)| code.start == Start::Plain)
    {
        Trust::Exact
    } else if is_asked {
        Trust::Asked
    } else {
        Trust::Executable
    };
    let is_piped_shell = step.is_piped && is_shell(&step.argv[0]);
    let is_reusable =
        trust == Trust::Executable && !is_piped_shell && !step.risks.contains(&Risk::InlineEval);
    Candidate { step: index, trust, is_reusable }
}
