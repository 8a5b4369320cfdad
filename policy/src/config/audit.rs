//! `audit`: the settings of the audit log.

use schemars::JsonSchema;
use serde::Serialize;

use super::schema_patterns::FILE;

/// The default of `audit.maxBytes`.
const MAX_BYTES: u64 = 64 << 20;
/// The lower limit of `audit.maxBytes`: room for a line or two.
pub(crate) const MIN_BYTES: u64 = 4096;
/// The default of `audit.keep`.
const KEEP: usize = 8;

/// `audit.onError`: what happens to a call whose line cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// It is denied.
    #[default]
    Deny,
    /// It continues, and the guard warns the operator.
    Continue,
}

impl OnError {
    /// Every value, as written.
    pub(crate) const NAMES: [&'static str; 2] = ["deny", "continue"];

    pub(crate) fn from_name(name: &str) -> Option<OnError> {
        [OnError::Deny, OnError::Continue].into_iter().find(|value| value.as_str() == name)
    }

    /// The value's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// `audit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct Audit {
    /// The log's path. Default: guard/audit.jsonl in the state directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = FILE))]
    pub(crate) path: Option<String>,
    /// What happens to a call whose line cannot be written. Default: deny.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_error: Option<OnError>,
    /// The size at which the log is rotated, in bytes. Default: 67108864.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 4096))]
    pub(crate) max_bytes: Option<u64>,
    /// How many rotated logs are kept. Default: 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) keep: Option<usize>,
    /// Whether each line is also written to systemd's journal. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) journald: Option<bool>,
}

/// `audit` with the defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// `audit.path`, as written: `~` is not expanded.
    pub path: Option<String>,
    /// What becomes of a call whose line cannot be written.
    pub on_error: OnError,
    /// The size at which the file is rotated, in bytes.
    pub max_bytes: u64,
    /// The number of rotated files to keep.
    pub keep: usize,
    /// Whether each line is also sent to systemd's journal.
    pub journald: bool,
}

impl Default for AuditSettings {
    fn default() -> AuditSettings {
        AuditSettings::from_document(&Audit::default())
    }
}

impl AuditSettings {
    pub(crate) fn from_document(audit: &Audit) -> AuditSettings {
        AuditSettings {
            path: audit.path.clone(),
            on_error: audit.on_error.unwrap_or_default(),
            max_bytes: audit.max_bytes.unwrap_or(MAX_BYTES),
            keep: audit.keep.unwrap_or(KEEP),
            journald: audit.journald.unwrap_or(false),
        }
    }
}
