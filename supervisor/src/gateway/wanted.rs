//! What guard.json says of the gateway.

use std::path::PathBuf;

/// Where it is and what opens it, as far as guard.json says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `approvals.gateway.url`.
    pub url: Option<String>,
    /// `approvals.gateway.tokenFile`.
    pub token_file: Option<PathBuf>,
    /// `approvals.gateway.allowInsecure`: without TLS to other hosts, too.
    pub allow_insecure: bool,
    /// Whether the scope operator.admin is asked for.
    pub admin: bool,
}
