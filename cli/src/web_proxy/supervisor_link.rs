//! Questions to the supervisor, and its answers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use guard_policy::WebScheme;
use guard_supervisor::web::wire::{
    ProxyMessage, RefusalReason, WebAnswer, WebGrant, WebQuestion, WebRefusal, WebVerdict, line,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
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

/// The supervisor's answers, to be passed on.
pub(super) struct AnswerReader {
    from: OwnedReadHalf,
    waiting: Waiting,
}

/// The messages to the supervisor, to be sent.
pub(super) struct MessageWriter {
    to: OwnedWriteHalf,
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
    pub(super) fn new(channel: UnixStream) -> (SupervisorLink, AnswerReader, MessageWriter) {
        let (outgoing, to_send) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        let (from, to) = channel.into_split();
        let incoming = AnswerReader { from, waiting: waiting.clone() };
        (SupervisorLink { next: Cell::new(0), waiting, outgoing }, incoming, MessageWriter { to, to_send })
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
            let question = |id| {
                let (authority, addresses) = (authority.to_owned(), addresses.to_vec());
                ProxyMessage::Asks(WebQuestion { id, client, authority, scheme, addresses })
            };
            match self.answer_to(question).await {
                Some(WebVerdict::Allowed(grant)) => return Ok(grant),
                Some(WebVerdict::Denied(rule)) => return Err(NotAllowed::ByRule(rule)),
                Some(WebVerdict::UnknownClient) => tokio::time::sleep(UNKNOWN_RETRY).await,
                None => return Err(NotAllowed::ByRule("the guard has ended".to_owned())),
            }
        }
        Err(NotAllowed::Stranger)
    }

    /// Reports a refusal. Returns when the supervisor has reported it, or has ended.
    pub(super) async fn refuse(&self, client: u16, authority: &str, why: RefusalReason) {
        let authority = authority.to_owned();
        let refusal = |id| ProxyMessage::Refuses(WebRefusal { id, client, authority, why });
        let _ = self.answer_to(refusal).await;
    }

    /// Sends a message that is answered, and waits for the answer. `None` if the supervisor has ended.
    async fn answer_to(&self, message: impl FnOnce(u64) -> ProxyMessage) -> Option<WebVerdict> {
        let id = self.next.get();
        self.next.set(id + 1);
        let (answer, answered) = oneshot::channel();
        self.waiting.borrow_mut().insert(id, answer);
        self.send(&message(id));
        answered.await.ok()
    }

    /// Sends a message to the supervisor.
    pub(super) fn send(&self, message: &ProxyMessage) {
        // Fails only where nobody is left to hear it.
        let _ = self.outgoing.send(line(message));
    }
}

impl AnswerReader {
    /// Passes the answers on, until the supervisor ends.
    pub(super) async fn run(self) -> io::Result<()> {
        let mut from = BufReader::new(self.from);
        let mut text = Vec::new();
        while from.read_until(b'\n', &mut text).await? > 0 {
            let answer: WebAnswer = serde_json::from_slice(&text)?;
            text.clear();
            if let Some(waits) = self.waiting.borrow_mut().remove(&answer.id) {
                // The client may have gone.
                let _ = waits.send(answer.verdict);
            }
        }
        Ok(())
    }
}

impl MessageWriter {
    /// Sends the messages, until nobody is left to write one.
    pub(super) async fn run(mut self) -> io::Result<()> {
        while let Some(text) = self.to_send.recv().await {
            self.to.write_all(&text).await?;
        }
        Ok(())
    }
}
