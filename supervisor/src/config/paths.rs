//! The paths of this host that the guard uses, found once at the start.

use std::collections::HashSet;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{self, Stores};
use guard_openclaw::gateway;
use guard_openclaw::real_path::real;
use guard_policy::{
    Bases, EarlierRuns, Enclosure, Gateway, Host, PersistenceSites, Policy, Profile, ProjectFile, Workspace,
    known, resolvers,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2, stat};
use rustix::io::Errno;

use super::SetupError;
use crate::audit;
use crate::config::files_of_runs::{self, FilesOfRuns};
use crate::config::options::{Options, ProfileChoice};
use crate::config::path_forms::{both_forms, forms_and_links};
use crate::config::persistence_sites;
use crate::config::planted_links::PlantedLinks;
use crate::config::realpath::Links;
use crate::config::state_directories::{configs, named_by, records, usual_state, usual_states};
use crate::config::trusted_projects;
use crate::config::workspace_record::{self, LostRecord, RunRecord};

/// What is known of other runs: the files that they had, and where they could write.
pub(super) type KnownRuns = (FilesOfRuns, EarlierRuns);

/// The paths of this host, and what was found there at the start.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The directory that `~` stands for.
    pub home: PathBuf,
    /// OpenClaw's state directory.
    pub state: PathBuf,
    /// OpenClaw's key of the session that starts the guard: from the command line, or from the variable that
    /// OpenClaw 2026.7.35 sets for the programs that it runs agents in.
    pub session_key: Option<String>,
    /// The real path of `state` at the start, for the same reason as `policy_file`.
    pub state_directory: PathBuf,
    /// The policy file as named, whether or not it exists.
    pub policy: PathBuf,
    /// The real path of `policy` at the start. Later reads use it: by then the tree may have replaced a link
    /// on the path.
    pub policy_file: PathBuf,
    /// Whether the policy file was named on the command line. Then it must exist.
    pub policy_named: bool,
    /// The audit log, from the command line or by default.
    audit: PathBuf,
    /// Whether the audit log was named on the command line.
    audit_named: bool,
    /// The real path of the current directory.
    pub cwd: PathBuf,
    /// The real path of the directory that the guard is started in, even if an untrusted caller chose it.
    pub start: PathBuf,
    /// The project files that count for the start directory, once they are settled.
    pub(super) projects: Option<Vec<ProjectFile>>,
    /// What `${workspace}` stands for, once that is settled.
    pub(super) workspace: Option<Workspace>,
    /// The profile that is laid over the policy.
    pub(super) profile: Option<Profile>,
    /// The sandbox without a container that the tree runs in.
    pub(super) enclosure: Option<Enclosure>,
    /// Where OpenClaw's gateway listens.
    pub(super) gateway: Gateway,
    /// The name servers at the start.
    pub(super) resolvers: Vec<IpAddr>,
    /// The paths that no policy may open to the tree: OpenClaw's state directory, the one in use and the usual one, its
    /// configuration, and the policy. `close` adds the audit log.
    pub(super) always_denied: Vec<Vec<u8>>,
    /// OpenClaw's configuration, if it is not in the state directory, which is denied as a whole.
    pub(super) copied: Vec<Vec<u8>>,
    /// The policies, logs and state directories of earlier runs.
    pub(super) files_of_runs: FilesOfRuns,
    /// Where earlier runs could write.
    pub(super) earlier_runs: EarlierRuns,
    /// The files with secrets that variables name, each with the variable.
    pub(super) named_secrets: Vec<(String, Vec<u8>)>,
    /// The real directories of `PATH` at the start.
    pub(super) path_dirs: Vec<Vec<u8>>,
    /// The real directories for temporary files at the start.
    pub(super) temp_dirs: Vec<Vec<u8>>,
    /// The sites on this host whose files run programs by themselves, found at the start.
    pub(super) persistence_sites: PersistenceSites,
}

impl Paths {
    /// Finds the paths by the command line and the environment: OPENCLAW_HOME, HOME, OPENCLAW_STATE_DIR.
    ///
    /// # Errors
    /// If there is no home directory or no current directory.
    pub fn find(options: &Options) -> Result<Paths, SetupError> {
        // The kernel's path of the current directory has no links, but a guarded program could have put one there
        // meanwhile.
        let cwd = env::current_dir().map_err(SetupError::NoDirectory)?;
        Paths::find_in(options, is_here(&cwd).map(|()| cwd).map_err(SetupError::NoDirectory)?)
    }

    /// Does as [`Paths::find`], for a guard that is started in this directory.
    ///
    /// # Errors
    /// As [`Paths::find`].
    pub fn find_at(options: &Options, directory: &Path) -> Result<Paths, SetupError> {
        Paths::find_in(options, directory.canonicalize().map_err(SetupError::NoDirectory)?)
    }

    fn find_in(options: &Options, cwd: PathBuf) -> Result<Paths, SetupError> {
        let home = options
            .home
            .clone()
            .or_else(|| named_by("OPENCLAW_HOME"))
            .or_else(|| named_by("HOME"))
            .or_else(|| {
                nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten().map(|user| user.dir)
            })
            .ok_or(SetupError::NoHome)?;
        let named_home = std::path::absolute(home).map_err(SetupError::NoDirectory)?;
        // Patterns are compared with real paths, and most patterns start in the home.
        let home = real(&named_home);
        let state = named_by("OPENCLAW_STATE_DIR").unwrap_or_else(|| home.join(".openclaw"));
        let policy = options.policy.clone().unwrap_or_else(|| state.join("guard.json"));
        let config = gateway::config(&state);
        let configs = configs(&state, &home);
        let links = Links::default();
        let named = named_by("TMPDIR").filter(|dir| {
            known::may_be_temporary(real(dir).as_os_str().as_bytes(), home.as_os_str().as_bytes())
        });
        let state_directory = real(&std::path::absolute(&state).map_err(SetupError::NoDirectory)?);
        let usual = usual_states(&home);
        let record = RunRecord::read(&records(&state_directory, &home));
        let planted = PlantedLinks::new(&links, &record, &cwd, &named_home);
        let is_as_named = |dir: &PathBuf| planted.on_the_way_to(dir.as_os_str().as_bytes()).is_none();
        let start_link = planted.at_start();
        let mut paths = Paths {
            policy_file: real(&std::path::absolute(&policy).map_err(SetupError::NoDirectory)?),
            state_directory,
            session_key: options
                .session_key
                .clone()
                .or_else(|| env::var("OPENCLAW_MCP_SESSION_KEY").ok())
                .filter(|key| !key.is_empty()),
            policy_named: options.policy.is_some(),
            policy,
            audit_named: options.audit.is_some(),
            audit: options.audit.clone().unwrap_or_else(|| state.join("guard/audit.jsonl")),
            start: cwd.clone(),
            projects: None,
            workspace: None,
            profile: match options.profile {
                Some(ProfileChoice::Named(profile)) => Some(profile),
                Some(ProfileChoice::Without) | None => None,
            },
            enclosure: None,
            gateway: configs
                .iter()
                .find(|one| one.file == config)
                .map(|own| gateway::find(&own.read))
                .unwrap_or_default(),
            // If the file is missing or not text, only loopback is asked (resolv.conf(5)).
            resolvers: resolvers(&std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default()),
            always_denied: Vec::new(),
            copied: Vec::new(),
            files_of_runs: FilesOfRuns::default(),
            earlier_runs: record.to_earlier_runs(),
            named_secrets: named_secrets(),
            path_dirs: real_directories(
                &links,
                env::split_paths(&env::var_os("PATH").unwrap_or_default()).filter(is_as_named),
            ),
            temp_dirs: real_directories(
                &links,
                ["/tmp".into(), "/var/tmp".into()].into_iter().chain(named).filter(is_as_named),
            ),
            persistence_sites: PersistenceSites {
                start_link,
                ..persistence_sites::find(&links, &record, &cwd, &home, &configs)
                    .map_err(SetupError::Unread)?
            },
            // Somebody other than the operator chose the current directory, so it must not become the workspace.
            cwd: if options.untrusted_environment { home.clone() } else { cwd },
            home,
            state,
        };
        let copies = gateway::copies(&config);
        let new = temporary(&paths.policy_file);
        // A file that openclaw.json includes is a part of it.
        let included = configs.iter().flat_map(|one| one.read.included());
        let own =
            [&paths.state, &config, &paths.policy].into_iter().chain(&copies).chain(&usual).chain(included);
        // If the temporary file for a new policy is in the state directory, it is denied with that directory.
        let new = Some(&new).filter(|new| !new.starts_with(&paths.state_directory));
        paths.always_denied = both_forms(&own.chain(new).collect::<Vec<_>>());
        let is_apart =
            |path: &Vec<u8>| !Path::new(OsStr::from_bytes(path)).starts_with(&paths.state_directory);
        paths.copied = both_forms(&[&config]).into_iter().filter(is_apart).collect();
        paths.files_of_runs = files_of_runs::read(&paths.records());
        for path in paths.always_denied.iter().chain(paths.named_secrets.iter().map(|(_, path)| path)) {
            links.trail(path);
        }
        // Behind a directory that cannot be searched, something could need protection, and the guard would not know.
        links.shut().map_or(Ok(paths), |shut| Err(shut.into()))
    }

    /// Reads again what files runs had, and where they could write: another guard may have started. If something has
    /// changed, the new state counts from now on, and the former state is returned.
    pub(super) fn look_at_runs(&mut self) -> Option<KnownRuns> {
        let now = (files_of_runs::read(&self.records()), self.runs().to_earlier_runs());
        let is_new = now.0 != self.files_of_runs || now.1 != self.earlier_runs;
        is_new.then(|| self.set_runs(now))
    }

    /// Sets what is known of runs. Returns what was known before.
    pub(super) fn set_runs(&mut self, (files, runs): KnownRuns) -> KnownRuns {
        (mem::replace(&mut self.files_of_runs, files), mem::replace(&mut self.earlier_runs, runs))
    }

    /// Returns what is known of earlier runs.
    pub(super) fn runs(&self) -> RunRecord {
        RunRecord::read(&self.records())
    }

    /// Returns a record of runs that is lost, and why it is lost. Without it, any run may have written anything.
    pub fn lost_record(&self) -> Option<(PathBuf, LostRecord)> {
        workspace_record::lost(&self.records())
    }

    /// Returns the directories with records of runs: this run's state directory, and the usual one if it exists.
    pub fn records(&self) -> Vec<PathBuf> {
        records(&self.state_directory, &self.home)
    }

    /// Returns the first of these symbolic links that a guarded program may have made: under this policy, or in an earlier
    /// run. The caller has followed them: a second look could find others.
    pub fn link_of_tree(&self, policy: &Policy, followed: &[PathBuf]) -> Option<PathBuf> {
        let links = Links::default();
        let record = self.runs();
        let planted = PlantedLinks::new(&links, &record, &self.cwd, &self.home);
        let may_be_trees = |link: &&PathBuf| {
            let path = link.as_os_str().as_bytes();
            policy.writable_unasked(path)
                || !planted.is_trusted(&path.to_vec()) && record.may_be_written(link)
        };
        followed.iter().find(may_be_trees).cloned()
    }

    /// Returns the policy's path as it was named, made absolute, its real path, and each link on the way.
    pub(super) fn policy_forms(&self) -> Vec<Vec<u8>> {
        forms_and_links(&self.policy)
    }

    /// Returns the same forms of the state directory's path.
    pub(super) fn state_forms(&self) -> Vec<Vec<u8>> {
        forms_and_links(&self.state)
    }

    /// Returns the paths of an audit log: as named and real, with the directory beside it. Each run denies those of its
    /// own log.
    pub(super) fn forms_of_log(&self, log: &PathBuf) -> Vec<Vec<u8>> {
        both_forms(&[log, &audit::beside(log)])
    }

    /// Returns OpenClaw's usual state directory.
    pub(super) fn usual_state(&self) -> PathBuf {
        usual_state(&self.home)
    }

    /// Whether a file is the operator's own policy rather than a project's: the policy in force, or that of a state
    /// directory.
    pub(super) fn is_own_policy(&self, file: &Path) -> bool {
        let states = [self.state_directory.clone()].into_iter().chain(usual_states(&self.home));
        // The state directory may be a link.
        let directory = file.parent().map(real);
        real(file) == self.policy_file
            || states.map(|state| Some(real(&state))).any(|state| state == directory)
    }

    /// Returns the program directories of the built-in policy on this host, as patterns. `workspace` is the
    /// real path of the directory to work in.
    pub fn programs(&self, workspace: &Path) -> Vec<String> {
        self.programs_with(self.path_dirs.clone(), workspace)
    }

    fn programs_with(&self, path_dirs: Vec<Vec<u8>>, workspace: &Path) -> Vec<String> {
        let links = Links::default();
        guard_policy::known::programs(&Host {
            path_dirs,
            always_denied: self.always_denied.clone(),
            temp_dirs: self.temp_dirs.clone(),
            realpath: &|path| links.real(path),
            ..Host::bare(self.home.as_os_str().as_bytes(), workspace.as_os_str().as_bytes())
        })
    }

    /// Returns a pattern of programs that are not part of a project, if this directory contains their place.
    pub fn programs_in(&self, directory: &Path) -> Option<String> {
        let home = self.home.as_os_str().as_bytes();
        let is_inside = |pattern: &String| {
            let place = pattern.strip_suffix("/**").unwrap_or(pattern);
            let place = match place.strip_prefix('~') {
                Some(rest) => [home, rest.as_bytes()].concat(),
                None => place.as_bytes().to_vec(),
            };
            Path::new(OsStr::from_bytes(&place)).starts_with(directory)
        };
        // The surroundings of a directory of PATH are above it, so they are inside `directory` only if the directory of
        // PATH is.
        let is_near = |dir: &Vec<u8>| Path::new(OsStr::from_bytes(dir)).starts_with(directory);
        let path_dirs = if self.path_dirs.iter().any(is_near) { self.path_dirs.clone() } else { Vec::new() };
        self.programs_with(path_dirs, directory).into_iter().find(is_inside)
    }

    /// Returns the real paths of guard.json and of the approvals stores.
    pub(super) fn policy_and_stores(&self) -> [PathBuf; 4] {
        let state = &self.state_directory;
        [
            self.policy_file.clone(),
            state.join(approvals_store::NAME),
            approvals_store::own(state),
            approvals_store::gateways(state),
        ]
    }

    /// Returns the files by which the operator changes policies: guard.json, the approvals stores, and OpenClaw's
    /// configuration. A policy also depends on links, owners and other things on the disk.
    pub fn sources(&self) -> Vec<PathBuf> {
        self.policy_and_stores().into_iter().chain([gateway::config(&self.state)]).collect()
    }

    /// Returns the files of projects that count for the start directory, whether they exist or not, and the record of
    /// trusted files.
    pub fn project_sources(&self) -> Vec<PathBuf> {
        let projects = self.start.ancestors().map(|directory| directory.join(ProjectFile::PLACE));
        projects.chain([trusted_projects::file(&self.state_directory)]).collect()
    }

    /// Returns what the patterns of guard.json may begin with, once that is settled.
    pub fn bases(&self) -> Bases<'_> {
        let workspace = self.workspace.as_ref().and_then(|workspace| workspace.root.as_deref());
        Bases { home: self.home.as_os_str().as_bytes(), workspace }
    }

    /// Returns the paths of a run in this directory, a real path, if somebody who is trusted starts the run.
    ///
    /// # Errors
    /// If a directory or file of this user's cannot be read, so that what is protected is not known.
    pub fn at(&self, directory: &Path) -> Result<Paths, SetupError> {
        let (cwd, start) = (directory.to_owned(), directory.to_owned());
        let links = Links::default();
        let runs = self.runs();
        let configs = configs(&self.state, &self.home);
        let found = persistence_sites::find(&links, &runs, directory, &self.home, &configs);
        let persistence_sites = found.map_err(SetupError::Unread)?;
        let earlier_runs = runs.to_earlier_runs();
        let (projects, workspace) = (None, None);
        let paths =
            Paths { cwd, start, persistence_sites, earlier_runs, projects, workspace, ..self.clone() };
        links.shut().map_or(Ok(paths), |shut| Err(shut.into()))
    }

    /// Sets the workspace, without looking for one.
    pub fn work_in(&mut self, directory: &Path) {
        self.workspace = Some(Workspace::at(directory.as_os_str().as_bytes()));
    }

    /// From now on, every policy is compiled for this sandbox.
    pub fn enclose(&mut self, enclosure: Enclosure) {
        self.enclosure = Some(enclosure);
    }

    /// Returns the sandbox that policies are compiled for.
    pub fn enclosure(&self) -> Option<&Enclosure> {
        self.enclosure.as_ref()
    }

    /// Returns the real directories for temporary files.
    pub fn temp_dirs(&self) -> impl Iterator<Item = &Path> {
        self.temp_dirs.iter().map(|dir| Path::new(std::ffi::OsStr::from_bytes(dir)))
    }

    /// Returns the audit log: from the command line, else from guard.json (`audit.path`, here `written`),
    /// else the default in the state directory.
    pub fn audit(&self, written: Option<&str>) -> PathBuf {
        match written.filter(|_| !self.audit_named) {
            None => self.audit.clone(),
            Some(path) => match path.strip_prefix("~/") {
                Some(rest) => self.home.join(rest),
                None => path.into(),
            },
        }
    }

    /// Fixes the path of the audit log, so that a re-read policy cannot move it.
    pub fn log_to(&mut self, path: PathBuf) {
        (self.audit, self.audit_named) = (path, true);
    }

    /// Denies more files to the tree, whatever a policy says.
    pub fn deny(&mut self, paths: &[PathBuf]) {
        self.always_denied.extend(both_forms(&paths.iter().collect::<Vec<_>>()));
    }

    /// Adds to what every later policy denies the tree: the audit log, the approvals socket and the gateway's
    /// token file that this policy and these stores name.
    pub fn close(&mut self, policy: &Policy, stores: &Stores) {
        self.always_denied = self.denied_with(&stores.openclaw, policy.audit().path.as_deref());
        if let Some(Ok(token)) = policy.gateway_token() {
            self.always_denied.push(token.to_vec());
        }
    }

    /// Returns the paths that no policy may open to the tree, with the audit log, the directory beside it,
    /// and the approvals socket that OpenClaw's store names.
    pub(super) fn denied_with(&self, store: &approvals_store::File, log: Option<&str>) -> Vec<Vec<u8>> {
        let mut denied = self.always_denied.clone();
        denied.extend(self.files_of_runs.closed.iter().chain(&self.files_of_runs.configs).cloned());
        denied.extend(self.forms_of_log(&self.audit(log)));
        if let approvals_store::File::Present(reading) = store {
            let socket =
                reading.store.socket_path().and_then(|path| approvals_store::socket(path, &self.home));
            denied.extend(socket.iter().flat_map(|path| both_forms(&[path])));
        }
        // This run, too, is in the record from its start on. What it lists must not look like a change of the policy.
        let mut known = HashSet::new();
        denied.retain(|path| known.insert(path.clone()));
        denied
    }
}

/// Checks that a path without links leads to the current directory.
///
/// # Errors
/// The kernel's; ESTALE if it leads to another directory.
fn is_here(cwd: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let found = match openat2(CWD, cwd, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // A kernel or a filter without the call: no tree starts there, and `doctor` says why.
        Err(Errno::NOSYS) => return Ok(()),
        found => found?,
    };
    let [found, here] = [fstat(&found)?, stat(".")?].map(|stat| (stat.st_dev, stat.st_ino));
    if found == here { Ok(()) } else { Err(Errno::STALE.into()) }
}

/// Returns the ticket caches (krb5.conf(5), "ccache types") and the proxy certificates (voms-proxy-init(1)) that
/// variables name.
fn named_secrets() -> Vec<(String, Vec<u8>)> {
    let named = |variable: &str| {
        let value = named_by(variable)?.into_os_string().into_vec();
        let path = [&b"FILE:"[..], b"DIR:"].into_iter().find_map(|kind| value.strip_prefix(kind));
        // Below a directory of tickets, `DIR::FILE` names one file.
        let path = path.unwrap_or(&value).strip_prefix(b":").unwrap_or(path.unwrap_or(&value));
        path.starts_with(b"/").then(|| (variable.to_owned(), path.to_vec()))
    };
    ["KRB5CCNAME", "X509_USER_PROXY"].into_iter().filter_map(named).collect()
}

/// Returns the real paths of the directories that exist. `links` is shared, because most paths have a common prefix:
/// each name is looked up once.
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

/// Returns the file that a new policy is written to before the rename, beside the policy's real path. The
/// guarded tree must not reach it: after the rename, a descriptor that is open for writing there would lead to the
/// policy.
pub fn temporary(policy_file: &Path) -> PathBuf {
    // A lossy name is harmless: a policy whose name is not UTF-8 is never written.
    policy_file.with_file_name(temporary_name(&policy_file.file_name().unwrap_or_default().to_string_lossy()))
}

/// Returns the name of the temporary file for a file of this name.
pub fn temporary_name(name: &str) -> String {
    format!(".{name}.new")
}
