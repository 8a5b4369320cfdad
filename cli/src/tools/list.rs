//! `tools list`

use std::io::Write;

use clap::Args;
use guard_policy::tools::{PROFILES, Release, Toolset};
use guard_supervisor::exit::Exit;
use serde_json::{Map, Value, json};

use super::ToolsError;
use super::arguments::release;

/// Its options.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard tools list\n  \
    openclaw-guard tools list --release 2026.4.12 --json | jq '.groups[\"group:fs\"]'\n\n\
    Exit status: 0, 125 the output cannot be written.")]
pub struct ToolListArgs {
    /// OpenClaw's release
    #[arg(long, value_name = "VERSION", value_parser = release, default_value_t)]
    release: Release,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn list(arguments: &ToolListArgs) -> Result<Exit, ToolsError> {
    let catalogue = arguments.release.catalogue();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    if arguments.json {
        let tools = catalogue.tools.iter().map(|tool| {
            json!({
                "name": tool.name,
                "section": tool.section,
                "profiles": tool.profiles,
                "ownerOnly": catalogue.owner_only.contains(&tool.name),
                "http": tool.made_for == Toolset::Gateway && !catalogue.http_deny.contains(&tool.name),
            })
        });
        let groups = catalogue.groups().into_iter().map(|group| {
            let tools = json!(catalogue.group(&group));
            (group, tools)
        });
        let profiles = PROFILES.map(|profile| (profile.to_owned(), json!(catalogue.profile(profile))));
        let answer = json!({
            "release": arguments.release.version(),
            "tools": tools.collect::<Vec<_>>(),
            "groups": groups.collect::<Map<String, Value>>(),
            "profiles": profiles.into_iter().collect::<Map<String, Value>>(),
        });
        writeln!(out, "{answer:#}")?;
    } else {
        writeln!(out, "OpenClaw {}: {} tools", arguments.release, catalogue.tools.len())?;
        for tool in catalogue.tools {
            let owner = if catalogue.owner_only.contains(&tool.name) { " owner" } else { "" };
            let profiles = tool.profiles.join(", ");
            let line = format!("  {:<23} group:{:<11} {profiles:<27}{owner}", tool.name, tool.section);
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    out.flush()?;
    Ok(Exit::Success)
}
