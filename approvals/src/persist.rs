//! Saving what "always" saves: entries with OpenClaw's gateway where guard.json has it asked as an administrator, else into
//! OpenClaw's store where there is one, else into the guard's own; rules for files, which OpenClaw's has not, always into
//! that. Never into guard.json, which is the operator's text.

use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{self, UpdateError};
use guard_openclaw::clock::now_ms;
use guard_openclaw::gateway::{SyncThread, Unsaved};
use guard_policy::analysis::BoundEntry;
use guard_policy::approval::{FileRule, Saving};
use guard_policy::store::{NewEntry, Store};

use super::manager::Manager;
use super::outcome::SaveRequest;

/// Where it is saved.
#[derive(Clone, Debug)]
pub struct GrantStore {
    /// The real path of the state directory.
    state: PathBuf,
    follower: Option<SyncThread>,
}

impl GrantStore {
    /// Saves below this state directory, by its real path.
    pub fn new(state: &Path) -> GrantStore {
        GrantStore { state: state.to_owned(), follower: None }
    }

    /// The same, with the gateway's store before those.
    pub fn with_gateway(self, follower: SyncThread) -> GrantStore {
        GrantStore { follower: Some(follower), ..self }
    }

    /// Saves, and tells the manager. Waits for the disk, and for whoever else changes the store.
    ///
    /// # Errors
    /// A sentence for a human. The answer counts all the same, for this time.
    pub fn save(&self, manager: &Manager, save: &SaveRequest) -> Result<String, String> {
        let outcome = self.write(save);
        manager.saved(save, &outcome);
        outcome
    }

    /// The store that has it now, for people.
    fn write(&self, save: &SaveRequest) -> Result<String, String> {
        match &save.saving {
            Saving::Entry(entry) => self.entry(&save.agent, entry),
            Saving::Rule(rule) => Ok(shown(&self.rule(&save.agent, rule)?)),
        }
    }

    fn entry(&self, agent: &str, entry: &BoundEntry) -> Result<String, String> {
        let new = NewEntry::new(&entry.pattern).ok_or("the pattern is blank")?;
        let new = new.with_arg_pattern(&entry.arg_pattern).from_allow_always();
        let added =
            self.follower.as_ref().map_or(Err(Unsaved::Elsewhere), |gateway| gateway.add(agent, &new));
        match added {
            Ok(()) => Ok("the gateway's exec approvals".to_owned()),
            Err(Unsaved::Elsewhere) => Ok(shown(&self.local(agent, &new)?)),
            Err(Unsaved::Failed(why)) => {
                let path = shown(&self.local(agent, &new)?);
                Ok(format!("{path} (not in the gateway's exec approvals: {why})"))
            }
        }
    }

    fn local(&self, agent: &str, new: &NewEntry) -> Result<PathBuf, String> {
        let add = |store: &mut Store| {
            store.add(agent, new.clone(), now_ms(), &mut approvals_store::new_id);
        };
        match approvals_store::apply(&self.state, add) {
            Ok(_) => Ok(self.state.join(approvals_store::NAME)),
            Err(UpdateError::Absent { .. } | UpdateError::Database { .. }) => {
                approvals_store::apply_own(&self.state, add).map_err(|error| error.to_string())?;
                Ok(approvals_store::own(&self.state))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn rule(&self, agent: &str, rule: &FileRule) -> Result<PathBuf, String> {
        let own = approvals_store::own(&self.state);
        let added = approvals_store::apply_own(&self.state, |store| store.add_rule(agent, rule));
        match added.map_err(|error| error.to_string())?.result {
            Some(_) => Ok(own),
            None => Err(format!(
                "{}: something else stands where {rule} would be, in permissions.filesystem.rules of agent {agent}: \
                 repair it first",
                own.display()
            )),
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
