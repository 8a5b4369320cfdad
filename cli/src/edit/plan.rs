//! What must be changed until the engine says what is wanted; nothing, where no change of guard.json makes it say so.

use std::sync::Arc;

use guard_policy::{Draft, Outcome, Permission, Policy, Rights, Scope, Source};
use guard_supervisor::config::SetupError;
use serde::Serialize;

use super::context::EditContext;
use super::query::PathQuery;
use super::request::{EditRequest, Need};

/// More than one need takes: a denial of each scope, a rule, an entry.
const MAX_STEPS: usize = 8;

/// What to do with denials of guard.json that are in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denials {
    /// They are meant.
    Keep,
    /// `--remove-deny`
    Remove,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The key.
    pub key: String,
    /// What it said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// What it says now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
}

/// A text by which it would be so.
#[derive(Debug)]
pub struct EditPlan {
    /// The text.
    pub draft: Draft,
    /// In what it differs; nothing where it was so before.
    pub changes: Vec<Changed>,
    /// When it is in force for a guard that runs.
    pub takes_effect: Effect,
}

/// When a change is in force for a guard that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// With the next call.
    AtOnce,
    /// The same, but a guard that has left what is taken away to the kernel refuses the policy.
    UnlessKernels,
    /// It must be started again: it keeps the places where programs may start.
    AtNextStart,
}

/// Why no change of guard.json that could be made here is enough.
#[derive(Clone, Debug)]
pub struct Unchangeable {
    /// About what.
    pub part: PathQuery,
    /// What the engine says with all the changes made.
    pub outcome: Outcome,
    /// Who.
    pub source: Source,
    /// Where, as [`guard_policy::Reason::path`].
    pub path: String,
    /// The place and what it says, in short.
    pub rule: String,
    /// One sentence.
    pub text: String,
    /// A denial of guard.json that could be removed.
    pub denial: Option<(Scope, String)>,
}

/// Why there is no plan.
#[derive(Debug)]
pub enum NoPlan {
    /// Something keeps it as it is.
    Kept(Box<Unchangeable>),
    /// The policy is wrong, or would be.
    Setup(SetupError),
    /// It cannot be written.
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

/// What is to come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// It is allowed, without a question.
    Allow(Denials),
    /// It is refused, without a question.
    Deny,
}

/// Changes the policy as little as it must.
///
/// # Errors
/// What keeps it as it is.
pub fn plan(ground: &EditContext, scope: &Scope, wish: &EditRequest, aim: Aim) -> Result<EditPlan, NoPlan> {
    let draft = ground.draft()?;
    let before = ground.policy(&draft)?;
    let mut making = Making { ground, scope, draft, policy: Arc::clone(&before), changes: Vec::new() };
    for need in &wish.needs {
        match aim {
            Aim::Allow(denials) => making.allow(need, denials)?,
            Aim::Deny => making.deny(need)?,
        }
    }
    // What the first need got may not be what the next one left.
    for need in &wish.needs {
        making.look(need, aim)?;
    }
    let is_new = |need: &&Need| {
        let PathQuery::Start { path, .. } = &need.part else { return false };
        !before.within_exec_roots(path)
    };
    let takes_effect = match aim {
        Aim::Deny => Effect::UnlessKernels,
        Aim::Allow(_) if wish.needs.iter().any(|need| is_new(&need)) => Effect::AtNextStart,
        Aim::Allow(_) => Effect::AtOnce,
    };
    Ok(EditPlan { draft: making.draft, changes: making.changes, takes_effect })
}

struct Making<'g> {
    ground: &'g EditContext,
    scope: &'g Scope,
    draft: Draft,
    /// The draft's.
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
            let path = verdict.because.path.into_owned();
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
        // What nothing grants may be granted by the next rule, entry or answer.
        let is_missed =
            verdict.because.path.ends_with("filesystem.default") || verdict.because.path.contains("exec.");
        if verdict.outcome != Outcome::Deny || is_missed {
            let rights = self.rights(need);
            self.rule(need, need.bits.withhold(rights))?;
        }
        Ok(())
    }

    /// That it is as it was wanted.
    fn look(&self, need: &Need, aim: Aim) -> Result<(), NoPlan> {
        let verdict = need.part.decide(&self.policy);
        let wanted = match aim {
            Aim::Allow(_) => Outcome::Allow,
            Aim::Deny => Outcome::Deny,
        };
        if verdict.outcome == wanted {
            return Ok(());
        }
        let because = verdict.because;
        Err(NoPlan::Kept(Box::new(Unchangeable {
            part: need.part.clone(),
            outcome: verdict.outcome,
            source: because.source,
            denial: self.denial(&because.path),
            rule: because.rule().to_owned(),
            path: because.path.into_owned(),
            text: because.text.into_owned(),
        })))
    }

    /// Gives the bits, unless the map grants them.
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

    /// Puts it into the allowlist, if it has a place there.
    fn list(&mut self, need: &Need) -> Result<bool, NoPlan> {
        let Some(entry) = &need.entry else { return Ok(false) };
        let agent = self.ground.agent();
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

    /// What a rule of the scope says, or where there is none, what holds now.
    fn rights(&self, need: &Need) -> Rights {
        match self.draft.rule(self.scope, &need.rule, self.ground.home()) {
            Some((_, permission)) => permission.0,
            None => need.part.path().map_or(Rights::NONE, |path| self.policy.rights(path)),
        }
    }

    fn rule(&mut self, need: &Need, rights: Rights) -> Result<bool, NoPlan> {
        let old = self.draft.rule(self.scope, &need.rule, self.ground.home());
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
        self.policy = self.ground.policy(&self.draft)?;
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

    /// The denial of guard.json at a place.
    fn denial(&self, path: &str) -> Option<(Scope, String)> {
        let agent = |name: &str| Scope::Agent(name.to_owned());
        [agent(self.ground.agent()), agent("*"), Scope::Everyone].into_iter().find_map(|scope| {
            let list = scope.key("permissions.filesystem.deny");
            let pattern = path.strip_prefix(&list)?.strip_prefix("[\"")?.strip_suffix("\"]")?;
            Some((scope, pattern.to_owned()))
        })
    }
}

/// Denies files before every rule.
///
/// # Errors
/// When a pattern cannot be written.
pub fn deny_all(ground: &EditContext, scope: &Scope, wish: &EditRequest) -> Result<EditPlan, NoPlan> {
    let draft = ground.draft()?;
    let policy = ground.policy(&draft)?;
    let mut making = Making { ground, scope, draft, policy, changes: Vec::new() };
    for need in &wish.needs {
        let change = making.draft.add_deny(scope, &need.rule)?;
        let key = scope.key("permissions.filesystem.deny");
        making.changed(change, Changed { key, was: None, is: Some(need.rule.clone()) })?;
    }
    Ok(EditPlan { draft: making.draft, changes: making.changes, takes_effect: Effect::UnlessKernels })
}
