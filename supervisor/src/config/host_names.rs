//! The names and addresses by which programs of this machine reach the machine itself.
//!
//! Nothing is looked up: a name server's answer would take time, and another program that asks may get another answer.

use std::collections::BTreeSet;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;

/// The domains of hosts for which nobody has chosen a domain: from multicast DNS (RFC 6762), distributions, routers,
/// and RFC 8375.
const DOMAINS: [&str; 6] = ["local", "localdomain", "lan", "home", "home.arpa", "internal"];

/// Returns the names and addresses in lower case: the host's name, alone and with usual domains, its names in hosts(5),
/// and its IPv4 addresses. An IPv6 address in a URL of git's is refused in any case.
pub fn this_host() -> Vec<Vec<u8>> {
    let name = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
    let addresses = getifaddrs()
        .into_iter()
        .flatten()
        .filter_map(|interface| Some(IpAddr::V4(interface.address.as_ref()?.as_sockaddr_in()?.ip())));
    // A file that is missing, or is no text, names nothing.
    let text = |path| std::fs::read_to_string(path).unwrap_or_default();
    let found = names(&name, &addresses.collect(), &text("/etc/hosts"), &text("/etc/resolv.conf"));
    found.into_iter().map(String::into_bytes).collect()
}

fn names(name: &str, addresses: &BTreeSet<IpAddr>, hosts: &str, resolv: &str) -> BTreeSet<String> {
    let first = name.split('.').next().unwrap_or_default();
    let own = [name, first].into_iter().filter(|name| !name.is_empty());
    let mut names: BTreeSet<String> = own.map(str::to_owned).collect();
    // `search` and `domain` of resolv.conf(5).
    let lines = resolv.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let searched = lines.filter(|words| matches!(words.first(), Some(&"search" | &"domain")));
    let searched = searched.flat_map(|words| words.into_iter().skip(1).map(str::to_ascii_lowercase));
    let domains = DOMAINS.map(str::to_owned).into_iter().chain(searched);
    if !first.is_empty() {
        names.extend(domains.map(|domain| format!("{first}.{}", domain.trim_matches('.'))));
    }
    for line in hosts.lines() {
        let line = line.split('#').next().unwrap_or_default().to_ascii_lowercase();
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|address| address.parse::<IpAddr>().ok());
        let words: Vec<&str> = words.collect();
        let is_here = address.is_some_and(|ip| ip.is_loopback() || addresses.contains(&ip));
        if is_here || words.iter().any(|word| names.contains(*word)) {
            names.extend(words.into_iter().map(str::to_owned));
        }
    }
    names.extend(addresses.iter().map(ToString::to_string));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_leads_here_is_found() {
        let hosts = "127.0.0.1 localhost dev.test # work\n10.0.0.7 wiki\n192.168.7.9 Files\n127.0.1.1 box.corp.example BOX\n\
            203.0.113.5 box.example.org box other\n::1 six\nodd\n";
        let addresses = [IpAddr::from([192, 168, 7, 9])].into();
        let found =
            names("box.corp.example", &addresses, hosts, "search Example.NET corp\nnameserver 1.1.1.1\n");
        for name in [
            "box",
            "box.corp.example",
            "box.local",
            "box.example.net",
            "box.corp",
            "dev.test",
            "files",
            "other",
            "six",
            "192.168.7.9",
        ] {
            assert!(found.contains(name), "{name}: {found:?}");
        }
        for name in ["wiki", "10.0.0.7", "odd", "example.net", "box.1.1.1.1", ""] {
            assert!(!found.contains(name), "{name}");
        }
        assert!(names("", &BTreeSet::new(), "", "search a").is_empty());
    }
}
