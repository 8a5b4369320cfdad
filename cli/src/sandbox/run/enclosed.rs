//! The backend `guard`: the ordinary guard, under a policy that the sandbox's settings narrow. There is no container.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use guard_openclaw::sandbox::{SandboxMode, WorkspaceAccess};
use guard_policy::Enclosure;
use guard_policy::environment::{Inherit, Variable, inherited};
use guard_policy::text::shown;
use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use guard_supervisor::run;

use super::limits::{self, KeptLimits};
use super::places::HeldPlaces;
use crate::sandbox::SandboxError;
use crate::sandbox::question::{SandboxConfig, SessionSandbox};
use crate::sandbox::scratch::Scratch;
use crate::web_proxy;

/// Where the system has its programs.
const PROGRAM_DIRECTORIES: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Below these a sandbox may start programs.
const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/opt", "/snap", "/nix/store", "/gnu/store"];

/// Runs a command in the sandbox of a session.
pub fn run(
    options: &Options,
    config: &SandboxConfig,
    sandbox: &SessionSandbox,
    command: &[OsString],
) -> Result<Exit, SandboxError> {
    let SessionSandbox { session, settings, layout } = sandbox;
    let KeptLimits { limits, dropped } =
        limits::kept(&settings.docker).map_err(|problem| config.wrong(problem))?;
    let scratch = Scratch::open(&config.paths.state_directory, &layout.directory_name(), &layout.scope_key)?;
    let places = HeldPlaces::open(config, sandbox)?;
    // Checked once more, because a link may have been made since.
    super::refuse(config, sandbox)?;
    let start = places.workspace.as_ref().map_or(&scratch.files, |workspace| &workspace.descriptor);
    rustix::process::fchdir(start).map_err(|error| {
        SandboxError::Place(format!(
            "the sandbox's start directory cannot be entered ({error}): look at its mode"
        ))
    })?;
    let mut paths = Paths::find(options)?;
    let expected = places.workspace.as_ref().map_or(&scratch.path, |workspace| &workspace.path);
    if !options.untrusted_environment && paths.cwd != *expected {
        let path = shown(expected.as_os_str().as_bytes());
        return Err(SandboxError::Place(format!("{path} was moved while the sandbox started: start again")));
    }
    let has_network = settings.docker.network.trim() != "none";
    paths.enclose(Enclosure {
        own: scratch.path.as_os_str().as_bytes().to_vec(),
        places: places.enclosed(),
        has_network,
        limits,
    });
    let mut options = options.clone();
    if !options.agent_is_named {
        options.agent.clone_from(&session.agent);
    }
    if !options.quiet {
        announce(sandbox, &scratch, &dropped);
    }
    let variables = variables(&options, sandbox, &scratch);
    let ended = run::run_enclosed(&options, command, paths, variables, &web_proxy::command());
    // The scope was in use until now: its idle time begins here.
    if let Err(error) = scratch.touch() {
        let path = shown(scratch.path.as_os_str().as_bytes());
        eprintln!(
            "openclaw-guard: cannot set the time of the last use of {path}: {error}; `sandbox prune` may remove it too early"
        );
    }
    Ok(ended?)
}

fn announce(sandbox: &SessionSandbox, scratch: &Scratch, dropped: &[&str]) {
    let SessionSandbox { session, settings, layout } = sandbox;
    let workspace = match settings.workspace_access {
        WorkspaceAccess::None => "none".to_owned(),
        WorkspaceAccess::Ro => format!("{} (ro)", shown(layout.agent_workspace.as_bytes())),
        WorkspaceAccess::Rw => format!("{} (rw)", shown(layout.agent_workspace.as_bytes())),
    };
    let without = match session.is_sandboxed(settings.mode) {
        true => String::new(),
        false if settings.mode == SandboxMode::Off => " (its mode is off)".to_owned(),
        false => " (its mode leaves this session out)".to_owned(),
    };
    eprintln!(
        "openclaw-guard: sandbox without a container{without}: directory {}, workspace {workspace}, network {}",
        shown(scratch.path.as_os_str().as_bytes()),
        shown(settings.docker.network.as_bytes())
    );
    if !dropped.is_empty() {
        eprintln!("openclaw-guard: only a container would have: {}", dropped.join(", "));
    }
}

/// The variables of the command: those that the settings name, and those that lead to the sandbox's own directory.
fn variables(options: &Options, sandbox: &SessionSandbox, scratch: &Scratch) -> Vec<Variable> {
    let made = sandbox.container_args(0);
    let named = made.env.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let own = |name: &str, value: OsString| (name.as_bytes().to_vec(), value.into_vec());
    let (home, temporary) = (scratch.path.clone().into_os_string(), scratch.temporary().into_os_string());
    let mut variables = vec![own("HOME", home), own("PATH", path())];
    variables.extend(["TMPDIR", "TMP", "TEMP"].map(|name| own(name, temporary.clone())));
    // No command gets variables that make programs load other code, whoever sets them.
    let filtered = inherited(named, Inherit::Host);
    if !options.quiet && !filtered.dropped.is_empty() {
        let names: Vec<_> = filtered.dropped.iter().map(|dropped| shown(&dropped.name)).collect();
        eprintln!("openclaw-guard: not passed on from docker.env: {}", names.join(", "));
    }
    for variable in filtered.env {
        variables.retain(|(name, _)| *name != variable.0);
        variables.push(variable);
    }
    variables
}

/// The operator's `PATH`, as far as the sandbox has its directories.
fn path() -> OsString {
    let operators = env::var_os("PATH").unwrap_or_default();
    let is_there = |directory: &std::path::PathBuf| SYSTEM.iter().any(|top| directory.starts_with(top));
    let left: Vec<_> = env::split_paths(&operators).filter(is_there).collect();
    // The directories have no colon, so joining them cannot fail.
    let joined = env::join_paths(left).unwrap_or_default();
    if joined.is_empty() { PROGRAM_DIRECTORIES.into() } else { joined }
}
