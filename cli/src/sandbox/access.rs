//! What a session in a sandbox may do by OpenClaw's own policy: its tools, and elevated commands.

use guard_openclaw::sandbox::{ElevatedGates, SandboxMode, channel_word};
use guard_policy::tools::{Catalogue, ListOrigin, ListScope, SandboxTools, ToolSettings, sandbox_tools};
use serde_json::{Map, Value, json};

use super::SandboxError;
use super::question::{SandboxConfig, SessionSandbox};

/// What holds for one session.
pub struct SessionAccess {
    catalogue: &'static Catalogue,
    tools: SandboxTools,
    channel: Option<String>,
    gates: ElevatedGates,
}

impl SessionAccess {
    /// Reads a session's access, as the configuration's release computes it.
    ///
    /// # Errors
    /// What has the wrong type.
    pub fn new(config: &SandboxConfig, sandbox: &SessionSandbox) -> Result<SessionAccess, SandboxError> {
        let content = &config.content;
        let text = |pointer: &str| content.pointer(pointer).and_then(Value::as_str);
        let catalogue = config.release.catalogue();
        let settings = ToolSettings::from_config(content).map_err(|issue| config.wrong(issue))?;
        let session = &sandbox.session;
        let channel = channel_word(&session.key, text("/session/mainKey"));
        let channel = channel.and_then(|word| catalogue.channel(&word));
        let gates = ElevatedGates::new(content, &session.agent, channel.as_deref(), catalogue.agent_path);
        Ok(SessionAccess {
            catalogue,
            tools: sandbox_tools(&settings, &session.agent, catalogue),
            channel,
            gates: gates.map_err(|error| config.wrong(error))?,
        })
    }

    /// Each list of tools, with its name and the key that it is from.
    pub fn lists(&self) -> [(&'static str, &[String], String); 2] {
        let SandboxTools { allow, deny, allow_from, deny_from } = &self.tools;
        [("tools", allow, self.origin(*allow_from)), ("no tools", deny, self.origin(*deny_from))]
    }

    /// `sandbox.tools` of OpenClaw's answer.
    pub fn tools(&self) -> Value {
        let SandboxTools { allow, deny, allow_from, deny_from } = &self.tools;
        let source =
            |origin: &ListOrigin| json!({ "source": origin.scope.as_str(), "key": self.key(*origin) });
        json!({
            "allow": allow,
            "deny": deny,
            "sources": { "allow": source(allow_from), "deny": source(deny_from) },
        })
    }

    /// `elevated` of OpenClaw's answer.
    pub fn elevated(&self) -> Value {
        let gates = &self.gates;
        let failures: Vec<Value> = gates
            .failures
            .iter()
            .map(|failure| json!({ "gate": failure.gate, "key": failure.key }))
            .collect();
        let lists = [("global", &gates.allow_from), ("agent", &gates.agent_allow_from)];
        let allow_from: Map<String, Value> = lists
            .into_iter()
            .filter_map(|(name, list)| Some((name.to_owned(), json!(list.as_ref()?))))
            .collect();
        let mut value = json!({
            "enabled": gates.enabled,
            "allowedByConfig": gates.allowed,
            "alwaysAllowedByConfig": gates.always_allowed,
            "allowFrom": allow_from,
            "failures": failures,
        });
        if let Some(channel) = &self.channel {
            value["channel"] = channel.as_str().into();
        }
        value
    }

    /// `fixIt` of OpenClaw's answer: the keys that change all this.
    pub fn keys(&self, mode: SandboxMode) -> Vec<String> {
        let agent = self.catalogue.agent_path;
        let mut keys = Vec::new();
        if mode != SandboxMode::Off {
            keys.push("agents.defaults.sandbox.mode=off".to_owned());
            keys.push(format!("{agent}.sandbox.mode=off"));
        }
        for section in ["", &format!("{agent}.")] {
            keys.extend(
                ["allow", "alsoAllow", "deny"].map(|key| format!("{section}tools.sandbox.tools.{key}")),
            );
        }
        keys.push("tools.elevated.enabled".to_owned());
        keys.extend(self.channel.iter().map(|channel| format!("tools.elevated.allowFrom.{channel}")));
        keys
    }

    fn origin(&self, origin: ListOrigin) -> String {
        match origin.scope {
            ListScope::Default => "OpenClaw's own list".to_owned(),
            _ => self.key(origin),
        }
    }

    fn key(&self, origin: ListOrigin) -> String {
        let section = match origin.scope {
            ListScope::Agent => format!("{}.", self.catalogue.agent_path),
            ListScope::Global | ListScope::Default => String::new(),
        };
        format!("{section}tools.sandbox.tools.{}", origin.key)
    }
}
