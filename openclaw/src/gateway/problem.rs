//! Why there is no connection, not any more, or no answer. Each is a sentence for a human, in which nothing acts on a
//! terminal.

use std::io;

use guard_policy::text::shown;

use super::frames::Refused;
use super::peer::GatewayRejected;

/// Why a connection was not made, or not let in.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nobody listens.
    #[error("{at}: nobody listens; start the gateway with `openclaw gateway`")]
    Nobody {
        /// The gateway's URL.
        at: String,
    },
    /// The kernel's, on the way to the first message.
    #[error("{at}: {error}")]
    Unreachable {
        /// The gateway's URL.
        at: String,
        /// Why it cannot be reached.
        error: io::Error,
    },
    /// It would not be private.
    #[error("{at}: {why}")]
    Insecure {
        /// The gateway's URL.
        at: String,
        /// What is not private about it, or what is wrong with its certificate.
        why: String,
    },
    /// Who is there may not be told anything.
    #[error("{at}: {turned}")]
    Turned {
        /// The gateway's URL.
        at: String,
        /// Why nothing secret is said to it.
        turned: GatewayRejected,
    },
    /// What is there speaks something else.
    #[error("{at}: this is no gateway of OpenClaw: {why}")]
    NoGateway {
        /// The gateway's URL.
        at: String,
        /// What it does that a gateway does not.
        why: String,
    },
    /// It is there, and takes no connection now (OpenClaw 2026.9.6 while it starts or stops, and where too many have not
    /// said yet who they are).
    #[error("{at}: it takes no connection for now (HTTP 503)")]
    Busy {
        /// The gateway's URL.
        at: String,
    },
    /// It took longer than everything may take.
    #[error("{at}: {what} has not come for {seconds} s")]
    Slow {
        /// The gateway's URL.
        at: String,
        /// What was waited for.
        what: &'static str,
        /// How long, in seconds.
        seconds: u64,
    },
    /// The connection has ended before it was let in.
    #[error("{at}: {lost}")]
    Lost {
        /// The gateway's URL.
        at: String,
        /// How it ended.
        lost: Disconnected,
    },
    /// The gateway does not let the guard in.
    #[error("{at}: the gateway refuses the guard: {refused}{}", advice(.next))]
    Refused {
        /// The gateway's URL.
        at: String,
        /// What the gateway says of it.
        refused: Box<Refused>,
        /// What to do next.
        next: Option<String>,
    },
    /// It lets it in, and lets it do nothing.
    #[error(
        "{at}: the gateway does not grant {scope} (it grants {}){}", list(.granted), advice(.next)
    )]
    MissingScope {
        /// The gateway's URL.
        at: String,
        /// The scope that it does not grant.
        scope: &'static str,
        /// The scopes that it grants.
        granted: Vec<String>,
        /// What to do next.
        next: Option<String>,
    },
}

fn advice(next: &Option<String>) -> String {
    next.as_ref().map(|next| format!("; {next}")).unwrap_or_default()
}

fn list(scopes: &[String]) -> String {
    if scopes.is_empty() { "none".to_owned() } else { shown(scopes.join(", ").as_bytes()) }
}

/// Why a connection has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disconnected {
    /// The gateway has ended it.
    #[error("the gateway has closed the connection{}", closed(*.code, .reason))]
    Closed {
        /// RFC 6455's; 1000 is an ordinary end, 1012 a restart.
        code: Option<u16>,
        /// The text of the close frame; empty where there is none.
        reason: String,
    },
    /// What came is no frame.
    #[error("what the gateway said cannot be read: {0}")]
    Broken(String),
    /// Nothing has come for longer than the gateway's ticks allow.
    #[error("nothing has come from the gateway for {0} s")]
    Silent(u64),
    /// The kernel's.
    #[error("the connection to the gateway has ended: {0}")]
    Failed(String),
}

fn closed(code: Option<u16>, reason: &str) -> String {
    let reason = shown(reason.as_bytes());
    match code {
        Some(code) if reason.is_empty() => format!(" ({code})"),
        Some(code) => format!(" ({code}: {reason})"),
        None => String::new(),
    }
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The connection has ended first.
    #[error(transparent)]
    Lost(Disconnected),
    /// The gateway does not do it.
    #[error("{0}")]
    Refused(Refused),
}
