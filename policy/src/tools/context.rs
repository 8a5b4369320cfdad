//! Who asks for a tool.

/// What a question about tools depends on besides `openclaw.json`. What is absent is not known.
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    /// The agent; without one, that of the session, the configuration's default, or `main`.
    pub agent: Option<String>,
    /// The provider of the model.
    pub provider: Option<String>,
    /// The model, without its provider.
    pub model: Option<String>,
    /// The channel of the message.
    pub channel: Option<String>,
    /// The account of the channel.
    pub account: Option<String>,
    /// The group that the caller names. It counts only if the session names it, too.
    pub group: Option<String>,
    /// The session, such as `agent:main:telegram:group:-100`. Without one, the agent's main session.
    pub session_key: Option<String>,
    /// The session that started this one.
    pub spawned_by: Option<String>,
    /// Who sent the message.
    pub sender: Sender,
    /// Set for a sub-agent.
    pub subagent: Option<Subagent>,
    /// The tools that the run is limited to.
    pub runtime_allow: Option<Vec<String>>,
    /// Where the call comes from.
    pub surface: Surface,
}

/// Who sent a message.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    /// The channel's id of the sender.
    pub id: Option<String>,
    /// The display name.
    pub name: Option<String>,
    /// The user name, with or without `@`.
    pub username: Option<String>,
    /// The telephone number.
    pub e164: Option<String>,
    /// Whether the sender is the owner.
    pub is_owner: Option<bool>,
}

/// A sub-agent.
#[derive(Clone, Debug, Default)]
pub struct Subagent {
    /// 1 is a sub-agent that the main session started.
    pub depth: u32,
    /// The tools that its parent passed on; empty where it passed on no list.
    pub inherited_allow: Vec<String>,
    /// The tools that its parent denied it.
    pub inherited_deny: Vec<String>,
}

/// Where a tool is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    /// By the model, in a session.
    #[default]
    Session,
    /// By `POST /tools/invoke` of the gateway.
    Http,
}
