//! The system's public suffix list, for the domain that an answer about a host may be for.

use std::sync::LazyLock;

use guard_policy::{PUBLIC_SUFFIX_LIST, Policy, PublicSuffixes, WebEndpoint};

/// The list, if the system has one. It is read when the first host is asked about.
static SUFFIXES: LazyLock<Option<PublicSuffixes>> =
    LazyLock::new(|| PublicSuffixes::parse(&std::fs::read_to_string(PUBLIC_SUFFIX_LIST).ok()?));

/// The hosts below the domain that the host's owner has registered, `*.example.com`. None where the tree could have written
/// the list.
pub(super) fn domain(policy: &Policy, endpoint: &WebEndpoint) -> Option<String> {
    if policy.writable_unasked(PUBLIC_SUFFIX_LIST.as_bytes()) {
        return None;
    }
    endpoint.domain(SUFFIXES.as_ref()?)
}
