//! What no command may have: the variables that speak for the gateway, or for the guard.

use super::MARK;
use crate::Reason;

/// Variables of OpenClaw, under the names that it has had, and of this guard.
const PREFIXES: &[&[u8]] = &[b"OPENCLAW_", b"CLAWDBOT_", b"MOLTBOT_", b"OC_EXEC_"];

/// Words that make a variable a secret of the gateway when they follow one another in its name.
const GATEWAY_SECRETS: &[&[u8]] =
    &[b"GATEWAY_TOKEN", b"GATEWAY_PASSWORD", b"GATEWAY_AUTH_TOKEN", b"GATEWAY_SECRET"];

/// Why a variable of this name stays outside, if it does. Whoever holds it could approve his own requests.
pub(super) fn reason(name: &[u8]) -> Option<Reason<'static>> {
    if name == MARK.0 {
        return None;
    }
    let is_ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || GATEWAY_SECRETS.iter().any(|secret| name.windows(secret.len()).any(|part| part == *secret));
    is_ours.then(|| Reason::unmentioned("it speaks to OpenClaw or to the guard for the operator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_openclaw_are_ours() {
        for name in ["OPENCLAW_HOME", "CLAWDBOT_STATE_DIR", "MOLTBOT_X", "OC_EXEC_ASK", "OPENCLAW_"] {
            assert!(reason(name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn tokens_of_the_gateway_are_ours() {
        for name in ["GATEWAY_TOKEN", "MY_GATEWAY_PASSWORD", "GATEWAY_AUTH_TOKEN_FILE"] {
            assert!(reason(name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn names_that_only_look_like_it_are_not() {
        for name in ["PATH", "OPENCLAW", "NO_OPENCLAW_", "GATEWAY_INTERFACE", "OC_EXE", "OPENCLAW_CLI", ""] {
            assert_eq!(reason(name.as_bytes()), None, "{name}");
        }
    }
}
