//! Where things are on this host: found once, at the start.

use std::env;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{self, Stores};
use guard_openclaw::gateway;
use guard_openclaw::real_path::real;
use guard_policy::{Gateway, Host, PersistenceSites, Policy, known};

use super::SetupError;
use crate::audit;
use crate::config::options::Options;
use crate::config::persistence_sites;
use crate::config::realpath::Links;

/// Where things are on this host.
#[derive(Clone, Debug)]
pub struct Paths {
    /// What `~` means.
    pub home: PathBuf,
    /// OpenClaw's state directory.
    pub state: PathBuf,
    /// OpenClaw's key of the session that starts the guard: by the command line, or as OpenClaw 2026.7.35 tells the
    /// programs that it runs agents in.
    pub session_key: Option<String>,
    /// Its real path at the start, for the same reason as `policy_file`.
    pub state_directory: PathBuf,
    /// The policy's file as it is named, whether or not it exists.
    pub policy: PathBuf,
    /// Its real path at the start. Read again it is read there: a link on the way to it may be the tree's by then.
    pub policy_file: PathBuf,
    /// Whether it was named on the command line: then it must exist.
    pub policy_named: bool,
    /// The audit log, as the command line says, or where it is by default.
    audit: PathBuf,
    /// Whether it was named on the command line.
    audit_named: bool,
    /// The real path of the current directory.
    pub cwd: PathBuf,
    /// Where OpenClaw's gateway listens.
    pub(super) gateway: Gateway,
    /// What no policy may open to the tree: OpenClaw's state and configuration, the policy, the audit log.
    pub(super) always_denied: Vec<Vec<u8>>,
    /// The real directories of `PATH` at the start.
    pub(super) path_dirs: Vec<Vec<u8>>,
    /// The real directories for temporary files at the start.
    pub(super) temp_dirs: Vec<Vec<u8>>,
    /// What else says where something would run by itself, at the start.
    pub(super) premises: PersistenceSites,
}

impl Paths {
    /// Looks at the environment: OPENCLAW_HOME, HOME, OPENCLAW_STATE_DIR.
    ///
    /// # Errors
    /// When there is no home or no current directory.
    pub fn find(options: &Options) -> Result<Paths, SetupError> {
        let home = options
            .home
            .clone()
            .or_else(|| directory("OPENCLAW_HOME"))
            .or_else(|| directory("HOME"))
            .or_else(|| {
                nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.dir)
            })
            .ok_or(SetupError::NoHome)?;
        // Patterns are compared with real paths, and most of them start here.
        let home = real(&std::path::absolute(home).map_err(SetupError::NoDirectory)?);
        let state = directory("OPENCLAW_STATE_DIR").unwrap_or_else(|| home.join(".openclaw"));
        let policy = options.policy.clone().unwrap_or_else(|| state.join("guard.json"));
        let config = gateway::config(&state);
        let links = Links::default();
        let named = directory("TMPDIR").filter(|dir| {
            known::may_be_temporary(real(dir).as_os_str().as_bytes(), home.as_os_str().as_bytes())
        });
        let cwd = env::current_dir().and_then(|cwd| cwd.canonicalize()).map_err(SetupError::NoDirectory)?;
        let mut places = Paths {
            policy_file: real(&std::path::absolute(&policy).map_err(SetupError::NoDirectory)?),
            state_directory: real(&std::path::absolute(&state).map_err(SetupError::NoDirectory)?),
            session_key: options
                .session_key
                .clone()
                .or_else(|| env::var("OPENCLAW_MCP_SESSION_KEY").ok())
                .filter(|key| !key.is_empty()),
            policy_named: options.policy.is_some(),
            policy,
            audit_named: options.audit.is_some(),
            audit: options.audit.clone().unwrap_or_else(|| state.join("guard/audit.jsonl")),
            gateway: gateway::find(&config),
            always_denied: Vec::new(),
            path_dirs: real_directories(&links, env::split_paths(&env::var_os("PATH").unwrap_or_default())),
            temp_dirs: real_directories(&links, ["/tmp".into(), "/var/tmp".into()].into_iter().chain(named)),
            premises: persistence_sites::find(&links, &cwd, &home),
            cwd,
            home,
            state,
        };
        let copies = gateway::copies(&config);
        let new = temporary(&places.policy_file);
        let own = [&places.state, &config, &places.policy].into_iter().chain(&copies);
        // In the state directory it is denied with all else there.
        let new = Some(&new).filter(|new| !new.starts_with(&places.state_directory));
        places.always_denied = both_forms(&own.chain(new).collect::<Vec<_>>());
        Ok(places)
    }

    /// The directories with programs that the built-in policy knows here, as patterns, for work in the directory of this
    /// real path.
    pub fn programs(&self, workspace: &Path) -> Vec<String> {
        let links = Links::default();
        guard_policy::known::programs(&Host {
            path_dirs: self.path_dirs.clone(),
            always_denied: self.always_denied.clone(),
            temp_dirs: self.temp_dirs.clone(),
            realpath: &|path| links.real(path),
            ..Host::bare(self.home.as_os_str().as_bytes(), workspace.as_os_str().as_bytes())
        })
    }

    /// The real directories for temporary files.
    pub fn temp_dirs(&self) -> impl Iterator<Item = &Path> {
        self.temp_dirs.iter().map(|dir| Path::new(std::ffi::OsStr::from_bytes(dir)))
    }

    /// The audit log: where the command line says, else where guard.json does (`audit.path`), else in the state directory.
    pub fn audit(&self, written: Option<&str>) -> PathBuf {
        match written.filter(|_| !self.audit_named) {
            None => self.audit.clone(),
            Some(path) => match path.strip_prefix("~/") {
                Some(rest) => self.home.join(rest),
                None => path.into(),
            },
        }
    }

    /// From now on this is the log, whatever the policy says when it is read again.
    pub fn log_to(&mut self, path: PathBuf) {
        (self.audit, self.audit_named) = (path, true);
    }

    /// Keeps more files from the tree, whatever a policy says.
    pub fn deny(&mut self, paths: &[PathBuf]) {
        self.always_denied.extend(both_forms(&paths.iter().collect::<Vec<_>>()));
    }

    /// Keeps from the tree what the policy in force and the stores keep from it.
    pub fn close(&mut self, policy: &Policy, stores: &Stores) {
        self.always_denied = self.denied_with(&stores.openclaw, policy.audit().path.as_deref());
        if let Some(Ok(token)) = policy.gateway_token() {
            self.always_denied.push(token.to_vec());
        }
    }

    /// What no policy may open to the tree: the log and what is beside it, and wherever OpenClaw's store has the socket of
    /// those who approve, too.
    pub(super) fn denied_with(&self, store: &approvals_store::File, log: Option<&str>) -> Vec<Vec<u8>> {
        let mut denied = self.always_denied.clone();
        let log = self.audit(log);
        denied.extend(both_forms(&[&log, &audit::beside(&log)]));
        let approvals_store::File::Present(reading) = store else { return denied };
        let socket = reading.store.socket_path().and_then(|path| approvals_store::socket(path, &self.home));
        denied.extend(socket.iter().flat_map(|path| both_forms(&[path])));
        denied
    }
}

/// Paths as they are written and as they are.
fn both_forms(paths: &[&PathBuf]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for path in paths {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let real = real(&absolute);
        for path in [absolute, real] {
            let path = path.into_os_string().into_vec();
            if !forms.contains(&path) {
                forms.push(path);
            }
        }
    }
    forms
}

fn directory(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Most of them begin alike, and each name is looked at once.
fn real_directories(links: &Links, paths: impl Iterator<Item = PathBuf>) -> Vec<Vec<u8>> {
    let mut real: Vec<Vec<u8>> = Vec::new();
    for path in paths {
        if let Some(path) = links.real(path.as_os_str().as_bytes())
            && !real.contains(&path)
        {
            real.push(path);
        }
    }
    real
}

/// The file that a new text is written to first, beside the policy by its real path. The guarded tree must not reach it: what is
/// open for writing there is the policy a moment later.
pub fn temporary(policy_file: &Path) -> PathBuf {
    // Another name than text is never written to.
    policy_file.with_file_name(temporary_name(&policy_file.file_name().unwrap_or_default().to_string_lossy()))
}

/// The name of that file.
pub fn temporary_name(name: &str) -> String {
    format!(".{name}.new")
}
