//! The operator's values for a template: the workspace and the directories around it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::text::shown;
use guard_policy::{Policy, Template, TemplateValues, known};
use guard_supervisor::config::Paths;

use super::InitError;

/// The workspace of a new policy.
#[derive(Debug)]
pub struct Workspace {
    /// The real path of the directory that the policy is written for.
    directory: PathBuf,
    /// Whether the policy names this directory; otherwise it names `${workspace}`.
    is_named: bool,
}

impl Workspace {
    /// The named directory, or the one that each run is started in. OpenClaw starts runs in a directory that
    /// the agent chooses, so the policy of the template openclaw always names one.
    ///
    /// # Errors
    /// When it does not exist or is not a directory.
    pub fn find(paths: &Paths, template: Template, named: Option<&Path>) -> Result<Workspace, InitError> {
        let Some(named) = named else {
            return Ok(Workspace { directory: paths.cwd.clone(), is_named: template == Template::Openclaw });
        };
        let real = named
            .canonicalize()
            .and_then(|path| if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) });
        let path = named.to_owned();
        let named = |directory| Workspace { directory, is_named: true };
        real.map(named).map_err(|error| InitError::NoWorkspace { path, error })
    }

    /// Its path, if the policy names it.
    pub fn named(&self) -> Option<&Path> {
        self.is_named.then_some(&*self.directory)
    }

    /// Describes the workspace in words; for `${workspace}`, also the directory that it stands for here.
    pub fn place(&self, policy: &Policy) -> String {
        match (self.named(), policy.workspace()) {
            (Some(directory), _) => shown(directory.as_os_str().as_bytes()),
            (None, Some(here)) => {
                format!("the project that it is started in (${{workspace}}), here {}", shown(here))
            }
            (None, None) => "the project that it is started in (${workspace})".to_owned(),
        }
    }

    /// Checks that an agent may be given the whole workspace. `${workspace}` is checked at each start.
    ///
    /// # Errors
    /// When an agent may not be given the workspace.
    pub fn check(&self, paths: &Paths) -> Result<(), InitError> {
        let Some(directory) = self.named() else { return Ok(()) };
        let path = directory.to_owned();
        if paths.home.starts_with(directory) {
            return Err(InitError::Home(path));
        }
        if pattern(directory, paths).is_none() {
            return Err(InitError::Unnameable(path));
        }
        let home = paths.home.as_os_str().as_bytes();
        if let Some(secret) = known::secret_in(directory.as_os_str().as_bytes(), home) {
            return Err(InitError::Secrets { path, secret });
        }
        match paths.programs_in(directory) {
            Some(pattern) => Err(InitError::Programs { path, pattern }),
            None => Ok(()),
        }
    }

    /// The values for a template; empty for a workspace that no pattern can express, which [`Workspace::check`]
    /// refuses.
    pub fn values(&self, paths: &Paths) -> TemplateValues {
        let pattern = |path: &Path| pattern(path, paths);
        let single = |path: &Path| pattern(path)?.strip_suffix("/**").map(str::to_owned);
        // Each directory for temporary files gets a rule. A path that no pattern can express is still asked about. The home
        // itself is too wide for a first policy.
        let is_workspace = |dir: &Path| self.is_named && dir == self.directory;
        let temporary = paths.temp_dirs().filter(|dir| *dir != paths.home && !is_workspace(dir));
        // `/` is left out: as a pattern it covers everything.
        let above = self.directory.ancestors().skip(1).filter(|dir| dir.parent().is_some());
        let mut above: Vec<String> = match self.is_named {
            true => above.filter_map(single).collect(),
            false => vec!["${above}".to_owned()],
        };
        if !above.iter().any(|dir| dir == "~") {
            above.push("~".to_owned());
        }
        let workspace = match self.is_named {
            true => single(&self.directory).unwrap_or_default(),
            false => "${workspace}".to_owned(),
        };
        TemplateValues {
            workspace,
            programs: paths.programs(&self.directory),
            temporary: temporary.filter_map(pattern).collect(),
            above,
        }
    }
}

fn pattern(path: &Path, paths: &Paths) -> Option<String> {
    known::hierarchy(path.as_os_str().as_bytes(), paths.home.as_os_str().as_bytes())
}
