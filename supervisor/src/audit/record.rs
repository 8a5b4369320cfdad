//! The content of a line.

use std::net::IpAddr;

use guard_approvals::{Question, QuestionChange, Subject};
use guard_openclaw::peer::proc::Tid;
use guard_policy::text::shown_json;
use guard_policy::{ElevatedLevel, Outcome};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::Secrets;
use super::reason::RecordReason;
use super::tool::{ToolEvent, ToolLine};
use crate::audit::files::LogPart;
use crate::audit::{DecisionEvent, MAX_ARGV, shortened};
use crate::judge::session_security::SessionSecurity;
use crate::panics::Panic;

/// The values that are the same in every line of a session.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// A random name of this run.
    pub session: String,
    /// The agent whose policy is in force.
    pub agent: String,
    /// OpenClaw's key of the session, if the guard was given one.
    pub session_key: Option<String>,
    /// OpenClaw's id of the run, if a node has started the guard for a run.
    pub run: Option<String>,
    /// The id of that node.
    pub node: Option<String>,
    /// The secrets that are masked in every line.
    pub secrets: Secrets,
}

/// A change of the policy while the tree runs.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyChange {
    /// The policy's file.
    pub path: String,
    /// Whether the new policy is in force; false if it is invalid.
    pub applied: bool,
    /// What is invalid, or what cannot apply to a running tree.
    pub text: String,
}

/// What was done to a running session.
#[derive(Clone, Debug, Serialize)]
pub struct SessionChange {
    /// The change.
    #[serde(flatten)]
    pub event: SessionEvent,
    /// The process that asked for it, from outside: `openclaw-guard session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Tid>,
}

impl SessionChange {
    fn masked(&self, secrets: &Secrets) -> SessionChange {
        let mut change = self.clone();
        if let SessionEvent::OutsideEnd { argv, .. } = &mut change.event {
            *argv = secrets.masked(argv);
        }
        change
    }
}

/// A change of a running session.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum SessionEvent {
    /// Its security, or its level of commands outside the guard, was set.
    Set {
        /// The security.
        #[serde(skip_serializing_if = "Option::is_none")]
        security: Option<SessionSecurity>,
        /// The level of commands outside the guard.
        #[serde(skip_serializing_if = "Option::is_none")]
        elevated: Option<ElevatedLevel>,
    },
    /// A command outside the guard has ended.
    #[serde(rename = "outside-end")]
    OutsideEnd {
        /// The program.
        path: String,
        /// Its arguments.
        argv: Vec<String>,
        /// The exit status; 128 + n if signal n has ended the command.
        status: i32,
    },
    /// The session is ended.
    End,
    /// The session has reached a limit, and is ended.
    Limit {
        /// The key in `limits`.
        limit: &'static str,
        /// A sentence.
        text: String,
    },
}

/// What happened to a question.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuestionRecord {
    /// `requested`, `joined`, `resolved`, `expired`, `no-route`, `failed`, `withdrawn`, `refused`, `granted`,
    /// `consumed`, `saved`, `running`, `finished` or `denied`.
    event: &'static str,
    /// The id of the question. For `joined`, `call` has the id of the call that joined it.
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    /// The route by which the answer came.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A connection to a host of the Web, after its end.
#[derive(Clone, Debug, Serialize)]
pub struct WebConnectionRecord {
    /// The process that has made it.
    pub pid: Tid,
    /// The host and the port.
    pub name: String,
    /// The address that was connected to.
    pub address: IpAddr,
    /// The address's class.
    pub class: String,
    /// Bytes from the process.
    pub sent: u64,
    /// Bytes to the process.
    pub received: u64,
}

/// A panic in the guard.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<Tid>,
    /// The name of the call that the guard denied because of the panic.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Outcome>,
    thread: String,
    text: String,
}

impl Failed {
    /// Creates a record of a panic, with the caller and name of the call that it denied.
    pub fn new(fault: &Panic, call: Option<(Tid, &'static str)>) -> Failed {
        Failed {
            pid: call.map(|(pid, _)| pid),
            call: call.map(|(_, name)| name),
            verdict: call.map(|_| Outcome::Deny),
            thread: fault.thread.clone(),
            text: fault.text.clone(),
        }
    }
}

/// How often something happened, and over which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// How often.
    pub count: u64,
    /// When it happened first.
    #[serde(serialize_with = "as_text")]
    from: Timestamp,
    /// When it happened last.
    #[serde(serialize_with = "as_text")]
    to: Timestamp,
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

impl Span {
    /// Returns the span of what happened once, now.
    pub fn now() -> Span {
        let now = Timestamp::now();
        Span { count: 1, from: now, to: now }
    }

    /// Returns one span over both.
    pub fn with(self, other: Option<Span>) -> Span {
        let Some(Span { count, from, to }) = other else { return self };
        Span { count: self.count + count, from: self.from.min(from), to: self.to.max(to) }
    }
}

impl QuestionRecord {
    /// Returns whether the event comes from somebody's answer. The other events come with every call that asks.
    fn is_of_answer(&self) -> bool {
        matches!(self.event, "resolved" | "granted" | "consumed" | "saved" | "running" | "finished")
    }

    fn masked(&self, secrets: &Secrets) -> QuestionRecord {
        let text = self.text.as_deref().map(|text| secrets.masked_text(text));
        QuestionRecord { argv: secrets.masked(&self.argv), text, ..self.clone() }
    }

    /// Creates a record of an event, with its question if that is known.
    pub fn new(event: &guard_approvals::Event, question: Option<&Question>) -> QuestionRecord {
        let (path, argv) = match question.map(|question| &question.subject) {
            Some(Subject::Exec(exec)) => (Some(&exec.executable.path[..]), shortened(&exec.argv, MAX_ARGV)),
            Some(Subject::File { path, .. }) => (Some(&path[..]), Vec::new()),
            Some(Subject::Host(host)) => (Some(host.authority.as_bytes()), Vec::new()),
            None => (None, Vec::new()),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut asked = QuestionRecord {
            event: "requested",
            id: event.id.to_string(),
            call: None,
            path: path.map(text),
            argv: argv.iter().map(|argument| text(argument)).collect(),
            decision: None,
            by: None,
            text: None,
        };
        match &event.what {
            QuestionChange::Requested { .. } => {}
            QuestionChange::Joined { call } => (asked.event, asked.call) = ("joined", Some(call.to_string())),
            QuestionChange::Resolved { decision, by } => {
                asked.event = "resolved";
                (asked.decision, asked.by) = (Some(decision.to_string()), Some(by.as_str()));
            }
            QuestionChange::Expired => asked.event = "expired",
            QuestionChange::NoRoute => asked.event = "no-route",
            QuestionChange::Failed => asked.event = "failed",
            QuestionChange::Withdrawn => asked.event = "withdrawn",
            QuestionChange::Refused(refusal) => {
                (asked.event, asked.text) = ("refused", Some(refusal.to_string()))
            }
            QuestionChange::Granted => asked.event = "granted",
            QuestionChange::Consumed => asked.event = "consumed",
            QuestionChange::Lifecycle(lifecycle) => {
                (asked.event, asked.text) = (lifecycle.word(), Some(lifecycle.to_string()))
            }
            QuestionChange::Saved(saved) => {
                asked.event = "saved";
                asked.text = Some(saved.clone().unwrap_or_else(|problem| format!("not saved: {problem}")));
            }
        }
        asked
    }
}

/// A record for the log.
#[derive(Clone, Debug)]
pub enum Record {
    /// A decision.
    Event(DecisionEvent),
    /// Repeats of a denial that has a line of its own.
    Repeats(Box<DecisionEvent>, Span),
    /// Lines for which the session's share had no more room.
    Flood(Span),
    /// A change of the policy.
    Change(PolicyChange),
    /// What was done to the session.
    Session(SessionChange),
    /// What happened to a question.
    Asked(QuestionRecord),
    /// A panic.
    Failed(Failed),
    /// A connection to a host of the Web.
    Web(WebConnectionRecord),
    /// A decision about a call of one of OpenClaw's tools.
    Tool(Box<ToolEvent>),
}

impl Record {
    /// Returns the part of the log that the record belongs to.
    pub fn part(&self) -> LogPart {
        match self {
            Record::Event(event) if event.outcome == Outcome::Allow => LogPart::Programs,
            Record::Tool(tool) if tool.outcome == Outcome::Allow => LogPart::Programs,
            Record::Asked(asked) if asked.is_of_answer() => LogPart::Programs,
            Record::Change(_) | Record::Session(_) | Record::Flood(_) | Record::Web(_) => LogPart::Programs,
            Record::Event(_)
            | Record::Repeats(..)
            | Record::Asked(_)
            | Record::Failed(_)
            | Record::Tool(_) => LogPart::Denials,
        }
    }

    /// Returns the JSON object of the line, without the chain fields.
    pub fn body(&self, context: &Context) -> String {
        match self {
            Record::Event(event) => json(&RecordLine::new(context, event, None)),
            Record::Repeats(event, repeats) => json(&RecordLine::new(context, event, Some(*repeats))),
            Record::Flood(lines) => {
                let text = "the session has filled its share of the log of denials: these were only counted";
                other(context, FLOOD, &FloodLine { text, lines: *lines })
            }
            Record::Change(change) => other(context, "reload", change),
            Record::Session(change) => other(context, "session", &change.masked(&context.secrets)),
            Record::Asked(asked) => other(context, "approval", &asked.masked(&context.secrets)),
            Record::Failed(failed) => other(context, "fault", failed),
            Record::Web(connection) => other(context, "web", connection),
            Record::Tool(tool) => json(&ToolLine::new(&context.session, &context.secrets, tool)),
        }
    }
}

/// The line of a decision. In paths and arguments, U+FFFD replaces what is not UTF-8: they are for reading,
/// not for replaying.
#[derive(Serialize)]
struct RecordLine<'a> {
    time: String,
    session: &'a str,
    agent: &'a str,
    #[serde(flatten)]
    origin: Origin<'a>,
    pid: i32,
    chain: Vec<Parent<'a>>,
    operation: crate::audit::Operation,
    path: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
    verdict: guard_policy::Outcome,
    #[serde(rename = "because")]
    reason: RecordReason<'a>,
    tier: &'static str,
    micros: u64,
    #[serde(flatten)]
    repeats: Option<Span>,
}

/// The session of OpenClaw that a line belongs to, and the run for which a node was called.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Origin<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<&'a str>,
}

impl<'a> Origin<'a> {
    fn new(context: &'a Context) -> Origin<'a> {
        Origin {
            // Only the lines of a node's run have the session key.
            session_key: context.session_key.as_deref().filter(|_| context.node.is_some()),
            run_id: context.run.as_deref(),
            node_id: context.node.as_deref(),
        }
    }
}

/// The operation in lines that count the denials for which the session's share had no room.
pub const FLOOD: &str = "flood";

#[derive(Serialize)]
struct FloodLine {
    #[serde(flatten)]
    lines: Span,
    text: &'static str,
}

/// The line of any other record.
#[derive(Serialize)]
struct OtherLine<'a, T> {
    time: String,
    session: &'a str,
    agent: &'a str,
    #[serde(flatten)]
    origin: Origin<'a>,
    operation: &'static str,
    #[serde(flatten)]
    what: &'a T,
}

/// The operation in lines about the log itself.
pub const OF_LOG: &str = "log";
/// The event for lines that could not be written. It is the only event about the log that is not a sign of tampering.
pub const MISSING: &str = "missing";

#[derive(Serialize)]
struct LogLine<'a> {
    time: String,
    operation: &'static str,
    event: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Parent<'a> {
    pid: i32,
    name: &'a str,
}

impl<'a> RecordLine<'a> {
    fn new(context: &'a Context, event: &'a DecisionEvent, repeats: Option<Span>) -> RecordLine<'a> {
        RecordLine {
            time: now(),
            session: &context.session,
            agent: &context.agent,
            origin: Origin::new(context),
            pid: event.pid,
            chain: event.chain.iter().map(|(pid, name)| Parent { pid: *pid, name }).collect(),
            operation: event.operation,
            path: String::from_utf8_lossy(&event.path),
            argv: {
                let text = |argument: &Vec<u8>| String::from_utf8_lossy(argument).into_owned();
                context.secrets.masked(&event.argv.iter().map(text).collect::<Vec<_>>())
            },
            verdict: event.outcome,
            reason: RecordReason::from(&event.reason),
            tier: "broker",
            micros: event.micros,
            repeats,
        }
    }
}

fn other<T: Serialize>(context: &Context, operation: &'static str, what: &T) -> String {
    let Context { session, agent, .. } = context;
    json(&OtherLine { time: now(), session, agent, origin: Origin::new(context), operation, what })
}

/// Returns the JSON object of a line about the log itself, for a defect found before the next line.
pub fn of_log(event: &'static str, text: &str) -> String {
    json(&LogLine { time: now(), operation: OF_LOG, event, text })
}

fn now() -> String {
    Timestamp::now().to_string()
}

fn json(line: &impl Serialize) -> String {
    // A line consists of strings, numbers and structures of them, so serializing it cannot fail.
    let json = serde_json::to_string(line).unwrap_or_default();
    shown_json(&json).into_owned()
}
