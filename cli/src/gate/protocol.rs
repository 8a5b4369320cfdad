//! What the plugin sends and gets: one line of JSON each.

use guard_policy::text::shown;
use guard_policy::{Outcome, Reason};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The maximum length of a question, in bytes. The plugin blocks longer calls itself.
pub const MAX_QUESTION: u64 = 4 << 20;
/// The maximum length of an approval's title and of its description, in characters. OpenClaw cuts longer ones.
const MAX_TITLE: usize = 80;
const MAX_DESCRIPTION: usize = 512;
/// The maximum length of a sentence for the model, in bytes.
const MAX_TEXT: usize = 600;

/// A call that OpenClaw is about to make.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    /// The version of the protocol: 1.
    pub v: u32,
    /// The tool, as OpenClaw calls it.
    pub tool: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// The paths that OpenClaw found in the parameters. There may be others.
    #[serde(default)]
    pub derived_paths: Vec<String>,
    pub agent_id: Option<String>,
    pub session_key: Option<String>,
    pub run_id: Option<String>,
    pub tool_call_id: Option<String>,
    pub requester: Option<Requester>,
}

/// Who sent the message of the run. A missing field is not known.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requester {
    pub channel: Option<String>,
    pub account_id: Option<String>,
    pub sender_id: Option<String>,
    pub sender_name: Option<String>,
    pub sender_username: Option<String>,
    pub sender_e164: Option<String>,
    pub sender_is_owner: Option<bool>,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct Answer {
    v: u32,
    pub outcome: Outcome,
    #[serde(rename = "because")]
    reason: AnswerReason,
    /// One sentence.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<RequiredApproval>,
}

#[derive(Debug, Serialize)]
struct AnswerReason {
    source: &'static str,
    path: String,
    text: String,
}

/// What a human is asked: OpenClaw's `requireApproval`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequiredApproval {
    title: String,
    description: String,
    severity: &'static str,
    timeout_ms: u64,
    allowed_decisions: [&'static str; 2],
}

impl Answer {
    /// The answer for a verdict on a call: `subject` is the tool and what it reaches for.
    pub fn new(outcome: Outcome, by: &Reason<'_>, subject: &str, timeout_ms: u64) -> Answer {
        let subject = shown(subject.as_bytes());
        let rule = shown(by.rule().as_bytes());
        let why = shown(by.text.as_bytes());
        let text = match outcome {
            Outcome::Allow => format!("openclaw-guard: allowed {subject}"),
            Outcome::Deny => format!("openclaw-guard: denied {subject} ({rule}: {why})"),
            Outcome::Ask => format!("openclaw-guard: asks about {subject} ({rule}: {why})"),
        };
        let approval = (outcome == Outcome::Ask).then(|| RequiredApproval {
            title: cut(&format!("openclaw-guard: {subject}"), MAX_TITLE),
            description: cut(&format!("{subject}: {why} ({rule})"), MAX_DESCRIPTION),
            severity: "warning",
            timeout_ms,
            allowed_decisions: ["allow-once", "deny"],
        });
        let reason =
            AnswerReason { source: by.source.as_str(), path: by.path.to_string(), text: why.clone() };
        Answer { v: 1, outcome, reason, text: cut(&text, MAX_TEXT), approval }
    }

    /// The line.
    pub fn line(&self) -> String {
        // Serializing strings, numbers and structures of them cannot fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}
