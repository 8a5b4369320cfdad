//! Judges accesses to paths: to objects, to names, and to the files that belong to a name.

use std::os::fd::AsFd;

use guard_approvals::{AskedFile, Question};
use guard_policy::learn::Used;
use guard_policy::{Access, Outcome, Reason, Request, Site, Verdict, decide};
use rustix::fs::{Access as Mode, AtFlags, CWD, FileType};
use rustix::io::Errno;

use crate::audit::Operation;
use crate::caller::Caller;
use crate::judge::anchored_path::AnchoredPath;
use crate::judge::consent::{AllPaths, ConsentState, about_file, directories_above, which_file};
use crate::judge::guard::Guard;
use crate::judge::persistence::shown_change;
use crate::judge::shapes::Subject;
use crate::kernel::requests;
use crate::resolve::special_files::{Classification, classify, is_the_machines};
use crate::resolve::{Identity, Object};

/// Why no link may stand where a protected name leads.
const LED_TO: &str =
    "a protected name is a symbolic link that leads through this path; a link here would redirect it";

/// An access in the form in which it is recorded.
fn used(access: Access, is_made: bool) -> Used {
    let written = if is_made { Used::WRITTEN | Used::MADE } else { Used::WRITTEN };
    let all = [(Access::READ, Used::READ), (Access::WRITE, written), (Access::MAP, Used::MAPPED)];
    all.into_iter()
        .filter(|(bit, _)| access.contains(*bit))
        .fold(Used::default(), |all, (_, used)| all | used)
}

impl Guard {
    /// Judges an access to the object or entry at a place.
    ///
    /// # Errors
    /// EACCES if it is refused. EFBIG if the guard would have to ask about a file that is too large to be read.
    pub fn judge(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        place: AnchoredPath<'_>,
        access: Access,
    ) -> Result<(), Errno> {
        let subject = match place.object {
            Some(object) if object.kind() == FileType::Directory => Subject::Directory,
            Some(object) if self.is_own_git_lock(object) => Subject::OwnGitLock,
            Some(_) => Subject::There,
            None => Subject::New,
        };
        self.judge_subject(caller, operation, place, access, subject)
    }

    /// Refuses an open to write, or the creation of a name, that the kernel refuses, too. If the policy does not allow
    /// it either, the guard neither asks nor prints a line: programs try to write caches next to the system's own files
    /// all the time.
    ///
    /// # Errors
    /// The kernel's: EACCES, EROFS.
    pub fn refuse_as_kernel(
        &self,
        caller: &Caller<'_>,
        place: AnchoredPath<'_>,
        access: Access,
    ) -> Result<(), Errno> {
        let AnchoredPath { path, object, .. } = place;
        if !access.contains(Access::WRITE) || self.session.observe || self.allows_at(place, Access::WRITE) {
            return Ok(());
        }
        let found = match object {
            Some(object) if object.kind() == FileType::RegularFile => {
                requests::may(object.fd.as_fd(), Mode::WRITE_OK)
            }
            Some(_) => Ok(()),
            None => {
                let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0).max(1);
                rustix::fs::accessat(CWD, path.get(..end).unwrap_or(b"/"), Mode::WRITE_OK, AtFlags::EACCESS)
            }
        };
        match found {
            Err(error @ (Errno::ACCESS | Errno::ROFS)) => {
                let reason = Reason::unmentioned("neither the kernel nor the policy allows it");
                let _ = self.deny(caller, Operation::Write, path, &[], &reason);
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Whether only the policy's rule for a path decides about the object there, which is to be written.
    ///
    /// # Errors
    /// ESRCH when the caller is gone.
    pub fn is_ordinary(&self, caller: &Caller<'_>, path: &[u8], object: &Object) -> Result<bool, Errno> {
        let classification = classify(caller, &self.tree, path, Some(object), true)?;
        Ok(matches!(classification, Classification::Policy(asked) if *asked == *path))
    }

    /// Judges whether a directory may be made at a place.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_mkdir(&self, caller: &Caller<'_>, place: AnchoredPath<'_>) -> Result<(), Errno> {
        self.refuse_as_kernel(caller, place, Access::WRITE)?;
        self.judge_subject(caller, Operation::Write, place, Access::WRITE, Subject::NewDirectory)
    }

    /// Whether a file is the lock of a git configuration that the tree has made.
    pub fn is_own_git_lock(&self, object: &Object) -> bool {
        self.created.git_locks.contains(Identity::from_stat(&object.stat))
    }

    /// Judges whether the tree might write a git configuration, or its lock, at a place, if persistence did not protect
    /// the file. The guard judges the content separately.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_git_locked(&self, caller: &Caller<'_>, place: AnchoredPath<'_>) -> Result<(), Errno> {
        self.judge_subject(caller, Operation::Write, place, Access::WRITE, Subject::GitLocked)
    }

    /// Judges a change of the entry at a place as if the entry were not the tree's own lock.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_protected(&self, caller: &Caller<'_>, place: AnchoredPath<'_>) -> Result<(), Errno> {
        self.judge_subject(caller, Operation::Write, place, Access::WRITE, Subject::There)
    }

    fn judge_subject(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        place: AnchoredPath<'_>,
        access: Access,
        subject: Subject,
    ) -> Result<(), Errno> {
        let AnchoredPath { path, object, .. } = place;
        let writes = access.contains(Access::WRITE);
        let asked = match classify(caller, &self.tree, path, object, writes)? {
            Classification::Own => return Ok(()),
            Classification::Policy(path) => path,
            Classification::Refused(text) => return self.refuse(caller, operation, path, text),
            Classification::Hidden(text) => {
                return self.deny(caller, operation, path, &[], &Reason::unmentioned(text));
            }
        };
        if let Some(object) = object {
            self.refuse_withheld(caller, operation, path, object, access)?;
        }
        // A connection is recorded later: whether it counts as a write depends on what listens at the socket.
        if operation != Operation::Connect {
            self.saw(&asked, used(access, object.is_none()));
        }
        let policy = self.policy();
        let request = self.shapes().request(place.at(&asked), access, subject);
        let verdict = decide(policy, &request);
        if verdict.outcome != Outcome::Ask {
            return self.settle(caller, operation, path, &[], &verdict);
        }
        // If no answer would open a file, the guard asks nobody about it. An open that empties a file also writes, so
        // the size does not count for it.
        if let Some(file) = object.filter(|file| file.kind() == FileType::RegularFile)
            && access == Access::READ
        {
            self.judge_size(caller, path, file)?;
        }
        let is_persistence = verdict.reason.is_persistence();
        let change = if is_persistence { shown_change(caller, object) } else { None };
        if is_persistence && change.is_none() {
            return self.settle(caller, operation, path, &[], &verdict);
        }
        if self.session.observe {
            self.note_question(caller, operation, path, &[], &verdict.reason);
            return Ok(());
        }
        let stand = self.consent(caller, || {
            let question = about_file(&self.background(), caller, (&asked, access, change), &verdict.reason);
            Question { which: which_file(place), ..question }
        });
        if stand == ConsentState::Unasked {
            return Err(Errno::ACCESS);
        }
        let verdict = stand.verdict(verdict, |verdict| policy.fallback(&request, verdict));
        if verdict.outcome == Outcome::Allow && writes {
            self.record_answered_write(caller, operation, &asked)?;
        }
        self.settle(caller, operation, path, &[], &verdict)
    }

    /// Refuses an access to a removed file for which the descriptor that leads to it was not opened.
    ///
    /// # Errors
    /// EACCES, unless only observing.
    pub fn refuse_withheld(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        object: &Object,
        access: Access,
    ) -> Result<(), Errno> {
        if !object.is_withheld(access) {
            return Ok(());
        }
        let text = "the file was removed, and the descriptor that leads to it was not opened for this";
        self.refuse(caller, operation, path, text)
    }

    /// Records that an answer lets the tree write at the real path `path`.
    ///
    /// # Errors
    /// EACCES if it cannot be recorded, and the policy names the workspace.
    fn record_answered_write(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
    ) -> Result<(), Errno> {
        match self.session.answered_writes.record(path) {
            Err(error) if self.policy().workspace().is_some() => {
                self.refuse(caller, operation, path, format!("the answer cannot be recorded: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Judges the size of a regular file that is about to be read, at the real path `path`.
    ///
    /// # Errors
    /// EFBIG if it is too large.
    pub fn judge_size(&self, caller: &Caller<'_>, path: &[u8], object: &Object) -> Result<(), Errno> {
        if self.policy().max_read_bytes().is_none() {
            return Ok(());
        }
        // No file has a negative size. If a file system reports one, the file counts as the largest.
        let size = u64::try_from(object.stat.st_size).unwrap_or(u64::MAX);
        let verdict = decide(self.policy(), &Request::Sized { path, size });
        match verdict.outcome {
            // The access itself was logged when it was judged.
            Outcome::Allow => Ok(()),
            _ => self.settle(caller, Operation::Read, path, &[], &verdict).map_err(|_| Errno::FBIG),
        }
    }

    /// Judges a change of the object or entry at a place itself: its name, mode or owner.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_change(&self, caller: &Caller<'_>, place: AnchoredPath<'_>) -> Result<(), Errno> {
        let all = AllPaths::new(caller);
        all.add(self.judge(caller, Operation::Write, place, Access::WRITE))?;
        if place.object.is_some_and(|object| is_the_machines(place.path, object)) {
            self.refuse(caller, Operation::Write, place.path, "a device of the machine")?;
        }
        all.end()
    }

    /// Judges the removal of the entry at a place, or its move to another name.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_removal(&self, caller: &Caller<'_>, place: AnchoredPath<'_>) -> Result<(), Errno> {
        if self.shapes().breaks_repository(place)
            && let Some(refusal) = self.repository_refusal(place.path)
        {
            return self.settle(caller, Operation::Write, place.path, &[], &refusal);
        }
        self.judge_displacement(caller, place)?;
        self.judge_change(caller, place)
    }

    /// Judges whether a directory may get a mode, or an access control list, by which its owner may not search or list it.
    /// No directory of a git repository of the operator's may, nor its work tree, nor a directory on the way to where a
    /// protected name leads, or to something that is protected or denied: nothing would show where a link in it leads.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_hiding(&self, caller: &Caller<'_>, place: AnchoredPath<'_>) -> Result<(), Errno> {
        let Some(object) = place.object.filter(|object| object.kind() == FileType::Directory) else {
            return Ok(());
        };
        let shapes = self.shapes();
        let is_hidden = shapes.is_of_repository(place, object)
            || shapes.is_work_tree(object)
            || shapes.is_led_to(place.path);
        if is_hidden && let Some(refusal) = self.repository_refusal(place.path) {
            return self.settle(caller, Operation::Write, place.path, &[], &refusal);
        }
        self.judge_hidden_way(caller, place.path)
    }

    /// Judges whether a directory at a path may keep its owner out: not on the way to something that is protected or denied.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_hidden_way(&self, caller: &Caller<'_>, path: &[u8]) -> Result<(), Errno> {
        match self.policy().keeps_below(path) {
            Some(because) => self.deny(caller, Operation::Write, path, &[], &because),
            None => Ok(()),
        }
    }

    /// Returns the verdict on a change of a git repository of the operator's at a path; `None` if the change is allowed.
    fn repository_refusal(&self, path: &[u8]) -> Option<Verdict<'_>> {
        let request = Request::FileAt { path, access: Access::WRITE, site: Site::Repository };
        Some(decide(self.policy(), &request)).filter(|verdict| verdict.outcome != Outcome::Allow)
    }

    /// Judges whether the entry at a place may lose its name to another.
    ///
    /// # Errors
    /// EACCES for a socket that a process outside the tree serves.
    pub fn judge_displacement(&self, caller: &Caller<'_>, place: AnchoredPath<'_>) -> Result<(), Errno> {
        let AnchoredPath { path, object, .. } = place;
        let is_served = |socket: &&Object| {
            socket.kind() == FileType::Socket
                && !self.created.sockets.may_displace(self.policy(), socket, path)
        };
        match object.filter(is_served) {
            Some(_) => {
                let text =
                    "an unguarded process serves this socket: its clients would come to the tree instead";
                self.refuse(caller, Operation::Write, path, text)
            }
            None => Ok(()),
        }
    }

    /// Whether a file may get to the place `new` without gaining rights there by an answer of the operator's.
    pub fn moves_within_answers(&self, old: AnchoredPath<'_>, new: AnchoredPath<'_>) -> bool {
        let Some(approvals) = &self.approvals() else { return true };
        if !approvals.manager().is_clear_of_fresh_rules(old.path, new.path) {
            return false;
        }
        [Access::READ, Access::WRITE].into_iter().all(|bit| {
            let verdict = |place, subject| {
                let verdict = decide(self.policy(), &self.shapes().request(place, bit, subject));
                (verdict.outcome, verdict.reason.asking())
            };
            let (Outcome::Ask, rule) = verdict(new, Subject::New) else { return true };
            let (before, rule_before) = verdict(old, Subject::There);
            if before == Outcome::Allow {
                return true;
            }
            let [inside_before, inside] =
                [old, new].map(|place| directories_above(&self.created.directories, place.path));
            let before = (before == Outcome::Ask).then_some(AskedFile {
                path: old.path,
                inside: &inside_before,
                rule: &rule_before,
            });
            approvals.manager().lets_move(
                bit,
                before,
                AskedFile { path: new.path, inside: &inside, rule: &rule },
            )
        })
    }

    /// Moves an object, or gives it another name. Meanwhile nobody can answer a question about a file at one of these
    /// paths or below, because another object may get the path: the guard asks such a question again.
    pub fn move_asked<T>(&self, paths: &[&[u8]], perform: impl FnOnce() -> T) -> T {
        let manager = self.approvals().map(|approvals| approvals.manager());
        let is_asked = manager.is_some_and(|manager| manager.moving(paths));
        let outcome = perform();
        if let Some(manager) = manager.filter(|_| is_asked) {
            manager.moved();
        }
        outcome
    }

    /// Drops the operator's answers for files that this policy does not ask about by the same rule.
    pub fn keep_answers(&self) {
        let asks = |path: &[u8], access| {
            let request = self.shapes().request(AnchoredPath::path(path), access, Subject::There);
            let verdict = decide(self.policy(), &request);
            (verdict.outcome == Outcome::Ask).then(|| verdict.reason.asking())
        };
        if let Some(approvals) = self.approvals() {
            approvals.manager().keep_file_grants(asks);
        }
    }

    /// Judges whether a symbolic link may be created at a place, or moved there without a known `text`. It may not be
    /// on the way to a protected place, which would then be somewhere else.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_link(
        &self,
        caller: &Caller<'_>,
        place: AnchoredPath<'_>,
        text: Option<&[u8]>,
    ) -> Result<(), Errno> {
        let (policy, path) = (self.policy(), place.path);
        let shape = || self.shapes().forbids_link(place, text).and_then(|shape| policy.shape_reason(&shape));
        if self.shapes().is_led_to(path) {
            self.refuse(caller, Operation::Write, path, LED_TO)?;
        }
        match policy.keeps_below(path).or_else(shape) {
            Some(because) => self.deny(caller, Operation::Write, path, &[], &because),
            None => Ok(()),
        }
    }

    /// Whether the file at the real path `path` may get set-user-ID and set-group-ID bits that the caller asks for:
    /// never, unless only observing. Reports the refusal.
    pub fn lets_set_id(&self, caller: &Caller<'_>, path: &[u8]) -> bool {
        let text = "gets no set-user-ID or set-group-ID bit: guarded programs give no rights to others";
        let refused = self.deny(caller, Operation::Write, path, &[], &Reason::unmentioned(text)).is_err();
        if refused {
            self.remark(path, text);
        }
        !refused
    }

    /// Refuses an object that no policy could allow the caller to use, such as the source of a link.
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
