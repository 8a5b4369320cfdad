//! Verdicts and their reasons.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer to a [`crate::Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Refused.
    Deny,
    /// A human decides.
    Ask,
    /// Allowed.
    Allow,
}

impl Outcome {
    /// Every value, as written in `guard.json`.
    pub const NAMES: [&'static str; 3] = ["deny", "ask", "allow"];

    /// The value's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The value of that name.
    pub fn from_name(name: &str) -> Option<Outcome> {
        [Outcome::Deny, Outcome::Ask, Outcome::Allow].into_iter().find(|outcome| outcome.as_str() == name)
    }
}

/// Who wrote the rule or value that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `agents.NAME` or `agents."*"` in `guard.json`.
    Agent,
    /// The top level of `guard.json`.
    Global,
    /// The template that `guard.json` extends.
    Template,
    /// A project's own file.
    Project,
    /// A value that `guard.json` leaves out.
    Default,
    /// What the guard brings: the base, its own files, the policy without a file.
    Builtin,
    /// OpenClaw's own approvals store.
    Openclaw,
    /// The guard's own approvals store: what a human has answered with "always".
    Saved,
    /// The command line or the guard's environment.
    Operator,
}

impl Source {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Agent => "agent",
            Source::Global => "global",
            Source::Template => "template",
            Source::Project => "project",
            Source::Default => "default",
            Source::Builtin => "builtin",
            Source::Openclaw => "openclaw",
            Source::Saved => "saved",
            Source::Operator => "operator",
        }
    }
}

/// Why a verdict is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason<'p> {
    /// Who wrote it.
    pub source: Source,
    /// Where: `permissions.filesystem.rules["~/work/**"]`.
    pub path: Cow<'p, str>,
    /// One sentence for a human.
    pub text: Cow<'p, str>,
    rule: Cow<'p, str>,
    /// Whether a denial gets no line on the terminal.
    #[serde(rename = "quiet", skip_serializing_if = "std::ops::Not::not")]
    is_quiet: bool,
}

/// The config path of denials that get a line in the audit log and none on the terminal.
pub(crate) const UNMENTIONED: &str = "builtin.unmentioned";
/// The config path of what persistence keeps from writing, without the set's name.
pub(crate) const PERSISTENCE: &str = "permissions.persistence.";
/// The config path of denials that hold even if nothing else is blocked (`--observe`).
pub(crate) const ABSOLUTE: &str = "builtin.page";

impl<'p> Reason<'p> {
    /// A reason from outside the policy; `rule` is its short form.
    pub fn new(
        source: Source,
        path: impl Into<Cow<'p, str>>,
        rule: impl Into<Cow<'p, str>>,
        text: impl Into<Cow<'p, str>>,
    ) -> Reason<'p> {
        Reason { source, path: path.into(), text: text.into(), rule: rule.into(), is_quiet: false }
    }

    /// A reason from outside the policy for what happens in ordinary work: see [`Reason::is_unmentioned`].
    pub fn unmentioned(text: impl Into<Cow<'p, str>>) -> Reason<'p> {
        let text = text.into();
        Reason::new(Source::Builtin, UNMENTIONED, text.clone(), text)
    }

    /// The same reason for another file. `what` says how that file relates to the one that the reason is about, such as
    /// a copy of it; `more` follows it in the long form.
    pub(crate) fn about(self, what: &str, more: &str) -> Reason<'p> {
        let rule = format!("{what}: {}", self.rule).into();
        let text = format!("{what}{more}: {}", self.text).into();
        Reason { rule, text, ..self }
    }

    /// The short form for one line on a terminal: `permissions.filesystem.deny "~/.ssh/**"`.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// The same reason, for a path that the policy lists as quiet.
    pub(crate) fn quietly(self) -> Reason<'p> {
        Reason { is_quiet: true, ..self }
    }

    /// Whether the reason is that something would run outside the guard (`permissions.persistence`).
    pub fn is_persistence(&self) -> bool {
        self.source == Source::Builtin && self.path.starts_with(PERSISTENCE)
    }

    /// Whether the policy lists the path as quiet: the log has the denial, and a terminal gets no line.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// What distinguishes the rule from others that ask: its place, and its short form.
    pub fn asking(&self) -> String {
        format!("{} {}", self.path, self.rule)
    }

    /// Whether a denial for this reason happens in ordinary work and deserves no line on a terminal.
    pub fn is_unmentioned(&self) -> bool {
        self.is_quiet || self.source == Source::Builtin && self.path.starts_with(UNMENTIONED)
    }

    /// Whether a denial for this reason holds even where nothing else is blocked (`--observe`), because what it closes
    /// can answer for guards that do block.
    pub fn is_absolute(&self) -> bool {
        self.source == Source::Builtin && self.path == ABSOLUTE
    }

    /// The same reason, owned, for a record that outlives the policy.
    pub fn into_owned(self) -> Reason<'static> {
        Reason {
            source: self.source,
            path: Cow::Owned(self.path.into_owned()),
            text: Cow::Owned(self.text.into_owned()),
            rule: Cow::Owned(self.rule.into_owned()),
            is_quiet: self.is_quiet,
        }
    }
}

/// Who decided, in the form in which it is reported. Built once, so that an allowed request allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct CompiledReason {
    pub(crate) source: Source,
    pub(crate) path: String,
    pub(crate) rule: String,
    pub(crate) text: String,
}

impl CompiledReason {
    pub(crate) fn to_reason(&self) -> Reason<'_> {
        Reason::new(self.source, self.path.as_str(), self.rule.as_str(), self.text.as_str())
    }
}

/// An answer with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use = "a verdict that nobody reads guards nothing"]
pub struct Verdict<'p> {
    /// The answer.
    pub outcome: Outcome,
    /// The reason.
    #[serde(rename = "because")]
    pub reason: Reason<'p>,
}
