//! The name servers of a host, from `/etc/resolv.conf`.

use std::net::IpAddr;

/// The port of DNS, over UDP and TCP.
pub(super) const DNS: u16 = 53;

/// The addresses of the lines `nameserver` (resolv.conf(5)). A zone is left out: it only picks an interface.
pub fn resolvers(text: &str) -> Vec<IpAddr> {
    let address = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next().filter(|word| *word == "nameserver").and(words.next())?;
        address.split('%').next()?.parse().ok()
    };
    text.lines().filter_map(address).map(|ip: IpAddr| ip.to_canonical()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_of_other_words_are_none() {
        let text = "# nameserver 10.0.0.1\nsearch nameserver 10.0.0.2\nnameserver\t169.254.169.253 # of the cloud\n\
                    nameserver fe80::1%eth0\r\nnameserver\nnameserver x\nnameservers 10.0.0.3\n nameserver ::ffff:10.0.0.4";
        let found: Vec<_> = super::resolvers(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["169.254.169.253", "fe80::1", "10.0.0.4"]);
    }
}
