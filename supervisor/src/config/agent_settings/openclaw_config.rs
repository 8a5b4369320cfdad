//! What openclaw.json has OpenClaw's gateway load or start: directories of hooks and plugins, and commands. The gateway loads
//! these directories at its start (OpenClaw 2026.9.6, docs/automation/hooks/configuration.md and docs/plugins/architecture.md).

use std::fs;
use std::path::{Path, PathBuf};

use guard_openclaw::gateway::at;
use serde_json::Value;

use super::command_keys;
use super::started_commands::StartedCommand;

/// Keys with directories, or files, of code: extra hooks, plugins, and what changes the messages of webhooks.
const LOADED: [&str; 3] = ["hooks.internal.load.extraDirs", PLUGINS, "hooks.transformsDir"];
/// The directories, or files, of plugins. In such a directory, a link may lead to a plugin. A hook is never a link, and loads
/// nothing by a link that leaves its directory.
const PLUGINS: &str = "plugins.load.paths";
/// The directory of hooks in a workspace. The gateway loads those that the configuration enables.
const HOOKS: &str = "hooks/";
/// How many entries of a directory of plugins are looked at.
const MAX_PLUGINS: usize = 4096;

/// Returns each file or directory from which the gateway loads code; a directory also with a slash at its end. `state` is the
/// directory with openclaw.json. The variables of its texts have their values already.
pub fn loaded(config: &Value, state: &Path, home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for key in LOADED {
        for path in at(config, key).into_iter().flat_map(texts) {
            // A relative path is one in the gateway's current directory, which nothing names.
            for place in [home, state].iter().filter_map(|base| resolved(path, base, home)) {
                let linked = if key == PLUGINS { links_in(&place) } else { Vec::new() };
                for place in linked.into_iter().chain([place]) {
                    found.push(place.join(""));
                    found.push(place);
                }
            }
        }
    }
    if has_hooks(config) {
        found.extend(workspaces(config, state, home).iter().map(|workspace| workspace.join(HOOKS)));
    }
    found
}

/// Where the links in a directory lead.
fn links_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().take(MAX_PLUGINS).flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.filter_map(|link| fs::canonicalize(link.path()).ok()).collect()
}

/// Returns the commands that the gateway starts: servers of tools, backends, providers of secrets. The keys of hooks and plugins
/// have no commands, and may have settings of the same names.
pub fn commands(config: &Value) -> Vec<StartedCommand> {
    let mut content = config.clone();
    if let Some(keys) = content.as_object_mut() {
        keys.retain(|key, _| !["hooks", "plugins"].contains(&&**key));
    }
    command_keys::commands(&content)
}

/// Whether hooks in directories are loaded.
fn has_hooks(config: &Value) -> bool {
    at(config, "hooks.internal").is_some_and(|hooks| hooks.get("enabled") != Some(&Value::Bool(false)))
}

/// The workspaces of all agents: those that the configuration names, and the usual ones.
fn workspaces(config: &Value, state: &Path, home: &Path) -> Vec<PathBuf> {
    let resolved = |path: &str| resolved(path, home, home);
    let entries = at(config, "agents.entries").and_then(Value::as_object).into_iter().flatten();
    // Older releases have a list.
    let listed = at(config, "agents.list").and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(|agent| Some((agent.get("id")?.as_str()?, agent)));
    let agents: Vec<(&str, &Value)> =
        entries.map(|(name, agent)| (name.as_str(), agent)).chain(listed).collect();
    let own = agents.iter().filter_map(|(_, agent)| agent.get("workspace")?.as_str());
    // OpenClaw writes names of agents in lower case.
    let names: Vec<String> =
        agents.iter().flat_map(|(name, _)| [(*name).to_owned(), name.to_lowercase()]).collect();
    let root = at(config, "agents.defaults.workspace").into_iter().flat_map(texts).find_map(resolved);
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

/// The path that a text names. `None` if it names a variable that is not set.
fn resolved(text: &str, base: &Path, home: &Path) -> Option<PathBuf> {
    if text.contains("${") {
        return None;
    }
    let below = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    Some(match below {
        Some(rest) => home.join(rest.trim_start_matches('/')),
        None => base.join(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded_by(text: &str) -> Vec<String> {
        let config: Option<Value> = jsonc_parser::parse_to_serde_value(text, &Default::default()).unwrap();
        let config = config.unwrap();
        let found = loaded(&config, Path::new("/s"), Path::new("/h"));
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
    }
}
