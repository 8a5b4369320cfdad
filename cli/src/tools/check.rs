//! `tools check`

use std::io::Write;

use clap::Args;
use guard_policy::text::{shown, shown_json};
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde_json::json;

use super::arguments::AskerArgs;
use super::holder::holder;
use super::source::compute;
use super::{ToolsError, list_and_entry, sentence};

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard tools check exec\n  \
    openclaw-guard tools check cron --agent work --subagent 1\n  \
    openclaw-guard tools check web_fetch --surface http --json\n  \
    openclaw-guard tools check slack_post --plugin-tool slack_post=slack\n\n\
    A name that the release does not know is judged as a tool of an unknown plugin.\n\n\
    Exit status: 0 allow, 1 deny, 2 ask (reserved: no known release asks), 125 error.")]
pub struct ToolCheckArgs {
    /// The tool; an alias such as bash counts, too
    tool: String,
    #[command(flatten)]
    whose: AskerArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn check(options: &Options, arguments: &ToolCheckArgs) -> Result<Exit, ToolsError> {
    let computed = compute(options, &arguments.whose, Some(&arguments.tool))?;
    let tools = &computed.tools;
    let catalogue = tools.release.catalogue();
    let name = catalogue.name(&arguments.tool);
    let mut out = std::io::stdout().lock();
    let removal = tools.removal(&name);
    let is_allowed = tools.allowed.contains(&name);
    if arguments.json {
        let mut answer = json!({ "outcome": if is_allowed { "allow" } else { "deny" }, "tool": name });
        if let Some((step, removal)) = removal {
            let (list, entry) = list_and_entry(&removal.by);
            answer["because"] = json!({ "step": step.label, "list": list, "entry": entry });
        }
        if is_allowed {
            answer["heldBy"] = json!(holder(&name, &arguments.whose, &computed));
        }
        answer["warnings"] = json!(computed.warnings);
        writeln!(out, "{}", shown_json(&answer.to_string()))?;
    } else {
        for warning in &computed.warnings {
            eprintln!("openclaw-guard: {warning}");
        }
        let known =
            catalogue.is_core(&name) || arguments.whose.plugin_tools.iter().any(|(tool, _)| *tool == name);
        if !known {
            eprintln!(
                "openclaw-guard: OpenClaw {} has no tool {}: it is judged as a plugin's",
                tools.release,
                shown(name.as_bytes())
            );
        }
        let shown_name = shown(name.as_bytes());
        match removal {
            Some((step, removal)) => {
                let why = format!("{}: {}", step.label, sentence(&removal.by));
                writeln!(out, "deny {shown_name}\n  {}", shown(why.as_bytes()))?;
            }
            None if is_allowed => {
                let by = holder(&name, &arguments.whose, &computed).word();
                writeln!(out, "allow {shown_name}\n  held by {by}")?;
            }
            None => writeln!(out, "deny {shown_name}\n  a tool must have a name")?,
        }
    }
    Ok(if is_allowed { Exit::Success } else { Exit::Denied })
}
