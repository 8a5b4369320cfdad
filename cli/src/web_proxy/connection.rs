//! A client's connection: SOCKS5, or HTTP with requests for tunnels and of plain HTTP.

use std::convert::Infallible;
use std::rc::Rc;

use guard_policy::WebScheme;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::Client;
use super::exchange::{self, HEAD_TIMEOUT, exchange, unreachable};
use super::forward::{self, ProxyBody, text};
use super::host::JudgedHost;
use super::socks;
use super::tunnel::Tunnel;

/// Serves a client until it ends. One port is enough: no request of HTTP begins with the first byte of SOCKS5.
pub(super) async fn serve(stream: TcpStream, client: &Rc<Client>) {
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    match timeout(HEAD_TIMEOUT, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first == [socks::VERSION] => return socks::serve(stream, client).await,
        Ok(Ok(_)) => {}
        Ok(Err(_)) | Err(_) => return,
    }
    let answer = |request| answer(request, Rc::clone(client));
    let served =
        exchange::server().serve_connection(TokioIo::new(stream), service_fn(answer)).with_upgrades();
    // A client that sends no HTTP, or disconnects, is not reported.
    let _ = served.await;
}

async fn answer(request: Request<Incoming>, client: Rc<Client>) -> Result<Response<ProxyBody>, Infallible> {
    let Some(authority) = request.uri().authority().map(|authority| authority.as_str().to_owned()) else {
        let what = "this is a proxy of openclaw-guard: it takes CONNECT, and whole URLs";
        return Ok(text(StatusCode::BAD_REQUEST, what));
    };
    let response = if request.method() == Method::CONNECT {
        open(request, &client, &authority).await
    } else if request.uri().scheme_str() == Some("http") {
        match JudgedHost::find(&client, &authority, WebScheme::Http, request.method().as_str()).await {
            Ok(host) => exchange(request, &client, &host).await,
            Err(error) => unreachable(&authority, error),
        }
    } else {
        text(StatusCode::BAD_REQUEST, "this proxy speaks no TLS: use CONNECT for https")
    };
    Ok(response)
}

/// Opens a tunnel.
async fn open(mut request: Request<Incoming>, client: &Rc<Client>, authority: &str) -> Response<ProxyBody> {
    if request.uri().port().is_none() {
        return text(StatusCode::BAD_REQUEST, "CONNECT needs a port");
    }
    match Tunnel::connect(client, authority).await {
        Ok(tunnel) => {
            tokio::task::spawn_local(tunnel.serve(hyper::upgrade::on(&mut request)));
            Response::new(forward::nothing())
        }
        Err(error) => unreachable(authority, error),
    }
}
