//! Variables that no command may have: credentials and settings of the gateway and the guard.

use super::MARK;
use crate::Reason;

/// Prefixes of OpenClaw's variables, including its former names, and of the guard's.
const PREFIXES: &[&[u8]] = &[b"OPENCLAW_", b"CLAWDBOT_", b"MOLTBOT_", b"OC_EXEC_"];

/// Sequences of words that mark a variable as a secret of the gateway.
const GATEWAY_SECRETS: &[&[u8]] =
    &[b"GATEWAY_TOKEN", b"GATEWAY_PASSWORD", b"GATEWAY_AUTH_TOKEN", b"GATEWAY_SECRET"];

/// The reason to withhold a variable, if there is one. A command that had it could approve its own requests.
pub(super) fn reason(name: &[u8]) -> Option<Reason<'static>> {
    if name == MARK.0 {
        return None;
    }
    let is_ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || GATEWAY_SECRETS.iter().any(|secret| name.windows(secret.len()).any(|part| part == *secret));
    is_ours.then(|| Reason::unmentioned("it configures OpenClaw or the guard for the operator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openclaws_own_variables_are_dropped() {
        for name in ["OPENCLAW_HOME", "CLAWDBOT_STATE_DIR", "MOLTBOT_X", "OC_EXEC_ASK", "OPENCLAW_"] {
            assert!(reason(name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn the_gateways_token_variables_are_dropped() {
        for name in ["GATEWAY_TOKEN", "MY_GATEWAY_PASSWORD", "GATEWAY_AUTH_TOKEN_FILE"] {
            assert!(reason(name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn similar_variable_names_are_not_dropped() {
        for name in ["PATH", "OPENCLAW", "NO_OPENCLAW_", "GATEWAY_INTERFACE", "OC_EXE", "OPENCLAW_CLI", ""] {
            assert_eq!(reason(name.as_bytes()), None, "{name}");
        }
    }
}
