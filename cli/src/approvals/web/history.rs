//! Past answers and denials, from the audit log.

use guard_policy::text::shown;
use guard_supervisor::audit::reader::{AuditEntry, EntryBody, Log, ReadError};
use guard_supervisor::audit::summary;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, SetupError};
use serde::{Deserialize, Serialize};

/// The most entries in one response.
const PAGE: usize = 50;
/// The most lines that are scanned for one response. The next request continues after them.
const MAX_SCANNED: usize = 20_000;
/// A longer search text is cut to this length, in characters.
const MAX_LEN: usize = 200;

/// Which entries to return.
#[derive(Debug, Deserialize)]
pub struct HistoryQuery {
    /// Words that must all occur in an entry, in upper or lower case.
    #[serde(default)]
    search: String,
    /// Only entries before this time, in microseconds since 1970: a script can hold that as a number.
    before: Option<u64>,
}

/// A page of entries, the latest first.
#[derive(Debug, Serialize)]
pub struct History {
    entries: Vec<Item>,
    /// Where to continue; None at the start of the log.
    before: Option<u64>,
    /// The path of the log.
    log: String,
}

#[derive(Debug, Serialize)]
struct Item {
    /// When the line was written, as `before` takes it.
    at: u64,
    /// The line's id, as `why` and `audit` accept it.
    name: String,
    time: String,
    agent: String,
    /// `denied`, or what happened to a question.
    event: String,
    operation: String,
    path: String,
    argv: Vec<String>,
    /// The decision, and the rule or the route that made it.
    decision: String,
    by: String,
    text: String,
}

/// Why the log cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The policy, which names the log, cannot be read.
    #[error(transparent)]
    Policy(#[from] SetupError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] ReadError),
}

/// Reads the log that the policy names.
///
/// # Errors
/// If the policy or the log cannot be read.
pub fn read(options: &Options, query: &HistoryQuery) -> Result<History, HistoryError> {
    let path = config::audit_log(options)?;
    let name = shown(path.as_os_str().as_encoded_bytes());
    match Log::open(&path) {
        Ok(log) => Ok(from(&log, query, name)?),
        Err(ReadError::NoLog(_)) => Ok(History { entries: Vec::new(), before: None, log: name }),
        Err(error) => Err(error.into()),
    }
}

fn from(log: &Log, query: &HistoryQuery, name: String) -> Result<History, ReadError> {
    let words: Vec<String> = query
        .search
        .chars()
        .take(MAX_LEN)
        .collect::<String>()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let before = query.before.unwrap_or(u64::MAX);
    let (mut entries, mut looked, mut last) = (Vec::new(), 0, before.saturating_sub(1));
    for entry in log.latest() {
        let entry = entry?;
        let time = micros(&entry).unwrap_or(last);
        if time >= before {
            continue;
        }
        // Lines of one microsecond stay on one page.
        if (entries.len() >= PAGE || looked >= MAX_SCANNED) && time < last {
            return Ok(History { entries, before: Some(time + 1), log: name });
        }
        last = time;
        looked += 1;
        entries.extend(Item::from_entry(&entry).filter(|_| has(&entry, &words)));
    }
    Ok(History { entries, before: None, log: name })
}

/// When the line was written, in microseconds since 1970.
fn micros(entry: &AuditEntry) -> Option<u64> {
    u64::try_from(entry.time?.as_microsecond()).ok()
}

fn has(entry: &AuditEntry, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let text = format!("{} {} {}", entry.id.short(), entry.agent, summary(entry)).to_lowercase();
    words.iter().all(|word| text.contains(word.as_str()))
}

impl Item {
    fn from_entry(entry: &AuditEntry) -> Option<Item> {
        let item = match (&entry.what, entry.denial()) {
            (_, Some(denial)) => Item {
                event: "denied".to_owned(),
                operation: show(denial.operation.word()),
                path: show(&denial.path),
                argv: denial.argv.iter().map(|argument| show(argument)).collect(),
                decision: denial.verdict.as_str().to_owned(),
                by: show(denial.reason.rule()),
                text: match denial.count {
                    Some(count) => format!("{} ({count} more of these)", show(&denial.reason.text)),
                    None => show(&denial.reason.text),
                },
                ..Item::bare(entry)
            },
            (EntryBody::Other(fields), None) if entry.operation == "approval" => {
                let text = |key: &str| {
                    fields.get(key).and_then(|value| value.as_str()).map(show).unwrap_or_default()
                };
                let event = text("event");
                if !is_shown(&event) {
                    return None;
                }
                let argv = fields.get("argv").and_then(|argv| argv.as_array()).into_iter().flatten();
                Item {
                    event,
                    operation: entry.operation.clone(),
                    path: text("path"),
                    argv: argv.filter_map(|argument| argument.as_str()).map(show).collect(),
                    decision: text("decision"),
                    by: text("by"),
                    text: text("text"),
                    ..Item::bare(entry)
                }
            }
            _ => return None,
        };
        Some(item)
    }

    fn bare(entry: &AuditEntry) -> Item {
        Item {
            at: micros(entry).unwrap_or_default(),
            name: entry.id.short(),
            time: entry.time.map(|time| time.strftime("%F %TZ").to_string()).unwrap_or_default(),
            agent: show(&entry.agent),
            event: String::new(),
            operation: String::new(),
            path: String::new(),
            argv: Vec::new(),
            decision: String::new(),
            by: String::new(),
            text: String::new(),
        }
    }
}

/// Whether this event is listed: how a question ended, and the result. The event that it was asked is left out,
/// because the end repeats it.
fn is_shown(event: &str) -> bool {
    matches!(
        event,
        "resolved" | "expired" | "no-route" | "failed" | "withdrawn" | "refused" | "granted" | "saved"
    )
}

fn show(text: &str) -> String {
    shown(text.as_bytes())
}
