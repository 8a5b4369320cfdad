//! The reason for a decision, in the form in which a line has it.

use guard_policy::{Reason, Source};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct RecordReason<'a> {
    source: Source,
    path: &'a str,
    text: &'a str,
    #[serde(rename = "quiet", skip_serializing_if = "std::ops::Not::not")]
    is_quiet: bool,
}

impl<'a> RecordReason<'a> {
    pub(super) fn from(reason: &'a Reason<'_>) -> RecordReason<'a> {
        RecordReason {
            source: reason.source,
            path: &reason.path,
            text: &reason.text,
            is_quiet: reason.is_quiet(),
        }
    }
}
