//! Prefixes of addresses, such as `10.0.0.0/8`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A prefix of IPv4 or IPv6 addresses; a single address is a prefix of full length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    network: IpAddr,
    length: u8,
}

/// Why an address and a length are not a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PrefixError {
    /// The length is no number, or larger than an address.
    #[error("\"/{text}\" is not a length from 0 to {most}")]
    Length {
        /// As it is written.
        text: String,
        /// The length of an address.
        most: u8,
    },
    /// The address has bits after the length.
    #[error("{address} is not the beginning of such a prefix; did you mean \"{whole}\"?")]
    NotBeginning {
        /// As it is written.
        address: IpAddr,
        /// The prefix of that length that contains it.
        whole: Prefix,
    },
}

impl Prefix {
    /// A prefix of IPv4 addresses. The bits after its length must be 0.
    pub(super) const fn v4(octets: [u8; 4], length: u8) -> Prefix {
        let [a, b, c, d] = octets;
        Prefix { network: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), length }
    }

    /// A prefix of IPv6 addresses, by its first four groups; the others, and the bits behind its length, are 0.
    pub(super) const fn v6(groups: [u16; 4], length: u8) -> Prefix {
        let [a, b, c, d] = groups;
        Prefix { network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0)), length }
    }

    /// One IPv6 address: its first four groups, and the last.
    pub(super) const fn v6_address(groups: [u16; 4], last: u16) -> Prefix {
        let [a, b, c, d] = groups;
        Prefix { network: IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, last)), length: 128 }
    }

    /// Parses a prefix from an address and the text of a length. Without a length, the prefix is the address alone. An
    /// IPv4-mapped prefix becomes IPv4.
    ///
    /// # Errors
    /// If they are not a prefix.
    pub(super) fn parse(address: IpAddr, length: Option<&str>) -> Result<Prefix, PrefixError> {
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(text) => digits(text)
                .filter(|length| *length <= u32::from(most))
                .map(|length| length as u8)
                .ok_or_else(|| PrefixError::Length { text: text.to_owned(), most })?,
        };
        let network = masked(address, length);
        if network != address {
            let whole = Prefix { network, length };
            return Err(PrefixError::NotBeginning { address, whole });
        }
        Ok(Prefix { network, length }.canonical())
    }

    fn canonical(self) -> Prefix {
        const MAPPED: u8 = 96;
        match self.network.to_canonical() {
            network @ IpAddr::V4(_) if self.network.is_ipv6() && self.length >= MAPPED => {
                Prefix { network, length: self.length - MAPPED }
            }
            _ => self,
        }
    }

    /// Whether it contains an address. Here, an IPv4-mapped address does not count as IPv4.
    pub(super) fn covers(&self, ip: IpAddr) -> bool {
        self.is_ipv4() == ip.is_ipv4() && masked(ip, self.length) == self.network
    }

    /// Its first address.
    pub(super) fn network(&self) -> IpAddr {
        self.network
    }

    /// The address, if the prefix is a single one.
    pub(super) fn address(&self) -> Option<IpAddr> {
        (self.length == if self.is_ipv4() { 32 } else { 128 }).then_some(self.network)
    }

    pub(super) fn is_ipv4(&self) -> bool {
        self.network.is_ipv4()
    }

    /// The number of bits that its addresses share.
    pub(super) fn length(&self) -> u8 {
        self.length
    }
}

/// The address with all bits after the first `length` set to zero.
fn masked(ip: IpAddr, length: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

/// Parses a number that consists of digits only: no sign.
pub(super) fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.network.is_ipv4() { 32 } else { 128 };
        match self.network {
            IpAddr::V4(v4) => write!(f, "{v4}")?,
            IpAddr::V6(v6) => write!(f, "[{v6}]")?,
        }
        if self.length < whole { write!(f, "/{}", self.length) } else { Ok(()) }
    }
}
