//! Opens a WebSocket to an endpoint, before the first message.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use guard_policy::approval::{GatewayHost, GatewayUrl, Scheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::access::Credentials;
use super::frames::MAX_LEN;
use super::peer::SocketPair;
use super::problem::{Disconnected, NotGateway, NotPrivate, OpenError};
use super::tls;

/// How long a host may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The size of the read buffer, in bytes: most messages of a gateway are small.
const BUFFER: usize = 16 << 10;

/// A WebSocket to a gateway.
pub type Socket = WebSocketStream<Box<dyn Stream>>;

/// The transport of a WebSocket.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Opens a connection. Also returns its ends if only the kernel can identify the process at the other end.
///
/// # Errors
/// Why there is no connection.
pub async fn dial(access: &Credentials) -> Result<(Socket, Option<SocketPair>), OpenError> {
    let endpoint = &access.endpoint;
    let at = || access.endpoint();
    let stream = match timeout(CONNECT_TIMEOUT, connect(access)).await {
        Ok(stream) => stream?,
        Err(_) => {
            return Err(OpenError::Slow {
                at: at(),
                what: "a connection",
                seconds: CONNECT_TIMEOUT.as_secs(),
            });
        }
    };
    let failed = |error| OpenError::Unreachable { at: at(), error };
    let ends =
        SocketPair { own: stream.local_addr().map_err(failed)?, peer: stream.peer_addr().map_err(failed)? };
    let (stream, ends): (Box<dyn Stream>, _) = match endpoint.scheme() {
        Scheme::Ws => (Box::new(stream), ends.are_here().then_some(ends)),
        Scheme::Wss => {
            let over = tls::over(stream, endpoint.host(), access.trust).await;
            (Box::new(over.map_err(|error| OpenError::Insecure { at: at(), why: error.into() })?), None)
        }
    };
    // No Origin header: with one, a gateway sees a browser and grants nothing (OpenClaw 2026.9.6).
    let no_gateway = |why: NotGateway| OpenError::NoGateway { at: at(), why };
    let request = endpoint.as_str().into_client_request().map_err(|error| no_gateway(error.into()))?;
    match client_async_with_config(request, stream, Some(limits())).await {
        Ok((socket, _)) => Ok((socket, ends)),
        Err(tungstenite::Error::Http(response)) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {
            Err(OpenError::Busy { at: at() })
        }
        Err(tungstenite::Error::Http(response)) => {
            Err(no_gateway(NotGateway::Http(response.status().as_u16())))
        }
        Err(tungstenite::Error::Io(error)) => Err(OpenError::Unreachable { at: at(), error }),
        Err(error) => Err(no_gateway(error.into())),
    }
}

/// Returns the limits of a WebSocket.
pub fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(MAX_LEN))
        .max_frame_size(Some(MAX_LEN))
}

async fn connect(access: &Credentials) -> Result<TcpStream, OpenError> {
    let endpoint = &access.endpoint;
    let at = || access.endpoint();
    let addresses = resolve(endpoint).await.map_err(|error| OpenError::Unreachable { at: at(), error })?;
    if endpoint.scheme() == Scheme::Ws
        && !access.allow_insecure
        && !addresses.iter().all(|address| address.ip().is_loopback())
    {
        return Err(OpenError::Insecure { at: at(), why: NotPrivate::PlainText });
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Frames are small, and the other end waits for them.
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

async fn resolve(endpoint: &GatewayUrl) -> io::Result<Vec<SocketAddr>> {
    match endpoint.host() {
        GatewayHost::Address(address) => Ok(vec![SocketAddr::new(*address, endpoint.port())]),
        GatewayHost::Name(name) => Ok(lookup_host((name.as_str(), endpoint.port())).await?.collect()),
    }
}

/// Returns the text of a message; `None` for a message that only shows that the gateway is alive.
///
/// # Errors
/// Why the connection has ended.
pub fn message_text(
    message: Option<tungstenite::Result<tungstenite::Message>>,
) -> Result<Option<Utf8Bytes>, Disconnected> {
    use tungstenite::{Error, Message};
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        // The answer to a ping is sent with the next read.
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
        Some(Ok(Message::Binary(_))) => Err(Disconnected::Broken("a binary message".to_owned())),
        Some(Ok(Message::Close(Some(close)))) => Err(Disconnected::Closed {
            code: Some(close.code.into()),
            reason: close.reason.as_str().to_owned(),
        }),
        Some(Ok(Message::Close(None)) | Err(Error::ConnectionClosed | Error::AlreadyClosed)) | None => {
            Err(Disconnected::Closed { code: None, reason: String::new() })
        }
        Some(Err(Error::Io(error))) => Err(Disconnected::Failed(error.to_string())),
        Some(Err(Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake))) => {
            Err(Disconnected::Closed { code: None, reason: String::new() })
        }
        Some(Err(Error::Capacity(_))) => {
            Err(Disconnected::Broken(format!("a message of more than {} MiB", MAX_LEN >> 20)))
        }
        Some(Err(error)) => Err(Disconnected::Broken(error.to_string())),
    }
}
