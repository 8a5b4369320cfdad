//! Finds secrets in the text of a command.
//!
//! A match is hidden from the person who approves the command, and must not hide what the command does. So a secret
//! consists only of characters of tokens: no spaces, and nothing with a meaning to a shell.

use std::ops::Range;

use super::marked_pattern::{MarkedPattern, find_all};

/// Words that name a secret.
const WORDS: &[&str] = &["key", "token", "secret", "password", "passwd"];

/// The words and prefixes are OpenClaw's, and some more.
pub(super) static PATTERNS: [MarkedPattern; 16] = [
    // Assignments of variables, in capitals.
    MarkedPattern::new(WORDS, r#"\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)=["']?(?<s>VALUE)"#),
    // Options.
    MarkedPattern::new(
        WORDS,
        r#"--(?:[a-z]+-)*(?:api[-_]?key|token|secret|password|passwd)(?:\s+|=)["']?(?<s>[A-Za-z0-9_.+/=~@%:,]VALUE)"#,
    ),
    // JSON.
    MarkedPattern::new(
        WORDS,
        r#"(?i)"[a-z_]*(?:api_?key|token|secret|password|passwd)"\s*:\s*"(?<s>VALUE)""#,
    ),
    // HTTP.
    MarkedPattern::new(
        &["authorization"],
        r"(?i)\bAuthorization\s*[:=]\s*(?:Bearer|Basic|token)\s+(?<s>VALUE)",
    ),
    MarkedPattern::new(&["key", "token"], r"(?i)\bX-[A-Za-z-]*(?:Key|Token)\s*:\s*(?<s>VALUE)"),
    MarkedPattern::new(&["bearer"], r"(?i)\bBearer\s+(?<s>[A-Za-z0-9._+/=-]{18,})"),
    MarkedPattern::new(
        WORDS,
        r"(?i)[?&](?:api_?key|key|access_token|token|secret|password)=(?<s>[A-Za-z0-9_.+/~%-]+)",
    ),
    MarkedPattern::new(&["://"], r"\b[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9_.~%-]*:(?<s>[A-Za-z0-9_.+~%-]+)@"),
    // A private key. Its lines may be joined by an escaped line break of a shell or JSON.
    MarkedPattern::new(
        &["private key"],
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?<s>(?:[A-Za-z0-9+/=\s:,-]|\\n)+?)-----END [A-Z ]*PRIVATE KEY-----",
    ),
    // Tokens with a known prefix.
    MarkedPattern::new(&["sk-", "sk_", "pplx", "xapp"], r"\b(?<s>(?:sk|pplx|gsk|xapp)[-_][A-Za-z0-9_-]{8,})"),
    MarkedPattern::new(
        &["gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "npm_", "hf_"],
        r"\b(?<s>(?:gh[opsur]|github_pat|npm|hf)_[A-Za-z0-9_]{20,})",
    ),
    MarkedPattern::new(&["xox"], r"\b(?<s>xox[abprs]-[A-Za-z0-9-]{10,})"),
    MarkedPattern::new(&["aiza"], r"\b(?<s>AIza[0-9A-Za-z_-]{20,})"),
    MarkedPattern::new(&["glpat-"], r"\b(?<s>glpat-[A-Za-z0-9_-]{16,})"),
    MarkedPattern::new(&["eyj"], r"\b(?<s>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"),
    // A Telegram bot token.
    MarkedPattern::new(&[":"], r"\b(?<s>[0-9]{6,}:[A-Za-z0-9_-]{20,})"),
];

/// Finds all secrets: byte ranges, sorted and without overlap.
pub(crate) fn find(text: &str) -> Vec<Range<usize>> {
    apart(find_all(&PATTERNS, text))
}

/// Sorts the ranges and merges those that overlap.
pub(crate) fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secrets of a text.
    fn values(text: &str) -> Vec<&str> {
        find(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn secrets_are_found_by_the_option_before_them() {
        assert_eq!(values("GITHUB_TOKEN=abc DB_PASSWORD='x y' run"), ["abc", "x"]);
        assert_eq!(values("curl --api-key k1 --client-secret=k2 --token \"k3\""), ["k1", "k2", "k3"]);
        assert_eq!(values(r#"{"accessToken": "abc", "user": "me"}"#), ["abc"]);
        assert_eq!(
            values("-H 'authorization: Basic dXNlcjpwYXNz' -H 'X-Api-Key: abc'"),
            ["dXNlcjpwYXNz", "abc"]
        );
        assert_eq!(values("git clone https://me:hunter2@host/x.git?token=abc&x=1"), ["hunter2", "abc"]);
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----";
        assert_eq!(values(key), ["\nMIIE\nabc=\n"]);
    }

    #[test]
    fn secrets_are_found_by_their_prefix() {
        let tokens = [
            "sk-abcdefgh",
            "ghp_abcdefghijklmnopqrst",
            "github_pat_abcdefghijklmnopqrst",
            "xoxb-1234567890",
            "AIzaabcdefghijklmnopqrst",
            "glpat-abcdefghijklmnop",
            "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
            "123456:abcdefghijklmnopqrst",
        ];
        for token in tokens {
            assert_eq!(values(&format!("echo {token};")), [token]);
            assert!(values(&format!("echo a{token}")).is_empty() || token.starts_with('1'), "{token}");
        }
    }

    #[test]
    fn redaction_leaves_the_command_visible() {
        for text in
            ["ls -la", "FOO=bar cmd", "task-management-tool", "rm --tokens", "git log --password --oneline"]
        {
            assert!(values(text).is_empty(), "{text}");
        }
        assert_eq!(values("TOKEN=$(rm -rf ~) TOKEN=a;rm TOKEN=`x` TOKEN=a&b TOKEN=a|b TOKEN=a>b"), ["a"; 4]);
    }
}
