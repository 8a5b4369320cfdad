//! Saving what "always" saves: into OpenClaw's store where there is one, else into the guard's own. Never into
//! guard.json, which is the operator's text.

use std::path::{Path, PathBuf};

use guard_policy::store::{NewEntry, Store};

use super::manager::{Manager, now_ms};
use super::outcome::Save;
use crate::store::{self, UpdateError};

/// Where entries are saved.
#[derive(Clone, Debug)]
pub struct Keeper {
    /// The real path of the state directory.
    state: PathBuf,
}

impl Keeper {
    /// Saves below this state directory, by its real path.
    pub fn new(state: &Path) -> Keeper {
        Keeper { state: state.to_owned() }
    }

    /// Saves an entry and tells the manager's log. Waits for the disk, and for whoever else changes the store.
    ///
    /// # Errors
    /// A sentence for a human. The answer counts all the same, for this time.
    pub fn keep(&self, manager: &Manager, save: &Save) -> Result<String, String> {
        let outcome = self.write(save);
        manager.saved(save, &outcome);
        outcome
    }

    /// The path of the store that has the entry now.
    fn write(&self, save: &Save) -> Result<String, String> {
        let entry = NewEntry::new(&save.entry.pattern).ok_or("the pattern is blank")?;
        let entry = entry.with_arg_pattern(&save.entry.arg_pattern).from_allow_always();
        let add = |store: &mut Store| {
            store.add(&save.agent, entry.clone(), now_ms(), &mut store::new_id);
        };
        let path = match store::apply(&self.state, add) {
            Ok(_) => self.state.join(store::NAME),
            Err(UpdateError::Absent { .. } | UpdateError::Database { .. }) => {
                store::apply_own(&self.state, add).map_err(|error| error.to_string())?;
                store::own(&self.state)
            }
            Err(error) => return Err(error.to_string()),
        };
        Ok(path.to_string_lossy().into_owned())
    }
}
