//! Whether an address is one of this host's.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};

use guard_policy::{Interface, Page, Policy};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// The owner of the address. The guard looks it up only if the policy's verdict depends on it.
pub fn interface_of(policy: &Policy, address: SocketAddr, page: Page) -> Interface {
    if policy.needs_interfaces(address, page) { owner(address) } else { Interface::Unknown }
}

/// Whether an interface of this host has the address.
pub fn is_own(address: SocketAddr) -> bool {
    owner(address) == Interface::Own
}

/// An address is this host's own if an interface has it that is up. It may be its own if it is an IPv6 address routed
/// here, if the interfaces cannot be listed, or if a socket can be bound to it. A socket can be bound to all IPv4
/// addresses routed here, but also to multicast and broadcast addresses and, with `ip_nonlocal_bind`, to any address. A
/// link-local IPv6 address is never certainly this host's own: another host may have it on another link, and a socket
/// that connects to it leaves by that link from then on.
fn owner(mut address: SocketAddr) -> Interface {
    address.set_ip(address.ip().to_canonical());
    address.set_port(0);
    let Ok(interfaces) = getifaddrs() else { return Interface::Perhaps };
    let has = |interface: InterfaceAddress| Some((ip(&interface.address?)?, interface.flags));
    let found = interfaces.filter_map(has).filter(|(own, _)| *own == address.ip());
    let is_up =
        found.map(|(_, flags)| flags.contains(InterfaceFlags::IFF_UP)).reduce(|one, other| one || other);
    let is_of_link = matches!(address.ip(), IpAddr::V6(v6) if v6.is_unicast_link_local());
    if let Some(is_up) = is_up {
        if is_up && !is_of_link { Interface::Own } else { Interface::Perhaps }
    } else if UdpSocket::bind(address).is_ok() || is_routed_here(address.ip()) {
        Interface::Perhaps
    } else {
        Interface::Unknown
    }
}

/// Whether a route delivers an address here, as `ip -6 route add local` adds them. No socket can be bound to such an
/// IPv6 address, but the kernel still connects to it.
fn is_routed_here(ip: IpAddr) -> bool {
    let IpAddr::V6(v6) = ip else { return false };
    let routes = std::fs::read_to_string("/proc/thread-self/net/ipv6_route");
    // Without the file there is no IPv6.
    routes.is_ok_and(|routes| routes.lines().any(|line| delivers(line, v6).unwrap_or(true)))
}

/// Whether a line of `/proc/net/ipv6_route` (net/ipv6/route.c, `rt6_info_route`) is a local route to an address; `None`
/// if it does not parse.
fn delivers(line: &str, to: Ipv6Addr) -> Option<bool> {
    /// `RTF_LOCAL` (linux/ipv6_route.h).
    const LOCAL: u32 = 0x8000_0000;
    let mut words = line.split_ascii_whitespace();
    let network = u128::from_str_radix(words.next()?, 16).ok()?;
    let length = u32::from_str_radix(words.next()?, 16).ok()?;
    let flags = u32::from_str_radix(words.nth(6)?, 16).ok()?;
    let mask = u128::MAX.checked_shl(128u32.checked_sub(length)?).unwrap_or(0);
    Some(flags & LOCAL != 0 && to.to_bits() & mask == network)
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
        let is_of_link = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
        for ip in own.into_iter().filter(|ip| !is_of_link(ip)) {
            assert_eq!(owner(SocketAddr::new(ip, 80)), Interface::Own, "{ip}");
            if let IpAddr::V4(v4) = ip {
                assert_eq!(owner(SocketAddr::new(v4.to_ipv6_mapped().into(), 80)), Interface::Own, "{ip}");
            }
        }
        // No interface has these addresses. They are routed here, or a socket can be bound to them although they are nobody's.
        for perhaps in ["127.9.9.9:80", "224.0.0.251:5353", "255.255.255.255:9"] {
            assert_eq!(owner(perhaps.parse().unwrap()), Interface::Perhaps, "{perhaps}");
        }
        for other in ["203.0.113.77:80", "[2001:db8:77::1]:80", "[::ffff:203.0.113.77]:80"] {
            assert_eq!(owner(other.parse().unwrap()), Interface::Unknown, "{other}");
        }
    }
    #[test]
    fn routes_read_as_the_kernel_writes_them() {
        let line = |network: &str, length: &str, flags: &str| {
            format!(
                "{network} {length} {0} 00 {0} 00000400 00000001 00000000 {flags}       lo",
                "0".repeat(32)
            )
        };
        let network = "20010db8007700000000000000000000";
        let delivers = |line: &str, to: &str| super::delivers(line, to.parse().unwrap());
        let local = line(network, "40", "80000001");
        assert_eq!(delivers(&local, "2001:db8:77::5"), Some(true));
        assert_eq!(delivers(&local, "2001:db8:77:1::5"), Some(false));
        assert_eq!(delivers(&line(network, "40", "00000001"), "2001:db8:77::5"), Some(false));
        assert_eq!(delivers(&line(network, "80", "80200001"), "2001:db8:77::"), Some(true));
        assert_eq!(delivers(&line(&"0".repeat(32), "00", "80000001"), "::5"), Some(true));
        for odd in ["", "x", &line(network, "81", "80000001"), &line(network, "40", "lo")] {
            assert_eq!(delivers(odd, "::1"), None, "{odd}");
        }
    }
}
