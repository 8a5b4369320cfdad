//! The policy in force, as `policy show --effective` prints it.

use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use serde::Serialize;

use crate::policy::{Effective, PolicyError, by, effective, title};

/// A policy, for a human.
#[derive(Debug, Serialize)]
pub struct Rules {
    agent: String,
    file: String,
    sections: Vec<RuleSection>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RuleSection {
    title: &'static str,
    settings: Vec<SettingLine>,
}

#[derive(Debug, Serialize)]
struct SettingLine {
    name: String,
    value: String,
    /// The source of the setting, and where it is set.
    by: String,
    note: String,
}

/// Reads the policy in force.
///
/// # Errors
/// If it cannot be read, or is invalid.
pub fn read(options: &Options) -> Result<Rules, PolicyError> {
    let Effective { agent, file, settings, warnings } = effective(options)?;
    let mut sections: Vec<RuleSection> = Vec::new();
    for setting in settings {
        let title = title(setting.section);
        let line = SettingLine {
            by: show(&by(&setting)),
            name: show(&setting.name),
            value: show(&setting.value),
            note: show(&setting.note),
        };
        match sections.last_mut().filter(|last| last.title == title) {
            Some(last) => last.settings.push(line),
            None => sections.push(RuleSection { title, settings: vec![line] }),
        }
    }
    let warnings = warnings.iter().map(|warning| show(warning)).collect();
    Ok(Rules { agent: show(&agent), file: show(&file), sections, warnings })
}

fn show(text: &str) -> String {
    shown(text.as_bytes())
}
