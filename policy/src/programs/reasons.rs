//! The reasons of the exec side that do not come from an entry.

use super::modes::{Given, Modes};
use crate::verdict::CompiledReason;
use crate::{Security, Source};

/// The reasons, built once so that a decision allocates nothing.
#[derive(Clone, Debug)]
pub(crate) struct ExecReasons {
    pub(crate) denied: CompiledReason,
    pub(crate) full: CompiledReason,
    pub(crate) miss: CompiledReason,
    /// The setting of `security`, as reasons print it.
    pub(crate) security: String,
    pub(crate) carrier: CompiledReason,
    pub(crate) always: CompiledReason,
    pub(crate) loader: CompiledReason,
    pub(crate) fallback: CompiledReason,
}

impl ExecReasons {
    pub(crate) fn new(modes: &Modes, carriers: Source) -> ExecReasons {
        let Modes { security, ask, fallback, broken } = modes;
        let word = |from: &Given<Security>| written(&from.path, "security", from.value.as_str());
        let by_security = |rule: String, text: &str| CompiledReason {
            source: security.source,
            path: security.path.clone(),
            rule,
            text: text.to_owned(),
        };
        ExecReasons {
            denied: broken.clone().unwrap_or_else(|| {
                by_security(word(security), "exec.security is deny: no program may start")
            }),
            full: by_security(
                word(security),
                "exec.security is full: every program may start for which a rule grants x",
            ),
            security: word(security),
            miss: by_security(
                format!("{}: not in the allowlist", word(security)),
                "the program is not in the allowlist",
            ),
            carrier: CompiledReason {
                source: carriers,
                path: "exec.carriers".to_owned(),
                rule: "exec.carriers".to_owned(),
                text: "a carrier may start: what it starts and opens is judged on its own".to_owned(),
            },
            always: CompiledReason {
                source: ask.source,
                path: ask.path.clone(),
                rule: written(&ask.path, "ask", ask.value.as_str()),
                text: "exec.ask is always: every program is asked about".to_owned(),
            },
            loader: CompiledReason {
                source: Source::Builtin,
                path: "builtin".to_owned(),
                rule: "builtin: loader of an allowed program".to_owned(),
                text: "a program's loader needs x, but no allowlist entry".to_owned(),
            },
            fallback: CompiledReason {
                source: fallback.source,
                path: fallback.path.clone(),
                rule: word(fallback),
                text: format!("nobody could be asked, and exec.askFallback is {}", fallback.value.as_str()),
            },
        }
    }
}

/// Formats a value with its path. The words of `exec.mode` differ from the values they set, so both are
/// given.
fn written(path: &str, key: &str, value: &str) -> String {
    if path.ends_with("exec.mode") {
        format!("{path} ({key} {value})")
    } else {
        format!("{path} \"{value}\"")
    }
}
