//! Names of sockets that a call takes away: a server of the operator's may bind the name while the call is judged.
//!
//! No call of the kernel removes a name only if a certain file has it. So the socket first gets a name that nobody else
//! uses, and what has arrived there is looked at. The server's gets its own name back.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::Request;
use crate::judge::anchored_path::AnchoredPath;
use crate::resolve::{DirEntry, Object};

/// How often a replacement begins again because the name was bound, or became free, meanwhile.
const ATTEMPTS: usize = 8;

/// Removes the name of a socket that may go, if it is still one. The caller holds the lock of all moves.
///
/// # Errors
/// EACCES if a server outside the tree has the name by now; the kernel's.
pub fn remove(request: &Request<'_, '_>, entry: &DirEntry) -> Result<(), Errno> {
    let aside = name_aside()?;
    rustix::fs::renameat(&entry.parent, &entry.name[..], &entry.parent, &aside[..])?;
    let may_go = look(&entry.parent, &aside).and_then(|there| match there.kind() {
        FileType::Socket => judge(request, &there, &entry.path),
        // The socket that was judged is gone.
        _ => Err(Errno::NOENT),
    });
    match may_go {
        Ok(()) => rustix::fs::unlinkat(&entry.parent, &aside[..], AtFlags::empty()),
        Err(error) => {
            put_back(entry, &aside)?;
            Err(error)
        }
    }
}

/// Gives what went aside its name again, also if the tree has made a file there meanwhile, which takes no lock.
fn put_back(entry: &DirEntry, aside: &[u8]) -> Result<(), Errno> {
    let rename =
        |flags| rustix::fs::renameat_with(&entry.parent, aside, &entry.parent, &entry.name[..], flags);
    match rename(RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => {}
        Err(Errno::INVAL) => return rename(RenameFlags::empty()),
        put => return put,
    }
    rename(RenameFlags::EXCHANGE)?;
    // What came meanwhile. A socket is a server's that has bound the name again: nobody looks for the other.
    if look(&entry.parent, aside).is_ok_and(|other| other.kind() == FileType::Socket) {
        rename(RenameFlags::EXCHANGE)?;
    }
    rustix::fs::unlinkat(&entry.parent, aside, AtFlags::empty())
}

/// Gives a file that is no directory the name of a socket that may go, or a free name: a server may bind that, too. The
/// caller holds the lock of all moves, and has judged both.
///
/// # Errors
/// EACCES if a server outside the tree has the name by now; EBUSY if others bind and remove it all the time; the kernel's.
pub fn replace(request: &Request<'_, '_>, old: &DirEntry, new: &DirEntry) -> Result<(), Errno> {
    let (from, to) = (old.written(), new.written());
    let rename = |flags| rustix::fs::renameat_with(&old.parent, &from, &new.parent, &to, flags);
    for _ in 0..ATTEMPTS {
        match rename(RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            // A file system that knows no flags (NFS).
            Err(Errno::INVAL) => return rename(RenameFlags::empty()),
            moved => return moved,
        }
        match rename(RenameFlags::EXCHANGE) {
            Err(Errno::NOENT) => continue,
            Err(Errno::INVAL) => return rename(RenameFlags::empty()),
            exchanged => exchanged?,
        }
        // The other one has the old name now.
        let may_go = look(&old.parent, &old.name).and_then(|displaced| match displaced.kind() {
            FileType::Socket => judge(request, &displaced, &new.path),
            FileType::Directory => Err(Errno::ISDIR),
            _ => Ok(()),
        });
        return match may_go {
            Ok(()) => rustix::fs::unlinkat(&old.parent, &old.name[..], AtFlags::empty()),
            Err(error) => rename(RenameFlags::EXCHANGE).and(Err(error)),
        };
    }
    Err(Errno::BUSY)
}

/// Opens what has a name now.
fn look(parent: &OwnedFd, name: &[u8]) -> Result<Object, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Object::from_fd(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

/// Judges whether a socket may lose the name that it had.
fn judge(request: &Request<'_, '_>, socket: &Object, path: &[u8]) -> Result<(), Errno> {
    request.guard.judge_displacement(request.caller, AnchoredPath::object(path, socket))
}

/// A name that nobody else uses, while nobody can find it out.
fn name_aside() -> Result<Vec<u8>, Errno> {
    let mut random = [0; 8];
    rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(format!(".openclaw-guard.{:016x}", u64::from_ne_bytes(random)).into_bytes())
}
