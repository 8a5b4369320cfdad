//! What can be answered, and how a question ends.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use guard_policy::approval::Route;
use tokio::time::Instant;

use super::binding::Binding;

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The calls that wait go on; the next is asked for again.
    AllowOnce,
    /// The same, and calls of equal binding for some time are not asked for.
    AllowFor(Span),
    /// The same, and what was missed is saved.
    AllowAlways(GrantWidth),
    /// No.
    Deny,
}

/// How much "always" saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrantWidth {
    /// What just this question needs.
    Narrow,
    /// For a file: the same for all of its directory.
    Directory,
}

/// How long a grant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// As long as the guard runs.
    Session,
    /// For so long.
    Minutes(NonZeroU16),
}

/// The words that are read, for messages.
pub const WORDS: &str =
    "allow-once, allow-always, allow-always-directory, allow-session, allow-Nm (N minutes), deny";

impl Decision {
    /// Whether the calls go on.
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

/// Why a route brings no answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteFailure {
    /// There is nobody to ask: `exec.askFallback` is for that.
    Nobody,
    /// Somebody may be there, and the question could not be put to them, or their answer not be understood. Whoever asks
    /// may have brought that about, so nothing is allowed for it.
    Failed,
}

/// A standing yes, in memory only: calls with just this binding - the same arguments, environment, directory, file
/// and script, of the same agent in the same session - go on unasked until then. Nothing else does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporaryGrant {
    /// Which calls.
    pub binding: Binding,
    /// Until when; `None` for as long as the guard runs.
    pub until: Option<Instant>,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// Somebody answered. A yes lets the call go on once [`super::Manager::consume`] has said so.
    Resolved(Decision),
    /// Nobody answered in time.
    Expired,
    /// There was nobody to ask on any of the routes.
    NoRoute,
    /// Nobody answered, and a route that was to ask somebody could not: that silence says nothing.
    Failed,
    /// Nobody waits for the answer any more.
    Withdrawn,
}

/// Why a question was not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// None of `approvals.routes` can be reached: what `exec.askFallback` says holds.
    #[error("no-approval-route: none of approvals.routes can be reached")]
    NoRoute,
    /// An equal call was denied just now.
    #[error("denied a moment ago")]
    DeniedLately,
    /// `approvals.maxPending`.
    #[error(
        "{most} questions wait for an answer already (approvals.maxPending): answer them first, see `openclaw-guard approvals list`"
    )]
    TooMany {
        /// How many cards may wait.
        most: usize,
    },
    /// Too many calls for the memory that questions may take.
    #[error(
        "too many calls wait for an answer already: answer them first, see `openclaw-guard approvals list`"
    )]
    Full,
    /// Longer than anybody could read.
    #[error("its arguments are too long to be shown for approval ({size} bytes)")]
    TooLong {
        /// Of the question, about.
        size: usize,
    },
    /// The thread that keeps the time does not run.
    #[error("approvals cannot be asked for: {0}")]
    Broken(String),
}

/// Why an answer was not taken. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// No question that waits or has just ended has an id that begins so.
    #[error("unknown or expired approval id")]
    Unknown,
    /// Several ids begin so.
    #[error("ambiguous approval id prefix; use the full id")]
    Ambiguous,
    /// Somebody has answered otherwise.
    #[error("approval already resolved")]
    AlreadyResolved,
    /// Its time ran out ([`Resolution::Expired`]).
    #[error("approval expired: nobody answered in time")]
    Expired,
    /// It ended as [`Resolution::NoRoute`] or [`Resolution::Failed`].
    #[error("approval ended: none of approvals.routes could bring an answer")]
    NoRoute,
    /// No call waits for it any more ([`Resolution::Withdrawn`]).
    #[error("approval withdrawn: the caller has gone")]
    Withdrawn,
    /// Nothing can be saved for it; holds the reason, for a human.
    #[error("allow-always is unavailable: {0}")]
    NoAlways(String),
    /// It is not a question of a file whose directory may be allowed.
    #[error("allow-always-directory is unavailable: it is for files, below the home directory or elsewhere")]
    NoDirectory,
    /// The answer would hold for later calls, and the policy wants each of them asked.
    #[error("{0} is unavailable: the policy asks for this every time")]
    AskedEachTime(Decision),
    /// The card has no such revision, or did not list the question at it.
    #[error("the card has no revision {0}: look at it again")]
    NoRevision(u64),
}

impl ResolveError {
    /// The reason for programs; OpenClaw's where it has one.
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

/// By what way an answer came.
pub type AnsweredBy = Route;
