//! `policy show`

use std::io::Write;

use clap::Args;
use guard_policy::text::shown;
use guard_policy::{Policy, Section, Setting};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths};
use guard_supervisor::exit::Exit;
use serde::Serialize;
use serde_json::Value;

use super::PolicyError;
use super::findings::print_json;
use super::source::{BUILT_IN, PolicyText};
use super::tiers;

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard policy show                         guard.json without its comments\n  \
    openclaw-guard policy show --effective --agent ci  an agent's values, with their sources\n  \
    openclaw-guard policy show --tiers                 what the kernel decides alone\n\n\
    The source of a value is agent, global (the top level of guard.json), template (what it extends),\n\
    project (.openclaw/guard.json), openclaw (OpenClaw's approvals), operator (the command line),\n\
    default or builtin.\n\n\
    Exit status: 0, 125 the policy cannot be read or has errors.")]
pub struct ShowArgs {
    /// Show every value in force with its source
    #[arg(long)]
    effective: bool,
    /// Show what the kernel decides alone, and which rules keep it from deciding more
    #[arg(long, conflicts_with = "effective")]
    tiers: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The policy in force.
#[derive(Debug, Serialize)]
pub struct Effective {
    /// The agent that it applies to.
    pub agent: String,
    /// The policy's file.
    pub file: String,
    pub settings: Vec<Setting>,
    pub warnings: Vec<String>,
}

pub fn show(options: &Options, arguments: &ShowArgs) -> Result<Exit, PolicyError> {
    let source = PolicyText::read(options, None)?;
    if arguments.effective {
        let effective = effective_from(options, source.as_ref())?;
        if arguments.json {
            print_json(&effective)?
        } else {
            print(&effective)?
        }
        return Ok(Exit::Success);
    }
    if arguments.tiers {
        let policy = in_force(options, source.as_ref())?;
        tiers::print(&policy, &name(source.as_ref()), arguments.json)?;
        return Ok(Exit::Success);
    }
    let Some(source) = source else {
        println!("there is no guard.json: {BUILT_IN} is in force (--effective lists it)");
        return Ok(Exit::Success);
    };
    let document = source.valid()?;
    let mut value = serde_json::from_str(&document.to_json()).unwrap_or_default();
    redact(&mut value);
    print_json(&value)?;
    Ok(Exit::Success)
}

/// The policy that a guard started now would enforce.
///
/// # Errors
/// When the policy cannot be read, or is invalid.
pub fn effective(options: &Options) -> Result<Effective, PolicyError> {
    effective_from(options, PolicyText::read(options, None)?.as_ref())
}

fn effective_from(options: &Options, source: Option<&PolicyText>) -> Result<Effective, PolicyError> {
    let document = source.map(PolicyText::valid).transpose()?;
    let policy = in_force(options, source)?;
    Ok(Effective {
        agent: policy.agent().to_owned(),
        file: name(source),
        settings: policy.explain(document.as_ref()),
        warnings: policy.warnings().to_vec(),
    })
}

fn in_force(options: &Options, source: Option<&PolicyText>) -> Result<Policy, PolicyError> {
    match source {
        Some(source) => source.policy(&options.agent, Disk::Used),
        None => Ok(config::policy(options, &Paths::find(options)?, Disk::Used)?),
    }
}

fn name(source: Option<&PolicyText>) -> String {
    source.map_or_else(|| BUILT_IN.to_owned(), PolicyText::name)
}

fn print(effective: &Effective) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "agent {}, {}", shown(effective.agent.as_bytes()), shown(effective.file.as_bytes()))?;
    let mut section = None;
    for setting in &effective.settings {
        if section.replace(setting.section) != Some(setting.section) {
            writeln!(out, "\n{}", title(setting.section))?;
        }
        writeln!(out, "  {}", shown(line(setting).as_bytes()))?;
    }
    if !effective.warnings.is_empty() {
        writeln!(out, "\nwarnings")?;
    }
    for warning in &effective.warnings {
        writeln!(out, "  {}", shown(warning.as_bytes()))?;
    }
    out.flush()
}

/// What a section is about, for people.
pub fn title(section: Section) -> &'static str {
    match section {
        Section::Values => "values",
        Section::Programs => "programs that may start, if the rules below grant x",
        Section::Roots => "the directories from which programs can start (exec.roots)",
        Section::Denied => "denied, whatever the rules say",
        Section::Quiet => "quiet: denied without a question or a line, unless a rule below allows it",
        Section::Persistence => {
            "protected from writing, whatever the rules say: these files run outside the guard (permissions.persistence)"
        }
        Section::Rules => "rules, the longest pattern first",
        Section::Projects => "left by project files (.openclaw/guard.json), whatever grants more",
        Section::Base => "the base, for paths that no rule covers",
        Section::Rest => "everything else",
        Section::Saved => "allowed \"always\", where a rule above asks",
    }
}

/// `exec.ask  on-miss  (agent, agents.main.exec.mode)`
fn line(setting: &Setting) -> String {
    let Setting { section, name, value, note, .. } = setting;
    let by = by(setting);
    let name = if name.is_empty() { "\"\"" } else { name };
    let text = match section {
        Section::Values => format!("{name:<21} {}", if value.is_empty() { "-" } else { value }),
        Section::Programs | Section::Persistence => format!("{name}  {value}"),
        Section::Roots | Section::Denied | Section::Quiet => name.to_owned(),
        Section::Rules | Section::Projects | Section::Base | Section::Rest | Section::Saved => {
            format!("{value}  {name}")
        }
    };
    let is_said_by_section = matches!(section, Section::Denied | Section::Quiet);
    let note = if note.is_empty() || is_said_by_section { String::new() } else { format!("  {note}") };
    format!("{text}  ({by}){note}")
}

/// The source and place of a setting: `agent, agents.main.exec.mode`.
pub fn by(setting: &Setting) -> String {
    let mut by = setting.source.as_str().to_owned();
    if !setting.path.is_empty() && setting.path != setting.name {
        by.push_str(", ");
        by.push_str(&setting.path);
    }
    by
}

/// Removes values whose keys look secret, because other programs' notes beside their entries may hold secrets.
fn redact(value: &mut Value) {
    const SECRETS: [&str; 5] = ["token", "password", "secret", "credential", "apikey"];
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let name = name.to_ascii_lowercase().replace(['_', '-'], "");
                if SECRETS.iter().any(|secret| name.contains(secret)) && !value.is_boolean() {
                    *value = "(not shown)".into();
                } else {
                    redact(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(redact),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_keys_named_like_secrets_are_not_shown() {
        let mut value = json!({"approvals": {"gateway": [{"url": "u", "authToken": "t", "api_key": {"a": 1}}], "token": true}});
        redact(&mut value);
        let gateway = json!([{"url": "u", "authToken": "(not shown)", "api_key": "(not shown)"}]);
        assert_eq!(value, json!({"approvals": {"gateway": gateway, "token": true}}));
    }
}
