//! Questions to the supervisor, and its answers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use guard_policy::WebScheme;
use guard_supervisor::web::wire::{ProxyMessage, WebAnswer, WebGrant, WebQuestion, WebVerdict, line};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};

/// The proxy may accept a connection before the supervisor has registered the client, which it does right after its
/// connect(2). So an unknown client is asked about again after this time.
const UNKNOWN_RETRY: Duration = Duration::from_millis(10);
/// How often that is repeated before a client counts as one from outside of the tree.
const UNKNOWN_RETRIES: u32 = 200;

/// The channel to the supervisor.
pub(super) struct SupervisorLink {
    next: Cell<u64>,
    waiting: Waiting,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
}

/// The tasks that wait for an answer, by the question's number. There are no more of them than clients.
type Waiting = std::rc::Rc<RefCell<HashMap<u64, oneshot::Sender<WebVerdict>>>>;

/// Moves the messages. It ends with the supervisor.
pub(super) struct LinkWork {
    channel: UnixStream,
    waiting: Waiting,
    to_send: mpsc::UnboundedReceiver<Vec<u8>>,
}

/// Why a client may not reach a host.
pub(super) enum NotAllowed {
    /// By this rule.
    ByRule(String),
    /// Because the client is not of the tree.
    Stranger,
}

impl SupervisorLink {
    /// Takes over the channel.
    pub(super) fn new(channel: UnixStream) -> (SupervisorLink, LinkWork) {
        let (outgoing, to_send) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        let work = LinkWork { channel, waiting: waiting.clone(), to_send };
        (SupervisorLink { next: Cell::new(0), waiting, outgoing }, work)
    }

    /// Asks whether a client may reach a host.
    pub(super) async fn ask(
        &self,
        client: u16,
        authority: &str,
        scheme: WebScheme,
        addresses: &[IpAddr],
    ) -> Result<WebGrant, NotAllowed> {
        for _ in 0..UNKNOWN_RETRIES {
            let id = self.next.get();
            self.next.set(id + 1);
            let (answer, answered) = oneshot::channel();
            self.waiting.borrow_mut().insert(id, answer);
            let (authority, addresses) = (authority.to_owned(), addresses.to_vec());
            self.send(&ProxyMessage::Asks(WebQuestion { id, client, authority, scheme, addresses }));
            match answered.await {
                Ok(WebVerdict::Allowed(grant)) => return Ok(grant),
                Ok(WebVerdict::Denied(rule)) => return Err(NotAllowed::ByRule(rule)),
                Ok(WebVerdict::UnknownClient) => tokio::time::sleep(UNKNOWN_RETRY).await,
                Err(_) => return Err(NotAllowed::ByRule("the guard has ended".to_owned())),
            }
        }
        Err(NotAllowed::Stranger)
    }

    /// Sends a message to the supervisor.
    pub(super) fn send(&self, message: &ProxyMessage) {
        // Fails only where nobody is left to hear it.
        let _ = self.outgoing.send(line(message));
    }
}

impl LinkWork {
    /// Works until the supervisor ends; then sends what is left.
    pub(super) async fn run(mut self) {
        let (from, mut to) = self.channel.split();
        let waiting = &self.waiting;
        let receive = async {
            let mut from = BufReader::new(from);
            let mut text = Vec::new();
            while from.read_until(b'\n', &mut text).await? > 0 {
                let answer: WebAnswer = serde_json::from_slice(&text)?;
                text.clear();
                if let Some(waits) = waiting.borrow_mut().remove(&answer.id) {
                    // The client may have gone.
                    let _ = waits.send(answer.verdict);
                }
            }
            io::Result::Ok(())
        };
        let to_send = &mut self.to_send;
        let send = async {
            while let Some(text) = to_send.recv().await {
                to.write_all(&text).await?;
            }
            io::Result::Ok(())
        };
        let _ = tokio::select!(done = receive => done, done = send => done);
        while let Ok(text) = self.to_send.try_recv() {
            if to.write_all(&text).await.is_err() {
                return;
            }
        }
    }
}
