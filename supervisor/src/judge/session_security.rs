//! The security that the operator has set for one running session, in addition to its policy.

use std::sync::Arc;

use clap::ValueEnum;
use guard_policy::Policy;
use serde::{Deserialize, Serialize};

/// The security of a running session. It can only be tighter than the policy's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SessionSecurity {
    /// The policy's own.
    #[default]
    Policy,
    /// No program may start.
    Deny,
}

impl SessionSecurity {
    /// The policy with this security.
    pub fn applied(self, policy: &Arc<Policy>) -> Arc<Policy> {
        match self {
            SessionSecurity::Policy => Arc::clone(policy),
            SessionSecurity::Deny => Arc::new(policy.without_programs()),
        }
    }

    /// Its name, as on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionSecurity::Policy => "policy",
            SessionSecurity::Deny => "deny",
        }
    }
}
