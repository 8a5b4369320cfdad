//! A connection as the policy is asked about it.

use std::net::SocketAddr;

use super::page::Page;

/// What a socket speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A stream: TCP, and MPTCP, which is TCP to a server that does not know it.
    Tcp,
    /// Datagrams: UDP, and what has no ports, as the echo of ICMP.
    Udp,
}

/// Whether an address belongs to an interface of this host. Only somebody with a look at them can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interface {
    /// It does: what connects there arrives here.
    Own,
    /// It does not, or nobody has looked.
    Unknown,
}

/// A socket is about to be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// To whom. An IPv4-mapped address is an IPv4 address; none in particular (`0.0.0.0`, `::`) is this host.
    pub address: SocketAddr,
    /// What it speaks.
    pub transport: Transport,
    /// Whose address that is.
    pub interface: Interface,
    /// Where the operator's approvals page is.
    pub page: Page,
}
