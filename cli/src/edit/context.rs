//! The policy that is edited, and the agent that it applies to.

use std::path::Path;
use std::sync::Arc;

use guard_openclaw::approvals_store::Stores;
use guard_policy::{Draft, Policy, Scope};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError};

use super::EditError;

/// A policy's text as read, and everything needed to evaluate a changed text on this host.
pub struct EditContext {
    options: Options,
    /// The paths of this host.
    pub paths: Paths,
    stores: Stores,
    text: Option<Vec<u8>>,
}

impl EditContext {
    /// Reads the policy in force.
    ///
    /// # Errors
    /// When the policy cannot be read.
    pub fn find(options: &Options) -> Result<EditContext, SetupError> {
        let mut paths = Paths::find(options)?;
        let text = config::read(&paths, |path| std::fs::read(path))?;
        let stores = Stores::load(&paths.state_directory);
        config::settle_projects(options, &mut paths)?;
        config::settle_workspace(options, &mut paths, text.as_deref(), &stores);
        Ok(EditContext { options: options.clone(), paths, stores, text })
    }

    /// The same context for another agent.
    pub fn for_agent(self, agent: &str) -> EditContext {
        EditContext { options: Options { agent: agent.to_owned(), ..self.options }, ..self }
    }

    /// The text of guard.json; None where there is none.
    ///
    /// # Errors
    /// When the text is not UTF-8.
    pub fn text(&self) -> Result<Option<&str>, SetupError> {
        let not_text = |_| SetupError::NotText { path: self.paths.policy.clone() };
        self.text.as_deref().map(str::from_utf8).transpose().map_err(not_text)
    }

    /// A draft of guard.json; an empty policy if there is none.
    ///
    /// # Errors
    /// The errors in the policy.
    pub fn draft(&self) -> Result<Draft, SetupError> {
        match self.text()? {
            Some(text) => Draft::parse(&self.name(), text).map_err(SetupError::Invalid),
            None => Ok(Draft::empty()),
        }
    }

    /// The policy's name for messages.
    pub fn name(&self) -> String {
        self.paths.policy.to_string_lossy().into_owned()
    }

    /// The scope to edit: the agent that the command line names, or everyone if it names none.
    pub fn scope(&self) -> Scope {
        match self.options.agent_is_named {
            true => Scope::Agent(self.options.agent.clone()),
            false => Scope::Everyone,
        }
    }

    /// The agent that the policy is evaluated for.
    pub fn agent(&self) -> &str {
        &self.options.agent
    }

    /// The home.
    pub fn home(&self) -> &[u8] {
        use std::os::unix::ffi::OsStrExt;
        self.paths.home.as_os_str().as_bytes()
    }

    /// Compiles the draft.
    ///
    /// # Errors
    /// When the draft does not compile.
    pub fn policy(&self, draft: &Draft) -> Result<Arc<Policy>, SetupError> {
        self.compile(Some(draft.text().as_bytes()))
    }

    /// Compiles the policy in force.
    ///
    /// # Errors
    /// When the policy does not compile.
    pub fn in_force(&self) -> Result<Arc<Policy>, SetupError> {
        self.compile(self.text.as_deref())
    }

    fn compile(&self, text: Option<&[u8]>) -> Result<Arc<Policy>, SetupError> {
        config::compile_as_in_a_run(&self.options, &self.paths, Disk::Used, text, &self.stores).map(Arc::new)
    }

    /// Writes the draft, if the policy is still the text that was read.
    ///
    /// # Errors
    /// The errors of [`super::replace`].
    pub fn write(&self, draft: &Draft) -> Result<(), EditError> {
        let path: &Path = &self.paths.policy;
        super::replace(path, self.text.as_deref(), draft.text().as_bytes())
    }
}
