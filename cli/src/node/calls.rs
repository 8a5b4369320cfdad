//! Takes the gateway's calls on one connection, and sends the answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_openclaw::clock::now_ms;
use guard_openclaw::gateway::{Disconnected, Events, Link};
use guard_openclaw::node::{
    Answer, Heard, Invoke, InvokeError, NodeApprovals, NodeEvent, PairingDecision, WhichParams, heard,
    result_params,
};
use guard_policy::NodeCommand;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::files::LastRun;
use super::host::{MAX_CALLS, NodeHost, Room};
use super::judge::{CallPolicy, Caller};
use super::run::{RunLimits, run};
use super::runs::{Begun, Lifeline, Repeated};
use super::system_run::{Decided, Order, decide};
use super::{pairing, prepare};
use crate::check::lookup;

/// How long the gateway waits for a result if the call does not say (OpenClaw 2026.7.35 and 2026.9.6).
const DEFAULT_INVOKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the gateway may take to confirm an answer.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers calls until the connection has ended. Every run ends with the connection, because nobody waits for its
/// result any more. `looking` is the task that finds out whether the commands are approved. It ends when the gateway
/// has said so.
pub async fn serve(
    host: &Arc<NodeHost>,
    link: Link,
    mut events: Events,
    looking: &JoinHandle<()>,
) -> Disconnected {
    for event in host.take_unsent() {
        send_event(host, &link, event).await;
    }
    while let Some(event) = events.recv().await {
        match heard(event, &host.id) {
            Heard::Invoke(invoke) => {
                let Some(room) = host.room(invoke.params.as_deref()).await else { continue };
                begin(host, &link, invoke, room);
            }
            Heard::Cancel(cancel) => host.calls.cancel(&cancel.invoke_id),
            Heard::Paired { decision: PairingDecision::Removed, .. } => {
                // The gateway's further calls are not answered: the connection ends.
                looking.abort();
                host.calls.cancel_all();
                pairing::removed(host);
                return Disconnected::Failed("this node was removed".to_owned());
            }
            Heard::Paired { request, decision } => {
                if pairing::is_about_ours(host, request.as_deref()) {
                    looking.abort();
                    pairing::resolved(host, decision == PairingDecision::Approved);
                }
            }
            Heard::Unreadable { id, why } => {
                let (host, link) = (Arc::clone(host), link.clone());
                let error = InvokeError::thrown(format!("the call cannot be read: {why}"));
                tokio::spawn(async move { send_result(&host, &link, &id, &Err(error)).await });
            }
            Heard::Nothing => {}
        }
    }
    host.calls.cancel_all();
    link.lost().await
}

/// Begins to answer a call, in a task of its own.
fn begin(host: &Arc<NodeHost>, link: &Link, invoke: Invoke, mut room: Room) {
    let key = invoke.idempotency_key.as_deref().filter(|key| !key.is_empty());
    let key = key.map(|key| {
        let parts = [key, &invoke.command, invoke.params.as_deref().unwrap_or_default()];
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    });
    let begun = host.calls.begin(&invoke.id, key.as_deref());
    let (host, link, id) = (Arc::clone(host), link.clone(), invoke.id.clone());
    tokio::spawn(async move {
        match begun {
            Begun::Known => {}
            Begun::Repeats(answer, lifeline) => {
                drop(invoke);
                room.is_decided();
                if let Some(answer) = repeated(&host, answer).await {
                    send_result(&host, &link, &id, &answer).await;
                }
                host.calls.end(&id, None, &lifeline);
            }
            Begun::New(done, lifeline) => {
                if let Some(answer) = answer(&host, &link, invoke, &lifeline, &mut room).await {
                    done.send_replace(Some(answer.clone()));
                    send_result(&host, &link, &id, &answer).await;
                }
                host.calls.end(&id, key.as_deref(), &lifeline);
            }
        }
    });
}

/// Waits for the answer to the call that this call repeats.
async fn repeated(host: &NodeHost, mut answer: Repeated) -> Option<Answer> {
    let Ok(_open) = host.open.try_acquire() else { return Some(Err(too_many_calls())) };
    answer.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone())
}

fn too_many_calls() -> InvokeError {
    InvokeError::busy(MAX_CALLS, "calls")
}

/// Answers a call. `None` if the gateway has given it up.
async fn answer(
    host: &Arc<NodeHost>,
    link: &Link,
    invoke: Invoke,
    lifeline: &Arc<Lifeline>,
    room: &mut Room,
) -> Option<Answer> {
    let Ok(_open) = host.open.try_acquire() else { return Some(Err(too_many_calls())) };
    let Some(command) = host.offered(&invoke.command) else { return Some(Err(InvokeError::unknown())) };
    if command == NodeCommand::Run {
        return system_run(host, link, invoke, lifeline, room).await;
    }
    let owned = Arc::clone(host);
    let answered = tokio::task::spawn_blocking(move || {
        let params = invoke.params.as_deref();
        match command {
            NodeCommand::Which => which(&owned, params),
            NodeCommand::Prepare => prepare::prepare(&owned, params),
            NodeCommand::ApprovalsGet => approvals(&owned).map(|set| set.payload()),
            NodeCommand::ApprovalsSet => set_approvals(&owned, params),
            NodeCommand::Run => Err(InvokeError::unknown()),
        }
    });
    let answered = answered.await.unwrap_or_else(|_| Err(failed()));
    room.is_decided();
    Some(answered)
}

fn failed() -> InvokeError {
    InvokeError::unavailable("node invocation failed")
}

async fn system_run(
    host: &Arc<NodeHost>,
    link: &Link,
    invoke: Invoke,
    lifeline: &Arc<Lifeline>,
    room: &mut Room,
) -> Option<Answer> {
    let begun = Instant::now();
    let timeout = invoke.timeout_ms.map_or(DEFAULT_INVOKE_TIMEOUT, Duration::from_millis);
    let (owned, gateway) = (Arc::clone(host), link.clone());
    let decide = move || decide(&owned, &gateway.hello().run, invoke.params.as_deref());
    let decided = tokio::task::spawn_blocking(decide).await;
    room.is_decided();
    let decided = decided.unwrap_or_else(|_| Err(failed()));
    if lifeline.is_cut() {
        // Nobody waits for the answer any more.
        return None;
    }
    let order = match decided {
        Err(error) => return Some(Err(error)),
        Ok(Decided::Denied(report, denied)) => {
            let (event, answer) = denied.answer(&report);
            send_event(host, link, event).await;
            return Some(answer);
        }
        Ok(Decided::Fails(report, end)) => {
            send_event(host, link, report.finished(&end, host.settings.event_tail_bytes)).await;
            return Some(Ok(end.payload()));
        }
        Ok(Decided::Runs(order)) => order,
    };
    let Ok(slot) = host.running.try_acquire() else {
        return Some(Err(InvokeError::busy(host.settings.max_running, "commands")));
    };
    let wait = timeout.saturating_sub(begun.elapsed());
    let limits = RunLimits { node: host.id.clone(), wait, output: host.settings.output_bytes };
    host.note_runs();
    let end = supervised(host, link, order, limits, Arc::clone(lifeline)).await;
    drop(slot);
    host.note_runs();
    end
}

/// Runs a command, and reports its start and end to the gateway.
async fn supervised(
    host: &Arc<NodeHost>,
    link: &Link,
    order: Box<Order>,
    limits: RunLimits,
    lifeline: Arc<Lifeline>,
) -> Option<Answer> {
    let (report, notice) = (order.report.clone(), order.notice);
    let (agent, session_key) = (order.options.agent.clone(), order.options.session_key.clone());
    let running = Arc::clone(&lifeline);
    let mut task = tokio::task::spawn_blocking(move || run(&order, &limits, &running));
    let ended = tokio::select! {
        ended = &mut task => ended,
        () = sleep(notice) => {
            send_event(host, link, report.running()).await;
            task.await
        }
    };
    let end = ended.ok().flatten();
    let exit_code = end.as_ref().and_then(|end| end.exit_code);
    host.note_last(LastRun {
        run_id: report.run_id.clone(),
        agent,
        session_key,
        exit_code,
        ended_ms: now_ms(),
    });
    match end {
        Some(end) => {
            send_event(host, link, report.finished(&end, host.settings.event_tail_bytes)).await;
            Some(Ok(end.payload()))
        }
        None if host.is_lost(link) => {
            // The gateway learns of the end when it is connected again.
            let end =
                guard_openclaw::node::Captured::failed("the connection to the gateway was lost".to_owned());
            host.keep_unsent(report.finished(&end, host.settings.event_tail_bytes));
            None
        }
        None => None,
    }
}

/// Sends an event. If the connection is lost, the event is sent on the next connection.
async fn send_event(host: &NodeHost, link: &Link, event: NodeEvent) {
    let sent = timeout(SEND_TIMEOUT, link.call("node.event", event.params())).await;
    if !matches!(sent, Ok(Ok(_) | Err(guard_openclaw::gateway::CallError::Refused(_)))) {
        host.keep_unsent(event);
    }
}

async fn send_result(host: &NodeHost, link: &Link, id: &str, answer: &Answer) {
    let params = result_params(id, &host.id, answer);
    // A gateway that does not wait any more ignores the answer.
    let _ = timeout(SEND_TIMEOUT, link.call("node.invoke.result", params)).await;
}

fn which(host: &NodeHost, params: Option<&str>) -> Answer {
    let params = WhichParams::read(params)?;
    let caller = Caller { agent: None, session_key: None, tightened: Default::default() };
    let rules = CallPolicy::read(host, caller, &host.cwd)?;
    let env = rules.environment(&[], std::iter::empty())?.found;
    let found = |name: String| {
        let path = lookup::program(name.as_ref(), &env, &host.cwd)?;
        Some((name, json!(path.to_str()?)))
    };
    let bins: Map<String, Value> = params.bins.into_iter().filter_map(found).collect();
    Ok(json!({"bins": bins}))
}

fn approvals(host: &NodeHost) -> Result<NodeApprovals, InvokeError> {
    let broken = |why: String| InvokeError::unavailable(format!("openclaw-guard: {why}"));
    let text = host.files.approvals().map_err(|error| broken(error.to_string()))?;
    NodeApprovals::parse(text).map_err(|error| broken(error.to_string()))
}

fn set_approvals(host: &NodeHost, params: Option<&str>) -> Answer {
    let _alone = host.setting.lock();
    let before = approvals(host)?;
    let shown = before.set(params)?;
    let written = host.files.write_approvals(&shown.text);
    written.map_err(|error| {
        InvokeError::unavailable(format!(
            "openclaw-guard: the exec approvals were not saved: {error}: make room, and set them again"
        ))
    })?;
    Ok(shown.approvals.payload())
}
