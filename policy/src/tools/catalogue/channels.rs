//! Ids of the channels that a release knows, which are also ids of the plugins that bring them.

/// The channels of 2026.9.6 (`src/channels/bundled-channel-ids.generated.ts`).
pub(super) const CHANNELS: &[&str] = &[
    "a2a",
    "buzz",
    "clickclack",
    "discord",
    "feishu",
    "googlechat",
    "imessage",
    "irc",
    "line",
    "matrix",
    "mattermost",
    "msteams",
    "nextcloud-talk",
    "nostr",
    "qa-channel",
    "raft",
    "reef",
    "signal",
    "slack",
    "sms",
    "synology-chat",
    "telegram",
    "tlon",
    "twitch",
    "whatsapp",
    "zalo",
    "zalouser",
];

/// The channels of the earlier releases. Which of them a release knows depends on its installed extensions, so this
/// is the union: a sandbox then loses tools rather than gains any.
pub(super) const EARLIER_CHANNELS: &[&str] = &[
    "bluebubbles",
    "clickclack",
    "discord",
    "feishu",
    "googlechat",
    "imessage",
    "irc",
    "line",
    "matrix",
    "mattermost",
    "msteams",
    "nextcloud-talk",
    "nostr",
    "qqbot",
    "raft",
    "signal",
    "slack",
    "sms",
    "synology-chat",
    "telegram",
    "tlon",
    "twitch",
    "whatsapp",
    "zalo",
    "zalouser",
];

/// Other names of channels.
const ALIASES: &[(&str, &str)] = &[
    ("gchat", "googlechat"),
    ("google-chat", "googlechat"),
    ("imsg", "imessage"),
    ("internet-relay-chat", "irc"),
    ("lark", "feishu"),
    ("nc", "nextcloud-talk"),
    ("nc-talk", "nextcloud-talk"),
    ("teams", "msteams"),
    ("twitch-chat", "twitch"),
    ("zl", "zalo"),
    ("zlu", "zalouser"),
];

/// The id of a channel, in lower case and without an alias. Channels of unknown plugins keep their name.
pub(in crate::tools) fn channel_id(name: &str) -> String {
    let name = super::folded(name);
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, id)| (*id).to_owned())
}
