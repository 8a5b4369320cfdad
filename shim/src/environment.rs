//! What the tree may not inherit: the variables that speak for the gateway, or for the guard.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Variables of OpenClaw, under the names that it has had, and of this guard.
const PREFIXES: &[&[u8]] = &[b"OPENCLAW_", b"CLAWDBOT_", b"MOLTBOT_", b"OC_EXEC_"];

/// Words that make a variable a secret of the gateway when they follow one another in its name.
const GATEWAY_SECRETS: &[&[u8]] =
    &[b"GATEWAY_TOKEN", b"GATEWAY_PASSWORD", b"GATEWAY_AUTH_TOKEN", b"GATEWAY_SECRET"];

/// The variables that the tree inherits, in their order: all but OpenClaw's, and the gateway's tokens.
///
/// Whoever holds those could approve his own requests.
pub fn cleaned(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    vars.into_iter().filter(|(name, _)| !is_ours(name.as_bytes())).collect()
}

fn is_ours(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || GATEWAY_SECRETS.iter().any(|secret| name.windows(secret.len()).any(|part| part == *secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(kept: &[&str]) -> Vec<String> {
        let vars = kept.iter().map(|name| (OsString::from(name), OsString::from("1")));
        cleaned(vars).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn variables_of_openclaw_are_not_inherited() {
        let vars = [
            "OPENCLAW_HOME",
            "CLAWDBOT_STATE_DIR",
            "MOLTBOT_X",
            "OC_EXEC_ASK",
            "openclaw_token",
            "OPENCLAW_",
        ];
        assert!(names(&vars).is_empty());
    }

    #[test]
    fn tokens_of_the_gateway_are_not_inherited() {
        assert!(names(&["GATEWAY_TOKEN", "MY_GATEWAY_PASSWORD", "gateway_auth_token_file"]).is_empty());
    }

    #[test]
    fn everything_else_stays_in_its_order() {
        let vars = ["PATH", "OPENCLAW", "NO_OPENCLAW_", "GATEWAY_INTERFACE", "OC_EXE", "HOME", "LD_PRELOAD"];
        assert_eq!(names(&vars), vars);
    }

    #[test]
    fn names_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt;
        let odd = vec![(OsString::from_vec(vec![0xff, b'A']), OsString::from_vec(vec![0xfe]))];
        assert_eq!(cleaned(odd.clone()), odd);
    }
}
