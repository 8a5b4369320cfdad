//! Asks one question until somebody answers or nobody can.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::gateway::{CallError, Link, Refused, Run};
use guard_openclaw::ids;
use guard_policy::text::shown;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::card::{CardContext, GatewayCard};
use super::line::{Connection, Down, RECONNECT_TIMEOUT, UNAVAILABLE};
use super::reply::{self, GatewayReply, Meaning, ReplyError};
use crate::decision::{Decision, RouteFailure};
use crate::question::{Id, PendingRequest};

/// How long the gateway may take to reply when a question is sent or retracted.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause before a temporarily rejected question is sent again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of fields that are removed because a release does not know them.
const MAX_UNKNOWN: usize = 16;

/// The state of a question at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct There {
    /// The question's id at the gateway. It is the guard's own id unless the gateway rejected that as used.
    pub id: Id,
    /// The current stage.
    pub stage: Stage,
}

/// The stages of a question at the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It was not sent.
    New,
    /// It was sent, but the gateway may not have received it.
    Sent,
    /// This run of the gateway has accepted it.
    Taken(Run),
    /// It has ended at the gateway.
    Over,
}

/// Why no answer will come from the gateway.
#[derive(Clone, Debug)]
pub enum Nobody {
    /// No connected client could answer.
    NoClient(Option<String>),
    /// The question cannot be shown in full.
    TooLong,
    /// There is no connection.
    Down(Down),
    /// The gateway rejects the question.
    Refused(Refused),
    /// The gateway's reply is not valid.
    Unreadable(Arc<ReplyError>),
    /// The gateway had accepted the question but no longer knows it: any answer is lost.
    Forgotten,
    /// The gateway has not accepted the question in time.
    Slow,
}

impl Nobody {
    fn unreadable(error: ReplyError) -> Nobody {
        Nobody::Unreadable(Arc::new(error))
    }

    /// Whether nobody is there, or asking failed.
    pub fn lack(&self) -> RouteFailure {
        match self {
            Nobody::NoClient(_) => RouteFailure::Nobody,
            Nobody::Down(down) => down.lack(),
            // A lost answer may have been a denial, so it does not count as silence.
            Nobody::TooLong
            | Nobody::Refused(_)
            | Nobody::Unreadable(_)
            | Nobody::Forgotten
            | Nobody::Slow => RouteFailure::Failed,
        }
    }
}

impl fmt::Display for Nobody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nobody::NoClient(Some(why)) if why != "no-route" => {
                write!(f, "nobody has answered there ({})", shown(why.as_bytes()))
            }
            Nobody::NoClient(_) => f.write_str(
                "nobody is connected to the gateway who could answer: open the Control UI, or an app of OpenClaw",
            ),
            Nobody::TooLong => f.write_str("it is too long for the gateway to show"),
            Nobody::Down(down) => down.fmt(f),
            Nobody::Refused(refused) => write!(f, "the gateway does not take it: {refused}"),
            Nobody::Unreadable(why) => write!(f, "what the gateway says cannot be read: {why}"),
            Nobody::Forgotten => f.write_str("the gateway does not know it any more"),
            Nobody::Slow => f.write_str("the gateway does not take it for now"),
        }
    }
}

/// The result of one attempt.
enum Attempt {
    Decided(Decision),
    Nobody(Nobody),
    /// Try again.
    Again,
}

/// One question and its connection.
pub struct PendingCall<'a> {
    /// The connection.
    pub line: &'a Connection,
    /// The question.
    pub request: &'a PendingRequest,
    /// What the card needs besides the question.
    pub context: CardContext<'a>,
    /// Called when the gateway has accepted the question.
    pub taken: &'a (dyn Fn() + Send + Sync),
}

impl PendingCall<'_> {
    /// Asks, and asks again with the same id after a lost connection. Cancel-safe: `there` holds the stage reached. An
    /// error is never an answer.
    ///
    /// # Errors
    /// Why no answer will come.
    pub async fn answer(&self, there: &mut There, mut warn: impl FnMut(&Down)) -> Result<Decision, Nobody> {
        let card = GatewayCard::new(&self.request.question, &self.context);
        let Some(mut card) = card else { return Err(Nobody::TooLong) };
        let mut unavailable = None;
        loop {
            let link = match self.line.link().await {
                Ok(link) => link,
                Err(down) => {
                    if down.may_pass() && self.line.was_up().await {
                        warn(&down);
                        continue;
                    }
                    return Err(Nobody::Down(down));
                }
            };
            // If the gateway has accepted the question, keep waiting: somebody may be about to answer.
            let was_taken = matches!(there.stage, Stage::Taken(_));
            match self.attempt(&link, there, &mut card).await {
                Attempt::Decided(decision) => return Ok(decision),
                Attempt::Nobody(nobody) => return Err(nobody),
                Attempt::Again => {}
            }
            if was_taken {
                unavailable = None;
            }
            if link_is_up(&link) {
                let since = *unavailable.get_or_insert_with(Instant::now);
                if since.elapsed() > RECONNECT_TIMEOUT {
                    return Err(Nobody::Slow);
                }
                sleep(RETRY_INTERVAL).await;
            }
        }
    }

    async fn attempt(&self, link: &Link, there: &mut There, card: &mut GatewayCard) -> Attempt {
        match there.stage {
            Stage::New => self.request(link, there, card).await,
            // If the gateway does not know the question, `wait` returns to the stage `New`, and the next attempt sends it.
            Stage::Sent | Stage::Taken(_) | Stage::Over => self.wait(link, there).await,
        }
    }

    async fn request(&self, link: &Link, there: &mut There, card: &mut GatewayCard) -> Attempt {
        for _ in 0..MAX_UNKNOWN {
            there.stage = Stage::Sent;
            let left = self.request.deadline.saturating_duration_since(Instant::now());
            let taken =
                timeout(RESPONSE_TIMEOUT, link.call("exec.approval.request", card.params(there.id, left)))
                    .await;
            let refused = match taken {
                Err(_) => return Attempt::Again,
                Ok(Err(CallError::Lost(_))) => return Attempt::Again,
                Ok(Ok(payload)) => return self.read(link, there, &payload).await,
                Ok(Err(CallError::Refused(refused))) => refused,
            };
            there.stage = Stage::New;
            match reply::meaning(&refused) {
                Meaning::Unknown(name) if card.remove_field(&name) => {}
                // This guard sent the question before the connection was lost: nobody else knows the id.
                Meaning::Pending => {
                    there.stage = Stage::Taken(link.hello().run.clone());
                    (self.taken)();
                    return self.wait(link, there).await;
                }
                // An earlier run of the gateway had this id. Its card went with that run.
                Meaning::Used => there.id = ids::random(),
                _ if refused.code == UNAVAILABLE => return Attempt::Again,
                _ => return Attempt::Nobody(Nobody::Refused(refused)),
            }
        }
        Attempt::Nobody(Nobody::unreadable(ReplyError::UnknownParameters))
    }

    async fn read(&self, link: &Link, there: &mut There, payload: &serde_json::Value) -> Attempt {
        match reply::read(&there.id.to_string(), payload) {
            Ok(GatewayReply::Accepted) if there.stage == Stage::Sent => {
                there.stage = Stage::Taken(link.hello().run.clone());
                (self.taken)();
                self.wait(link, there).await
            }
            Ok(GatewayReply::Accepted) => Attempt::Nobody(Nobody::unreadable(ReplyError::NotAnswer)),
            Ok(GatewayReply::Decided(decision)) => {
                there.stage = Stage::Over;
                Attempt::Decided(decision)
            }
            Ok(GatewayReply::Nobody(why)) => {
                there.stage = Stage::Over;
                Attempt::Nobody(Nobody::NoClient(why))
            }
            Err(error) => Attempt::Nobody(Nobody::unreadable(error)),
        }
    }

    async fn wait(&self, link: &Link, there: &mut There) -> Attempt {
        let waited = link.call("exec.approval.waitDecision", json!({"id": there.id.to_string()})).await;
        let refused = match waited {
            Ok(payload) => return Box::pin(self.read(link, there, &payload)).await,
            Err(CallError::Lost(_)) => return Attempt::Again,
            Err(CallError::Refused(refused)) => refused,
        };
        match (reply::meaning(&refused), &there.stage) {
            // The same run had the question: it was answered or expired while the connection was lost. A second card would
            // ask again what somebody has already answered.
            (Meaning::NotFound, Stage::Taken(run)) if run.is_same(&link.hello().run) => {
                Attempt::Nobody(Nobody::Forgotten)
            }
            // Another run of the gateway does not know the question, or the question never arrived.
            (Meaning::NotFound, _) => {
                there.stage = Stage::New;
                Attempt::Again
            }
            _ if refused.code == UNAVAILABLE => Attempt::Again,
            _ => Attempt::Nobody(Nobody::Refused(refused)),
        }
    }
}

fn link_is_up(link: &Link) -> bool {
    futures_util::FutureExt::now_or_never(link.lost()).is_none()
}

/// Reports to the gateway that the question was answered elsewhere or withdrawn, so that its card disappears. Retries
/// for some time if the connection is lost.
pub async fn retract(line: &Connection, id: Id, decision: Decision) {
    let end = Instant::now() + RECONNECT_TIMEOUT;
    let params = json!({"id": id.to_string(), "decision": reply::word(decision)});
    while Instant::now() < end {
        match line.link().await {
            Ok(link) => {
                match timeout(RESPONSE_TIMEOUT, link.call("exec.approval.resolve", params.clone())).await {
                    Ok(Err(CallError::Lost(_))) => {}
                    // The report has arrived, has been rejected, or has timed out.
                    _ => return,
                }
            }
            Err(down) if down.may_pass() => {}
            Err(_) => return,
        }
    }
}
