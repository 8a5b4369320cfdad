//! The arguments with which docker or podman makes the container of a session: OpenClaw's, and those of a command that
//! runs in a container of its own.

use guard_openclaw::sandbox::{ContainerArgs, ContainerIdentity, MountOrigin, VariableError};

use super::question::SessionSandbox;

/// Where a container has the guard's own program.
pub const GUARD: &str = "/usr/local/bin/openclaw-guard";
/// Where a container has the guard's policy.
pub const POLICY: &str = "/usr/local/share/openclaw-guard/guard.json";

/// Where the guard in a container keeps its state and its log, which go with the container. The image's own
/// home may be read-only.
pub const STATE: &str = "/tmp/openclaw-guard";

/// The container of a session.
pub struct Container<'s> {
    sandbox: &'s SessionSandbox,
    made: ContainerArgs,
    binds: Vec<String>,
}

/// What a container for a single command has in addition.
pub struct OneCommand<'r> {
    /// The file with its variables.
    pub env_file: &'r str,
    /// The guard's own program on the host.
    pub guard: &'r str,
    /// The policy on the host.
    pub policy: &'r str,
    /// Whether it has a terminal.
    pub has_terminal: bool,
    /// The arguments of the guard, with the command after `--`.
    pub arguments: &'r [String],
}

impl<'s> Container<'s> {
    /// Computes the container of a session.
    ///
    /// # Errors
    /// If docker could not read a variable.
    pub fn new(sandbox: &'s SessionSandbox, created_at_ms: u64) -> Result<Container<'s>, VariableError> {
        let mut docker = sandbox.settings.docker.clone();
        // OpenClaw puts the mounts after the working directory, and the binds at the end.
        let binds = docker.binds.take().unwrap_or_default();
        let identity = ContainerIdentity {
            name: &sandbox.layout.container,
            scope_key: &sandbox.layout.scope_key,
            created_at_ms,
        };
        let made = ContainerArgs::new(&docker, &identity);
        match made.variable_problem() {
            Some(problem) => Err(problem),
            None => Ok(Container { sandbox, made, binds }),
        }
    }

    /// The names of its variables.
    pub fn names(&self) -> Vec<&str> {
        self.made.env.iter().map(|(name, _)| name).collect()
    }

    /// The file with its variables, as docker reads it.
    pub fn env_file(&self) -> String {
        self.made.env.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    /// OpenClaw's arguments, for a container that waits for commands.
    pub fn create(&self, env_file: &str) -> Vec<String> {
        let mut argv = self.made.argv.clone();
        argv.extend(self.place());
        argv.extend(["--env-file", env_file, self.image(), "sleep", "infinity"].map(str::to_owned));
        argv
    }

    /// The arguments for a container that runs one command, guarded, and is removed when the command ends. It
    /// is isolated as OpenClaw's container is, but has another name, and labels that OpenClaw does not take for
    /// its own.
    pub fn run(&self, one: &OneCommand<'_>) -> Vec<String> {
        let mut argv: Vec<String> = ["run", "--rm", "--pull", "never", "-i"].map(str::to_owned).into();
        argv.extend(one.has_terminal.then(|| "-t".to_owned()));
        argv.push("--init".to_owned());
        let scope = format!("openclaw-guard.scope={}", self.sandbox.layout.scope_key);
        argv.extend(["--label".to_owned(), scope]);
        argv.extend(self.isolation());
        argv.extend(self.place());
        for bind in [format!("{}:{GUARD}:ro", one.guard), format!("{}:{POLICY}:ro", one.policy)] {
            argv.extend(["-v".to_owned(), bind]);
        }
        argv.extend(["--env-file", one.env_file].map(str::to_owned));
        argv.extend(["--env".to_owned(), format!("OPENCLAW_STATE_DIR={STATE}")]);
        argv.extend(["--entrypoint", GUARD, self.image()].map(str::to_owned));
        argv.extend(one.arguments.iter().cloned());
        argv
    }

    /// The image.
    pub fn image(&self) -> &str {
        &self.sandbox.settings.docker.image
    }

    /// OpenClaw's arguments without those that name the container: the subcommand, the name, `--init` and the labels.
    fn isolation(&self) -> Vec<String> {
        let mut left = Vec::new();
        let mut words = self.made.argv.iter().skip(1);
        while let Some(word) = words.next() {
            match &word[..] {
                "--name" | "--label" => drop(words.next()),
                "--init" => {}
                _ => left.push(word.clone()),
            }
        }
        left
    }

    /// The container's working directory, and what it has of the host.
    fn place(&self) -> Vec<String> {
        let SessionSandbox { settings, layout, .. } = self.sandbox;
        let mut argv = vec!["--workdir".to_owned(), settings.docker.workdir.clone()];
        let mounts = layout.mounts(settings);
        let own = mounts.iter().filter(|mount| mount.origin != MountOrigin::Bind).map(|mount| mount.bind());
        for bind in own.chain(self.binds.iter().cloned()) {
            argv.extend(["-v".to_owned(), bind]);
        }
        argv
    }
}
