//! What kind of network an address leads to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::special_use::{Registration, SpecialUse, registration};

/// The class of an address. A later one is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressClass {
    /// The Internet, and what the registries do not mention.
    Public,
    /// This host.
    Loopback,
    /// Reserved, and not a network of anybody's.
    Reserved,
    /// Several hosts.
    Multicast,
    /// A network of the site or of its provider.
    Private,
    /// The link.
    LinkLocal,
    /// Where a cloud serves credentials.
    Metadata,
}

impl AddressClass {
    /// The class of the address that packets finally reach: an IPv4 address inside an IPv6 address counts as itself. If
    /// there is more than one, the strictest class.
    pub fn from_ip(ip: IpAddr) -> AddressClass {
        special_uses(ip)
            .map(|registration| AddressClass::from(registration.special_use))
            .max()
            .unwrap_or(AddressClass::Public)
    }
}

impl From<SpecialUse> for AddressClass {
    fn from(special_use: SpecialUse) -> AddressClass {
        match special_use {
            SpecialUse::Global => AddressClass::Public,
            SpecialUse::Loopback => AddressClass::Loopback,
            SpecialUse::Multicast => AddressClass::Multicast,
            SpecialUse::PrivateUse
            | SpecialUse::CarrierGradeNat
            | SpecialUse::UniqueLocal
            | SpecialUse::SiteLocal
            | SpecialUse::LocalNat64 => AddressClass::Private,
            SpecialUse::LinkLocal => AddressClass::LinkLocal,
            SpecialUse::Metadata => AddressClass::Metadata,
            SpecialUse::ThisNetwork
            | SpecialUse::Broadcast
            | SpecialUse::ProtocolAssignments
            | SpecialUse::Documentation
            | SpecialUse::Benchmarking
            | SpecialUse::SixToFourRelay
            | SpecialUse::FutureUse
            | SpecialUse::DiscardOnly
            | SpecialUse::Orchid
            | SpecialUse::SegmentRouting => AddressClass::Reserved,
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressClass::Public => "public",
            AddressClass::Loopback => "loopback",
            AddressClass::Reserved => "reserved",
            AddressClass::Multicast => "multicast",
            AddressClass::Private => "private",
            AddressClass::LinkLocal => "link-local",
            AddressClass::Metadata => "metadata",
        })
    }
}

/// The special uses of an address: its own, and those of the IPv4 addresses in it.
pub(super) fn special_uses(ip: IpAddr) -> impl Iterator<Item = &'static Registration> {
    let embedded = match ip {
        IpAddr::V4(_) => [None; 5],
        IpAddr::V6(v6) => embedded(v6),
    };
    let own = std::iter::once(ip);
    own.chain(embedded.into_iter().flatten().map(IpAddr::V4)).filter_map(registration)
}

/// The IPv4 addresses that an IPv6 address leads to, or may lead to.
fn embedded(ip: Ipv6Addr) -> [Option<Ipv4Addr>; 5] {
    let groups = ip.segments();
    let octets = ip.octets();
    let from = |bytes: [usize; 4]| Some(Ipv4Addr::from(bytes.map(|at| octets[at])));
    let last = from([12, 13, 14, 15]);
    // ISATAP (RFC 5214) is an interface identifier, below any prefix.
    let isatap = if groups[4] & 0xfcff == 0 && groups[5] == 0x5efe { last } else { None };
    match groups {
        _ if ip.is_unspecified() || ip.is_loopback() => [None; 5],
        // IPv4-compatible and IPv4-mapped (RFC 4291), IPv4-translated (RFC 2765), NAT64 (RFC 6052).
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            [last, None, None, None, None]
        }
        // The site's own NAT64: as in RFC 6052, with prefixes of 96, 48, 56 and 64 bits. The last three skip the ninth
        // byte.
        [0x64, 0xff9b, 1, ..] => {
            [last, from([6, 7, 9, 10]), from([7, 9, 10, 11]), from([9, 10, 11, 12]), isatap]
        }
        // 6to4 (RFC 3056).
        [0x2002, ..] => [from([2, 3, 4, 5]), isatap, None, None, None],
        // Teredo (RFC 4380): the client's address, inverted. What looks like ISATAP is its port.
        [0x2001, 0, ..] => [last.map(|v4| Ipv4Addr::from_bits(!v4.to_bits())), None, None, None, None],
        _ => [isatap, None, None, None, None],
    }
}
