//! Forwards one exchange of plain HTTP.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use guard_supervisor::web::wire::{RefusalReason, WebGrant};
use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::metered::{Meter, MeteredStream};

/// The longest head of a request or a response, in bytes.
pub(super) const MAX_HEAD: usize = 64 * 1024;
/// How long a server may take to begin its response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(600);

/// The headers that are for the next hop alone (RFC 9110, 7.6.1), beside those that `Connection` lists.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The body of a response.
pub(super) enum ProxyBody {
    /// The proxy's own words.
    Text(Full<Bytes>),
    /// What a server sends.
    Streamed(BoundedBody),
}

/// A server's body, up to `network.web.maxResponseBytes`.
pub(super) struct BoundedBody {
    body: Incoming,
    most: u64,
    left: u64,
    meter: Rc<Meter>,
    /// The report that the body is too long, until the supervisor has it.
    refusal: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

/// Why there is no response.
pub(super) enum ExchangeError {
    /// The policy refuses the response.
    Refused(RefusalReason),
    /// The server gave no response.
    Server(String),
}

/// A response in the proxy's own words.
pub(super) fn text(status: StatusCode, what: &str) -> Response<ProxyBody> {
    let mut response = Response::new(ProxyBody::Text(format!("openclaw-guard: {what}\n").into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// No body.
pub(super) fn nothing() -> ProxyBody {
    ProxyBody::Text(Full::default())
}

/// Sends a request over a connection of its own, and returns the response.
///
/// # Errors
/// If the policy refuses the response, or no response arrives.
pub(super) async fn forward(
    request: Request<Incoming>,
    server: TcpStream,
    grant: &WebGrant,
    meter: Meter,
) -> Result<Response<ProxyBody>, ExchangeError> {
    let failed = |error: hyper::Error| ExchangeError::Server(error.to_string());
    let meter = Rc::new(meter);
    let stream = TokioIo::new(MeteredStream::new(server, Rc::clone(&meter)));
    let (mut sender, exchange) =
        http1::Builder::new().max_buf_size(MAX_HEAD).handshake(stream).await.map_err(failed)?;
    // The task ends with the response, or when either side disconnects.
    tokio::task::spawn_local(exchange);
    let response = timeout(RESPONSE_TIMEOUT, sender.send_request(onward(request)?)).await;
    let response = response.map_err(|_| ExchangeError::Server("no response".to_owned()))?.map_err(failed)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(ExchangeError::Server("the server would change the protocol".to_owned()));
    }
    let is_redirect = response.status().is_redirection() && response.headers().contains_key(header::LOCATION);
    if is_redirect && !grant.follow_redirects {
        return Err(ExchangeError::Refused(RefusalReason::Redirect));
    }
    let most = grant.max_response_bytes.unwrap_or(u64::MAX);
    if response.body().size_hint().lower() > most {
        return Err(ExchangeError::Refused(RefusalReason::TooLong(most)));
    }
    let (mut head, body) = response.into_parts();
    remove_hop_by_hop(&mut head.headers);
    head.version = Version::HTTP_11;
    Ok(Response::from_parts(
        head,
        ProxyBody::Streamed(BoundedBody { body, most, left: most, meter, refusal: None }),
    ))
}

/// The request as the server gets it.
fn onward(request: Request<Incoming>) -> Result<Request<Incoming>, ExchangeError> {
    let (mut head, body) = request.into_parts();
    if !head.headers.contains_key(header::HOST)
        && let Some(authority) = head.uri.authority()
    {
        let host = HeaderValue::from_str(authority.as_str());
        head.headers.insert(header::HOST, host.map_err(|error| ExchangeError::Server(error.to_string()))?);
    }
    remove_hop_by_hop(&mut head.headers);
    head.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    head.version = Version::HTTP_11;
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = path.parse::<Uri>().map_err(|error| ExchangeError::Server(error.to_string()))?;
    Ok(Request::from_parts(head, body))
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let keeps = [header::HOST, header::CONTENT_LENGTH];
    for name in listed.into_iter().filter(|name| !keeps.contains(name)) {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            ProxyBody::Text(text) => Pin::new(text)
                .poll_frame(context)
                .map(|frame| frame.map(|frame| frame.map_err(|never| match never {}))),
            ProxyBody::Streamed(body) => body.poll_next(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ProxyBody::Text(text) => text.is_end_stream(),
            ProxyBody::Streamed(streamed) => streamed.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ProxyBody::Text(text) => text.size_hint(),
            ProxyBody::Streamed(streamed) => streamed.body.size_hint(),
        }
    }
}

impl BoundedBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(refusal) = &mut self.refusal {
            return match refusal.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(Some(Err(io::ErrorKind::FileTooLarge.into()))),
                Poll::Pending => Poll::Pending,
            };
        }
        let frame = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => frame,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(io::Error::other(error)))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        };
        let length = frame.data_ref().map_or(0, Bytes::len) as u64;
        if length > self.left {
            self.refusal = Some(Box::pin(self.meter.refuse(RefusalReason::TooLong(self.most))));
            return self.poll_next(context);
        }
        self.left -= length;
        Poll::Ready(Some(Ok(frame)))
    }
}
