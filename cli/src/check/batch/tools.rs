//! Questions about OpenClaw's tools: `tools`.

use std::collections::BTreeMap;

use guard_policy::tools::{
    EffectiveTools, Inventory, Release, SeenWarnings, Sender, Subagent, Surface, ToolContext, ToolSettings,
    effective,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::error::QuestionError;

/// The plugins that count if a question names none. OpenClaw's own answers were computed for them.
const EXAMPLE_PLUGINS: [(&str, &str); 6] = [
    ("my_tool", "my-plugin"),
    ("other_tool", "my-plugin"),
    ("slack_post", "slack"),
    ("whatsapp_login", "whatsapp"),
    ("github__search", "bundle-mcp"),
    ("github__issue", "bundle-mcp"),
];

/// `tools`: the tools that are left under an `openclaw.json`, and what each step removed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolsQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    config: Value,
    #[serde(default)]
    context: ContextQuestion,
    /// OpenClaw's release; by default the newest that the guard knows.
    release: Option<String>,
    /// The tools of plugins, each with the plugin's id.
    plugins: Option<BTreeMap<String, String>>,
}

/// Who asks. The names of the fields are those of OpenClaw's code.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ContextQuestion {
    agent: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    channel: Option<String>,
    account_id: Option<String>,
    group_id: Option<String>,
    session_key: Option<String>,
    spawned_by: Option<String>,
    sender_id: Option<String>,
    sender_name: Option<String>,
    sender_username: Option<String>,
    sender_e164: Option<String>,
    sender_is_owner: Option<bool>,
    subagent: Option<Child>,
    runtime_tool_allowlist: Option<Vec<String>>,
    #[serde(default)]
    surface: CalledFrom,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Child {
    depth: u32,
    #[serde(default)]
    inherited_tool_allow: Vec<String>,
    #[serde(default)]
    inherited_tool_deny: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CalledFrom {
    #[default]
    Session,
    Http,
}

impl ToolsQuestion {
    /// # Errors
    /// What is wrong with the configuration or the context.
    pub fn answer(self) -> Result<String, QuestionError> {
        let settings = ToolSettings::from_config(&self.config)?;
        let release = match self.release {
            Some(version) => Release::parse(&version).ok_or(QuestionError::UnknownRelease(version))?,
            None => Release::default(),
        };
        let mut inventory = Inventory::of_release(release);
        match &self.plugins {
            Some(plugins) => {
                plugins.iter().for_each(|(tool, plugin)| inventory.add_plugin_tool(tool, plugin))
            }
            None => EXAMPLE_PLUGINS.iter().for_each(|(tool, plugin)| inventory.add_plugin_tool(tool, plugin)),
        }
        let tools = effective(&settings, &self.context.into(), &inventory, &mut SeenWarnings::default());
        Ok(to_json(&tools?).to_string())
    }
}

fn to_json(tools: &EffectiveTools) -> Value {
    let steps = tools.steps.iter().map(|step| {
        let removed: Vec<_> = step.removed.iter().map(|removal| &removal.tool).collect();
        json!({ "step": step.label, "removed": removed })
    });
    json!({
        "sandboxed": tools.is_sandboxed,
        "allowed": tools.allowed,
        "steps": steps.collect::<Vec<_>>(),
        "warnings": tools.warnings,
    })
}

impl From<ContextQuestion> for ToolContext {
    fn from(context: ContextQuestion) -> ToolContext {
        ToolContext {
            agent: context.agent,
            provider: context.provider,
            model: context.model,
            channel: context.channel,
            account: context.account_id,
            group: context.group_id,
            session_key: context.session_key,
            spawned_by: context.spawned_by,
            sender: Sender {
                id: context.sender_id,
                name: context.sender_name,
                username: context.sender_username,
                e164: context.sender_e164,
                is_owner: context.sender_is_owner,
            },
            subagent: context.subagent.map(|child| Subagent {
                depth: child.depth,
                inherited_allow: child.inherited_tool_allow,
                inherited_deny: child.inherited_tool_deny,
            }),
            runtime_allow: context.runtime_tool_allowlist,
            surface: match context.surface {
                CalledFrom::Session => Surface::Session,
                CalledFrom::Http => Surface::Http,
            },
        }
    }
}
