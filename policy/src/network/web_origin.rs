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
        // It parses, because it did before. If it did not, it would equal no valid origin.
        WebOrigin::parse(&text).unwrap_or(WebOrigin(text))
    }

    /// The origin of a URL; `None` if it is none of the Web's.
    pub(crate) fn parse(text: &str) -> Option<WebOrigin> {
        WebOrigin::from_url(Url::parse(trim(text)).ok()?)
    }

    /// The same, of a parsed URL.
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

impl fmt::Display for WebOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
