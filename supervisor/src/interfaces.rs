//! Whether this host reaches itself at an address.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use guard_policy::{Interface, Policy};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

/// Whose address this is, where the policy's answer depends on that: else nobody looks.
pub fn interface_of(policy: &Policy, address: SocketAddr) -> Interface {
    if policy.needs_interfaces(address.port()) && is_own(address) {
        Interface::Own
    } else {
        Interface::Unknown
    }
}

/// One of an interface's addresses, in whatever zone; or one to which a socket can be bound, as all that are routed here.
/// When nobody can tell, it is.
fn is_own(mut address: SocketAddr) -> bool {
    address.set_ip(address.ip().to_canonical());
    address.set_port(0);
    let Ok(interfaces) = getifaddrs() else { return true };
    let mut own = interfaces.filter_map(|interface| ip(&interface.address?));
    own.any(|own| own == address.ip()) || UdpSocket::bind(address).is_ok()
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interfaces_addresses_are_our_own_and_others_are_not() {
        let own: Vec<IpAddr> =
            getifaddrs().unwrap().filter_map(|interface| ip(&interface.address?)).collect();
        assert!(own.contains(&"127.0.0.1".parse().unwrap()), "{own:?}");
        for ip in own {
            assert!(is_own(SocketAddr::new(ip, 80)), "{ip}");
            if let IpAddr::V4(v4) = ip {
                assert!(is_own(SocketAddr::new(v4.to_ipv6_mapped().into(), 80)), "{ip}");
            }
        }
        // Of no interface, and routed here all the same.
        assert!(is_own("127.9.9.9:80".parse().unwrap()));
        for other in ["203.0.113.77:80", "[2001:db8:77::1]:80", "[::ffff:203.0.113.77]:80"] {
            assert!(!is_own(other.parse().unwrap()), "{other}");
        }
    }
}
