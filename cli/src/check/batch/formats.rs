//! Questions about OpenClaw's formats: `display`, `allowlist`, `arg-pattern`, `cwd-argv`, `safe-bin`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::approval::display_text;
use guard_policy::safe_bins::{self, Profile};
use guard_policy::{Exec, Role, cwd_argv_pattern, matches_allowlist_pattern, matches_arg_pattern};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, Visitor};
use serde_json::json;

/// `display`: a command's text as an approval shows it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisplayQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    #[serde(deserialize_with = "wtf8")]
    text: Vec<u8>,
}

/// Reads a JSON string as bytes. Lone surrogates, which JSON permits, are encoded as UTF-8 would encode them (WTF-8).
fn wtf8<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = Vec<u8>;
        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("a string")
        }
        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }
    }
    deserializer.deserialize_bytes(Bytes)
}

impl DisplayQuestion {
    pub fn answer(&self) -> String {
        json!({ "text": display_text(&self.text) }).to_string()
    }
}

/// `allowlist`: whether an allowlist pattern matches a path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowlistQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    pattern: String,
    target: String,
}

impl AllowlistQuestion {
    pub fn answer(&self, home: &Path) -> String {
        let home = home.as_os_str().as_bytes();
        json!({ "match": matches_allowlist_pattern(&self.pattern, home, self.target.as_bytes()) }).to_string()
    }
}

/// `arg-pattern`: whether an `argPattern` matches a command with one argument.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgPatternQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    pattern: String,
    argument: String,
}

impl ArgPatternQuestion {
    pub fn answer(&self) -> String {
        let argv = [Vec::new(), self.argument.clone().into_bytes()];
        let exec = Exec { path: b"/", argv: &argv, cwd: b"/", role: Role::Program };
        let answer = match matches_arg_pattern(&self.pattern, &exec) {
            Ok(is_match) => json!({ "match": is_match }),
            Err(reason) => json!({ "match": false, "reason": reason }),
        };
        answer.to_string()
    }
}

/// `cwd-argv`: the `argPattern` that "allow always" writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CwdArgvQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    /// Includes the program's name, which is ignored.
    argv: Vec<String>,
    cwd: String,
}

impl CwdArgvQuestion {
    pub fn answer(&self) -> String {
        let arguments: Vec<_> = self.argv.iter().skip(1).map(|word| word.clone().into_bytes()).collect();
        json!({ "argPattern": cwd_argv_pattern(self.cwd.as_bytes(), &arguments) }).to_string()
    }
}

/// `safe-bin`: whether the guard's profile for a program limits these arguments to standard input; null if there is no
/// profile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SafeBinQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    bin: String,
    args: Vec<String>,
}

impl SafeBinQuestion {
    pub fn answer(&self) -> String {
        let arguments: Vec<_> = self.args.iter().map(|word| word.clone().into_bytes()).collect();
        let is_safe = Profile::builtin(self.bin.as_bytes())
            .map(|profile| safe_bins::is_safe(self.bin.as_bytes(), &profile, &arguments));
        json!({ "safe": is_safe }).to_string()
    }
}
