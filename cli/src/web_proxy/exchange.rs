//! Requests of plain HTTP: to the proxy, or within a tunnel.

use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use guard_policy::{WebScheme, WebTarget};
use guard_supervisor::web::wire::RefusalReason;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use super::client::Client;
use super::forward::{self, ExchangeError, MAX_HEAD, ProxyBody, text};
use super::host::{JudgedHost, Unreachable};
use super::metered::Meter;
use super::supervisor_link::NotAllowed;

/// How long a client may take to send a head.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Serves plain HTTP within a tunnel, for one host.
pub(super) async fn serve_within(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    client: &Rc<Client>,
    host: &JudgedHost,
) -> io::Result<()> {
    let answer = |request: Request<Incoming>| async move {
        let response = if request.method() == Method::CONNECT {
            text(StatusCode::BAD_REQUEST, "this is a tunnel already")
        } else {
            exchange(request, client, host).await
        };
        Ok::<_, Infallible>(response)
    };
    server().serve_connection(TokioIo::new(stream), service_fn(answer)).await.map_err(io::Error::other)
}

/// A server of HTTP, with bounds.
pub(super) fn server() -> http1::Builder {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD).half_close(true);
    server
}

/// Forwards a request of plain HTTP to a host that was judged, and returns its response.
pub(super) async fn exchange(
    request: Request<Incoming>,
    client: &Rc<Client>,
    host: &JudgedHost,
) -> Response<ProxyBody> {
    let authority = host.authority();
    let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
    let named = request.uri().authority().map(|authority| authority.as_str());
    for name in hosts.iter().map(|name| name.to_str().unwrap_or("?")).chain(named) {
        let endpoint = WebTarget::Authority(name, WebScheme::Http).endpoint();
        if !endpoint.is_ok_and(|named| named.host() == host.grant.host && named.port() == host.grant.port) {
            client.refuse(authority, RefusalReason::Host(name.to_owned())).await;
            return text(StatusCode::FORBIDDEN, "the Host header names another host");
        }
    }
    if hosts.len() > 1 || hosts.is_empty() && named.is_none() {
        return text(StatusCode::BAD_REQUEST, "a request has one Host header");
    }
    let server = match host.connect().await {
        Ok(server) => server,
        Err(error) => return unreachable(authority, error),
    };
    let Ok(at) = server.peer_addr() else {
        return text(StatusCode::BAD_GATEWAY, "the server has closed the connection");
    };
    let meter = Meter::new(client, authority, at.ip());
    match forward::forward(request, server, &host.grant, meter).await {
        Ok(response) => response,
        Err(ExchangeError::Refused(why)) => {
            let answer = match &why {
                RefusalReason::TooLong(most) => format!("the response is longer than {most} bytes"),
                _ => "the response is a redirect".to_owned(),
            };
            client.refuse(authority, why).await;
            text(StatusCode::FORBIDDEN, &answer)
        }
        Err(ExchangeError::Server(error)) => text(StatusCode::BAD_GATEWAY, &format!("{authority}: {error}")),
    }
}

/// The answer for a host that cannot be reached.
pub(super) fn unreachable(authority: &str, error: Unreachable) -> Response<ProxyBody> {
    match error {
        Unreachable::Refused(NotAllowed::ByRule(rule)) => {
            text(StatusCode::FORBIDDEN, &format!("denied {authority} ({rule})"))
        }
        Unreachable::Refused(NotAllowed::Stranger) => {
            text(StatusCode::FORBIDDEN, "this proxy serves the programs of one guard")
        }
        Unreachable::NoAddress => {
            text(StatusCode::BAD_GATEWAY, &format!("{authority}: the name has no address"))
        }
        Unreachable::Failed(error) => text(StatusCode::BAD_GATEWAY, &format!("{authority}: {error}")),
    }
}
