//! Changes a store: a change is made as a whole or not at all, and changes by other writers are detected.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use guard_policy::store::{BaseHash, Store};

use super::directory::{Content, Directory, Owner, StoreKind};
use super::disk::{Disk, Kernel, PRIVATE};
use super::load::{StoreError, parse};
use super::lock::Lock;
use super::{DATABASE, GUARD, NAME, stale};

/// How many times a change is tried. OpenClaw takes no lock, so it may write during each try.
const MAX_TRIES: usize = 16;

/// Why a store was not changed.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// OpenClaw has no store to change.
    #[error(
        "there is no {path}, and the guard does not create it, because newer releases of OpenClaw refuse to run with it. \
         Write the entry into guard.json", path = path.display()
    )]
    Absent {
        /// Where the store would be.
        path: PathBuf,
    },
    /// OpenClaw keeps its approvals in a database, and would not run beside a store.
    #[error(
        "{path} is not written: OpenClaw 2026.8 and newer keep their approvals in {database} beside it, and refuse \
         to run while there is an exec-approvals.json. Write the entry into guard.json, or let OpenClaw's own \
         tools change its approvals", path = path.display(), database = DATABASE
    )]
    Database {
        /// Where the store would be.
        path: PathBuf,
    },
    /// The store's text does not have the format of a store.
    #[error("{0}: the store cannot be read, so nothing is written: repair it first")]
    Broken(#[source] StoreError),
    /// Another writer has changed the store; [`apply`] tries again before it returns this.
    #[error("{path} has changed since it was read: repeat the change", path = path.display())]
    Conflict {
        /// The store.
        path: PathBuf,
    },
    /// The lock file cannot be made, opened or locked.
    #[error("cannot lock {path} for a change: {error}", path = path.display())]
    Lock {
        /// The store to lock.
        path: PathBuf,
        /// Why there is no lock.
        error: io::Error,
    },
    /// A step of reading or replacing the store failed.
    #[error("cannot {step} {path}: {error}", path = path.display())]
    Disk {
        /// The step, in words that precede the path: "write", "look beside".
        step: &'static str,
        /// The store, or the guard's directory if that could not be created.
        path: PathBuf,
        /// Why it failed.
        error: io::Error,
    },
}

/// Changes the store, and returns what the change returns. What another guard or OpenClaw writes meanwhile stays: the
/// change is applied on top of it. A change without effect writes nothing.
///
/// # Errors
/// [`UpdateError::Conflict`] if OpenClaw writes at every attempt.
pub fn apply<T>(state: &Path, change: impl FnMut(&mut Store) -> T) -> Result<T, UpdateError> {
    apply_on(&Kernel, state, change)
}

/// Changes the guard's own store, and creates it if there is none.
///
/// # Errors
/// The errors of [`apply`].
pub fn apply_own<T>(state: &Path, change: impl FnMut(&mut Store) -> T) -> Result<T, UpdateError> {
    apply_in(&Kernel, LockedStore::open_own(state)?, change)
}

/// Does as [`apply`], on the caller's disk.
pub(super) fn apply_on<T>(
    disk: &dyn Disk,
    state: &Path,
    change: impl FnMut(&mut Store) -> T,
) -> Result<T, UpdateError> {
    apply_in(disk, LockedStore::open(state)?, change)
}

fn apply_in<T>(
    disk: &dyn Disk,
    held: LockedStore,
    mut change: impl FnMut(&mut Store) -> T,
) -> Result<T, UpdateError> {
    let mut tries = 1;
    loop {
        match held.replace(disk, held.content()?, &mut change) {
            Err(UpdateError::Conflict { .. }) if tries < MAX_TRIES => tries += 1,
            done => return done,
        }
    }
}

/// A store without entries.
const EMPTY: &[u8] = b"{\"version\": 1}\n";

/// A store's directory, with its lock held.
struct LockedStore {
    directory: Directory,
    _lock: Lock,
}

impl LockedStore {
    fn open(state: &Path) -> Result<LockedStore, UpdateError> {
        let path = state.join(NAME);
        let directory = match Directory::open(state) {
            Ok(Some(directory)) => directory,
            Ok(None) => return Err(UpdateError::Absent { path }),
            Err(error) => return Err(UpdateError::Disk { step: "open the directory of", path, error }),
        };
        match directory.has_database() {
            Ok(false) => {}
            Ok(true) => return Err(UpdateError::Database { path }),
            Err(error) => return Err(UpdateError::Disk { step: "look beside", path, error }),
        }
        LockedStore::lock(directory)
    }

    fn open_own(state: &Path) -> Result<LockedStore, UpdateError> {
        let path = state.join(GUARD);
        let directory = Directory::make_own(state);
        LockedStore::lock(directory.map_err(|error| UpdateError::Disk { step: "make", path, error })?)
    }

    fn lock(directory: Directory) -> Result<LockedStore, UpdateError> {
        match Lock::acquire(&directory) {
            Ok(lock) => Ok(LockedStore { directory, _lock: lock }),
            Err(error) => Err(UpdateError::Lock { path: directory.store(), error }),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.store()
    }

    fn failed(&self, step: &'static str) -> impl FnOnce(io::Error) -> UpdateError {
        let path = self.path();
        move |error| UpdateError::Disk { step, path, error }
    }

    fn content(&self) -> Result<Content, UpdateError> {
        match self.directory.read().map_err(self.failed("read"))? {
            Some(content) => Ok(content),
            None if self.directory.kind() == StoreKind::Guard => {
                let owner = self.directory.owner().map_err(self.failed("look beside"))?;
                Ok(Content { bytes: EMPTY.to_vec(), owner })
            }
            None => Err(UpdateError::Absent { path: self.path() }),
        }
    }

    fn replace<T>(
        &self,
        disk: &dyn Disk,
        content: Content,
        change: impl FnOnce(&mut Store) -> T,
    ) -> Result<T, UpdateError> {
        let Content { bytes, owner } = content;
        let before = BaseHash::new(&bytes);
        let old = parse(&self.path(), bytes, self.directory.kind());
        let old = old.map_err(UpdateError::Broken)?.store;
        let mut store = old.clone();
        let result = change(&mut store);
        if store == old {
            return Ok(result);
        }
        let text = store.to_text();
        stale::remove(disk, &self.directory).map_err(self.failed("look beside"))?;
        let temporary = stale::temporary();
        let written = self.write(disk, &temporary, text.as_bytes(), owner, &before);
        if written.is_err() {
            // Whether or not the rename has happened, the temporary file is of no more use.
            let _ = disk.remove(self.directory.as_fd(), &temporary);
        }
        written.map(|()| result)
    }

    fn write(
        &self,
        disk: &dyn Disk,
        temporary: &str,
        text: &[u8],
        owner: Owner,
        before: &BaseHash,
    ) -> Result<(), UpdateError> {
        let directory = self.directory.as_fd();
        let file = disk.create(directory, temporary).map_err(self.failed("make a file beside"))?;
        disk.own(&file, owner, PRIVATE).map_err(self.failed("keep the owner of"))?;
        disk.write(&file, text).map_err(self.failed("write"))?;
        disk.sync(&file).map_err(self.failed("write"))?;
        // OpenClaw takes no lock. A change that it makes between this check and the rename is lost.
        if BaseHash::new(&self.content()?.bytes) != *before {
            return Err(UpdateError::Conflict { path: self.path() });
        }
        disk.rename(directory, temporary, self.directory.name()).map_err(self.failed("replace"))?;
        disk.sync_directory(directory).map_err(self.failed("be sure of"))
    }
}
