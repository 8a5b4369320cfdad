//! Judges accesses to paths: to objects, to names, and to the files that belong to a name.

use guard_policy::learn::Used;
use guard_policy::{Access, Outcome, Reason, Request, Site, decide};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::audit::Operation;
use crate::caller::Caller;
use crate::judge::consent::{ConsentState, about_file};
use crate::judge::guard::Guard;
use crate::judge::shapes::Subject;
use crate::resolve::Object;
use crate::resolve::special_files::{Classification, classify, is_the_machines};

/// An access in the form in which it is recorded.
fn used(access: Access, is_made: bool) -> Used {
    let written = if is_made { Used::WRITTEN | Used::MADE } else { Used::WRITTEN };
    let all = [(Access::READ, Used::READ), (Access::WRITE, written), (Access::MAP, Used::MAPPED)];
    all.into_iter()
        .filter(|(bit, _)| access.contains(*bit))
        .fold(Used::default(), |all, (_, used)| all | used)
}

impl Guard {
    /// Judges an access to the object or entry at the real path `path`.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        object: Option<&Object>,
        access: Access,
    ) -> Result<(), Errno> {
        let subject = match object {
            Some(object) if object.kind() == FileType::Directory => Subject::Directory,
            Some(_) => Subject::There,
            None => Subject::New,
        };
        self.judge_subject(caller, operation, path, object, access, subject)
    }

    /// Judges whether a directory may be made at the real path `path`.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_mkdir(&self, caller: &Caller<'_>, path: &[u8]) -> Result<(), Errno> {
        self.judge_subject(caller, Operation::Write, path, None, Access::WRITE, Subject::Directory)
    }

    fn judge_subject(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        object: Option<&Object>,
        access: Access,
        subject: Subject,
    ) -> Result<(), Errno> {
        let writes = access.contains(Access::WRITE);
        let asked = match classify(caller, &self.tree, path, object, writes)? {
            Classification::Own => return Ok(()),
            Classification::Policy(path) => path,
            Classification::Refused(text) => return self.refuse(caller, operation, path, text),
            Classification::Hidden(text) => {
                return self.deny(caller, operation, path, &[], &Reason::unmentioned(text));
            }
        };
        // A connection is recorded later: whether it counts as a write depends on what listens at the socket.
        if operation != Operation::Connect {
            self.saw(&asked, used(access, object.is_none()));
        }
        let policy = self.policy();
        let request = self.shapes().request(&asked, access, subject);
        let verdict = decide(policy, &request);
        if verdict.outcome != Outcome::Ask {
            return self.settle(caller, operation, path, &[], &verdict);
        }
        let stand =
            self.consent(caller, || about_file(&self.background(), caller, &asked, access, &verdict.reason));
        if stand == ConsentState::Unasked {
            return Err(Errno::ACCESS);
        }
        let verdict = stand.verdict(verdict, |verdict| policy.fallback(&request, verdict));
        self.settle(caller, operation, path, &[], &verdict)
    }

    /// Judges a change of the object or entry at the real path `path` itself: its name, mode or owner.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_change(
        &self,
        caller: &Caller<'_>,
        path: &[u8],
        object: Option<&Object>,
    ) -> Result<(), Errno> {
        self.judge(caller, Operation::Write, path, object, Access::WRITE)?;
        match object {
            Some(object) if is_the_machines(path, object) => {
                self.refuse(caller, Operation::Write, path, "a device of the machine")
            }
            _ => Ok(()),
        }
    }

    /// Judges the removal of the entry at the real path `path`, or its move to another name.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_removal(
        &self,
        caller: &Caller<'_>,
        path: &[u8],
        object: Option<&Object>,
    ) -> Result<(), Errno> {
        if self.shapes().breaks_repository(path) {
            let request = Request::FileAt { path, access: Access::WRITE, site: Site::Repository };
            let verdict = decide(self.policy(), &request);
            if verdict.outcome != Outcome::Allow {
                return self.settle(caller, Operation::Write, path, &[], &verdict);
            }
        }
        self.judge_change(caller, path, object)
    }

    /// Judges whether a symbolic link may be created at the real path `path`. It may not be on the way to a protected
    /// place, which would then be somewhere else.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_link(&self, caller: &Caller<'_>, path: &[u8]) -> Result<(), Errno> {
        let policy = self.policy();
        let shape = || self.shapes().forbids_link(path).and_then(|shape| policy.shape_reason(&shape));
        match policy.keeps_below(path).or_else(shape) {
            Some(because) => self.deny(caller, Operation::Write, path, &[], &because),
            None => Ok(()),
        }
    }

    /// Whether the file at the real path `path` may get set-user-ID and set-group-ID bits that the caller asks for:
    /// never, unless only observing. Reports it.
    pub fn lets_set_id(&self, caller: &Caller<'_>, path: &[u8]) -> bool {
        let text = "gets no set-user-ID or set-group-ID bit: guarded programs give no rights to others";
        let refused = self.deny(caller, Operation::Write, path, &[], &Reason::unmentioned(text)).is_err();
        if refused {
            self.remark(path, text);
        }
        !refused
    }

    /// Refuses an object that no policy can open to the caller, such as the source of a link.
    ///
    /// # Errors
    /// EACCES.
    pub fn refuse_never_open(&self, caller: &Caller<'_>, path: &[u8], object: &Object) -> Result<(), Errno> {
        match classify(caller, &self.tree, path, Some(object), true)? {
            Classification::Refused(text) | Classification::Hidden(text) => {
                self.refuse(caller, Operation::Write, path, text)
            }
            Classification::Own | Classification::Policy(_) => Ok(()),
        }
    }
}
