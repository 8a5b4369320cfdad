//! The gates of OpenClaw's elevated commands, as its explanation of a sandbox has them
//! (src/commands/sandbox-explain.ts).

use serde_json::Value;

use super::agents::{self, session_key_parts};
use super::section::{SettingError, SettingSection};
use crate::ecmascript::{folded, trim};

/// Which gates let a session run elevated commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElevatedGates {
    /// Neither the file nor the agent's section switches elevated commands off. They are on by default.
    pub enabled: bool,
    /// Somebody on the session's channel may run elevated commands.
    pub allowed: bool,
    /// Everybody on that channel may run them.
    pub always_allowed: bool,
    /// Who may run them on the session's channel, by the file; `None` without a channel.
    pub allow_from: Option<Vec<String>>,
    /// Who may run them there by the agent's own section, if it has such a list. Both lists must permit.
    pub agent_allow_from: Option<Vec<String>>,
    /// The gates that are shut.
    pub failures: Vec<FailedGate>,
}

/// A gate that is shut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGate {
    /// `enabled` or `allowFrom`.
    pub gate: &'static str,
    /// The key that shuts it.
    pub key: String,
}

impl ElevatedGates {
    /// Reads `tools.elevated` of the file and of an agent, whose section is called `agent_path`.
    ///
    /// # Errors
    /// What has the wrong type.
    pub fn new(
        config: &Value,
        agent: &str,
        channel: Option<&str>,
        agent_path: &str,
    ) -> Result<ElevatedGates, SettingError> {
        let global = SettingSection::new("tools".to_owned(), config.get("tools"))?.below("elevated")?;
        let own = agents::section(config, agent)?.below("tools")?.below("elevated")?;
        let is_on = |section: &SettingSection<'_>| section.value("enabled") != Some(&Value::Bool(false));
        let who = |section: &SettingSection<'_>| -> Result<Option<Vec<String>>, SettingError> {
            let Some(channel) = channel else { return Ok(None) };
            Ok(Some(section.below("allowFrom")?.value(channel).map(entries).unwrap_or_default()))
        };
        let (global_on, own_on) = (is_on(&global), is_on(&own));
        let allow_from = who(&global)?;
        let agent_allow_from = if own.value("allowFrom").is_some() { who(&own)? } else { None };
        let lists = || [allow_from.as_ref(), agent_allow_from.as_ref()].into_iter().flatten();
        let enabled = global_on && own_on;
        let allowed = enabled && channel.is_some() && lists().all(|list| !list.is_empty());
        let mut failures = Vec::new();
        let mut fail = |is_shut: bool, gate, path: &str| {
            if is_shut {
                failures.push(FailedGate { gate, key: path.to_owned() });
            }
        };
        fail(!global_on, "enabled", "tools.elevated.enabled");
        fail(!own_on, "enabled", &format!("{agent_path}.tools.elevated.enabled"));
        let of_channel =
            |path: &str| format!("{path}tools.elevated.allowFrom.{}", channel.unwrap_or_default());
        fail(allow_from.as_ref().is_some_and(Vec::is_empty), "allowFrom", &of_channel(""));
        fail(
            agent_allow_from.as_ref().is_some_and(Vec::is_empty),
            "allowFrom",
            &of_channel(&format!("{agent_path}.")),
        );
        Ok(ElevatedGates {
            enabled,
            allowed,
            always_allowed: allowed && lists().all(|list| list.iter().any(|entry| entry == "*")),
            allow_from,
            agent_allow_from,
            failures,
        })
    }
}

/// The entries of a list, as text and without blanks around them.
fn entries(list: &Value) -> Vec<String> {
    let text = |entry: &Value| match entry {
        Value::String(text) => trim(text).to_owned(),
        other => other.to_string(),
    };
    list.as_array().into_iter().flatten().map(text).filter(|entry| !entry.is_empty()).collect()
}

/// Returns the word in a session's key that names a channel: the first word after the agent, unless it is the key of
/// the main session.
pub fn channel_word(key: &str, main_key: Option<&str>) -> Option<String> {
    let (_, rest) = session_key_parts(trim(key))?;
    let first = rest.split(':').find(|part| !part.is_empty())?;
    let main = main_key.map(trim).filter(|main| !main.is_empty()).unwrap_or("main");
    let word = folded(first);
    (folded(main) != word && !word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_name_a_channel() {
        for (key, main, word) in [
            ("agent:main:main", None, None),
            ("agent:main:Telegram:group:-100", None, Some("telegram")),
            ("agent:main:cron:1", None, Some("cron")),
            ("agent:main:home", Some("home"), None),
            ("global", None, None),
        ] {
            assert_eq!(channel_word(key, main).as_deref(), word, "{key}");
        }
    }

    #[test]
    fn gates_of_a_channel() {
        let config = json!({
            "tools": {"elevated": {"allowFrom": {"telegram": [" 42 ", 7], "discord": ["*"], "slack": []}}},
            "agents": {"entries": {
                "a": {"tools": {"elevated": {"allowFrom": {"telegram": ["*"]}}}},
                "b": {"tools": {"elevated": {"enabled": false}}},
            }},
        });
        let gates = |agent, channel| ElevatedGates::new(&config, agent, channel, "agents.entries.*").unwrap();
        let keys = |gates: &ElevatedGates| -> Vec<String> {
            gates.failures.iter().map(|failure| failure.key.clone()).collect()
        };
        let main = gates("main", Some("telegram"));
        assert_eq!(main.allow_from, Some(vec!["42".to_owned(), "7".to_owned()]));
        assert!(main.allowed && !main.always_allowed && main.failures.is_empty());
        assert!(gates("main", Some("discord")).always_allowed);
        assert!(!gates("a", Some("telegram")).always_allowed);
        let shut = gates("a", Some("discord"));
        assert!(!shut.allowed, "the agent's own list has nobody there");
        assert_eq!(keys(&shut), ["agents.entries.*.tools.elevated.allowFrom.discord"]);
        assert_eq!(keys(&gates("main", Some("slack"))), ["tools.elevated.allowFrom.slack"]);
        let off = gates("b", None);
        assert!(!off.enabled && !off.allowed && off.allow_from.is_none());
        assert_eq!(keys(&off), ["agents.entries.*.tools.elevated.enabled"]);
    }
}
