//! Changes the policy until the engine gives the wanted verdict, or finds that no change of guard.json makes it do so.

use std::sync::Arc;

use guard_policy::{Draft, Outcome, Permission, Policy, Rights, Scope, Source};
use guard_supervisor::config::SetupError;
use serde::Serialize;

use super::context::EditContext;
use super::query::PathQuery;
use super::request::{EditRequest, Need};

/// More steps than a single [`Need`] takes. It takes one for each scope with a denial, one for a rule and one for an
/// allowlist entry.
const MAX_STEPS: usize = 8;

/// What to do with denials in guard.json that block the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denials {
    /// Keep them.
    Keep,
    /// `--remove-deny`
    Remove,
}

/// One change of the policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The key.
    pub key: String,
    /// The old value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// The new value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
}

/// A draft that gives the wanted verdicts.
#[derive(Debug)]
pub struct EditPlan {
    /// The changed policy.
    pub draft: Draft,
    /// The changes; empty if the policy gave these verdicts before.
    pub changes: Vec<Changed>,
    /// When a running guard applies it.
    pub takes_effect: Effect,
}

/// When a running guard applies a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// At the next call.
    AtOnce,
    /// At the next call; but a guard that has left the removed rights to the kernel refuses the policy.
    UnlessKernels,
    /// After a restart: a running guard keeps its list of directories with programs.
    AtNextStart,
}

/// Why no possible change of guard.json is enough.
#[derive(Clone, Debug)]
pub struct Unchangeable {
    /// The question that has the wrong verdict.
    pub part: PathQuery,
    /// The verdict after all changes.
    pub outcome: Outcome,
    /// The verdict's source.
    pub source: Source,
    /// The place of the rule, as in [`guard_policy::Reason::path`].
    pub path: String,
    /// The rule in short.
    pub rule: String,
    /// The reason, as one sentence.
    pub text: String,
    /// A denial in guard.json that could be removed.
    pub denial: Option<(Scope, String)>,
}

/// Why there is no plan.
#[derive(Debug)]
pub enum NoPlan {
    /// Something blocks the change.
    Blocked(Box<Unchangeable>),
    /// The policy is invalid, or would be invalid after the change.
    Setup(SetupError),
    /// The pattern cannot be written in a policy.
    Pattern(guard_policy::BadPattern),
}

impl From<SetupError> for NoPlan {
    fn from(error: SetupError) -> NoPlan {
        NoPlan::Setup(error)
    }
}

impl From<guard_policy::BadPattern> for NoPlan {
    fn from(error: guard_policy::BadPattern) -> NoPlan {
        NoPlan::Pattern(error)
    }
}

/// The verdict that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Allowed without a question.
    Allow(Denials),
    /// Denied without a question.
    Deny,
}

/// Makes the fewest changes that give the wanted verdicts.
///
/// # Errors
/// What blocks the change.
pub fn plan(
    context: &EditContext,
    scope: &Scope,
    request: &EditRequest,
    aim: Aim,
) -> Result<EditPlan, NoPlan> {
    let draft = context.draft()?;
    let before = context.policy(&draft)?;
    let mut making = Making { context, scope, draft, policy: Arc::clone(&before), changes: Vec::new() };
    for need in &request.needs {
        match aim {
            Aim::Allow(denials) => making.allow(need, denials)?,
            Aim::Deny => making.deny(need)?,
        }
    }
    // A later need may have changed the verdict for an earlier one.
    for need in &request.needs {
        making.look(need, aim)?;
    }
    let is_new = |need: &&Need| {
        let PathQuery::Start { path, .. } = &need.part else { return false };
        !before.within_exec_roots(path)
    };
    let takes_effect = match aim {
        Aim::Deny => Effect::UnlessKernels,
        Aim::Allow(_) if request.needs.iter().any(|need| is_new(&need)) => Effect::AtNextStart,
        Aim::Allow(_) => Effect::AtOnce,
    };
    Ok(EditPlan { draft: making.draft, changes: making.changes, takes_effect })
}

struct Making<'g> {
    context: &'g EditContext,
    scope: &'g Scope,
    draft: Draft,
    /// The compiled draft.
    policy: Arc<Policy>,
    changes: Vec<Changed>,
}

impl Making<'_> {
    fn allow(&mut self, need: &Need, denials: Denials) -> Result<(), NoPlan> {
        for _ in 0..MAX_STEPS {
            let verdict = need.part.decide(&self.policy);
            if verdict.outcome == Outcome::Allow {
                return Ok(());
            }
            let path = verdict.reason.path.into_owned();
            let done = match self.denial(&path) {
                Some((scope, pattern)) => denials == Denials::Remove && self.remove(&scope, &pattern)?,
                None => self.grant(need)? || self.list(need)?,
            };
            if !done {
                return self.look(need, Aim::Allow(denials));
            }
        }
        self.look(need, Aim::Allow(denials))
    }

    fn deny(&mut self, need: &Need) -> Result<(), NoPlan> {
        let verdict = need.part.decide(&self.policy);
        // The need is denied only because nothing grants it. A later rule, entry or answer could grant it, so
        // an explicit rule is needed.
        let is_missed =
            verdict.reason.path.ends_with("filesystem.default") || verdict.reason.path.contains("exec.");
        if verdict.outcome != Outcome::Deny || is_missed {
            let rights = self.rights(need);
            self.rule(need, need.bits.withhold(rights))?;
        }
        Ok(())
    }

    /// Checks that the verdict is the wanted one.
    fn look(&self, need: &Need, aim: Aim) -> Result<(), NoPlan> {
        let verdict = need.part.decide(&self.policy);
        let expected = match aim {
            Aim::Allow(_) => Outcome::Allow,
            Aim::Deny => Outcome::Deny,
        };
        if verdict.outcome == expected {
            return Ok(());
        }
        let reason = verdict.reason;
        Err(NoPlan::Blocked(Box::new(Unchangeable {
            part: need.part.clone(),
            outcome: verdict.outcome,
            source: reason.source,
            denial: self.denial(&reason.path),
            rule: reason.rule().to_owned(),
            path: reason.path.into_owned(),
            text: reason.text.into_owned(),
        })))
    }

    /// Adds a rule with the bits, unless they are granted already.
    fn grant(&mut self, need: &Need) -> Result<bool, NoPlan> {
        let rights = self.rights(need);
        let granted = need.bits.grant(rights);
        let is_named = match &need.part {
            PathQuery::Socket { path } => self.policy.names(path),
            _ => true,
        };
        if is_named && granted == rights {
            return Ok(false);
        }
        self.rule(need, granted)
    }

    /// Adds an allowlist entry, if the need has one.
    fn list(&mut self, need: &Need) -> Result<bool, NoPlan> {
        let Some(entry) = &need.entry else { return Ok(false) };
        let agent = self.context.agent();
        let change = self.draft.add_entry(agent, &entry.pattern, entry.arguments.as_deref());
        let is = match &entry.arguments {
            Some(arguments) => format!("{} with {arguments}", entry.pattern),
            None => entry.pattern.clone(),
        };
        let key = Scope::Agent(agent.to_owned()).key("allowlist");
        self.changed(change, Changed { key, was: None, is: Some(is) })
    }

    fn remove(&mut self, scope: &Scope, pattern: &str) -> Result<bool, NoPlan> {
        let change = self.draft.remove_deny(scope, pattern);
        let key = scope.key("permissions.filesystem.deny");
        self.changed(change, Changed { key, was: Some(pattern.to_owned()), is: None })
    }

    /// The rights of the scope's own rule; if there is none, the rights in force.
    fn rights(&self, need: &Need) -> Rights {
        match self.draft.rule(self.scope, &need.rule, self.context.paths.bases()) {
            Some((_, permission)) => permission.0,
            None => need.part.path().map_or(Rights::NONE, |path| self.policy.rights(path)),
        }
    }

    fn rule(&mut self, need: &Need, rights: Rights) -> Result<bool, NoPlan> {
        let old = self.draft.rule(self.scope, &need.rule, self.context.paths.bases());
        let pattern = old.as_ref().map_or(&need.rule, |(written, _)| written).clone();
        let change = self.draft.set_rule(self.scope, &pattern, Permission(rights))?;
        let key = format!("{}[\"{pattern}\"]", self.scope.key("permissions.filesystem.rules"));
        let was = old.map(|(_, permission)| permission.to_string());
        self.changed(change, Changed { key, was, is: Some(rights.to_string()) })
    }

    fn changed(&mut self, change: guard_policy::Change, changed: Changed) -> Result<bool, NoPlan> {
        if change == guard_policy::Change::Needless {
            return Ok(false);
        }
        self.policy = self.context.policy(&self.draft)?;
        match self
            .changes
            .iter_mut()
            .find(|other| other.key == changed.key && other.is.is_some() && changed.was == other.is)
        {
            Some(other) => other.is = changed.is,
            None => self.changes.push(changed),
        }
        Ok(true)
    }

    /// The denial of guard.json at this place, if there is one.
    fn denial(&self, path: &str) -> Option<(Scope, String)> {
        let agent = |name: &str| Scope::Agent(name.to_owned());
        [agent(self.context.agent()), agent("*"), Scope::Everyone].into_iter().find_map(|scope| {
            let list = scope.key("permissions.filesystem.deny");
            let pattern = path.strip_prefix(&list)?.strip_prefix("[\"")?.strip_suffix("\"]")?;
            Some((scope, pattern.to_owned()))
        })
    }
}

/// Adds denials that come before every rule.
///
/// # Errors
/// When a pattern cannot be written in a policy.
pub fn deny_all(context: &EditContext, scope: &Scope, request: &EditRequest) -> Result<EditPlan, NoPlan> {
    let draft = context.draft()?;
    let policy = context.policy(&draft)?;
    let mut making = Making { context, scope, draft, policy, changes: Vec::new() };
    for need in &request.needs {
        let change = making.draft.add_deny(scope, &need.rule)?;
        let key = scope.key("permissions.filesystem.deny");
        making.changed(change, Changed { key, was: None, is: Some(need.rule.clone()) })?;
    }
    Ok(EditPlan { draft: making.draft, changes: making.changes, takes_effect: Effect::UnlessKernels })
}
