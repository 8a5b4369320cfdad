//! Serves the approvals socket: one request a connection, as OpenClaw's companion on macOS does.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use guard_approvals::routes::Peer;
use guard_approvals::routes::openclaw_socket::{
    ApprovalRequest, ClientMessage, Problem, ServerMessage, Word,
};
use guard_openclaw::clock::now_ms;
use guard_openclaw::ports::IsMember;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use super::admission::Admission;
use super::event::{Sender, WatchEvent};
use super::queue::Key;

/// The longest request line, in bytes. OpenClaw's companion on macOS has the same limit.
pub const MAX_BYTES: u64 = 256_000;
/// How many connections are open at a time; further ones wait.
const MAX_CONNECTIONS: usize = 256;
/// How long a peer may take to send its line, and to read the answer.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a question may be pending. A guard then asks again.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// How often the server checks whether a peer has gone. The peer has half-closed the connection, so a read
/// cannot tell whether it has gone.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The longest id, in bytes. OpenClaw 2026.9.6 has the same limit.
const MAX_ID_LEN: usize = 128;

/// The server of the socket.
#[derive(Clone)]
pub struct WatchServer {
    admission: Arc<Mutex<Admission>>,
    is_member: IsMember,
    events: Sender,
    connections: Arc<AtomicU64>,
}

/// Counts a process's connection as ended when dropped.
struct Pass(Arc<Mutex<Admission>>, i32);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.lock().disconnected(self.1);
    }
}

/// Reports, when it is dropped, that the connection has ended.
struct CloseNotice<'s>(&'s Sender, Option<(Key, u64)>);

impl Drop for CloseNotice<'_> {
    fn drop(&mut self) {
        if let Some((key, connection)) = self.1.take() {
            // At shutdown there is no receiver.
            let _ = self.0.send(WatchEvent::Dropped { key, connection });
        }
    }
}

impl WatchServer {
    /// Creates a server for the peers that `admission` admits. It reports their questions to `events`.
    pub fn new(admission: Admission, is_member: IsMember, events: Sender) -> WatchServer {
        WatchServer {
            admission: Arc::new(Mutex::new(admission)),
            is_member,
            events,
            connections: Arc::default(),
        }
    }

    /// Accepts connections for ever.
    pub async fn run(self, listener: UnixListener) {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                // Usually no descriptors are left: wait until some are.
                sleep(IO_TIMEOUT).await;
                continue;
            };
            let server = self.clone();
            tokio::spawn(async move {
                let _permit = permit;
                server.serve(stream).await;
            });
        }
    }

    /// Serves one peer.
    pub async fn serve(&self, mut stream: UnixStream) {
        let pid = match Peer::from_stream(&stream, &self.is_member) {
            Ok(peer) => peer.pid,
            Err(rejected) => return self.rejected(None, &rejected.to_string()),
        };
        if !self.admission(|admission| admission.enter(pid)) {
            return self.rejected(Some(pid), "it has too many connections");
        }
        let _pass = Pass(Arc::clone(&self.admission), pid);
        // A guard that only tests whether the socket is served sends nothing; that is no reason for a message.
        let Some(line) = next_line(&mut stream).await else { return };
        if !self.admission(|admission| admission.admit_request(pid, Instant::now())) {
            return self.rejected(Some(pid), "it asks too often");
        }
        let reply = match serde_json::from_slice(&line) {
            Ok(ClientMessage::Request { token, id, request }) => {
                if !self.admission(|admission| admission.knows(&token)) {
                    self.rejected(Some(pid), "it does not have the token");
                    Some(ServerMessage::Decision { id, decision: Word::Deny })
                } else if id.is_empty() || id.len() > MAX_ID_LEN {
                    return self.rejected(Some(pid), "its request has no id");
                } else {
                    let key = Key { pid: pid.unsigned_abs(), id: id.clone() };
                    let decision = self.decision(key, request, &stream).await;
                    decision.map(|decision| ServerMessage::Decision { id, decision })
                }
            }
            Ok(ClientMessage::Exec { id, nonce, ts, hmac, request_json }) => {
                let now = (i64::try_from(now_ms()).unwrap_or(i64::MAX), Instant::now());
                let signed =
                    self.admission(|admission| admission.signed((&nonce, ts, &hmac), &request_json, now));
                let error = signed.err().unwrap_or_else(|| {
                    Problem::new("UNAVAILABLE", "openclaw-guard only answers; it runs nothing", None)
                });
                self.rejected(Some(pid), &format!("it asks to run something: {}", error.message));
                Some(ServerMessage::ExecRes { id, ok: false, error })
            }
            Err(_) => return self.rejected(Some(pid), "its request cannot be parsed"),
        };
        if let Some(reply) = reply {
            // The peer may not read its answer.
            let _ = timeout(IO_TIMEOUT, stream.write_all(&reply.to_line())).await;
        }
    }

    /// Waits for the human's answer; `None` when the peer goes or the question is withdrawn.
    async fn decision(&self, key: Key, asked: Box<ApprovalRequest>, stream: &UnixStream) -> Option<Word> {
        let connection = self.connections.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.events.send(WatchEvent::Asked { key: key.clone(), asked, connection, answer }).ok()?;
        let _notice = CloseNotice(&self.events, Some((key, connection)));
        tokio::select! {
            word = answered => word.ok(),
            () = gone(stream) => None,
            () = sleep(QUESTION_TIMEOUT) => None,
        }
    }

    fn admission<T>(&self, act: impl FnOnce(&mut Admission) -> T) -> T {
        act(&mut self.admission.lock())
    }

    fn rejected(&self, pid: Option<i32>, why: &str) {
        // At shutdown there is no receiver.
        let _ = self.events.send(WatchEvent::Rejected { pid, why: why.to_owned() });
    }
}

async fn next_line(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut read = BufReader::new(stream).take(MAX_BYTES);
    match timeout(IO_TIMEOUT, read.read_until(b'\n', &mut line)).await {
        Ok(Ok(_)) if line.ends_with(b"\n") => Some(line),
        _ => None,
    }
}

/// Returns when the peer has closed the connection; a half-close is not enough.
async fn gone(stream: &UnixStream) {
    loop {
        let mut look = [PollFd::new(stream.as_fd(), PollFlags::empty())];
        let is_there = poll(&mut look, PollTimeout::ZERO) == Ok(0);
        if !is_there {
            return;
        }
        sleep(POLL_INTERVAL).await;
    }
}
