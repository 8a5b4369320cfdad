//! Possible answers, and the ways a question can end.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use guard_policy::approval::Route;
use tokio::time::Instant;

use super::binding::Binding;

/// A human's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Allow the waiting calls. The next call is asked again.
    AllowOnce,
    /// Allow the waiting calls, and do not ask for calls with an equal binding for this time.
    AllowFor(Span),
    /// Allow the waiting calls, and save the missing entry or rule.
    AllowAlways(GrantWidth),
    /// Deny the waiting calls.
    Deny,
}

/// How much "always" saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrantWidth {
    /// Only what this question needs.
    Narrow,
    /// For a file: the same access to everything in its directory.
    Directory,
}

/// How long a grant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// Until the guard ends.
    Session,
    /// This many minutes.
    Minutes(NonZeroU16),
}

/// The accepted words, for messages.
pub const WORDS: &str =
    "allow-once, allow-always, allow-always-directory, allow-session, allow-Nm (N minutes), deny";

impl Decision {
    /// Whether the calls may go on.
    pub fn allows(self) -> bool {
        self != Decision::Deny
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decision::AllowOnce => f.write_str("allow-once"),
            Decision::AllowFor(Span::Session) => f.write_str("allow-session"),
            Decision::AllowFor(Span::Minutes(minutes)) => write!(f, "allow-{minutes}m"),
            Decision::AllowAlways(GrantWidth::Narrow) => f.write_str("allow-always"),
            Decision::AllowAlways(GrantWidth::Directory) => f.write_str("allow-always-directory"),
            Decision::Deny => f.write_str("deny"),
        }
    }
}

impl FromStr for Decision {
    type Err = String;

    fn from_str(word: &str) -> Result<Decision, String> {
        let minutes = || {
            let number = word.strip_prefix("allow-")?.strip_suffix('m')?;
            let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| number.parse().ok()).flatten()
        };
        match word {
            "allow-once" => Ok(Decision::AllowOnce),
            "allow-session" => Ok(Decision::AllowFor(Span::Session)),
            "allow-always" => Ok(Decision::AllowAlways(GrantWidth::Narrow)),
            "allow-always-directory" => Ok(Decision::AllowAlways(GrantWidth::Directory)),
            "deny" => Ok(Decision::Deny),
            _ => minutes()
                .map(|minutes| Decision::AllowFor(Span::Minutes(minutes)))
                .ok_or_else(|| format!("one of {WORDS}")),
        }
    }
}

/// Why a route cannot bring an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteFailure {
    /// There is nobody to ask, so `exec.askFallback` applies.
    Nobody,
    /// Somebody may be there, but could not be asked, or sent an unreadable answer. The caller may have caused this, so
    /// nothing is allowed because of it.
    Failed,
}

/// A temporary grant, kept in memory only. Until it ends, calls with exactly this binding (the same arguments,
/// environment, directory, file and script, of the same agent in the same session) are not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporaryGrant {
    /// The calls it covers.
    pub binding: Binding,
    /// When it ends; `None` if it lasts as long as the guard.
    pub until: Option<Instant>,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// Somebody answered. If the answer allows the call, it still goes on only once [`super::Manager::consume`] returns
    /// true.
    Resolved(Decision),
    /// Nobody answered in time.
    Expired,
    /// No route had anybody to ask.
    NoRoute,
    /// Nobody answered, but a route failed to ask, so silence does not count as an answer.
    Failed,
    /// No caller waits for the answer any more.
    Withdrawn,
}

/// Why a question was not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// None of `approvals.routes` can be reached, so `exec.askFallback` applies.
    #[error("no-approval-route: no route in approvals.routes can be reached")]
    NoRoute,
    /// An equal call was an equal call was denied a moment ago.
    #[error("an equal call was denied a moment ago")]
    DeniedLately,
    /// The agent has as many pending cards as `approvals.maxPending` allows.
    #[error(
        "{most} questions wait for an answer (approvals.maxPending): answer some of them first (`openclaw-guard approvals list`)"
    )]
    TooMany {
        /// The maximum number of pending cards.
        most: usize,
    },
    /// The pending questions already use all the memory they may.
    #[error("too many calls wait for an answer: answer some of them first (`openclaw-guard approvals list`)")]
    Full,
    /// The question is too long to be read.
    #[error("its arguments are too long for a question ({size} bytes)")]
    TooLong {
        /// The approximate size of the question in bytes.
        size: usize,
    },
    /// The thread that expires questions is not running.
    #[error("cannot ask for approvals: {0}")]
    Broken(String),
}

/// Why an answer was rejected. A rejected answer changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// No pending or recently ended question has an id with this prefix.
    #[error("unknown or expired approval id")]
    Unknown,
    /// Several ids have this prefix.
    #[error("ambiguous approval id prefix; use the full id")]
    Ambiguous,
    /// Somebody else has given a different answer.
    #[error("approval already resolved")]
    AlreadyResolved,
    /// The question timed out ([`Resolution::Expired`]).
    #[error("approval expired: nobody answered in time")]
    Expired,
    /// The question ended as [`Resolution::NoRoute`] or [`Resolution::Failed`].
    #[error("approval ended: no route in approvals.routes returned an answer")]
    NoRoute,
    /// No call waits for the question any more ([`Resolution::Withdrawn`]).
    #[error("approval withdrawn: the caller has gone")]
    Withdrawn,
    /// Nothing can be saved for this question. Holds the reason, for a human.
    #[error("allow-always is unavailable: {0}")]
    NoAlways(String),
    /// The question is not about a file whose directory may be allowed.
    #[error("allow-always-directory is unavailable: it is for files, below the home directory or elsewhere")]
    NoDirectory,
    /// The answer would hold for later calls, but the policy asks for each of them.
    #[error("{0} is unavailable: the policy asks for this every time")]
    AskedEachTime(Decision),
    /// The card has no such revision, or did not list the question at that revision.
    #[error("the card has no revision {0}: look at it again")]
    NoRevision(u64),
}

impl ResolveError {
    /// The error code for programs; OpenClaw's own code if it has one.
    pub fn code(&self) -> &'static str {
        match self {
            ResolveError::Unknown => "APPROVAL_NOT_FOUND",
            ResolveError::Ambiguous => "APPROVAL_AMBIGUOUS",
            ResolveError::AlreadyResolved => "APPROVAL_ALREADY_RESOLVED",
            ResolveError::Expired | ResolveError::NoRoute => "APPROVAL_EXPIRED",
            ResolveError::Withdrawn => "APPROVAL_WITHDRAWN",
            ResolveError::NoAlways(_) | ResolveError::NoDirectory | ResolveError::AskedEachTime(_) => {
                "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"
            }
            ResolveError::NoRevision(_) => "APPROVAL_NO_REVISION",
        }
    }
}

/// The route that brought the answer.
pub type AnsweredBy = Route;
