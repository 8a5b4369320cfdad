//! Origins of the Web, such as `https://example.com:8443`.

use url::Url;

use crate::paths::expansion::trim;

/// Scheme, host and port of an http or https URL (RFC 6454). The host has no dot at its end, the port no default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebOrigin(String);

impl WebOrigin {
    /// The origin of a URL; `None` if it is none of the Web's.
    pub(super) fn parse(text: &str) -> Option<WebOrigin> {
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
