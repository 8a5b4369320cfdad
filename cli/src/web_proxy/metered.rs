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
use tokio::time::{Instant, sleep_until};

use super::client::Client;

/// How much is read at once. Each direction of a tunnel has a buffer of this size.
const CHUNK: usize = 64 * 1024;
/// A tunnel ends after this time without data.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);
/// The same, after one side has closed its direction.
const HALF_CLOSED_TIMEOUT: Duration = Duration::from_secs(120);

/// A connection to a host, counted. It is reported when this is dropped.
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
            client: self.client.port(),
            authority: std::mem::take(&mut self.authority),
            address: self.address,
            sent: self.sent.get(),
            received: self.received.get(),
        }));
    }
}

/// Moves bytes both ways until both sides have sent their end, one fails, or nothing moves any more.
pub(super) async fn relay(
    client: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
    meter: &Meter,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let last = Cell::new(Instant::now());
    let is_half_closed = Cell::new(false);
    let up = pump(&mut from_client, &mut to_server, &meter.sent, &last, &is_half_closed);
    let down = pump(&mut from_server, &mut to_client, &meter.received, &last, &is_half_closed);
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

async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    count: &Cell<u64>,
    last: &Cell<Instant>,
    is_half_closed: &Cell<bool>,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = from.read(&mut chunk).await?;
        if length == 0 {
            is_half_closed.set(true);
            return to.shutdown().await;
        }
        to.write_all(&chunk[..length]).await?;
        add(count, length);
        last.set(Instant::now());
    }
}
