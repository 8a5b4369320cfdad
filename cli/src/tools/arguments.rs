//! The arguments that say whose tools are meant.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use guard_policy::tools::{Release, Sender, Subagent, Surface, ToolContext};
use guard_supervisor::config::options::Options;

/// Whose tools are meant; --agent and --session-key are options of every subcommand.
#[derive(Args, Debug)]
pub struct AskerArgs {
    /// OpenClaw's configuration [default: $OPENCLAW_CONFIG_PATH or openclaw.json in the state directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// OpenClaw's release [default: the one that wrote the configuration, or the newest known]
    #[arg(long, value_name = "VERSION", value_parser = release)]
    pub release: Option<Release>,
    /// The provider of the model
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model, without its provider
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The channel of the message
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// The account of the channel
    #[arg(long, value_name = "NAME", requires = "channel")]
    account: Option<String>,
    /// Who sent the message: id:…, username:…, name:… or e164:…; may be given several times
    #[arg(long = "sender", value_name = "KIND:WHO", value_parser = sender)]
    senders: Vec<NamedSender>,
    /// The sender is the owner
    #[arg(long, conflicts_with = "not_owner")]
    owner: bool,
    /// The sender is not the owner
    #[arg(long)]
    not_owner: bool,
    /// The session is a sub-agent's, at this depth (1: started by the main agent)
    #[arg(long, value_name = "DEPTH", value_parser = clap::value_parser!(u32).range(1..))]
    subagent: Option<u32>,
    /// Where the tool is called: session or http
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = CalledFrom::Session, hide_possible_values = true)]
    surface: CalledFrom,
    /// A tool that a plugin brings; may be given several times
    #[arg(long = "plugin-tool", value_name = "TOOL=PLUGIN", value_parser = plugin_tool)]
    pub plugin_tools: Vec<(String, String)>,
    /// The gateway's SHELL starts the guard (docs/openclaw.md)
    #[arg(long)]
    pub wrapped: bool,
}

/// Where a tool is called.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum CalledFrom {
    /// By the model, in a session.
    Session,
    /// By `POST /tools/invoke` of the gateway.
    Http,
}

/// One way to name a sender.
#[derive(Clone, Debug)]
enum NamedSender {
    Id(String),
    Username(String),
    Name(String),
    E164(String),
}

impl AskerArgs {
    /// What the policy depends on.
    pub fn context(&self, options: &Options) -> ToolContext {
        let mut sender =
            Sender { is_owner: (self.owner || self.not_owner).then_some(self.owner), ..Sender::default() };
        for named in &self.senders {
            match named.clone() {
                NamedSender::Id(id) => sender.id = Some(id),
                NamedSender::Username(name) => sender.username = Some(name),
                NamedSender::Name(name) => sender.name = Some(name),
                NamedSender::E164(number) => sender.e164 = Some(number),
            }
        }
        ToolContext {
            agent: options.agent_is_named.then(|| options.agent.clone()),
            provider: self.provider.clone(),
            model: self.model.clone(),
            channel: self.channel.clone(),
            account: self.account.clone(),
            session_key: options.session_key.clone(),
            sender,
            subagent: self.subagent.map(|depth| Subagent { depth, ..Subagent::default() }),
            surface: match self.surface {
                CalledFrom::Session => Surface::Session,
                CalledFrom::Http => Surface::Http,
            },
            ..ToolContext::default()
        }
    }
}

/// A release whose tools are known.
pub fn release(version: &str) -> Result<Release, String> {
    Release::parse(version).ok_or_else(|| format!("one of {}", Release::ALL.map(Release::version).join(", ")))
}

fn sender(text: &str) -> Result<NamedSender, String> {
    match text.split_once(':') {
        Some((_, "")) | None => Err("one of id:…, username:…, name:…, e164:…".to_owned()),
        Some(("id", id)) => Ok(NamedSender::Id(id.to_owned())),
        Some(("username", name)) => Ok(NamedSender::Username(name.to_owned())),
        Some(("name", name)) => Ok(NamedSender::Name(name.to_owned())),
        Some(("e164", number)) => Ok(NamedSender::E164(number.to_owned())),
        Some(_) => Err("one of id:…, username:…, name:…, e164:…".to_owned()),
    }
}

fn plugin_tool(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((tool, plugin)) if !tool.is_empty() && !plugin.is_empty() => {
            Ok((tool.to_owned(), plugin.to_owned()))
        }
        _ => Err("the tool and its plugin, such as slack_post=slack".to_owned()),
    }
}
