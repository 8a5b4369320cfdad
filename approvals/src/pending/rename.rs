//! Renames and links of files that pending questions or very recent answers are about.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::approval::{FileRule, Saving};
use tokio::time::Instant;

use super::super::decision::Resolution;
use super::super::event::QuestionChange;
use super::super::question::{Question, Subject};
use super::{Pending, PendingApprovals};

fn is_at_or_below(path: &[u8], directory: &[u8]) -> bool {
    Path::new(OsStr::from_bytes(path)).starts_with(OsStr::from_bytes(directory))
}

impl Pending {
    fn is_about_file_below(&self, path: &[u8]) -> bool {
        matches!(&self.request.question.subject, Subject::File { path: file, .. } if is_at_or_below(file, path))
    }
}

/// A rule that an "always" has saved and that may not be in force yet.
#[derive(Debug)]
pub(super) struct FreshRule {
    rule: FileRule,
    /// The file that was asked about.
    asked: Vec<u8>,
    pub(super) until: Instant,
}

impl FreshRule {
    /// Returns `None` if the answer saves no rule for files. Also returns `None` if the call itself gives a file a
    /// name: such a call is repeated after the answer, and its own rule must not stop it.
    pub(super) fn new(saving: &Saving, question: &Question, until: Instant) -> Option<FreshRule> {
        let (Saving::Rule(rule), Subject::File { path, call, .. }) = (saving, &question.subject) else {
            return None;
        };
        let gives_name = matches!(*call, "rename" | "link");
        (!gives_name).then(|| FreshRule { rule: rule.clone(), asked: path.clone(), until })
    }

    /// Whether the rule would newly cover what gets the path `new`, or something below it.
    fn gains(&self, old: &[u8], new: &[u8]) -> bool {
        !self.rule.covers(old) && (self.rule.covers(new) || is_at_or_below(&self.asked, new))
    }
}

impl PendingApprovals {
    /// Call this before other files get these paths. From then on, questions about files at or below the paths take no
    /// answer. Returns whether there is such a question. If so, [`PendingApprovals::moved`] must follow, even if the
    /// move fails.
    pub fn moving(&mut self, paths: &[&[u8]]) -> bool {
        let mut is_asked = false;
        for pending in self.pending.values_mut() {
            if paths.iter().any(|path| pending.is_about_file_below(path)) {
                pending.is_moved = true;
                is_asked = true;
            }
        }
        is_asked
    }

    /// Withdraws the questions whose files have been moved: their calls ask again, about what is there now.
    pub fn moved(&mut self, now: Instant) {
        let moved = self.pending.iter().filter(|(_, pending)| pending.is_moved).map(|(id, _)| *id);
        for id in moved.collect::<Vec<_>>() {
            self.end(id, Resolution::Withdrawn, QuestionChange::Withdrawn, now);
        }
    }

    /// Whether a file or directory may get the path `new`. It may not if an "always" of a moment ago would then cover it,
    /// because that answer was for what was there at the time.
    pub fn is_clear_of_fresh_rules(&mut self, old: &[u8], new: &[u8], now: Instant) -> bool {
        self.pass(now);
        !self.fresh_rules.iter().any(|rule| rule.gains(old, new))
    }
}
