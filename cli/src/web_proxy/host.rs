//! Connects to a host by its name. The supervisor judges the name; then the name is looked up once, and the supervisor
//! judges all addresses. The proxy connects to one of these.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use guard_policy::WebScheme;
use guard_supervisor::web::wire::WebGrant;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::client::Client;
use super::supervisor_link::NotAllowed;

/// The most look-ups at once.
pub(super) const MAX_LOOKUPS: usize = 32;
/// How long a look-up may take: resolv.conf(5) with three servers and two attempts.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(35);
/// How long one address is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// A host that may be reached.
#[derive(Debug)]
pub(super) struct JudgedHost {
    /// What it may be used for.
    pub(super) grant: WebGrant,
    /// Its addresses in the order in which they are tried. All of them were judged.
    addresses: Vec<SocketAddr>,
    /// The number of the request.
    request: u64,
}

/// Why a host cannot be reached.
pub(super) enum Unreachable {
    /// The policy refuses it.
    Refused(NotAllowed),
    /// The name has no address.
    NoAddress,
    /// No address accepted the connection; this is the last error.
    Failed(io::Error),
}

impl From<NotAllowed> for Unreachable {
    fn from(refused: NotAllowed) -> Unreachable {
        Unreachable::Refused(refused)
    }
}

impl JudgedHost {
    /// Judges a host, as a client names it, and looks it up.
    pub(super) async fn find(
        client: &Client,
        authority: &str,
        scheme: WebScheme,
        method: &str,
    ) -> Result<JudgedHost, Unreachable> {
        let request = client.next_request();
        let grant = client.ask((request, method), authority, scheme, &[]).await?;
        let found = timeout(LOOKUP_TIMEOUT, lookup_host((grant.host.as_str(), grant.port))).await;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found.ok().and_then(Result::ok).into_iter().flatten() {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(Unreachable::NoAddress);
        }
        let ips: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
        let grant = client.ask((request, method), authority, scheme, &ips).await?;
        Ok(JudgedHost { grant, addresses, request })
    }

    /// The same host for plain HTTP, if the policy allows that, too: a scheme is a part of an origin.
    pub(super) async fn plain(self, client: &Client) -> Result<JudgedHost, Unreachable> {
        let ips: Vec<IpAddr> = self.addresses.iter().map(SocketAddr::ip).collect();
        let grant = client.ask((self.request, ""), self.authority(), WebScheme::Http, &ips).await?;
        Ok(JudgedHost { grant, ..self })
    }

    /// The host and the port, as they were judged.
    pub(super) fn authority(&self) -> &str {
        &self.grant.authority
    }

    /// Connects to the first address that accepts.
    pub(super) async fn connect(&self) -> Result<TcpStream, Unreachable> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in &self.addresses {
            match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Without TCP_NODELAY, small requests wait for acknowledgements.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(Unreachable::Failed(last))
    }
}
