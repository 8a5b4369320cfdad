//! Puts the bytes that were judged in place of a file, whatever becomes of the file that they were read from.
//!
//! The tree may still have the read file open or mapped, or have it under another name. So the read file never takes
//! the place of the other one. The guard writes the bytes to a file of its own, under a name that the tree can neither
//! make nor write, and renames its own file.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Timespec, Timestamps, UTIME_OMIT, Uid,
};
use rustix::io::Errno;

use super::Request;
use crate::audit::Operation;
use crate::kernel::errno::from_io;
use crate::reply::HandlerResult;
use crate::resolve::{DirEntry, Identity, Object, link_to};

/// How often the names are exchanged again while files of others come and go.
const MAX_EXCHANGES: usize = 8;

/// What was read of a file.
pub struct ReadFile {
    pub bytes: Vec<u8>,
    /// Its mode at that time.
    pub mode: u32,
}

/// Reads a file to its end, once, but at most one byte more than `max`. That byte shows that there is more.
pub fn read(object: &Object, max: usize) -> Result<ReadFile, Errno> {
    read_open(rustix::fs::open(link_to(object.fd.as_fd()), READ, Mode::empty())?, max)
}

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

fn read_open(file: OwnedFd, max: usize) -> Result<ReadFile, Errno> {
    let mode = rustix::fs::fstat(&file)?.st_mode;
    let mut bytes = Vec::new();
    File::from(file).take(max as u64 + 1).read_to_end(&mut bytes).map_err(from_io)?;
    Ok(ReadFile { bytes, mode })
}

/// What a copy comes in place of.
pub enum Displaced<'o> {
    /// The file that was judged, with its content then.
    Judged(&'o Object, &'o [u8]),
    /// No file.
    Nothing,
    /// Whatever is there.
    Anything,
}

/// A file that is held open, so that no other file gets its number.
struct PinnedFile {
    identity: Identity,
    _open: OwnedFd,
}

impl PinnedFile {
    fn new(open: OwnedFd) -> Result<PinnedFile, Errno> {
        Ok(PinnedFile { identity: Identity::from_stat(&rustix::fs::fstat(&open)?), _open: open })
    }
}

/// The guard's own file in a directory.
pub struct OwnCopy<'d> {
    /// The directory.
    pub parent: &'d rustix::fd::OwnedFd,
    /// The name of the guard's file there, which the tree can neither make nor write.
    pub name: &'d [u8],
    /// What it comes in place of.
    pub displaced: Displaced<'d>,
    /// The time of change that the file gets, if not now.
    pub modified: Option<Timespec>,
}

impl OwnCopy<'_> {
    /// Writes the bytes with this mode, and gives the file the name `target`, in place of what has it. With `owner`,
    /// the file gets the owner and group of that object.
    ///
    /// # Errors
    /// The kernel's, and ESTALE if something else is there than was judged; nothing has changed then.
    pub fn put(&self, bytes: &[u8], mode: u32, owner: Option<&Object>, target: &[u8]) -> Result<(), Errno> {
        let own = self.write(bytes, Mode::from_raw_mode(mode), owner)?;
        let put = match self.displaced {
            Displaced::Anything => self.rename(target, RenameFlags::empty()),
            Displaced::Nothing => match self.rename(target, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => Err(Errno::STALE),
                // The file system cannot do it.
                Err(Errno::INVAL) => self.rename(target, RenameFlags::empty()),
                renamed => renamed,
            },
            Displaced::Judged(object, old) => return self.exchange(target, own, object, old),
        };
        if put.is_err() {
            self.remove();
        }
        put
    }

    fn rename(&self, target: &[u8], flags: RenameFlags) -> Result<(), Errno> {
        rustix::fs::renameat_with(self.parent, self.name, self.parent, target, flags)
    }

    fn remove(&self) {
        let _ = rustix::fs::unlinkat(self.parent, self.name, AtFlags::empty());
    }

    /// Exchanges the two names, and looks at what had the target. Somebody outside may have changed it after it was read, and
    /// a rename would undo that.
    fn exchange(&self, target: &[u8], own: PinnedFile, judged: &Object, old: &[u8]) -> Result<(), Errno> {
        let exchanged = match self.rename(target, RenameFlags::EXCHANGE) {
            // The file system cannot do it.
            Err(Errno::INVAL) => {
                return self.rename(target, RenameFlags::empty()).inspect_err(|_| self.remove());
            }
            Err(Errno::NOENT) => Err(Errno::STALE),
            exchanged => exchanged,
        };
        // From here on, the file of somebody outside may have the guard's name.
        exchanged.inspect_err(|_| self.remove())?;
        let mut newest = self.held()?;
        if newest.identity == Identity::from_stat(&judged.stat) && self.has(old) {
            self.remove();
            return Ok(());
        }
        // The newest file of somebody outside gets the target back. It is the newest if the exchange brings out what the
        // exchange before has put there.
        let mut put_before = own;
        for _ in 0..MAX_EXCHANGES {
            match self.rename(target, RenameFlags::EXCHANGE) {
                // Somebody has moved or removed what was there.
                Err(Errno::NOENT) if self.rename(target, RenameFlags::NOREPLACE).is_ok() => break,
                Err(Errno::NOENT) => continue,
                exchanged => exchanged?,
            }
            let came = self.held()?;
            if came.identity == put_before.identity {
                self.remove();
                break;
            }
            put_before = std::mem::replace(&mut newest, came);
        }
        Err(Errno::STALE)
    }

    /// The file that has the guard's name, held open.
    fn held(&self) -> Result<PinnedFile, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        PinnedFile::new(rustix::fs::openat(self.parent, self.name, flags, Mode::empty())?)
    }

    /// Whether the file with the guard's name has this content.
    fn has(&self, content: &[u8]) -> bool {
        let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = rustix::fs::openat2(self.parent, self.name, READ, Mode::empty(), links);
        file.and_then(|file| read_open(file, content.len())).is_ok_and(|read| read.bytes == content)
    }

    /// Writes the guard's file. If that fails, none is left.
    fn write(&self, bytes: &[u8], mode: Mode, owner: Option<&Object>) -> Result<PinnedFile, Errno> {
        let made = match self.make() {
            // A guard that was killed left it.
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(self.parent, self.name, AtFlags::empty())?;
                self.make()
            }
            made => made,
        };
        // Nobody has it open for writing when it gets its name: a script there must start at once (ETXTBSY).
        let filled = self.fill(File::from(made?), bytes, mode, owner);
        filled.and_then(|()| self.held()).inspect_err(|_| self.remove())
    }

    fn fill(&self, mut file: File, bytes: &[u8], mode: Mode, owner: Option<&Object>) -> Result<(), Errno> {
        file.write_all(bytes).map_err(from_io)?;
        owner.map_or(Ok(()), |owner| chown_like(file.as_fd(), owner))?;
        rustix::fs::fchmod(&file, mode)?;
        let Some(last_modification) = self.modified else { return Ok(()) };
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        rustix::fs::futimens(&file, &Timestamps { last_access, last_modification })
    }

    fn make(&self) -> Result<rustix::fd::OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(self.parent, self.name, flags, Mode::RUSR | Mode::WUSR, links)
    }
}

/// Gives a new file the owner and group of another.
fn chown_like(file: BorrowedFd<'_>, owner: &Object) -> Result<(), Errno> {
    let (new, old) = (rustix::fs::fstat(file)?, &owner.stat);
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid) {
        return Ok(());
    }
    rustix::fs::fchown(file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)))
}

/// Refuses, and says why, if the file was changed from outside after it was judged.
///
/// # Errors
/// EACCES in that case.
pub fn refuse_changed(request: &Request<'_, '_>, path: &[u8], done: HandlerResult) -> HandlerResult {
    if matches!(done, Err(Errno::STALE)) {
        let text = "the file was changed while the guard judged what comes in its place: try again";
        request.guard.refuse(request.caller, Operation::Write, path, text)?;
    }
    done
}

/// Removes the tree's file, if it is still the one that was judged.
pub fn remove_judged(request: &Request<'_, '_>, entry: &DirEntry) -> Result<(), Errno> {
    let there = rustix::fs::statat(&entry.parent, &entry.name[..], AtFlags::SYMLINK_NOFOLLOW);
    let judged = Identity::from_stat(&entry.there()?.stat);
    if there.is_ok_and(|stat| Identity::from_stat(&stat) == judged) {
        rustix::fs::unlinkat(&entry.parent, &entry.name[..], AtFlags::empty())?;
    }
    request.guard.floor.grants().recheck_below(&entry.path);
    Ok(())
}
