//! What guard.json says of the gateway.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use guard_policy::Policy;

/// Where it is and what opens it, as far as guard.json says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// `approvals.gateway.url`.
    pub url: Option<String>,
    /// `approvals.gateway.tokenFile`.
    pub token_file: Option<Result<PathBuf, String>>,
    /// `approvals.gateway.allowInsecure`: without TLS to other hosts, too.
    pub allow_insecure: bool,
    /// Whether the scope operator.admin is asked for.
    pub admin: bool,
}

impl Wanted {
    /// Of a policy.
    pub fn of(policy: &Policy) -> Wanted {
        let gateway = policy.approvals().gateway();
        let path = |path: &[u8]| PathBuf::from(OsStr::from_bytes(path));
        Wanted {
            url: gateway.url().map(ToString::to_string),
            token_file: policy.gateway_token().map(|token| token.map(path).map_err(str::to_owned)),
            allow_insecure: gateway.allow_insecure(),
            admin: gateway.admin(),
        }
    }
}
