//! An admitted connection to a gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::access::Credentials;
use super::calls::{CallResult, Calls};
use super::dial::{Socket, dial, message_text};
use super::frames::{Frame, GatewayEvent, read, request};
use super::handshake::{Dialect, NotLetIn, greet};
use super::hello::Hello;
use super::problem::{CallError, Disconnected, OpenError};

/// How long connecting and the handshake may take together.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// How long closing the connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How much later than promised a tick may arrive.
const GRACE_INTERVAL: Duration = Duration::from_secs(5);
/// The maximum number of events that wait for the listener. While so many wait, the driver does not read the
/// connection.
const EVENTS: usize = 16;

/// The gateway's events of one connection, in their order; closed when the connection has ended.
pub type Events = mpsc::Receiver<GatewayEvent>;

/// An admitted connection. It ends when its last clone is dropped.
#[derive(Clone, Debug)]
pub struct Link(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    hello: Hello,
    next: AtomicU64,
    commands: mpsc::UnboundedSender<DriverCommand>,
    lost: watch::Receiver<Option<Disconnected>>,
}

/// A message from a link to its driver.
#[derive(Debug)]
enum DriverCommand {
    Call { id: String, text: String, answer: oneshot::Sender<CallResult> },
    Forget(String),
}

impl Link {
    /// Connects and performs the handshake.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn open(access: &Credentials) -> Result<Link, OpenError> {
        Link::admitted(access).await.map(|(socket, hello)| Link::new(socket, hello))
    }

    /// Does as [`Link::open`], and also returns the events. A connection with a listener ignores messages that
    /// are not frames.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn open_listening(access: &Credentials) -> Result<(Link, Events), OpenError> {
        let (socket, hello) = Link::admitted(access).await?;
        let (events, heard) = mpsc::channel(EVENTS);
        Ok((Link::drive(socket, hello, Some(events)), heard))
    }

    async fn admitted(access: &Credentials) -> Result<(Socket, Hello), OpenError> {
        let opened = timeout(OPEN_TIMEOUT, async {
            let mut manner = Dialect::default();
            loop {
                let (mut socket, ends) = dial(access).await?;
                match greet(access, &mut socket, ends, manner).await {
                    Ok(hello) => return Ok((socket, hello)),
                    // Each form of `connect` is tried once.
                    Err(NotLetIn::Again(next)) => manner = next,
                    Err(NotLetIn::Never(error)) => return Err(error),
                }
            }
        });
        opened.await.unwrap_or_else(|_| {
            let (at, seconds) = (access.endpoint(), OPEN_TIMEOUT.as_secs());
            Err(OpenError::Slow { at, what: "an answer", seconds })
        })
    }

    /// Takes over an admitted connection; a separate task reads it until it ends.
    pub fn new(socket: Socket, hello: Hello) -> Link {
        Link::drive(socket, hello, None)
    }

    fn drive(socket: Socket, hello: Hello, events: Option<mpsc::Sender<GatewayEvent>>) -> Link {
        let (commands, queue) = mpsc::unbounded_channel();
        let (end, lost) = watch::channel(None);
        let shared = Shared { next: AtomicU64::new(1), commands, lost, hello };
        let silence = shared.hello.tick * 2 + GRACE_INTERVAL;
        let driver = Driver { socket, queue, calls: Calls::default(), silence, events };
        tokio::spawn(async move {
            let lost = driver.run().await;
            end.send_replace(Some(lost));
        });
        Link(Arc::new(shared))
    }

    /// Returns the gateway's greeting.
    pub fn hello(&self) -> &Hello {
        &self.0.hello
    }

    /// Calls a method and waits for the first answer, for as long as the connection lasts. Dropping the
    /// future ends the wait; the gateway is not notified.
    ///
    /// # Errors
    /// When the gateway refuses the call, or the connection ends first.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed).to_string();
        let text = request(&id, method, &params);
        let (answer, answered) = oneshot::channel();
        let _forget = Forget { id: id.clone(), commands: &self.0.commands };
        // If the driver has ended, the send drops `answer`, and the wait below fails.
        let _ = self.0.commands.send(DriverCommand::Call { id, text, answer });
        match answered.await {
            Ok(answer) => answer.map_err(CallError::Refused),
            Err(_) => Err(CallError::Lost(self.lost().await)),
        }
    }

    /// Whether the connection has ended.
    pub fn has_ended(&self) -> bool {
        self.0.lost.borrow().is_some()
    }

    /// Waits until the connection has ended; returns why.
    pub async fn lost(&self) -> Disconnected {
        let mut lost = self.0.lost.clone();
        let lost = lost.wait_for(Option::is_some).await.ok().and_then(|lost| lost.clone());
        lost.unwrap_or_else(|| Disconnected::Failed("its task has ended".to_owned()))
    }

    /// Drops this clone and waits until the connection has ended, which it does when the last clone is dropped.
    pub async fn end(self) {
        let mut lost = self.0.lost.clone();
        drop(self);
        let _ = lost.wait_for(Option::is_some).await;
    }
}

/// Ends the wait for a call's answer when it is dropped.
struct Forget<'l> {
    id: String,
    commands: &'l mpsc::UnboundedSender<DriverCommand>,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let _ = self.commands.send(DriverCommand::Forget(std::mem::take(&mut self.id)));
    }
}

/// The task that reads and writes the connection.
struct Driver {
    socket: Socket,
    queue: mpsc::UnboundedReceiver<DriverCommand>,
    calls: Calls<oneshot::Sender<CallResult>>,
    silence: Duration,
    /// The listener of events, if there is one.
    events: Option<mpsc::Sender<GatewayEvent>>,
}

impl Driver {
    async fn run(mut self) -> Disconnected {
        let mut deadline = Instant::now() + self.silence;
        loop {
            // The driver reads only what the listener has room for, so that a gateway that sends too much
            // waits.
            let is_taken = self.events.as_ref().is_none_or(|events| events.capacity() > 0);
            tokio::select! {
                message = self.socket.next(), if is_taken => {
                    deadline = Instant::now() + self.silence;
                    match message_text(message) {
                        Ok(Some(text)) => match read(&text) {
                            Ok(frame) => self.receive(frame),
                            Err(why) if self.events.is_some() => tracing::info!("the gateway's message is ignored: {why}"),
                            Err(why) => return Disconnected::Broken(why.to_string()),
                        },
                        Ok(None) => {}
                        Err(lost) => return lost,
                    }
                }
                command = self.queue.recv() => match command {
                    Some(DriverCommand::Call { id, text, answer }) => {
                        self.calls.wait(id, answer);
                        match timeout(self.silence, self.socket.send(Message::text(text))).await {
                            Ok(Ok(())) => {}
                            Ok(Err(error)) => return message_text(Some(Err(error))).err().unwrap_or(Disconnected::Failed(String::new())),
                            Err(_) => return Disconnected::Silent(self.silence.as_secs()),
                        }
                    }
                    Some(DriverCommand::Forget(id)) => self.calls.forget(&id),
                    None => {
                        let goodbye = async {
                            let _ = self.socket.close(None).await;
                            // Reads until the gateway has closed its end too.
                            while let Some(Ok(_)) = self.socket.next().await {}
                        };
                        let _ = timeout(CLOSE_TIMEOUT, goodbye).await;
                        return Disconnected::Closed { code: None, reason: String::new() };
                    }
                },
                () = room(self.events.as_ref()), if !is_taken => deadline = Instant::now() + self.silence,
                () = tokio::time::sleep_until(deadline), if is_taken => return Disconnected::Silent(self.silence.as_secs()),
            }
        }
    }

    fn receive(&mut self, frame: Frame) {
        match frame {
            Frame::Answer { id, answer } => {
                if let Some(who) = self.calls.answered(&id) {
                    // This fails only if the caller has stopped waiting.
                    let _ = who.send(answer);
                }
            }
            // No event answers a call (OpenClaw 2026.7.35, 2026.9.6).
            Frame::Event(event) => {
                // The queue has room: the driver has read this message only because of that.
                let _ = self.events.as_ref().map(|events| events.try_send(event));
            }
            Frame::Other => {}
        }
    }
}

/// Waits until an event can be taken.
async fn room(events: Option<&mpsc::Sender<GatewayEvent>>) {
    if let Some(events) = events {
        // If the receiver is gone, there is never room, and the link is about to be dropped.
        if events.reserve().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
