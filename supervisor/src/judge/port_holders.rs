//! Which sockets receive at a port, as the kernel itself knows it (sock_diag(7)).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use guard_policy::Transport;
use rustix::io::Errno;

use super::sock_diag::{NO_COOKIE, SocketAnswer, ask_all};

/// `TCP_LISTEN`, and `TCP_CLOSE`, which also is the state of a UDP socket that is not connected (net/tcp_states.h).
const LISTENS: u32 = 10;
const UNCONNECTED: u32 = 7;
/// Where `struct inet_diag_msg` (linux/inet_diag.h) has a socket's own address, its cookie and its inode.
const ADDRESS: usize = 8;
const COOKIE: usize = 44;
const INODE: usize = 68;

/// A socket that receives at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortHolder {
    /// Its own address.
    pub address: IpAddr,
    /// What no other socket ever has (SO_COOKIE in socket(7)).
    pub cookie: u64,
    /// Its inode. A part of an MPTCP socket has that of the whole, and a cookie of its own.
    pub inode: u64,
}

/// Returns the sockets that receive at a port, of all addresses.
///
/// # Errors
/// ENOENT if the kernel does not tell (`CONFIG_INET_UDP_DIAG`, `CONFIG_INET_TCP_DIAG`). E2BIG if there are hundreds.
pub fn holders(transport: Transport, port: u16) -> Result<Vec<PortHolder>, Errno> {
    let mut found = ask_all(&question(transport, libc::AF_INET, port), holder)?;
    found.extend(ask_all(&question(transport, libc::AF_INET6, port), holder)?);
    Ok(found)
}

/// `struct inet_diag_req_v2`.
fn question(transport: Transport, family: i32, port: u16) -> Vec<u8> {
    let (protocol, state) = match transport {
        Transport::Tcp => (libc::IPPROTO_TCP, LISTENS),
        Transport::Udp => (libc::IPPROTO_UDP, UNCONNECTED),
    };
    let mut question = vec![family as u8, protocol as u8, 0, 0];
    question.extend_from_slice(&(1_u32 << state).to_ne_bytes());
    question.extend_from_slice(&port.to_be_bytes());
    // Any other port, any addresses, any interface.
    question.extend_from_slice(&[0; 2 + 16 + 16 + 4]);
    question.extend_from_slice(&NO_COOKIE.to_ne_bytes());
    question
}

fn holder(answer: SocketAnswer<'_>) -> Option<PortHolder> {
    let raw: [u8; 16] = answer.0.get(ADDRESS..ADDRESS + 16)?.try_into().ok()?;
    let address = match i32::from(answer.byte(0)?) {
        libc::AF_INET => Ipv4Addr::new(raw[0], raw[1], raw[2], raw[3]).into(),
        libc::AF_INET6 => Ipv6Addr::from(raw).into(),
        _ => return None,
    };
    let cookie = u64::from(answer.word(COOKIE)?) | u64::from(answer.word(COOKIE + 4)?) << 32;
    Some(PortHolder { address, cookie, inode: answer.word(INODE)?.into() })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    use rustix::net::sockopt::socket_cookie;

    use super::*;

    fn expected(socket: impl AsFd, address: IpAddr) -> PortHolder {
        let inode = rustix::fs::fstat(&socket).unwrap().st_ino;
        PortHolder { address, cookie: socket_cookie(&socket).unwrap(), inode }
    }

    #[test]
    fn servers_hold_their_port_and_clients_do_not() {
        let servers = ["127.0.0.1:0", "127.0.0.2:0"].map(|at| TcpListener::bind(at).unwrap());
        for server in &servers {
            let at = server.local_addr().unwrap();
            let _client = TcpStream::connect(at).unwrap();
            let held = holders(Transport::Tcp, at.port()).unwrap();
            let own = expected(server, at.ip());
            assert!(
                held.contains(&own) && held.iter().all(|holder| holder.address.is_loopback()),
                "{held:?}"
            );
        }
        let [server, client] = ["127.0.0.1:0"; 2].map(|at| UdpSocket::bind(at).unwrap());
        client.connect(server.local_addr().unwrap()).unwrap();
        let held = |socket: &UdpSocket| holders(Transport::Udp, socket.local_addr().unwrap().port()).unwrap();
        assert_eq!(held(&server), [expected(&server, Ipv4Addr::LOCALHOST.into())]);
        assert_eq!(held(&client), []);
    }

    #[test]
    fn more_than_the_kernel_tells_at_once_is_an_error() {
        use std::os::fd::OwnedFd;

        use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket, sockopt};
        let sharing = |at: std::net::SocketAddr| -> OwnedFd {
            let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
            sockopt::set_socket_reuseaddr(&socket, true).unwrap();
            bind(&socket, &at).unwrap();
            socket
        };
        let first = sharing(([127, 0, 0, 1], 0).into());
        let at: std::net::SocketAddr = getsockname(&first).unwrap().try_into().unwrap();
        let mut all: Vec<OwnedFd> = (0..200).map(|_| sharing(at)).collect();
        assert_eq!(holders(Transport::Udp, at.port()).map(|held| held.len()), Ok(201));
        all.extend((0..400).map(|_| sharing(at)));
        assert_eq!(holders(Transport::Udp, at.port()), Err(Errno::TOOBIG));
    }
}
