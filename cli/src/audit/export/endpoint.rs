//! The address of a collector.

use std::fmt;
use std::net::IpAddr;

use guard_policy::approval::GatewayHost;
use hyper::Uri;

/// What OTLP/HTTP appends to a collector's address (OpenTelemetry protocol specification 1.9).
const LOGS: &str = "v1/logs";

/// The address of a collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The host.
    pub host: GatewayHost,
    /// The port.
    pub port: u16,
    /// Whether it uses https.
    pub is_secure: bool,
    /// The path, which ends in `/v1/logs`.
    pub path: String,
    /// The host as written, with the port if one is written.
    pub authority: String,
}

/// Why a text is not the address of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectorUrlError {
    /// It is no URL of HTTP, or has no host.
    #[error("it must be http://HOST:4318 or https://HOST")]
    Form,
    /// It would show a secret where the URL is shown.
    #[error("it must not contain a name or password: set OTEL_EXPORTER_OTLP_HEADERS")]
    Password,
    /// Nothing can be appended to its path.
    #[error("it must not contain a query")]
    Query,
}

impl Endpoint {
    /// Reads `http://host:4318`, `https://host/otlp` or `https://host/v1/logs`.
    ///
    /// # Errors
    /// If it is not such a URL.
    pub fn parse(text: &str) -> Result<Endpoint, CollectorUrlError> {
        let uri: Uri = text.parse().map_err(|_| CollectorUrlError::Form)?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(CollectorUrlError::Form),
        };
        let authority = uri.authority().ok_or(CollectorUrlError::Form)?;
        if authority.as_str().contains('@') {
            return Err(CollectorUrlError::Password);
        }
        if uri.query().is_some() {
            return Err(CollectorUrlError::Query);
        }
        let name = authority.host().trim_start_matches('[').trim_end_matches(']');
        let host = match name.parse::<IpAddr>() {
            Ok(address) => GatewayHost::Address(address),
            Err(_) if name.is_empty() => return Err(CollectorUrlError::Form),
            Err(_) => GatewayHost::Name(name.to_ascii_lowercase()),
        };
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let base = uri.path().trim_end_matches('/');
        let path =
            if base.ends_with(&format!("/{LOGS}")) { base.to_owned() } else { format!("{base}/{LOGS}") };
        Ok(Endpoint { host, port, is_secure, path, authority: authority.as_str().to_owned() })
    }

    /// Whether nobody else can read what is sent: it is encrypted, or stays on this host.
    pub fn is_private(&self) -> bool {
        self.is_secure
            || match &self.host {
                GatewayHost::Address(address) => address.is_loopback(),
                GatewayHost::Name(name) => name == "localhost",
            }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collectors_url_gets_the_logs_path() {
        for (text, expected) in [
            ("http://localhost:4318", "http://localhost:4318/v1/logs"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/logs"),
            ("https://otel.example.org/otlp/", "https://otel.example.org/otlp/v1/logs"),
            ("https://[::1]:4318/v1/logs", "https://[::1]:4318/v1/logs"),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().to_string(), expected);
        }
        assert_eq!(Endpoint::parse("https://h").unwrap().port, 443);
        for wrong in
            ["", "localhost:4318", "ftp://h", "http://", "http://u:p@h", "http://h/?x=1", "http://h h"]
        {
            assert!(Endpoint::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn plain_http_is_private_on_loopback_only() {
        for (text, is_private) in [
            ("http://localhost", true),
            ("http://[::1]", true),
            ("https://h", true),
            ("http://h", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().is_private(), is_private, "{text}");
        }
    }
}
