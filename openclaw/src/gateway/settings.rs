//! What guard.json says of the gateway.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use guard_policy::Policy;
use guard_policy::approval::{Fingerprint, GatewayUrl};

/// Where it is and what opens it, as far as guard.json says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewaySettings {
    /// `approvals.gateway.url`.
    pub url: Option<GatewayUrl>,
    /// The real path of `approvals.gateway.tokenFile`, or why it is not to be used.
    pub token_file: Option<Result<PathBuf, String>>,
    /// `approvals.gateway.allowInsecure`: without TLS to other hosts, too.
    pub allow_insecure: bool,
    /// `approvals.gateway.fingerprint`: the certificate of a `wss://` gateway.
    pub fingerprint: Option<Fingerprint>,
    /// `approvals.gateway.admin`: whether operator.admin is asked for.
    pub admin: bool,
}

impl GatewaySettings {
    /// What this policy says.
    pub fn from_policy(policy: &Policy) -> GatewaySettings {
        let route = policy.approvals().gateway();
        let token = policy.gateway_token().map(|place| place.map(OsStr::from_bytes).map_err(str::to_owned));
        GatewaySettings {
            url: route.url().cloned(),
            token_file: token.map(|place| place.map(PathBuf::from)),
            allow_insecure: route.allow_insecure(),
            fingerprint: route.fingerprint(),
            admin: route.admin(),
        }
    }
}
