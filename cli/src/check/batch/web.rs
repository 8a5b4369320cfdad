//! Questions about hosts of the Web: `ssrf`. Nothing is looked up.

use guard_policy::ssrf::{LookupAddress, SsrfError, SsrfPolicy};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// `ssrf`: the verdict of OpenClaw's own protection on a host, on its addresses, or on a URL.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum SsrfQuestion {
    /// Whether a host's text is a blocked name or a special-use address.
    Host {
        #[serde(rename = "op")]
        _op: IgnoredAny,
        host: String,
        #[serde(default)]
        policy: SsrfPolicy,
    },
    /// Whether a host may be looked up.
    Policy {
        #[serde(rename = "op")]
        _op: IgnoredAny,
        host: String,
        #[serde(default)]
        policy: SsrfPolicy,
    },
    /// Which of a host's addresses may be connected to.
    Resolve {
        #[serde(rename = "op")]
        _op: IgnoredAny,
        host: String,
        resolves_to: Vec<LookupAddress>,
        #[serde(default)]
        policy: SsrfPolicy,
    },
    /// Which addresses of a URL's host may be connected to.
    Url {
        #[serde(rename = "op")]
        _op: IgnoredAny,
        url: String,
        resolves_to: Vec<LookupAddress>,
        #[serde(default)]
        policy: SsrfPolicy,
    },
}

impl SsrfQuestion {
    pub fn answer(&self) -> String {
        let answer = match self {
            SsrfQuestion::Host { host, policy, .. } => {
                let check = policy.check_host(host);
                json!({
                    "blockedHostname": check.is_blocked_hostname,
                    "privateIp": check.is_private_ip,
                    "blocked": check.is_blocked(),
                })
            }
            SsrfQuestion::Policy { host, policy, .. } => match policy.check_hostname(host) {
                Ok(value) => json!({ "allowed": true, "value": value }),
                Err(error) => refused(&error),
            },
            SsrfQuestion::Resolve { host, resolves_to, policy, .. } => {
                pinned(policy.check_lookup(host, resolves_to))
            }
            SsrfQuestion::Url { url, resolves_to, policy, .. } => pinned(policy.check_url(url, resolves_to)),
        };
        answer.to_string()
    }
}

fn pinned(addresses: Result<Vec<&str>, SsrfError>) -> Value {
    match addresses {
        Ok(addresses) => json!({ "allowed": true, "addresses": addresses }),
        Err(error) => refused(&error),
    }
}

fn refused(error: &SsrfError) -> Value {
    json!({ "allowed": false, "error": error.to_string(), "name": error.name() })
}
