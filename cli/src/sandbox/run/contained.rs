//! The backends `docker` and `podman`: a container for one command, with the guard in it.
//!
//! The command is `run --rm` and not OpenClaw's `create` and `exec`, so that nothing is left and OpenClaw's own
//! container is not touched. docker or podman is started as the user would start it: the operator's variables
//! for it, such as DOCKER_HOST, count.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{IsTerminal, Write, stdin, stdout};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guard_openclaw::sandbox::WorkspaceAccess;
use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use nix::unistd::{AccessFlags, access};

use super::inner_policy;
use super::places::HeldPlaces;
use crate::sandbox::SandboxError;
use crate::sandbox::container::{Container, OneCommand, POLICY};
use crate::sandbox::question::{SandboxConfig, SessionSandbox};
use crate::sandbox::scratch::Scratch;

/// A file for one run, removed at its end.
struct RunFile {
    path: PathBuf,
}

impl RunFile {
    /// Writes the file.
    fn new(directory: &Path, name: &str, mode: u32, content: &str) -> Result<RunFile, SandboxError> {
        let path = directory.join(format!("{name}-{}", std::process::id()));
        // An earlier process with this number may have left such a file.
        let _ = std::fs::remove_file(&path);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(content.as_bytes())?;
        file.set_permissions(Permissions::from_mode(mode))?;
        Ok(RunFile { path })
    }

    fn text(&self) -> Result<&str, SandboxError> {
        text(&self.path)
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // If this fails, the file is removed with the directory of its scope.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Runs a command in a container of the session's settings.
pub fn run(
    options: &Options,
    config: &SandboxConfig,
    sandbox: &SessionSandbox,
    program: &'static str,
    command: &[OsString],
) -> Result<Exit, SandboxError> {
    if options.observe {
        return Err(SandboxError::Run(guard_supervisor::run::RunError::Observed));
    }
    let found = find(program).ok_or(SandboxError::NotInstalled(program))?;
    let container =
        Container::new(sandbox, 0).map_err(|error| SandboxError::Refused(vec![error.to_string()]))?;
    has_image(&found, program, container.image())?;
    make_workspace(sandbox)?;
    let scope = &sandbox.layout.scope_key;
    // Holds the scope's directory, which has the two files, while the container runs.
    let scratch = Scratch::open(&config.paths.state_directory, &sandbox.layout.directory_name(), scope)?;
    let directory = scratch.path.parent().unwrap_or(&scratch.path);
    let policy = inner_policy::text(options, config, sandbox)?;
    // The user in the container is not this one, and must be able to read the policy, which has no secrets.
    let policy = RunFile::new(directory, "policy", 0o644, &policy)?;
    let env_file = RunFile::new(directory, "env", 0o600, &container.env_file())?;
    let guard = std::fs::read_link("/proc/self/exe")?;
    let has_terminal = stdin().is_terminal() && stdout().is_terminal();
    let arguments = arguments(options, sandbox, has_terminal, command)?;
    let argv = container.run(&OneCommand {
        env_file: env_file.text()?,
        guard: text(&guard)?,
        policy: policy.text()?,
        has_terminal,
        arguments: &arguments,
    });
    // Checked once more, because a link may have been made since. The workspace must not be a link either.
    super::refuse(config, sandbox)?;
    let _places = HeldPlaces::open(config, sandbox)?;
    let status = Command::new(&found).args(argv).status();
    let _ = scratch.touch();
    let status = status.map_err(|error| SandboxError::Engine { program, problem: error.to_string() })?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Command(u8::try_from(code).unwrap_or(125)),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Failure,
    })
}

/// The arguments of the guard in the container.
fn arguments(
    options: &Options,
    sandbox: &SessionSandbox,
    has_terminal: bool,
    command: &[OsString],
) -> Result<Vec<String>, SandboxError> {
    let agent = if options.agent_is_named { &options.agent } else { &sandbox.session.agent };
    let mut all = vec!["--policy".to_owned(), POLICY.to_owned(), "--agent".to_owned(), agent.clone()];
    all.push("--kill-on-exit".to_owned());
    if options.quiet {
        all.push("--quiet".to_owned());
    }
    // Nobody outside of the container can answer.
    if options.unattended || !has_terminal {
        all.push("--unattended".to_owned());
    }
    all.push("--".to_owned());
    for word in command {
        all.push(text(Path::new(word))?.to_owned());
    }
    Ok(all)
}

fn text(path: &Path) -> Result<&str, SandboxError> {
    let shown = || shown(path.as_os_str().as_encoded_bytes());
    let problem =
        || SandboxError::Place(format!("{} is not UTF-8, which docker's arguments are: rename it", shown()));
    path.to_str().ok_or_else(problem)
}

fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| path.is_file() && access(path, AccessFlags::X_OK).is_ok();
    env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|at| at.join(program))
        .find(is_program)
}

/// Asks whether an image is there. An image is never pulled: somebody else would decide what is in it.
fn has_image(found: &Path, program: &'static str, image: &str) -> Result<(), SandboxError> {
    let asked = Command::new(found)
        .args([OsStr::new("image"), OsStr::new("inspect"), OsStr::new("--format={{.Id}}"), OsStr::new(image)])
        .stdin(Stdio::null())
        .output();
    let asked = asked.map_err(|error| SandboxError::Engine { program, problem: error.to_string() })?;
    if asked.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&asked.stderr).to_lowercase();
    if ["no such image", "no such object", "image not known", "does not exist"]
        .iter()
        .any(|no| said.contains(no))
    {
        return Err(SandboxError::NoImage { program, image: image.to_owned() });
    }
    let first = String::from_utf8_lossy(&asked.stderr).lines().next().unwrap_or("it says nothing").to_owned();
    Err(SandboxError::Engine { program, problem: first })
}

/// Makes the sandbox's own workspace, as OpenClaw does.
fn make_workspace(sandbox: &SessionSandbox) -> Result<(), SandboxError> {
    let SessionSandbox { settings, layout, .. } = sandbox;
    if settings.workspace_access != WorkspaceAccess::Rw {
        DirBuilder::new().recursive(true).mode(0o700).create(&layout.workspace)?;
    }
    Ok(())
}
