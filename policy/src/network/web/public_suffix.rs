//! The public suffix list (<https://publicsuffix.org/list>): which parts of names are given to different owners.

use publicsuffix::{List, Psl};

/// Where distributions install the list (Debian and Fedora: `publicsuffix`; Arch: `publicsuffix-list`).
pub const PUBLIC_SUFFIX_LIST: &str = "/usr/share/publicsuffix/public_suffix_list.dat";

/// The public suffixes.
#[derive(Debug)]
pub struct PublicSuffixes(List);

impl PublicSuffixes {
    /// Parses the list. `None` if the text is not such a list.
    pub fn parse(text: &str) -> Option<PublicSuffixes> {
        text.parse().ok().map(PublicSuffixes)
    }

    /// The domain of a host that its owner has registered: `example.co.uk`. `None` if the host is a suffix itself.
    pub(super) fn domain<'h>(&self, host: &'h str) -> Option<&'h str> {
        let domain = self.0.domain(host.as_bytes())?;
        str::from_utf8(domain.as_bytes()).ok()
    }
}
