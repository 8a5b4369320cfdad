//! The lists of a sender (`src/config/group-policy.ts`, `src/agents/sender-tool-policy.ts`).

use super::session_key;
use crate::tools::catalogue::{channel_id, folded, trimmed};
use crate::tools::context::{Sender, Surface, ToolContext};
use crate::tools::lists::{StepLists, ToolLists};
use crate::tools::settings::ToolScope;

/// The lists of `toolsBySender`: the agent's, or else the file's.
pub(super) fn lists(own: &ToolScope, global: &ToolScope, context: &ToolContext) -> Option<StepLists> {
    let is_owners_chat = context.sender.is_owner == Some(true)
        && context.channel.as_deref().map(channel_id).as_deref() == Some("webchat");
    let is_nobody = context.surface == Surface::Http && context.sender.id.is_none();
    if is_owners_chat || is_nobody {
        return None;
    }
    let of_session = context.session_key.as_deref().and_then(session_key::channel);
    let channel = of_session.as_deref().or(context.channel.as_deref());
    let of = |scope: &ToolScope| of_senders(&scope.by_sender, &context.sender, channel).cloned();
    of(own).or_else(|| of(global))?.own_step()
}

/// The entry for a sender: by channel and id, id, number, user name, display name, `*`.
pub(super) fn of_senders<'s>(
    entries: &'s [(String, ToolLists)],
    sender: &Sender,
    channel: Option<&str>,
) -> Option<&'s ToolLists> {
    let find = |wanted: &SenderKey| {
        entries.iter().find(|(key, _)| SenderKey::parse(key).as_ref() == Some(wanted)).map(|(_, lists)| lists)
    };
    let id = sender.id.as_deref().map(folded).filter(|id| !id.is_empty());
    // Keys of older releases write ids as user names.
    let ids: Vec<String> = id.into_iter().flat_map(|id| [id.clone(), without_at(&id)]).collect();
    let channel = channel.map(channel_id).filter(|channel| !channel.is_empty());
    let in_channel = channel
        .iter()
        .flat_map(|channel| ids.iter().map(move |id| SenderKey::InChannel(channel.clone(), id.clone())));
    let text = |text: &Option<String>| text.as_deref().map(folded).filter(|text| !text.is_empty());
    let others = [
        text(&sender.e164).map(SenderKey::E164),
        text(&sender.username).map(|name| SenderKey::Username(without_at(&name))),
        text(&sender.name).map(SenderKey::Name),
    ];
    let keys = in_channel.chain(ids.iter().cloned().map(SenderKey::Id)).chain(others.into_iter().flatten());
    keys.chain([SenderKey::Anybody]).find_map(|key| find(&key))
}

/// A key of `toolsBySender`.
#[derive(Debug, PartialEq, Eq)]
enum SenderKey {
    /// `*`
    Anybody,
    /// `channel:CHANNEL:ID`
    InChannel(String, String),
    /// `id:ID`, or a key without a known prefix.
    Id(String),
    /// `e164:NUMBER`
    E164(String),
    /// `username:NAME`
    Username(String),
    /// `name:NAME`
    Name(String),
}

impl SenderKey {
    fn parse(written: &str) -> Option<SenderKey> {
        let written = trimmed(written);
        let (kind, value) = written.split_once(':').unwrap_or(("", written));
        let value = folded(value);
        let key = match &kind.to_lowercase()[..] {
            "channel" => {
                let (channel, id) = value.split_once(':')?;
                let (channel, id) = (channel_id(channel), folded(id));
                return (!channel.is_empty() && !id.is_empty()).then_some(SenderKey::InChannel(channel, id));
            }
            "id" => SenderKey::Id(value.clone()),
            "e164" => SenderKey::E164(value.clone()),
            "username" => SenderKey::Username(without_at(&value)),
            "name" => SenderKey::Name(value.clone()),
            _ if written == "*" => return Some(SenderKey::Anybody),
            _ => SenderKey::Id(without_at(&folded(written))),
        };
        let is_blank = matches!(&key, SenderKey::Id(text) | SenderKey::E164(text) | SenderKey::Username(text)
            | SenderKey::Name(text) if text.is_empty());
        (!is_blank).then_some(key)
    }
}

fn without_at(name: &str) -> String {
    name.strip_prefix('@').unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(keys: &[&str], sender: &Sender, channel: &str) -> Option<String> {
        let entries: Vec<_> = keys
            .iter()
            .map(|key| {
                ((*key).to_owned(), ToolLists { deny: Some(vec![(*key).to_owned()]), ..ToolLists::default() })
            })
            .collect();
        of_senders(&entries, sender, Some(channel)).and_then(|lists| lists.deny.clone()?.pop())
    }

    #[test]
    fn the_most_specific_key_counts() {
        let sender = Sender {
            id: Some("@42".to_owned()),
            username: Some("@Alice".to_owned()),
            name: Some("Alice B".to_owned()),
            e164: Some("+49".to_owned()),
            is_owner: None,
        };
        let all = ["*", "name:alice b", "username:ALICE", "e164:+49", "id:42", "channel:lark:42"];
        for last in (0..all.len()).rev() {
            assert_eq!(matched(&all[..=last], &sender, "feishu").as_deref(), Some(all[last]));
        }
        assert_eq!(matched(&["channel:telegram:42"], &sender, "feishu"), None);
        assert_eq!(matched(&["42"], &sender, "x").as_deref(), Some("42"));
        assert_eq!(matched(&["id:", "channel::42", "channel:x:"], &sender, "x"), None);
        assert_eq!(matched(&["*"], &Sender::default(), "x").as_deref(), Some("*"));
    }
}
