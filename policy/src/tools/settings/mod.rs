//! What `openclaw.json` says of tools.

mod issues;
mod read;

pub use issues::ToolIssue;
use serde_json::Value;

use super::catalogue::{folded, trimmed};
use super::lists::ToolLists;
use read::SettingsReader;

/// The parts of `openclaw.json` that tool policy reads. Other keys are ignored.
#[derive(Clone, Debug, Default)]
pub struct ToolSettings {
    /// `tools`.
    pub(super) global: ToolScope,
    /// `tools.subagents.tools`.
    pub(super) subagents: ToolLists,
    /// `agents.entries` or `agents.list`; none where the file has neither.
    pub(super) agents: Option<Vec<AgentTools>>,
    /// `agents.defaults.tools`, which counts only without agents, and which the loader refuses.
    pub(super) default_tools: ToolScope,
    /// `agents.defaults.sandbox.mode`.
    pub(super) sandbox_mode: Option<SandboxMode>,
    /// `agents.defaults.subagents.maxSpawnDepth`.
    pub(super) max_spawn_depth: Option<u32>,
    /// `channels`.
    pub(super) channels: Vec<(String, ChannelTools)>,
    /// `gateway.tools`, for HTTP.
    pub(super) gateway: ToolLists,
    /// `session.mainKey`.
    pub(super) main_key: Option<String>,
    /// `session.scope` is `global`: all chats share one session, which is the main one.
    pub(super) is_session_global: bool,
    /// What OpenClaw's loader refuses.
    issues: Vec<ToolIssue>,
    /// What was ignored.
    notes: Vec<String>,
}

/// `tools` of the file or of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolScope {
    pub(super) profile: Option<String>,
    pub(super) lists: ToolLists,
    /// `byProvider`, in the file's order.
    pub(super) by_provider: Vec<(String, ProviderTools)>,
    /// `toolsBySender`, in the file's order.
    pub(super) by_sender: Vec<(String, ToolLists)>,
    /// `sandbox.tools`.
    pub(super) sandbox: ToolLists,
    /// `exec.host`.
    pub(super) exec_host: Option<String>,
    /// A section `exec` is there.
    pub(super) has_exec: bool,
    /// A section `fs` is there.
    pub(super) has_fs: bool,
}

/// One entry of `byProvider`.
#[derive(Clone, Debug, Default)]
pub(super) struct ProviderTools {
    pub(super) profile: Option<String>,
    pub(super) lists: ToolLists,
}

#[derive(Clone, Debug, Default)]
pub(super) struct AgentTools {
    /// In its canonical form.
    pub(super) id: String,
    pub(super) is_default: bool,
    pub(super) tools: Option<ToolScope>,
    pub(super) sandbox_mode: Option<SandboxMode>,
}

/// The groups of a channel.
#[derive(Clone, Debug, Default)]
pub(super) struct ChannelTools {
    pub(super) groups: Groups,
    /// The groups of an account, which replace the channel's.
    pub(super) accounts: Vec<(String, Option<Groups>)>,
}

/// The groups by their id, in the file's order; `*` stands for those that are not listed.
pub(super) type Groups = Vec<(String, GroupTools)>;

#[derive(Clone, Debug, Default)]
pub(super) struct GroupTools {
    pub(super) tools: Option<ToolLists>,
    pub(super) by_sender: Vec<(String, ToolLists)>,
}

/// `sandbox.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SandboxMode {
    Off,
    NonMain,
    All,
}

impl ToolSettings {
    /// Reads a whole `openclaw.json`.
    ///
    /// # Errors
    /// What has the wrong type.
    pub fn from_config(config: &Value) -> Result<ToolSettings, ToolIssue> {
        let mut reader = SettingsReader::default();
        let mut settings = reader.settings(config)?;
        settings.notes = reader.notes;
        settings.issues = issues::find(config, &settings);
        Ok(settings)
    }

    /// The parts that OpenClaw's own loader refuses, each with the path that the loader names. The policy is computed
    /// anyway.
    pub fn issues(&self) -> &[ToolIssue] {
        &self.issues
    }

    /// What was ignored, and unknown profiles.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The canonical ids of the agents that the file lists.
    pub fn agent_ids(&self) -> Vec<&str> {
        self.agents.iter().flatten().map(|agent| agent.id.as_str()).collect()
    }

    /// Where an agent's commands run (`tools.exec.host`), if the file says so.
    pub fn exec_host(&self, agent: &str) -> Option<&str> {
        let own = self.agent_tools(agent).and_then(|tools| tools.exec_host.as_deref());
        own.or(self.global.exec_host.as_deref())
    }

    pub(super) fn agent(&self, id: &str) -> Option<&AgentTools> {
        self.agents.iter().flatten().find(|agent| agent.id == id)
    }

    /// The section `tools` that counts as the agent's own.
    pub(super) fn agent_tools(&self, id: &str) -> Option<&ToolScope> {
        match &self.agents {
            None => Some(&self.default_tools),
            Some(_) => self.agent(id)?.tools.as_ref(),
        }
    }

    /// The agent of a question that names none: the one marked as default, the only one, or `main`.
    pub fn default_agent(&self) -> &str {
        let agents = self.agents.as_deref().unwrap_or_default();
        let mut marked = agents.iter().filter(|agent| agent.is_default);
        match (marked.next(), marked.next(), agents) {
            (Some(agent), None, _) | (None, None, [agent]) => &agent.id,
            _ => MAIN,
        }
    }
}

/// The agent and the session that are there without configuration.
pub(super) const MAIN: &str = "main";

/// An agent's id in its canonical form (`packages/normalization-core/src/agent-id.ts`).
pub(super) fn agent_id(written: &str) -> String {
    const MAX_ID_LEN: usize = 64;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let written = trimmed(written);
    let starts_well = written.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if starts_well && written.len() <= MAX_ID_LEN && written.bytes().all(is_plain) {
        return written.to_ascii_lowercase();
    }
    let mut id = String::new();
    let mut is_replaced = false;
    for character in folded(written).chars() {
        let is_kept = u8::try_from(character).is_ok_and(is_plain);
        if is_kept || !is_replaced {
            id.push(if is_kept { character } else { '-' });
        }
        is_replaced = !is_kept;
    }
    let id: String = id.trim_matches('-').chars().take(MAX_ID_LEN).collect();
    if id.is_empty() { MAIN.to_owned() } else { id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_are_as_openclaw_writes_them() {
        assert_eq!(agent_id(" Work "), "work");
        assert_eq!(agent_id("a b//c"), "a-b-c");
        assert_eq!(agent_id("--x--"), "x");
        assert_eq!(agent_id("é"), "main");
        assert_eq!(agent_id(""), "main");
    }
}
