//! A call would put a file in place of one that runs outside the guard. A human is asked about the content, and exactly
//! what was shown is put in place. Nobody is asked if the content shows that nothing new runs.

use guard_approvals::FileChange;
use guard_policy::git_config::{MAX_BYTES, shown_changes};
use guard_policy::replacement::FileContent;
use guard_policy::{Outcome, OwnGitParts, REPLACEMENT, Request as Question, Verdict, decide};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::Request;
use super::own_copy::{Displaced, OwnCopy, ReadFile, read, refuse_changed, remove_judged};
use crate::audit::Operation;
use crate::judge::anchored_path::AnchoredPath;
use crate::judge::consent::AllPaths;
use crate::judge::persistence::shown_replacement;
use crate::reply::HandlerResult;
use crate::resolve::{DirEntry, Identity, Object};

const UNREADABLE: &str = "the file would be git's configuration, and no question shows which keys change";

/// A rename of one file to the name of another, or to a free name, where a human is asked.
pub struct Replacement<'e, 'p> {
    from: &'e DirEntry,
    to: &'e DirEntry,
    verdict: Verdict<'p>,
}

/// Returns what is to be asked about a rename, if a regular file would get a name at which it runs outside the guard.
pub fn replacement<'e, 'p>(
    request: &Request<'p, '_>,
    from: &'e DirEntry,
    to: &'e DirEntry,
) -> Option<Replacement<'e, 'p>> {
    let is_regular = |object: &Object| object.kind() == FileType::RegularFile;
    let source = from.object.as_ref().filter(|object| is_regular(object))?;
    let is_other = |object: &Object| Identity::from_stat(&object.stat) != Identity::from_stat(&source.stat);
    let target = to.object.as_ref();
    let is_plain =
        !from.slash && !to.slash && target.is_none_or(|there| is_regular(there) && is_other(there));
    let verdict = request.guard.asks_about_replacement(AnchoredPath::from_entry(to)).filter(|_| is_plain)?;
    Some(Replacement { from, to, verdict })
}

/// Asks about the content, and puts it in place. The caller holds the lock of all moves, and has judged what else a rename
/// needs.
pub fn replace(request: &Request<'_, '_>, replacement: Replacement<'_, '_>) -> HandlerResult {
    let Replacement { from, to, verdict } = replacement;
    let (guard, caller) = (request.guard, request.caller);
    let all = AllPaths::new(caller);
    all.add(guard.judge_removal(caller, AnchoredPath::from_entry(from)))?;
    let source = from.there()?;
    let (new, old) =
        (read(source, MAX_BYTES)?, to.object.as_ref().map(|old| read(old, MAX_BYTES)).transpose()?);
    if [Some(&new), old.as_ref()].into_iter().flatten().any(|read| read.bytes.len() > MAX_BYTES) {
        let text = "the file would run outside the guard, and is larger than 1 MiB, too large for a question";
        guard.refuse(caller, Operation::Write, &to.path, text)?;
    }
    let there = old.as_ref().map(content);
    let new = content(&new);
    let by_content = content_verdict(request, &to.path, there, new);
    if by_content.outcome == Outcome::Allow && keeps_owner(source, to.object.as_ref()) {
        all.end()?;
        guard.log_change(caller, &to.path, &by_content)?;
    } else {
        let change = shown(request, to, there, new)?;
        all.add(guard.judge_shown_change(caller, &to.path, change, verdict))?;
        all.end()?;
    }
    let displaced = match (&to.object, &old) {
        (Some(object), Some(old)) => Displaced::Judged(object, &old.bytes),
        _ => Displaced::Nothing,
    };
    let done = request.perform(|| {
        let copy = OwnCopy { parent: &to.parent, name: REPLACEMENT, displaced, modified: None };
        copy.put(new.bytes, new.mode, Some(source), &to.name)?;
        guard.floor.grants().recheck_below(&to.path);
        remove_judged(request, from)
    });
    refuse_changed(request, &to.path, done)
}

/// What was read, with the permission bits but without set-user-ID and set-group-ID.
fn content(read: &ReadFile) -> FileContent<'_> {
    FileContent { bytes: &read.bytes, mode: read.mode & 0o777 }
}

/// What the content alone says: allowed if it runs nothing that did not run before. A mode that gives others more, or that
/// keeps the owner from reading the file, needs a human.
fn content_verdict<'p>(
    request: &Request<'p, '_>,
    path: &[u8],
    old: Option<FileContent<'_>>,
    new: FileContent<'_>,
) -> Verdict<'p> {
    let (bytes, mode) = old.map_or((&[][..], 0o644), |old| (old.bytes, old.mode | 0o600));
    let question = Question::CodexConfig { path, old: bytes, new: new.bytes };
    let verdict = decide(request.guard.policy(), &question);
    if new.mode & !mode == 0 && new.mode & 0o400 != 0 {
        verdict
    } else {
        Verdict { outcome: Outcome::Deny, ..verdict }
    }
}

/// Whether the file's owner would stay right: the owner of the file that is there, or else the guard's own user.
fn keeps_owner(source: &Object, there: Option<&Object>) -> bool {
    let owner = (source.stat.st_uid, source.stat.st_gid);
    match there {
        Some(there) => owner == (there.stat.st_uid, there.stat.st_gid),
        None => owner.0 == rustix::process::geteuid().as_raw(),
    }
}

/// What a human is shown.
fn shown(
    request: &Request<'_, '_>,
    to: &DirEntry,
    old: Option<FileContent<'_>>,
    new: FileContent<'_>,
) -> Result<FileChange, Errno> {
    let guard = request.guard;
    let mut change = shown_replacement(old, new);
    if guard.shapes().protects_git_locked(AnchoredPath::from_entry(to)) {
        // The change is shown as if git had written it, because the lines of a text could hide a key.
        let old = old.map_or(&[][..], |old| old.bytes);
        match shown_changes(guard.policy(), &to.path, old, new.bytes, OwnGitParts::default()) {
            Some(keys) => change.lines = keys,
            None => guard.refuse(request.caller, Operation::Write, &to.path, UNREADABLE)?,
        }
    }
    Ok(change)
}
