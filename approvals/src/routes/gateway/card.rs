//! A question in the gateway's form: the parameters of `exec.approval.request` (OpenClaw 2026.7.35 and 2026.9.6).

use std::path::Path;
use std::time::Duration;

use guard_policy::approval::{TRUNCATED, TurnSource, display_text};
use serde_json::{Map, Value, json};

use crate::facts::{Fact, FactRank, facts};
use crate::protocol::Approval;
use crate::question::{Always, Id, Question, Repeat, Subject};
use crate::text::{Words, asked_by, quoted, words};

/// The value of `host`. OpenClaw accepts any word; only `node` would require a plan.
const HOST: &str = "openclaw-guard";
/// The maximum length of a reason, in characters. Longer ones are cut.
const MAX_REASON_LEN: usize = 2000;
/// Facts that other fields of the gateway's card show, and facts for answers that the card does not offer.
const SHOWN_ELSEWHERE: [&str; 5] = ["program", "with", "change", "directory", "command"];
/// Fields that cannot be left out: without them the request would mean something else.
const NEEDED: [&str; 2] = ["command", "twoPhase"];

/// The parameters of a request. They contain no terminal control characters, and secrets are masked.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayCard(Map<String, Value>);

/// What a card needs to know besides the question.
#[derive(Clone, Debug)]
pub struct CardContext<'a> {
    /// The directory that `~` stands for.
    pub home: &'a Path,
    /// OpenClaw's key of the asking session.
    pub session_key: Option<&'a str>,
    /// The node whose run asks.
    pub node_id: Option<&'a str>,
    /// Where the gateway delivers the question.
    pub turn: Option<&'a TurnSource>,
    /// Whether other routes can be asked.
    pub others: Others,
}

/// Whether other routes can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// No other route. If nobody is connected to the gateway, `exec.askFallback` applies at once.
    None,
    /// Another route exists, so the question can wait at the gateway for somebody to connect.
    Some,
}

impl GatewayCard {
    /// Builds the card of a question. Returns `None` if the question could not be shown in full.
    pub fn new(question: &Question, context: &CardContext<'_>) -> Option<GatewayCard> {
        let CardContext { home, session_key, node_id, turn, others } = context;

        let Words { command, cwd, resolved_path, ask } = words(question)?;
        let (command, argv) = match &question.subject {
            Subject::Exec(exec) => (command, argv(&exec.argv)),
            // OpenClaw has no card for files, so the asking processes stand where the arguments would.
            Subject::File { .. } | Subject::Host(_) => {
                let file = shortened(&command, home);
                // Quote a path that contains " by ", so that it cannot forge the asking process.
                let file = match file.split_once(' ') {
                    Some((word, path)) if path.contains(" by ") => format!("{word} {}", quoted(path)),
                    _ => file,
                };
                (format!("{file} by {}", asked_by(&question.asked_by)), None)
            }
        };
        let card = json!({
            "command": command,
            "commandArgv": argv,
            "cwd": cwd,
            "host": HOST,
            "security": "allowlist",
            "ask": ask,
            "agentId": question.agent,
            "sessionKey": session_key,
            "nodeId": node_id,
            "resolvedPath": resolved_path,
            "env": names(question),
            "warningText": reason(question),
            "unavailableDecisions": is_once(question).then_some(["allow-always"]),
            "turnSourceChannel": turn.map(|turn| &turn.channel),
            "turnSourceTo": turn.map(|turn| &turn.to),
            "turnSourceAccountId": turn.and_then(|turn| turn.account_id.as_ref()),
            "turnSourceThreadId": turn.and_then(|turn| turn.thread_id.as_ref()),
            "requireDeliveryRoute": (*others == Others::Some).then_some(false),
            "twoPhase": true,
        });
        let Value::Object(mut card) = card else { return None };
        card.retain(|_, value| !value.is_null());
        Some(GatewayCard(card))
    }

    /// The request's parameters, with this id and the time left as the timeout.
    pub fn params(&self, id: Id, left: Duration) -> Value {
        let mut params = self.0.clone();
        params.insert("id".to_owned(), json!(id.to_string()));
        let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
        params.insert("timeoutMs".to_owned(), json!(millis));
        Value::Object(params)
    }

    /// Removes a field that the gateway's release does not know. Returns false if the field is required.
    pub fn remove_field(&mut self, name: &str) -> bool {
        !NEEDED.contains(&name) && self.0.remove(name).is_some()
    }
}

/// The arguments one by one. `None` if masking them one by one gives another text than masking the line: an argument
/// may be a secret only because of the argument before it.
fn argv(argv: &[Vec<u8>]) -> Option<Vec<String>> {
    let line = shlex::bytes::try_join(argv.iter().map(Vec::as_slice)).ok()?;
    let quoted = argv.iter().map(|argument| shlex::bytes::try_quote(argument).ok());
    let alone: Vec<_> = quoted.map(|argument| Some(display_text(&argument?))).collect::<Option<_>>()?;
    let is_same = alone.join(" ") == display_text(&line);
    is_same.then(|| argv.iter().map(|argument| display_text(argument)).collect())
}

/// Shortens `[write] /home/u/x` to `[write] ~/x`.
fn shortened(command: &str, home: &Path) -> String {
    let shortened = || {
        let (word, path) = command.split_once(' ')?;
        let home = display_text(home.as_os_str().as_encoded_bytes());
        let below = path.strip_prefix(&home).filter(|below| home != "/" && below.starts_with('/'))?;
        Some(format!("{word} ~{below}"))
    };
    shortened().unwrap_or_else(|| command.to_owned())
}

/// The names of the variables that can change what the program does. Values are left out: they may be secrets.
fn names(question: &Question) -> Option<Map<String, Value>> {
    let Subject::Exec(exec) = &question.subject else { return None };
    let names = exec.program_variables.iter().filter_map(|string| string.split(|&byte| byte == b'=').next());
    let names: Map<_, _> = names.map(|name| (display_text(name), json!(""))).collect();
    (!names.is_empty()).then_some(names)
}

/// Whether an approval can only hold for this call.
fn is_once(question: &Question) -> bool {
    question.repeat == Repeat::AskedEachTime || matches!(question.always, Always::Never(_))
}

/// What the gateway's own fields do not say: what is unusual, why it is asked, what "always" would save, and who asks.
fn reason(question: &Question) -> String {
    let approval = Approval::from_question(question);
    let facts = facts(&approval);
    let is_new = |fact: &&Fact| fact.rank != FactRank::Detail && !SHOWN_ELSEWHERE.contains(&&fact.name[..]);
    // The asking processes come last, because their list can be of any length and may be cut.
    let (askers, others): (Vec<_>, Vec<_>) =
        facts.iter().filter(is_new).partition(|fact| fact.name == "asked by");
    let lines = others.into_iter().chain(askers);
    let lines = lines.map(|fact| display_text(format!("{} {}", fact.name, fact.text).as_bytes()));
    let reason = lines.collect::<Vec<_>>().join("\n");
    match reason.char_indices().nth(MAX_REASON_LEN) {
        Some((end, _)) => format!("{}{TRUNCATED}", &reason[..end]),
        None => reason,
    }
}
