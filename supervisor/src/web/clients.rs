//! Maps each connection to the proxy to the process of the tree that made it.

use std::collections::HashMap;
use std::net::SocketAddr;

use guard_openclaw::peer::proc::Tid;
use guard_policy::Transport;
use parking_lot::Mutex;

use super::stand_ins::StandIns;
use super::wire::Redirected;

/// The ports of the loopback address at which the proxy listens.
#[derive(Clone, Copy, Debug)]
pub struct ProxyPorts {
    /// TCP: for programs that know the proxy.
    pub proxy: u16,
    /// TCP: for connections to where other hosts would be, which the supervisor has redirected.
    pub redirected: u16,
    /// UDP: for look-ups, which the supervisor has redirected.
    pub lookups: u16,
}

/// The tree's connections to the proxy, and its sockets for look-ups. The supervisor connects each of them, so it knows
/// them all.
#[derive(Debug)]
pub struct WebClients {
    ports: ProxyPorts,
    /// By the socket's own port and its transport. There are no more of them than ports.
    by_port: Mutex<HashMap<(u16, Transport), WebClient>>,
    /// The names that the tree has looked up.
    pub names: StandIns,
}

/// A connection of the tree.
#[derive(Clone, Debug)]
pub struct WebClient {
    /// Whose it is.
    pub process: Tid,
    /// What it was for, if it was redirected.
    pub redirected: Option<Redirected>,
}

impl WebClients {
    /// Creates the table for a proxy at these ports.
    pub fn at(ports: ProxyPorts) -> WebClients {
        WebClients { ports, by_port: Mutex::default(), names: StandIns::default() }
    }

    /// Where the proxy listens.
    pub fn ports(&self) -> ProxyPorts {
        self.ports
    }

    /// The port of an address, if the proxy listens there.
    pub fn port_at(&self, address: SocketAddr, transport: Transport) -> Option<u16> {
        let ProxyPorts { proxy, redirected, lookups } = self.ports;
        let own: &[u16] = match transport {
            Transport::Tcp => &[proxy, redirected],
            Transport::Udp => &[lookups],
        };
        let port = address.port();
        (address.ip().to_canonical().is_loopback() && own.contains(&port)).then_some(port)
    }

    /// Notes that a socket has connected to the proxy from this port.
    pub fn add(&self, from: u16, transport: Transport, client: WebClient) {
        self.by_port.lock().insert((from, transport), client);
    }

    /// The process that has connected from this port; `None` if the connection is not of the tree.
    pub fn process(&self, from: u16) -> Option<Tid> {
        self.client(from, Transport::Tcp).map(|client| client.process)
    }

    /// The same with what it was for.
    pub fn client(&self, from: u16, transport: Transport) -> Option<WebClient> {
        self.by_port.lock().get(&(from, transport)).cloned()
    }

    /// Forgets a connection that is closed.
    pub fn remove(&self, from: u16) {
        self.by_port.lock().remove(&(from, Transport::Tcp));
    }
}
