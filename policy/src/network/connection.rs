//! A connection, as a request to the policy.

use std::net::SocketAddr;

use super::page::Page;

/// The transport protocol of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Streams: TCP, and MPTCP, which falls back to TCP.
    Tcp,
    /// Datagrams: UDP, and protocols without ports such as ICMP echo.
    Udp,
}

/// Whether an address belongs to an interface of this host. The caller must look at the interfaces to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interface {
    /// It does: a connection to it arrives at this host.
    Own,
    /// It may. Both the denials for this host and those for other hosts apply.
    Perhaps,
    /// It does not, or the caller has not looked.
    Unknown,
}

/// A connection that a socket is about to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The destination. An IPv4-mapped address counts as IPv4; an unspecified one (`0.0.0.0`, `::`) is this host.
    pub address: SocketAddr,
    /// The transport protocol.
    pub transport: Transport,
    /// Whether the address belongs to this host.
    pub interface: Interface,
    /// The port of the operator's approvals page.
    pub page: Page,
    /// The port of the guard's proxy on the loopback address, for this transport, if there is one.
    pub proxy: Option<u16>,
}

impl Connection {
    /// A TCP connection to an address about which nothing else is known.
    pub fn to(address: SocketAddr) -> Connection {
        Connection {
            address,
            transport: Transport::Tcp,
            interface: Interface::Unknown,
            page: Page::Down,
            proxy: None,
        }
    }
}
