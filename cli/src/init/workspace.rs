//! The operator's values for a template: the workspace and the directories around it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::known;
use guard_supervisor::config::Paths;

use super::InitError;
use super::fill::Values;

/// The real path of the workspace.
#[derive(Debug)]
pub struct Workspace(PathBuf);

impl Workspace {
    /// The named directory, or the current one.
    ///
    /// # Errors
    /// When it does not exist or is not a directory.
    pub fn find(paths: &Paths, named: Option<&Path>) -> Result<Workspace, InitError> {
        let Some(named) = named else { return Ok(Workspace(paths.cwd.clone())) };
        let real = named
            .canonicalize()
            .and_then(|path| if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) });
        let path = named.to_owned();
        real.map(Workspace).map_err(|error| InitError::NoWorkspace { path, error })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Checks that an agent may be given the whole workspace.
    ///
    /// # Errors
    /// When it may not.
    pub fn check(&self, paths: &Paths) -> Result<(), InitError> {
        if paths.home.starts_with(&self.0) {
            return Err(InitError::Home(self.0.clone()));
        }
        if pattern(&self.0, paths).is_none() {
            return Err(InitError::Unnameable(self.0.clone()));
        }
        let home = paths.home.as_os_str().as_bytes();
        if let Some(secret) = known::secret_in(self.0.as_os_str().as_bytes(), home) {
            return Err(InitError::Secrets { path: self.0.clone(), secret });
        }
        let is_inside = |pattern: &String| {
            let directory = pattern.strip_suffix("/**").unwrap_or(pattern);
            let directory = match directory.strip_prefix('~') {
                Some(rest) => [home, rest.as_bytes()].concat(),
                None => directory.as_bytes().to_vec(),
            };
            Path::new(std::ffi::OsStr::from_bytes(&directory)).starts_with(&self.0)
        };
        match paths.programs(&self.0).into_iter().find(is_inside) {
            Some(pattern) => Err(InitError::Programs { path: self.0.clone(), pattern }),
            None => Ok(()),
        }
    }

    /// The values for a template; empty for a workspace that no pattern can express, which [`Workspace::check`]
    /// refuses.
    pub fn values(&self, paths: &Paths) -> Values {
        let pattern = |path: &Path| pattern(path, paths);
        let single = |path: &Path| pattern(path)?.strip_suffix("/**").map(str::to_owned);
        let workspace = single(&self.0).unwrap_or_default();
        // One rule for each. What no pattern can express stays a question. The home itself is too wide for a first
        // policy.
        let temporary = paths.temp_dirs().filter(|dir| *dir != paths.home && *dir != self.0);
        // `/` is left out: as a pattern it covers everything.
        let above = self.0.ancestors().skip(1).filter(|dir| dir.parent().is_some());
        let mut above: Vec<String> = above.filter_map(single).collect();
        if !above.iter().any(|dir| dir == "~") {
            above.push("~".to_owned());
        }
        Values {
            workspace,
            programs: paths.programs(&self.0),
            temporary: temporary.filter_map(pattern).collect(),
            above,
        }
    }
}

fn pattern(path: &Path, paths: &Paths) -> Option<String> {
    known::hierarchy(path.as_os_str().as_bytes(), paths.home.as_os_str().as_bytes())
}
