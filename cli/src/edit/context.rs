//! The policy that is edited, and where it holds.

use std::path::Path;
use std::sync::Arc;

use guard_openclaw::approvals_store::Stores;
use guard_policy::{Draft, Policy, Scope};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError};

use super::EditError;

/// A policy's text as it was found, and all that is needed to see what another one would mean here.
pub struct EditContext {
    options: Options,
    /// Where things are.
    pub places: Paths,
    stores: Stores,
    text: Option<Vec<u8>>,
}

impl EditContext {
    /// Reads the policy that would be in force.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn find(options: &Options) -> Result<EditContext, SetupError> {
        let places = Paths::find(options)?;
        let text = config::read(&places, |path| std::fs::read(path))?;
        let stores = Stores::load(&places.state_directory);
        Ok(EditContext { options: options.clone(), places, stores, text })
    }

    /// The same for another agent.
    pub fn for_agent(self, agent: &str) -> EditContext {
        EditContext { options: Options { agent: agent.to_owned(), ..self.options }, ..self }
    }

    /// The text of guard.json; None where there is none.
    ///
    /// # Errors
    /// When it is no text.
    pub fn text(&self) -> Result<Option<&str>, SetupError> {
        let not_text = |_| SetupError::NotText { path: self.places.policy.clone() };
        self.text.as_deref().map(str::from_utf8).transpose().map_err(not_text)
    }

    /// guard.json to be changed; where there is none, one that says nothing.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn draft(&self) -> Result<Draft, SetupError> {
        match self.text()? {
            Some(text) => Draft::parse(&self.name(), text).map_err(SetupError::Invalid),
            None => Ok(Draft::empty()),
        }
    }

    /// What the policy is called.
    pub fn name(&self) -> String {
        self.places.policy.to_string_lossy().into_owned()
    }

    /// For whom: the agent that the command line names, else everybody.
    pub fn scope(&self) -> Scope {
        match self.options.agent_is_named {
            true => Scope::Agent(self.options.agent.clone()),
            false => Scope::Everyone,
        }
    }

    /// The agent for whom the engine is asked.
    pub fn agent(&self) -> &str {
        &self.options.agent
    }

    /// The home.
    pub fn home(&self) -> &[u8] {
        use std::os::unix::ffi::OsStrExt;
        self.places.home.as_os_str().as_bytes()
    }

    /// What would be in force by this text.
    ///
    /// # Errors
    /// When it cannot be compiled.
    pub fn policy(&self, draft: &Draft) -> Result<Arc<Policy>, SetupError> {
        self.compile(Some(draft.text().as_bytes()))
    }

    /// What is in force.
    ///
    /// # Errors
    /// When it cannot be compiled.
    pub fn in_force(&self) -> Result<Arc<Policy>, SetupError> {
        self.compile(self.text.as_deref())
    }

    fn compile(&self, text: Option<&[u8]>) -> Result<Arc<Policy>, SetupError> {
        config::compile(&self.options, &self.places, Disk::Used, text, &self.stores).map(Arc::new)
    }

    /// Writes the draft, if the policy is still what was read.
    ///
    /// # Errors
    /// As [`super::replace`].
    pub fn write(&self, draft: &Draft) -> Result<(), EditError> {
        let path: &Path = &self.places.policy;
        super::replace(path, self.text.as_deref(), draft.text().as_bytes())
    }
}
