//! `sandbox run`

mod contained;
mod enclosed;
mod inner_policy;
mod limits;
mod places;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

use super::SandboxError;
use super::question::{SandboxConfig, SessionSandbox};

/// What runs where.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard sandbox run --backend guard -- npm test\n  \
    openclaw-guard sandbox run --session-key agent:main:cron:1 -- make\n  \
    openclaw-guard --agent work --unattended sandbox run -- sh -c 'ls /workspace'\n\n\
    The settings are those that `sandbox explain` shows. The backend `guard` uses no container:\n\
    the command has the system's files, a directory for its scope (sandbox.scope), and what\n\
    workspaceAccess and binds add, all limited by the policy in force. If openclaw.json gives the\n\
    session no sandbox, the command starts only with --backend guard.\n\n\
    Exit status: the command's; 125 the sandbox is refused, or the guard failed.")]
pub struct RunArgs {
    /// OpenClaw's configuration [default: openclaw.json in its state directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// What runs the command: guard, docker or podman [default: sandbox.backend]
    #[arg(long, value_name = "NAME", value_enum, hide_possible_values = true)]
    backend: Option<Backend>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

/// What runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// The guard, without a container
    Guard,
    /// docker, with the guard in the container
    Docker,
    /// podman, with the guard in the container
    Podman,
}

impl Backend {
    /// The backend that the settings name.
    fn from_settings(sandbox: &SessionSandbox) -> Result<Backend, SandboxError> {
        match &sandbox.settings.backend.to_lowercase()[..] {
            "guard" => Ok(Backend::Guard),
            "docker" => Ok(Backend::Docker),
            "podman" => Ok(Backend::Podman),
            _ => Err(SandboxError::NoContainer(sandbox.settings.backend.clone())),
        }
    }
}

pub fn run(options: &Options, arguments: &RunArgs) -> Result<Exit, SandboxError> {
    let config = SandboxConfig::read(options, arguments.config.as_deref(), None)?;
    let sandbox = config.session(options)?;
    let is_asked_for = arguments.backend == Some(Backend::Guard);
    if !sandbox.session.is_sandboxed(sandbox.settings.mode) && !is_asked_for {
        return Err(SandboxError::NotSandboxed { key: sandbox.session.key.clone(), why: sandbox.why() });
    }
    let backend = arguments.backend.map_or_else(|| Backend::from_settings(&sandbox), Ok)?;
    refuse(&config, &sandbox)?;
    match backend {
        Backend::Guard => enclosed::run(options, &config, &sandbox, &arguments.command),
        Backend::Docker => contained::run(options, &config, &sandbox, "docker", &arguments.command),
        Backend::Podman => contained::run(options, &config, &sandbox, "podman", &arguments.command),
    }
}

/// Refuses what `sandbox check` refuses.
fn refuse(config: &SandboxConfig, sandbox: &SessionSandbox) -> Result<(), SandboxError> {
    let refusals = config.refusals(sandbox)?;
    if refusals.is_empty() { Ok(()) } else { Err(SandboxError::Refused(refusals)) }
}
