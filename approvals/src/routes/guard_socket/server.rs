//! The guard's end of the control socket. A slow or silent peer never blocks the manager.

use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::peer::nested_guard::is_guard;
use guard_openclaw::ports::IsMember;
use guard_policy::approval::Route;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Take};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::super::peer::Peer;
use super::paths::Socket;
use super::protocol::{Approval, Body, Call, MAX_REQUEST_LEN, Method, QuestionState, Reply, VERSION};
use crate::decision::{Decision, OperatorAnswer, Resolution};
use crate::event::{Event, QuestionChange};
use crate::manager::Manager;
use crate::outcome::{Lookup, SaveRequest};
use crate::persist::GrantStore;

/// The maximum number of peers at once. More wait until one is answered or times out.
const MAX_PEERS: usize = 32;
/// The maximum number of subscribed peers.
const MAX_SUBSCRIBERS: usize = 16;
/// How long a peer may be silent, unless it has subscribed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a write to a peer may take.
const IO_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between two requests of a peer, which limits it to a hundred per second.
const MIN_REQUEST_INTERVAL: Duration = Duration::from_millis(10);

/// Answers connecting peers.
#[derive(Clone)]
pub struct Server {
    manager: Manager,
    grant_store: GrantStore,
    is_member: IsMember,
    subscribers: Arc<Semaphore>,
    /// A permit for each reply that is being made or sent.
    replying: Arc<Semaphore>,
}

/// The peer broke the protocol, or has gone.
struct Gone;

/// Reads a peer's requests line by line.
struct LineReader {
    read: Take<BufReader<OwnedReadHalf>>,
    line: Vec<u8>,
}

impl Server {
    /// Answers from this manager.
    pub fn new(manager: Manager, grant_store: GrantStore, is_member: IsMember) -> Server {
        let (subscribers, replying) = (Semaphore::new(MAX_SUBSCRIBERS), Semaphore::new(MAX_PEERS));
        Server {
            manager,
            grant_store,
            is_member,
            subscribers: Arc::new(subscribers),
            replying: Arc::new(replying),
        }
    }

    /// Waits until every reply is sent.
    pub async fn idle(&self) {
        // The semaphore is never closed.
        let _ = self.replying.acquire_many(MAX_PEERS as u32).await;
    }

    /// Accepts connections for ever.
    pub async fn run(self, socket: Arc<Socket>) {
        let Ok(listener) = socket.listener() else { return };
        let peers = Arc::new(Semaphore::new(MAX_PEERS));
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&peers).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                // Usually the descriptors are used up.
                sleep(IO_TIMEOUT).await;
                continue;
            };
            let server = self.clone();
            tokio::spawn(server.serve_peer(stream, permit));
        }
    }

    /// Serves one peer until it goes, if it may ask.
    pub async fn serve_peer(self, stream: UnixStream, permit: OwnedSemaphorePermit) {
        // Reject a guard: it connects only on behalf of its tree. The peer gets no reason, so that a process of a tree
        // learns nothing here.
        let peer = Peer::from_stream(&stream, &self.is_member);
        if peer.is_ok_and(|peer| !is_guard(peer.pid)) {
            self.serve(stream, permit).await;
        }
    }

    /// Serves the front, which has the operator's terminal, until it goes.
    pub async fn run_terminal(self, link: UnixStream) {
        let (read, write) = link.into_split();
        let mut lines = LineReader::new(read);
        // The front sends `subscribe` when it starts, before anything is asked.
        let first = lines.next().await.map(|line| read_call(&line));
        if let Ok(Ok(Method::Subscribe)) = first {
            let _ = self.stream_events(lines, write, Route::Terminal).await;
        }
    }

    async fn serve(&self, stream: UnixStream, permit: OwnedSemaphorePermit) {
        let (read, mut write) = stream.into_split();
        let mut lines = LineReader::new(read);
        while let Ok(Ok(line)) = timeout(IDLE_TIMEOUT, lines.next()).await {
            let method = match read_call(&line) {
                Ok(method) => method,
                Err(refusal) => {
                    let _ = send(&mut write, &refusal).await;
                    return;
                }
            };
            if method == Method::Subscribe {
                let Ok(_subscriber) = self.subscribers.try_acquire() else {
                    let _ = send(&mut write, &Reply::error("BUSY", "too many have subscribed")).await;
                    return;
                };
                drop(permit);
                let _watcher = self.manager.watch();
                let _ = self.stream_events(lines, write, Route::Cli).await;
                return;
            }
            // The semaphore is never closed.
            let replying = self.replying.acquire().await;
            let reply = self.reply(method, Route::Cli).await;
            if send(&mut write, &reply).await.is_err() {
                return;
            }
            drop(replying);
            sleep(MIN_REQUEST_INTERVAL).await;
        }
    }

    async fn reply(&self, method: Method, route: Route) -> Reply {
        match method {
            Method::List | Method::Subscribe => {
                Reply::new(Body::Approvals { approvals: Approval::all(&self.manager.snapshot()) })
            }
            Method::Find { id } => match self.manager.find(&id) {
                Ok(Lookup::Pending(id)) => {
                    Reply::new(Body::Found { id: id.to_string(), state: QuestionState::Pending })
                }
                Ok(Lookup::Ended(id, end)) => {
                    Reply::new(Body::Found { id: id.to_string(), state: QuestionState::from_end(end) })
                }
                Err(error) => Reply::error(error.code(), error.to_string()),
            },
            Method::Resolve { id, decision, revision, pattern } => {
                self.resolve(&id, revision, &decision, pattern.as_deref(), route).await
            }
        }
    }

    async fn resolve(
        &self,
        id: &str,
        revision: Option<u64>,
        decision: &str,
        pattern: Option<&str>,
        route: Route,
    ) -> Reply {
        let decision: Decision = match decision.parse() {
            Ok(decision) => decision,
            Err(words) => return Reply::error("INVALID_DECISION", format!("invalid decision: {words}")),
        };
        match self.manager.resolve(id, revision, OperatorAnswer { decision, pattern }, route) {
            Ok(resolved) => {
                let (saved, unsaved) = self.save(resolved.saves).await;
                Reply::new(Body::Resolved {
                    id: resolved.id.to_string(),
                    answered: resolved.answered.iter().map(ToString::to_string).collect(),
                    questions: Approval::all(&resolved.cards),
                    saved,
                    unsaved,
                })
            }
            Err(error) => Reply::error(error.code(), error.to_string()),
        }
    }

    /// Saves on a blocking thread, because the disk may be slow.
    async fn save(&self, saves: Vec<SaveRequest>) -> (Vec<String>, Vec<String>) {
        if saves.is_empty() {
            return Default::default();
        }
        let (grant_store, manager) = (self.grant_store.clone(), self.manager.clone());
        let keep = move || saves.iter().map(|save| grant_store.save(&manager, save)).collect::<Vec<_>>();
        let outcomes = match tokio::task::spawn_blocking(keep).await {
            Ok(outcomes) => outcomes,
            Err(error) => vec![Err(error.into())],
        };
        let (mut saved, mut unsaved) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                Ok(path) => saved.push(path),
                Err(why) => unsaved.push(why.to_string()),
            }
        }
        (saved, unsaved)
    }

    /// Sends the pending questions, then the events, until the peer goes. Requests that arrive meanwhile are answered
    /// in between.
    async fn stream_events(
        &self,
        mut lines: LineReader,
        mut write: OwnedWriteHalf,
        route: Route,
    ) -> Result<(), Gone> {
        let (listings, mut events) = self.manager.subscribe();
        send(&mut write, &Reply::new(Body::Approvals { approvals: Approval::all(&listings) })).await?;
        loop {
            let event = tokio::select! {
                line = lines.next() => {
                    let reply = match read_call(&line?) {
                        Ok(method) => self.reply(method, route).await,
                        Err(refusal) => *refusal,
                    };
                    send(&mut write, &reply).await?;
                    sleep(MIN_REQUEST_INTERVAL).await;
                    continue;
                }
                event = events.recv() => event,
            };
            let frame = match event {
                Ok(event) => self.message(&event),
                // The snapshot contains whatever was missed.
                Err(RecvError::Lagged(_)) => {
                    Some(Body::Approvals { approvals: Approval::all(&self.manager.snapshot()) })
                }
                Err(RecvError::Closed) => return Err(Gone),
            };
            if let Some(frame) = frame {
                send(&mut write, &Reply::new(frame)).await?;
            }
        }
    }

    fn message(&self, event: &Event) -> Option<Body> {
        let id = event.id.to_string();
        let ended = |state| Some(Body::Ended { id: event.id.to_string(), state });
        match &event.what {
            QuestionChange::Requested { .. } => {
                let approvals = Approval::all(&self.manager.snapshot());
                // If the question has already ended, the next event says so.
                let approval = approvals.into_iter().find(|approval| approval.id == id)?;
                Some(Body::Requested { approval: Box::new(approval) })
            }
            QuestionChange::Resolved { decision, by } => {
                let by = Some(by.as_str().to_owned());
                ended(QuestionState::Resolved { decision: decision.to_string(), by })
            }
            QuestionChange::Expired => ended(QuestionState::Expired),
            QuestionChange::NoRoute => ended(QuestionState::NoRoute),
            QuestionChange::Failed => ended(QuestionState::Failed),
            QuestionChange::Withdrawn => ended(QuestionState::Withdrawn),
            QuestionChange::Lifecycle(lifecycle) => {
                Some(Body::Lifecycle { id, going: lifecycle.word().to_owned(), text: lifecycle.to_string() })
            }
            QuestionChange::Joined { .. }
            | QuestionChange::Refused(_)
            | QuestionChange::Granted
            | QuestionChange::Consumed
            | QuestionChange::Saved(_) => None,
        }
    }
}

impl QuestionState {
    fn from_end(end: Resolution) -> QuestionState {
        match end {
            Resolution::Resolved(decision) => {
                QuestionState::Resolved { decision: decision.to_string(), by: None }
            }
            Resolution::Expired => QuestionState::Expired,
            Resolution::NoRoute => QuestionState::NoRoute,
            Resolution::Failed => QuestionState::Failed,
            Resolution::Withdrawn => QuestionState::Withdrawn,
        }
    }
}

impl LineReader {
    fn new(read: OwnedReadHalf) -> LineReader {
        LineReader { read: BufReader::new(read).take(MAX_REQUEST_LEN), line: Vec::new() }
    }

    /// The next line. Cancel-safe: a partly read line is kept.
    async fn next(&mut self) -> Result<Vec<u8>, Gone> {
        match self.read.read_until(b'\n', &mut self.line).await {
            Ok(_) if self.line.ends_with(b"\n") => {
                self.read.set_limit(MAX_REQUEST_LEN);
                Ok(std::mem::take(&mut self.line))
            }
            _ => Err(Gone),
        }
    }
}

/// Parses a request, or returns the error reply.
fn read_call(line: &[u8]) -> Result<Method, Box<Reply>> {
    match serde_json::from_slice::<Call>(line) {
        Ok(call) if call.version == VERSION => Ok(call.method),
        Ok(call) => {
            let message =
                format!("this guard speaks version {VERSION} of the protocol, not {}", call.version);
            Err(Box::new(Reply::error("VERSION", message)))
        }
        Err(error) => Err(Box::new(Reply::error("INVALID_REQUEST", error.to_string()))),
    }
}

async fn send(write: &mut OwnedWriteHalf, reply: &Reply) -> Result<(), Gone> {
    match timeout(IO_TIMEOUT, write.write_all(&reply.to_line())).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(Gone),
    }
}
