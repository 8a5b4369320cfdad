//! The special-use addresses: IANA's registries of special-purpose addresses (RFC 6890), multicast, and the addresses at
//! which clouds serve credentials.

use std::net::IpAddr;

use super::prefix::Prefix;

/// What a range of addresses is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum SpecialUse {
    /// `0.0.0.0/8` and `::`. A connection to an unspecified address goes to this host (RFC 1122, RFC 4291).
    ThisNetwork,
    /// This host (RFC 1122, RFC 4291).
    Loopback,
    /// A site's own IPv4 network (RFC 1918).
    PrivateUse,
    /// Between a provider and its customers (RFC 6598).
    CarrierGradeNat,
    /// A site's own IPv6 network (RFC 4193).
    UniqueLocal,
    /// A site's own IPv6 network, by a prefix that RFC 3879 has deprecated.
    SiteLocal,
    /// One link (RFC 3927, RFC 4291).
    LinkLocal,
    /// Where a cloud serves the credentials and the configuration of a machine.
    Metadata,
    /// Groups of hosts (RFC 5771, RFC 4291).
    Multicast,
    /// Every host of the link (RFC 919).
    Broadcast,
    /// The IETF's own protocols (RFC 6890, RFC 2928).
    ProtocolAssignments,
    /// Examples in documents (RFC 5737, RFC 3849, RFC 9637).
    Documentation,
    /// Tests of devices (RFC 2544, RFC 5180).
    Benchmarking,
    /// Relays of 6to4, which RFC 7526 deprecated.
    SixToFourRelay,
    /// Future use (RFC 1112).
    FutureUse,
    /// A NAT64 of the site's own (RFC 8215), whose rules nobody outside knows.
    LocalNat64,
    /// What is sent there is dropped (RFC 6666).
    DiscardOnly,
    /// Hashes that look like addresses (RFC 4843, RFC 7343).
    Orchid,
    /// Segment routing within one domain (RFC 9602).
    SegmentRouting,
    /// A service that the whole Internet reaches: AMT (RFC 7450), AS112 (RFC 7534, RFC 7535), drones' identifiers
    /// (RFC 9374).
    Global,
}

/// A range of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) prefix: Prefix,
    pub(super) special_use: SpecialUse,
}

const fn v4(octets: [u8; 4], length: u8, special_use: SpecialUse) -> Registration {
    Registration { prefix: Prefix::v4(octets, length), special_use }
}

const fn v6(groups: [u16; 4], length: u8, special_use: SpecialUse) -> Registration {
    Registration { prefix: Prefix::v6(groups, length), special_use }
}

const fn v6_address(groups: [u16; 4], last: u16, special_use: SpecialUse) -> Registration {
    Registration { prefix: Prefix::v6_address(groups, last), special_use }
}

/// IANA's "IPv4 Special-Purpose Address Registry" and the IPv6 one, with multicast, the deprecated site-local addresses,
/// and the metadata services. Addresses that hold an IPv4 address are not here: that address decides about them.
///
/// Parts of `192.0.0.0/24` and `2001::/23` that are global (RFC 7723, RFC 8155) count as the whole does, as in OpenClaw:
/// no server of the Web is there.
const REGISTRY: [Registration; 50] = [
    v4([0, 0, 0, 0], 8, SpecialUse::ThisNetwork),
    v4([10, 0, 0, 0], 8, SpecialUse::PrivateUse),
    v4([100, 64, 0, 0], 10, SpecialUse::CarrierGradeNat),
    v4([127, 0, 0, 0], 8, SpecialUse::Loopback),
    v4([169, 254, 0, 0], 16, SpecialUse::LinkLocal),
    v4([172, 16, 0, 0], 12, SpecialUse::PrivateUse),
    v4([192, 0, 0, 0], 24, SpecialUse::ProtocolAssignments),
    v4([192, 0, 2, 0], 24, SpecialUse::Documentation),
    v4([192, 31, 196, 0], 24, SpecialUse::Global),
    v4([192, 52, 193, 0], 24, SpecialUse::Global),
    v4([192, 88, 99, 0], 24, SpecialUse::SixToFourRelay),
    v4([192, 168, 0, 0], 16, SpecialUse::PrivateUse),
    v4([192, 175, 48, 0], 24, SpecialUse::Global),
    v4([198, 18, 0, 0], 15, SpecialUse::Benchmarking),
    v4([198, 51, 100, 0], 24, SpecialUse::Documentation),
    v4([203, 0, 113, 0], 24, SpecialUse::Documentation),
    v4([224, 0, 0, 0], 4, SpecialUse::Multicast),
    v4([240, 0, 0, 0], 4, SpecialUse::FutureUse),
    v4([255, 255, 255, 255], 32, SpecialUse::Broadcast),
    // The address that most clouds use; then ECS, EKS and Scaleway, Alibaba, Azure, Oracle.
    v4([169, 254, 169, 254], 32, SpecialUse::Metadata),
    v4([169, 254, 170, 2], 32, SpecialUse::Metadata),
    v4([169, 254, 170, 23], 32, SpecialUse::Metadata),
    v4([169, 254, 42, 42], 32, SpecialUse::Metadata),
    v4([100, 100, 100, 200], 32, SpecialUse::Metadata),
    v4([168, 63, 129, 16], 32, SpecialUse::Metadata),
    v4([192, 0, 0, 192], 32, SpecialUse::Metadata),
    v6_address([0; 4], 0, SpecialUse::ThisNetwork),
    v6_address([0; 4], 1, SpecialUse::Loopback),
    v6([0x64, 0xff9b, 1, 0], 48, SpecialUse::LocalNat64),
    v6([0x100, 0, 0, 0], 64, SpecialUse::DiscardOnly),
    v6([0x2001, 0, 0, 0], 23, SpecialUse::ProtocolAssignments),
    // Teredo: the address in it decides.
    v6([0x2001, 0, 0, 0], 32, SpecialUse::Global),
    v6([0x2001, 2, 0, 0], 48, SpecialUse::Benchmarking),
    v6([0x2001, 3, 0, 0], 32, SpecialUse::Global),
    v6([0x2001, 4, 0x112, 0], 48, SpecialUse::Global),
    v6([0x2001, 0x10, 0, 0], 28, SpecialUse::Orchid),
    v6([0x2001, 0x20, 0, 0], 28, SpecialUse::Orchid),
    v6([0x2001, 0x30, 0, 0], 28, SpecialUse::Global),
    v6([0x2001, 0xdb8, 0, 0], 32, SpecialUse::Documentation),
    v6([0x2620, 0x4f, 0x8000, 0], 48, SpecialUse::Global),
    v6([0x3fff, 0, 0, 0], 20, SpecialUse::Documentation),
    v6([0x5f00, 0, 0, 0], 16, SpecialUse::SegmentRouting),
    v6([0xfc00, 0, 0, 0], 7, SpecialUse::UniqueLocal),
    v6([0xfe80, 0, 0, 0], 10, SpecialUse::LinkLocal),
    v6([0xfec0, 0, 0, 0], 10, SpecialUse::SiteLocal),
    v6([0xff00, 0, 0, 0], 8, SpecialUse::Multicast),
    // Amazon, its EKS, Google, Scaleway.
    v6_address([0xfd00, 0xec2, 0, 0], 0x254, SpecialUse::Metadata),
    v6_address([0xfd00, 0xec2, 0, 0], 0x23, SpecialUse::Metadata),
    v6_address([0xfd20, 0xce, 0, 0], 0x254, SpecialUse::Metadata),
    v6_address([0xfd00, 0x42, 0, 0], 0x42, SpecialUse::Metadata),
];

/// The narrowest range of the registry that contains an address. An embedded address is not considered.
pub(super) fn registration(ip: IpAddr) -> Option<&'static Registration> {
    REGISTRY
        .iter()
        .filter(|registration| registration.prefix.covers(ip))
        .max_by_key(|registration| registration.prefix.length())
}
