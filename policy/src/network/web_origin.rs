//! Origins of the Web, such as `https://example.com:8443`.

use std::fmt;

use url::Url;

use crate::paths::expansion::trim;

/// Scheme, host and port of an http or https URL (RFC 6454). The host has no dot at its end, the port no default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebOrigin(String);

impl WebOrigin {
    /// The origin of a scheme of the Web, and a host and a port that were parsed before.
    pub(super) fn new(scheme: &str, authority: &str) -> WebOrigin {
        let text = format!("{scheme}://{authority}");
        // The parts were parsed before, so the whole parses. If it did not, the result would equal no valid origin.
        WebOrigin::parse(&text).unwrap_or(WebOrigin(text))
    }

    /// The origin of a URL; `None` if the URL is not one of the Web.
    pub(crate) fn parse(text: &str) -> Option<WebOrigin> {
        WebOrigin::from_url(Url::parse(trim(text)).ok()?)
    }

    /// The origin of a parsed URL; `None` if the URL is not one of the Web.
    pub(super) fn from_url(mut url: Url) -> Option<WebOrigin> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let host = url.host_str()?;
        let bare = host.trim_end_matches('.');
        if bare.len() < host.len() && !bare.is_empty() {
            let bare = bare.to_owned();
            url.set_host(Some(&bare)).ok()?;
        }
        Some(WebOrigin(url.origin().ascii_serialization()))
    }
}

impl WebOrigin {
    /// Whether this origin is `other`, or has the form `https://*.example.com` and the host of `other` is below that domain.
    pub(super) fn covers(&self, other: &WebOrigin) -> bool {
        let is_below = |(scheme, domain): (&str, &str)| {
            let (other_scheme, host) = other.0.split_once("://")?;
            let below = host.strip_suffix(domain)?.strip_suffix('.')?;
            Some(scheme == other_scheme && !below.is_empty())
        };
        self == other || self.0.split_once("://*.").and_then(is_below) == Some(true)
    }
}

impl WebOrigin {
    /// Whether this is an origin of a host, at any port and by any scheme.
    pub(super) fn is_of(&self, host: &str) -> bool {
        let own = self.0.split_once("://").map_or("", |(_, authority)| authority);
        let own = own.rsplit_once(':').filter(|_| !own.ends_with(']')).map_or(own, |(host, _)| host);
        match own.strip_prefix("*.") {
            Some(domain) => {
                host.strip_suffix(domain).is_some_and(|below| below.len() > 1 && below.ends_with('.'))
            }
            None => own == host,
        }
    }
}

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_of_its_host() {
        let is_of =
            |origin: &str, host: &str| WebOrigin::parse(origin).is_some_and(|origin| origin.is_of(host));
        assert!(is_of("https://a.test", "a.test") && is_of("http://a.test:8080", "a.test"));
        assert!(is_of("https://*.a.test:8443", "b.a.test") && is_of("https://[::1]:443", "[::1]"));
        for host in ["a.test", "a.test.b", "xa.test", ".a.test", ""] {
            assert!(!is_of("https://*.a.test", host), "{host}");
        }
        assert!(!is_of("https://a.test", "b.a.test"));
    }

    #[test]
    fn a_domain_covers_the_hosts_below_it() {
        let covers = |domain: &str, host: &str| {
            let origin = |text: &str| WebOrigin::parse(text).unwrap_or_else(|| panic!("{text}"));
            origin(domain).covers(&origin(host))
        };
        for (host, is_covered) in [
            ("https://a.example.org", true),
            ("https://a.b.example.org", true),
            ("https://example.org", false),
            ("https://evilexample.org", false),
            ("https://a.example.org.evil.net", false),
            ("https://a.example.org:8443", false),
            ("http://a.example.org", false),
        ] {
            assert_eq!(covers("https://*.example.org", host), is_covered, "{host}");
        }
        assert!(covers("http://*.example.org:8080", "http://a.example.org:8080"));
        assert!(covers("https://a.test", "https://a.test"));
        assert!(!covers("https://a.test", "https://b.a.test"));
    }
}
