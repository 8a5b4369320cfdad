//! The policy text that a subcommand works on.

use std::io::Read;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::Stores;
use guard_policy::{Document, Policy, Problem};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError};

use super::PolicyError;

/// The name for a policy from standard input.
const STDIN: &str = "<stdin>";
/// The name for the policy without a guard.json.
pub const BUILT_IN: &str = "the built-in policy";

/// A policy's text, and the host that it is for.
pub struct PolicyText {
    options: Options,
    pub paths: Paths,
    text: Vec<u8>,
}

impl PolicyText {
    /// Reads `file` (`-` for standard input), or else the policy in force; None for the built-in policy.
    ///
    /// # Errors
    /// When the policy cannot be read.
    pub fn read(options: &Options, file: Option<&Path>) -> Result<Option<PolicyText>, PolicyError> {
        let is_stdin = file == Some(Path::new("-"));
        let mut options = options.clone();
        if let Some(file) = file.filter(|_| !is_stdin) {
            options.policy = Some(file.to_owned());
        }
        let mut paths = Paths::find(&options)?;
        let text = if is_stdin {
            paths.policy = PathBuf::from(STDIN);
            let mut text = Vec::new();
            std::io::stdin().lock().read_to_end(&mut text).map_err(PolicyError::Input)?;
            Some(text)
        } else {
            config::read(&paths, |path| std::fs::read(path))?
        };
        Ok(text.map(|text| PolicyText { options, paths, text }))
    }

    /// The policy's name for messages.
    pub fn name(&self) -> String {
        self.paths.policy.to_string_lossy().into_owned()
    }

    /// The agent that the command line names.
    pub fn agent(&self) -> &str {
        &self.options.agent
    }

    /// The text.
    ///
    /// # Errors
    /// When the text is not UTF-8.
    pub fn text(&self) -> Result<&str, PolicyError> {
        let path = || self.paths.policy.clone();
        str::from_utf8(&self.text).map_err(|_| SetupError::NotText { path: path() }.into())
    }

    /// Parses the document; the inner error lists what is wrong.
    ///
    /// # Errors
    /// When the text is not UTF-8.
    pub fn document(&self) -> Result<Result<Document, Vec<Problem>>, PolicyError> {
        Ok(Document::parse(&self.name(), self.text()?))
    }

    /// Parses a document that must be valid.
    ///
    /// # Errors
    /// When the document is not valid.
    pub fn valid(&self) -> Result<Document, PolicyError> {
        Ok(self.document()?.map_err(SetupError::Invalid)?)
    }

    /// Compiles the policy for one agent. If the disk is not used, the approvals stores are not read either, so that
    /// the result is the same on every machine. If there is no workspace, it is `~/project`.
    ///
    /// # Errors
    /// When the document or the command line is invalid.
    pub fn policy(&self, agent: &str, disk: Disk) -> Result<Policy, PolicyError> {
        let options = Options { agent: agent.to_owned(), ..self.options.clone() };
        let compile = |paths: &Paths, stores: &Stores| {
            config::compile_as_in_a_run(&options, paths, disk, Some(&self.text), stores)
        };
        let stores = match disk {
            Disk::Used => Stores::load(&self.paths.state_directory),
            Disk::Unused => Stores::ABSENT,
        };
        let policy = compile(&self.paths, &stores)?;
        if disk == Disk::Used || policy.workspace().is_some() {
            return Ok(policy);
        }
        // The examples are about some workspace, also in a directory that cannot be one.
        let mut paths = self.paths.clone();
        paths.work_in(&paths.home.join("project"));
        Ok(compile(&paths, &stores)?)
    }
}
