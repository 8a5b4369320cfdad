//! OpenClaw's rule for the environment of a container, and its strict form.

use super::{Inherit, chosen};
use crate::Reason;

/// Names of secrets, in addition to all names that end in one of [`SECRET_ENDINGS`].
const SECRETS: &[&[u8]] = &[b"AWS_SECRET_ACCESS_KEY", b"AWS_SECRET_KEY"];

const SECRET_ENDINGS: &[&[u8]] =
    &[b"API_KEY", b"TOKEN", b"PASSWORD", b"PRIVATE_KEY", b"SECRET", b"_ADMIN_KEY"];

/// The only variables that the strict form passes on, besides `LC_*`.
const STRICT: &[&[u8]] = &[b"LANG", b"PATH", b"HOME", b"USER", b"SHELL", b"TERM", b"TZ", b"NODE_ENV"];

/// A longer value is suspicious. In bytes.
const MAX_LEN: usize = 32_768;

/// A value of this length or more is suspicious if it is all base64. In bytes.
const MIN_BASE64: usize = 80;

/// The reason not to inherit a variable, if there is one. `name` is in capitals.
pub(super) fn reason(name: &[u8], value: &[u8], inherit: Inherit) -> Option<Reason<'static>> {
    if inherit == Inherit::Host {
        return None;
    }
    if SECRETS.contains(&name) || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Some(chosen("exec.environment: the name of a secret", "it has the name of a secret"));
    }
    if inherit == Inherit::Strict && !STRICT.contains(&name) && !name.starts_with(b"LC_") {
        let text = "exec.environment is strict: only LANG, LC_*, PATH, HOME, USER, TERM, TZ and NODE_ENV are inherited";
        return Some(chosen("exec.environment \"strict\"", text));
    }
    value.contains(&0).then(|| chosen("exec.environment: a NUL byte", "its value contains a NUL byte"))
}

/// OpenClaw's warning about a suspicious value. The variable is still passed on.
pub(super) fn suspicion(value: &[u8]) -> Option<&'static str> {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    if value.len() > MAX_LEN {
        Some("Value exceeds maximum length")
    } else if value.len() >= MIN_BASE64 && value.iter().all(is_base64) {
        Some("Value looks like base64-encoded credential data")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that OpenClaw 2026.4.12 and 2026.9.6 list.
    #[test]
    fn secrets_that_openclaw_names_are_secrets() {
        let vendors = [
            "ANTHROPIC",
            "OPENAI",
            "GEMINI",
            "OPENROUTER",
            "MINIMAX",
            "ELEVENLABS",
            "SYNTHETIC",
            "AZURE",
            "AZURE_OPENAI",
            "COHERE",
            "AI_GATEWAY",
        ];
        let mut names: Vec<String> = vendors.iter().map(|vendor| format!("{vendor}_API_KEY")).collect();
        let others = [
            "TELEGRAM_BOT_TOKEN",
            "DISCORD_BOT_TOKEN",
            "SLACK_BOT_TOKEN",
            "SLACK_APP_TOKEN",
            "LINE_CHANNEL_SECRET",
            "LINE_CHANNEL_ACCESS_TOKEN",
            "OPENCLAW_GATEWAY_TOKEN",
            "OPENCLAW_GATEWAY_PASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SECRET_KEY",
            "AWS_SESSION_TOKEN",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "STRIPE_ADMIN_KEY",
            "DB_PASSWORD",
            "SECRET",
            "MYTOKEN",
            "X_PRIVATE_KEY",
        ];
        names.extend(others.map(str::to_owned));
        for name in names {
            assert!(reason(name.as_bytes(), b"", Inherit::Sandbox).is_some(), "{name}");
            assert!(reason(name.as_bytes(), b"", Inherit::Strict).is_some(), "{name}");
            assert_eq!(reason(name.as_bytes(), b"", Inherit::Host), None, "{name}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in ["PATH", "KEY", "TOKENS", "ADMIN_KEY", "SECRET_FILE", "PASSWORD_STORE_DIR", ""] {
            assert_eq!(reason(name.as_bytes(), b"x", Inherit::Sandbox), None, "{name}");
        }
    }

    #[test]
    fn the_strict_environment_is_a_short_list() {
        for name in ["LANG", "LC_ALL", "LC_", "PATH", "HOME", "USER", "TERM", "TZ", "NODE_ENV"] {
            assert_eq!(reason(name.as_bytes(), b"", Inherit::Strict), None, "{name}");
        }
        for name in ["LANGUAGE", "XDG_RUNTIME_DIR", "LC", "", "PWD"] {
            assert!(reason(name.as_bytes(), b"", Inherit::Strict).is_some(), "{name}");
        }
    }

    #[test]
    fn suspicious_values_are_recognised() {
        assert!(reason(b"X", b"a\0b", Inherit::Sandbox).is_some());
        assert_eq!(suspicion(&[b' '; MAX_LEN]), None);
        assert_eq!(suspicion(&[b' '; MAX_LEN + 1]), Some("Value exceeds maximum length"));
        assert_eq!(suspicion(&[b'A'; MIN_BASE64 - 1]), None);
        assert_eq!(suspicion(&[b'='; MIN_BASE64]), Some("Value looks like base64-encoded credential data"));
        assert_eq!(suspicion(&[b'-'; MIN_BASE64]), None);
    }
}
