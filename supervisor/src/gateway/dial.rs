//! From an endpoint to a WebSocket on which nothing has been said yet.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::access::Access;
use super::endpoint::{Endpoint, Host, Wire};
use super::frames::LONGEST;
use super::problem::{Lost, OpenError};

/// How long a host may take to answer at all.
const CONNECT: Duration = Duration::from_secs(10);
/// What is read at once, in bytes: a gateway says little at a time.
const BUFFER: usize = 16 << 10;

/// A connection.
pub type Socket = WebSocketStream<TcpStream>;

/// Makes one.
///
/// # Errors
/// Why there is none.
pub async fn dial(access: &Access) -> Result<Socket, OpenError> {
    let endpoint = &access.endpoint;
    let at = || endpoint.to_string();
    let stream = match timeout(CONNECT, connect(access)).await {
        Ok(stream) => stream?,
        Err(_) => return Err(OpenError::Slow { at: at(), what: "a connection", seconds: CONNECT.as_secs() }),
    };
    if endpoint.wire == Wire::Tls {
        return Err(OpenError::Insecure { at: at(), why: "TLS is not spoken yet".to_owned() });
    }
    // No Origin: with one, a gateway takes the client for a browser and grants nothing (OpenClaw 2026.9.6).
    let no_gateway = |why: String| OpenError::NoGateway { at: at(), why };
    let request = at().into_client_request().map_err(|error| no_gateway(error.to_string()))?;
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(LONGEST))
        .max_frame_size(Some(LONGEST));
    match client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(response)) => {
            Err(no_gateway(format!("it answers with HTTP {}", response.status().as_u16())))
        }
        Err(tungstenite::Error::Io(error)) => Err(OpenError::Unreachable { at: at(), error }),
        Err(error) => Err(no_gateway(error.to_string())),
    }
}

async fn connect(access: &Access) -> Result<TcpStream, OpenError> {
    let endpoint = &access.endpoint;
    let at = || endpoint.to_string();
    let addresses = resolve(endpoint).await.map_err(|error| OpenError::Unreachable { at: at(), error })?;
    if endpoint.wire == Wire::Plain
        && !access.allow_insecure
        && !addresses.iter().all(|address| address.ip().is_loopback())
    {
        return Err(OpenError::Insecure {
            at: at(),
            why: "without TLS the token would be sent over a network for everybody to read: use wss://, or a tunnel to \
                  this host, or set approvals.gateway.allowInsecure"
                .to_owned(),
        });
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Frames are small and waited for.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(match last.kind() {
        io::ErrorKind::ConnectionRefused => OpenError::Nobody { at: at() },
        _ => OpenError::Unreachable { at: at(), error: last },
    })
}

async fn resolve(endpoint: &Endpoint) -> io::Result<Vec<SocketAddr>> {
    match &endpoint.host {
        Host::Address(address) => Ok(vec![SocketAddr::new(*address, endpoint.port)]),
        Host::Name(name) => Ok(lookup_host((name.as_str(), endpoint.port)).await?.collect()),
    }
}

/// The next thing that is said; `None` for what only shows that somebody is there.
///
/// # Errors
/// When that was the last.
pub fn said(message: Option<tungstenite::Result<tungstenite::Message>>) -> Result<Option<Utf8Bytes>, Lost> {
    use tungstenite::{Error, Message};
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        // The answer to a ping is sent with the next read.
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
        Some(Ok(Message::Binary(_))) => Err(Lost::Broken("a binary message".to_owned())),
        Some(Ok(Message::Close(Some(close)))) => {
            Err(Lost::Closed { code: Some(close.code.into()), reason: close.reason.as_str().to_owned() })
        }
        Some(Ok(Message::Close(None)) | Err(Error::ConnectionClosed | Error::AlreadyClosed)) | None => {
            Err(Lost::Closed { code: None, reason: String::new() })
        }
        Some(Err(Error::Io(error))) => Err(Lost::Failed(error.to_string())),
        Some(Err(Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake))) => {
            Err(Lost::Closed { code: None, reason: String::new() })
        }
        Some(Err(Error::Capacity(_))) => {
            Err(Lost::Broken(format!("a message of more than {} MiB", LONGEST >> 20)))
        }
        Some(Err(error)) => Err(Lost::Broken(error.to_string())),
    }
}
