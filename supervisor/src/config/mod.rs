//! Builds the policy from the command line, the policy file and the host.

pub(crate) mod agent_settings;
pub mod answered_writes;
pub mod environment;
mod files_of_runs;
pub mod followed_names;
mod git_config;
pub(crate) mod git_named_paths;
pub(crate) mod git_repositories;
mod git_values;
mod host_names;
pub mod known_programs;
pub(crate) mod listed_directory;
pub mod node_run;
pub mod options;
mod path_forms;
mod paths;
mod persistence_sites;
mod planted_links;
pub mod profile;
pub mod project_files;
pub mod realpath;
mod record;
pub(crate) mod reload;
mod setup_error;
mod state_directories;
pub mod trusted_projects;
pub mod untrusted_environment;
mod workspace;
mod workspace_record;

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{self, Stores};
use guard_policy::approval::GatewayUrl;
use guard_policy::{Ask, Document, Host, OpenclawStore, Overrides, OwnStore, Policy, Security, Workspace};
use serde_json::json;

use crate::config::followed_names::FollowedNames;
use crate::config::options::Options;
use crate::config::realpath::Links;

pub use files_of_runs::RecordError;
pub use paths::{Paths, temporary, temporary_name};
pub use record::{may_be_log, record_files, record_workspace};
pub use reload::Stamps;
pub use setup_error::SetupError;
pub use workspace_record::LostRecord;

/// Whether compiling a policy may look at the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// The literal prefixes of patterns are resolved.
    Used,
    /// Patterns are taken as written.
    Unused,
}

/// Reads and compiles the policy, as a run under it has it.
///
/// # Errors
/// If a required file is missing, or a file cannot be read or is invalid.
pub fn policy(options: &Options, paths: &Paths, disk: Disk) -> Result<Policy, SetupError> {
    let text = read(paths, |path| std::fs::read(path))?;
    compile_as_in_a_run(options, paths, disk, text.as_deref(), &Stores::load(&paths.state_directory))
}

/// Returns the path of the audit log by the command line and guard.json. Only commands that read the log use it, so an
/// invalid policy is no error here.
///
/// # Errors
/// If there is no home directory, or guard.json cannot be read.
pub fn audit_log(options: &Options) -> Result<PathBuf, SetupError> {
    let paths = Paths::find(options)?;
    let text = read(&paths, |path| std::fs::read(path))?;
    let text = text.and_then(|text| String::from_utf8(text).ok());
    let document = text.and_then(|text| Document::parse("", &text).ok());
    Ok(paths.audit(document.as_ref().and_then(Document::audit_path)))
}

/// As [`compile`], for a question about a run under the policy: what this run may write counts as written by the tree, from
/// its start on.
///
/// # Errors
/// As [`compile`].
pub fn compile_as_in_a_run(
    options: &Options,
    paths: &Paths,
    disk: Disk,
    text: Option<&[u8]>,
    stores: &Stores,
) -> Result<Policy, SetupError> {
    let policy = compile(options, paths, disk, text, stores)?;
    let places = record::places_of_run(options, paths, &policy);
    Ok(policy.with_written(places))
}

/// Compiles the text of a policy, or the built-in policy if there is no text, with the approvals stores.
///
/// # Errors
/// If the policy is invalid.
pub fn compile(
    options: &Options,
    paths: &Paths,
    disk: Disk,
    text: Option<&[u8]>,
    stores: &Stores,
) -> Result<Policy, SetupError> {
    compile_through(&Links::default(), options, paths, disk, text, stores)
}

/// As [`compile`], and returns what was found on the way to the paths of the policy. While a tree runs, `links` knows what was
/// found before.
///
/// # Errors
/// As [`compile`].
pub fn compile_followed(
    links: Links,
    options: &Options,
    paths: &Paths,
    text: Option<&[u8]>,
    stores: &Stores,
) -> Result<(Policy, FollowedNames), SetupError> {
    let policy = compile_through(&links, options, paths, Disk::Used, text, stores)?;
    Ok((policy, FollowedNames::new(links)))
}

fn compile_through(
    links: &Links,
    options: &Options,
    paths: &Paths,
    disk: Disk,
    text: Option<&[u8]>,
    stores: &Stores,
) -> Result<Policy, SetupError> {
    let overrides = overrides(options)?;
    let text = text
        .map(|text| str::from_utf8(text).map_err(|_| SetupError::NotText { path: paths.policy.clone() }))
        .transpose()?;
    let document = text.map(|text| Document::parse(&paths.policy.to_string_lossy(), text));
    let document = document.transpose().map_err(SetupError::Invalid)?;
    let found;
    let projects = match (&paths.projects, disk) {
        (Some(settled), _) => settled,
        (None, Disk::Used) => {
            found = project_files::find(options, paths)?;
            &found
        }
        (None, Disk::Unused) => &Vec::new(),
    };
    with_host(links, paths, disk, document.as_ref(), stores, |host| match &document {
        Some(document) => {
            // A project's file does not decide which directory is the workspace.
            let mut host = host;
            if document.names_workspace() {
                let found = || workspace_of(options, paths, document, &host, &overrides);
                host.workspace = paths.workspace.clone().unwrap_or_else(found);
            }
            host.projects = projects;
            Policy::compile(document, &options.agent, &host, &overrides).map_err(SetupError::Invalid)
        }
        None => Ok(Policy::without_file(&options.agent, &Host { projects, ..host }, &overrides)),
    })?
}

/// Calls `ask` with the host as it is for a document. The host has no workspace yet. Names are looked up in `links`.
///
/// # Errors
/// If something was looked up behind a directory of this user's that cannot be searched.
fn with_host<T>(
    links: &Links,
    paths: &Paths,
    disk: Disk,
    document: Option<&Document>,
    stores: &Stores,
    ask: impl FnOnce(Host<'_>) -> T,
) -> Result<T, SetupError> {
    let resolve = |path: &[u8]| resolved(links, path);
    let unresolved = |_: &[u8]| None;
    let trail = |path: &[u8]| links.trail(path);
    let as_written = |path: &[u8]| vec![path.to_vec()];
    // The files of this run are denied as a whole already.
    let policies = paths.files_of_runs.policies.iter().filter(|path| !paths.always_denied.contains(path));
    // While the operator changes a policy, the new text is in a file of another name.
    let with_new = |path: &Vec<u8>| {
        let new = temporary(Path::new(OsStr::from_bytes(path)));
        [path.clone(), new.into_os_string().into_encoded_bytes()]
    };
    let former_policies = policies.flat_map(with_new).collect();
    let asked = document.and_then(|document| document.approvals().gateway().url());
    let gateways = approvals_store::governing(&stores.gateways, asked.map(GatewayUrl::as_str));
    let gateways = gateways.map_err(|error| error.to_string());
    let asked = ask(Host {
        home: paths.home.as_os_str().as_bytes(),
        cwd: paths.cwd.as_os_str().as_bytes(),
        workspace: Workspace::default(),
        profile: paths.profile,
        path_dirs: paths.path_dirs.clone(),
        always_denied: paths
            .denied_with(&stores.openclaw, document.and_then(|document| document.audit_path())),
        copied: paths.copied.iter().chain(&paths.files_of_runs.configs).cloned().collect(),
        former_policies,
        named_secrets: paths.named_secrets.clone(),
        temp_dirs: paths.temp_dirs.clone(),
        openclaw: openclaw(&stores.openclaw),
        gateways: match &gateways {
            Ok(reading) => OpenclawStore::Present(reading),
            Err(why) => OpenclawStore::Broken(why),
        },
        own: own(&stores.own),
        projects: &[],
        enclosure: paths.enclosure.as_ref(),
        gateway: paths.gateway.clone(),
        resolvers: paths.resolvers.clone(),
        persistence_sites: paths.persistence_sites.clone(),
        realpath: if disk == Disk::Used { &resolve } else { &unresolved },
        trail: if disk == Disk::Used { &trail } else { &as_written },
        earlier_runs: paths.earlier_runs.clone(),
    });
    links.shut().map_or(Ok(asked), |shut| Err(shut.into()))
}

/// Finds the workspace for a policy. `host` has none yet.
fn workspace_of(
    options: &Options,
    paths: &Paths,
    document: &Document,
    host: &Host<'_>,
    overrides: &Overrides,
) -> Workspace {
    let agents = || document.agents().chain([options.agent.as_str()]);
    let lets = |agent: &str, path: &[u8]| {
        // A policy that does not compile counts as one that grants everything; it is refused later.
        Policy::compile(document, agent, host, overrides).map_or(true, |policy| policy.writable_unasked(path))
    };
    workspace::find(options, paths, |path| agents().any(|agent| lets(agent, path)))
}

/// Fixes which projects' files count, and their contents.
///
/// # Errors
/// If one of them cannot be read or is invalid.
pub fn settle_projects(options: &Options, paths: &mut Paths) -> Result<(), SetupError> {
    paths.projects = Some(project_files::find(options, paths)?);
    Ok(())
}

/// Fixes what `${workspace}` stands for, for this policy and for each that is read later. If only a later policy names
/// it, it stands for the start directory.
pub fn settle_workspace(options: &Options, paths: &mut Paths, text: Option<&[u8]>, stores: &Stores) {
    let text = text.and_then(|text| str::from_utf8(text).ok());
    // An invalid policy is refused when it is compiled.
    let document = text.and_then(|text| Document::parse("", text).ok());
    let workspace = match document.filter(Document::names_workspace) {
        Some(document) => {
            let found = with_host(&Links::default(), paths, Disk::Used, Some(&document), stores, |host| {
                workspace_of(options, paths, &document, &host, &Overrides::default())
            });
            // What cannot be looked up is reported when the policy is compiled.
            found.unwrap_or_else(|_| workspace::start(options, paths))
        }
        None => workspace::start(options, paths),
    };
    paths.workspace = Some(workspace);
}

/// Resolves a path from a policy. Paths in /proc stay as written: their links depend on the process that
/// reads them, and here that is the guard.
fn resolved(links: &Links, path: &[u8]) -> Option<Vec<u8>> {
    if path.starts_with(b"/proc/") { Some(path.to_vec()) } else { links.real(path) }
}

/// Calls `ask` with a host that has no approvals stores and no profile of the command, for policies that depend on
/// neither.
pub fn on_host<T>(paths: &Paths, ask: impl FnOnce(&Host<'_>) -> T) -> T {
    let links = Links::default();
    let resolve = |path: &[u8]| resolved(&links, path);
    let trail = |path: &[u8]| links.trail(path);
    let bare = Host::bare(paths.home.as_os_str().as_bytes(), paths.cwd.as_os_str().as_bytes());
    ask(&Host {
        workspace: paths.workspace.clone().unwrap_or_default(),
        path_dirs: paths.path_dirs.clone(),
        always_denied: paths.always_denied.clone(),
        copied: paths.copied.iter().chain(&paths.files_of_runs.configs).cloned().collect(),
        named_secrets: paths.named_secrets.clone(),
        temp_dirs: paths.temp_dirs.clone(),
        gateway: paths.gateway.clone(),
        resolvers: paths.resolvers.clone(),
        persistence_sites: paths.persistence_sites.clone(),
        realpath: &resolve,
        trail: &trail,
        ..bare
    })
}

/// Returns the policy of a learning session: it allows everything that a policy can allow. `gateway` is the URL of the
/// gateway that the policy in force names, which no session may reach.
///
/// # Errors
/// If it cannot be compiled.
pub fn open(options: &Options, paths: &Paths, gateway: Option<&GatewayUrl>) -> Result<Policy, SetupError> {
    let mut open = json!({"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/"]},
        "network": {"connect": {"private": "allow"}},
        "permissions": {"persistence": false, "filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}});
    if let Some(url) = gateway {
        open["approvals"]["gateway"]["url"] = url.to_string().into();
    }
    let document = Document::parse("open", &open.to_string()).map_err(SetupError::Invalid)?;
    let compile = |host: &Host<'_>| Policy::compile(&document, &options.agent, host, &Overrides::default());
    on_host(paths, compile).map_err(SetupError::Invalid)
}

/// Converts OpenClaw's store for the compiler.
fn openclaw(store: &approvals_store::File) -> OpenclawStore<'_> {
    match store {
        approvals_store::File::Absent => OpenclawStore::Absent,
        approvals_store::File::Elsewhere => {
            tracing::info!("OpenClaw keeps its approvals in a database, which is not read");
            OpenclawStore::Absent
        }
        approvals_store::File::Present(reading) => OpenclawStore::Present(reading),
        approvals_store::File::Broken(line) => OpenclawStore::Broken(line),
    }
}

/// Converts the guard's own store for the compiler.
fn own(store: &approvals_store::File) -> OwnStore<'_> {
    match store {
        approvals_store::File::Absent | approvals_store::File::Elsewhere => OwnStore::Absent,
        approvals_store::File::Present(reading) => OwnStore::Present(reading),
        approvals_store::File::Broken(line) => OwnStore::Broken(line),
    }
}

/// Returns the text of the policy, read by `content`; None if the file does not exist and was not named.
///
/// # Errors
/// If it cannot be read.
pub fn read(
    paths: &Paths,
    content: impl Fn(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<Option<Vec<u8>>, SetupError> {
    match content(&paths.policy_file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !paths.policy_named => Ok(None),
        Err(error) => Err(SetupError::Unreadable { path: paths.policy.clone(), error }),
    }
}

/// Variables that the first documents of OpenClaw's policies name, and that change nothing here, each with what to do
/// instead. Whoever sets one of them expects that it counts.
const REFUSED: [(&str, &str); 2] = [
    (
        "OC_TOOL_PROFILE",
        "the guard takes no profile of tools from it; unset it, and write tools.profile in openclaw.json",
    ),
    ("OC_SANDBOX", "the guard takes no sandbox away; unset it, and write sandbox.mode in openclaw.json"),
];

/// Returns the overrides from the command line and the guard's own environment. Where both set one, the stricter
/// counts.
fn overrides(options: &Options) -> Result<Overrides, SetupError> {
    let variable = |name: &'static str, expected| {
        move |value: OsString| SetupError::Variable {
            name,
            value: value.to_string_lossy().into_owned(),
            expected,
        }
    };
    for (name, instead) in REFUSED {
        if let Some(value) = env::var_os(name) {
            return Err(variable(name, instead)(value));
        }
    }
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
