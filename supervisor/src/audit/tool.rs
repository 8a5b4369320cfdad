//! A decision about a call of one of OpenClaw's tools.
//!
//! Its line has the fields of every decision, so that every reader of decisions can read it: `path` is what the call
//! reaches for, and `argv` has the tool's name.

use guard_openclaw::peer::proc::Tid;
use guard_policy::{Outcome, Reason};
use jiff::Timestamp;
use serde::Serialize;

use super::reason::RecordReason;
use super::{Operation, Secrets};

/// The most bytes of a call's text in a line. A model chooses how long that text is.
const MAX_TEXT: usize = 1024;

/// A decision about a call.
#[derive(Clone, Debug)]
pub struct ToolEvent {
    /// The gateway's process.
    pub pid: Tid,
    /// The tool.
    pub tool: String,
    /// What the call reaches for: a real path, an address, a command. Empty if the tool alone decides.
    pub target: Vec<u8>,
    /// What the call does with the target; None if the tool alone decides.
    pub access: Option<Operation>,
    /// The decision.
    pub outcome: Outcome,
    /// The reason for it.
    pub reason: Reason<'static>,
    /// Whether the target is what the call means. Otherwise the target is only how another release may read the same text.
    pub is_meant: bool,
    /// Whether the call goes on whatever the decision is, because the service runs with `--observe`.
    pub is_observed: bool,
    /// Microseconds from the request to the decision.
    pub micros: u64,
    /// Who called.
    pub caller: ToolCaller,
}

/// Who called a tool, according to the gateway. What the gateway does not say is absent.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCaller {
    /// The agent whose policy counted.
    #[serde(skip)]
    pub agent: String,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// The line, with its fields in the order of other decisions.
#[derive(Serialize)]
pub(super) struct ToolLine<'a> {
    time: String,
    session: &'a str,
    agent: &'a str,
    pid: Tid,
    operation: Operation,
    path: String,
    argv: [&'a str; 1],
    verdict: Outcome,
    because: RecordReason<'a>,
    tier: &'static str,
    micros: u64,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<Operation>,
    #[serde(rename = "reading", skip_serializing_if = "std::ops::Not::not")]
    is_reading: bool,
    #[serde(rename = "observed", skip_serializing_if = "std::ops::Not::not")]
    is_observed: bool,
    #[serde(flatten)]
    caller: &'a ToolCaller,
}

impl<'a> ToolLine<'a> {
    pub(super) fn new(session: &'a str, secrets: &Secrets, event: &'a ToolEvent) -> ToolLine<'a> {
        let text = String::from_utf8_lossy(&event.target).into_owned();
        // A command or an address may contain a secret. A path is written as it is, because it is the place of the denial.
        let is_path = matches!(event.access, Some(Operation::Read | Operation::Write));
        let text = if is_path { text } else { secrets.masked_text(&text) };
        ToolLine {
            time: Timestamp::now().to_string(),
            session,
            agent: &event.caller.agent,
            pid: event.pid,
            operation: Operation::Tool,
            path: shortened(text),
            argv: [&event.tool],
            verdict: event.outcome,
            because: RecordReason::from(&event.reason),
            tier: "gate",
            micros: event.micros,
            tool: &event.tool,
            access: event.access,
            is_reading: !event.is_meant,
            is_observed: event.is_observed,
            caller: &event.caller,
        }
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
    text
}
