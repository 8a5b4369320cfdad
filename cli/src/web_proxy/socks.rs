//! SOCKS5 (RFC 1928), for programs that do not speak HTTP to a proxy. It opens a tunnel, like CONNECT.

use std::io;
use std::rc::Rc;

use fast_socks5::server::{Socks5ServerProtocol, SocksServerError, states::CommandRead};
use fast_socks5::util::target_addr::TargetAddr;
use fast_socks5::{ReplyError, Socks5Command};
use hyper::http::uri::Authority;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::Client;
use super::exchange::HEAD_TIMEOUT;
use super::host::Unreachable;
use super::tunnel::Tunnel;

pub(super) use fast_socks5::consts::SOCKS5_VERSION as VERSION;

/// A client that waits for the reply to its request.
type Waiting = Socks5ServerProtocol<TcpStream, CommandRead>;

/// Serves a client that has begun with [`VERSION`].
pub(super) async fn serve(stream: TcpStream, client: &Rc<Client>) {
    // A client that sends something else, or disconnects, is not reported.
    if let Ok(Ok((waiting, command, target))) = timeout(HEAD_TIMEOUT, request(stream)).await {
        let _ = open(waiting, &command, &target, client).await;
    }
}

async fn request(stream: TcpStream) -> Result<(Waiting, Socks5Command, TargetAddr), SocksServerError> {
    Socks5ServerProtocol::accept_no_auth(stream).await?.read_command().await
}

async fn open(
    waiting: Waiting,
    command: &Socks5Command,
    target: &TargetAddr,
    client: &Rc<Client>,
) -> Result<(), SocksServerError> {
    if !matches!(command, Socks5Command::TCPConnect) {
        return waiting.reply_error(&ReplyError::CommandNotSupported).await;
    }
    let Some(authority) = authority(target) else {
        return waiting.reply_error(&ReplyError::AddressTypeNotSupported).await;
    };
    match Tunnel::connect(client, authority.as_str()).await {
        Ok(tunnel) => {
            // The tree need not learn the address by which the server sees the proxy.
            let stream = waiting.reply_success(([0, 0, 0, 0], 0).into()).await?;
            // A failure in a tunnel ends it; nobody could be told.
            let _ = tunnel.carry(stream, Vec::new()).await;
            Ok(())
        }
        Err(error) => waiting.reply_error(&reply(&error)).await,
    }
}

/// The host as a URL has it, so that SOCKS5 accepts no name that a URL could not have.
fn authority(target: &TargetAddr) -> Option<Authority> {
    let text = match target {
        TargetAddr::Ip(address) => address.to_string(),
        TargetAddr::Domain(name, port) => format!("{name}:{port}"),
    };
    text.parse().ok()
}

fn reply(error: &Unreachable) -> ReplyError {
    match error {
        Unreachable::Refused(_) => ReplyError::ConnectionNotAllowed,
        Unreachable::NoAddress => ReplyError::HostUnreachable,
        Unreachable::Failed(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => ReplyError::ConnectionRefused,
            io::ErrorKind::NetworkUnreachable => ReplyError::NetworkUnreachable,
            io::ErrorKind::HostUnreachable => ReplyError::HostUnreachable,
            io::ErrorKind::TimedOut => ReplyError::ConnectionTimeout,
            _ => ReplyError::GeneralFailure,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_a_url_can_have() {
        let domain = |name: &str| {
            authority(&TargetAddr::Domain(name.to_owned(), 443)).map(|found| found.as_str().to_owned())
        };
        assert_eq!(domain("good.test").as_deref(), Some("good.test:443"));
        assert_eq!(domain("[::1]").as_deref(), Some("[::1]:443"));
        for name in ["good.test/x", "good.test#", "good.test?x", "a b", "a\nb", "good.test:80", "::1"] {
            assert_eq!(domain(name), None, "{name}");
        }
        let address = |text: &str| {
            authority(&TargetAddr::Ip(text.parse().unwrap())).map(|found| found.as_str().to_owned())
        };
        assert_eq!(address("10.0.0.1:80").as_deref(), Some("10.0.0.1:80"));
        assert_eq!(address("[fe80::1]:80").as_deref(), Some("[fe80::1]:80"));
    }
}
