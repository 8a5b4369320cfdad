//! Connections of programs that do not know the proxy: the supervisor has redirected them, and says what they were for.

use std::rc::Rc;

use guard_policy::WebScheme;
use guard_supervisor::web::wire::Redirected;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::Client;
use super::host::JudgedHost;
use super::tunnel::{FIRST_BYTES_TIMEOUT, Tunnel};
use super::{client_hello, exchange, lookups};

/// Serves a redirected connection until it ends. A failure ends it; the program could not be told more.
pub(super) async fn serve(stream: TcpStream, client: &Rc<Client>) {
    let _ = stream.set_nodelay(true);
    match client.redirected().await {
        Some(Redirected::Host(authority)) => serve_host(stream, client, &authority).await,
        Some(Redirected::Lookups) => {
            let _ = lookups::serve_stream(stream, client).await;
        }
        // The connection is not of the tree.
        None => {}
    }
}

/// Serves TLS or plain HTTP. The first byte tells which of them it is, before a human is asked.
async fn serve_host(stream: TcpStream, client: &Rc<Client>, authority: &str) {
    let mut first = [0];
    if !matches!(timeout(FIRST_BYTES_TIMEOUT, stream.peek(&mut first)).await, Ok(Ok(1))) {
        return;
    }
    if first == [client_hello::HANDSHAKE] {
        if let Ok(tunnel) = Tunnel::connect(client, authority).await {
            let _ = tunnel.carry(stream, Vec::new()).await;
        }
    } else if let Ok(host) = JudgedHost::find(client, authority, WebScheme::Http, "").await {
        let _ = exchange::serve_within(stream, client, &host).await;
    }
}
