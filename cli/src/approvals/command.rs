//! `openclaw-guard approvals`

use std::io::Write;
use std::path::Path;

use clap::{Args, Subcommand};
use guard_approvals::decision::{Decision, ResolveError};
use guard_approvals::routes::guard_socket::protocol::{Body, Method, QuestionState};
use guard_openclaw::clock::now_ms;
use guard_policy::text::{shown, shown_json};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{Paths, SetupError};
use guard_supervisor::exit::Exit;
use serde_json::Value;

use super::super::approvals::watch::{ServeArguments, ServeError, WatchArguments, WatchError, serve, watch};
use super::card::{answered, render};
use super::client::{GuardReply, Guards};
use super::saved::{self, ForgetArguments, SavedArguments, SavedError};

/// What to do with approvals.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List the pending questions of all of this user's guards
    List(ListArguments),
    /// Answer a question
    Resolve(ResolveArguments),
    /// Show questions as they arrive, also those on OpenClaw's approvals socket, and answer them
    Watch(WatchArguments),
    /// Show and answer questions on a web page for browsers on this host
    Serve(ServeArguments),
    /// List the answers that "always" has saved
    Saved(SavedArguments),
    /// Take saved answers back
    Forget(ForgetArguments),
}

/// How to list.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard approvals list\n  \
    openclaw-guard approvals list --json | jq -r '.[].id'\n\n\
    Exit status: 0, 125 when a guard could not be reached.")]
pub struct ListArguments {
    /// Print a JSON array of objects
    #[arg(long)]
    json: bool,
}

/// What to answer.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard approvals resolve 3f0c allow-once\n  \
    openclaw-guard approvals resolve 3f0c allow-10m\n  \
    openclaw-guard approvals resolve 3f0c allow-directory-command\n  \
    openclaw-guard approvals resolve 3f0c allow-always-directory\n  \
    openclaw-guard approvals resolve 3f0c deny --revision 4\n\n\
    allow-once allows the calls that wait now. allow-session and allow-Nm also allow equal calls, as\n\
    long as the guard runs or for N minutes. allow-always saves what `list` shows at \"always\", for\n\
    all of the user's guards; allow-always-directory saves what `list` shows for the directory.\n\n\
    --pattern replaces the pattern that allow-always saves for a file. It must match the file and begin\n\
    with the directory that `list` shows at \"edit\": --pattern '/srv/data/**/*.csv'.\n\n\
    For a file, allow-session and allow-Nm also allow other calls that use it with the same access.\n\
    allow-command allows them to the process that `list` shows at \"command\", and to all that it starts.\n\
    allow-directory-session, allow-directory-Nm and allow-directory-command cover every file in the\n\
    directory that `list` shows at \"directory\".\n\
    For a host, allow-directory-session and allow-always-directory cover the hosts at \"domain\".\n\
    With deny- instead of allow-, the same calls are denied without a question.\n\n\
    The field \"answers\" of `list --json` lists the answers that a question accepts.\n\n\
    Exit status: 0 answered; 1 not answered (unknown, ambiguous, resolved already, expired,\n\
    unavailable); 125 when a guard could not be reached.")]
pub struct ResolveArguments {
    /// The id, or a prefix that no other id has
    id: String,
    /// allow-once, allow-session, allow-10m, allow-always, deny, or another one that is described below
    decision: Decision,
    /// Answer every call that the question's card listed at revision N; `list` shows the revision
    #[arg(long, value_name = "N")]
    revision: Option<u64>,
    /// For allow-always of a file: save this pattern instead, for the same access
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<String>,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalsError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Saved(#[from] SavedError),
    #[error("cannot list the guards in {path}: {error}")]
    Sockets { path: String, error: std::io::Error },
    #[error("cannot reach guard {pid}: {error}")]
    Guard { pid: u32, error: std::io::Error },
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs the subcommand.
///
/// # Errors
/// When guards cannot be asked, or the output cannot be written.
pub fn act(options: &Options, action: &ApprovalsCommand) -> Result<Exit, ApprovalsError> {
    let paths = Paths::find(options)?;
    let state = &paths.state_directory;
    let done = match action {
        ApprovalsCommand::Watch(arguments) => return Ok(watch(&paths, arguments)?),
        ApprovalsCommand::Serve(arguments) => return Ok(serve(&paths, options, arguments)?),
        ApprovalsCommand::List(arguments) => run(list(state, arguments)),
        ApprovalsCommand::Resolve(arguments) => run(resolve(state, arguments)),
        ApprovalsCommand::Saved(arguments) => saved::list(state, arguments).map_err(ApprovalsError::from),
        ApprovalsCommand::Forget(arguments) => saved::forget(state, arguments).map_err(ApprovalsError::from),
    };
    match done {
        // A closed pipe means that the reader has seen enough.
        Err(ApprovalsError::Output(error) | ApprovalsError::Saved(SavedError::Output(error)))
            if error.kind() == std::io::ErrorKind::BrokenPipe =>
        {
            Ok(Exit::Success)
        }
        done => done,
    }
}

fn run(action: impl Future<Output = Result<Exit, ApprovalsError>>) -> Result<Exit, ApprovalsError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(action)
}

async fn ask(guards: &Guards, state: &Path, method: &Method) -> Result<Vec<GuardReply>, ApprovalsError> {
    guards.ask(method).await.map_err(|error| socket_error(state, error))
}

fn socket_error(state: &Path, error: std::io::Error) -> ApprovalsError {
    ApprovalsError::Sockets { path: shown(state.as_os_str().as_encoded_bytes()), error }
}

async fn list(state: &Path, arguments: &ListArguments) -> Result<Exit, ApprovalsError> {
    let guards = Guards::find(state).map_err(|error| socket_error(state, error))?;
    let mut all = Vec::new();
    let mut exit = Exit::Success;
    for GuardReply { pid, body } in ask(&guards, state, &Method::List).await? {
        match body {
            Ok(Body::Approvals { approvals }) => all.extend(approvals.into_iter().map(|one| (pid, one))),
            Ok(other) => {
                eprintln!("openclaw-guard: guard {pid}: {}", unexpected(&other));
                exit = Exit::Failure;
            }
            Err(error) => {
                eprintln!("openclaw-guard: {}", ApprovalsError::Guard { pid, error });
                exit = Exit::Failure;
            }
        }
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if arguments.json {
        let value: Value = all.iter().map(|(pid, one)| one.json(*pid)).collect();
        writeln!(out, "{}", shown_json(&format!("{value:#}")))?;
    } else if all.is_empty() {
        writeln!(out, "no questions are pending")?;
    } else {
        let texts: Vec<_> = all.iter().map(|(pid, one)| render(*pid, one, now_ms())).collect();
        out.write_all(texts.join("\n").as_bytes())?;
    }
    out.flush()?;
    Ok(exit)
}

async fn resolve(state: &Path, arguments: &ResolveArguments) -> Result<Exit, ApprovalsError> {
    let guards = Guards::find(state).map_err(|error| socket_error(state, error))?;
    let (pid, id) = match find(&guards, state, &arguments.id).await? {
        Ok(found) => found,
        Err(error) => return Ok(undone(&arguments.id, &error.to_string())),
    };
    // Answers by the full id, because another question whose id begins alike may have arrived since.
    let decision = arguments.decision.to_string();
    let (revision, pattern) = (arguments.revision, arguments.pattern.clone());
    let method = Method::Resolve { id: id.clone(), decision: decision.clone(), revision, pattern };
    match guards.ask_one(pid, &method).await {
        Ok(Body::Resolved { questions, saved, unsaved, .. }) => {
            let mut out = std::io::stdout().lock();
            if questions.is_empty() {
                writeln!(out, "{decision} {}: it already had this answer", shown(id.as_bytes()))?;
            }
            for question in &questions {
                out.write_all(answered(&decision, question).as_bytes())?;
            }
            for path in saved {
                writeln!(out, "saved in {}", shown(path.as_bytes()))?;
            }
            for why in unsaved {
                eprintln!("openclaw-guard: allowed this time, but not saved: {}", shown(why.as_bytes()));
            }
            Ok(Exit::Success)
        }
        Ok(Body::Error { message, .. }) => Ok(undone(&arguments.id, &message)),
        Ok(other) => Err(ApprovalsError::Guard { pid, error: std::io::Error::other(unexpected(&other)) }),
        Err(error) => Err(ApprovalsError::Guard { pid, error }),
    }
}

/// Finds the one question, among the questions of all guards, whose id begins with this prefix. Pending questions
/// take precedence over ended ones.
async fn find(
    guards: &Guards,
    state: &Path,
    id: &str,
) -> Result<Result<(u32, String), ResolveError>, ApprovalsError> {
    let (mut pending, mut ended) = (Vec::new(), Vec::new());
    for GuardReply { pid, body } in ask(guards, state, &Method::Find { id: id.to_owned() }).await? {
        match body {
            Ok(Body::Found { id, state: QuestionState::Pending }) => pending.push((pid, id)),
            Ok(Body::Found { id, .. }) => ended.push((pid, id)),
            Ok(Body::Error { code, .. }) if code == ResolveError::Ambiguous.code() => {
                return Ok(Err(ResolveError::Ambiguous));
            }
            Ok(_) => {}
            Err(error) => eprintln!("openclaw-guard: {}", ApprovalsError::Guard { pid, error }),
        }
    }
    let mut found = if pending.is_empty() { ended } else { pending };
    Ok(match (found.pop(), found.is_empty()) {
        (Some(found), true) => Ok(found),
        (Some(_), false) => Err(ResolveError::Ambiguous),
        (None, _) => Err(ResolveError::Unknown),
    })
}

fn undone(id: &str, why: &str) -> Exit {
    eprintln!("openclaw-guard: {}: {}", shown(id.as_bytes()), shown(why.as_bytes()));
    Exit::Unanswered
}

fn unexpected(body: &Body) -> String {
    match body {
        Body::Error { message, .. } => shown(message.as_bytes()),
        _ => "it sent an unexpected reply".to_owned(),
    }
}
