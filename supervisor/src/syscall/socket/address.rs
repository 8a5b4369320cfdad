//! Socket addresses, parsed as the kernel does.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use rustix::net::AddressFamily;

/// `sizeof(sa_family_t)`.
pub(super) const FAMILY: usize = 2;
/// `sizeof(struct sockaddr_un)`: the kernel accepts no longer address of this family.
const UNIX_MAX: usize = 110;
/// `sizeof(struct sockaddr_in)`: the kernel accepts no shorter one.
const IPV4_MIN: usize = 16;
/// The structure of RFC 2133, which ends before the scope ID: the kernel accepts no shorter one (`SIN6_LEN_RFC2133`).
const IPV6_MIN: usize = 24;
/// Offsets of the addresses in their structures.
pub(super) const IPV4_AT: usize = 4;
pub(super) const IPV6_AT: usize = 8;
const ZONE_AT: usize = 24;

/// The use of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// connect(2), for which AF_UNSPEC dissolves the connection.
    Connect,
    /// bind(2), for which AF_UNSPEC means AF_INET on an AF_INET socket. A socket may become AF_INET while it is judged
    /// (IPV6_ADDRFORM).
    Bind,
    /// sendto(2) and its relatives, for which AF_UNSPEC means AF_INET on an AF_INET socket, and nothing on an AF_INET6
    /// socket, which may become AF_INET.
    Send,
}

/// An address as the caller gave it.
#[derive(Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// A socket in the file system.
    Path(&'a [u8]),
    /// An abstract socket: its name is not a path.
    Abstract,
    /// An address of TCP or UDP.
    Internet(SocketAddr),
    /// Anything else: an unnamed address, or one that the kernel will refuse.
    Other,
}

impl<'a> Address<'a> {
    /// Parses the bytes for a socket of this family. An IPv6 socket accepts some IPv4 addresses, so both are parsed on
    /// every socket; the kernel refuses what does not fit.
    pub fn parse(raw: &'a [u8], socket: AddressFamily, to: Use) -> Address<'a> {
        let Some(family) = raw.first_chunk().map(|family| u16::from_ne_bytes(*family)) else {
            return Address::Other;
        };
        if socket == AddressFamily::UNIX {
            return unix(raw, family);
        }
        match i32::from(family) {
            libc::AF_UNSPEC if to != Use::Connect => ipv4(raw),
            libc::AF_INET => ipv4(raw),
            libc::AF_INET6 => ipv6(raw),
            _ => Address::Other,
        }
    }
}

fn unix(raw: &[u8], family: u16) -> Address<'_> {
    // The kernel fails with EINVAL for any other family except AF_UNSPEC, which disconnects.
    if raw.len() <= FAMILY || raw.len() > UNIX_MAX || family != libc::AF_UNIX as u16 {
        return Address::Other;
    }
    let name = &raw[FAMILY..];
    if name[0] == 0 {
        return Address::Abstract;
    }
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    Address::Path(&name[..end])
}

fn ipv4(raw: &[u8]) -> Address<'_> {
    if raw.len() < IPV4_MIN {
        return Address::Other;
    }
    let ip: [u8; 4] = bytes(raw, IPV4_AT);
    Address::Internet(SocketAddrV4::new(Ipv4Addr::from(ip), port(raw)).into())
}

fn ipv6(raw: &[u8]) -> Address<'_> {
    if raw.len() < IPV6_MIN {
        return Address::Other;
    }
    let ip: [u8; 16] = bytes(raw, IPV6_AT);
    let zone = if raw.len() < ZONE_AT + 4 { 0 } else { u32::from_ne_bytes(bytes(raw, ZONE_AT)) };
    Address::Internet(SocketAddrV6::new(Ipv6Addr::from(ip), port(raw), 0, zone).into())
}

fn port(raw: &[u8]) -> u16 {
    u16::from_be_bytes(bytes(raw, FAMILY))
}

/// `N` bytes at offset `at`. The caller has checked that they exist.
pub(super) fn bytes<const N: usize>(raw: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|index| raw[at + index])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No input causes a panic, and an address holds only what the bytes contain.
        #[test]
        fn any_bytes_are_read(mut raw in prop::collection::vec(any::<u8>(), 0..=128), family in 0u16..12, inner in 0usize..3) {
            if let Some(start) = raw.first_chunk_mut() {
                *start = family.to_ne_bytes();
            }
            let socket = [AddressFamily::UNIX, AddressFamily::INET, AddressFamily::INET6][inner];
            for to in [Use::Connect, Use::Bind, Use::Send] {
                if let Address::Internet(address) = Address::parse(&raw, socket, to) {
                    let at = if address.is_ipv4() { IPV4_AT } else { IPV6_AT };
                    let octets = match address.ip() {
                        std::net::IpAddr::V4(v4) => v4.octets().to_vec(),
                        std::net::IpAddr::V6(v6) => v6.octets().to_vec(),
                    };
                    prop_assert!(raw[at..].starts_with(&octets));
                    prop_assert_eq!(&raw[2..4], &address.port().to_be_bytes()[..]);
                }
            }
        }
    }

    fn raw(family: i32, rest: &[u8]) -> Vec<u8> {
        [&(family as u16).to_ne_bytes(), rest].concat()
    }

    fn v4(family: i32) -> Vec<u8> {
        raw(family, &[0x49, 0x65, 127, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9])
    }

    fn v6() -> Vec<u8> {
        let mut rest = vec![0x49, 0x65, 1, 2, 3, 4];
        rest.extend([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        rest.extend(7u32.to_ne_bytes());
        raw(libc::AF_INET6, &rest)
    }

    fn internet<'a>(text: &str) -> Address<'a> {
        Address::Internet(text.parse().unwrap())
    }

    #[test]
    fn internet_addresses_are_read_on_every_socket_but_those_of_unix() {
        for family in [AddressFamily::INET, AddressFamily::INET6, AddressFamily::NETLINK] {
            for to in [Use::Connect, Use::Bind, Use::Send] {
                assert_eq!(Address::parse(&v4(libc::AF_INET), family, to), internet("127.0.0.1:18789"));
                assert_eq!(Address::parse(&v6(), family, to), internet("[fe80::1%7]:18789"));
            }
        }
        assert_eq!(Address::parse(&v4(libc::AF_INET), AddressFamily::UNIX, Use::Connect), Address::Other);
    }

    #[test]
    fn addresses_that_are_too_short_are_left_to_the_kernel() {
        let (v4, v6) = (v4(libc::AF_INET), v6());
        for length in 0..=v4.len() {
            let is_read = Address::parse(&v4[..length], AddressFamily::INET, Use::Connect) != Address::Other;
            assert_eq!(is_read, length >= 16, "{length}");
        }
        for length in 0..=v6.len() {
            let read = Address::parse(&v6[..length], AddressFamily::INET6, Use::Connect);
            let expected = match length {
                0..24 => Address::Other,
                24..28 => internet("[fe80::1]:18789"),
                _ => internet("[fe80::1%7]:18789"),
            };
            assert_eq!(read, expected, "{length}");
        }
        // Bytes after the structure are ignored.
        let long = [v4.clone(), vec![0xff; 112]].concat();
        assert_eq!(Address::parse(&long, AddressFamily::INET, Use::Connect), internet("127.0.0.1:18789"));
    }

    #[test]
    fn no_family_ends_a_connection_and_binds_as_ipv4() {
        let unspecified = v4(libc::AF_UNSPEC);
        let read = |family, to| Address::parse(&unspecified, family, to);
        assert_eq!(read(AddressFamily::INET, Use::Connect), Address::Other);
        assert_eq!(read(AddressFamily::INET6, Use::Connect), Address::Other);
        assert_eq!(read(AddressFamily::INET6, Use::Bind), internet("127.0.0.1:18789"));
        assert_eq!(read(AddressFamily::INET, Use::Bind), internet("127.0.0.1:18789"));
        assert_eq!(read(AddressFamily::INET, Use::Send), internet("127.0.0.1:18789"));
        assert_eq!(read(AddressFamily::INET6, Use::Send), internet("127.0.0.1:18789"));
    }

    #[test]
    fn families_are_whole_numbers_of_two_bytes() {
        let mut high = v4(libc::AF_INET);
        high[1] = 1;
        assert_eq!(Address::parse(&high, AddressFamily::INET, Use::Connect), Address::Other);
        for family in [1, 3, 16, 17, 40, 43, 0xffff] {
            assert_eq!(
                Address::parse(&v4(family), AddressFamily::INET, Use::Connect),
                Address::Other,
                "{family}"
            );
        }
    }

    #[test]
    fn names_are_paths_or_abstract() {
        let read = |rest: &'static [u8]| {
            let raw = raw(libc::AF_UNIX, rest);
            match Address::parse(&raw, AddressFamily::UNIX, Use::Connect) {
                Address::Path(path) => format!("path {}", String::from_utf8_lossy(path)),
                Address::Abstract => "abstract".to_owned(),
                Address::Internet(_) | Address::Other => "other".to_owned(),
            }
        };
        assert_eq!(read(b"/a\0b"), "path /a");
        assert_eq!(read(b"a"), "path a");
        assert_eq!(read(b"\0a"), "abstract");
        assert_eq!(read(b""), "other");
        assert_eq!(read(&[b'a'; 109]), "other");
    }
}
