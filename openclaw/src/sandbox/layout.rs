//! Where a session's sandbox is: its scope, its container's name, and what is mounted there
//! (src/agents/sandbox/shared.ts and workspace-mounts.ts).

use data_encoding::HEXLOWER;
use guard_policy::tools::Release;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::agents;
use super::bind::BindSpec;
use super::host_path::normalize;
use super::section::{SettingError, SettingSection};
use super::session::SandboxSession;
use super::settings::{SandboxScope, SandboxSettings, WorkspaceAccess};
use crate::ecmascript::{folded, trim};

/// The scope of all sessions together.
const SHARED: &str = "shared";
/// The longest name of a container.
const MAX_NAME: usize = 63;
/// The longest readable part of a slug, in bytes.
const MAX_SLUG: usize = 32;
/// Where the agent's own workspace is mounted if the sandbox has a workspace of its own.
const AGENT_MOUNT: &str = "/agent";

/// The directories that OpenClaw's defaults start from.
#[derive(Clone, Debug)]
pub struct OpenclawDirectories {
    /// What `~` stands for.
    pub home: String,
    /// What relative paths start from.
    pub cwd: String,
    /// OpenClaw's state directory.
    pub state: String,
    /// The workspace of the only agent, if openclaw.json names none.
    pub workspace: String,
}

/// Where a sandbox is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxLayout {
    /// Who shares it; its container carries this as a label.
    pub scope_key: String,
    /// The name of its container.
    pub container: String,
    /// The directory of the host that the sandbox works in.
    pub workspace: String,
    /// Whether the container may write to `workspace`. Until 2026.7.35, it may do so only if `workspace` is the
    /// agent's own workspace.
    pub is_workspace_writable: bool,
    /// The agent's own workspace.
    pub agent_workspace: String,
    /// The directory below which sandboxes have their directories.
    pub workspace_root: String,
}

/// A directory of the host in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxMount {
    /// The directory of the host.
    pub source: String,
    /// Where the container has it.
    pub target: String,
    /// Whether the container may only read it.
    pub read_only: bool,
    /// Who asks for it.
    pub origin: MountOrigin,
}

/// Who asks for a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountOrigin {
    /// The sandbox, for the directory that it works in.
    Workspace,
    /// `workspaceAccess`, for the agent's workspace.
    Agent,
    /// `docker.binds`.
    Bind,
}

impl SandboxLayout {
    /// Finds the places for a session, with the names of the given release. Until 2026.7.35 a scope's key does not
    /// depend on the workspace.
    ///
    /// # Errors
    /// A value of openclaw.json that cannot be used.
    pub fn new(
        config: &Value,
        settings: &SandboxSettings,
        session: &SandboxSession,
        directories: &OpenclawDirectories,
        release: Release,
    ) -> Result<SandboxLayout, SettingError> {
        let agent_workspace = directories.agent_workspace(config, &session.agent)?;
        let workspace_root = match &settings.workspace_root {
            Some(root) => directories.absolute(root),
            None => normalize(&format!("{}/sandboxes", directories.state)),
        };
        let is_older = release <= Release::V2026_7_35;
        let suffix = match is_older {
            true => String::new(),
            false => format!(":workspace:{}", &hash(&agent_workspace)[..MAX_SLUG]),
        };
        let scope_key = match settings.scope {
            SandboxScope::Shared => SHARED.to_owned(),
            SandboxScope::Agent => format!("agent:{}{suffix}", session.agent),
            SandboxScope::Session if session.key == "global" && !is_older => {
                format!("{}{suffix}", session.main_key)
            }
            SandboxScope::Session => format!("{}{suffix}", session.key),
        };
        let own = match settings.scope {
            SandboxScope::Shared => workspace_root.clone(),
            _ => format!("{workspace_root}/{}", slug(&scope_key)),
        };
        Ok(SandboxLayout {
            container: match is_older {
                true => older_container_name(&settings.docker.container_prefix, &scope_key),
                false => container_name(&settings.docker.container_prefix, &scope_key),
            },
            workspace: match settings.workspace_access {
                WorkspaceAccess::Rw => agent_workspace.clone(),
                WorkspaceAccess::None | WorkspaceAccess::Ro => own,
            },
            is_workspace_writable: match settings.workspace_access {
                WorkspaceAccess::Rw => true,
                WorkspaceAccess::Ro => false,
                WorkspaceAccess::None => !is_older,
            },
            scope_key,
            agent_workspace,
            workspace_root,
        })
    }

    /// Returns the name of a directory for all sandboxes of this scope; OpenClaw gives it to a sandbox's own
    /// workspace. The name has no slash, no dot at its start and at most 63 bytes, whatever the scope's key is.
    pub fn directory_name(&self) -> String {
        scope_slug(&self.scope_key)
    }

    /// The container's mounts, one for each target. A bind replaces what OpenClaw would mount at its target.
    pub fn mounts(&self, settings: &SandboxSettings) -> Vec<SandboxMount> {
        let mut mounts = vec![SandboxMount {
            source: self.workspace.clone(),
            target: normalize(&settings.docker.workdir),
            read_only: !self.is_workspace_writable,
            origin: MountOrigin::Workspace,
        }];
        if settings.workspace_access != WorkspaceAccess::None && self.workspace != self.agent_workspace {
            mounts.push(SandboxMount {
                source: self.agent_workspace.clone(),
                target: AGENT_MOUNT.to_owned(),
                read_only: settings.workspace_access == WorkspaceAccess::Ro,
                origin: MountOrigin::Agent,
            });
        }
        for bind in settings.docker.binds.iter().flatten() {
            let spec = BindSpec::parse(bind);
            let Some(target) = spec.container_path().filter(|_| !spec.source.is_empty()) else { continue };
            let mount = SandboxMount {
                source: normalize(spec.source),
                read_only: spec.options.split(',').any(|option| folded(option) == "ro"),
                origin: MountOrigin::Bind,
                target,
            };
            match mounts.iter_mut().find(|other| other.target == mount.target) {
                Some(place) => *place = mount,
                None => mounts.push(mount),
            }
        }
        mounts
    }
}

impl SandboxMount {
    /// The mount as docker's `-v` takes it.
    pub fn bind(&self) -> String {
        format!("{}:{}:{}", self.source, self.target, if self.read_only { "ro,z" } else { "z" })
    }
}

impl MountOrigin {
    /// OpenClaw's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            MountOrigin::Workspace => "workspace",
            MountOrigin::Agent => "agent",
            MountOrigin::Bind => "bind",
        }
    }
}

impl OpenclawDirectories {
    /// The workspace of an agent (`resolveAgentWorkspaceDir`).
    ///
    /// # Errors
    /// What in openclaw.json has the wrong type.
    pub fn agent_workspace(&self, config: &Value, agent: &str) -> Result<String, SettingError> {
        let workspace = |section: &SettingSection<'_>| -> Result<Option<String>, SettingError> {
            let text = section.read::<String>("workspace")?;
            Ok(text.map(|text| trim(&text).to_owned()).filter(|text| !text.is_empty()))
        };
        let agents = agents::listed(config)?.unwrap_or_default();
        let listed = agents.iter().find(|listed| listed.id == agent);
        if let Some(own) = listed.map(|agent| workspace(&agent.section)).transpose()?.flatten() {
            return Ok(self.absolute(&own));
        }
        let defaults = SettingSection::new("agents.defaults".to_owned(), config.pointer("/agents/defaults"))?;
        let shared = workspace(&defaults)?.map(|shared| self.absolute(&shared));
        let is_only = agents::session_agent(config, None, None).is_ok_and(|only| only == agent);
        Ok(match shared {
            Some(shared) if is_only => shared,
            Some(shared) => normalize(&format!("{shared}/{agent}")),
            None if is_only => self.workspace.clone(),
            None => normalize(&format!("{}/workspace-{agent}", self.state)),
        })
    }

    /// The directory in which an agent's runs begin, if openclaw.json names one (`resolveAgentRunCwd`).
    ///
    /// # Errors
    /// What in openclaw.json has the wrong type.
    pub fn agent_cwd(&self, config: &Value, agent: &str) -> Result<Option<String>, SettingError> {
        let agents = agents::listed(config)?.unwrap_or_default();
        let listed = agents.iter().find(|listed| listed.id == agent);
        let own = listed.map(|agent| agent.section.read::<String>("cwd")).transpose()?.flatten();
        let defaults = SettingSection::new("agents.defaults".to_owned(), config.pointer("/agents/defaults"))?;
        let named = [own, defaults.read::<String>("cwd")?];
        let named = named.into_iter().flatten().find(|path| !trim(path).is_empty());
        Ok(named.map(|path| self.absolute(&path)))
    }

    fn absolute(&self, path: &str) -> String {
        let path = trim(path);
        match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                normalize(&format!("{}{rest}", self.home))
            }
            _ if path.starts_with('/') => normalize(path),
            _ => normalize(&format!("{}/{path}", self.cwd)),
        }
    }
}

/// SHA-256 in hexadecimal.
fn hash(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// Turns a scope's key into a name for files and containers.
fn slug(key: &str) -> String {
    let key = trim(key);
    let key = if key.is_empty() { "session" } else { key };
    if key.rsplit_once(":workspace:").is_some_and(|(_, hash)| is_hash(hash)) {
        return format!("workspace-{}", &hash(key)[..MAX_SLUG]);
    }
    let mut readable = String::new();
    for character in folded(key).chars() {
        let fits = character.is_ascii_lowercase() || character.is_ascii_digit() || "._-".contains(character);
        match fits {
            true => readable.push(character),
            // A run of other characters becomes one dash.
            false if readable.ends_with('\u{0}') => {}
            false => readable.push('\u{0}'),
        }
    }
    let readable: String = readable.replace('\u{0}', "-").trim_matches('-').chars().take(MAX_SLUG).collect();
    let readable = if readable.is_empty() { "session" } else { &readable };
    format!("{readable}-{}", &hash(key)[..8])
}

fn is_hash(text: &str) -> bool {
    text.len() == MAX_SLUG && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn scope_slug(scope_key: &str) -> String {
    if scope_key == SHARED { scope_key.to_owned() } else { slug(scope_key) }
}

/// Returns the name of a container as 2026.7.35 forms it: a name that is too long is cut.
fn older_container_name(prefix: &str, scope_key: &str) -> String {
    format!("{prefix}{}", scope_slug(scope_key)).chars().take(MAX_NAME).collect()
}

/// Returns the name of a container. If it is too long, a hash of the whole name replaces its end; a workspace's
/// slug is kept.
fn container_name(prefix: &str, scope_key: &str) -> String {
    let slug = scope_slug(scope_key);
    let whole = format!("{prefix}{slug}");
    if whole.len() <= MAX_NAME {
        return whole;
    }
    let mut end = format!("-{}", &hash(&whole)[..12]);
    let mut begin = &whole[..];
    if slug.strip_prefix("workspace-").is_some_and(is_hash) {
        end = format!("-{slug}{end}");
        begin = prefix;
    }
    let room = (0..=MAX_NAME - end.len()).rev().find(|at| begin.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{end}", &begin[..room.min(begin.len())])
}

#[cfg(test)]
mod tests {
    use super::{container_name, older_container_name, slug};

    #[test]
    fn names() {
        assert_eq!(slug("agent:Main/x:y"), format!("agent-main-x-y-{}", &super::hash("agent:Main/x:y")[..8]));
        assert!(slug(" ").starts_with("session-") && slug("//").starts_with("session-"));
        assert_eq!(slug(&"a".repeat(10_000)).len(), 41);
        let scope = format!("agent:main:workspace:{}", "0f".repeat(16));
        let name = container_name("openclaw-sbx-", &scope);
        assert!(name.starts_with("openclaw-sbx-workspace-") && name.len() <= 63, "{name}");
        let name = container_name(&"p".repeat(100), &scope);
        assert_eq!(name.len(), 63);
        assert!(name.contains(&slug(&scope)), "{name}");
        let name = container_name(&"ä".repeat(100), "agent:main");
        assert!(name.len() <= 63, "{name}");
        assert_eq!(container_name("p-", "shared"), "p-shared");
        assert_eq!(older_container_name(&"ä".repeat(100), "agent:main"), "ä".repeat(63));
        assert_eq!(older_container_name("p-", "agent:main"), format!("p-{}", slug("agent:main")));
    }
}
