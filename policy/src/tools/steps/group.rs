//! The lists of a group chat (`resolveGroupToolPolicy` in `src/agents/agent-tools.policy.ts`).

use super::sender;
use super::session_key::{self, GroupChat};
use crate::tools::catalogue::{channel_id, folded, trimmed};
use crate::tools::context::ToolContext;
use crate::tools::lists::{StepLists, merged};
use crate::tools::settings::{GroupTools, ToolSettings};

/// The lists of the group that the session, or the one that started it, belongs to.
pub(super) fn lists(settings: &ToolSettings, context: &ToolContext) -> Option<StepLists> {
    let chats = [&context.session_key, &context.spawned_by];
    let chats: Vec<GroupChat> =
        chats.into_iter().flatten().filter_map(|key| session_key::group_chat(key)).collect();
    let mut ids = chats.iter().fold(Vec::new(), |ids, chat| merged(&ids, &chat.ids));
    // The caller cannot choose a group that the session does not name.
    if let Some(group) =
        context.group.as_deref().map(trimmed).filter(|group| ids.iter().any(|id| id == group))
    {
        ids = merged(&ids, &session_key::group_ids(group));
    }
    if ids.is_empty() {
        return None;
    }
    let channel = chats.first().map(|chat| chat.channel.clone()).or_else(|| context.channel.clone())?;
    let channel = channel_id(&channel);
    let groups = groups(settings, &channel, context.account.as_deref())?;
    let of = |wanted: &str| groups.iter().find(|(id, _)| id == wanted).map(|(_, group)| group);
    let group = ids.iter().find_map(|id| of(id));
    [group, of("*")]
        .into_iter()
        .flatten()
        .find_map(|group| {
            let by_sender = sender::of_senders(&group.by_sender, &context.sender, Some(&channel));
            by_sender.or(group.tools.as_ref())
        })?
        .own_step()
}

/// The groups of an account, or of the channel where the account has none.
fn groups<'s>(
    settings: &'s ToolSettings,
    channel: &str,
    account: Option<&str>,
) -> Option<&'s [(String, GroupTools)]> {
    let (_, tools) = settings.channels.iter().find(|(name, _)| name == channel)?;
    let account =
        account.map(folded).filter(|account| !account.is_empty()).unwrap_or_else(|| "default".to_owned());
    let own =
        tools.accounts.iter().find(|(id, _)| folded(id) == account).and_then(|(_, groups)| groups.as_deref());
    match own {
        Some(own) if !own.is_empty() || tools.accounts.len() > 1 => Some(own),
        _ => Some(&tools.groups),
    }
}
