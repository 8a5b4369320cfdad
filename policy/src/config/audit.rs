//! What a policy says of the audit log.

use schemars::JsonSchema;
use serde::Serialize;

use super::document::Audit;

/// How long the log's file may become where `audit.maxBytes` is left out.
const MAX_BYTES: u64 = 64 << 20;
/// The least that it may be: room for a line or two.
pub(crate) const LEAST_BYTES: u64 = 4096;
/// How many older files are kept where `audit.keep` is left out.
const KEEP: usize = 8;

/// `audit.onError`: what becomes of a call whose line cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// It is denied.
    #[default]
    Deny,
    /// It goes on, and the operator is told.
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

/// `audit`, with what holds where something is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    /// `audit.path`, as written: `~` is not expanded.
    pub path: Option<String>,
    /// What becomes of a call whose line cannot be written.
    pub on_error: OnError,
    /// How long the file may become before it is put away, in bytes.
    pub max_bytes: u64,
    /// How many files that were put away are kept.
    pub keep: usize,
    /// Whether each line goes to systemd's journal, too.
    pub journald: bool,
}

impl Default for AuditSettings {
    fn default() -> AuditSettings {
        AuditSettings::of(&Audit::default())
    }
}

impl AuditSettings {
    pub(crate) fn of(audit: &Audit) -> AuditSettings {
        AuditSettings {
            path: audit.path.clone(),
            on_error: audit.on_error.unwrap_or_default(),
            max_bytes: audit.max_bytes.unwrap_or(MAX_BYTES),
            keep: audit.keep.unwrap_or(KEEP),
            journald: audit.journald.unwrap_or(false),
        }
    }
}
