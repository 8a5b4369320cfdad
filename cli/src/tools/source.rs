//! Reads openclaw.json, and computes the tools.

use guard_openclaw::gateway::{self, Config};
use guard_policy::text::shown;
use guard_policy::tools::{
    EffectiveTools, Inventory, Release, SeenWarnings, ToolSettings, effective, restrict,
};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths};

use super::ToolsError;
use super::arguments::AskerArgs;
use crate::gate::status::is_loaded;

/// The tools, and what they were computed from.
pub struct Computed {
    /// The configuration, as shown.
    pub file: String,
    pub settings: ToolSettings,
    pub inventory: Inventory,
    pub tools: EffectiveTools,
    /// Whether OpenClaw loads the plugin of the gate.
    pub is_gated: bool,
    /// What the operator should know of the configuration, and OpenClaw's own warnings.
    pub warnings: Vec<String>,
}

/// Computes the tools. A tool of this name that the release does not ship is taken for one of an unknown plugin.
///
/// # Errors
/// When the configuration cannot be read, or OpenClaw itself would refuse it.
pub fn compute(options: &Options, whose: &AskerArgs, tool: Option<&str>) -> Result<Computed, ToolsError> {
    let path = match &whose.config {
        Some(path) => path.clone(),
        None => gateway::config(&Paths::find(options)?.state),
    };
    let config = Config::read(&path);
    let file = config.file.clone();
    if let Some(problem) = config.problem() {
        return Err(ToolsError::Config(problem.clone()));
    }
    let mut warnings = Vec::new();
    let mut warn = |text: String| warnings.push(text);
    let refused = |issue| ToolsError::Issue { file: file.clone(), issue };
    let settings = match config.content() {
        Some(content) => ToolSettings::from_config(content).map_err(refused)?,
        None if whose.config.is_some() => return Err(ToolsError::NoConfig(file)),
        None => {
            warn(format!("there is no {file}: this is what OpenClaw does without one"));
            ToolSettings::default()
        }
    };
    if let Some(issue) = settings.issues().first() {
        return Err(refused(issue.clone()));
    }
    let written_by = config.text("meta.lastTouchedVersion");
    let release = whose.release.unwrap_or_else(|| Release::that_wrote(written_by));
    if let Some(version) =
        written_by.filter(|version| whose.release.is_none() && *version != release.version())
    {
        warn(format!(
            "OpenClaw {} wrote {file}: its tools are not known, so this is {release}",
            shown(version.as_bytes())
        ));
    }
    let mut inventory = Inventory::of_release(release);
    for (tool, plugin) in &whose.plugin_tools {
        inventory.add_plugin_tool(tool, plugin);
    }
    if let Some(tool) = tool {
        inventory.add_plugin_tool(tool, "");
    }
    let context = whose.context(options);
    let tools = effective(&settings, &context, &inventory, &mut SeenWarnings::default());
    let mut tools = tools.map_err(refused)?;
    let is_gated = match Paths::find(options) {
        Ok(paths) => {
            let options = Options { agent: tools.agent.clone(), ..options.clone() };
            let policy = config::policy(&options, &paths, Disk::Unused)?;
            restrict(&mut tools, policy.tools(), &inventory);
            is_loaded(&paths)
        }
        Err(_) if whose.config.is_some() => false,
        Err(error) => return Err(error.into()),
    };
    let agents = settings.agent_ids();
    if options.agent_is_named && !agents.is_empty() && !agents.contains(&tools.agent.as_str()) {
        warn(format!("{file} has no agent {}: only what holds for all agents counts", tools.agent));
    }
    warnings.extend(settings.notes().iter().map(|note| shown(note.as_bytes())));
    warnings.extend(tools.warnings.iter().map(|warning| shown(warning.as_bytes())));
    Ok(Computed { file, settings, inventory, tools, is_gated, warnings })
}
