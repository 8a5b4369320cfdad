//! Decides whether the allowlist satisfies a command, and by which rule.

use guard_policy::programs::allow_always::Once;
use guard_policy::programs::starters::is_shell;
use guard_policy::{Exec, Policy, ProgramMatch, Reason, Role, Source};

use super::builtins::is_safe_builtin;
use super::evaluation::{Evaluation, Resolved, SatisfiedBy, Segment, Surroundings};
use super::name::is_path;
use super::packages::{self, Runner};
use super::plan::{self, Trust};
use super::shells::{self, Start};
use super::syntax::{Position, SimpleCommand};
use super::{entries, wrappers};

/// Reads a command and checks each part against the policy's allowlist. Every text has a result.
pub fn evaluate(policy: &Policy, command: &str, around: &Surroundings<'_>) -> Evaluation {
    let plan = plan::plan(command);
    let steps = &plan.script.steps;
    let ask = EvaluationInput { policy, around };
    let strict = policy.strict_inline_eval();
    match &plan.outcome {
        Err(reason) => {
            let (top, nested): (Vec<_>, Vec<_>) =
                steps.iter().partition(|step| step.position == Position::Top);
            let in_order = top.into_iter().chain(nested);
            let segments: Vec<_> = in_order.map(|step| ask.segment(step, None)).collect();
            let allow_always = entries::entries(&segments, around, strict);
            Evaluation { reason: Some(*reason), segments, allow_always, once: Some(Once::NotRead) }
        }
        Ok(candidates) => {
            let segments: Vec<_> = candidates
                .iter()
                .map(|candidate| ask.segment(&steps[candidate.step], Some(candidate.trust)))
                .collect();
            let allow_always = entries::entries(&segments, around, strict);
            let is_unnamed = |segment: &Segment| {
                segment.by == SatisfiedBy::None && entries::entry(segment, around, strict).is_none()
            };
            let once = if candidates.iter().any(|candidate| !candidate.is_reusable) {
                Some(Once::AskedEachTime)
            } else if allow_always.is_empty() || segments.iter().any(is_unnamed) {
                Some(Once::PartUnnamed)
            } else {
                None
            };
            Evaluation { reason: None, segments, allow_always, once }
        }
    }
}

struct EvaluationInput<'a> {
    policy: &'a Policy,
    around: &'a Surroundings<'a>,
}

/// The rule that satisfies a command, and the pattern if the rule is an entry.
struct Authorization {
    by: SatisfiedBy,
    matched: Option<String>,
    reason: Option<Reason<'static>>,
}

impl Authorization {
    const NO: Authorization = Authorization { by: SatisfiedBy::None, matched: None, reason: None };

    fn by(by: SatisfiedBy, reason: Reason<'_>) -> Authorization {
        Authorization { by, matched: None, reason: Some(reason.into_owned()) }
    }

    fn entry(found: &ProgramMatch<'_>) -> Authorization {
        let matched = Some(found.pattern().to_owned());
        Authorization { matched, ..Authorization::by(SatisfiedBy::Allowlist, found.reason()) }
    }
}

impl EvaluationInput<'_> {
    /// Builds the segment of a command; judges the command unless `trust` is `None` or `Asked`.
    fn segment(&self, step: &SimpleCommand, trust: Option<Trust>) -> Segment {
        let unwrapped = wrappers::unwrap(&step.argv);
        let resolved = unwrapped.argv.first().and_then(|name| self.resolve(name));
        let answer = match trust {
            None | Some(Trust::Asked) => Authorization::NO,
            Some(_) => self.judge(step, unwrapped.argv, unwrapped.listed, resolved.as_ref()),
        };
        Segment {
            argv: step.argv.clone(),
            span: step.span.clone(),
            by: answer.by,
            matched: answer.matched,
            reason: answer.reason,
            program: unwrapped.argv.to_vec(),
            resolved,
            blocked: unwrapped.blocked,
            risks: step.risks.clone(),
        }
    }

    fn resolve(&self, name: &str) -> Option<Resolved> {
        (self.around.resolve)(&entries::expanded(name, self.around))
    }

    fn judge(
        &self,
        step: &SimpleCommand,
        program: &[String],
        listed: &[String],
        resolved: Option<&Resolved>,
    ) -> Authorization {
        let entry = match packages::tool(program) {
            Runner::Hidden => None,
            Runner::No => self.listed(program, listed, resolved),
            Runner::Runs(tool) => {
                let unwrapped = wrappers::unwrap(&tool);
                let is_known = unwrapped.blocked.is_none() && shells::code(unwrapped.argv).is_none();
                let resolved = unwrapped.argv.first().and_then(|name| self.resolve(name));
                is_known.then(|| self.listed(unwrapped.argv, unwrapped.listed, resolved.as_ref())).flatten()
            }
        };
        if let Some(found) = entry {
            return Authorization::entry(&found);
        }
        let argv = bytes(program);
        let exec = resolved.map(|resolved| self.exec(&resolved.real, &argv));
        if let Some(reason) = exec.as_ref().and_then(|exec| self.policy.safe_bin(exec)) {
            return Authorization::by(SatisfiedBy::SafeBins, reason);
        }
        if is_safe_builtin(step) {
            let text = "one of the shell's own words, which starts nothing";
            let reason = Reason::new(Source::Builtin, "builtin.shell", text, text);
            return Authorization { by: SatisfiedBy::Builtin, matched: None, reason: Some(reason) };
        }
        let by_name = exec.filter(|_| program.first().is_some_and(|name| !is_path(name)));
        let skill = by_name.as_ref().and_then(|exec| self.policy.skill(exec));
        skill.map_or(Authorization::NO, |reason| Authorization::by(SatisfiedBy::Skills, reason))
    }

    /// Returns the entry that covers this program.
    fn listed(
        &self,
        program: &[String],
        listed: &[String],
        resolved: Option<&Resolved>,
    ) -> Option<ProgramMatch<'_>> {
        let is_shell = program.first().is_some_and(is_shell)
            || resolved.is_some_and(|resolved| is_shell(&resolved.real));
        let code = shells::code(program).filter(|code| code.start == Start::Plain);
        if let Some(code) = code
            && shells::is_carrier(code.text)
        {
            // The arguments that the code passes on are not examined, so an entry that names arguments does not
            // match.
            let carried = [shells::carried(program, &code)?.to_owned()];
            let found = self.entry(&carried, &self.resolve(&carried[0])?);
            return found.filter(|found| !found.names_arguments());
        }
        let target =
            if listed.len() == program.len() { resolved.cloned() } else { self.resolve(listed.first()?) };
        let of_program = target.and_then(|target| self.entry(program, &target)).filter(|found| {
            // An entry for a shell does not cover everything that the shell can be made to run.
            let has_arguments = is_shell && program.len() > 1;
            !has_arguments || found.names_arguments() || found.is_for_any()
        });
        of_program.or_else(|| {
            let (at, script) = shells::script(program).filter(|_| code.is_none())?;
            let path = entries::absolute(script, self.around);
            let real = self.resolve(&path).map_or_else(|| path.clone(), |found| found.real);
            let argv: Vec<_> =
                std::iter::once(path.clone()).chain(program[at + 1..].iter().cloned()).collect();
            self.entry(&argv, &Resolved { path, real })
        })
    }

    fn entry(&self, argv: &[String], target: &Resolved) -> Option<ProgramMatch<'_>> {
        self.policy.entry(&self.exec(&target.real, &bytes(argv)))
    }

    /// Returns the exec to look up in the policy.
    fn exec<'e>(&'e self, real: &'e str, argv: &'e [Vec<u8>]) -> Exec<'e> {
        Exec { path: real.as_bytes(), argv, cwd: self.around.cwd.as_bytes(), role: Role::Program }
    }
}

fn bytes(argv: &[String]) -> Vec<Vec<u8>> {
    argv.iter().map(|argument| argument.as_bytes().to_vec()).collect()
}
