//! rename and link: an object judged by its path gets another path, and must not gain rights by it.

use std::os::fd::AsFd;

use guard_policy::Access;
use guard_shim::failpoints::{Fallible, fail_point};
use rustix::fs::{AtFlags, CWD, FileType, RenameFlags};
use rustix::io::Errno;

use super::arrival::Move;
use super::{Request, git_config, replacement};
use crate::audit::Operation;
use crate::inflight;
use crate::judge::anchored_path::AnchoredPath;
use crate::judge::consent::AllPaths;
use crate::judge::git_files::is_git_file;
use crate::judge::moving::Alone;
use crate::reply::{HandlerResult, Reply};
use crate::resolve::{DirEntry, Identity, Last, Object, Target, link_to, mount_of};

/// A directory descriptor and the address of a path.
type At = (i32, u64);

/// Locks out other moves, from judgement to operation: two that interleave could each be correct alone but not
/// together.
///
/// # Errors
/// EACCES if another guard does not let this one move anything.
pub fn alone<'g>(request: &Request<'g, '_>) -> Result<Alone<'g>, Errno> {
    let wait = |lock: &mut dyn FnMut() -> bool| request.worker.wait_for_lock(request.caller, lock);
    request.guard.session.moving.alone(wait).map_err(|lock| {
        let text = "another guard of this user holds this lock, and is stopped or hangs, so the call is denied; `fuser` names its process";
        let path = lock.as_os_str().as_encoded_bytes();
        // The call is refused even if the guard only observes: there is no lock to go on with.
        let _ = request.guard.refuse(request.caller, Operation::Write, path, text);
        Errno::ACCESS
    })
}

/// Resolves to a name in a directory, or to an object if the path does not end in a name.
fn name(request: &Request<'_, '_>, (dirfd, path): At) -> Result<Target, Errno> {
    let path = request.caller.path(path)?;
    request.guard.resolver.resolve(request.caller, dirfd, path.as_bytes(), Last::Name)
}

fn judge(request: &Request<'_, '_>, entry: &DirEntry) -> Result<(), Errno> {
    request.guard.judge_change(request.caller, AnchoredPath::from_entry(entry))
}

/// Judges the move of a link: a relative link leads elsewhere from its new place.
fn judge_link(request: &Request<'_, '_>, entry: &DirEntry, new: &DirEntry) -> Result<(), Errno> {
    match entry.there()?.kind() {
        FileType::Symlink => {
            request.guard.judge_link(request.caller, AnchoredPath::from_entry(new), None)?;
            judge_link_target(request, entry.there()?, new)
        }
        _ => Ok(()),
    }
}

fn judge_link_target(request: &Request<'_, '_>, link: &Object, new: &DirEntry) -> Result<(), Errno> {
    let text = rustix::fs::readlinkat(&link.fd, c"", Vec::with_capacity(256))?.into_bytes();
    request.guard.judge_link_target(request.caller, AnchoredPath::from_entry(new), &text)
}

/// Refuses to remove a name by which an approved script is about to be opened, or a name that must keep leading to an
/// object that the floor grants. The kernel refuses to move a mount point in the same way.
///
/// # Errors
/// EBUSY.
pub fn stay(request: &Request<'_, '_>, entry: &DirEntry) -> Result<(), Errno> {
    let guard = request.guard;
    let must_stay = guard.floor.needs(&entry.path)
        || guard.starts.scripts.await_entry(request.caller, &guard.tree, &entry.path);
    if must_stay {
        return Err(Errno::BUSY);
    }
    guard.starts.scripts.changed(request.caller, &guard.tree, None, &entry.path);
    Ok(())
}

/// What gets another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Directory,
    File,
    /// A file that the tree has made where persistence protects its name.
    OwnFile,
}

impl Moved {
    fn from_entry(entry: &DirEntry) -> Result<Moved, Errno> {
        Ok(if entry.there()?.kind() == FileType::Directory { Moved::Directory } else { Moved::File })
    }
}

/// Refuses a move if the object would gain rights by its new path, as the kernel refuses a move between file systems.
/// mv(1) and similar tools then copy, and the copy is judged.
fn keep_rights(
    request: &Request<'_, '_>,
    old: AnchoredPath<'_>,
    new: AnchoredPath<'_>,
    moved: Moved,
) -> Result<(), Errno> {
    let guard = request.guard;
    // The floor's grants move along with the directory, and may exceed what the policy allows at the new path.
    let shapes = guard.shapes();
    let may_move = || {
        let is_directory = moved == Moved::Directory;
        let within_rules = match moved {
            Moved::OwnFile => guard.policy().may_move_own(old.path, new.path),
            // The lock of a configuration in a repository that the tree has made: the configuration may be asked about,
            // its lock never is.
            Moved::File if shapes.is_own(old) => guard.policy().may_move_own(old.path, new.path),
            Moved::File | Moved::Directory => guard.policy().may_move(old.path, new.path, is_directory),
        };
        within_rules
            && guard.floor.may_move(guard.policy(), old.path, new.path)
            && guard.moves_within_answers(old, new)
            && if is_directory { shapes.may_move(old, new) } else { !shapes.protects(old) }
    };
    if guard.session.observe || may_move() { Ok(()) } else { Err(Errno::XDEV) }
}

/// Refuses to give a file a protected name if the file has another name: the tree could write the file by that.
fn keep_single(request: &Request<'_, '_>, from: &DirEntry, to: &DirEntry) -> Result<(), Errno> {
    let object = from.there()?;
    let is_linked = object.kind() != FileType::Directory && object.has_other_names();
    let is_named = is_linked && request.guard.shapes().names(AnchoredPath::from_entry(to));
    if is_named && !request.guard.session.observe { Err(Errno::XDEV) } else { Ok(()) }
}

/// rename, renameat and renameat2.
pub fn rename(request: &Request<'_, '_>, old: At, new: At, flags: u32) -> HandlerResult {
    let flags = RenameFlags::from_bits_retain(flags);
    let exchange = flags.contains(RenameFlags::EXCHANGE);
    if flags.bits() & !0x7 != 0 || (exchange && flags != RenameFlags::EXCHANGE) {
        return Err(Errno::INVAL);
    }
    let _alone = alone(request)?;
    // Both paths are walked before either is refused, as the kernel does.
    let (old, new) = (name(request, old)?, name(request, new)?);

    let is_elsewhere = match [&old, &new].map(|target| mount_of(target.directory())) {
        [Ok(old), Ok(new)] => old != new,
        _ => false,
    };
    // The kernel reports EXDEV first.
    let (old, mut new) =
        both(old, new, flags).map_err(|error| if is_elsewhere { Errno::XDEV } else { error })?;
    fail_point(Fallible::Rename, || &old.path);
    if flags.is_empty()
        && let Some(replacement) = git_config::replacement(request, &old, &new)
    {
        stay(request, &old)?;
        stay(request, &new)?;
        return git_config::replace(request, &replacement);
    }
    if RenameFlags::NOREPLACE.contains(flags)
        && !is_elsewhere
        && let Some(asked) = replacement::replacement(request, &old, &new)
    {
        stay(request, &old)?;
        stay(request, &new)?;
        keep_rights(request, AnchoredPath::from_entry(&old), AnchoredPath::from_entry(&new), Moved::File)?;
        return replacement::replace(request, asked);
    }
    let all = AllPaths::new(request.caller);
    // git itself turns the lock of an index into another index (builtin/stash.c). The file is the tree's under any
    // name.
    let leaves_lock = !exchange && git_config::is_trees_lock_of_paths(request, &old);
    for entry in [&old, &new] {
        // The tree may write its lock, but nothing else may get the lock's name.
        let may_leave = leaves_lock && std::ptr::eq(entry, &old);
        if git_config::is_own_lock(request, entry) && !may_leave {
            all.add(request.guard.judge_protected(request.caller, AnchoredPath::from_entry(entry)))?;
        }
    }
    all.add(request.guard.judge_removal(request.caller, AnchoredPath::from_entry(&old)))?;
    if exchange {
        all.add(request.guard.judge_removal(request.caller, AnchoredPath::from_entry(&new)))?;
    } else {
        all.add(judge(request, &new))?;
        all.add(request.guard.judge_displacement(request.caller, AnchoredPath::from_entry(&new)))?;
    }
    judge_link(request, &old, &new)?;
    if exchange {
        judge_link(request, &new, &old)?;
        let moved = Moved::from_entry(&new)?;
        keep_rights(request, AnchoredPath::from_entry(&new), AnchoredPath::from_entry(&old), moved)?;
        keep_single(request, &new, &old)?;
    }
    let moved = if leaves_lock { Moved::OwnFile } else { Moved::from_entry(&old)? };
    keep_rights(request, AnchoredPath::from_entry(&old), AnchoredPath::from_entry(&new), moved)?;
    keep_single(request, &old, &new)?;
    stay(request, &old)?;
    stay(request, &new)?;
    all.end()?;
    for object in [&old.object, &new.object].into_iter().flatten() {
        inflight::wait_for(Identity::from_stat(&object.stat));
    }
    let directories = &request.guard.created.directories;
    let replaced = new.object.as_ref().filter(|there| !exchange && there.kind() == FileType::Directory);
    let forgotten = replaced.and_then(|there| directories.forget(there.fd.as_fd()));
    let judged = Move::new(&old, &mut new, flags);
    // The kernel reports a trailing slash on a non-directory, a directory moved below itself, and the like.
    let outcome = request.guard.move_asked(&judged.paths(), || request.perform(|| judged.run()));
    if !matches!(outcome, Ok(Reply::Value(0))) {
        directories.remember(forgotten);
    }
    if !exchange && is_git_file(&new.name) && matches!(outcome, Ok(Reply::Value(0))) {
        record_git_file(request, &old);
    }
    let grants = request.guard.floor.grants();
    for path in [&old.path, &new.path] {
        grants.recheck_below(path);
    }
    outcome
}

/// Remembers a file that the tree has just given the name `.git`: the one that was judged, whatever has the name by now.
fn record_git_file(request: &Request<'_, '_>, moved: &DirEntry) {
    if let Some(file) = moved.object.as_ref().filter(|file| file.kind() == FileType::RegularFile) {
        request.guard.created.record_git_file(file.fd.as_fd());
    }
}

/// Both names of a rename, if the source exists and the target can be moved to (fs/namei.c, do_renameat2).
fn both(old: Target, new: Target, flags: RenameFlags) -> Result<(DirEntry, DirEntry), Errno> {
    let Target::Entry(old) = old else { return Err(Errno::BUSY) };
    let Target::Entry(new) = new else {
        return Err(if flags.contains(RenameFlags::NOREPLACE) { Errno::EXIST } else { Errno::BUSY });
    };
    old.there()?;
    match new.free() {
        Err(Errno::EXIST) if flags.contains(RenameFlags::NOREPLACE) => return Err(Errno::EXIST),
        Ok(()) if flags.contains(RenameFlags::EXCHANGE) => return Err(Errno::NOENT),
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    Ok((old, new))
}

/// link and linkat.
pub fn link(request: &Request<'_, '_>, old: At, new: At, flags: i32) -> HandlerResult {
    if flags & !(libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    let _alone = alone(request)?;
    let (object, old) = link_source(request, old, flags)?;
    let Target::Entry(new) = name(request, new)? else { return Err(Errno::EXIST) };
    new.free()?;
    request.guard.refuse_never_open(request.caller, &old, &object)?;
    // A removed file that has another name is still in use there. One without a name is the tree's own (O_TMPFILE).
    let given = if object.has_name() { Access::READ | Access::WRITE } else { Access::WRITE };
    request.guard.refuse_withheld(request.caller, Operation::Write, &old, &object, given)?;
    let all = AllPaths::new(request.caller);
    all.add(judge(request, &new))?;
    // Clients that use the new name would reach the tree as soon as a server of the tree's has that name.
    all.add(request.guard.judge_displacement(request.caller, AnchoredPath::object(&old, &object)))?;
    // The tree could write the file by the other name later, when the directory is not its own any more.
    let is_named = [AnchoredPath::from_entry(&new), AnchoredPath::object(&old, &object)]
        .into_iter()
        .any(|place| request.guard.shapes().names(place));
    if is_named && !request.guard.session.observe {
        return Err(Errno::XDEV);
    }
    if object.kind() == FileType::Symlink {
        request.guard.judge_link(request.caller, AnchoredPath::from_entry(&new), None)?;
        judge_link_target(request, &object, &new)?;
    }
    keep_rights(request, AnchoredPath::object(&old, &object), AnchoredPath::from_entry(&new), Moved::File)?;
    all.end()?;
    request.guard.starts.scripts.changed(request.caller, &request.guard.tree, None, &new.path);
    // Link through the descriptor: the name that was judged may be another file's by now.
    let source = link_to(object.fd.as_fd());
    let link = || rustix::fs::linkat(CWD, source, &new.parent, new.written(), AtFlags::SYMLINK_FOLLOW);
    request.guard.move_asked(&[&new.path], || request.perform(link))
}

fn link_source(request: &Request<'_, '_>, (dirfd, path): At, flags: i32) -> Result<(Object, Vec<u8>), Errno> {
    let path = request.caller.path(path)?;
    if path.as_bytes().is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
        return request.guard.resolver.descriptor(request.caller, dirfd)?.into_object();
    }
    let last = if flags & libc::AT_SYMLINK_FOLLOW != 0 { Last::Follow } else { Last::Keep };
    request.guard.resolver.resolve(request.caller, dirfd, path.as_bytes(), last)?.into_object()
}
