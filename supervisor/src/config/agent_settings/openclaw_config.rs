//! What openclaw.json has OpenClaw's gateway load or start: directories of hooks and plugins, and commands. The gateway loads
//! these directories at its start (OpenClaw 2026.9.6, docs/automation/hooks/configuration.md and docs/plugins/architecture.md).

use std::env;
use std::path::{Path, PathBuf};

use guard_openclaw::gateway::Config;
use serde_json::Value;

use super::command_keys;
use super::started_commands::StartedCommand;

/// Keys with directories, or files, of code: extra hooks, plugins, and what changes the messages of webhooks.
const LOADED: [&str; 3] = ["hooks.internal.load.extraDirs", "plugins.load.paths", "hooks.transformsDir"];
/// The directory of hooks in a workspace. The gateway loads those that the configuration enables.
const HOOKS: &str = "hooks/";
/// The longest path (PATH_MAX).
const MAX_PATH: usize = libc::PATH_MAX as usize;

/// Returns each file or directory from which the gateway loads code; a directory also with a slash at its end. `state` is the
/// directory with openclaw.json.
pub fn loaded(config: &Config, state: &Path, home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in LOADED.iter().filter_map(|key| config.at(key)).flat_map(texts) {
        // A relative path is one in the gateway's current directory, which nothing names.
        for place in [home, state].iter().filter_map(|base| resolved(path, base, home)) {
            found.push(place.join(""));
            found.push(place);
        }
    }
    if has_hooks(config) {
        found.extend(workspaces(config, state, home).iter().map(|workspace| workspace.join(HOOKS)));
    }
    found
}

/// Returns the commands that the gateway starts: servers of tools, backends, providers of secrets. The keys of hooks and plugins
/// have no commands, and may have settings of the same names.
pub fn commands(config: &Config) -> Vec<StartedCommand> {
    let mut content = config.content().cloned().unwrap_or_default();
    if let Some(keys) = content.as_object_mut() {
        keys.retain(|key, _| !["hooks", "plugins"].contains(&&**key));
    }
    command_keys::commands(&content)
}

/// Whether hooks in directories are loaded.
fn has_hooks(config: &Config) -> bool {
    config.at("hooks.internal").is_some_and(|hooks| hooks.get("enabled") != Some(&Value::Bool(false)))
}

/// The workspaces of all agents: those that the configuration names, and the usual ones.
fn workspaces(config: &Config, state: &Path, home: &Path) -> Vec<PathBuf> {
    let resolved = |path: &str| resolved(path, home, home);
    let entries = config.at("agents.entries").and_then(Value::as_object).into_iter().flatten();
    // Older releases have a list.
    let listed = config.at("agents.list").and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(|agent| Some((agent.get("id")?.as_str()?, agent)));
    let agents: Vec<(&str, &Value)> =
        entries.map(|(name, agent)| (name.as_str(), agent)).chain(listed).collect();
    let own = agents.iter().filter_map(|(_, agent)| agent.get("workspace")?.as_str());
    // OpenClaw writes names of agents in lower case.
    let names: Vec<String> =
        agents.iter().flat_map(|(name, _)| [(*name).to_owned(), name.to_lowercase()]).collect();
    let root = config.text("agents.defaults.workspace").and_then(resolved);
    let mut found: Vec<PathBuf> = own.filter_map(resolved).collect();
    found.extend(root.iter().flat_map(|root| names.iter().map(move |name| root.join(name))));
    found.extend(root);
    found.push(state.join("workspace"));
    found.extend(names.iter().map(|name| state.join(format!("workspace-{name}"))));
    found
}

/// The text of a value, or those of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten();
    list.chain([value]).filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

/// The path that a text names, with variables and the home in their places. `None` if a variable is not set.
fn resolved(text: &str, base: &Path, home: &Path) -> Option<PathBuf> {
    let text = with_variables(text)?;
    let below = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    Some(match below {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None => base.join(text),
    })
}

/// Puts the values of variables in the place of `${NAME}`, as OpenClaw does in each text of its configuration.
fn with_variables(mut text: &str) -> Option<String> {
    let mut whole = String::new();
    while let Some((before, rest)) = text.split_once("${") {
        let (name, after) = rest.split_once('}')?;
        whole.push_str(before);
        whole.push_str(&env::var(name).ok()?);
        if whole.len() > MAX_PATH {
            return None;
        }
        text = after;
    }
    Some(whole + text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded_by(text: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("openclaw.json");
        std::fs::write(&file, text).unwrap();
        let found = loaded(&Config::read(&file), Path::new("/s"), Path::new("/h"));
        found.into_iter().map(|path| path.into_os_string().into_string().unwrap()).collect()
    }

    #[test]
    fn directories_of_hooks_and_plugins_are_found() {
        let text = "{hooks: {internal: {enabled: false, load: {extraDirs: ['~/lib/hooks', '/opt/h']}}},
            plugins: {load: {paths: ['~/p/index.ts', '${NO_SUCH_VARIABLE}/x']}}}";
        let expected =
            ["/h/lib/hooks/", "/h/lib/hooks", "/opt/h/", "/opt/h", "/h/p/index.ts/", "/h/p/index.ts"];
        let mut found = loaded_by(text);
        found.dedup();
        for place in expected {
            assert!(found.iter().any(|found| found == place), "{place}: {found:?}");
        }
        assert!(
            !found.iter().any(|found| found.contains("NO_SUCH") || found.contains("workspace")),
            "{found:?}"
        );
        assert_eq!(
            loaded_by("{hooks: {internal: {load: {extraDirs: ['rel']}}}}")[..4],
            ["/h/rel/", "/h/rel", "/s/rel/", "/s/rel"]
        );
    }

    #[test]
    fn the_hooks_of_each_workspace_are_found() {
        let enabled = "hooks: {internal: {entries: {mine: {enabled: true}}}}";
        let of = |agents: &str| loaded_by(&format!("{{{enabled}, agents: {{{agents}}}}}"));
        assert_eq!(of(""), ["/s/workspace/hooks/"]);
        assert!(of("defaults: {workspace: '~/w'}").contains(&"/h/w/hooks/".to_owned()));
        let many = of("defaults: {workspace: '/w'}, entries: {a: {}, b: {workspace: '/b'}}");
        for place in ["/b/hooks/", "/w/a/hooks/", "/w/hooks/", "/s/workspace-a/hooks/"] {
            assert!(many.contains(&place.to_owned()), "{place}: {many:?}");
        }
        assert!(of("list: [{id: 'c', workspace: '/c'}]").contains(&"/c/hooks/".to_owned()));
        assert_eq!(loaded_by("{agents: {defaults: {workspace: '/w'}}}"), Vec::<String>::new());
        assert_eq!(loaded_by("{"), Vec::<String>::new());
    }
}
