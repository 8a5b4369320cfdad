//! Which sessions run in a sandbox (src/agents/sandbox/runtime-status.ts).

use serde_json::Value;

use super::agents::{SessionAgentError, agent_id, session_agent};
use super::settings::SandboxMode;
use crate::ecmascript::{folded, trim};

/// The last part of the key of main sessions. OpenClaw ignores `session.mainKey`.
const MAIN: &str = "main";

/// A session, as far as its sandbox depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSession {
    /// The agent that it belongs to.
    pub agent: String,
    /// Its key: `agent:ID:…`, or `global`.
    pub key: String,
    /// The key of the agent's main session.
    pub main_key: String,
    /// Whether it is the main session, by this key or an alias.
    pub is_main: bool,
}

impl SandboxSession {
    /// Finds the session of a key. The agent is the requested one, or the one that the key names. A key without a
    /// colon, or no key, means the agent's main session.
    ///
    /// # Errors
    /// If the agent is not clear.
    pub fn new(
        config: &Value,
        key: Option<&str>,
        agent: Option<&str>,
    ) -> Result<SandboxSession, SessionAgentError> {
        let agent = session_agent(config, key, agent)?;
        let is_global = config.pointer("/session/scope").and_then(Value::as_str) == Some("global");
        let main_of = |agent: &str, name: &str| format!("agent:{agent}:{name}");
        let key = match key.map(trim).unwrap_or_default() {
            "" => main_of(&agent, MAIN),
            key if key.contains(':') || key == "global" => key.to_owned(),
            name => main_of(&agent, &folded(name)),
        };
        let main_key = if is_global { "global".to_owned() } else { main_of(&agent, MAIN) };
        // OpenClaw also counts the main session of the agent `main`, which once was the only agent.
        let is_main = key == main_key || key == main_of(&agent, MAIN) || key == main_of("main", MAIN);
        Ok(SandboxSession { agent, key, main_key, is_main })
    }

    /// Returns whether it runs in a sandbox under this mode.
    pub fn is_sandboxed(&self, mode: SandboxMode) -> bool {
        match mode {
            SandboxMode::Off => false,
            SandboxMode::NonMain => !self.is_main,
            SandboxMode::All => true,
        }
    }
}

/// Returns whether openclaw.json lists this agent. If it lists none, `main` counts as listed.
///
/// # Errors
/// What is wrong with the list.
pub fn is_listed(config: &Value, agent: &str) -> Result<bool, super::SettingError> {
    let id = agent_id(agent);
    Ok(match super::agents::listed(config)? {
        Some(agents) => agents.iter().any(|agent| agent.id == id),
        None => id == "main",
    })
}
