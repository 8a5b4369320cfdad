//! What `why` is asked about.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_approvals::served;
use guard_openclaw::real_path::real;
use guard_policy::text::shown;
use guard_policy::{Access, Page, Role};
use guard_supervisor::audit::Operation;
use guard_supervisor::audit::reader::{AuditEntry, EntryBody, Log, LoggedDecision, ReadError};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{audit_log, environment};
use serde_json::{Map, Value};

use super::{WhyArgs, WhyError};
use crate::check::lookup;
use crate::edit::{EditContext, PathQuery, starts};

/// The question.
#[derive(Debug)]
pub struct WhyQuery {
    /// The operation.
    pub operation: Operation,
    /// The real path, or the address.
    pub path: String,
    /// The program's arguments; for other operations, those of the process that asked.
    pub argv: Vec<String>,
    /// The questions for the engine: all files of a start. Empty where no policy decides.
    pub parts: Vec<PathQuery>,
    /// The line of the audit log, if the question is about one.
    pub line: Option<Recorded>,
}

/// A line of the audit log with its decision.
#[derive(Debug)]
pub struct Recorded {
    /// The line.
    pub entry: AuditEntry,
    /// The decision in it.
    pub decision: LoggedDecision,
}

type ParsedQuestion = Result<(EditContext, WhyQuery), NoSubject>;

/// Why there is nothing to explain.
#[derive(Debug, thiserror::Error)]
pub enum NoSubject {
    /// Nothing was denied yet.
    #[error("the audit log has no denials")]
    NoDenials,
    /// The question is pending, or ended without a decision; holds its id and its last event.
    #[error(
        "question {id} is not decided yet ({event}): `openclaw-guard approvals list` shows the pending questions"
    )]
    Undecided { id: String, event: String },
    /// Neither the log nor a question has the id.
    #[error(
        "no line of the audit log and no question has an id that begins with {id}: `openclaw-guard audit tail \
         --denied` shows the last ids"
    )]
    NoId { id: String },
    /// The line with this id records something else; holds what.
    #[error("that line is not about a call ({operation}): `openclaw-guard audit tail` shows it")]
    NoCall { operation: String },
}

/// Finds the subject of the question. The inner error means that there is none.
///
/// # Errors
/// When the audit log cannot be read, or there is no question.
pub fn find(context: EditContext, options: &Options, question: &WhyArgs) -> Result<ParsedQuestion, WhyError> {
    if question.is_last() {
        let log = Log::open(&audit_log(options)?)?;
        return Ok(match last(&log)? {
            Some(entry) => Ok(recorded(context, options, entry)),
            None => Err(NoSubject::NoDenials),
        });
    }
    if let Some(id) = &question.id {
        let log = Log::open(&audit_log(options)?)?;
        return Ok(named(&log, id)?.map(|entry| recorded(context, options, entry)));
    }
    let asked = match (&question.read, &question.write) {
        (Some(path), _) => file(path, Operation::Read),
        (_, Some(path)) => file(path, Operation::Write),
        _ => program(&context, question)?,
    };
    Ok(Ok((context, asked)))
}

/// The last denial that was reported to an operator; if there is none, the last denial of all.
fn last(log: &Log) -> Result<Option<AuditEntry>, ReadError> {
    let mut unreported = None;
    for entry in log.latest() {
        let entry = entry?;
        let Some(denial) = entry.denial() else { continue };
        let reason = &denial.reason;
        if !reason.is_quiet && !reason.path.starts_with("builtin.unmentioned") {
            return Ok(Some(entry));
        }
        unreported = unreported.or(Some(entry));
    }
    Ok(unreported)
}

/// The line with this id, or the decision on the question with this id.
fn named(log: &Log, id: &str) -> Result<Result<AuditEntry, NoSubject>, WhyError> {
    match log.find(id) {
        Ok(entry) => match entry.what {
            EntryBody::Decision(_) => return Ok(Ok(entry)),
            EntryBody::Other(fields) => {
                let id = fields.get("id").and_then(Value::as_str).unwrap_or(id).to_owned();
                return asked_of(log, &id, &entry.operation);
            }
        },
        Err(ReadError::NoSuchLine(_) | ReadError::NoId(_)) => {}
        Err(error) => return Err(error.into()),
    }
    asked_of(log, id, "")
}

/// The decision that ended a question: the first decision after the question in the log, of the same session
/// and on the same path.
fn asked_of(log: &Log, id: &str, operation: &str) -> Result<Result<AuditEntry, NoSubject>, WhyError> {
    let is_it = |fields: &Map<String, Value>| {
        fields.get("id").and_then(Value::as_str).is_some_and(|own| !id.is_empty() && own.starts_with(id))
    };
    // From the latest line backwards, so that later decisions are known when the question is found.
    let mut later: Vec<AuditEntry> = Vec::new();
    let mut question = None;
    for entry in log.latest() {
        let entry = entry?;
        match &entry.what {
            EntryBody::Decision(_) => later.push(entry),
            EntryBody::Other(fields) if is_it(fields) => {
                if question.is_none() {
                    question = Some((entry.session.clone(), fields.clone()));
                }
                let path = fields.get("path").and_then(Value::as_str);
                let decided = later.iter().rposition(|later| {
                    later.session == entry.session
                        && later
                            .decision()
                            .is_some_and(|decision| path.is_none_or(|path| decision.path == path))
                });
                if let (Some(decided), Some(_)) = (decided, path) {
                    return Ok(Ok(later.swap_remove(decided)));
                }
            }
            EntryBody::Other(_) => {}
        }
    }
    let id = shown(id.as_bytes());
    Ok(Err(match (question, operation) {
        (Some((_, fields)), _) => {
            let event = fields.get("event").and_then(Value::as_str).unwrap_or_default();
            NoSubject::Undecided { id, event: event.to_owned() }
        }
        (None, "") => NoSubject::NoId { id },
        (None, operation) => NoSubject::NoCall { operation: shown(operation.as_bytes()) },
    }))
}

fn recorded(context: EditContext, options: &Options, entry: AuditEntry) -> (EditContext, WhyQuery) {
    // An agent from the command line takes precedence.
    let context = match options.agent_is_named || entry.agent.is_empty() {
        true => context,
        false => context.for_agent(&entry.agent),
    };
    let decision = match &entry.what {
        EntryBody::Decision(decision) => decision.clone(),
        EntryBody::Other(_) => unreachable!("a decision was looked for"),
    };
    let asked = WhyQuery {
        operation: decision.operation,
        path: decision.path.clone(),
        argv: decision.argv.clone(),
        parts: part(&context, &decision).into_iter().collect(),
        line: Some(Recorded { entry, decision }),
    };
    (context, asked)
}

/// The question that the engine had; None if no policy was asked.
fn part(context: &EditContext, decision: &LoggedDecision) -> Option<PathQuery> {
    let path = decision.path.as_bytes().to_vec();
    let is_path = path.starts_with(b"/");
    let reason = &decision.reason;
    // Refused because of the file's type, or its relation to the caller.
    let is_refused = reason.path.is_empty() && !reason.text.starts_with("not below exec.roots");
    let is_socket = decision.operation == Operation::Connect && is_path;
    if is_refused && !(is_socket && reason.text.contains("a rule must name")) {
        return None;
    }
    // A tool's call is judged as what it does.
    let operation = match decision.operation {
        Operation::Tool => decision.access?,
        operation => operation,
    };
    Some(match operation {
        Operation::Read => PathQuery::File { path, access: Access::READ },
        Operation::Write => PathQuery::File { path, access: Access::WRITE },
        Operation::Map => PathQuery::File { path, access: Access::MAP },
        Operation::Exec => PathQuery::Start {
            path,
            argv: decision.argv.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
            cwd: context.paths.cwd.as_os_str().as_bytes().to_vec(),
            role: Role::Program,
        },
        Operation::Connect if is_path => PathQuery::Socket { path },
        Operation::Bind if is_path => PathQuery::File { path, access: Access::WRITE },
        Operation::Connect | Operation::Bind => {
            let address: SocketAddr = decision.path.parse().ok()?;
            let page = match reason.path == "builtin.page" {
                true => Page::At(address.port()),
                false => served(&context.paths.state_directory),
            };
            match operation {
                Operation::Connect => PathQuery::Connect { address, page },
                _ => PathQuery::Bind { address, page },
            }
        }
        Operation::Signal
        | Operation::Trace
        | Operation::Ioctl
        | Operation::Tool
        | Operation::Elevated
        | Operation::ElevatedDenied => return None,
    })
}

fn file(path: &Path, operation: Operation) -> WhyQuery {
    let path = real(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    let access = if operation == Operation::Read { Access::READ } else { Access::WRITE };
    let part = PathQuery::File { path: path.as_os_str().as_bytes().to_vec(), access };
    let path = path.to_string_lossy().into_owned();
    WhyQuery { operation, path, argv: Vec::new(), parts: vec![part], line: None }
}

fn program(context: &EditContext, question: &WhyArgs) -> Result<WhyQuery, WhyError> {
    let words: Vec<OsString> = match &question.exec {
        Some(Some(program)) => [program].into_iter().chain(&question.command).cloned().collect(),
        _ => question.command.clone(),
    };
    let name = words.first().ok_or(WhyError::NoQuestion)?;
    let policy = context.in_force()?;
    let env = environment::of_command(&policy, &context.paths.state_directory).env;
    let program = lookup::program(name, &env, &context.paths.cwd)
        // A file that may not be executed can still be asked about.
        .or_else(|| {
            Some(context.paths.cwd.join(name)).filter(|path| name.as_bytes().contains(&b'/') && path.exists())
        })
        .ok_or_else(|| WhyError::NotFound(name.clone()))?;
    let program = real(&program);
    let argv: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    Ok(WhyQuery {
        operation: Operation::Exec,
        path: program.to_string_lossy().into_owned(),
        argv: words.iter().map(|word| lossy(word)).collect(),
        parts: starts(&program, argv, &context.paths.cwd),
        line: None,
    })
}

fn lossy(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}
