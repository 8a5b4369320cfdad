//! What a session's key says of it (`src/sessions/session-key-utils.ts`), such as `agent:main:telegram:group:-100`.

use crate::tools::catalogue::{folded, trimmed};

/// The agent that the session belongs to.
pub(super) fn agent(key: &str) -> Option<&str> {
    let mut parts = trimmed(key).splitn(3, ':');
    let is_agent = parts.next().is_some_and(|first| folded(first) == "agent");
    let agent = parts.next().filter(|agent| is_agent && !trimmed(agent).is_empty())?;
    parts.next().filter(|rest| !rest.is_empty()).map(|_| agent)
}

/// The key without `agent:ID:`.
fn rest(key: &str) -> &str {
    match agent(key) {
        Some(_) => trimmed(key).splitn(3, ':').nth(2).unwrap_or_default(),
        None => trimmed(key),
    }
}

/// How many sub-agents deep the session is; 0 for a session that belongs to none.
pub(super) fn subagent_depth(key: &str) -> u32 {
    let parts: Vec<_> = rest(key).split(':').collect();
    let before_something = parts.len().saturating_sub(1);
    let deep = parts.iter().take(before_something).filter(|part| folded(part) == "subagent").count();
    u32::try_from(deep).unwrap_or(u32::MAX)
}

/// Whether this is the agent's main session, by its key or an alias of it.
pub(super) fn is_main(key: &str, main_key: Option<&str>) -> bool {
    let rest = folded(rest(key));
    rest == "main" || main_key.is_some_and(|main| folded(main) == rest)
}

/// The key without `:thread:ID` at its end.
fn without_thread(key: &str) -> &str {
    let folded = key.to_ascii_lowercase();
    match folded.rfind(":thread:") {
        Some(at) if !trimmed(&key[at + ":thread:".len()..]).is_empty() => &key[..at],
        _ => key,
    }
}

/// A group or a channel of a chat service.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GroupChat {
    pub(super) channel: String,
    /// The ids under which the group may be configured, most specific first.
    pub(super) ids: Vec<String>,
}

/// The group chat that a session belongs to.
pub(super) fn group_chat(key: &str) -> Option<GroupChat> {
    let body = rest(without_thread(trimmed(key)));
    let body = match body.split_once(':') {
        Some((first, rest)) if folded(first) == "subagent" => rest,
        _ => body,
    };
    let mut parts = body.splitn(3, ':');
    let (channel, kind, id) = (folded(parts.next()?), folded(parts.next()?), trimmed(parts.next()?));
    let is_group = matches!(&kind[..], "group" | "channel");
    (is_group && !channel.is_empty() && channel != "agent" && !id.is_empty())
        .then(|| GroupChat { channel, ids: group_ids(id) })
}

/// The ids under which a group may be configured: with its topic and sender, with its topic, alone.
pub(super) fn group_ids(id: &str) -> Vec<String> {
    let id = trimmed(id);
    let mut ids = Vec::new();
    if let Some((chat, _)) = suffix(id, "sender") {
        ids.push(id.to_owned());
        if let Some((group, topic)) = suffix(chat, "topic") {
            ids.extend([format!("{group}:topic:{topic}"), group.to_owned()]);
        } else {
            ids.push(chat.to_owned());
        }
    } else if let Some((group, topic)) = suffix(id, "topic") {
        ids.extend([format!("{group}:topic:{topic}"), group.to_owned()]);
    } else if !id.is_empty() {
        ids.push(id.to_owned());
    }
    ids
}

/// What stands before and behind `:NAME:` at the end.
fn suffix<'i>(id: &'i str, name: &str) -> Option<(&'i str, &'i str)> {
    let (before, value) = id.rsplit_once(':')?;
    let (before, found) = before.rsplit_once(':')?;
    (found.eq_ignore_ascii_case(name) && !before.is_empty() && !value.is_empty()).then_some((before, value))
}

/// The channel that the session's messages come from.
pub(super) fn channel(key: &str) -> Option<String> {
    agent(key)?;
    let body = rest(without_thread(trimmed(key)));
    let parts: Vec<_> = body.split(':').map(folded).collect();
    let [channel, second, third, ..] = &parts[..] else { return None };
    let is_direct = |part: &str| matches!(part, "direct" | "dm");
    let has_peer = |at: usize| parts.get(at).is_some_and(|part| !part.is_empty());
    let is_by_account = is_direct(third) && !second.is_empty() && has_peer(3);
    let is_peer = matches!(&second[..], "channel" | "group") || is_direct(second);
    let is_route = is_by_account || is_peer && has_peer(2);
    (is_route && !channel.is_empty() && channel != "agent").then(|| channel.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_and_depths() {
        assert_eq!(agent("agent:work:main"), Some("work"));
        assert_eq!(agent("agent:work"), None);
        assert_eq!(agent("main"), None);
        assert_eq!(subagent_depth("agent:main:subagent:1"), 1);
        assert_eq!(subagent_depth("agent:main:subagent:1:subagent:2"), 2);
        assert_eq!(subagent_depth("agent:main:main"), 0);
        assert_eq!(subagent_depth("agent:main:subagent"), 0);
        assert!(is_main("agent:main:main", None));
        assert!(is_main("home", Some("Home")));
        assert!(!is_main("agent:main:telegram:direct:4", None));
    }

    #[test]
    fn groups_of_a_session() {
        let ids = |key: &str| group_chat(key).map(|chat| chat.ids);
        let some = |ids: &[&str]| Some(ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_eq!(ids("agent:main:telegram:group:-100"), some(&["-100"]));
        assert_eq!(ids("agent:main:telegram:group:-100:topic:7"), some(&["-100:topic:7", "-100"]));
        assert_eq!(
            ids("agent:main:telegram:group:-100:topic:7:sender:9"),
            some(&["-100:topic:7:sender:9", "-100:topic:7", "-100"])
        );
        assert_eq!(ids("agent:main:slack:channel:c1:thread:17.5"), some(&["c1"]));
        assert_eq!(ids("agent:main:subagent:discord:group:5"), some(&["5"]));
        assert_eq!(ids("agent:main:telegram:direct:4"), None);
        assert_eq!(ids("agent:main:main"), None);
        assert_eq!(ids(""), None);
    }

    #[test]
    fn channels_of_a_session() {
        assert_eq!(channel("agent:main:telegram:group:-100").as_deref(), Some("telegram"));
        assert_eq!(channel("agent:main:whatsapp:work:direct:49").as_deref(), Some("whatsapp"));
        assert_eq!(channel("agent:main:main"), None);
        assert_eq!(channel("telegram:group:-100"), None);
    }
}
