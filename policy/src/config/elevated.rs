//! `elevated`: who may have a command run outside the guard, and when that is asked about.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allowlist_entry::AllowlistEntry;
use super::schema_patterns::NAME;

/// The channel of a guard that was started without a sender.
pub const LOCAL: &str = "local";

/// When a command outside the guard is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElevatedLevel {
    /// Nothing runs outside.
    #[default]
    Off,
    /// Every command is asked about.
    Ask,
    /// What is not in `elevated.allowlist` is asked about.
    On,
    /// Nothing is asked, where `exec.security` is full and `exec.ask` is off. Elsewhere the same as on.
    Full,
}

impl ElevatedLevel {
    /// Every value, as written.
    pub const NAMES: [&'static str; 4] = ["off", "ask", "on", "full"];

    /// The value's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The value of that name.
    pub fn from_name(name: &str) -> Option<ElevatedLevel> {
        [ElevatedLevel::Off, ElevatedLevel::Ask, ElevatedLevel::On, ElevatedLevel::Full]
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

/// `elevated`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct ElevatedSection {
    /// Whether a command may be run outside the guard at all, after a yes. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// Who may ask for that, by channel: ids, `id:`, `from:`, `e164:`, `name:`, `username:`, `tag:`, or `*`. Default:
    /// nobody. The channel of a guard without --sender is `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("additionalProperties" = { "type": "array", "items": { "type": "string", "pattern": NAME } }))]
    pub(crate) allow_from: Option<BTreeMap<String, Vec<String>>>,
    /// The level of a guard whose command line has no --elevated. Default: off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<ElevatedLevel>,
    /// Programs with their arguments that run outside unasked in level on. Entries of the agents' allowlists count inside
    /// only. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowlist: Vec<AllowlistEntry>,
}

/// `agents.A.elevated`, which only takes away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct AgentElevated {
    /// With false, nothing runs outside the guard for this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// Of those that `elevated.allowFrom` names, the ones who may ask for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("additionalProperties" = { "type": "array", "items": { "type": "string", "pattern": NAME } }))]
    pub(crate) allow_from: Option<BTreeMap<String, Vec<String>>>,
}

/// Who the session of a guard is with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElevatedSender {
    channel: String,
    /// A kind and a value: `id`, `from`, `e164`, `name`, `username`, `tag`.
    names: Vec<(String, String)>,
}

/// The kinds of a sender's names. An entry without a kind means one of the first three, which the sender cannot choose.
const KINDS: [&str; 6] = ["id", "from", "e164", "name", "username", "tag"];
const FIXED: usize = 3;

/// Why the given senders are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SenderError {
    /// A sender is written in another form.
    #[error("must be CHANNEL:WHO or CHANNEL:KIND:WHO, such as telegram:42")]
    Form,
    /// Several senders have no channel in common.
    #[error("--sender: all must be of one channel")]
    Channels,
}

impl ElevatedSender {
    /// The sender of a guard that was started without one.
    pub fn local() -> ElevatedSender {
        ElevatedSender { channel: LOCAL.to_owned(), names: Vec::new() }
    }

    /// Reads `CHANNEL:WHO` or `CHANNEL:KIND:WHO`.
    ///
    /// # Errors
    /// [`SenderError::Form`].
    pub fn parse(text: &str) -> Result<ElevatedSender, SenderError> {
        let (channel, who) = text.split_once(':').ok_or(SenderError::Form)?;
        let (kind, name) = kind_of(who).unwrap_or(("id", who));
        if channel.trim().is_empty() || name.trim().is_empty() || channel == LOCAL {
            return Err(SenderError::Form);
        }
        let names = vec![(kind.to_owned(), name.trim().to_owned())];
        Ok(ElevatedSender { channel: channel.trim().to_owned(), names })
    }

    /// All names of several senders, if they are of one channel.
    ///
    /// # Errors
    /// [`SenderError::Channels`].
    pub fn joined(all: &[ElevatedSender]) -> Result<ElevatedSender, SenderError> {
        let Some(first) = all.first() else { return Ok(ElevatedSender::local()) };
        if all.iter().any(|one| one.channel != first.channel) {
            return Err(SenderError::Channels);
        }
        let names = all.iter().flat_map(|one| one.names.clone()).collect();
        Ok(ElevatedSender { channel: first.channel.clone(), names })
    }

    fn is_in(&self, lists: Option<&BTreeMap<String, Vec<String>>>) -> bool {
        let entries = lists.and_then(|lists| lists.get(&self.channel));
        entries.into_iter().flatten().any(|entry| self.is(entry.trim()))
    }

    fn is(&self, entry: &str) -> bool {
        if entry == "*" {
            return true;
        }
        let (kinds, wanted) = match kind_of(entry) {
            Some((kind, wanted)) => (vec![kind], wanted),
            None => (KINDS[..FIXED].to_vec(), entry),
        };
        let wanted = wanted.trim();
        !wanted.is_empty()
            && self.names.iter().any(|(kind, name)| kinds.contains(&kind.as_str()) && name == wanted)
    }
}

fn kind_of(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(kind, _)| KINDS.contains(kind))
}

/// A gate that is shut: its name and the key that shuts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGate {
    name: &'static str,
    key: String,
}

impl FailedGate {
    /// A gate that something other than the policy has shut.
    pub fn new(name: &'static str, key: &str) -> FailedGate {
        FailedGate { name, key: key.to_owned() }
    }
}

impl fmt::Display for FailedGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.key)
    }
}

/// The sentence of a refusal, as OpenClaw has it.
pub fn unavailable(failing: &[FailedGate]) -> String {
    let names = failing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("elevated is not available right now (runtime=direct). Failing gates: {names}")
}

/// `elevated` and the agents' sections, for one agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElevatedSettings {
    section: ElevatedSection,
    /// The sections of `*` and of the agent, by the prefix of their keys.
    agents: Vec<(String, AgentElevated)>,
    /// The entry of `tools` that denies `exec`, if one does.
    tools: Option<String>,
}

impl ElevatedSettings {
    pub(crate) fn new(
        section: ElevatedSection,
        agents: Vec<(String, AgentElevated)>,
        tools: Option<String>,
    ) -> ElevatedSettings {
        ElevatedSettings { section, agents, tools }
    }

    /// `elevated.enabled`.
    pub fn enabled(&self) -> bool {
        self.section.enabled.unwrap_or(false)
    }

    /// `elevated.default`.
    pub fn default_level(&self) -> ElevatedLevel {
        self.section.default.unwrap_or_default()
    }

    /// `elevated.allowFrom` in words: `telegram 42, local *`.
    pub(crate) fn senders(&self) -> String {
        let lists = self.section.allow_from.iter().flatten();
        let all = lists.flat_map(|(channel, list)| list.iter().map(move |who| format!("{channel} {who}")));
        all.collect::<Vec<_>>().join(", ")
    }

    /// The gates that are shut, in the order in which they are tried.
    pub fn failing(&self, sender: &ElevatedSender, level: ElevatedLevel) -> Vec<FailedGate> {
        let gate = |name, key: String| FailedGate { name, key };
        let channel = &sender.channel;
        let mut failing = Vec::new();
        if !self.enabled() {
            failing.push(gate("enabled", "elevated.enabled".to_owned()));
        }
        if !sender.is_in(self.section.allow_from.as_ref()) {
            failing.push(gate("allowFrom", format!("elevated.allowFrom.{channel}")));
        }
        for (prefix, agent) in &self.agents {
            if agent.enabled == Some(false) {
                failing.push(gate("enabled", format!("{prefix}.enabled")));
            }
            if agent.allow_from.is_some() && !sender.is_in(agent.allow_from.as_ref()) {
                failing.push(gate("allowFrom", format!("{prefix}.allowFrom.{channel}")));
            }
        }
        failing.extend(self.tools.clone().map(|key| gate("tools", key)));
        if level == ElevatedLevel::Off {
            failing.push(gate("level", "elevated.default".to_owned()));
        }
        failing
    }
}
