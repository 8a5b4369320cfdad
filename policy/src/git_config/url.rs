//! URLs of other hosts that git only connects to.

/// Why this URL is refused; `None` if git only connects to another host there, by https or ssh.
pub(super) fn objection(url: &[u8]) -> Option<&'static str> {
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
    // ssh passes the path on as an argument.
    if path.first() == Some(&b'-') || path.starts_with(b"/-") || path.starts_with(b"/~-") {
        return Some("its path looks like an option");
    }
    None
}

fn is_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/@%+,=&?".contains(&byte)
}

/// git compares the scheme as written: in other letters it would be the name of another program.
fn scheme(url: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = url.windows(3).position(|three| three == b"://")?;
    let is_scheme =
        url[..at].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'));
    is_scheme.then(|| (&url[..at], &url[at + 3..]))
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
            "host:r.git",
            "host:/srv/r.git",
        ] {
            assert_eq!(objection(url.as_bytes()), None, "{url}");
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
            assert!(objection(url.as_bytes()).is_some(), "{url}");
        }
    }
}
