//! URLs of other hosts that git only connects to.

use std::net::Ipv4Addr;

/// Why this URL is refused; `None` if git uses it only to connect to another host by https or ssh. `this_host` are the names
/// and addresses of this machine, in lower case.
pub(super) fn objection(url: &[u8], this_host: &[Vec<u8>]) -> Option<&'static str> {
    if url.len() > 2048 || !url.iter().all(|byte| is_url(*byte)) {
        return Some("it has characters that do not belong into a URL");
    }
    if url.windows(2).any(|two| two == b"::") {
        return Some("it names a program (git-remote-NAME) that connects");
    }
    if has_control_escape(url) {
        return Some("it has an escaped control character, or a % that escapes nothing");
    }
    let (host, path) = match scheme(url) {
        Some((b"https" | b"ssh", rest)) => {
            rest.iter().position(|byte| *byte == b'/').map_or((rest, &rest[..0]), |at| rest.split_at(at))
        }
        Some(_) => return Some("only https and ssh are known to run nothing here"),
        None => match url.iter().position(|byte| matches!(byte, b':' | b'/')) {
            Some(at) if url[at] == b':' && at > 0 => (&url[..at], &url[at + 1..]),
            _ => return Some("it is a path of this machine: a push there runs that repository's hooks"),
        },
    };
    let is_scp = scheme(url).is_none();
    let host = match (host.iter().rposition(|byte| *byte == b'@'), is_scp) {
        (Some(at), _) if !is_user(&host[..at]) => return Some("its user name is odd"),
        (Some(at), _) => &host[at + 1..],
        (None, _) => host,
    };
    let (host, port) = match host.iter().position(|byte| *byte == b':') {
        Some(at) if !is_scp => (&host[..at], &host[at + 1..]),
        _ => (host, &host[..0]),
    };
    let is_host = host.first().is_some_and(u8::is_ascii_alphanumeric)
        && host.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        && port.iter().all(u8::is_ascii_digit);
    if !is_host {
        return Some("its host is odd");
    }
    // Over https a server answers, and it runs nothing from a directory that it does not serve.
    let is_https = scheme(url).is_some_and(|(scheme, _)| scheme == b"https");
    if !is_https && is_this_host(host, this_host) {
        return Some("its host is this machine: a push there runs the hooks of a repository at that path");
    }
    if leads_upward(url) {
        return Some("it has . or .. in its path, and url.*.insteadOf can make a path of this machine of it");
    }
    // ssh passes the path on as an argument.
    if path.first() == Some(&b'-') || path.starts_with(b"/-") || path.starts_with(b"/~-") {
        return Some("its path looks like an option");
    }
    None
}

/// Whether ssh to this host comes back to this machine.
fn is_this_host(host: &[u8], this_host: &[Vec<u8>]) -> bool {
    // A dot at the end only marks a fully qualified name.
    let host = host.strip_suffix(b".").unwrap_or(host).to_ascii_lowercase();
    let is_loopback = |ip: Ipv4Addr| ip.is_loopback() || ip.is_unspecified();
    let is_own = |ip: Ipv4Addr| this_host.iter().any(|own| **own == *ip.to_string().as_bytes());
    LOOPBACK.contains(&&*host)
        || host.ends_with(b".localhost")
        || this_host.contains(&host)
        || address(&host).is_some_and(|ip| is_loopback(ip) || is_own(ip))
}

/// The usual names of loopback addresses (RFC 6761, section 6.3; hosts(5) of the distributions).
const LOOPBACK: [&[u8]; 8] = [
    b"localhost",
    b"localhost.localdomain",
    b"localhost4",
    b"localhost4.localdomain4",
    b"localhost6",
    b"localhost6.localdomain6",
    b"ip6-localhost",
    b"ip6-loopback",
];

/// The address that a name stands for, in any notation that getaddrinfo(3) accepts: one to four numbers, decimal, octal
/// or hexadecimal (inet_aton(3)).
fn address(host: &[u8]) -> Option<Ipv4Addr> {
    let number = |part: &str| match part.strip_prefix("0x") {
        Some("") => Some(0),
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let parts: Option<Vec<u32>> = str::from_utf8(host).ok()?.split('.').map(number).collect();
    let parts = parts.filter(|parts| parts.len() <= 4)?;
    let (last, first) = parts.split_last()?;
    let bytes_left = 4 - u32::try_from(first.len()).ok()?;
    let is_fitting = first.iter().all(|part| *part < 256) && u64::from(*last) < 1 << (8 * bytes_left);
    let high = first.iter().zip([24, 16, 8]).fold(0, |sum, (part, shift)| sum | part << shift);
    is_fitting.then(|| Ipv4Addr::from_bits(high | last))
}

fn is_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/@%+,=&?".contains(&byte)
}

/// git compares the scheme as written: with capitals it would be the name of another program.
fn scheme(url: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = url.windows(3).position(|three| three == b"://")?;
    let is_scheme =
        url[..at].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'));
    is_scheme.then(|| (&url[..at], &url[at + 3..]))
}

/// Whether a name in the path is `..`, as written or escaped: `url.*.insteadOf` may replace what stands before it by a
/// directory. If that ends in a dot, a name `.` becomes `..`, too.
fn leads_upward(url: &[u8]) -> bool {
    let plain = String::from_utf8_lossy(url).to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    plain.split([':', '/']).any(|name| matches!(name, "." | ".."))
}

fn is_user(user: &[u8]) -> bool {
    let is_first = user.first().is_some_and(u8::is_ascii_alphanumeric);
    is_first && user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:%+".contains(byte))
}

fn has_control_escape(url: &[u8]) -> bool {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    url.iter().enumerate().filter(|(_, byte)| **byte == b'%').any(|(at, _)| {
        match (digit(url.get(at + 1)), digit(url.get(at + 2))) {
            (Some(high), Some(low)) => high * 16 + low < 0x20 || high * 16 + low == 0x7f,
            _ => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_hosts_by_https_and_ssh_pass() {
        for url in [
            "https://github.com/u/r.git",
            "https://user:token@host.example:8443/a/b",
            "https://host/a%20b",
            "ssh://git@host.example:22/~u/r.git",
            "ssh://host/r",
            "git@github.com:u/r.git",
            "https://host/a..b/..c/r",
            "host:r.git",
            "host:/srv/r.git",
        ] {
            assert_eq!(objection(url.as_bytes(), &[]), None, "{url}");
        }
    }

    #[test]
    fn this_machine_is_no_other_host() {
        let names = ["box", "box.local", "192.168.7.9"].map(|name| name.as_bytes().to_vec());
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "git@localhost",
            "x.localhost",
            "ip6-localhost",
            "127.0.0.1",
            "127.1",
            "127.3.2.1",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "2130706433",
            "0",
            "0.0.0.0",
            "box",
            "Box.Local",
            "192.168.7.9",
            "192.168.1801",
            "3232237321",
        ] {
            for url in [format!("ssh://{host}/srv/r"), format!("{host}:r"), format!("ssh://{host}:22/r")] {
                let why = objection(url.as_bytes(), &names);
                assert!(why.is_some_and(|why| why.starts_with("its host is this machine")), "{url}: {why:?}");
            }
        }
        for url in [
            "ssh://boxes/r",
            "box.example.org:r",
            "ssh://10.0.0.1/r",
            "128.0.0.1:r",
            "ssh://1.2.3.4.5/r",
            "https://localhost:3000/u/r",
            "localhost.example.org:r",
        ] {
            assert_eq!(objection(url.as_bytes(), &names), None, "{url}");
        }
    }

    #[test]
    fn everything_else_does_not() {
        for url in [
            "",
            ".",
            "..",
            "/srv/r.git",
            "./r",
            "../r",
            "r",
            "a/b:c",
            ":r",
            "file:///srv/r",
            "file://host/r",
            "http://host/r",
            "git://host/r",
            "HTTPS://host/r",
            "ext::sh -c evil",
            "ext::evil",
            "https::https://host/r",
            "fd::7",
            "ssh://-oProxyCommand=evil/r",
            "ssh://u@-oProxyCommand=evil/r",
            "ssh://-l@host/r",
            "-oProxyCommand=evil:r",
            "u@-oProxyCommand=evil:r",
            "host:-r",
            "ssh://host/-r",
            "ssh://host:22x/r",
            "ssh://h`evil`/r",
            "ssh://h$(evil)/r",
            "https:///r",
            "https://host/../r",
            "https://host/./r",
            "https://host/a/%2E./r",
            "https://host/a%2f..%2fr",
            "ssh://host/u/..",
            "host:../r",
            "https://host/a%0ab",
            "https://host/a%0Db",
            "https://host/a%00",
            "https://host/a%7f",
            "https://host/a%",
            "https://host/a b",
            "https://host/a\nb",
            "https://host/a\\b",
            "https://[::1]/r",
            "c:\\r",
            "ssh+ext://host/r",
        ] {
            assert!(objection(url.as_bytes(), &[]).is_some(), "{url}");
        }
    }
}
