//! An entry of an allowlist as written.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// An entry of `agents.NAME.allowlist`, as OpenClaw writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct AllowlistEntry {
    /// The real path of a program; `*` is any text without a slash, `**` any text, `?` one character. Without a slash: a
    /// file's name.
    pub(crate) pattern: String,
    /// A regular expression for the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arg_pattern: Option<String>,
    /// Command lines that this entry must allow. `openclaw-guard policy test` checks them.
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub(crate) matching: Vec<String>,
    /// Command lines that this entry must not allow.
    #[serde(rename = "not_match", skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_matching: Vec<String>,
    // `id`, `source`, `lastUsedAt` and the like: bookkeeping.
    #[serde(flatten)]
    #[schemars(with = "Bookkeeping")]
    pub(crate) other: Map<String, Value>,
}

impl AllowlistEntry {
    /// Whether an "allow always" made it.
    pub(crate) fn is_generated(&self) -> bool {
        self.other.get("source").and_then(Value::as_str) == Some("allow-always")
    }
}

/// What OpenClaw notes of an allowlist entry. The guard keeps it and does not look at it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used: the document keeps these as they are")]
pub(crate) struct Bookkeeping {
    /// OpenClaw's id of the entry.
    #[schemars(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    /// Who added it.
    #[schemars(skip_serializing_if = "Option::is_none")]
    source: Option<Value>,
    /// The command for which it was added.
    #[schemars(skip_serializing_if = "Option::is_none")]
    command_text: Option<Value>,
    /// When it was used last.
    #[schemars(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Value>,
    /// The command that used it last.
    #[schemars(skip_serializing_if = "Option::is_none")]
    last_used_command: Option<Value>,
    /// The program's path at that time.
    #[schemars(skip_serializing_if = "Option::is_none")]
    last_resolved_path: Option<Value>,
}
