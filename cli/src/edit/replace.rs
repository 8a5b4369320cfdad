//! Replaces the text of a policy atomically.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guard_openclaw::approvals_store::{Disk, Kernel, Owner, PRIVATE, below};
use guard_policy::text::shown;
use guard_supervisor::config::temporary_name;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, OFlags, ResolveFlags, flock, fstat, openat2};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

/// Why a policy was not changed. The old text is then still there.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(
        "{} is a symbolic link to {}, which does not exist: create that file, or remove the link",
        name(path),
        name(target)
    )]
    Dangling { path: PathBuf, target: PathBuf },
    #[error("{}: too many symbolic links, or a loop of them", name(path))]
    Circle { path: PathBuf },
    #[error("{} has changed since it was read, so it is not written: run the command again", name(path))]
    Changed { path: PathBuf },
    #[error("{} is not a regular file", name(path))]
    NotPlain { path: PathBuf },
    #[error(
        "{} is being changed by another process, which has locked its directory: try again later",
        name(path)
    )]
    Busy { path: PathBuf },
    #[error("cannot {step} {}: {error}", name(path))]
    Disk { step: &'static str, path: PathBuf, error: io::Error },
}

fn name(path: &Path) -> String {
    shown(path.as_os_str().as_bytes())
}

/// Replaces the policy at `path` (a symbolic link is followed) if its text is still `was`; `None` means that there was
/// no policy. Mode and owner stay the same; a new file is private to its owner.
///
/// # Errors
/// [`EditError::Changed`] when the policy has changed since it was read.
pub fn replace(path: &Path, was: Option<&[u8]>, text: &[u8]) -> Result<(), EditError> {
    replace_on(&Kernel, path, was, text)
}

/// Like [`replace`], on the caller's disk.
pub(super) fn replace_on(
    disk: &dyn Disk,
    path: &Path,
    was: Option<&[u8]>,
    text: &[u8],
) -> Result<(), EditError> {
    let held = LockedDirectory::lock(path)?;
    let old = held.read()?;
    if old.as_ref().map(|old| old.bytes.as_slice()) != was {
        return Err(EditError::Changed { path: held.path });
    }
    held.replace(disk, old, text)
}

/// The locked directory of a policy.
struct LockedDirectory {
    directory: OwnedFd,
    /// The policy's real path.
    path: PathBuf,
    /// Its name in the directory.
    name: String,
}

/// A policy as it was read.
struct Old {
    bytes: Vec<u8>,
    owner: Owner,
    mode: Mode,
}

impl LockedDirectory {
    fn lock(path: &Path) -> Result<LockedDirectory, EditError> {
        let real = real(path)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(EditError::NotPlain { path: real });
        };
        let Some(name) = name.to_str().map(str::to_owned) else {
            return Err(failed("change", &real)(io::Error::other("its name is not UTF-8 text")));
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
            .map_err(|error| failed("open the directory of", &real)(error.into()))?;
        // Locks the directory, not the file: each change replaces the file.
        lock(&directory, &real)?;
        Ok(LockedDirectory { directory, name, path: real })
    }

    fn read(&self) -> Result<Option<Old>, EditError> {
        // Without NONBLOCK, opening a FIFO would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match below(self.directory.as_fd(), self.name.as_str(), flags, Mode::empty()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read")(error)),
        };
        let stat = fstat(&file).map_err(|error| self.failed("read")(error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(EditError::NotPlain { path: self.path.clone() });
        }
        let mut bytes = Vec::new();
        File::from(file).read_to_end(&mut bytes).map_err(self.failed("read"))?;
        let owner = Owner { uid: stat.st_uid, gid: stat.st_gid };
        Ok(Some(Old { bytes, owner, mode: Mode::from_raw_mode(stat.st_mode & 0o7777) }))
    }

    fn replace(&self, disk: &dyn Disk, old: Option<Old>, text: &[u8]) -> Result<(), EditError> {
        let (from, to) = (temporary_name(&self.name), &self.name);
        let directory = self.directory.as_fd();
        // A file of this name is from a writer that died: nobody else writes while this process holds the lock.
        match disk.remove(directory, &from) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(self.failed("make a file beside")(error));
            }
            _ => {}
        }
        let (owner, mode) = match old {
            Some(old) => (old.owner, old.mode),
            None => (self.owner()?, PRIVATE),
        };
        let write = || {
            let file = disk.create(directory, &from).map_err(self.failed("make a file beside"))?;
            disk.own(&file, owner, mode).map_err(self.failed("keep the owner of"))?;
            disk.write(&file, text).map_err(self.failed("write"))?;
            disk.sync(&file).map_err(self.failed("write"))?;
            disk.rename(directory, &from, to).map_err(self.failed("replace"))?;
            disk.sync_directory(directory).map_err(self.failed("be sure of"))
        };
        let written = write();
        if written.is_err() {
            // Errors do not matter: the policy is complete with or without this file.
            let _ = disk.remove(directory, &from);
        }
        written
    }

    /// The owner of a new policy: a file that root makes in a user's directory belongs to the user.
    fn owner(&self) -> Result<Owner, EditError> {
        let stat = fstat(&self.directory).map_err(|error| self.failed("look beside")(error.into()))?;
        let me = geteuid();
        Ok(match me.is_root() {
            true => Owner { uid: stat.st_uid, gid: stat.st_gid },
            false => Owner { uid: me.as_raw(), gid: getegid().as_raw() },
        })
    }

    fn failed(&self, step: &'static str) -> impl FnOnce(io::Error) -> EditError {
        failed(step, &self.path)
    }
}

fn failed(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EditError {
    let path = path.to_owned();
    move |error| EditError::Disk { step, path, error }
}

/// The policy's real path, whether it exists or not.
fn real(path: &Path) -> Result<PathBuf, EditError> {
    let absolute = std::path::absolute(path).map_err(failed("find", path))?;
    match absolute.canonicalize() {
        Ok(real) => return Ok(real),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            return Err(EditError::Circle { path: absolute });
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("find", &absolute)(error));
        }
        Err(_) => {}
    }
    if let Ok(target) = absolute.read_link() {
        return Err(EditError::Dangling { path: absolute, target });
    }
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(EditError::NotPlain { path: absolute });
    };
    let parent = parent.canonicalize().map_err(failed("open the directory of", &absolute))?;
    Ok(parent.join(name))
}

/// Locks the directory, with a timeout. An honest holder writes a few kilobytes. A tree that may read the directory can
/// also hold the lock and so prevent changes, but the operator learns of it after the timeout.
fn lock(directory: &OwnedFd, path: &Path) -> Result<(), EditError> {
    const MAX_TRIES: usize = 250;
    const RETRY_INTERVAL: Duration = Duration::from_millis(20);
    for _ in 0..MAX_TRIES {
        match flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(RETRY_INTERVAL),
            Err(error) => return Err(failed("lock the directory of", path)(error.into())),
        }
    }
    Err(EditError::Busy { path: path.to_owned() })
}
