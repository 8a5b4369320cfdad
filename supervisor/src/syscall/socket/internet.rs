//! Addresses of TCP and UDP.
//!
//! Why: docs/decisions.md, "An address is judged as the kernel will take it."

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::BorrowedFd;

use guard_policy::Transport;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::BindToDevice;
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketType, sockopt};

use super::address::{FAMILY, IPV4_AT, IPV6_AT};
use crate::judge::shared_ports::PortNeighbour;
use crate::kernel::requests;
use crate::reply::HandlerResult;
use crate::syscall::Request;
use crate::web::WebClient;
use crate::web::wire::{Redirected, WebPeer};

/// Connects to the address, if the policy allows it.
pub fn connect(
    request: &Request<'_, '_>,
    socket: BorrowedFd<'_>,
    raw: &[u8],
    to: SocketAddr,
) -> HandlerResult {
    let (to, transport) = (aimed(to, bound(socket)?), transport(socket)?);
    let redirect = request.guard.redirect(request.caller, to, transport)?;
    let to = redirect.as_ref().map_or(to, |(port, _)| redirected(to, *port));
    let keeps_to_link = transport == Transport::Tcp && keeps_to_link(socket);
    let judge = |page| request.guard.judge_connection(request.caller, to, transport, page, keeps_to_link);
    let page = request.guard.page(transport);
    judge(page)?;
    let done = request.connect(socket, &readdressed(raw, to));
    if matches!(done, Ok(_) | Err(Errno::INPROGRESS | Errno::INTR)) {
        note_client(request, socket, (to, transport), redirect.map(|(_, redirected)| redirected));
    }
    // The approvals page may have started listening there meanwhile.
    let now = request.guard.page(transport);
    if now != page
        && let Err(error) = judge(now)
    {
        // Fails with ENOTCONN if the socket did not connect.
        let _ = rustix::net::shutdown(socket, Shutdown::Both);
        return Err(error);
    }
    done
}

/// If a socket leads to the guard's proxy, notes whose socket it is, and what it is for. A non-blocking socket that is
/// still connecting has its port already, too.
fn note_client(
    request: &Request<'_, '_>,
    socket: BorrowedFd<'_>,
    (to, transport): (SocketAddr, Transport),
    redirected: Option<Redirected>,
) {
    let Some(clients) = &request.guard.session.web else { return };
    let Some(socket_of_proxy) = clients.socket_at(to, transport) else { return };
    let own = rustix::net::getsockname(socket).map(SocketAddr::try_from);
    if let Ok(Ok(own)) = own {
        let process = request.caller.process().unwrap_or(request.caller.tid());
        let from = SocketAddr::new(own.ip().to_canonical(), own.port());
        clients.add(WebPeer { from, to: socket_of_proxy }, WebClient { process, redirected });
    }
}

/// Where the guard's proxy listens, for a socket that was to connect to an address of this family.
fn redirected(to: SocketAddr, port: u16) -> SocketAddr {
    let ip = match to {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(),
    };
    SocketAddr::new(ip, port)
}

/// Judges the receiver that a datagram names. Returns its address for the kernel.
///
/// # Errors
/// EACCES if the policy refuses it.
pub fn receiver(
    request: &Request<'_, '_>,
    socket: BorrowedFd<'_>,
    raw: &[u8],
    to: SocketAddr,
) -> Result<Vec<u8>, Errno> {
    let to = aimed(to, bound(socket)?);
    // The proxy cannot tell whose an unconnected socket is: it would wait until it is certain that the socket is not
    // the tree's.
    if request.guard.session.web.as_ref().is_some_and(|web| web.socket_at(to, Transport::Udp).is_some()) {
        return Err(Errno::ACCESS);
    }
    let page = request.guard.page(Transport::Udp);
    request.guard.judge_connection(request.caller, to, Transport::Udp, page, false)?;
    Ok(readdressed(raw, to))
}

/// Binds to the address, if the policy allows it.
pub fn bind(request: &Request<'_, '_>, socket: BorrowedFd<'_>, raw: &[u8], at: SocketAddr) -> HandlerResult {
    let transport = transport(socket)?;
    let ports = &request.guard.created.ports;
    let neighbour = ports.neighbour(socket, at, transport)?;
    request.guard.judge_bind(request.caller, at, transport, neighbour == PortNeighbour::Shared)?;
    if neighbour == PortNeighbour::Exclusive && !request.guard.session.observe {
        // The kernel would return the same error, unless the tree makes the socket share its port right now.
        return Err(Errno::ADDRINUSE);
    }
    let done = request.perform(|| requests::bind(socket, raw))?;
    ports.add(socket);
    Ok(done)
}

fn transport(socket: BorrowedFd<'_>) -> Result<Transport, Errno> {
    let is_stream = sockopt::socket_type(socket)? == SocketType::STREAM;
    Ok(if is_stream { Transport::Tcp } else { Transport::Udp })
}

/// Whether a socket of TCP keeps to one interface. The tree may not choose an interface, but a socket that accepts a
/// link-local peer keeps to the peer's from then on, even when it is dissolved (net/ipv6/tcp_ipv6.c,
/// `tcp_v6_syn_recv_sock`). No other socket changes its interface, so that the answer lasts.
fn keeps_to_link(socket: BorrowedFd<'_>) -> bool {
    // Fails if the interface is gone.
    !getsockopt(&socket, BindToDevice).is_ok_and(|interface| interface.is_empty())
}

/// The local address of the socket; the unspecified address if it is not bound.
fn bound(socket: BorrowedFd<'_>) -> Result<IpAddr, Errno> {
    let own = SocketAddr::try_from(rustix::net::getsockname(socket)?);
    Ok(own.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |own| own.ip()))
}

/// The destination that the kernel would choose for a socket with this local address: the unspecified address means
/// this host (net/ipv4/route.c, `ip_route_output_key_hash_rcu`; net/ipv6/tcp_ipv6.c, `tcp_v6_connect`). It is made
/// explicit because another thread may bind the socket before the kernel looks.
fn aimed(mut to: SocketAddr, own: IpAddr) -> SocketAddr {
    let v4 = match own.to_canonical() {
        IpAddr::V4(v4) if !v4.is_unspecified() => v4,
        _ => Ipv4Addr::LOCALHOST,
    };
    let is_mapped = |v6: Ipv6Addr| v6.to_ipv4_mapped().is_some();
    match (to.ip(), own) {
        (IpAddr::V4(ip), _) if ip.is_unspecified() => to.set_ip(v4.into()),
        (IpAddr::V6(ip), IpAddr::V6(own)) if ip.is_unspecified() && is_mapped(own) => {
            to.set_ip(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into());
        }
        (IpAddr::V6(ip), _) if ip.is_unspecified() => to.set_ip(Ipv6Addr::LOCALHOST.into()),
        (IpAddr::V6(ip), _) if ip.to_ipv4_mapped().is_some_and(|ip| ip.is_unspecified()) => {
            to.set_ip(v4.to_ipv6_mapped().into());
        }
        _ => {}
    }
    to
}

/// The address structure `raw` with its IP address and port replaced by those of `to`, which has the same family.
fn readdressed(raw: &[u8], to: SocketAddr) -> Vec<u8> {
    let mut raw = raw.to_vec();
    raw[FAMILY..][..2].copy_from_slice(&to.port().to_be_bytes());
    match to.ip() {
        IpAddr::V4(v4) => raw[IPV4_AT..][..4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => raw[IPV6_AT..][..16].copy_from_slice(&v6.octets()),
    }
    raw
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::{AsFd, OwnedFd};

    use rustix::net::{AddressFamily, SocketType, socket};

    use super::super::address::{Address, Use};
    use super::*;

    #[test]
    fn a_specific_address_stays_unchanged() {
        for own in ["0.0.0.0", "10.0.0.1", "::", "::ffff:10.0.0.1", "fd00::1"] {
            for to in [
                "10.0.0.9:1",
                "0.0.0.1:1",
                "127.0.0.1:1",
                "[::1]:1",
                "[::2]:1",
                "[::ffff:10.0.0.9]:1",
                "[fe80::1%3]:1",
            ] {
                let to: SocketAddr = to.parse().unwrap();
                assert_eq!(aimed(to, own.parse().unwrap()), to);
            }
        }
    }

    #[test]
    fn the_unspecified_address_is_this_host() {
        let aimed = |to: &str, own: &str| aimed(to.parse().unwrap(), own.parse().unwrap()).to_string();
        assert_eq!(aimed("0.0.0.0:1", "0.0.0.0"), "127.0.0.1:1");
        assert_eq!(aimed("0.0.0.0:1", "10.0.0.1"), "10.0.0.1:1");
        assert_eq!(aimed("[::]:1", "::"), "[::1]:1");
        assert_eq!(aimed("[::]:1", "fd00::1"), "[::1]:1");
        assert_eq!(aimed("[::]:1", "::ffff:10.0.0.1"), "[::ffff:127.0.0.1]:1");
        assert_eq!(aimed("[::ffff:0.0.0.0]:1", "::"), "[::ffff:127.0.0.1]:1");
        assert_eq!(aimed("[::ffff:0.0.0.0]:1", "::ffff:10.0.0.1"), "[::ffff:10.0.0.1]:1");
    }

    /// For a wildcard address, `aimed` returns the destination that the kernel would choose.
    #[test]
    fn the_kernel_connects_to_the_same_address() {
        let owns: [(AddressFamily, Option<&str>); 6] = [
            (AddressFamily::INET, None),
            (AddressFamily::INET, Some("127.0.0.7:0")),
            (AddressFamily::INET6, None),
            (AddressFamily::INET6, Some("[::1]:0")),
            (AddressFamily::INET6, Some("[::ffff:127.0.0.7]:0")),
            (AddressFamily::INET6, Some("[::ffff:0.0.0.0]:0")),
        ];
        let listeners: Vec<TcpListener> =
            ["127.0.0.1:0", "127.0.0.7:0", "[::1]:0"].map(|at| TcpListener::bind(at).unwrap()).into();
        let datagrams = UdpSocket::bind("0.0.0.0:0").unwrap();
        let mut checked = 0;
        for (family, own) in owns {
            for to in ["0.0.0.0", "[::]", "[::ffff:0.0.0.0]"] {
                for kind in [SocketType::STREAM, SocketType::DGRAM] {
                    let ports = if kind == SocketType::STREAM {
                        listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
                    } else {
                        vec![datagrams.local_addr().unwrap().port()]
                    };
                    for port in ports {
                        let to: SocketAddr = format!("{to}:{port}").parse().unwrap();
                        checked += usize::from(is_aimed_right(family, kind, own, to));
                    }
                }
            }
        }
        // Each address was reached at one of three listeners at least, except addresses that do not fit their socket.
        assert!(checked >= 16, "{checked}");
    }

    /// Whether the kernel connected both with and without the explicit address. Asserts that both reached the same
    /// place.
    fn is_aimed_right(family: AddressFamily, kind: SocketType, own: Option<&str>, to: SocketAddr) -> bool {
        let new = || -> OwnedFd {
            let new = socket(family, kind, None).unwrap();
            if let Some(own) = own {
                rustix::net::bind(&new, &own.parse::<SocketAddr>().unwrap()).unwrap();
            }
            new
        };
        let (plain, rewritten) = (new(), new());
        let natively = rustix::net::connect(&plain, &to);
        let aimed = aimed(to, bound(rewritten.as_fd()).unwrap());
        let ours = rustix::net::connect(&rewritten, &aimed);
        assert_eq!(natively, ours, "{family:?} {kind:?} {own:?} {to}");
        if natively.is_err() {
            return false;
        }
        let peer = |socket: &OwnedFd| {
            SocketAddr::try_from(rustix::net::getpeername(socket).unwrap().unwrap()).unwrap()
        };
        assert_eq!(peer(&plain), peer(&rewritten), "{family:?} {kind:?} {own:?} {to}");
        assert_eq!(peer(&rewritten).ip().to_canonical(), aimed.ip().to_canonical());
        true
    }

    #[test]
    fn only_the_address_is_replaced() {
        let mut raw = vec![2, 0, 0x12, 0x34, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        let new = readdressed(&raw, "127.0.0.1:4661".parse().unwrap());
        assert_eq!(
            Address::parse(&new, AddressFamily::INET, Use::Connect),
            Address::Internet("127.0.0.1:4661".parse().unwrap())
        );
        raw[3..8].copy_from_slice(&[0x35, 127, 0, 0, 1]);
        assert_eq!(new, raw);
    }
}
