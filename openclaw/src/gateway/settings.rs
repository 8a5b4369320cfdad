//! The gateway settings of guard.json.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use guard_policy::Policy;
use guard_policy::approval::{Fingerprint, GatewayUrl, TokenFileError};

/// The address of the gateway and the access to it, as far as guard.json specifies them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewaySettings {
    /// `approvals.gateway.url`.
    pub url: Option<GatewayUrl>,
    /// The real path of `approvals.gateway.tokenFile`, or why it must not be used.
    pub token_file: Option<Result<PathBuf, TokenFileError>>,
    /// `approvals.gateway.allowInsecure`: whether other hosts, too, may be contacted without TLS.
    pub allow_insecure: bool,
    /// `approvals.gateway.fingerprint`: the certificate of a `wss://` gateway.
    pub fingerprint: Option<Fingerprint>,
    /// `approvals.gateway.admin`: whether operator.admin is requested.
    pub admin: bool,
}

impl GatewaySettings {
    /// Returns the settings in a policy.
    pub fn from_policy(policy: &Policy) -> GatewaySettings {
        let route = policy.approvals().gateway();
        let token = policy.gateway_token().map(|path| path.map(OsStr::from_bytes).map_err(Clone::clone));
        GatewaySettings {
            url: route.url().cloned(),
            token_file: token.map(|path| path.map(PathBuf::from)),
            allow_insecure: route.allow_insecure(),
            fingerprint: route.fingerprint(),
            admin: route.admin(),
        }
    }
}
