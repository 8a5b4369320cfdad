//! From the command line and the host to a policy.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use guard_policy::approval::GatewayUrl;
use guard_policy::{
    Ask, Document, Gateway, Host, OpenclawStore, Overrides, OwnStore, Policy, Premises, Problem, Security,
};

use crate::cli::Options;
use crate::gateway;
use crate::links::Links;
use crate::premises;
use crate::store::{self, Stores};
use crate::text::shown;

/// What keeps the guard from starting, as a person would say it.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("cannot read the policy {path}: {error}", path = shown(path.as_os_str().as_bytes()))]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("the policy {path} is not UTF-8 text", path = shown(path.as_os_str().as_bytes()))]
    NotText { path: PathBuf },
    #[error("{}", lines(.0))]
    Invalid(Vec<Problem>),
    #[error("no home directory: set HOME, or give --home")]
    NoHome,
    #[error(
        "it takes away what is not held since the start (`openclaw-guard policy show --tiers`): restart the guard, or start it with --tiers broker,floored"
    )]
    TakesFromKernel,
    #[error("the current directory cannot be found: {0}")]
    NoDirectory(std::io::Error),
    #[error("{name}={value}: {expected}", value = shown(value.as_bytes()))]
    Variable { name: &'static str, value: String, expected: &'static str },
}

fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| shown(problem.to_string().as_bytes()))
        .collect::<Vec<_>>()
        .join("\nopenclaw-guard: ")
}

/// Where things are on this host.
#[derive(Clone, Debug)]
pub struct Places {
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
    /// The audit log.
    pub audit: PathBuf,
    /// The real path of the current directory.
    pub cwd: PathBuf,
    /// Where OpenClaw's gateway listens.
    gateway: Gateway,
    /// What no policy may open to the tree: OpenClaw's state and configuration, the policy, the audit log.
    always_denied: Vec<Vec<u8>>,
    /// The real directories of `PATH` at the start.
    path_dirs: Vec<Vec<u8>>,
    /// The real directories for temporary files at the start.
    temp_dirs: Vec<Vec<u8>>,
    /// What else says where something would run by itself, at the start.
    premises: Premises,
}

impl Places {
    /// Looks at the environment: OPENCLAW_HOME, HOME, OPENCLAW_STATE_DIR.
    ///
    /// # Errors
    /// When there is no home or no current directory.
    pub fn find(options: &Options) -> Result<Places, SetupError> {
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
        let cwd = env::current_dir().and_then(|cwd| cwd.canonicalize()).map_err(SetupError::NoDirectory)?;
        let mut places = Places {
            policy_file: real(&std::path::absolute(&policy).map_err(SetupError::NoDirectory)?),
            state_directory: real(&std::path::absolute(&state).map_err(SetupError::NoDirectory)?),
            session_key: options
                .session_key
                .clone()
                .or_else(|| env::var("OPENCLAW_MCP_SESSION_KEY").ok())
                .filter(|key| !key.is_empty()),
            policy_named: options.policy.is_some(),
            policy,
            audit: options.audit.clone().unwrap_or_else(|| state.join("guard/audit.jsonl")),
            gateway: gateway::find(&config),
            always_denied: Vec::new(),
            path_dirs: real_directories(&links, env::split_paths(&env::var_os("PATH").unwrap_or_default())),
            temp_dirs: real_directories(
                &links,
                ["/tmp".into(), "/var/tmp".into()].into_iter().chain(directory("TMPDIR")),
            ),
            premises: premises::find(&links, &cwd, &home),
            cwd,
            home,
            state,
        };
        let copies = gateway::copies(&config);
        let own = [&places.state, &config, &places.policy, &places.audit].into_iter().chain(&copies);
        places.always_denied = both_forms(&own.collect::<Vec<_>>());
        Ok(places)
    }

    /// What no policy may open to the tree: wherever OpenClaw's store has the socket of those who approve, too.
    fn denied_with(&self, store: &store::File) -> Vec<Vec<u8>> {
        let mut denied = self.always_denied.clone();
        let store::File::Present(reading) = store else { return denied };
        let socket = reading.store.socket_path().and_then(|path| store::socket(path, &self.home));
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

/// The real path of something that need not exist: what exists of it is resolved.
pub fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// Whether compiling a policy may look at the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The literal beginnings of patterns are resolved.
    Used,
    /// Patterns are taken as written.
    Unused,
}

/// Reads and compiles the policy.
///
/// # Errors
/// When a file that must be there is not, cannot be read, or is wrong.
pub fn policy(options: &Options, places: &Places, disk: Disk) -> Result<Policy, SetupError> {
    compile(
        options,
        places,
        disk,
        read(places, |path| std::fs::read(path))?.as_deref(),
        &Stores::load(&places.state_directory),
    )
}

/// Compiles the text of a policy, or the policy that holds without one, with the approvals stores.
///
/// # Errors
/// When it is wrong.
pub fn compile(
    options: &Options,
    places: &Places,
    disk: Disk,
    text: Option<&[u8]>,
    stores: &Stores,
) -> Result<Policy, SetupError> {
    let overrides = overrides(options)?;
    let links = Links::default();
    let resolve = |path: &[u8]| {
        // Links of /proc mean whoever asks: resolved here they would mean the guard.
        if path.starts_with(b"/proc/") { Some(path.to_vec()) } else { links.real(path) }
    };
    let leave = |_: &[u8]| None;
    let trail = |path: &[u8]| links.trail(path);
    let as_written = |path: &[u8]| vec![path.to_vec()];
    let text = text
        .map(|text| str::from_utf8(text).map_err(|_| SetupError::NotText { path: places.policy.clone() }))
        .transpose()?;
    let document = text.map(|text| Document::parse(&places.policy.to_string_lossy(), text));
    let document = document.transpose().map_err(SetupError::Invalid)?;
    let asked = document.as_ref().and_then(|document| document.approvals().gateway().url());
    let gateways = store::governing(&stores.gateways, asked.map(GatewayUrl::as_str));
    let host = Host {
        home: places.home.as_os_str().as_bytes(),
        cwd: places.cwd.as_os_str().as_bytes(),
        path_dirs: places.path_dirs.clone(),
        always_denied: places.denied_with(&stores.openclaw),
        temp_dirs: places.temp_dirs.clone(),
        openclaw: openclaw(&stores.openclaw),
        gateways: match &gateways {
            Ok(reading) => OpenclawStore::Present(reading),
            Err(why) => OpenclawStore::Broken(why),
        },
        own: own(&stores.own),
        gateway: places.gateway.clone(),
        premises: places.premises.clone(),
        realpath: if disk == Disk::Used { &resolve } else { &leave },
        trail: if disk == Disk::Used { &trail } else { &as_written },
    };
    match document {
        Some(document) => {
            Policy::compile(&document, &options.agent, &host, &overrides).map_err(SetupError::Invalid)
        }
        None => Ok(Policy::without_file(&options.agent, &host, &overrides)),
    }
}

/// OpenClaw's own store, as the compiler wants it.
fn openclaw(store: &store::File) -> OpenclawStore<'_> {
    match store {
        store::File::Absent => OpenclawStore::Absent,
        store::File::Elsewhere => {
            tracing::info!("OpenClaw keeps its approvals in a database, which is not read");
            OpenclawStore::Absent
        }
        store::File::Present(reading) => OpenclawStore::Present(reading),
        store::File::Broken(line) => OpenclawStore::Broken(line),
    }
}

/// The guard's own store, as the compiler wants it.
fn own(store: &store::File) -> OwnStore<'_> {
    match store {
        store::File::Absent | store::File::Elsewhere => OwnStore::Absent,
        store::File::Present(reading) => OwnStore::Present(reading),
        store::File::Broken(line) => OwnStore::Broken(line),
    }
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

/// The text of the policy, as `content` reads a file; None where there is none and none was named.
///
/// # Errors
/// When it cannot be read.
pub fn read(
    places: &Places,
    content: impl Fn(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<Option<Vec<u8>>, SetupError> {
    match content(&places.policy_file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !places.policy_named => Ok(None),
        Err(error) => Err(SetupError::Unreadable { path: places.policy.clone(), error }),
    }
}

/// The stricter of what the command line and the guard's own environment say.
fn overrides(options: &Options) -> Result<Overrides, SetupError> {
    let variable = |name: &'static str, expected| {
        move |value: OsString| SetupError::Variable {
            name,
            value: value.to_string_lossy().into_owned(),
            expected,
        }
    };
    let mut overrides = Overrides { security: options.exec_security, ask: options.exec_ask };
    if let Some(value) = env::var_os("OC_EXEC_SECURITY") {
        let security = value.to_str().and_then(Security::from_name);
        let security =
            security.ok_or_else(|| variable("OC_EXEC_SECURITY", "one of deny, allowlist, full")(value))?;
        overrides.security = Some(overrides.security.map_or(security, |other| other.min_security(security)));
    }
    if let Some(value) = env::var_os("OC_EXEC_ASK") {
        let ask = value.to_str().and_then(Ask::from_name);
        let ask = ask.ok_or_else(|| variable("OC_EXEC_ASK", "one of off, on-miss, always")(value))?;
        overrides.ask = Some(overrides.ask.map_or(ask, |other| other.max_ask(ask)));
    }
    Ok(overrides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_problem_writes_to_the_terminal_as_it_likes() {
        let path = || PathBuf::from("/x\x1b[31m");
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        for problem in [
            SetupError::Unreadable { path: path(), error },
            SetupError::NotText { path: path() },
            SetupError::Variable { name: "OC_EXEC_ASK", value: "\x1b]0;x\x07".to_owned(), expected: "off" },
        ] {
            assert!(!problem.to_string().contains(char::is_control), "{problem:?}");
        }
    }
}
