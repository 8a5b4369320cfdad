//! Possible answers, and the ways a question can end.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use guard_policy::approval::{PatternError, Route};
use tokio::time::Instant;

/// A human's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Allow the waiting calls. The next call is asked again.
    AllowOnce,
    /// Allow the waiting calls. For the given time, also allow equal calls, or calls for the file or the directory.
    AllowFor(GrantWidth, Span),
    /// Allow the waiting calls, and save the missing entry or rule.
    AllowAlways(GrantWidth),
    /// Deny the waiting calls.
    Deny,
    /// Deny the waiting calls. For the given time, also deny calls for the file or the directory.
    DenyFor(GrantWidth, Span),
}

/// An answer, with what it saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatorAnswer<'a> {
    /// The decision.
    pub decision: Decision,
    /// For "always": the pattern to save in place of the one that is shown.
    pub pattern: Option<&'a str>,
}

impl From<Decision> for OperatorAnswer<'_> {
    fn from(decision: Decision) -> Self {
        OperatorAnswer { decision, pattern: None }
    }
}

/// The reach of an answer that also covers later calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrantWidth {
    /// Only the file of this question.
    Narrow,
    /// For a file: the same access to everything in its directory. For a host: all hosts below its domain.
    Directory,
}

/// How long a grant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// For the command that asked, and what it starts ([`super::question::Reach::command`]).
    Command,
    /// Until the guard ends.
    Session,
    /// This many minutes.
    Minutes(NonZeroU16),
}

/// The minutes that are offered.
pub const HALF_HOUR: Span = Span::Minutes(NonZeroU16::MIN.saturating_add(29));

/// The accepted words, for messages.
pub const WORDS: &str = "allow-once, allow-always, allow-always-directory, allow-session, allow-Nm (N minutes), deny; \
    for files also allow-command, deny-command, deny-session, deny-Nm, and any of these with -directory before the time: \
    allow-directory-command";

impl Decision {
    /// Whether the calls may go on.
    pub fn allows(self) -> bool {
        !matches!(self, Decision::Deny | Decision::DenyFor(..))
    }

    /// The answers that `approvals` names to programs, from narrow to wide. Any number of minutes may be given.
    pub fn all() -> impl Iterator<Item = Decision> {
        let widths = || {
            [GrantWidth::Narrow, GrantWidth::Directory]
                .into_iter()
                .flat_map(|width| [Span::Command, Span::Session, HALF_HOUR].map(|span| (width, span)))
        };
        let always = [GrantWidth::Narrow, GrantWidth::Directory].map(Decision::AllowAlways);
        std::iter::once(Decision::AllowOnce)
            .chain(widths().map(|(width, span)| Decision::AllowFor(width, span)))
            .chain(always)
            .chain([Decision::Deny])
            .chain(widths().map(|(width, span)| Decision::DenyFor(width, span)))
    }
}

/// Writes the part of a word after `allow-` or `deny-`.
fn width(f: &mut fmt::Formatter<'_>, width: GrantWidth, span: Span) -> fmt::Result {
    if width == GrantWidth::Directory {
        f.write_str("directory-")?;
    }
    match span {
        Span::Command => f.write_str("command"),
        Span::Session => f.write_str("session"),
        Span::Minutes(minutes) => write!(f, "{minutes}m"),
    }
}

fn read_width(word: &str) -> Option<(GrantWidth, Span)> {
    let (width, span) = match word.strip_prefix("directory-") {
        Some(span) => (GrantWidth::Directory, span),
        None => (GrantWidth::Narrow, word),
    };
    let minutes = || {
        let number = span.strip_suffix('m').filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        number?.parse().ok().map(Span::Minutes)
    };
    let span = match span {
        "command" => Some(Span::Command),
        "session" => Some(Span::Session),
        _ => minutes(),
    };
    span.map(|span| (width, span))
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decision::AllowOnce => f.write_str("allow-once"),
            Decision::AllowFor(place, span) => {
                f.write_str("allow-")?;
                width(f, *place, *span)
            }
            Decision::DenyFor(place, span) => {
                f.write_str("deny-")?;
                width(f, *place, *span)
            }
            Decision::AllowAlways(GrantWidth::Narrow) => f.write_str("allow-always"),
            Decision::AllowAlways(GrantWidth::Directory) => f.write_str("allow-always-directory"),
            Decision::Deny => f.write_str("deny"),
        }
    }
}

/// A word that is no decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one of {WORDS}")]
pub struct UnknownDecision;

impl FromStr for Decision {
    type Err = UnknownDecision;

    fn from_str(word: &str) -> Result<Decision, UnknownDecision> {
        match word {
            "allow-once" => Ok(Decision::AllowOnce),
            "allow-always" => Ok(Decision::AllowAlways(GrantWidth::Narrow)),
            "allow-always-directory" => Ok(Decision::AllowAlways(GrantWidth::Directory)),
            "deny" => Ok(Decision::Deny),
            _ => {
                let allow = word.strip_prefix("allow-").and_then(read_width);
                let deny = word.strip_prefix("deny-").and_then(read_width);
                let allow = allow.map(|(width, span)| Decision::AllowFor(width, span));
                let deny = deny.map(|(width, span)| Decision::DenyFor(width, span));
                allow.or(deny).ok_or(UnknownDecision)
            }
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

/// An earlier answer that covers a call, so that nobody is asked. It is kept in memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemporaryGrant {
    /// Whether the answer is for one command.
    pub is_for_command: bool,
    /// When the answer ends. `None` if it lasts as long as the guard.
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
    #[error("no-approval-route: nobody can be asked now")]
    NoRoute,
    /// An equal call was denied a moment ago.
    #[error("an equal call was denied a moment ago")]
    DeniedLately,
    /// An earlier answer that still holds denies the file, its directory, or the hosts below a domain.
    #[error("an earlier answer denies it ({0})")]
    Denied(Decision),
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
    /// The pattern that "always" saves cannot be edited.
    #[error(
        "the pattern cannot be edited: what always saves here is not one rule for a file below a directory"
    )]
    NoPattern,
    /// "always" cannot save this pattern.
    #[error("the pattern cannot be saved: {0}")]
    Pattern(#[from] PatternError),
    /// Nothing can be saved for this question. Holds the reason, for a human.
    #[error("allow-always is unavailable: {0}")]
    NoAlways(String),
    /// The question is not about a file whose directory may be allowed, nor about a host below a domain.
    #[error(
        "allow-always-directory is unavailable: it is for files below a directory, and for hosts below a domain"
    )]
    NoDirectory,
    /// The question offers no answer of this width and span.
    #[error(
        "{0} is unavailable for this question: `openclaw-guard approvals list --json` has its answers at \"answers\""
    )]
    NotOffered(Decision),
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
            ResolveError::NoAlways(_)
            | ResolveError::NoDirectory
            | ResolveError::NotOffered(_)
            | ResolveError::AskedEachTime(_) => "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE",
            ResolveError::NoPattern | ResolveError::Pattern(_) => "APPROVAL_INVALID_PATTERN",
            ResolveError::NoRevision(_) => "APPROVAL_NO_REVISION",
        }
    }
}

/// The route that brought the answer.
pub type AnsweredBy = Route;
