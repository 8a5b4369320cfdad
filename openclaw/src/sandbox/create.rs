//! The arguments with which OpenClaw has docker make a container (src/agents/sandbox/docker.ts and
//! sanitize-env-vars.ts).

use serde_json::Number;

use super::section::NamedValues;
use super::settings::{DockerSettings, DockerSize, Ulimit};
use crate::ecmascript::{double, number, trim};

/// The version of the mounts that a container's label names.
const MOUNT_FORMAT: u32 = 4;
/// The version of these arguments that a container's label names.
const ARGUMENTS_EPOCH: &str = "2026-08-25-container-env-file";
/// Values longer than this, in bytes, are passed on with a warning.
const MAX_VALUE: usize = 32_768;
/// Texts of at least this length, in bytes, that could be base64 are passed on with a warning.
const MIN_BASE64: usize = 80;

/// What identifies a container.
#[derive(Clone, Copy, Debug)]
pub struct ContainerIdentity<'s> {
    /// Its name.
    pub name: &'s str,
    /// Who shares it: `agent:ID…`, a session's key, or `shared`.
    pub scope_key: &'s str,
    /// When it was made, in milliseconds since 1970.
    pub created_at_ms: u64,
}

/// How to make a container.
#[derive(Clone, Debug)]
pub struct ContainerArgs {
    /// The arguments of docker. No value of a variable is among them.
    pub argv: Vec<String>,
    /// The variables of the container, which docker reads from a file.
    pub env: NamedValues<String>,
    /// The names of variables that are left out, because their value holds a NUL.
    pub dropped: Vec<String>,
    /// Variables whose value looks wrong, each with the reason.
    pub suspicious: Vec<String>,
}

impl ContainerArgs {
    /// Makes the arguments, up to the binds. The settings must have been checked.
    pub fn new(docker: &DockerSettings, identity: &ContainerIdentity<'_>) -> ContainerArgs {
        let mut argv: Vec<String> = ["create", "--name", identity.name, "--init"].map(str::to_owned).into();
        let mut add = |option: &str, value: String| argv.extend([option.to_owned(), value]);
        add("--label", "openclaw.sandbox=1".to_owned());
        add("--label", format!("openclaw.sessionKey={}", identity.scope_key));
        add("--label", format!("openclaw.createdAtMs={}", identity.created_at_ms));
        add("--label", format!("openclaw.mountFormatVersion={MOUNT_FORMAT}"));
        add("--label", format!("openclaw.createArgsEpoch={ARGUMENTS_EPOCH}"));
        if docker.read_only_root {
            argv.push("--read-only".to_owned());
        }
        let mut add = |option: &str, value: &str| argv.extend([option.to_owned(), value.to_owned()]);
        let given = |text: &&str| !text.is_empty();
        docker.tmpfs.iter().for_each(|tmpfs| add("--tmpfs", tmpfs));
        Some(&docker.network[..]).filter(given).into_iter().for_each(|network| add("--network", network));
        docker.user.as_deref().filter(given).into_iter().for_each(|user| add("--user", user));
        docker.cap_drop.iter().for_each(|capability| add("--cap-drop", capability));
        add("--security-opt", "no-new-privileges");
        for (name, profile) in [("seccomp", &docker.seccomp_profile), ("apparmor", &docker.apparmor_profile)]
        {
            if let Some(profile) = profile.as_deref().filter(given) {
                add("--security-opt", &format!("{name}={profile}"));
            }
        }
        for (option, list) in [("--dns", &docker.dns), ("--add-host", &docker.extra_hosts)] {
            for entry in list.iter().flatten().filter(|entry| !trim(entry).is_empty()) {
                add(option, entry);
            }
        }
        let limits = [
            ("--pids-limit", docker.pids_limit.as_ref().and_then(positive)),
            ("--memory", docker.memory.as_ref().and_then(size)),
            ("--memory-swap", docker.memory_swap.as_ref().and_then(size)),
            ("--cpus", docker.cpus.as_ref().and_then(positive)),
            ("--gpus", docker.gpus.clone()),
        ];
        for (option, limit) in limits {
            limit.iter().for_each(|limit| add(option, limit));
        }
        for (name, limit) in docker.ulimits.iter().flat_map(NamedValues::iter) {
            ulimit(name, limit).iter().for_each(|limit| add("--ulimit", limit));
        }
        docker.binds.iter().flatten().for_each(|bind| add("-v", bind));
        ContainerArgs { argv, env: NamedValues::new([]), dropped: Vec::new(), suspicious: Vec::new() }
            .with_variables(&docker.env)
    }

    fn with_variables(mut self, env: &NamedValues<String>) -> ContainerArgs {
        for (name, value) in env.iter() {
            let name = trim(name);
            if name.is_empty() {
                continue;
            }
            if value.contains('\0') {
                self.dropped.push(name.to_owned());
                continue;
            }
            let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            if value.len() > MAX_VALUE {
                self.suspicious.push(format!("{name}: Value exceeds maximum length"));
            } else if value.len() >= MIN_BASE64 && value.bytes().all(is_base64) {
                self.suspicious.push(format!("{name}: Value looks like base64-encoded credential data"));
            }
            self.env.insert(name.to_owned(), value.clone());
        }
        self.env.insert("OPENCLAW_CLI".to_owned(), "1".to_owned());
        self
    }

    /// Returns why docker could not read the variables from a file with one variable on each line
    /// (src/infra/container-env-file.ts).
    pub fn variable_problem(&self) -> Option<VariableError> {
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        self.env.iter().find_map(|(name, value)| {
            if !is_name(name) {
                return Some(VariableError::Name(name.to_owned()));
            }
            value.contains(['\r', '\n']).then(|| VariableError::Lines(name.to_owned()))
        })
    }
}

/// Why docker could not read a variable from a file, in OpenClaw's words. Each variant holds the variable's
/// name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// A shell could not set it.
    #[error(
        "Invalid container environment variable name {0:?}; use letters, digits, and underscores \
         without a leading digit."
    )]
    Name(String),
    /// Its value would end the line.
    #[error(
        "Container environment variable {0} must have a single-line value because Docker and Podman \
         --env-file entries are line-delimited."
    )]
    Lines(String),
}

/// Returns a number as text, if it is above zero.
fn positive(value: &Number) -> Option<String> {
    Some(double(value)).filter(|value| *value > 0.0).map(number)
}

fn size(size: &DockerSize) -> Option<String> {
    match size {
        DockerSize::Bytes(bytes) => Some(number(double(bytes))),
        DockerSize::Text(text) => Some(trim(text)).filter(|text| !text.is_empty()).map(str::to_owned),
    }
}

fn ulimit(name: &str, limit: &Ulimit) -> Option<String> {
    let at_least_zero = |value: &Number| number(double(value).max(0.0));
    if trim(name).is_empty() {
        return None;
    }
    let value = match limit {
        Ulimit::Text(text) => Some(trim(text)).filter(|text| !text.is_empty())?.to_owned(),
        Ulimit::Both(value) => at_least_zero(value),
        Ulimit::Each { soft, hard } => match (soft, hard) {
            (Some(soft), Some(hard)) => format!("{}:{}", at_least_zero(soft), at_least_zero(hard)),
            (one, other) => at_least_zero(one.as_ref().or(other.as_ref())?),
        },
    };
    Some(format!("{name}={value}"))
}
