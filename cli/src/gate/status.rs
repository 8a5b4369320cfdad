//! `gate status`, and what `doctor` says of the gate.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use guard_approvals::routes::guard_socket::Purpose;
use guard_approvals::routes::guard_socket::paths::SocketDirectory;
use guard_openclaw::gateway::{self, Config};
use guard_openclaw::real_path::real;
use guard_policy::tools::ToolSettings;
use guard_supervisor::config::Paths;
use guard_supervisor::exit::Exit;
use serde_json::{Value, json};

use super::plugin::{self, ID, PluginState};
use super::{GateError, SOCKET, shown_path, socket};
use crate::sandbox::directories;

/// How long the service may take to answer.
const IO_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether tool calls are asked about.
#[derive(Debug)]
pub struct GateStatus {
    /// The plugin's files.
    pub plugin: PluginState,
    /// Whether openclaw.json has OpenClaw load the plugin.
    pub is_configured: bool,
    /// Why the service does not answer, if it does not.
    pub silence: Option<String>,
}

impl GateStatus {
    /// Collects the status. Asks the service about a tool that does not exist, to see whether it answers.
    pub fn find(paths: &Paths) -> GateStatus {
        let config = Config::read(&gateway::config(&paths.state));
        GateStatus {
            plugin: plugin::state(&paths.state_directory),
            is_configured: is_configured(&config),
            silence: ask(paths).err().map(|error| error.to_string()),
        }
    }

    /// Whether every part is there.
    pub fn is_whole(&self) -> bool {
        self.plugin == PluginState::AsInstalled && self.silence.is_none() && self.is_configured
    }
}

/// Whether each tool call is asked about once the gateway has started: the plugin is as installed, and OpenClaw loads it.
pub fn is_loaded(paths: &Paths) -> bool {
    let config = Config::read(&gateway::config(&paths.state));
    plugin::state(&paths.state_directory) == PluginState::AsInstalled && is_configured(&config)
}

/// Whether OpenClaw loads the plugin. `plugins install` adds an entry.
fn is_configured(config: &Config) -> bool {
    let list = |name: &str| config.at(name).and_then(Value::as_array);
    let has = |names: &Vec<Value>| names.iter().any(|name| name.as_str() == Some(ID));
    let entry = config.at("plugins.entries").and_then(|entries| entries.get(ID));
    config.at("plugins.enabled") != Some(&Value::Bool(false))
        && !list("plugins.deny").is_some_and(has)
        && list("plugins.allow").is_none_or(has)
        && entry.is_some_and(|entry| entry.get("enabled") != Some(&Value::Bool(false)))
}

/// The default agent's workspace, if it is in the state directory, which every policy denies. OpenClaw's own
/// default is there.
pub fn denied_workspace(paths: &Paths) -> Option<String> {
    let config = Config::read(&gateway::config(&paths.state));
    let content = config.content().cloned().unwrap_or_else(|| json!({}));
    let settings = ToolSettings::from_config(&content).ok()?;
    let workspace = directories(paths).agent_workspace(&content, settings.default_agent()).ok()?;
    real(Path::new(&workspace)).starts_with(&paths.state_directory).then_some(workspace)
}

/// Asks the service. Any answer shows that it works.
fn ask(paths: &Paths) -> io::Result<Value> {
    let directory = SocketDirectory::open(&paths.state_directory, Purpose::Gate)?;
    let directory = directory.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let mut stream = UnixStream::connect(directory.entry(SOCKET))?;
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    stream.write_all(b"{\"v\":0}\n")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|_| io::Error::other("it sends no answer"))
}

/// Prints the status.
///
/// # Errors
/// When the output cannot be written.
pub fn print(paths: &Paths, is_json: bool) -> Result<Exit, GateError> {
    let status = GateStatus::find(paths);
    let mut out = io::stdout().lock();
    let at = shown_path(&socket(paths));
    if is_json {
        let answer = json!({
            "socket": at,
            "answers": status.silence.is_none(),
            "silence": status.silence,
            "plugin": match &status.plugin {
                PluginState::AsInstalled => "as-installed",
                PluginState::Absent => "absent",
                PluginState::Changed(..) => "changed",
            },
            "pluginText": status.plugin.to_string(),
            "configured": status.is_configured,
        });
        writeln!(out, "{answer}")?;
    } else {
        match &status.silence {
            None => writeln!(out, "service  answers at {at}")?,
            Some(why) => {
                writeln!(out, "service  does not answer at {at}: {why} (`openclaw-guard gate serve`)")?
            }
        }
        writeln!(out, "plugin   {}", status.plugin)?;
        match status.is_configured {
            true => writeln!(out, "openclaw loads the plugin")?,
            false => writeln!(
                out,
                "openclaw does not load the plugin: openclaw.json has no entry for it, disables it, or does not allow it"
            )?,
        }
    }
    Ok(if status.is_whole() { Exit::Success } else { Exit::Wrong })
}
