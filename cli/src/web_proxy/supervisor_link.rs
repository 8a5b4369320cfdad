//! Questions to the supervisor, and its answers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use guard_policy::WebScheme;
use guard_supervisor::web::wire::{
    ProxyMessage, Redirected, RefusalReason, WebAnswer, WebGrant, WebLookup, WebPeer, WebQuestion,
    WebRefusal, WebVerdict, line,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// The supervisor registers a client right after the connect(2), so the proxy may accept the connection before that.
/// An unknown client is asked about again after this time.
const UNKNOWN_RETRY: Duration = Duration::from_millis(10);
/// How many times the question is repeated before a client counts as one from outside of the tree.
const UNKNOWN_RETRIES: u32 = 200;

/// The same number for a look-up. It is smaller, because the supervisor registers the look-up's socket before
/// anything can be sent.
const UNKNOWN_LOOKUPS: u32 = 20;

/// The channel to the supervisor.
pub(super) struct SupervisorLink {
    next: Cell<u64>,
    waiting: Waiting,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
}

/// The tasks that wait for an answer, by the question's number. There are no more of them than clients.
type Waiting = std::rc::Rc<RefCell<HashMap<u64, mpsc::UnboundedSender<WebVerdict>>>>;

/// The longest word that is sent on, in characters: a name of a host, a method, or a name in a refusal. A
/// longer word is cut, and the cut text is denied: no host has so long a name.
const MAX_WORD: usize = 300;

pub(super) struct HostQuestion<'a> {
    /// The client.
    pub(super) client: WebPeer,
    /// The number of the request, and its method if it is of plain HTTP.
    pub(super) request: (u64, &'a str),
    /// The host and the port, as the client wrote them.
    pub(super) authority: &'a str,
    /// Whether the request is for TLS or for plain HTTP.
    pub(super) scheme: WebScheme,
    /// What the name resolves to.
    pub(super) addresses: &'a [IpAddr],
}

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

    /// Asks whether a client may reach a host. `left` ends when the client has left; that counts only while a human is asked.
    pub(super) async fn ask<L: Future<Output = ()>>(
        &self,
        question: &HostQuestion<'_>,
        left: impl Fn() -> L,
    ) -> Result<WebGrant, NotAllowed> {
        let asked = async || {
            let mut answers = self.start(|id| question.message(id));
            match answers.next().await {
                Some(WebVerdict::Asked) => tokio::select! {
                    answer = answers.next() => answer,
                    () = left() => Some(WebVerdict::Denied("the program has closed its connection".to_owned())),
                },
                answer => answer,
            }
        };
        match known(UNKNOWN_RETRIES, asked).await? {
            WebVerdict::Allowed(grant) => Ok(grant),
            WebVerdict::Denied(rule) => Err(NotAllowed::ByRule(rule)),
            // These answer other questions.
            WebVerdict::Asked
            | WebVerdict::UnknownClient
            | WebVerdict::Redirected(_)
            | WebVerdict::Address(_) => Err(ended()),
        }
    }

    /// What a redirected connection was for; `None` if it is not of the tree.
    pub(super) async fn redirected(&self, client: WebPeer) -> Option<Redirected> {
        let asked = async || self.start(|id| ProxyMessage::Accepts { id, client }).next().await;
        match known(UNKNOWN_RETRIES, asked).await {
            Ok(WebVerdict::Redirected(redirected)) => Some(redirected),
            _ => None,
        }
    }

    /// The address that stands for a name; `None` if none does.
    pub(super) async fn look_up(&self, client: WebPeer, name: &str) -> Result<Option<Ipv4Addr>, NotAllowed> {
        let lookup = |id| ProxyMessage::LooksUp(WebLookup { id, client, name: short(name) });
        match known(UNKNOWN_LOOKUPS, async || self.start(lookup).next().await).await? {
            WebVerdict::Address(address) => Ok(Some(address)),
            _ => Ok(None),
        }
    }

    /// Reports a refusal. Returns when the supervisor has reported it, or has ended.
    pub(super) async fn refuse(&self, client: WebPeer, authority: &str, why: RefusalReason) {
        let authority = short(authority);
        let why = match why {
            RefusalReason::ServerName(name) => RefusalReason::ServerName(short(&name)),
            RefusalReason::Host(name) => RefusalReason::Host(short(&name)),
            why => why,
        };
        let refusal = |id| ProxyMessage::Refuses(WebRefusal { id, client, authority, why });
        self.start(refusal).next().await;
    }

    /// A number that no other message has.
    pub(super) fn next_number(&self) -> u64 {
        let id = self.next.get();
        self.next.set(id + 1);
        id
    }

    /// Sends a message that is answered.
    fn start(&self, message: impl FnOnce(u64) -> ProxyMessage) -> LinkAnswers<'_> {
        let id = self.next_number();
        let (answer, answers) = mpsc::unbounded_channel();
        self.waiting.borrow_mut().insert(id, answer);
        self.send(&message(id));
        LinkAnswers { link: self, id, answers }
    }

    pub(super) fn send(&self, message: &ProxyMessage) {
        // Fails only if the task that sends messages has ended.
        let _ = self.outgoing.send(line(message));
    }
}

/// Returns the answer that `ask` gets about a client, once the client is known.
async fn known(retries: u32, ask: impl AsyncFn() -> Option<WebVerdict>) -> Result<WebVerdict, NotAllowed> {
    for _ in 0..retries {
        match ask().await.ok_or_else(ended)? {
            WebVerdict::UnknownClient => tokio::time::sleep(UNKNOWN_RETRY).await,
            answer => return Ok(answer),
        }
    }
    Err(NotAllowed::Stranger)
}

fn ended() -> NotAllowed {
    NotAllowed::ByRule("the guard has ended".to_owned())
}

impl HostQuestion<'_> {
    fn message(&self, id: u64) -> ProxyMessage {
        let (request, method) = self.request;
        ProxyMessage::Asks(WebQuestion {
            id,
            request,
            client: self.client,
            method: short(method),
            authority: short(self.authority),
            scheme: self.scheme,
            addresses: self.addresses.to_vec(),
        })
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_WORD).collect()
}

/// The answers to one message. If this is dropped before the last answer, nobody waits for the rest.
struct LinkAnswers<'l> {
    link: &'l SupervisorLink,
    id: u64,
    answers: mpsc::UnboundedReceiver<WebVerdict>,
}

impl LinkAnswers<'_> {
    /// The next answer; `None` if the supervisor has ended.
    async fn next(&mut self) -> Option<WebVerdict> {
        self.answers.recv().await
    }
}

impl Drop for LinkAnswers<'_> {
    fn drop(&mut self) {
        if self.link.waiting.borrow_mut().remove(&self.id).is_some() {
            self.link.send(&ProxyMessage::Withdraws { id: self.id });
        }
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
            let is_last = answer.verdict != WebVerdict::Asked;
            let mut waiting = self.waiting.borrow_mut();
            if let Some(waits) = waiting.get(&answer.id) {
                // The client may have gone.
                let _ = waits.send(answer.verdict);
            }
            if is_last {
                waiting.remove(&answer.id);
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
