//! The input of all subcommands: openclaw.json, and the session in question.

use std::path::{Path, PathBuf};

use guard_openclaw::gateway::{self, Config};
use guard_openclaw::sandbox::{
    BindCheck, ContainerArgs, ContainerIdentity, HostDisk, OpenclawDirectories, SandboxLayout, SandboxMode,
    SandboxRefusal, SandboxSession, SandboxSettings, SettingError, check, is_listed, unknown_keys,
    unresolved,
};
use guard_policy::text::shown;
use guard_policy::tools::Release;
use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;
use serde_json::Value;

use super::SandboxError;
use super::host::{blocked_paths, directories};

/// OpenClaw's configuration, on this machine.
pub struct SandboxConfig {
    /// The file, for display.
    pub file: String,
    /// Its content.
    pub content: Value,
    /// The release that it is for.
    pub release: Release,
    /// The paths of this machine.
    pub paths: Paths,
    directories: OpenclawDirectories,
}

/// One session's sandbox.
pub struct SessionSandbox {
    pub session: SandboxSession,
    pub settings: SandboxSettings,
    pub layout: SandboxLayout,
}

impl SandboxConfig {
    /// Reads `file`, by default openclaw.json. Reads it as `release` does, by default as the release that has
    /// written it.
    pub fn read(
        options: &Options,
        file: Option<&Path>,
        release: Option<Release>,
    ) -> Result<SandboxConfig, SandboxError> {
        let paths = Paths::find(options)?;
        let path = file.map_or_else(|| gateway::config(&paths.state), PathBuf::from);
        let config = Config::read(&path);
        if let Some(problem) = config.problem() {
            return Err(SandboxError::Unreadable(problem.clone()));
        }
        let Some(content) = config.content().cloned() else { return Err(SandboxError::NoFile(config.file)) };
        let directories = directories(&paths);
        let written_by = config.text("meta.lastTouchedVersion");
        let release = release.unwrap_or_else(|| Release::that_wrote(written_by));
        let read = SandboxConfig { file: config.file, content, release, paths, directories };
        unresolved(&read.content).map_or(Ok(()), |error| Err(read.wrong(error)))?;
        Ok(read)
    }

    /// The session that the command line asks about.
    pub fn session(&self, options: &Options) -> Result<SessionSandbox, SandboxError> {
        let agent = options.agent_is_named.then_some(&options.agent[..]);
        let key = self.paths.session_key.as_deref();
        let session =
            SandboxSession::new(&self.content, key, agent).map_err(|problem| self.wrong(problem))?;
        if agent.is_some() && !is_listed(&self.content, &session.agent).map_err(|error| self.wrong(error))? {
            return Err(self.wrong(format!("there is no agent {:?} in it", session.agent)));
        }
        self.sandbox(session)
    }

    /// The main session of an agent.
    pub fn agent(&self, id: &str) -> Result<SessionSandbox, SandboxError> {
        let session = SandboxSession::new(&self.content, None, Some(id));
        self.sandbox(session.map_err(|problem| self.wrong(problem))?)
    }

    fn sandbox(&self, session: SandboxSession) -> Result<SessionSandbox, SandboxError> {
        let settings =
            SandboxSettings::for_agent(&self.content, &session.agent).map_err(|error| self.wrong(error))?;
        let layout = SandboxLayout::new(&self.content, &settings, &session, &self.directories, self.release)
            .map_err(|error: SettingError| self.wrong(error))?;
        Ok(SessionSandbox { session, settings, layout })
    }

    /// An error in the file.
    pub fn wrong(&self, problem: impl ToString) -> SandboxError {
        SandboxError::Setting { file: self.file.clone(), problem: shown(problem.to_string().as_bytes()) }
    }

    /// Every reason not to make the container: what OpenClaw or the guard refuses, variables that docker could not read, and
    /// keys that OpenClaw does not know.
    pub fn refusals(&self, sandbox: &SessionSandbox) -> Result<Vec<String>, SandboxError> {
        let unknown =
            unknown_keys(&self.content, &sandbox.session.agent).map_err(|error| self.wrong(error))?;
        let unknown = unknown.into_iter().map(|key| format!("{key}: OpenClaw does not know this key"));
        let refused = self.refusal(sandbox).map(|refusal| refusal.to_string());
        let variables = sandbox.container_args(0).variable_problem().map(|error| error.to_string());
        Ok(refused.into_iter().chain(variables).chain(unknown).collect())
    }

    /// An absolute path of openclaw.json, with the links on the way to the home and to the state directory resolved:
    /// those links are the operator's.
    pub fn real_place(&self, path: &str) -> PathBuf {
        let OpenclawDirectories { home, state, .. } = &self.directories;
        let path = Path::new(path);
        for (named, real) in [(state, &self.paths.state_directory), (home, &self.paths.home)] {
            if let Ok(rest) = path.strip_prefix(named) {
                return if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) };
            }
        }
        path.to_owned()
    }

    /// What OpenClaw refuses when it makes the container. OpenClaw then accepts only sources below the
    /// session's workspaces.
    pub fn refusal(&self, sandbox: &SessionSandbox) -> Option<SandboxRefusal> {
        let docker = &sandbox.settings.docker;
        let roots = vec![sandbox.layout.workspace.clone(), sandbox.layout.agent_workspace.clone()];
        let host = BindCheck::new(blocked_paths(&self.paths.home), &HostDisk);
        let binds = docker.binds.clone().unwrap_or_default();
        check(&host, &binds, &docker.bind_rules(roots), &docker.isolation()).err()
    }
}

impl SessionSandbox {
    /// Why the session runs in a sandbox, or not.
    pub fn why(&self) -> &'static str {
        match (self.settings.mode, self.session.is_main) {
            (SandboxMode::Off, _) => "mode is off",
            (SandboxMode::NonMain, true) => "mode is non-main, and this is its agent's main session",
            (SandboxMode::NonMain, false) => "mode is non-main, and this is not its agent's main session",
            (SandboxMode::All, _) => "mode is all",
        }
    }

    /// The arguments by which OpenClaw would make its container, up to the mounts.
    pub fn container_args(&self, created_at_ms: u64) -> ContainerArgs {
        let identity = ContainerIdentity {
            name: &self.layout.container,
            scope_key: &self.layout.scope_key,
            created_at_ms,
        };
        ContainerArgs::new(&self.settings.docker, &identity)
    }

    /// Whether its backend makes containers on this machine.
    pub fn has_container(&self) -> bool {
        matches!(&self.settings.backend.to_lowercase()[..], "docker" | "podman")
    }
}
