//! Ports that several sockets have. With SO_REUSEPORT, and for UDP with SO_REUSEADDR, the kernel gives each such socket
//! a part of what arrives (socket(7)). A socket of the tree beside a running server of another process would receive
//! data that is meant for that server.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use guard_policy::Transport;
use parking_lot::Mutex;
use procfs::net::{TcpNetEntries, TcpState, UdpNetEntries};
use procfs::{FromBufReadSI, current_system_info};
use rustix::io::Errno;
use rustix::net::sockopt;

use super::port_holders::{PortHolder, holders};

/// The most sockets that the guard remembers. Any further socket counts as another process's.
const MAX_SOCKETS: usize = 16_384;
/// Ports at which programs of one host listen beside each other on purpose, for multicast: SSDP, WS-Discovery, mDNS and LLMNR.
const DISCOVERY: [u16; 4] = [1900, 3702, 5353, 5355];

/// The TCP and UDP sockets that the tree has bound.
#[derive(Debug, Default)]
pub struct PortSockets(Mutex<Remembered>);

/// What no other socket ever has (SO_COOKIE in socket(7)), and the inode of that socket.
type Remembered = HashMap<u64, u64>;

/// Who else has a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortNeighbour {
    /// At most sockets of the tree.
    Tree,
    /// A server of another process. The socket could share its port.
    Shared,
    /// A server of another process, beside which the kernel binds no such socket.
    Exclusive,
}

impl PortSockets {
    /// Remembers a socket that the tree has bound.
    pub fn add(&self, socket: BorrowedFd<'_>) {
        let (Ok(stat), Ok(cookie)) = (rustix::fs::fstat(socket), sockopt::socket_cookie(socket)) else {
            return;
        };
        let mut sockets = self.0.lock();
        if sockets.len() >= MAX_SOCKETS {
            let all = [Transport::Tcp, Transport::Udp].map(servers).into_iter().flatten().flatten();
            let found: HashSet<u64> = all.map(|(_, inode)| inode).collect();
            sockets.retain(|_, inode| found.contains(inode));
        }
        if sockets.len() < MAX_SOCKETS {
            sockets.insert(cookie, stat.st_ino);
        }
    }

    /// Finds out who has the port at which a socket is to be bound.
    ///
    /// # Errors
    /// Those of getsockopt(2).
    pub fn neighbour(
        &self,
        socket: BorrowedFd<'_>,
        at: SocketAddr,
        transport: Transport,
    ) -> Result<PortNeighbour, Errno> {
        let is_discovery = transport == Transport::Udp && DISCOVERY.contains(&at.port());
        if at.port() == 0 || is_discovery {
            return Ok(PortNeighbour::Tree);
        }
        let shares = sockopt::socket_reuseport(socket)?
            || transport == Transport::Udp && sockopt::socket_reuseaddr(socket)?;
        let Some(others) = self.others(transport, at.port()) else {
            return Ok(if shares { PortNeighbour::Shared } else { PortNeighbour::Tree });
        };
        // Beside another's server, bind(2) is never called: the tree could change the socket's options after this look.
        Ok(match others.into_iter().any(|other| overlaps(other, at.ip())) {
            true if shares => PortNeighbour::Shared,
            true => PortNeighbour::Exclusive,
            false => PortNeighbour::Tree,
        })
    }

    /// The addresses at which another process is served at a port; `None` if they cannot be found out.
    fn others(&self, transport: Transport, port: u16) -> Option<Vec<IpAddr>> {
        match holders(transport, port) {
            Ok(found) => {
                let own = self.0.lock();
                let is_part = |inode: u64| own.values().any(|known| *known == inode);
                let is_own = |holder: &PortHolder| own.contains_key(&holder.cookie) || is_part(holder.inode);
                let found = found.into_iter().filter(|holder| !is_own(holder));
                Some(found.map(|holder| holder.address).collect())
            }
            // The kernel was made without this. Its tables may leave a socket out while others are closed.
            Err(Errno::NOENT) => self.others_in_table(transport, port),
            Err(_) => None,
        }
    }

    fn others_in_table(&self, transport: Transport, port: u16) -> Option<Vec<IpAddr>> {
        let own: HashSet<u64> = self.0.lock().values().copied().collect();
        let is_own = |line: &str| inode(line).is_some_and(|inode| own.contains(&inode));
        let servers = servers_among(transport, |line| has_port(line, port) && !is_own(line))?;
        Some(servers.into_iter().map(|(server, _)| server.ip()).collect())
    }
}

/// Whether what arrives for one of these addresses may be for the other. The unspecified address of IPv6 also stands for IPv4,
/// unless the socket has IPV6_V6ONLY, which the tree could take away.
fn overlaps(one: IpAddr, other: IpAddr) -> bool {
    let (one, other) = (one.to_canonical(), other.to_canonical());
    let covers = |wide: IpAddr, narrow: IpAddr| wide.is_unspecified() && (wide.is_ipv6() || narrow.is_ipv4());
    one == other || covers(one, other) || covers(other, one)
}

/// Returns the addresses at which this host is served, each with the inode of its socket. `None` if a table cannot be read.
pub fn servers(transport: Transport) -> Option<Vec<(SocketAddr, u64)>> {
    servers_among(transport, |_| true)
}

/// As [`servers`], of those lines of the tables that are kept. To parse all lines at each of thousands of binds would take
/// seconds.
fn servers_among(transport: Transport, keep: impl Fn(&str) -> bool) -> Option<Vec<(SocketAddr, u64)>> {
    match transport {
        Transport::Tcp => {
            let [TcpNetEntries(v4), TcpNetEntries(v6)] = [table("tcp", &keep)?, table("tcp6", &keep)?];
            let listening = v4.into_iter().chain(v6).filter(|entry| entry.state == TcpState::Listen);
            Some(listening.map(|entry| (entry.local_address, entry.inode)).collect())
        }
        Transport::Udp => {
            let [UdpNetEntries(v4), UdpNetEntries(v6)] = [table("udp", &keep)?, table("udp6", &keep)?];
            let receiving = v4.into_iter().chain(v6).filter(|entry| entry.remote_address.port() == 0);
            Some(receiving.map(|entry| (entry.local_address, entry.inode)).collect())
        }
    }
}

/// The kept lines of a table (proc_pid_net(5)), parsed. A host without the protocol has no table.
fn table<T: FromBufReadSI>(name: &str, keep: impl Fn(&str) -> bool) -> Option<T> {
    let text = match std::fs::read_to_string(format!("/proc/net/{name}")) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        text => text.ok()?,
    };
    let mut lines = text.lines();
    let kept: Vec<&str> = lines.next().into_iter().chain(lines.filter(|line| keep(line))).collect();
    T::from_buf_read(kept.join("\n").as_bytes(), current_system_info()).ok()
}

/// Whether a line of a table has this port at its own end, or may have it.
fn has_port(line: &str, port: u16) -> bool {
    let end = line.split_ascii_whitespace().nth(1).and_then(|address| address.rsplit(':').next());
    end.and_then(|end| u16::from_str_radix(end, 16).ok()).is_none_or(|found| found == port)
}

fn inode(line: &str) -> Option<u64> {
    line.split_ascii_whitespace().nth(9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};

    use super::*;

    fn sharing(kind: SocketType) -> OwnedFd {
        let socket = socket(AddressFamily::INET, kind, None).unwrap();
        sockopt::set_socket_reuseport(&socket, true).unwrap();
        socket
    }

    #[test]
    fn a_server_of_another_process_is_told_from_the_trees_own() {
        let sockets = PortSockets::default();
        let server = sharing(SocketType::STREAM);
        bind(&server, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&server, 1).unwrap();
        let at: SocketAddr = rustix::net::getsockname(&server).unwrap().try_into().unwrap();
        let neighbour = |socket: &OwnedFd, at| sockets.neighbour(socket.as_fd(), at, Transport::Tcp).unwrap();
        let (second, plain) =
            (sharing(SocketType::STREAM), socket(AddressFamily::INET, SocketType::STREAM, None).unwrap());
        let everywhere = SocketAddr::from(([0, 0, 0, 0], at.port()));
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], at.port()));
        assert_eq!(neighbour(&second, at), PortNeighbour::Shared);
        assert_eq!(neighbour(&second, everywhere), PortNeighbour::Shared);
        assert_eq!(neighbour(&second, elsewhere), PortNeighbour::Tree);
        assert_eq!(neighbour(&plain, at), PortNeighbour::Exclusive);
        let mapped = SocketAddr::from((std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped(), at.port()));
        let both = SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, at.port()));
        assert_eq!(neighbour(&plain, mapped), PortNeighbour::Exclusive);
        assert_eq!(neighbour(&plain, both), PortNeighbour::Exclusive);
        assert_eq!(
            neighbour(&plain, SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, at.port()))),
            PortNeighbour::Tree
        );
        assert_eq!(neighbour(&second, SocketAddr::from(([127, 0, 0, 1], 0))), PortNeighbour::Tree);
        sockets.add(server.as_fd());
        assert_eq!(neighbour(&second, at), PortNeighbour::Tree);
        assert_eq!(neighbour(&plain, at), PortNeighbour::Tree);
    }

    /// The kernel lists the parts of an MPTCP socket, which are TCP sockets.
    #[test]
    fn a_server_of_several_ways_is_the_trees() {
        use rustix::net::ipproto;
        const MPTCP: rustix::net::Protocol =
            rustix::net::Protocol::from_raw(std::num::NonZeroU32::new(262).unwrap());
        let sharing = |protocol| {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, Some(protocol)).ok()?;
            sockopt::set_socket_reuseport(&socket, true).unwrap();
            Some(socket)
        };
        let Some(server) = sharing(MPTCP) else { return eprintln!("skipped: the kernel has no MPTCP") };
        bind(&server, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&server, 1).unwrap();
        let at: SocketAddr = rustix::net::getsockname(&server).unwrap().try_into().unwrap();
        let second = sharing(ipproto::TCP).unwrap();
        let sockets = PortSockets::default();
        let neighbour = || sockets.neighbour(second.as_fd(), at, Transport::Tcp).unwrap();
        assert_eq!(neighbour(), PortNeighbour::Shared);
        sockets.add(server.as_fd());
        assert_eq!(neighbour(), PortNeighbour::Tree);
    }

    #[test]
    fn lines_are_kept_by_port_and_inode() {
        let line = "  12: 0100007F:23A3 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 4711 2 0 0";
        assert!(has_port(line, 0x23a3) && !has_port(line, 0));
        assert_eq!(inode(line), Some(4711));
        // The parser refuses what it does not understand, so that nothing is missed.
        assert!(has_port("x", 1) && has_port("1: x:yyyy", 1));
        assert_eq!(inode("x"), None);
    }

    #[test]
    fn addresses_overlap_as_sockets_receive() {
        let overlap = |one: &str, other: &str| overlaps(one.parse().unwrap(), other.parse().unwrap());
        for (one, other) in [
            ("127.0.0.1", "::ffff:127.0.0.1"),
            ("0.0.0.0", "::ffff:127.0.0.1"),
            ("::", "127.0.0.1"),
            ("::", "0.0.0.0"),
        ] {
            assert!(overlap(one, other) && overlap(other, one), "{one} {other}");
        }
        for (one, other) in [("0.0.0.0", "::1"), ("127.0.0.1", "127.0.0.2"), ("127.0.0.1", "::1")] {
            assert!(!overlap(one, other) && !overlap(other, one), "{one} {other}");
        }
    }

    #[test]
    fn the_ports_of_datagrams_are_their_own() {
        let sockets = PortSockets::default();
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = server.local_addr().unwrap();
        let second = sharing(SocketType::DGRAM);
        assert_eq!(sockets.neighbour(second.as_fd(), at, Transport::Udp), Ok(PortNeighbour::Shared));
        assert_eq!(
            sockets.others(Transport::Udp, at.port()),
            sockets.others_in_table(Transport::Udp, at.port())
        );
        server.connect(at).unwrap();
        assert_eq!(sockets.neighbour(second.as_fd(), at, Transport::Udp), Ok(PortNeighbour::Tree));
        let stream = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(sockets.neighbour(second.as_fd(), stream, Transport::Udp), Ok(PortNeighbour::Tree));
    }
}
