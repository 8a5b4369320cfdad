//! Maps each connection to the proxy to the process of the tree that made it.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};

use guard_openclaw::peer::proc::Tid;
use guard_policy::Transport;
use parking_lot::Mutex;

use super::stand_ins::StandIns;
use super::wire::{ProxySocket, Redirected, WebPeer};

/// How many sockets are known. Each may have an address of its own, of which 127.0.0.0/8 has many.
const MAX_CLIENTS: usize = 1 << 16;

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
    by_peer: Mutex<HashMap<WebPeer, WebClient>>,
    /// The names that the tree has looked up.
    pub names: StandIns,
}

/// A connection of the tree.
#[derive(Clone, Debug)]
pub struct WebClient {
    /// The process that made it.
    pub process: Tid,
    /// What it was for, if it was redirected.
    pub redirected: Option<Redirected>,
}

impl WebClients {
    /// Creates the table for a proxy at these ports.
    pub fn at(ports: ProxyPorts) -> WebClients {
        WebClients { ports, by_peer: Mutex::default(), names: StandIns::default() }
    }

    /// Where the proxy listens.
    pub fn ports(&self) -> ProxyPorts {
        self.ports
    }

    /// The socket of the proxy's at an address, if one is there.
    pub fn socket_at(&self, address: SocketAddr, transport: Transport) -> Option<ProxySocket> {
        let ProxyPorts { proxy, redirected, lookups } = self.ports;
        let port = address.port();
        let socket = match transport {
            Transport::Tcp if port == proxy => ProxySocket::Proxy,
            Transport::Tcp if port == redirected => ProxySocket::Redirected,
            Transport::Udp if port == lookups => ProxySocket::Lookups,
            Transport::Tcp | Transport::Udp => return None,
        };
        (address.ip().to_canonical() == Ipv4Addr::LOCALHOST).then_some(socket)
    }

    /// Notes a socket that has connected to the proxy. Nobody tells when a socket for look-ups is closed. If there are
    /// too many sockets, those for look-ups are forgotten, and their programs connect anew. A connection beyond the
    /// bound is not known to the proxy.
    pub fn add(&self, peer: WebPeer, client: WebClient) {
        let mut known = self.by_peer.lock();
        if known.len() >= MAX_CLIENTS {
            known.retain(|peer, _| peer.to != ProxySocket::Lookups);
        }
        if known.len() < MAX_CLIENTS {
            known.insert(peer, client);
        }
    }

    /// The process that a connection belongs to; `None` if the connection is not the tree's.
    pub fn process(&self, peer: WebPeer) -> Option<Tid> {
        self.client(peer).map(|client| client.process)
    }

    /// The process that a connection belongs to, and what the connection was for.
    pub fn client(&self, peer: WebPeer) -> Option<WebClient> {
        self.by_peer.lock().get(&peer).cloned()
    }

    /// Forgets a connection that is closed.
    pub fn remove(&self, peer: WebPeer) {
        self.by_peer.lock().remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32, to: ProxySocket) -> WebPeer {
        WebPeer { from: SocketAddr::from((Ipv4Addr::from_bits(0x7f00_0000 + number), 1)), to }
    }

    #[test]
    fn a_client_is_known_by_its_address_and_where_it_connected() {
        let clients = WebClients::at(ProxyPorts { proxy: 1, redirected: 2, lookups: 3 });
        let client = WebClient { process: Tid::default(), redirected: None };
        clients.add(peer(1, ProxySocket::Proxy), client.clone());
        assert!(clients.process(peer(1, ProxySocket::Proxy)).is_some());
        assert!(clients.process(peer(2, ProxySocket::Proxy)).is_none(), "another address with the port");
        assert!(clients.process(peer(1, ProxySocket::Redirected)).is_none(), "another socket with the port");
        let at = |address: &str, transport| clients.socket_at(address.parse().unwrap(), transport);
        assert_eq!(at("127.0.0.1:2", Transport::Tcp), Some(ProxySocket::Redirected));
        assert_eq!(at("[::ffff:127.0.0.1]:3", Transport::Udp), Some(ProxySocket::Lookups));
        for (address, transport) in
            [("127.0.0.2:1", Transport::Tcp), ("127.0.0.1:1", Transport::Udp), ("[::1]:1", Transport::Tcp)]
        {
            assert_eq!(at(address, transport), None, "{address}");
        }
        // Sockets for look-ups make room for others.
        let count = u32::try_from(MAX_CLIENTS).unwrap();
        (0..count).for_each(|number| clients.add(peer(number, ProxySocket::Lookups), client.clone()));
        clients.add(peer(7, ProxySocket::Redirected), client);
        assert!(clients.process(peer(7, ProxySocket::Redirected)).is_some());
        assert!(clients.process(peer(7, ProxySocket::Lookups)).is_none());
        assert!(clients.process(peer(1, ProxySocket::Proxy)).is_some());
    }
}
