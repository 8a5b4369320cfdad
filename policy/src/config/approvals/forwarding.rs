//! `approvals.exec`: the chats to which a question is forwarded. Follows OpenClaw 2026.7.35 and 2026.9.6
//! (src/infra/exec-approval-forwarder.ts, approval-request-filters.ts).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Number;

use crate::config::schema_patterns::NOT_EMPTY;
use crate::paths::expansion::trim;
use crate::programs::allowlist::expression;

/// `approvals.exec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct Forwarding {
    /// Whether questions are forwarded. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// The destination. Default: session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<ForwardingMode>,
    /// The agents whose questions are forwarded. Default, also if empty: every agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_filter: Option<Vec<String>>,
    /// The sessions whose questions are forwarded: parts of a session's key, or regular expressions. Default, also if
    /// empty: every session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_filter: Option<Vec<String>>,
    /// The chats. A question is forwarded only to the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) targets: Option<Vec<TurnSource>>,
}

/// `approvals.exec.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ForwardingMode {
    /// To the chat of the session.
    #[default]
    Session,
    /// To `targets`.
    Targets,
    /// To both.
    Both,
}

impl ForwardingMode {
    /// Every value, as written.
    pub(crate) const NAMES: [&'static str; 3] = ["session", "targets", "both"];

    pub(crate) fn from_name(name: &str) -> Option<ForwardingMode> {
        match name {
            "session" => Some(ForwardingMode::Session),
            "targets" => Some(ForwardingMode::Targets),
            "both" => Some(ForwardingMode::Both),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A chat, as the `turnSource…` fields of `exec.approval.request` name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct TurnSource {
    /// The channel: slack, telegram, discord.
    #[schemars(regex(pattern = NOT_EMPTY))]
    pub channel: String,
    /// The recipient, as the channel names it.
    #[schemars(regex(pattern = NOT_EMPTY))]
    pub to: String,
    /// OpenClaw's account on that channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_id: Option<String>,
    /// The thread or topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
}

/// A thread: Slack's are text, Telegram's numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum ThreadId {
    /// As text.
    Text(String),
    /// As a number.
    Number(Number),
}

impl JsonSchema for ThreadId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ThreadId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [{ "type": "string" }, { "type": "number" }] })
    }
}

/// The recipient of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient<'f> {
    /// The session's own chat. The gateway finds it by the session's key.
    Session,
    /// This chat.
    Target(&'f TurnSource),
}

/// OpenClaw matches an expression against at most this much of each end of a session's key. In UTF-16 units.
const WINDOW: usize = 2048;

impl Forwarding {
    /// Returns the recipients of a question from this agent and session, in OpenClaw's order and without duplicates.
    /// Empty if forwarding is off or a filter excludes the question. A request can carry only the first recipient.
    pub fn recipients(&self, agent: &str, session_key: Option<&str>) -> Vec<Recipient<'_>> {
        let session_key = session_key.map(trim).filter(|key| !key.is_empty());
        if !self.enabled.unwrap_or(false) || !self.accepts(agent, session_key) {
            return Vec::new();
        }
        let mode = self.mode.unwrap_or_default();
        let mut recipients = Vec::new();
        if mode != ForwardingMode::Targets && session_key.is_some() {
            recipients.push(Recipient::Session);
        }
        if mode != ForwardingMode::Session {
            for target in self.targets.iter().flatten().map(Recipient::Target) {
                if !recipients.contains(&target) {
                    recipients.push(target);
                }
            }
        }
        recipients
    }

    /// Whether both filters accept the question. A filter rejects a question that lacks the value it tests.
    fn accepts(&self, agent: &str, session_key: Option<&str>) -> bool {
        let of_key = session_key.and_then(agent_of);
        let agent = Some(trim(agent)).filter(|agent| !agent.is_empty()).or(of_key.as_deref());
        let agents = self.agent_filter.as_deref().unwrap_or_default();
        let sessions = self.session_filter.as_deref().unwrap_or_default();
        (agents.is_empty() || agent.is_some_and(|agent| agents.iter().any(|allowed| allowed == agent)))
            && (sessions.is_empty()
                || session_key.is_some_and(|key| sessions.iter().any(|pattern| is_meant(pattern, key))))
    }

    /// A short summary for `policy show`.
    pub(crate) fn summary(&self) -> String {
        if !self.enabled.unwrap_or(false) {
            return "off".to_owned();
        }
        let targets = self.targets.iter().flatten().map(|target| format!("{}:{}", target.channel, target.to));
        let mode = self.mode.unwrap_or_default().as_str().to_owned();
        std::iter::once(mode).chain(targets).collect::<Vec<_>>().join(", ")
    }

    /// Warnings about settings that may not do what the operator meant.
    pub(crate) fn remarks(&self) -> Vec<String> {
        if !self.enabled.unwrap_or(false) {
            return if *self == Forwarding::default() {
                Vec::new()
            } else {
                vec!["approvals.exec: has no effect without \"enabled\": true".to_owned()]
            };
        }
        let mut remarks = Vec::new();
        let targets = self.targets.as_deref().unwrap_or_default();
        match self.mode.unwrap_or_default() {
            ForwardingMode::Session if !targets.is_empty() => {
                remarks.push("approvals.exec.targets: has no effect with \"mode\": \"session\"".to_owned());
            }
            ForwardingMode::Targets if targets.is_empty() => remarks.push(
                "approvals.exec.targets: is empty, so \"mode\": \"targets\" forwards nothing".to_owned(),
            ),
            ForwardingMode::Both if !targets.is_empty() => remarks.push(format!(
                "approvals.exec.targets: {ONE_PLACE}: the session's chat where a session is known, else the first \
                 target. {ELSEWHERE}"
            )),
            ForwardingMode::Targets if targets.len() > 1 => {
                remarks.push(format!("approvals.exec.targets: {ONE_PLACE}, the first. {ELSEWHERE}"));
            }
            _ => {}
        }
        for (i, pattern) in self.session_filter.iter().flatten().enumerate() {
            if !trim(pattern).is_empty() && expression::compile(trim(pattern)).is_none() {
                remarks.push(format!(
                    "approvals.exec.sessionFilter[{i}]: is not a regular expression, has look-around, or could \
                     take forever, so it is compared literally"
                ));
            }
        }
        remarks
    }
}

const ONE_PLACE: &str = "a request names one place only";
const ELSEWHERE: &str = "For the others set approvals.exec in OpenClaw's own configuration";

/// Whether a filter matches a session's key, as a substring or as a regular expression.
fn is_meant(pattern: &str, key: &str) -> bool {
    if key.contains(pattern) {
        return true;
    }
    let pattern = trim(pattern);
    // An empty expression would match every key; OpenClaw ignores it.
    let Some(regex) = expression::compile(pattern).filter(|_| !pattern.is_empty()) else { return false };
    let units: Vec<char> = expression::subject(key).chars().collect();
    let finds = |units: &[char]| regex.is_match(units.iter().collect::<String>().as_bytes());
    match units.len().checked_sub(WINDOW) {
        None => finds(&units),
        Some(over) => finds(&units[..WINDOW]) || finds(&units[over..]),
    }
}

/// The agent named in a session's key (`agent:NAME:…`), in lower case.
fn agent_of(key: &str) -> Option<String> {
    let key = key.to_lowercase();
    let (agent, rest) = key.strip_prefix("agent:")?.split_once(':')?;
    let agent = trim(agent);
    (!agent.is_empty() && !rest.is_empty() && !rest.starts_with(':')).then(|| agent.to_owned())
}
