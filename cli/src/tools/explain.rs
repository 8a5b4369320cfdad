//! `tools explain`

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde::Serialize;

use super::arguments::AskerArgs;
use super::holder::{Holder, holder};
use super::source::{Computed, compute};
use super::{ToolsError, list_and_entry, sentence};

/// Its options.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard tools explain                                   the default agent's tools\n  \
    openclaw-guard tools explain --agent work --provider anthropic --model claude-3-opus\n  \
    openclaw-guard tools explain --not-owner --channel telegram --sender id:42\n  \
    openclaw-guard tools explain --surface http --json | jq .removed.exec\n\n\
    Tools of plugins are missing unless --plugin-tool names them: only the gateway knows them.\n\n\
    Exit status: 0, 125 the configuration cannot be read or has errors.")]
pub struct ExplainArgs {
    #[command(flatten)]
    whose: AskerArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained<'a> {
    release: &'static str,
    config: &'a str,
    agent: &'a str,
    sandboxed: bool,
    allowed: &'a [String],
    held_by: BTreeMap<&'a str, Holder>,
    removed: BTreeMap<&'a str, RemovedTool<'a>>,
    steps: Vec<&'a str>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct RemovedTool<'a> {
    step: &'a str,
    list: &'static str,
    entry: Option<&'a str>,
}

pub fn explain(options: &Options, arguments: &ExplainArgs) -> Result<Exit, ToolsError> {
    let computed = compute(options, &arguments.whose, None)?;
    if arguments.json {
        print_json(&computed, &arguments.whose)?;
    } else {
        print(&computed, &arguments.whose)?;
    }
    Ok(Exit::Success)
}

fn print_json(computed: &Computed, whose: &AskerArgs) -> Result<(), ToolsError> {
    let tools = &computed.tools;
    let removed = tools.steps.iter().flat_map(|step| {
        step.removed.iter().map(|removal| {
            let (list, entry) = list_and_entry(&removal.by);
            (removal.tool.as_str(), RemovedTool { step: &step.label, list, entry })
        })
    });
    let answer = Explained {
        release: tools.release.version(),
        config: &computed.file,
        agent: &tools.agent,
        sandboxed: tools.is_sandboxed,
        allowed: &tools.allowed,
        held_by: tools.allowed.iter().map(|tool| (tool.as_str(), holder(tool, whose, computed))).collect(),
        removed: removed.collect(),
        steps: tools.steps.iter().map(|step| step.label.as_str()).collect(),
        warnings: &computed.warnings,
    };
    let mut out = std::io::stdout().lock();
    // Serializing strings and maps of strings cannot fail.
    let json = serde_json::to_string_pretty(&answer).unwrap_or_default();
    writeln!(out, "{}", guard_policy::text::shown_json(&json))?;
    Ok(())
}

fn print(computed: &Computed, whose: &AskerArgs) -> Result<(), ToolsError> {
    let tools = &computed.tools;
    for warning in &computed.warnings {
        eprintln!("openclaw-guard: {warning}");
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let sandboxed = if tools.is_sandboxed { ", in a sandbox" } else { "" };
    writeln!(
        out,
        "agent {}{sandboxed}, OpenClaw {}, {}",
        shown(tools.agent.as_bytes()),
        tools.release,
        computed.file
    )?;
    let total = computed.inventory.names().count();
    writeln!(out, "has {} of {total} tools, held by", tools.allowed.len())?;
    for tool in &tools.allowed {
        writeln!(out, "  {:<23} {}", shown(tool.as_bytes()), holder(tool, whose, computed).word())?;
    }
    for step in tools.steps.iter().filter(|step| !step.removed.is_empty()) {
        writeln!(out, "{} removes", shown(step.label.as_bytes()))?;
        for removal in &step.removed {
            let why = sentence(&removal.by);
            writeln!(out, "  {:<23} {}", shown(removal.tool.as_bytes()), shown(why.as_bytes()))?;
        }
    }
    out.flush()?;
    Ok(())
}
