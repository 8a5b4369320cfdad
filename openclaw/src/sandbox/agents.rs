//! The agents of openclaw.json, as far as sandboxes depend on them (src/agents/agent-scope-config.ts).

use serde_json::Value;

use super::section::{SettingError, SettingSection};
use crate::ecmascript::{folded, trim};

/// The longest id of an agent.
const MAX_ID: usize = 64;

/// Turns a name into an agent's id: lower case, with `-` for each run of characters that an id cannot hold, or `main`
/// if nothing is left.
pub fn agent_id(name: &str) -> String {
    let name = folded(name);
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if name.bytes().all(fits) && name.len() <= MAX_ID && name.starts_with(|c: char| !"-_".contains(c)) {
        return if name.is_empty() { "main".to_owned() } else { name };
    }
    let mut id = String::new();
    for character in name.chars() {
        match u8::try_from(character) {
            Ok(byte) if fits(byte) => id.push(character),
            // A run of other characters becomes one dash.
            _ if id.ends_with('\u{0}') => {}
            _ => id.push('\u{0}'),
        }
    }
    let id: String = id.replace('\u{0}', "-").trim_matches('-').chars().take(MAX_ID).collect();
    if id.is_empty() { "main".to_owned() } else { id }
}

/// An agent as openclaw.json lists it.
#[derive(Clone, Debug)]
pub(crate) struct ListedAgent<'c> {
    pub(crate) id: String,
    pub(crate) is_default: bool,
    pub(crate) section: SettingSection<'c>,
}

/// Reads `agents.entries`, or `agents.list` where there is no such key; `None` where there is neither.
pub(crate) fn listed(config: &Value) -> Result<Option<Vec<ListedAgent<'_>>>, SettingError> {
    let agents = config.get("agents");
    let at = |key: &str| agents.and_then(|agents| agents.get(key));
    let mut all = Vec::new();
    if let Some(entries) = at("entries") {
        for (name, value) in entries.as_object().into_iter().flatten() {
            all.push(agent(name, format!("agents.entries.{name}"), value)?);
        }
    } else if let Some(list) = at("list") {
        for (index, value) in list.as_array().into_iter().flatten().enumerate() {
            let name = value.get("id").and_then(Value::as_str).unwrap_or_default();
            all.push(agent(name, format!("agents.list[{index}]"), value)?);
        }
    } else {
        return Ok(None);
    }
    Ok(Some(all))
}

/// Returns the section of an agent; a section without keys if the agent is not listed.
pub(crate) fn section<'c>(config: &'c Value, agent: &str) -> Result<SettingSection<'c>, SettingError> {
    let id = agent_id(agent);
    let listed = listed(config)?.unwrap_or_default().into_iter().find(|listed| listed.id == id);
    Ok(listed.map_or_else(SettingSection::empty, |listed| listed.section))
}

fn agent<'c>(name: &str, path: String, value: &'c Value) -> Result<ListedAgent<'c>, SettingError> {
    let is_default = value.get("default") == Some(&Value::Bool(true));
    Ok(ListedAgent { id: agent_id(name), is_default, section: SettingSection::new(path, Some(value))? })
}

/// Why a session's agent is not clear, in OpenClaw's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionAgentError {
    /// The key begins like an agent's key, but is malformed.
    #[error("Malformed agent session key; refusing default-agent resolution.")]
    MalformedKey,
    /// The key names another agent than the requested one.
    #[error(
        "Multiple agents are configured, but session agent resolution has no explicit owner. \
         The agent-scoped session key belongs to \"{of_key}\", not \"{requested}\"."
    )]
    OtherAgent {
        /// The id in the key.
        of_key: String,
        /// The requested id.
        requested: String,
    },
    /// Neither the key nor the request names an agent, and several are listed.
    #[error(
        "Multiple agents are configured, but session agent resolution has no explicit owner. \
         Pass an agentId, an agent-scoped session key, or a prepared fallbackAgentId."
    )]
    NoOwner,
    /// The list of agents cannot be read.
    #[error(transparent)]
    List(#[from] SettingError),
}

/// The agent that a session belongs to: the one in its key `agent:ID:…`, the requested one, or the only one
/// (src/agents/agent-scope.ts).
///
/// # Errors
/// If the agent is not clear.
pub fn session_agent(
    config: &Value,
    session_key: Option<&str>,
    requested: Option<&str>,
) -> Result<String, SessionAgentError> {
    let key = trim(session_key.unwrap_or_default());
    let of_key = session_key_parts(key).map(|(id, _)| agent_id(id));
    if of_key.is_none() && folded(key).starts_with("agent:") {
        return Err(SessionAgentError::MalformedKey);
    }
    let requested = requested.map(agent_id);
    if let (Some(of_key), Some(requested)) = (&of_key, &requested)
        && of_key != requested
    {
        let (of_key, requested) = (of_key.clone(), requested.clone());
        return Err(SessionAgentError::OtherAgent { of_key, requested });
    }
    if let Some(id) = of_key.or(requested) {
        return Ok(id);
    }
    let Some(agents) = listed(config)? else {
        return Ok("main".to_owned());
    };
    let has_owners = config.pointer("/agents/ownership").and_then(Value::as_str) == Some("explicit");
    let mut marked = agents.iter().filter(|agent| agent.is_default && !has_owners);
    match (marked.next(), marked.next(), &agents[..]) {
        (Some(agent), None, _) | (_, _, [agent]) => Ok(agent.id.clone()),
        _ => Err(SessionAgentError::NoOwner),
    }
}

/// Splits `agent:ID:REST`; `None` for other keys.
pub(crate) fn session_key_parts(key: &str) -> Option<(&str, &str)> {
    let rest = key.get(..6).filter(|start| start.eq_ignore_ascii_case("agent:")).map(|_| &key[6..])?;
    let (id, rest) = rest.split_once(':')?;
    let id = trim(id);
    (!id.is_empty() && !rest.is_empty() && !rest.starts_with(':')).then_some((id, rest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{SessionAgentError, agent_id, session_agent};

    #[test]
    fn ids() {
        for (name, id) in [
            (" Main ", "main"),
            ("", "main"),
            ("a_b-c", "a_b-c"),
            ("My Agent!", "my-agent"),
            ("-a-", "a"),
            ("_a", "_a"),
            ("äö", "main"),
            ("a--b c", "a--b-c"),
        ] {
            assert_eq!(agent_id(name), id, "{name}");
        }
        assert_eq!(agent_id(&"x".repeat(70)).len(), 64);
    }

    #[test]
    fn a_session_has_one_agent() {
        let two = json!({"agents": {"list": [{"id": "main"}, {"id": "work"}]}});
        let of = |key, agent| session_agent(&two, key, agent);
        assert_eq!(of(Some("agent:work:main"), None), Ok("work".to_owned()));
        assert_eq!(of(Some("main"), Some("Work")), Ok("work".to_owned()));
        assert_eq!(of(Some("agent::x"), Some("main")), Err(SessionAgentError::MalformedKey));
        let other = of(Some("agent:work:main"), Some("main")).unwrap_err().to_string();
        assert!(other.contains("belongs to \"work\""), "{other}");
        assert_eq!(of(None, None), Err(SessionAgentError::NoOwner));
        let marked = json!({"agents": {"list": [{"id": "main"}, {"id": "work", "default": true}]}});
        assert_eq!(session_agent(&marked, None, None), Ok("work".to_owned()));
        assert_eq!(session_agent(&json!({}), Some("main"), None), Ok("main".to_owned()));
    }
}
