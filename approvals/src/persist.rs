//! Saves "always" answers. Allowlist entries go to OpenClaw's gateway if guard.json lets the guard connect as an
//! administrator, else to OpenClaw's store if there is one, else to the guard's own store. File rules and origins
//! always go to the guard's own store, as OpenClaw has none. Nothing is written to guard.json, which belongs to the
//! operator.

use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{self, UpdateError};
use guard_openclaw::clock::now_ms;
use guard_openclaw::gateway::{SyncThread, Unsaved};
use guard_policy::analysis::BoundEntry;
use guard_policy::approval::{FileRule, Saving};
use guard_policy::store::{Added, NewEntry, Store};

use super::manager::Manager;
use super::outcome::{SaveError, SaveRequest};

/// The stores for "always" answers.
#[derive(Clone, Debug)]
pub struct GrantStore {
    /// The real path of the state directory.
    state: PathBuf,
    sync: Option<SyncThread>,
}

impl GrantStore {
    /// Saves below this state directory, given by its real path.
    pub fn new(state: &Path) -> GrantStore {
        GrantStore { state: state.to_owned(), sync: None }
    }

    /// Tries the gateway's store before the others.
    pub fn with_gateway(self, sync: SyncThread) -> GrantStore {
        GrantStore { sync: Some(sync), ..self }
    }

    /// Saves, and reports the result to the manager. Blocks on the disk, and on other processes that change the store.
    ///
    /// # Errors
    /// [`SaveError`]. The answer still allows this one call.
    pub fn save(&self, manager: &Manager, save: &SaveRequest) -> Result<String, SaveError> {
        let outcome = self.write(save);
        manager.saved(save, &outcome);
        outcome
    }

    /// Writes the entry or rule. Returns the store it went to, for humans.
    fn write(&self, save: &SaveRequest) -> Result<String, SaveError> {
        match &save.saving {
            Saving::Entry(entry) => self.entry(&save.agent, entry),
            Saving::Rule(rule) => Ok(shown(&self.rule(&save.agent, rule)?)),
            Saving::Origin(origin) => Ok(shown(&self.origin(&save.agent, origin)?)),
        }
    }

    fn entry(&self, agent: &str, entry: &BoundEntry) -> Result<String, SaveError> {
        let new = NewEntry::new(&entry.pattern).ok_or(SaveError::BlankPattern)?;
        let new = new.with_arg_pattern(&entry.arg_pattern).from_allow_always();
        let added = self.sync.as_ref().map_or(Err(Unsaved::Elsewhere), |gateway| gateway.add(agent, &new));
        match added {
            Ok(()) => Ok("the gateway's exec approvals".to_owned()),
            Err(Unsaved::Elsewhere) => Ok(shown(&self.local(agent, &new)?)),
            Err(Unsaved::Failed(why)) => {
                let path = shown(&self.local(agent, &new)?);
                Ok(format!("{path} (not in the gateway's exec approvals: {why})"))
            }
        }
    }

    fn local(&self, agent: &str, new: &NewEntry) -> Result<PathBuf, SaveError> {
        let add = |store: &mut Store| {
            store.add(agent, new.clone(), now_ms(), &mut approvals_store::new_id);
        };
        match approvals_store::apply(&self.state, add) {
            Ok(_) => Ok(self.state.join(approvals_store::NAME)),
            Err(UpdateError::Absent { .. } | UpdateError::Database { .. }) => {
                approvals_store::apply_own(&self.state, add)?;
                Ok(approvals_store::own(&self.state))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn rule(&self, agent: &str, rule: &FileRule) -> Result<PathBuf, SaveError> {
        let place = format!("{rule} would be, in permissions.filesystem.rules of agent {agent}");
        self.add_own(place, |store| store.add_rule(agent, rule))
    }

    fn origin(&self, agent: &str, origin: &str) -> Result<PathBuf, SaveError> {
        let place = format!("{origin} would be, in network.web.allowedOrigins of agent {agent}");
        self.add_own(place, |store| store.add_origin(agent, origin))
    }

    /// Adds to the guard's own store what OpenClaw has no place for.
    fn add_own(
        &self,
        place: String,
        add: impl FnMut(&mut Store) -> Option<Added>,
    ) -> Result<PathBuf, SaveError> {
        let own = approvals_store::own(&self.state);
        match approvals_store::apply_own(&self.state, add)? {
            Some(_) => Ok(own),
            None => Err(SaveError::Occupied { store: own, place }),
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
