//! Questions about files that would run outside the guard (`permissions.persistence`).
//!
//! The guard asks a human about exactly the change that the question shows. Where the content is not known when the
//! call is made, the question says so. Calls whose effect could not be shown at all are denied.

use guard_approvals::{Digest, FileChange};
use guard_policy::replacement::{FileContent, replacement_lines};
use guard_policy::{Access, Outcome, Verdict, decide};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::audit::Operation;
use crate::caller::Caller;
use crate::judge::anchored_path::AnchoredPath;
use crate::judge::consent::{ConsentState, about_file};
use crate::judge::guard::Guard;
use crate::judge::shapes::Subject;
use crate::resolve::Object;
use crate::syscall::number::name;

/// What the question shows of a call on a protected file; `None` if the guard does not ask about the call.
pub fn shown_change(caller: &Caller<'_>, object: Option<&Object>) -> Option<FileChange> {
    let is_regular = |object: &Object| object.kind() == FileType::RegularFile;
    let line = match (name(caller.call().number), object) {
        ("open", None) => "it is made and opened to be written: any content may follow".to_owned(),
        ("open" | "truncate", Some(object)) if is_regular(object) => {
            "it is opened to be written, or cut: any content may follow".to_owned()
        }
        ("unlink", Some(object)) if is_regular(object) => "it is removed".to_owned(),
        ("chmod", Some(object)) if is_regular(object) => {
            format!("its mode changes, which is {:03o} now", object.stat.st_mode & 0o7777)
        }
        _ => return None,
    };
    Some(FileChange { lines: vec![line], content: None })
}

/// What the question shows of a file that would replace another; `old` is the file that is there.
pub fn shown_replacement(old: Option<FileContent<'_>>, new: FileContent<'_>) -> FileChange {
    let sides: Vec<_> =
        old.into_iter().chain([new]).map(|side| (side.mode.to_le_bytes(), side.bytes)).collect();
    let content = Digest::of_parts(sides.iter().flat_map(|(mode, bytes)| [&mode[..], bytes]));
    FileChange { lines: replacement_lines(old, new), content: Some(content) }
}

impl Guard {
    /// Returns the verdict on a replacement of what is at a place, if a human is to be asked because the new file would
    /// run outside the guard.
    pub fn asks_about_replacement(&self, place: AnchoredPath<'_>) -> Option<Verdict<'_>> {
        let subject = if place.object.is_some() { Subject::There } else { Subject::New };
        let verdict = decide(self.policy(), &self.shapes().request(place, Access::WRITE, subject));
        (verdict.outcome == Outcome::Ask && verdict.reason.is_persistence() && !self.session.observe)
            .then_some(verdict)
    }

    /// Judges a change by its content, about which the guard asks a human. An approved change is logged, however few
    /// allowed calls are logged.
    ///
    /// # Errors
    /// EACCES if it is refused, or if the human is to be asked first.
    pub fn judge_shown_change(
        &self,
        caller: &Caller<'_>,
        path: &[u8],
        change: FileChange,
        verdict: Verdict<'_>,
    ) -> Result<(), Errno> {
        if self.session.observe {
            self.note_question(caller, Operation::Write, path, &[], &verdict.reason);
            return Ok(());
        }
        let question =
            || about_file(&self.background(), caller, (path, Access::WRITE, Some(change)), &verdict.reason);
        let consent = self.consent(caller, question);
        if consent == ConsentState::Unasked {
            return Err(Errno::ACCESS);
        }
        // Without an answer, the guard denies the change: silence must not put anything in place.
        let verdict = consent.verdict(verdict, |asks| Verdict { outcome: Outcome::Deny, ..asks });
        match verdict.outcome {
            Outcome::Allow => self.log_change(caller, path, &verdict),
            _ => self.settle(caller, Operation::Write, path, &[], &verdict),
        }
    }
}
