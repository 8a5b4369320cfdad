//! `openclaw-guard session`: the running guards of this user, seen and set from outside.

mod client;
mod print;

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use guard_openclaw::clock::now_ms;
use guard_policy::ElevatedLevel;
use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{Paths, SetupError};
use guard_supervisor::exit::Exit;
use guard_supervisor::session::protocol::{Method, SessionInfo, SessionReply, SessionSecurity};

use client::{Ending, SessionList, Sessions};

/// How long `end` waits: SIGKILL comes two seconds after SIGTERM.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// What to do with running sessions.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List the running sessions
    List(SessionListArgs),
    /// Show a session
    Show(SessionShowArgs),
    /// Change a running session: stop new programs, or set the level of commands outside
    Set(SessionSetArgs),
    /// End a session and everything that it started
    End(SessionEndArgs),
}

/// How to list.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard session list\n  \
    openclaw-guard session list --json | jq -r '.[] | select(.denials > 0).id'\n\n\
    ASKS is the number of questions that wait for an answer (`openclaw-guard approvals list`).\n\n\
    Exit status: 0; 125 when a guard could not be reached.")]
pub struct SessionListArgs {
    /// Print a JSON array of objects
    #[arg(long)]
    json: bool,
}

/// Which to show.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard session show 3f0c\n  \
    openclaw-guard session show 3f0c --json | jq .security\n\n\
    Exit status: 0; 1 no session has this id; 125 error.")]
pub struct SessionShowArgs {
    /// The id, or a prefix that no other has
    #[arg(value_name = "ID")]
    id: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// What to set.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard session set --security deny 3f0c\n  \
    openclaw-guard session set --security policy 3f0c\n  \
    openclaw-guard session set --elevated ask 3f0c\n\n\
    With --security deny, no further program starts, whatever the policy allows and whatever is\n\
    answered. Running programs continue; `openclaw-guard session end` ends them. With --security\n\
    policy, the policy decides again.\n\n\
    --elevated replaces the level of elevated.default and of the guard's own --elevated until the\n\
    session ends, by a stricter or a wider one (full). elevated.enabled and elevated.allowFrom still\n\
    apply (docs/elevated.md).\n\n\
    Exit status: 0; 1 no session has this id, or the level cannot be set; 125 error.")]
pub struct SessionSetArgs {
    /// deny: no further program starts; policy: as the policy says
    #[arg(long, value_name = "LEVEL", hide_possible_values = true, required_unless_present = "elevated")]
    security: Option<SessionSecurity>,
    /// Commands outside the guard (run-outside): off, ask, on or full
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    elevated: Option<ElevatedLevel>,
    /// The id, or a prefix that no other has
    #[arg(value_name = "ID")]
    id: String,
}

/// Which to end.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  \
    openclaw-guard session end 3f0c\n\n\
    Every process of the session gets SIGTERM; those that still run after two seconds get SIGKILL.\n\n\
    Exit status: 0 it has ended; 1 no session has this id; 125 error, or it still runs.")]
pub struct SessionEndArgs {
    /// The id, or a prefix that no other has
    #[arg(value_name = "ID")]
    id: String,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("cannot list the sessions in {path}: {error}")]
    Sockets { path: String, error: std::io::Error },
    #[error("cannot reach guard {pid}: {error}")]
    Guard { pid: u32, error: std::io::Error },
    #[error("{0}: there is no such session: `openclaw-guard session list` shows those that run")]
    Unknown(String),
    #[error("{0}: more than one session has an id that begins with this; give more of it")]
    Ambiguous(String),
    #[error("session {id}: {message}")]
    Refused { id: String, message: String },
    #[error("the session still runs after 30 s: a process of it may be waiting for a device")]
    Remains,
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs the subcommand.
///
/// # Errors
/// When sessions cannot be asked, or the output cannot be written.
pub fn act(options: &Options, action: &SessionCommand) -> Result<Exit, SessionError> {
    let state = Paths::find(options)?.state_directory;
    let cannot = |error| SessionError::Sockets { path: shown(state.as_os_str().as_encoded_bytes()), error };
    let sessions = Sessions::open(&state).map_err(cannot)?;
    let found = sessions.all().map_err(cannot)?;
    let done = match action {
        SessionCommand::List(arguments) => list(&found, arguments),
        SessionCommand::Show(arguments) => show(&found, arguments),
        SessionCommand::Set(arguments) => set(&sessions, &found, arguments),
        SessionCommand::End(arguments) => end(&sessions, &found, arguments),
    };
    match done {
        // A closed pipe means that the reader has seen enough.
        Err(SessionError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Ok(Exit::Success)
        }
        Err(why @ (SessionError::Unknown(_) | SessionError::Ambiguous(_) | SessionError::Refused { .. })) => {
            eprintln!("openclaw-guard: {why}");
            Ok(Exit::Unanswered)
        }
        done => done,
    }
}

/// Says which guards gave no answer. Returns the status of a list without them.
fn report_unreached(found: &SessionList) -> Exit {
    for (pid, error) in &found.unreached {
        eprintln!("openclaw-guard: cannot reach guard {pid}: {error}");
    }
    if found.unreached.is_empty() { Exit::Success } else { Exit::Failure }
}

fn list(found: &SessionList, arguments: &SessionListArgs) -> Result<Exit, SessionError> {
    let exit = report_unreached(found);
    let text =
        if arguments.json { print::json(&found.sessions) } else { print::table(&found.sessions, now_ms()) };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(exit)
}

fn show(found: &SessionList, arguments: &SessionShowArgs) -> Result<Exit, SessionError> {
    let info = named(found, &arguments.id)?;
    let text = if arguments.json { print::json(info) } else { print::details(info, now_ms()) };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

fn set(sessions: &Sessions, found: &SessionList, arguments: &SessionSetArgs) -> Result<Exit, SessionError> {
    let info = named(found, &arguments.id)?;
    let SessionSetArgs { security, elevated, .. } = arguments;
    let method = Method::Set { id: info.id.clone(), security: *security, elevated: *elevated };
    let info = ask(sessions, info, method)?;
    let of_security = security.map(|_| match info.set {
        SessionSecurity::Deny => "no further program starts in it".to_owned(),
        SessionSecurity::Policy => format!("exec.security is {} again, as the policy says", info.security),
    });
    let of_level = elevated.map(|_| format!("the level of commands outside is {}", info.elevated.as_str()));
    for text in of_security.into_iter().chain(of_level) {
        writeln!(std::io::stdout(), "session {}: {}", shown(info.id.as_bytes()), shown(text.as_bytes()))?;
    }
    Ok(Exit::Success)
}

fn level(name: &str) -> Result<ElevatedLevel, String> {
    ElevatedLevel::from_name(name).ok_or_else(|| "one of off, ask, on, full".to_owned())
}

fn end(sessions: &Sessions, found: &SessionList, arguments: &SessionEndArgs) -> Result<Exit, SessionError> {
    let info = named(found, &arguments.id)?;
    let ending = Ending::hold(info.pid).map_err(|error| SessionError::Guard { pid: info.pid, error })?;
    let info = ask(sessions, info, Method::End { id: info.id.clone() })?;
    ending.wait(END_TIMEOUT)?;
    writeln!(std::io::stdout(), "session {} has ended", shown(info.id.as_bytes()))?;
    Ok(Exit::Success)
}

/// Asks a session for something. Returns the session as it is afterwards.
fn ask(sessions: &Sessions, info: &SessionInfo, method: Method) -> Result<SessionInfo, SessionError> {
    match sessions.ask(info.pid, method) {
        Ok(SessionReply::Session(info)) => Ok(*info),
        Ok(SessionReply::Error { message }) => {
            let [id, message] = [&info.id, &message].map(|text| shown(text.as_bytes()));
            Err(SessionError::Refused { id, message })
        }
        Err(error) => Err(SessionError::Guard { pid: info.pid, error }),
    }
}

/// The one session whose id is this, or begins with it.
fn named<'f>(found: &'f SessionList, id: &str) -> Result<&'f SessionInfo, SessionError> {
    let mut fitting = found.sessions.iter().filter(|info| info.id.starts_with(id));
    match (fitting.next(), fitting.next()) {
        (Some(info), None) => Ok(info),
        (Some(_), Some(_)) => Err(SessionError::Ambiguous(shown(id.as_bytes()))),
        (None, _) => {
            // The id may be that of a session whose guard gave no answer.
            report_unreached(found);
            Err(SessionError::Unknown(shown(id.as_bytes())))
        }
    }
}
