//! open, openat, openat2 and creat.
//!
//! Why: docs/decisions.md, "An existing file is opened by the descriptor that was judged"

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_policy::Access;
use guard_shim::failpoints::{Fallible, Layer, fail_point, is_layer_off};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::open_how::OpenHow;
use super::plain_path::PlainPath;
use super::{Request, git_config, rename, set_id};
use crate::audit::Operation;
use crate::audit::report::LAST_DENIAL;
use crate::caller::CallerPath;
use crate::judge::anchored_path::{AnchoredPath, last_name, open_directory};
use crate::judge::git_files::is_git_file;
use crate::outside::CHANNEL;
use crate::reply::{ContinueReason, HandlerResult, Reply, SupervisorCopy};
use crate::resolve::special_files::{acts_on_machine, controlling_terminal};
use crate::resolve::{DirEntry, Identity, Last, Object, Target, link_to};

/// How often an open is retried when names change under it.
const MAX_TRIES: usize = 16;
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// open, openat, creat.
pub fn openat(request: &Request<'_, '_>, dirfd: i32, path: u64, flags: i32, mode: i32) -> HandlerResult {
    let how = OpenHow::of_open(flags, mode);
    how.check()?;
    let mut written = CallerPath::default();
    request.caller.peek(path, &mut written)?;
    let path = written.as_bytes();
    fail_point(Fallible::Open, || path);
    if path == LAST_DENIAL.as_bytes() && only_reads(how) {
        return hand_over(Object::from_fd(request.guard.reporter.last_denial()?)?, how);
    }
    if let Some(outcome) = super::passthrough::open(request, dirfd, path, how) {
        return outcome;
    }
    request.caller.check()?;
    open(request, dirfd, path, how)
}

/// openat2. Its flags and mode are in memory, which is read once.
pub fn openat2(request: &Request<'_, '_>, dirfd: i32, path: u64, how: u64, size: u64) -> HandlerResult {
    let how = OpenHow::read(request.caller, how, size)?;
    if how.has(libc::O_PATH) {
        // Only the kernel can put an O_PATH descriptor into the caller. It reads the flags again and may find a
        // different open there: one that creates a file with a set-user-ID bit, which no floor prevents.
        let safe = request.guard.session.observe || is_layer_off(Layer::Broker);
        return if safe { Ok(Reply::Continue(ContinueReason::NoAccess)) } else { Err(Errno::NOSYS) };
    }
    how.check()?;
    if how.resolve().contains(ResolveFlags::CACHED) && how.changes() {
        return Err(Errno::AGAIN);
    }
    let path = request.caller.path(path)?;
    if path.as_bytes() == CHANNEL.as_bytes() {
        return super::outside::claim(request);
    }
    open(request, dirfd, path.as_bytes(), how)
}

fn open(request: &Request<'_, '_>, dirfd: i32, path: &[u8], how: OpenHow) -> HandlerResult {
    if path.is_empty() {
        return Err(Errno::NOENT);
    }
    let how = if is_mark_of_uv(request, dirfd, path, how) { how.only_for_reading() } else { how };
    // The kernel reserves the caller's new descriptor before it looks at the path. For an open that changes nothing, it
    // is enough that this error comes first.
    if how.changes() {
        request.need_room()?;
    }
    find_and_open(request, dirfd, path, how).or_else(|error| request.need_room().and(Err(error)))
}

/// Whether this is an open of the empty `.git` in uv's cache of sources, `sdists-v9`. uv opens it for writing at each start,
/// and writes nothing: git is not to take a repository around the cache for that of the sources (its `uv-cache`,
/// `Cache::init`). Only reading needs no right to write.
fn is_mark_of_uv(request: &Request<'_, '_>, dirfd: i32, path: &[u8], how: OpenHow) -> bool {
    let is_named = || {
        let mut names = path.rsplit(|byte| *byte == b'/');
        let (last, holder) = (names.next(), names.next().unwrap_or_default());
        let version = holder.strip_prefix(b"sdists-v").unwrap_or_default();
        last == Some(b".git") && !version.is_empty() && version.iter().all(u8::is_ascii_digit)
    };
    let is_empty_file = || {
        let found = request.guard.resolver.lookup_once(request.caller, dirfd, path).ok().flatten();
        found.is_some_and(|(object, real)| {
            last_name(&real) == b".git" && object.kind() == FileType::RegularFile && object.stat.st_size == 0
        })
    };
    how.writes_what_is_there() && is_named() && is_empty_file()
}

fn find_and_open(request: &Request<'_, '_>, dirfd: i32, path: &[u8], how: OpenHow) -> HandlerResult {
    if only_reads(how) {
        let guard = request.guard;
        if let Some((real, script)) =
            guard.starts.scripts.by_name(request.caller, &guard.tree, dirfd, path)?
        {
            judge(request, AnchoredPath::path(&real), how.access())?;
            refuse_kind(&script, how)?;
            return finish(request, &real, script, how);
        }
    }
    if how.resolve().is_empty()
        && let Some(plain) = PlainPath::new(request, dirfd, path)
        && let Some(outcome) = open_plain(request, &plain, how)
    {
        return outcome;
    }
    if how.resolve().is_empty()
        && how.last() == Last::Follow
        && let Some((object, real)) = request.guard.resolver.lookup_once(request.caller, dirfd, path)?
    {
        return open_object(request, &object, AnchoredPath::object(&real, &object), how);
    }
    // A path that ends in a slash cannot create a file, whatever is there.
    let last = if how.creates() && path.ends_with(b"/") { Last::Name } else { how.last() };
    let mut alone = None;
    for _ in 0..MAX_TRIES {
        let target =
            request.guard.resolver.resolve_restricted(request.caller, dirfd, path, last, how.resolve())?;
        match &target {
            Target::Entry(entry) if is_made_alone(request, entry, how) => {
                if alone.is_none() {
                    alone = Some(rename::alone(request)?);
                    continue;
                }
            }
            // The lock is not kept, because an open of what is there may wait for another process.
            _ => alone = None,
        }
        let opened = match target {
            Target::Entry(entry) => open_entry(request, &entry, how),
            Target::Object { object, path, .. } => {
                open_object(request, &object, AnchoredPath::object(&path, &object), how).map(Some)
            }
        };
        if let Some(answer) = opened? {
            return Ok(answer);
        }
    }
    Err(Errno::LOOP)
}

/// Whether an open that makes a name must be the only call that makes or moves one, from its judgement on: each of two
/// names can be harmless, and both together a repository. The lock of a git configuration is recorded as it is made.
fn is_made_alone(request: &Request<'_, '_>, entry: &DirEntry, how: OpenHow) -> bool {
    let is_made = how.creates() && entry.object.is_none();
    is_made && (request.guard.shapes().looks_around(&entry.path) || git_config::may_be_lock(&entry.name))
}

/// The fast path: the policy allows the path as written, and the kernel finds no link in it. Returns `None` if the full
/// walk is needed.
fn open_plain(request: &Request<'_, '_>, path: &PlainPath<'_>, how: OpenHow) -> Option<HandlerResult> {
    let guard = request.guard;
    let needed = if how.creates() { how.access() | Access::WRITE } else { how.access() };
    let writes = needed.contains(Access::WRITE);
    // A mode with a set-user-ID bit takes the long way, which knows whether a file is made. So does a file that says
    // where a git directory is, because the guard remembers one that the tree makes. So does a name on which the
    // judgement of other names depends.
    let is_git_file = how.creates() && is_git_file(last_name(&path.real));
    if how.has_set_id()
        || is_git_file
        || guard.sees_all()
        || writes && guard.shapes().looks_around(&path.real)
    {
        return None;
    }
    // The directories around a file that is written decide, too, so the file is opened in the directory from which they
    // are found.
    let opened;
    let parent = match path.split() {
        _ if !writes || !guard.policy().protects_shapes() => None,
        (None, _) => Some(path.start()),
        (Some(directory), _) => {
            opened = open_directory(path.start(), directory).ok()?;
            Some(opened.as_fd())
        }
    };
    let place = match parent {
        Some(parent) => AnchoredPath::named(&path.real, parent),
        None => AnchoredPath::path(&path.real),
    };
    if !guard.allows_at(place, needed) {
        return None;
    }
    // A new file is nothing else.
    let is_new = how.creates() && how.has(libc::O_EXCL);
    let there = if is_new { None } else { found(path) };
    // An open that may wait for another process, or that another process may notice, takes the long way, too. So does one by
    // which a device does something before anybody has looked at it, such as a watchdog.
    if there.as_ref().is_some_and(|stat| acts_on_machine(stat) || !how.changes() && is_fifo(stat)) {
        return None;
    }
    let (start, name) = match parent {
        Some(parent) => (parent, path.split().1),
        None => (path.start(), path.written),
    };
    match open_written(request, start, name, how, there.as_ref()) {
        Ok(file) => Some(vet(request, &path.real, file, how, parent.is_some())),
        // The long way looks at a device before it opens it, and says what the policy says.
        Err(Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::IO) => None,
        Err(Errno::INTR) => Some(Ok(Reply::Interrupted)),
        Err(error) => Some(Err(error)),
    }
}

/// Opens or creates the object at a path from `start`, where `there` was found, or nothing. If that is a file of this
/// user's, O_CREAT makes no difference, and the caller's umask need not be read.
fn open_written(
    request: &Request<'_, '_>,
    start: BorrowedFd<'_>,
    path: &[u8],
    how: OpenHow,
    there: Option<&Stat>,
) -> Result<OwnedFd, Errno> {
    let open = |flags: OFlags, mode: Mode| rustix::fs::openat2(start, path, flags, mode, NO_LINKS);
    if how.creates() && there.is_some_and(is_own_file) {
        let again = || open(how.ours() - OFlags::CREATE, Mode::empty());
        match request.worker.open_file(request.caller, again) {
            Err(Errno::NOENT) => {}
            opened => return opened,
        }
    }
    if how.creates() || how.unnamed() {
        request.adopt_umask()?;
    }
    let perform = || open(how.ours(), how.our_mode());
    // With O_EXCL this is a new file. No process is at its other end, so it waits at most for its directory.
    if how.creates() && how.has(libc::O_EXCL) {
        return request.worker.block_briefly(request.caller, perform);
    }
    let kind = there.map_or(FileType::RegularFile, |stat| FileType::from_raw_mode(stat.st_mode));
    perform_open(request, kind, perform)
}

/// Performs an open of what is of this kind, or was a moment ago. Some kinds have another process at their other end, for
/// which the open may wait.
fn perform_open<T>(
    request: &Request<'_, '_>,
    kind: FileType,
    open: impl FnOnce() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match kind {
        FileType::RegularFile | FileType::Directory => request.worker.open_file(request.caller, open),
        _ => request.worker.block(request.caller, open),
    }
}

/// What is at a path, or the link there.
fn found(path: &PlainPath<'_>) -> Option<Stat> {
    rustix::fs::statat(path.start(), path.written, AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn is_fifo(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Fifo
}

/// Whether this is a regular file of this user. The kernel has rules of its own for others' files (fs.protected_regular in
/// proc_sys_fs(5)).
fn is_own_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

/// The path was judged as a string. This checks for special objects that the string does not reveal. The kernel has
/// already allowed the open, so nothing asks again whether it would. `in_place` means that the directory in which the
/// file was opened was judged, so nothing around the file is looked at again.
fn vet(request: &Request<'_, '_>, path: &[u8], file: OwnedFd, how: OpenHow, in_place: bool) -> HandlerResult {
    let object = Object::from_fd(file)?;
    if !(in_place && request.guard.is_ordinary(request.caller, path, &object)?) {
        judge_alone(request, AnchoredPath::object(path, &object), how.access())?;
    }
    match approved_script(request, &object, path, how)? {
        Some(script) => finish(request, path, script, how),
        None => finish(request, path, object, how),
    }
}

/// The script that was approved for the caller, if this is that script and it is opened only to read.
fn approved_script(
    request: &Request<'_, '_>,
    object: &Object,
    path: &[u8],
    how: OpenHow,
) -> Result<Option<Object>, Errno> {
    if !only_reads(how) {
        if object.kind() != FileType::RegularFile {
            return Ok(None);
        }
        let (guard, file) = (request.guard, Identity::from_stat(&object.stat));
        guard.starts.scripts.changed(request.caller, &guard.tree, Some(file), path);
        return Ok(None);
    }
    request.guard.starts.scripts.instead(request.caller, &request.guard.tree, object, path)
}

fn only_reads(how: OpenHow) -> bool {
    !how.changes() && how.access() == Access::READ
}

/// Opens or creates a name in a directory. Returns `None` if the name changed meanwhile.
fn open_entry(request: &Request<'_, '_>, entry: &DirEntry, how: OpenHow) -> Result<Option<Reply>, Errno> {
    if let Some(object) = &entry.object {
        if how.creates() && entry.slash {
            return Err(Errno::ISDIR);
        }
        // Open the object that was judged, not what its name leads to by now.
        return open_object(request, object, AnchoredPath::from_entry(entry), how).map(Some);
    }
    if !how.creates() {
        return Err(Errno::NOENT);
    }
    if entry.slash {
        return Err(Errno::ISDIR);
    }
    if how.has(libc::O_EXCL) && git_config::is_lock(request, entry) {
        return create_lock(request, entry, how);
    }
    judge(request, AnchoredPath::from_entry(entry), how.access() | Access::WRITE)?;
    let Some(file) = create(request, entry, how)? else { return Ok(None) };
    request.guard.starts.scripts.changed(request.caller, &request.guard.tree, None, &entry.path);
    if is_git_file(&entry.name) {
        request.guard.created.record_git_file(file.as_fd());
    }
    finish(request, &entry.path, Object::from_fd(file)?, how).map(Some)
}

/// Makes the lock of a git configuration, which is then the tree's. The caller holds the lock of all moves.
fn create_lock(request: &Request<'_, '_>, entry: &DirEntry, how: OpenHow) -> Result<Option<Reply>, Errno> {
    let guard = request.guard;
    guard.judge_git_locked(request.caller, AnchoredPath::from_entry(entry))?;
    guard.created.git_locks.need_room()?;
    let Some(file) = create(request, entry, how)? else { return Ok(None) };
    if let Err(error) = guard.created.git_locks.record(file.as_fd()) {
        // Nobody could remove it afterwards.
        let _ = rustix::fs::unlinkat(&entry.parent, &entry.name[..], AtFlags::empty());
        return Err(error);
    }
    finish(request, &entry.path, Object::from_fd(file)?, how).map(Some)
}

/// Creates a name that was free when it was judged. Returns `None` if it is not any more.
fn create(request: &Request<'_, '_>, entry: &DirEntry, how: OpenHow) -> Result<Option<OwnedFd>, Errno> {
    request.adopt_umask()?;
    // Nothing was there when it was judged. Whatever exists now, a link included, was not judged: hence O_EXCL.
    let ours = how.ours() | OFlags::EXCL;
    let mode = set_id::granted(request, &entry.path, FileType::RegularFile, how.our_mode());
    match rustix::fs::openat2(&entry.parent, &entry.name[..], ours, mode, NO_LINKS) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::LOOP) => Ok(None),
        Err(Errno::EXIST) if !how.has(libc::O_EXCL) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens an existing object through its descriptor.
fn open_object(
    request: &Request<'_, '_>,
    object: &Object,
    place: AnchoredPath<'_>,
    how: OpenHow,
) -> Result<Reply, Errno> {
    let path = place.path;
    refuse_kind(object, how)?;
    judge(request, place, how.access())?;
    if let Some(script) = approved_script(request, object, path, how)? {
        return finish(request, path, script, how);
    }
    if matches!(object.kind(), FileType::Fifo | FileType::CharacterDevice) {
        // The peer notices the open, so fail before it if the caller has no descriptor left.
        request.need_room()?;
    }
    if is_own_terminal(object) {
        return open_terminal(request, how);
    }
    if how.unnamed() {
        request.adopt_umask()?;
    }
    let ours = how.ours() - (OFlags::CREATE | OFlags::NOFOLLOW);
    let mode = if how.unnamed() {
        set_id::granted(request, path, FileType::RegularFile, how.our_mode())
    } else {
        Mode::empty()
    };
    let link = link_to(object.fd.as_fd());
    match perform_open(request, object.kind(), || rustix::fs::open(&link, ours, mode)) {
        Ok(file) => finish(request, path, Object::from_fd(file)?, how),
        Err(Errno::INTR) => Ok(Reply::Interrupted),
        Err(error) => Err(error),
    }
}

/// The errors that depend on the type of the object and precede any permission check.
fn refuse_kind(object: &Object, how: OpenHow) -> Result<(), Errno> {
    let kind = object.kind();
    if how.creates() && how.has(libc::O_EXCL) {
        return Err(Errno::EXIST);
    }
    match kind {
        FileType::Symlink if how.has(libc::O_DIRECTORY) => Err(Errno::NOTDIR),
        FileType::Symlink => Err(Errno::LOOP),
        FileType::Directory if how.creates() => Err(Errno::ISDIR),
        FileType::Directory if how.access().contains(Access::WRITE) && !how.unnamed() => Err(Errno::ISDIR),
        FileType::Directory => Ok(()),
        _ if how.has(libc::O_DIRECTORY) => Err(Errno::NOTDIR),
        // The kernel checks the mode first. It never opens a socket, so there is nothing to close.
        FileType::Socket => {
            let flags = how.ours() - (OFlags::CREATE | OFlags::NOFOLLOW | OFlags::TRUNC);
            let refused = rustix::fs::open(link_to(object.fd.as_fd()), flags, Mode::empty());
            Err(refused.err().unwrap_or(Errno::NXIO))
        }
        _ => Ok(()),
    }
}

pub(super) fn judge(request: &Request<'_, '_>, place: AnchoredPath<'_>, access: Access) -> Result<(), Errno> {
    request.guard.refuse_as_kernel(request.caller, place, access)?;
    judge_alone(request, place, access)
}

/// Judges an access that the kernel is known to allow.
fn judge_alone(request: &Request<'_, '_>, place: AnchoredPath<'_>, access: Access) -> Result<(), Errno> {
    let path = place.path;
    // If only half of a read-and-write open is refused, report that half.
    let reading = !access.contains(Access::WRITE)
        || (access.contains(Access::READ) && request.guard.allows(path, Access::WRITE));
    let operation = if reading { Operation::Read } else { Operation::Write };
    request.guard.judge(request.caller, operation, place, access)
}

/// Whether this is `/dev/tty`, character device 5:0: the terminal of the process that opens it.
fn is_own_terminal(object: &Object) -> bool {
    object.kind() == FileType::CharacterDevice
        && (rustix::fs::major(object.stat.st_rdev), rustix::fs::minor(object.stat.st_rdev)) == (5, 0)
}

/// Opens the caller's terminal, which the supervisor does not have.
fn open_terminal(request: &Request<'_, '_>, how: OpenHow) -> HandlerResult {
    let number = controlling_terminal(request.caller.tid()).ok_or(Errno::NXIO)?;
    request.caller.check()?;
    let ours = how.ours() - (OFlags::CREATE | OFlags::EXCL | OFlags::TRUNC);
    let path = format!("/dev/pts/{number}");
    let file = request.worker.block(request.caller, || rustix::fs::open(&path, ours, Mode::empty()))?;
    hand_over(Object::from_fd(file)?, how)
}

/// Hands over what was opened at the real path `path`, unless it is a file that is too large to be read. What counts is the
/// size of this very file, after the open: O_TRUNC has emptied it then, so there is nothing left to read.
fn finish(request: &Request<'_, '_>, path: &[u8], opened: Object, how: OpenHow) -> HandlerResult {
    if opened.kind() == FileType::RegularFile && how.access().contains(Access::READ) {
        request.guard.judge_size(request.caller, path, &opened)?;
    }
    hand_over(opened, how)
}

fn hand_over(opened: Object, how: OpenHow) -> HandlerResult {
    let copy = match opened.kind() {
        FileType::RegularFile | FileType::Directory => {
            let is_written = how.access().contains(Access::WRITE);
            SupervisorCopy::MayLinger { written: is_written.then(|| Identity::from_stat(&opened.stat)) }
        }
        _ => SupervisorCopy::CloseBeforeReply,
    };
    Ok(Reply::Descriptor { file: opened.fd, cloexec: how.has(libc::O_CLOEXEC), copy })
}
