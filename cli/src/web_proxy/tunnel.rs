//! A tunnel (CONNECT, or SOCKS5): TLS that names the host, or plain HTTP for the host.
//!
//! Why: docs/decisions.md, "TLS with a hidden name is refused."

use std::io;
use std::rc::Rc;
use std::time::Duration;

use guard_policy::{WebScheme, WebTarget};
use guard_supervisor::web::wire::{RefusalReason, WebGrant};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::Client;
use super::client_hello::{self, NamedServer};
use super::exchange;
use super::host::{JudgedHost, Unreachable};
use super::metered::{Meter, relay};
use super::prefixed::Prefixed;

/// How long a client may take to send its first bytes in the tunnel.
pub(super) const FIRST_BYTES_TIMEOUT: Duration = Duration::from_secs(30);

/// A fatal alert of TLS: `access_denied` (RFC 8446, 6.2), in a record of its own.
const ACCESS_DENIED: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// A tunnel that is allowed and connected.
pub(super) struct Tunnel {
    client: Rc<Client>,
    host: JudgedHost,
    server: TcpStream,
}

impl Tunnel {
    /// Judges a host, as a client names it, and connects to it.
    pub(super) async fn connect(client: &Rc<Client>, authority: &str) -> Result<Tunnel, Unreachable> {
        let host = JudgedHost::find(client, authority, WebScheme::Https, "").await?;
        let server = host.connect().await?;
        Ok(Tunnel { client: Rc::clone(client), host, server })
    }

    /// Serves the tunnel, after the client has read that it is open.
    pub(super) async fn serve(self, opened: OnUpgrade) {
        let Ok(client) = opened.await else { return };
        let Ok(client) = client.downcast::<TokioIo<TcpStream>>() else { return };
        // A failure in a tunnel ends it; nobody could be told.
        let _ = self.carry(client.io.into_inner(), client.read_buf.to_vec()).await;
    }

    /// Carries what the client sends, after it has read that the tunnel is open. `first` was read already.
    pub(super) async fn carry(self, mut stream: TcpStream, mut first: Vec<u8>) -> io::Result<()> {
        let found = timeout(FIRST_BYTES_TIMEOUT, opening(&mut stream, &mut first)).await??;
        if first.first() != Some(&client_hello::HANDSHAKE) {
            return self.carry_http(Prefixed::new(first, stream)).await;
        }
        let mut server = self.server;
        let meter = Meter::new(&self.client, self.host.authority(), server.peer_addr()?.ip());
        if let Some(why) = refusal(&self.host.grant, found) {
            self.client.refuse(self.host.authority(), why).await;
            stream.write_all(&ACCESS_DENIED).await?;
            return stream.shutdown().await;
        }
        server.write_all(&first).await?;
        meter.sent.set(first.len() as u64);
        relay(stream, server, &meter).await
    }

    async fn carry_http(self, stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        drop(self.server);
        match self.host.plain(&self.client).await {
            Ok(host) => exchange::serve_within(stream, &self.client, &host).await,
            // The refusal was reported, and no request of the client waits for an answer.
            Err(_) => Ok(()),
        }
    }
}

/// Reads until it is clear what the client speaks, and which server it means.
async fn opening(client: &mut TcpStream, first: &mut Vec<u8>) -> io::Result<NamedServer> {
    let mut is_read = !first.is_empty();
    loop {
        if !std::mem::take(&mut is_read) && client.read_buf(first).await? == 0 {
            return if first.is_empty() {
                Err(io::ErrorKind::UnexpectedEof.into())
            } else {
                Ok(NamedServer::Invalid)
            };
        }
        if first[0] != client_hello::HANDSHAKE {
            return Ok(NamedServer::Invalid);
        }
        match client_hello::find(first) {
            NamedServer::Incomplete if first.len() < client_hello::MAX_LEN => {}
            NamedServer::Incomplete => return Ok(NamedServer::Invalid),
            found => return Ok(found),
        }
    }
}

/// Returns why a client's first message of TLS is not for the host that was judged; `None` if it is.
fn refusal(grant: &WebGrant, found: NamedServer) -> Option<RefusalReason> {
    match found {
        NamedServer::Name(name) => {
            let named = WebTarget::Authority(&name, WebScheme::Https).endpoint();
            let is_meant = named.is_ok_and(|named| named.host() == grant.host);
            (!is_meant || name.contains(':')).then_some(RefusalReason::ServerName(name))
        }
        // An address is not a server name (RFC 6066), so TLS to an address names no server.
        NamedServer::NoName if grant.host.parse::<std::net::IpAddr>().is_ok() => None,
        NamedServer::NoName => Some(RefusalReason::NoServerName),
        NamedServer::Hidden => Some(RefusalReason::HiddenServerName),
        NamedServer::Invalid | NamedServer::Incomplete => Some(RefusalReason::NotTls),
    }
}
