//! Reads the sections of `openclaw.json` that concern tools.

use serde_json::{Map, Value};

use super::{
    AgentTools, ChannelTools, GroupTools, Groups, ProviderTools, SandboxMode, ToolIssue, ToolScope,
    ToolSettings, agent_id,
};
use crate::tools::catalogue::PROFILES;
use crate::tools::lists::ToolLists;

type Read<T> = Result<T, ToolIssue>;

/// Collects notes while it reads.
#[derive(Default)]
pub(super) struct SettingsReader {
    pub(super) notes: Vec<String>,
}

impl SettingsReader {
    pub(super) fn settings(&mut self, config: &Value) -> Read<ToolSettings> {
        let root = Some(object(config, "")?);
        let tools = section(root, "tools", "")?;
        let agents = section(root, "agents", "")?;
        let defaults = section(agents, "defaults", "agents.")?;
        let spawning = section(defaults, "subagents", "agents.defaults.")?;
        let session = section(root, "session", "")?;
        Ok(ToolSettings {
            global: self.scope(tools, "tools")?,
            subagents: self.nested_lists(tools, "subagents", "tools")?,
            agents: self.agents(agents)?,
            default_tools: self
                .scope(section(defaults, "tools", "agents.defaults.")?, "agents.defaults.tools")?,
            sandbox_mode: self.sandbox_mode(defaults, "agents.defaults")?,
            max_spawn_depth: depth(spawning.and_then(|spawning| spawning.get("maxSpawnDepth"))),
            channels: self.channels(section(root, "channels", "")?)?,
            gateway: match section(section(root, "gateway", "")?, "tools", "gateway.")? {
                Some(tools) => self.lists(tools, "gateway.tools")?,
                None => ToolLists::default(),
            },
            main_key: session.and_then(|session| session.get("mainKey")).and_then(text),
            is_session_global: session.and_then(|session| session.get("scope")).and_then(Value::as_str)
                == Some("global"),
            ..ToolSettings::default()
        })
    }

    fn scope(&mut self, tools: Option<&Map<String, Value>>, path: &str) -> Read<ToolScope> {
        let Some(tools) = tools else { return Ok(ToolScope::default()) };
        let inside = format!("{path}.");
        let is_there = |key: &str| tools.get(key).is_some_and(|value| !value.is_null());
        let mut by_provider = Vec::new();
        for (name, value) in members(section(Some(tools), "byProvider", &inside)?) {
            let path = format!("{path}.byProvider.{name}");
            let entry = object(value, &path)?;
            let profile = self.profile(entry, &path)?;
            by_provider.push((name.clone(), ProviderTools { profile, lists: self.lists(entry, &path)? }));
        }
        Ok(ToolScope {
            profile: self.profile(tools, path)?,
            lists: self.lists(tools, path)?,
            by_provider,
            by_sender: self.by_sender(tools, path)?,
            sandbox: self.nested_lists(Some(tools), "sandbox", path)?,
            exec_host: tools.get("exec").and_then(|exec| exec.get("host")).and_then(text),
            has_exec: is_there("exec"),
            has_fs: is_there("fs"),
        })
    }

    fn profile(&mut self, tools: &Map<String, Value>, path: &str) -> Read<Option<String>> {
        let Some(value) = present(tools, "profile") else { return Ok(None) };
        let Some(name) = value.as_str() else {
            return Err(ToolIssue::new(format!("{path}.profile"), "has to be a string"));
        };
        if !PROFILES.contains(&name) {
            self.notes.push(format!("{path}.profile: unknown profile \"{name}\", so no profile applies"));
        }
        Ok(Some(name.to_owned()))
    }

    fn lists(&mut self, tools: &Map<String, Value>, path: &str) -> Read<ToolLists> {
        let mut list = |key: &str| self.list(tools, key, path);
        Ok(ToolLists { allow: list("allow")?, also_allow: list("alsoAllow")?, deny: list("deny")? })
    }

    fn list(&mut self, tools: &Map<String, Value>, key: &str, path: &str) -> Read<Option<Vec<String>>> {
        let Some(value) = present(tools, key) else { return Ok(None) };
        let Some(values) = value.as_array() else {
            return Err(ToolIssue::new(format!("{path}.{key}"), "has to be a list of names"));
        };
        let mut names = Vec::new();
        for (index, value) in values.iter().enumerate() {
            match value.as_str() {
                Some(name) => names.push(name.to_owned()),
                None => self.notes.push(format!("{path}.{key}[{index}]: {value} is no name, and is ignored")),
            }
        }
        Ok(Some(names))
    }

    /// The lists of `KEY.tools`.
    fn nested_lists(&mut self, tools: Option<&Map<String, Value>>, key: &str, path: &str) -> Read<ToolLists> {
        let outer = section(tools, key, &format!("{path}."))?;
        match section(outer, "tools", &format!("{path}.{key}."))? {
            Some(inner) => self.lists(inner, &format!("{path}.{key}.tools")),
            None => Ok(ToolLists::default()),
        }
    }

    fn by_sender(&mut self, tools: &Map<String, Value>, path: &str) -> Read<Vec<(String, ToolLists)>> {
        let mut senders = Vec::new();
        for (name, value) in members(section(Some(tools), "toolsBySender", &format!("{path}."))?) {
            let path = format!("{path}.toolsBySender.{name}");
            senders.push((name.clone(), self.lists(object(value, &path)?, &path)?));
        }
        Ok(senders)
    }

    fn agents(&mut self, agents: Option<&Map<String, Value>>) -> Read<Option<Vec<AgentTools>>> {
        let Some(agents) = agents else { return Ok(None) };
        if let Some(entries) = present(agents, "entries") {
            let mut found = Vec::new();
            for (id, entry) in members(Some(object(entries, "agents.entries")?)) {
                let path = format!("agents.entries.{id}");
                found.push(self.agent(id, object(entry, &path)?, &path)?);
            }
            return Ok(Some(found));
        }
        let Some(list) = present(agents, "list") else { return Ok(None) };
        let Some(list) = list.as_array() else {
            return Err(ToolIssue::new("agents.list", "has to be a list of agents"));
        };
        let mut found = Vec::new();
        for (index, entry) in list.iter().enumerate() {
            let path = format!("agents.list[{index}]");
            let entry = object(entry, &path)?;
            let id = entry.get("id").and_then(Value::as_str).unwrap_or_default();
            found.push(self.agent(id, entry, &path)?);
        }
        Ok(Some(found))
    }

    fn agent(&mut self, id: &str, entry: &Map<String, Value>, path: &str) -> Read<AgentTools> {
        let tools = section(Some(entry), "tools", &format!("{path}."))?;
        Ok(AgentTools {
            id: agent_id(id),
            is_default: entry.get("default") == Some(&Value::Bool(true)),
            tools: match tools {
                Some(_) => Some(self.scope(tools, &format!("{path}.tools"))?),
                None => None,
            },
            sandbox_mode: self.sandbox_mode(Some(entry), path)?,
        })
    }

    fn sandbox_mode(&mut self, holder: Option<&Map<String, Value>>, path: &str) -> Read<Option<SandboxMode>> {
        let Some(sandbox) = section(holder, "sandbox", &format!("{path}."))? else { return Ok(None) };
        match present(sandbox, "mode").map(Value::as_str) {
            None => Ok(None),
            Some(Some("off")) => Ok(Some(SandboxMode::Off)),
            Some(Some("non-main")) => Ok(Some(SandboxMode::NonMain)),
            Some(Some("all")) => Ok(Some(SandboxMode::All)),
            Some(_) => Err(ToolIssue::new(format!("{path}.sandbox.mode"), "has to be off, non-main or all")),
        }
    }

    fn channels(&mut self, channels: Option<&Map<String, Value>>) -> Read<Vec<(String, ChannelTools)>> {
        let mut found = Vec::new();
        for (name, value) in members(channels) {
            // `channels` also holds settings that belong to no channel.
            let Some(channel) = value.as_object() else { continue };
            let path = format!("channels.{name}");
            let mut accounts = Vec::new();
            for (id, account) in members(section(Some(channel), "accounts", &format!("{path}."))?) {
                let path = format!("{path}.accounts.{id}");
                let groups = section(Some(object(account, &path)?), "groups", &format!("{path}."))?;
                accounts.push((
                    id.clone(),
                    match groups {
                        Some(_) => Some(self.groups(groups, &path)?),
                        None => None,
                    },
                ));
            }
            let groups = self.groups(section(Some(channel), "groups", &format!("{path}."))?, &path)?;
            found.push((name.clone(), ChannelTools { groups, accounts }));
        }
        Ok(found)
    }

    fn groups(&mut self, groups: Option<&Map<String, Value>>, path: &str) -> Read<Groups> {
        let mut found = Vec::new();
        for (id, value) in members(groups) {
            let path = format!("{path}.groups.{id}");
            let group = object(value, &path)?;
            let tools = match section(Some(group), "tools", &format!("{path}."))? {
                Some(tools) => Some(self.lists(tools, &format!("{path}.tools"))?),
                None => None,
            };
            found.push((id.clone(), GroupTools { tools, by_sender: self.by_sender(group, &path)? }));
        }
        Ok(found)
    }
}

/// A key's value, unless it is null.
fn present<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object.get(key).filter(|value| !value.is_null())
}

fn object<'v>(value: &'v Value, path: &str) -> Read<&'v Map<String, Value>> {
    let path = if path.is_empty() { "openclaw.json" } else { path };
    value.as_object().ok_or_else(|| ToolIssue::new(path, "has to be an object"))
}

fn section<'v>(
    holder: Option<&'v Map<String, Value>>,
    key: &str,
    before: &str,
) -> Read<Option<&'v Map<String, Value>>> {
    let Some(value) = holder.and_then(|holder| present(holder, key)) else { return Ok(None) };
    object(value, &format!("{before}{key}")).map(Some)
}

/// The members of an object; null counts as absent.
fn members(object: Option<&Map<String, Value>>) -> impl Iterator<Item = (&String, &Value)> {
    object.into_iter().flatten().filter(|(_, value)| !value.is_null())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A depth, at least 1; none for what is no number.
fn depth(value: Option<&Value>) -> Option<u32> {
    let number = value?.as_f64()?;
    // A conversion of floats saturates.
    Some((number.floor() as u32).max(1))
}
