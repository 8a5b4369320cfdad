//! Rules for names of hosts, such as `*.example.com`.

use std::fmt;

use super::hostname::listed;

/// A host; or with `*.`, every host below it but not the host itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostnamePattern(String);

impl HostnamePattern {
    /// The patterns of a list, each once, in its order. As in OpenClaw, empty ones and `*` have no effect.
    pub(super) fn list(texts: &[String]) -> Vec<HostnamePattern> {
        let mut patterns = Vec::new();
        for pattern in listed(texts).map(HostnamePattern) {
            if !matches!(&pattern.0[..], "" | "*" | "*.") && !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        patterns
    }

    /// Whether the pattern matches a normalized host.
    pub(super) fn matches(&self, host: &str) -> bool {
        match self.0.strip_prefix("*.") {
            Some(parent) => {
                !parent.is_empty() && host.strip_suffix(parent).is_some_and(|below| below.ends_with('.'))
            }
            None => self.0 == host,
        }
    }
}

impl fmt::Display for HostnamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
