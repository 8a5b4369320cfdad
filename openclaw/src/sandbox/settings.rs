//! The sandbox settings in force for one agent, as OpenClaw computes them from openclaw.json
//! (src/agents/sandbox/config.ts).

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::agents;
use super::section::{Layers, NamedValues, SettingError, SettingSection};
use crate::ecmascript::{double, trim};

/// The longest time that OpenClaw waits for anything, in milliseconds (`resolveTimerTimeoutMs`).
const MAX_TIMEOUT_MS: f64 = 2_147_000_000.0;

/// Which sessions run in a sandbox.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// None.
    Off,
    /// All sessions but the main session of each agent.
    NonMain,
    /// All.
    All,
}

/// Who shares a container.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SandboxScope {
    /// Nobody: each session has its own.
    Session,
    /// The sessions of an agent.
    Agent,
    /// All sessions.
    Shared,
}

/// The container's access to the agent's workspace.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceAccess {
    /// No access: the container has a workspace of its own.
    None,
    /// The container may read the agent's workspace.
    Ro,
    /// The container may change the agent's workspace.
    Rw,
}

/// The settings that are in force for an agent. In JSON they have OpenClaw's keys.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxSettings {
    /// `mode`.
    pub mode: SandboxMode,
    /// `backend`: `docker`, `podman`, `ssh`, or a plugin's.
    pub backend: String,
    /// `scope`.
    pub scope: SandboxScope,
    /// `workspaceAccess`.
    pub workspace_access: WorkspaceAccess,
    /// `workspaceRoot`; if it is absent, OpenClaw's own directory for sandboxes counts.
    #[serde(skip)]
    pub workspace_root: Option<String>,
    /// `docker`.
    pub docker: DockerSettings,
    prune: PruneSettings,
    browser: BrowserSettings,
    ssh: SshSettings,
}

/// How a container is made.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DockerSettings {
    /// `image`.
    pub image: String,
    /// `containerPrefix`: how the names of containers begin.
    pub container_prefix: String,
    /// `workdir`: where the workspace is mounted.
    pub workdir: String,
    /// `readOnlyRoot`.
    pub read_only_root: bool,
    /// `tmpfs`.
    pub tmpfs: Vec<String>,
    /// `network`.
    pub network: String,
    /// `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// `capDrop`.
    pub cap_drop: Vec<String>,
    /// `env`. Its values may be secrets.
    pub env: NamedValues<String>,
    /// `setupCommand`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_command: Option<String>,
    /// `pidsLimit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids_limit: Option<Number>,
    /// `memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<DockerSize>,
    /// `memorySwap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_swap: Option<DockerSize>,
    /// `cpus`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Number>,
    /// `gpus`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<String>,
    /// `ulimits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ulimits: Option<NamedValues<Ulimit>>,
    /// `seccompProfile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp_profile: Option<String>,
    /// `apparmorProfile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apparmor_profile: Option<String>,
    /// `dns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Vec<String>>,
    /// `extraHosts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_hosts: Option<Vec<String>>,
    /// `binds`: the defaults' and the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binds: Option<Vec<String>>,
    /// `dangerouslyAllowReservedContainerTargets`.
    #[serde(rename = "dangerouslyAllowReservedContainerTargets", skip_serializing_if = "Option::is_none")]
    pub allow_reserved_targets: Option<bool>,
    /// `dangerouslyAllowExternalBindSources`.
    #[serde(rename = "dangerouslyAllowExternalBindSources", skip_serializing_if = "Option::is_none")]
    pub allow_external_sources: Option<bool>,
    /// `dangerouslyAllowContainerNamespaceJoin`.
    #[serde(rename = "dangerouslyAllowContainerNamespaceJoin", skip_serializing_if = "Option::is_none")]
    pub allow_container_network: Option<bool>,
}

/// An amount of memory: docker's notation (`512m`), or bytes.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum DockerSize {
    /// As docker writes it.
    Text(String),
    /// Bytes.
    Bytes(Number),
}

/// A limit of a process.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged)]
pub enum Ulimit {
    /// As docker writes it: `1024:2048`.
    Text(String),
    /// One value for both limits.
    Both(Number),
    /// One value for each limit.
    Each {
        /// The limit in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        soft: Option<Number>,
        /// How far the process may raise it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hard: Option<Number>,
    },
}

/// A command, or its lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum SetupCommand {
    Text(String),
    Lines(Vec<String>),
}

impl SetupCommand {
    fn joined(self) -> String {
        match self {
            SetupCommand::Text(text) => text,
            SetupCommand::Lines(lines) => lines.join("\n"),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PruneSettings {
    idle_hours: Number,
    max_age_days: Number,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BrowserSettings {
    enabled: bool,
    image: String,
    container_prefix: String,
    network: String,
    cdp_port: Number,
    #[serde(skip_serializing_if = "Option::is_none")]
    cdp_source_range: Option<String>,
    vnc_port: Number,
    no_vnc_port: Number,
    headless: bool,
    no_vnc_enabled: bool,
    allow_host_control: bool,
    auto_start: bool,
    auto_start_timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    binds: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SshSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    command: String,
    workspace_root: String,
    strict_host_key_checking: bool,
    update_host_keys: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    known_hosts_file: Option<String>,
}

impl SandboxSettings {
    /// Reads the settings for an agent; one that is not listed has the defaults.
    ///
    /// # Errors
    /// A value that OpenClaw could not use, by its key.
    pub fn for_agent(config: &Value, agent: &str) -> Result<SandboxSettings, SettingError> {
        let all = layers(config, agent)?;
        let per_session = all.read::<bool>("perSession")?;
        let scope = all.read("scope")?.unwrap_or(match per_session {
            None => SandboxScope::Agent,
            Some(true) => SandboxScope::Session,
            Some(false) => SandboxScope::Shared,
        });
        // In a container that all agents share, no single agent's settings count.
        let within = |key: &str| -> Result<Layers<'_>, SettingError> {
            let below = all.below(key)?;
            Ok(if scope == SandboxScope::Shared {
                Layers { agent: SettingSection::empty(), ..below }
            } else {
                below
            })
        };
        let backends = [all.agent.read::<String>("backend")?, all.defaults.read("backend")?];
        let mut backends =
            backends.iter().flatten().map(|backend| trim(backend)).filter(|name| !name.is_empty());
        Ok(SandboxSettings {
            mode: all.read("mode")?.unwrap_or(SandboxMode::Off),
            backend: backends.next().unwrap_or("docker").to_owned(),
            scope,
            workspace_access: all.read("workspaceAccess")?.unwrap_or(WorkspaceAccess::None),
            workspace_root: all.read("workspaceRoot")?,
            docker: DockerSettings::read(&within("docker")?)?,
            prune: PruneSettings::read(&within("prune")?)?,
            browser: BrowserSettings::read(&within("browser")?)?,
            ssh: SshSettings::read(&within("ssh")?)?,
        })
    }
}

/// The sandbox sections of the defaults and of an agent.
fn layers<'c>(config: &'c Value, agent: &str) -> Result<Layers<'c>, SettingError> {
    let agent = agents::section(config, agent)?.below("sandbox")?;
    let defaults = SettingSection::new(
        "agents.defaults.sandbox".to_owned(),
        config.pointer("/agents/defaults/sandbox"),
    )?;
    Ok(Layers { agent, defaults })
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

impl DockerSettings {
    fn read(docker: &Layers<'_>) -> Result<DockerSettings, SettingError> {
        let text = |key: &str, default: &str| {
            Ok::<_, SettingError>(docker.read(key)?.unwrap_or_else(|| default.to_owned()))
        };
        // OpenClaw's built-in variables count unless the defaults name some. An agent's variables are added.
        let mut env = NamedValues::new([("LANG".to_owned(), "C.UTF-8".to_owned())]);
        if docker.defaults.value("env").is_some() {
            env = NamedValues::new([]);
        }
        for (name, value) in docker.merged("env")?.iter().flat_map(NamedValues::<String>::iter) {
            env.insert(name.to_owned(), value.clone());
        }
        Ok(DockerSettings {
            image: text("image", "openclaw-sandbox:bookworm-slim")?,
            container_prefix: text("containerPrefix", "openclaw-sbx-")?,
            workdir: text("workdir", "/workspace")?,
            read_only_root: docker.read("readOnlyRoot")?.unwrap_or(true),
            tmpfs: docker.read("tmpfs")?.unwrap_or_else(|| texts(["/tmp", "/var/tmp", "/run"])),
            network: text("network", "none")?,
            user: docker.read("user")?,
            cap_drop: docker.read("capDrop")?.unwrap_or_else(|| texts(["ALL"])),
            env,
            setup_command: docker.read::<SetupCommand>("setupCommand")?.map(SetupCommand::joined),
            pids_limit: docker.read("pidsLimit")?,
            memory: docker.read("memory")?,
            memory_swap: docker.read("memorySwap")?,
            cpus: docker.read("cpus")?,
            gpus: docker.trimmed("gpus")?,
            ulimits: docker.merged("ulimits")?,
            seccomp_profile: docker.read("seccompProfile")?,
            apparmor_profile: docker.read("apparmorProfile")?,
            dns: docker.read("dns")?,
            extra_hosts: docker.read("extraHosts")?,
            binds: docker.joined("binds")?.filter(|binds: &Vec<String>| !binds.is_empty()),
            allow_reserved_targets: docker.read("dangerouslyAllowReservedContainerTargets")?,
            allow_external_sources: docker.read("dangerouslyAllowExternalBindSources")?,
            allow_container_network: docker.read("dangerouslyAllowContainerNamespaceJoin")?,
        })
    }
}

impl PruneSettings {
    fn read(prune: &Layers<'_>) -> Result<PruneSettings, SettingError> {
        Ok(PruneSettings {
            idle_hours: prune.read("idleHours")?.unwrap_or_else(|| 24.into()),
            max_age_days: prune.read("maxAgeDays")?.unwrap_or_else(|| 7.into()),
        })
    }
}

impl BrowserSettings {
    fn read(browser: &Layers<'_>) -> Result<BrowserSettings, SettingError> {
        let text = |key: &str, default: &str| {
            Ok::<_, SettingError>(browser.read(key)?.unwrap_or_else(|| default.to_owned()))
        };
        let number = |key: &str, default: u32| {
            Ok::<_, SettingError>(browser.read(key)?.unwrap_or_else(|| Number::from(default)))
        };
        let flag = |key: &str, default: bool| Ok::<_, SettingError>(browser.read(key)?.unwrap_or(default));
        let timeout = double(&number("autoStartTimeoutMs", 12_000)?).floor().clamp(1.0, MAX_TIMEOUT_MS);
        Ok(BrowserSettings {
            enabled: flag("enabled", false)?,
            image: text("image", "openclaw-sandbox-browser:bookworm-slim")?,
            container_prefix: text("containerPrefix", "openclaw-sbx-browser-")?,
            network: text("network", "openclaw-sandbox-browser")?,
            cdp_port: number("cdpPort", 9222)?,
            cdp_source_range: browser.read("cdpSourceRange")?,
            vnc_port: number("vncPort", 5900)?,
            no_vnc_port: number("noVncPort", 6080)?,
            headless: flag("headless", false)?,
            no_vnc_enabled: flag("noVncEnabled", true)?,
            allow_host_control: flag("allowHostControl", false)?,
            auto_start: flag("autoStart", true)?,
            // The cast loses nothing: `timeout` is a whole number within the limits.
            auto_start_timeout_ms: timeout as u64,
            binds: browser.joined("binds")?,
        })
    }
}

impl SshSettings {
    fn read(ssh: &Layers<'_>) -> Result<SshSettings, SettingError> {
        let root = ssh.trimmed("workspaceRoot")?.unwrap_or_else(|| "/tmp/openclaw-sandboxes".to_owned());
        let posix = root.replace('\\', "/");
        if !posix.starts_with('/') {
            let problem = format!("Sandbox SSH workspaceRoot must be an absolute POSIX path: {root}");
            return Err(SettingError { key: ssh.defaults.path_of("workspaceRoot"), problem });
        }
        let posix = posix.trim_end_matches('/');
        Ok(SshSettings {
            target: ssh.trimmed("target")?,
            command: ssh.trimmed("command")?.unwrap_or_else(|| "ssh".to_owned()),
            workspace_root: if posix.is_empty() { "/" } else { posix }.to_owned(),
            strict_host_key_checking: ssh.read("strictHostKeyChecking")?.unwrap_or(true),
            update_host_keys: ssh.read("updateHostKeys")?.unwrap_or(true),
            identity_file: ssh.trimmed("identityFile")?,
            certificate_file: ssh.trimmed("certificateFile")?,
            known_hosts_file: ssh.trimmed("knownHostsFile")?,
        })
    }
}
