//! The directories of sandboxes without a container: `guard/sandboxes/NAME` in the state directory, one for each scope.
//!
//! In each of them, `files` is the command's directory, and `lock` is the guard's file: every guard that runs in
//! the scope holds a shared lock on that file. The file's time says when the scope was last used, and its
//! content says whose the scope is and since when. No link is followed on the way: a command may have made one
//! where an earlier policy let it write.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{Directory, below};
use guard_policy::text::shown;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, flock,
    fstat, futimens, mkdirat, statat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The directory of all scopes, in the guard's own.
pub const SANDBOXES: &str = "sandboxes";
/// The command's directory.
pub const FILES: &str = "files";
/// The lock of a scope.
pub const LOCK: &str = "lock";
/// The directory for temporary files, in the command's.
const TEMPORARY: &str = ".tmp";
/// The longest content of a lock, in bytes: the key of a session is in it.
const MAX_LOCK: u64 = 1 << 20;
/// How many times a scope is opened again if `prune` has just removed it.
const TRIES: usize = 20;

/// Why there is no directory for a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    #[error(
        "cannot use {path} for the sandbox: {error}; no link is followed there: look at it, and remove it if it is not yours",
        path = shown(path.as_os_str().as_encoded_bytes())
    )]
    Unusable { path: PathBuf, error: io::Error },
    #[error(
        "{path} belongs to another user or lets others in, so no sandbox can use it: chown it to yourself and chmod 700, or remove it",
        path = shown(path.as_os_str().as_encoded_bytes())
    )]
    Open { path: PathBuf },
    #[error(
        "{path} is the directory of another scope ({scope}): remove it with `openclaw-guard sandbox prune --idle 0s` when nothing runs there",
        path = shown(path.as_os_str().as_encoded_bytes()), scope = shown(scope.as_bytes())
    )]
    Foreign { path: PathBuf, scope: String },
    #[error(
        "{path} is being removed by `sandbox prune`: start again",
        path = shown(path.as_os_str().as_encoded_bytes())
    )]
    Removed { path: PathBuf },
}

/// What the lock of a scope says.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct ScopeRecord {
    /// OpenClaw's key of the scope.
    pub scope: String,
    /// When it was made, in milliseconds since 1970.
    pub created_at_ms: u64,
}

/// The directory of a scope, in use until this is dropped and every process of its guard has ended.
#[derive(Debug)]
pub struct Scratch {
    /// The command's directory, held open.
    pub files: OwnedFd,
    /// Its real path.
    pub path: PathBuf,
    lock: File,
}

impl Scratch {
    /// Opens the directory of a scope, and makes what is missing.
    ///
    /// # Errors
    /// If something on the way is a link, or belongs to another user or another scope.
    pub fn open(state: &Path, name: &str, scope: &str) -> Result<Scratch, ScratchError> {
        let all = SandboxesDirectory::make(state)?;
        let path = all.path.join(name);
        let unusable = |error: io::Error| ScratchError::Unusable { path: path.clone(), error };
        for _ in 0..TRIES {
            let own = all.created(all.descriptor.as_fd(), name, &path)?;
            let lock = open_lock(own.as_fd(), OFlags::CREATE).map_err(unusable)?;
            all.guard.hand_over(&lock).map_err(unusable)?;
            wait_for(&lock).map_err(unusable)?;
            let is_there = all.is_at(name, &own).map_err(unusable)?
                && is_at(own.as_fd(), LOCK, &lock).map_err(unusable)?;
            if !is_there {
                // The scope was removed between the two steps.
                continue;
            }
            let lock = File::from(lock);
            let record = settle(&lock, scope).map_err(unusable)?;
            if record.scope != scope {
                return Err(ScratchError::Foreign { path, scope: record.scope });
            }
            let files = all.created(own.as_fd(), FILES, &path.join(FILES))?;
            // The command may have put something else there, which is its own affair.
            match mkdirat(&files, TEMPORARY, Mode::RWXU) {
                Ok(()) => {
                    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                    let made = below(files.as_fd(), TEMPORARY, flags, Mode::empty()).map_err(unusable)?;
                    all.guard.hand_over(&made).map_err(unusable)?;
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(unusable(error.into())),
            }
            let scratch = Scratch { files, path: path.join(FILES), lock };
            scratch.touch().map_err(unusable)?;
            return Ok(scratch);
        }
        Err(ScratchError::Removed { path })
    }

    /// Where the command has its temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.path.join(TEMPORARY)
    }

    /// Notes that the scope is in use now.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn touch(&self) -> io::Result<()> {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        Ok(futimens(&self.lock, &Timestamps { last_access: omit, last_modification: now })?)
    }
}

/// The directory of all scopes, held open.
pub struct SandboxesDirectory {
    guard: Directory,
    descriptor: OwnedFd,
    /// Its real path.
    pub path: PathBuf,
}

impl SandboxesDirectory {
    /// Opens the directory of all scopes below a state directory, which is a real path, and makes what is
    /// missing.
    fn make(state: &Path) -> Result<SandboxesDirectory, ScratchError> {
        let path = state.join("guard").join(SANDBOXES);
        let unusable = |error| ScratchError::Unusable { path: path.clone(), error };
        let guard = Directory::make_own(state).map_err(unusable)?;
        guard.make(SANDBOXES).map_err(unusable)?;
        SandboxesDirectory::checked(guard, path)
    }

    /// Opens the directory of all scopes below a state directory, which is a real path; `None` if there is
    /// none.
    ///
    /// # Errors
    /// If something on the way is a link, or it is another user's.
    pub fn open(state: &Path) -> Result<Option<SandboxesDirectory>, ScratchError> {
        let path = state.join("guard").join(SANDBOXES);
        let unusable = |error| ScratchError::Unusable { path: path.clone(), error };
        let Some(guard) = Directory::open_own(state).map_err(unusable)? else { return Ok(None) };
        match statat(&guard, SANDBOXES, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(None),
            _ => SandboxesDirectory::checked(guard, path).map(Some),
        }
    }

    fn checked(guard: Directory, path: PathBuf) -> Result<SandboxesDirectory, ScratchError> {
        let unusable = |error| ScratchError::Unusable { path: path.clone(), error };
        let descriptor =
            guard.below(SANDBOXES, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map_err(unusable)?;
        let all = SandboxesDirectory { guard, descriptor, path: path.clone() };
        all.check(&all.descriptor, &path)?;
        Ok(all)
    }

    /// Opens the directory of a scope. No link is followed.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn scope(&self, name: &[u8]) -> io::Result<OwnedFd> {
        below(self.descriptor.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }

    /// Opens a directory, and makes it if it is missing.
    fn created(&self, parent: BorrowedFd<'_>, name: &str, path: &Path) -> Result<OwnedFd, ScratchError> {
        let unusable = |error: io::Error| ScratchError::Unusable { path: path.to_owned(), error };
        let is_new = match mkdirat(parent, name, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(unusable(error.into())),
        };
        let made =
            below(parent, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map_err(unusable)?;
        if is_new {
            self.guard.hand_over(&made).map_err(unusable)?;
        }
        self.check(&made, path)?;
        Ok(made)
    }

    /// Makes sure that a directory is the user's alone.
    fn check(&self, directory: &OwnedFd, path: &Path) -> Result<(), ScratchError> {
        let unusable = |error: io::Error| ScratchError::Unusable { path: path.to_owned(), error };
        let stat = fstat(directory).map_err(|error| unusable(error.into()))?;
        let owner = self.guard.owner().map_err(unusable)?;
        let users = [rustix::process::geteuid().as_raw(), owner.uid];
        if !users.contains(&stat.st_uid) || stat.st_mode & 0o077 != 0 {
            return Err(ScratchError::Open { path: path.to_owned() });
        }
        Ok(())
    }

    /// Whether the directory of a scope still has this name.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn is_at(&self, name: impl rustix::path::Arg, directory: &OwnedFd) -> io::Result<bool> {
        is_at(self.descriptor.as_fd(), name, directory)
    }
}

impl AsFd for SandboxesDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Whether a name in a directory names what is held open.
fn is_at(directory: BorrowedFd<'_>, name: impl rustix::path::Arg, held: &OwnedFd) -> io::Result<bool> {
    let held = fstat(held)?;
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok((stat.st_dev, stat.st_ino) == (held.st_dev, held.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens the lock of a scope, a regular file.
///
/// # Errors
/// The error of the failed system call, or a sentence if it is no regular file.
pub fn open_lock(scope: BorrowedFd<'_>, flags: OFlags) -> io::Result<OwnedFd> {
    // Opening a FIFO would wait for a writer.
    let flags = flags | OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mode = if flags.contains(OFlags::CREATE) { Mode::RUSR | Mode::WUSR } else { Mode::empty() };
    let lock = below(scope, LOCK, flags, mode)?;
    if FileType::from_raw_mode(fstat(&lock)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("its lock is no regular file"));
    }
    Ok(lock)
}

/// Waits until nobody removes the scope.
fn wait_for(lock: &OwnedFd) -> io::Result<()> {
    loop {
        match flock(lock, FlockOperation::LockShared) {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}

/// Reads what a lock says; `None` if it says nothing yet.
///
/// # Errors
/// The error of the failed system call, or a sentence if the lock holds something else.
pub fn record(lock: &File) -> io::Result<Option<ScopeRecord>> {
    let mut text = Vec::new();
    lock.take(MAX_LOCK).read_to_end(&mut text)?;
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| io::Error::other(format!("its lock is broken: {error}")))
}

/// Reads what a lock says. If the lock is new, first writes a record into it.
fn settle(lock: &File, scope: &str) -> io::Result<ScopeRecord> {
    if let Some(record) = record(lock)? {
        return Ok(record);
    }
    let record = ScopeRecord { scope: scope.to_owned(), created_at_ms: guard_openclaw::clock::now_ms() };
    // Two guards may write at once, each a text of the same length.
    lock.write_all_at(&serde_json::to_vec(&record)?, 0)?;
    Ok(record)
}
