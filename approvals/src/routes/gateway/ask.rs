//! One question, asked until somebody answers or nobody will.

use std::fmt;
use std::time::Duration;

use guard_openclaw::gateway::{CallError, Link, Refused, Run};
use guard_openclaw::ids;
use guard_policy::text::shown;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::card::{CardContext, GatewayCard};
use super::line::{Connection, Down, LOCK_TIMEOUT, UNAVAILABLE};
use super::reply::{self, GatewayReply, Meaning};
use crate::decision::{Decision, RouteFailure};
use crate::question::{Id, PendingRequest};

/// How long the gateway may take to take a question.
const RETRACT_TIMEOUT: Duration = Duration::from_secs(30);
/// Before a question is asked again that was not taken for now.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Parameters that a release may not know.
const MAX_UNKNOWN: usize = 16;

/// A question as the gateway has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct There {
    /// Its name there: the guard's, as long as that can be used.
    pub id: Id,
    /// How far it has come.
    pub stage: Stage,
}

/// How far a question has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The gateway has not heard of it.
    New,
    /// It was told, and may not have heard.
    Sent,
    /// This run of the gateway has taken it.
    Taken(Run),
    /// It has ended there.
    Over,
}

/// Why nobody will answer at the gateway.
#[derive(Clone, Debug)]
pub enum Nobody {
    /// Nobody is connected to it who could.
    NoClient(Option<String>),
    /// It cannot be shown whole.
    TooLong,
    /// There is no connection.
    Down(Down),
    /// The gateway does not take the question.
    Refused(Refused),
    /// What it says makes no sense.
    Unreadable(String),
    /// It had taken it, and does not know it any more: the answer, if there was one, is lost.
    Forgotten,
    /// It has not taken it for a long time.
    Slow,
}

impl Nobody {
    /// Whether there is nobody, or nobody could be asked.
    pub fn lack(&self) -> RouteFailure {
        match self {
            Nobody::NoClient(_) => RouteFailure::Nobody,
            Nobody::Down(down) => down.lack(),
            // Nor is a missed answer silence: it may have been a no.
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

/// What came of one attempt.
enum Attempt {
    Decided(Decision),
    Nobody(Nobody),
    /// It is worth another one.
    Again,
}

/// One question.
pub struct PendingCall<'a> {
    /// By what it is asked.
    pub line: &'a Connection,
    /// What.
    pub request: &'a PendingRequest,
    /// What else is told.
    pub told: CardContext<'a>,
    /// Told when the gateway has taken it.
    pub taken: &'a (dyn Fn() + Send + Sync),
}

impl PendingCall<'_> {
    /// Asks, and again under the same id after the connection was lost. Can be left at any time: `there` says how far it
    /// has come. An error is never an answer.
    ///
    /// # Errors
    /// Why nobody will answer.
    pub async fn answer(
        &self,
        there: &mut There,
        mut complain: impl FnMut(&Down),
    ) -> Result<Decision, Nobody> {
        let card = GatewayCard::new(&self.request.question, &self.told);
        let Some(mut card) = card else { return Err(Nobody::TooLong) };
        let mut unavailable = None;
        loop {
            let link = match self.line.link().await {
                Ok(link) => link,
                Err(down) => {
                    if down.may_pass() && self.line.was_up().await {
                        complain(&down);
                        continue;
                    }
                    return Err(Nobody::Down(down));
                }
            };
            // One that it has is worth any time: somebody may be about to answer.
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
                if since.elapsed() > LOCK_TIMEOUT {
                    return Err(Nobody::Slow);
                }
                sleep(RETRY_INTERVAL).await;
            }
        }
    }

    async fn attempt(&self, link: &Link, there: &mut There, card: &mut GatewayCard) -> Attempt {
        match there.stage {
            Stage::New => self.request(link, there, card).await,
            // Where it was not heard of, it is asked once more.
            Stage::Sent | Stage::Taken(_) | Stage::Over => self.wait(link, there).await,
        }
    }

    async fn request(&self, link: &Link, there: &mut There, card: &mut GatewayCard) -> Attempt {
        for _ in 0..MAX_UNKNOWN {
            there.stage = Stage::Sent;
            let left = self.request.deadline.saturating_duration_since(Instant::now());
            let taken =
                timeout(RETRACT_TIMEOUT, link.call("exec.approval.request", card.params(there.id, left)))
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
                // By this guard, before the connection was lost: nobody else knows the id.
                Meaning::Pending => {
                    there.stage = Stage::Taken(link.hello().run.clone());
                    (self.taken)();
                    return self.wait(link, there).await;
                }
                // An earlier run of the gateway had it, whose card is gone with that run.
                Meaning::Used => there.id = ids::random(),
                _ if refused.code == UNAVAILABLE => return Attempt::Again,
                _ => return Attempt::Nobody(Nobody::Refused(refused)),
            }
        }
        Attempt::Nobody(Nobody::Unreadable("it knows none of the parameters".to_owned()))
    }

    async fn read(&self, link: &Link, there: &mut There, payload: &serde_json::Value) -> Attempt {
        match reply::read(&there.id.to_string(), payload) {
            Ok(GatewayReply::Accepted) if there.stage == Stage::Sent => {
                there.stage = Stage::Taken(link.hello().run.clone());
                (self.taken)();
                self.wait(link, there).await
            }
            Ok(GatewayReply::Accepted) => Attempt::Nobody(Nobody::Unreadable(
                "it says that it waits when asked for the answer".to_owned(),
            )),
            Ok(GatewayReply::Decided(decision)) => {
                there.stage = Stage::Over;
                Attempt::Decided(decision)
            }
            Ok(GatewayReply::Nobody(why)) => {
                there.stage = Stage::Over;
                Attempt::Nobody(Nobody::NoClient(why))
            }
            Err(why) => Attempt::Nobody(Nobody::Unreadable(why)),
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
            // The same run has had it: it was answered or has expired while nobody listened. A second card would ask again
            // what somebody has answered.
            (Meaning::NotFound, Stage::Taken(run)) if run.is_same(&link.hello().run) => {
                Attempt::Nobody(Nobody::Forgotten)
            }
            // Another run, which knows nothing of it; or it was not heard of.
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

/// Tells the gateway of an answer that was given elsewhere, or that nobody waits any more: no card stays. Where the
/// connection is lost it is tried again for some time.
pub async fn retract(line: &Connection, id: Id, decision: Decision) {
    let end = Instant::now() + LOCK_TIMEOUT;
    let params = json!({"id": id.to_string(), "decision": reply::word(decision)});
    while Instant::now() < end {
        match line.link().await {
            Ok(link) => {
                match timeout(RETRACT_TIMEOUT, link.call("exec.approval.resolve", params.clone())).await {
                    Ok(Err(CallError::Lost(_))) => {}
                    // Done; or answered there meanwhile, or not known there.
                    _ => return,
                }
            }
            Err(down) if down.may_pass() => {}
            Err(_) => return,
        }
    }
}
