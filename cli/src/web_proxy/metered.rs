//! Moves bytes between two connections, and counts them.

use std::cell::Cell;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use guard_supervisor::web::wire::{ProxyMessage, RefusalReason, WebTransfer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until};

use super::client::Client;
use super::splice::Splice;

/// How much is read at once. Each direction of a tunnel has a buffer of this size.
const CHUNK: usize = 64 * 1024;
/// How much one direction copies before it has a pipe of its own: most connections never move that much.
const MAX_COPIED: usize = 256 * 1024;
/// A tunnel ends after this time without data.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);
/// After one side has closed its direction, a tunnel ends after this time without data.
const HALF_CLOSED_TIMEOUT: Duration = Duration::from_secs(120);

/// A connection to a host, counted. The counts are reported when this is dropped.
pub(super) struct Meter {
    client: Rc<Client>,
    authority: String,
    address: IpAddr,
    pub(super) sent: Cell<u64>,
    pub(super) received: Cell<u64>,
}

impl Meter {
    /// Starts to count a client's connection to a host.
    pub(super) fn new(client: &Rc<Client>, authority: &str, address: IpAddr) -> Meter {
        let (client, authority) = (Rc::clone(client), authority.to_owned());
        Meter { client, authority, address, sent: Cell::new(0), received: Cell::new(0) }
    }
}

impl Meter {
    /// Reports that the connection differs from what was judged.
    pub(super) fn refuse(&self, why: RefusalReason) -> impl Future<Output = ()> + use<> {
        let (client, authority) = (Rc::clone(&self.client), self.authority.clone());
        async move { client.refuse(&authority, why).await }
    }
}

/// A connection to a server that counts what it moves.
pub(super) struct MeteredStream {
    stream: TcpStream,
    meter: Rc<Meter>,
}

impl MeteredStream {
    /// Counts what a connection moves from now on.
    pub(super) fn new(stream: TcpStream, meter: Rc<Meter>) -> MeteredStream {
        MeteredStream { stream, meter }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        add(&this.meter.received, buffer.filled().len() - before);
        read
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(length)) = &written {
            add(&this.meter.sent, *length);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

fn add(count: &Cell<u64>, length: usize) {
    count.set(count.get() + length as u64);
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.client.send(&ProxyMessage::Moved(WebTransfer {
            client: self.client.peer(),
            authority: std::mem::take(&mut self.authority),
            address: self.address,
            sent: self.sent.get(),
            received: self.received.get(),
        }));
    }
}

/// Moves bytes both ways until both sides have sent their end, one fails, or nothing moves any more.
pub(super) async fn relay(mut client: TcpStream, mut server: TcpStream, meter: &Meter) -> io::Result<()> {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let last = Cell::new(Instant::now());
    let is_half_closed = Cell::new(false);
    let moved = |count: &Cell<u64>, length: usize| {
        add(count, length);
        last.set(Instant::now());
    };
    let ended = || is_half_closed.set(true);
    let up = pump(&mut from_client, &mut to_server, |length| moved(&meter.sent, length), ended);
    let down = pump(&mut from_server, &mut to_client, |length| moved(&meter.received, length), ended);
    let both = async { tokio::try_join!(up, down).map(|_| ()) };
    let idle = async {
        loop {
            let most = if is_half_closed.get() { HALF_CLOSED_TIMEOUT } else { IDLE_TIMEOUT };
            let until = last.get() + most;
            if until <= Instant::now() {
                return io::Error::from(io::ErrorKind::TimedOut);
            }
            // One side may close before the longer time is over.
            sleep_until(until.min(Instant::now() + HALF_CLOSED_TIMEOUT)).await;
        }
    };
    tokio::select!(done = both => done, error = idle => Err(error))
}

/// Moves one direction to its end. `moved` gets the length of each part, after it was sent.
async fn pump(
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    moved: impl Fn(usize),
    ended: impl Fn(),
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut copied = 0;
    let mut pipe: Option<Splice> = None;
    loop {
        let length = match &pipe {
            Some(pipe) => pipe.step(from.as_ref(), to.as_ref()).await?,
            None => {
                let length = from.read(&mut chunk).await?;
                to.write_all(&chunk[..length]).await?;
                length
            }
        };
        if length == 0 {
            ended();
            return to.shutdown().await;
        }
        moved(length);
        copied += length;
        if pipe.is_none() && copied >= MAX_COPIED {
            copied = 0;
            // Without descriptors for a pipe it goes on copying, and tries again later.
            pipe = Splice::new().ok();
            if pipe.is_some() {
                chunk = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (one, other) =
            tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (one.unwrap(), other.unwrap().0)
    }

    #[tokio::test]
    async fn what_is_copied_and_what_is_spliced_arrives_in_order() {
        let ((mut source, mut from), (mut to, mut sink)) = (pair().await, pair().await);
        let bytes: Vec<u8> = (0..20 * MAX_COPIED).map(|index| (index % 251) as u8).collect();
        let (moved, is_ended) = (Cell::new(0), Cell::new(false));
        let send = async {
            source.write_all(&bytes).await.unwrap();
            source.shutdown().await.unwrap();
        };
        let (mut from, mut to) = (from.split().0, to.split().1);
        let pumped =
            pump(&mut from, &mut to, |length| moved.set(moved.get() + length), || is_ended.set(true));
        let mut arrived = Vec::new();
        let (_, pumped, read) = tokio::join!(send, pumped, sink.read_to_end(&mut arrived));
        pumped.unwrap();
        read.unwrap();
        assert!(arrived == bytes && moved.get() == bytes.len() && is_ended.get());
    }

    #[tokio::test]
    async fn a_receiver_that_is_gone_ends_the_direction() {
        let ((mut source, mut from), (mut to, sink)) = (pair().await, pair().await);
        drop(sink);
        let bytes = vec![0; 20 * MAX_COPIED];
        let (mut from, mut to) = (from.split().0, to.split().1);
        let pumped = pump(&mut from, &mut to, |_| (), || ());
        tokio::select! {
            pumped = pumped => assert!(pumped.is_err()),
            _ = source.write_all(&bytes) => panic!("all was taken"),
        }
    }
}
