//! The two stores on this machine that hold answers.

use std::path::{Path, PathBuf};

use guard_policy::store::Store;

use super::{File, NAME, UpdateError, apply, apply_own, load, load_own, own};

/// A store that holds answers. The gateway's store is missing here: only the gateway writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerStore {
    /// The guard's own.
    Own,
    /// OpenClaw's `exec-approvals.json`.
    OpenClaw,
}

impl AnswerStore {
    /// Both.
    pub const ALL: [AnswerStore; 2] = [AnswerStore::Own, AnswerStore::OpenClaw];

    /// Returns the store's path.
    pub fn path(self, state: &Path) -> PathBuf {
        match self {
            AnswerStore::Own => own(state),
            AnswerStore::OpenClaw => state.join(NAME),
        }
    }

    /// Reads the store.
    pub fn load(self, state: &Path) -> File {
        match self {
            AnswerStore::Own => load_own(state),
            AnswerStore::OpenClaw => load(state),
        }
    }

    /// Changes the store in one step.
    ///
    /// # Errors
    /// The errors of [`apply`].
    pub fn apply<T>(self, state: &Path, change: impl FnMut(&mut Store) -> T) -> Result<T, UpdateError> {
        match self {
            AnswerStore::Own => apply_own(state, change),
            AnswerStore::OpenClaw => apply(state, change),
        }
    }
}
