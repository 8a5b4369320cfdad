//! The system's public suffix list, for the domain that an answer about a host may be for.

use std::sync::LazyLock;

use guard_policy::{PUBLIC_SUFFIX_LIST, PublicSuffixes, WebEndpoint};

/// The list, if the system has one. It is read when the first host is asked about. A list that is wrong offers a wrong domain,
/// which the card names.
static SUFFIXES: LazyLock<Option<PublicSuffixes>> =
    LazyLock::new(|| PublicSuffixes::parse(&std::fs::read_to_string(PUBLIC_SUFFIX_LIST).ok()?));

/// The hosts below the domain that the host's owner has registered, `*.example.com`.
pub(super) fn domain(endpoint: &WebEndpoint) -> Option<String> {
    endpoint.domain(SUFFIXES.as_ref()?)
}
