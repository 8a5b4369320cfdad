//! Why a connection cannot be opened, why it has ended, or why a call has no answer. Each message is a
//! sentence for a human, without control characters for a terminal.

use std::io;

use guard_policy::text::shown;
use tokio_tungstenite::tungstenite;

use super::frames::Refused;
use super::hello::HelloError;
use super::peer::GatewayRejected;
use super::tls::TlsError;

/// Why a connection was not opened or not admitted.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No process listens at the address.
    #[error("{at}: nobody listens; start the gateway with `openclaw gateway`")]
    Nobody {
        /// The gateway's URL.
        at: String,
    },
    /// An I/O error before the first message.
    #[error("{at}: {error}")]
    Unreachable {
        /// The gateway's URL.
        at: String,
        /// Why it cannot be reached.
        error: io::Error,
    },
    /// The connection would not be private.
    #[error("{at}: {why}")]
    Insecure {
        /// The gateway's URL.
        at: String,
        /// What is not private about it, or what is wrong with its certificate.
        #[source]
        why: NotPrivate,
    },
    /// No secret may be sent to the process at the other end.
    #[error("{at}: {rejected}")]
    Rejected {
        /// The gateway's URL.
        at: String,
        /// Why no secret may be sent.
        rejected: GatewayRejected,
    },
    /// The other end is not a gateway.
    #[error("{at}: this is not a gateway of OpenClaw: {why}")]
    NoGateway {
        /// The gateway's URL.
        at: String,
        /// Why the other end is not a gateway.
        #[source]
        why: NotGateway,
    },
    /// The gateway accepts no connection at the moment (OpenClaw 2026.9.6 while it starts or stops, or while
    /// too many clients have not identified themselves yet).
    #[error("{at}: it accepts no connections at the moment (HTTP 503)")]
    Busy {
        /// The gateway's URL.
        at: String,
    },
    /// The gateway took too long.
    #[error("{at}: {what} did not arrive within {seconds} s")]
    Slow {
        /// The gateway's URL.
        at: String,
        /// What was waited for.
        what: &'static str,
        /// How long, in seconds.
        seconds: u64,
    },
    /// The connection ended before the guard was admitted.
    #[error("{at}: {lost}")]
    Lost {
        /// The gateway's URL.
        at: String,
        /// How it ended.
        lost: Disconnected,
    },
    /// The gateway does not admit the guard.
    #[error("{at}: the gateway refuses the guard: {refused}{}", advice(.next))]
    Refused {
        /// The gateway's URL.
        at: String,
        /// The gateway's refusal.
        refused: Box<Refused>,
        /// What to do next.
        next: Option<String>,
    },
    /// The gateway admits the guard, but without the scope that it needs.
    #[error(
        "{at}: the gateway does not grant {scope} (it grants {}){}", list(.granted), advice(.next)
    )]
    MissingScope {
        /// The gateway's URL.
        at: String,
        /// The scope that the gateway does not grant.
        scope: &'static str,
        /// The scopes that the gateway grants.
        granted: Vec<String>,
        /// What to do next.
        next: Option<String>,
    },
}

/// Why a connection would not be private.
#[derive(Debug, thiserror::Error)]
pub enum NotPrivate {
    /// The URL is that of another host, without TLS.
    #[error(
        "without TLS the token would cross the network in plain text: use wss://, a tunnel from this \
         host, or approvals.gateway.allowInsecure"
    )]
    PlainText,
    /// TLS cannot be established.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How the other end differs from a gateway.
#[derive(Debug, thiserror::Error)]
pub enum NotGateway {
    /// It speaks HTTP, but opens no WebSocket; holds the status.
    #[error("it answers with HTTP {0}")]
    Http(u16),
    /// It does not follow the protocol of WebSockets.
    #[error(transparent)]
    WebSocket(Box<tungstenite::Error>),
    /// Its greeting is invalid.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// It does not admit the guard in the requested role; holds that role.
    #[error("it gives the guard another role than {0}")]
    OtherRole(&'static str),
}

impl From<tungstenite::Error> for NotGateway {
    fn from(error: tungstenite::Error) -> NotGateway {
        NotGateway::WebSocket(Box::new(error))
    }
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
    /// The gateway has closed the connection.
    #[error("the gateway has closed the connection{}", closed(*.code, .reason))]
    Closed {
        /// The code of RFC 6455; 1000 is an ordinary end, 1012 a restart.
        code: Option<u16>,
        /// The text of the close frame; empty if there is none.
        reason: String,
    },
    /// A message is not a valid frame.
    #[error("cannot parse the gateway's message: {0}")]
    Broken(String),
    /// The gateway has been silent for longer than its ticks allow.
    #[error("the gateway has sent nothing for {0} s")]
    Silent(u64),
    /// Reading or writing has failed.
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
    /// The connection ended before the answer.
    #[error(transparent)]
    Lost(Disconnected),
    /// The gateway refuses the call.
    #[error("{0}")]
    Refused(Refused),
}
