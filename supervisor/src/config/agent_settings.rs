//! Files that the settings of agents and editors name: status lines, helpers, servers, hooks. The agent starts them
//! outside of the guard. Some of these files lie in the directories of agents, which the profiles for the agents open.
//! Others lie in projects.

mod claude_state;
mod command_keys;
mod command_lines;
mod hook_commands;
mod json_escapes;
mod looking_programs;
mod mentioned_scripts;
mod openclaw_config;
mod opening_tasks;
mod packages;
mod programs_of_words;
mod read_budget;
mod settings_files;
mod settings_table;
mod settings_text;
mod settings_words;
mod shell_commands;
mod shell_words;
mod started_commands;
mod unread_settings;
mod yaml;
mod yaml_spellings;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::config::realpath::Links;
use crate::config::state_directories::OpenclawConfig;
use claude_state::STATE;
use hook_commands::{NamePaths, scripts};
pub use hook_commands::{TooLong, with_directory};
pub use read_budget::ReadBudget;
use settings_files::SettingsFile;
pub use settings_files::is_name_of_project;
use settings_words::words_of;
pub use shell_commands::commands_of;
pub use shell_words::is_assignment;
use started_commands::{NamedCommand, StartedCommand};
pub use unread_settings::UnreadSettings;

/// The directories of agents, below the home.
const DIRECTORIES: [&str; 6] = [".claude", ".codex", ".gemini", ".aider", ".qwen", ".local/share/opencode"];
/// The names of editors' settings in a project. The files that these settings name are not listed with those of agents:
/// the guard looks for them when something is written.
const OF_EDITORS: [&str; 4] = [".vscode", ".zed", ".devcontainer", ".devcontainer.json"];
/// The end of the names of editors' further settings.
const END_OF_EDITORS: &str = ".code-workspace";
/// How many files the state of Claude Code may name: more than anybody has.
const MAX_FILES: usize = 4096;
/// How many scripts of servers the state may name, counted with every path that a name may stand for.
const MAX_SCRIPTS: usize = 1 << 16;
/// How many commands settings may have: more than anybody has.
const MAX_COMMANDS: usize = 4096;
/// The most bytes that are read of settings, and of a state that is no JSON.
const MAX_SETTINGS: u64 = 2 << 20;
const MAX_STATE: u64 = 16 << 20;
/// The ends of the names of files that an agent keeps in its directory and writes all the time.
const DATA: [&str; 5] = [".jsonl", ".log", ".lock", ".sqlite", ".db"];

/// Returns the paths that the settings of a home name. A relative path may be one in the home, or in each of these projects.
///
/// # Errors
/// Settings name too many files, or are too long to be read.
pub fn named_files(links: &Links, home: &Path, projects: &[PathBuf]) -> Result<Vec<PathBuf>, UnreadSettings> {
    let (mut words, mut files) = (Vec::new(), Vec::new());
    for settings in settings_files::of_home(links, home)? {
        // Each file has its own budget: the user, who made the settings of the home, may have many such files.
        let budget = ReadBudget::default();
        let text = text_of(links, &settings.path, &budget)?;
        if settings.path.extension().is_none_or(|end| end != "md") {
            words.extend(words_of(&text));
        }
        let commands = settings_text::commands_in(&text, &settings, &budget)?;
        files.extend(scripts_for_each(&commands, &settings.path, home, projects)?);
    }
    files.extend(words.iter().filter_map(|word| path(word, home)));
    files.extend(named_by_state(links, home, projects)?);
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns what OpenClaw's gateway loads or starts by a configuration: a path that ends with a slash is a directory. What
/// cannot be parsed starts nothing.
///
/// # Errors
/// As [`named_files`].
pub(super) fn named_by_openclaw(
    config: &OpenclawConfig,
    home: &Path,
    projects: &[PathBuf],
) -> Result<Vec<PathBuf>, UnreadSettings> {
    let OpenclawConfig { file, state, read } = config;
    let mut found = Vec::new();
    for content in read.expanded(state) {
        found.extend(openclaw_config::loaded(&content, state, home));
        found.extend(scripts_for_each(&openclaw_config::commands(&content), file, home, projects)?);
    }
    Ok(found)
}

/// The files that the state of Claude Code names.
fn named_by_state(links: &Links, home: &Path, projects: &[PathBuf]) -> Result<Vec<PathBuf>, UnreadSettings> {
    let at = home.join(STATE);
    let (mut words, mut files) = (Vec::new(), Vec::new());
    match claude_state::read(&at) {
        Ok(state) => {
            all_words(&state.servers, &mut words);
            let commands = command_keys::commands(&state.servers);
            files.extend(scripts_for_each(&commands, &at, home, projects)?);
            for (project, of_project) in &state.projects {
                all_words(&of_project.servers, &mut words);
                let places = NamePaths { home, project: Path::new(project), roots: projects };
                files.extend(scripts_of_all(&command_keys::commands(&of_project.servers), places, &at)?);
            }
        }
        // The agent could repair the file, so every word in it counts.
        Err(_) => words.extend(words_of(&settings_text::read(links, &at, MAX_STATE)?)),
    }
    words.sort();
    words.dedup();
    let of_agents: Vec<PathBuf> = words.iter().filter_map(|word| path(word, home)).collect();
    if of_agents.len() > MAX_FILES || files.len() > MAX_SCRIPTS {
        return Err(UnreadSettings::many(&at));
    }
    Ok([files, of_agents].concat())
}

/// Returns the scripts that settings in a home, or the state of Claude Code there, make an agent start, wherever the scripts
/// are.
///
/// # Errors
/// As [`named_files`].
pub fn named_scripts_of_home(
    links: &Links,
    home: &Path,
    budget: &ReadBudget,
) -> Result<Vec<PathBuf>, UnreadSettings> {
    let mut found = Vec::new();
    for settings in settings_files::of_home(links, home)? {
        found.extend(scripts_of(links, &settings, (home, home), budget)?);
    }
    found.extend(named_by_state(links, home, &[])?);
    Ok(found)
}

/// Returns the scripts that settings in a project make agents start. A path that ends with a slash is a directory of
/// plugins. Settings that cannot be read are left out: at each write near them, the guard protects everything around
/// them.
pub fn named_scripts(links: &Links, home: &Path, project: &Path) -> Vec<PathBuf> {
    let settings = settings_files::of_project(links, project);
    let is_of_agents = |settings: &SettingsFile| {
        let below = settings.path.strip_prefix(project).unwrap_or(&settings.path);
        let first = below.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
        !OF_EDITORS.contains(&first) && !first.ends_with(END_OF_EDITORS)
    };
    let of_agents = settings.iter().filter(|settings| is_of_agents(settings));
    let budget = ReadBudget::default();
    let scripts = |settings| scripts_of(links, settings, (home, project), &budget).unwrap_or_default();
    of_agents.flat_map(scripts).collect()
}

/// Returns the scripts that some settings of a project make agents start. These settings have this name in the project,
/// or lie in a directory of this name there.
///
/// # Errors
/// Settings cannot be read as a whole.
pub fn named_scripts_of(
    links: &Links,
    (home, project): (&Path, &Path),
    name: &str,
    budget: &ReadBudget,
) -> Result<Vec<PathBuf>, UnreadSettings> {
    let mut found = Vec::new();
    for settings in settings_files::of_project_in(links, project, name)? {
        found.extend(scripts_of(links, &settings, (home, project), budget)?);
    }
    Ok(found)
}

/// The scripts that one file of settings names.
fn scripts_of(
    links: &Links,
    settings: &SettingsFile,
    (home, project): (&Path, &Path),
    budget: &ReadBudget,
) -> Result<Vec<PathBuf>, UnreadSettings> {
    let text = text_of(links, &settings.path, budget)?;
    let places = NamePaths { home, project, roots: &[] };
    scripts_of_all(&settings_text::commands_in(&text, settings, budget)?, places, &settings.path)
}

/// Returns the scripts of commands in settings of a home. A relative name may be one in the home, or in each project,
/// because the agent starts there.
fn scripts_for_each(
    commands: &[StartedCommand],
    settings: &Path,
    home: &Path,
    projects: &[PathBuf],
) -> Result<Vec<PathBuf>, UnreadSettings> {
    let mut found = Vec::new();
    for project in [home].into_iter().chain(projects.iter().map(PathBuf::as_path)) {
        let places = NamePaths { home, project, roots: projects };
        found.extend(scripts_of_all(commands, places, settings)?);
    }
    Ok(found)
}

fn scripts_of_all(
    commands: &[StartedCommand],
    places: NamePaths<'_>,
    settings: &Path,
) -> Result<Vec<PathBuf>, UnreadSettings> {
    if commands.len() > MAX_COMMANDS {
        return Err(UnreadSettings::many(settings));
    }
    let mut found = Vec::new();
    for command in commands {
        found.extend(scripts(command, places).map_err(|_| UnreadSettings::long(settings))?);
    }
    Ok(found)
}

/// Returns the scripts of the home or a project that a text of shell runs, if it starts in the project.
///
/// # Errors
/// The text is too long.
pub fn scripts_of_text(text: &str, home: &Path, project: &Path) -> Result<Vec<PathBuf>, TooLong> {
    let command = NamedCommand::Text(text.to_owned()).into();
    scripts(&command, NamePaths { home, project, roots: &[] })
}

fn text_of(links: &Links, path: &Path, budget: &ReadBudget) -> Result<String, UnreadSettings> {
    let text = settings_text::read(links, path, MAX_SETTINGS.min(budget.bytes()))?;
    budget.take_bytes(text.len() as u64);
    Ok(text)
}

/// Adds the words of all texts in a value.
fn all_words(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => words.extend(words_of(text)),
        Value::Array(values) => values.iter().for_each(|value| all_words(value, words)),
        Value::Object(entries) => entries.values().for_each(|value| all_words(value, words)),
        _ => {}
    }
}

/// The path that a word stands for, if it lies in the directory of an agent.
fn path(word: &str, home: &Path) -> Option<PathBuf> {
    let below = ["~/", "$HOME/"].into_iter().find_map(|start| word.strip_prefix(start));
    let path = below.map_or_else(|| PathBuf::from(word), |rest| home.join(rest));
    let is_plain = path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
    let is_of_agent = DIRECTORIES
        .iter()
        .any(|directory| path.starts_with(home.join(directory)) && path != home.join(directory));
    let is_data = DATA.iter().any(|end| word.ends_with(end));
    (is_plain && is_of_agent && !is_data && !word.contains('*')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_an_agent_runs_by_itself_are_found_wherever_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        let project = home.join("work/project");
        for name in [".claude", "work/project/.claude", "work/project/src"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        let settings = |at: &str, text: &str| std::fs::write(home.join(at), text).unwrap();
        settings(
            "work/project/.claude/settings.json",
            r#"{"permissions": {"allow": ["Edit(./src/main.rs)"]}, "statusLine": {"command": "bash .claude/line.sh ./src/a"},
                "hooks": {"PreToolUse": [{"matcher": "x/y", "if": "Edit(src/b.ts)", "hooks": [{"type": "command",
                "command": "cd src/ && \"$CLAUDE_PROJECT_DIR\"/tools/check.sh --x; /usr/bin/true | ls ./src"}]}]}}"#,
        );
        settings(
            ".claude/settings.json",
            r#"{"hooks": {"Stop": [{"command": "~/work/project/tools/stop"}]}}"#,
        );
        let of = |project: &Path| named_scripts(&Links::default(), &home, project);
        let expected = [".claude/line.sh", "tools/check.sh"].map(|name| project.join(name));
        let mut found = of(&project);
        found.sort();
        found.dedup();
        let mut sorted = expected.to_vec();
        sorted.sort();
        assert_eq!(found, sorted);
        let stop = [home.join("work/project/tools/stop")];
        assert_eq!(named_files(&Links::default(), &home, &[]).unwrap(), stop);
    }

    /// Returns which files in `tools` and `src`, and which directories of plugins, these settings of a project name.
    fn named_by(settings: &str, text: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().canonicalize().unwrap();
        let at = project.join(settings);
        for name in
            [at.parent().unwrap(), &project.join("tools"), &project.join("src"), &project.join("plugins")]
        {
            std::fs::create_dir_all(name).unwrap();
        }
        for name in ["tools/x.sh", "tools/y.sh", "src/main.ts", "root.js"] {
            std::fs::write(project.join(name), "").unwrap();
        }
        std::fs::write(at, text).unwrap();
        let name = Path::new(settings).components().next().unwrap().as_os_str().to_str().unwrap();
        let found = named_scripts_of(
            &Links::default(),
            (Path::new("/nowhere"), &project),
            name,
            &ReadBudget::default(),
        );
        let found = found.unwrap();
        let name =
            |path: &PathBuf| path.strip_prefix(&project).unwrap().display().to_string().replace("./", "");
        let mut found: Vec<_> = found.iter().map(name).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn what_the_settings_of_each_agent_and_editor_start_is_found() {
        for (settings, text) in [
            (".mcp.json", r#"{"mcpServers": {"x": {"command": "bash", "args": ["./tools/x.sh"]}}}"#),
            (".cursor/mcp.json", r#"{"mcpServers": {"x": {"command": "./tools/x.sh"}}}"#),
            (".cursor/hooks.json", r#"{"hooks": {"stop": [{"command": "./tools/x.sh"}]}}"#),
            (".cursor/worktrees.json", r#"{"setup-worktree": ["npm ci", "$ROOT_WORKTREE_PATH/tools/x.sh"]}"#),
            ("conductor.json", r#"{"scripts": {"setup": "./tools/x.sh"}}"#),
            (".superset/config.json", r#"{"setup": ["./tools/x.sh"], "teardown": []}"#),
            (".emdash.json", r#"{"scripts": {"run": "./tools/x.sh"}, "shellSetup": "true"}"#),
            (".emdash.json", r#"{"shellSetup": ". ./tools/x.sh"}"#),
            (".codex/hooks.json", r#"{"hooks": {"Stop": [{"hooks": [{"command": "./tools/x.sh"}]}]}}"#),
            (".codex/config.toml", "notify = [\"bash\", \"tools/x.sh\"]\n"),
            (".codex/config.toml", "[mcp_servers.x]\ncommand = \"./tools/x.sh\"\n"),
            (".gemini/settings.json", r#"{"tools": {"discoveryCommand": "./tools/x.sh"}}"#),
            (".gemini/settings.json", r#"{"mcpServers": {"x": {"command": "./tools/x.sh"}}}"#),
            (".qwen/settings.json", r#"{"mcpServers": {"x": {"command": "bash", "args": ["tools/x.sh"]}}}"#),
            (
                ".github/hooks/x.json",
                r#"{"hooks": {"sessionStart": [{"bash": "./tools/x.sh", "cwd": "."}]}}"#,
            ),
            ("opencode.json", r#"{"mcp": {"x": {"type": "local", "command": ["bash", "./tools/x.sh"]}}}"#),
            ("opencode.jsonc", "{// c\n\"lsp\": {\"x\": {\"command\": [\"./tools/x.sh\"],}}}"),
            (".crush.json", r#"{"lsp": {"go": {"command": "./tools/x.sh"}}}"#),
            (".amp/settings.json", r#"{"amp.mcpServers": {"x": {"command": "./tools/x.sh"}}}"#),
            (".kiro/settings/mcp.json", r#"{"mcpServers": {"x": {"command": "./tools/x.sh"}}}"#),
            (".windsurf/hooks.json", r#"{"hooks": {"pre_run_command": [{"command": "bash tools/x.sh"}]}}"#),
            (
                ".factory/settings.json",
                r#"{"hooks": {"Stop": [{"command": "\"$FACTORY_PROJECT_DIR\"/tools/x.sh"}]}}"#,
            ),
            (".iflow/settings.json", r#"{"hooks": {"Stop": [{"command": "./tools/x.sh"}]}}"#),
            (".codebuddy/settings.json", r#"{"hooks": {"Stop": [{"command": "./tools/x.sh"}]}}"#),
            (".roo/mcp.json", r#"{"mcpServers": {"x": {"command": "./tools/x.sh"}}}"#),
            (".vscode/mcp.json", r#"{"servers": {"x": {"command": "${workspaceFolder}/tools/x.sh"}}}"#),
            (
                ".vscode/tasks.json",
                r#"{"tasks": [{"command": "./tools/x.sh", "runOptions": {"runOn": "folderOpen"}}]}"#,
            ),
            (".claude/settings.json", r#"{"gcpAuthRefresh": "./tools/x.sh"}"#),
            (".claude/settings.json", r#"{"env": {"BASH_ENV": "./tools/x.sh"}}"#),
            (".claude/settings.json", r#"{"subagentStatusLine": {"command": "./tools/x.sh"}}"#),
            (
                ".claude/agents/x.md",
                "---\nhooks:\n  Stop:\n    - command: \"./tools/x.sh\"\n---\nSee src/main.ts\n",
            ),
            (".aider.conf.yml", "lint-cmd: ./tools/x.sh\n"),
            (".crushrc", "export X=1\nsource ./tools/x.sh\n"),
            (".devin/config.json", r#"{"mcpServers": {"x": {"command": "./tools/x.sh"}}}"#),
            (".codex/environments/environment.toml", "[setup]\nscript = \"./tools/x.sh\"\n"),
            (".qwen/commands/x.md", "See !{./tools/x.sh | awk '{print $1}'}\n"),
            (
                ".gemini/commands/x.toml",
                "prompt = \"\"\"See !{date | awk '{print $1}' | ./tools/x.sh}\"\"\"\n",
            ),
            (".claude/commands/x.md", "See\n```!\n./tools/x.sh\n```\n"),
            (
                ".vscode/settings.json",
                r#"{"terminal.integrated.profiles.linux": {"x": {"path": "./tools/x.sh", "icon": "y"}}}"#,
            ),
            (".zed/settings.json", r#"{"terminal": {"shell": {"program": "./tools/x.sh"}}}"#),
        ] {
            assert_eq!(named_by(settings, text), ["tools/x.sh"], "{settings}: {text}");
        }
        let bare = r#"{"hooks": {"Stop": [{"type": "command", "command": "node", "args": ["root.js"]}]}}"#;
        assert_eq!(named_by(".claude/settings.json", bare), ["root.js"]);
        let local =
            r#"{"extraKnownMarketplaces": {"l": {"source": {"source": "directory", "path": "./plugins"}}}}"#;
        assert_eq!(named_by(".claude/settings.json", local), ["plugins"]);
        let path = r#"{"env": {"PATH": "./plugins:/usr/bin"}}"#;
        assert_eq!(named_by(".claude/settings.json", path), ["plugins"]);
    }

    #[test]
    fn what_settings_name_as_data_is_not_found() {
        for (settings, text) in [
            (
                ".claude/settings.json",
                r#"{"permissions": {"allow": ["Edit(src/main.ts)", "Bash(./tools/x.sh)"]}}"#,
            ),
            (
                ".claude/settings.json",
                r#"{"hooks": {"Stop": [{"command": "prettier --check src/main.ts > tools/y.sh"}]}}"#,
            ),
            (".gemini/settings.json", r#"{"context": {"fileName": ["src/main.ts"]}}"#),
            (".vscode/tasks.json", r#"{"tasks": [{"command": "./tools/x.sh"}]}"#),
            (".zed/settings.json", r#"{"file_scan_exclusions": ["src/main.ts"]}"#),
            ("opencode.json", r#"{"watcher": {"ignore": ["src/main.ts"]}, "instructions": ["src/main.ts"]}"#),
            (".aider.conf.yml", "read: src/main.ts\nfile: [src/main.ts]\n"),
            (
                ".claude/agents/x.md",
                "---\ndescription: knows src/main.ts\n---\nRun ./tools/x.sh, look at src/main.ts.\n",
            ),
        ] {
            assert_eq!(named_by(settings, text), [""; 0], "{settings}: {text}");
        }
    }

    #[test]
    fn what_settings_name_in_the_directory_of_an_agent_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        for name in [".claude", ".codex", ".gemini"] {
            std::fs::create_dir(home.join(name)).unwrap();
        }
        let write = |name: &str, text: &str| std::fs::write(home.join(name), text).unwrap();
        let at = home.display();
        write(
            ".claude/settings.json",
            &format!(
                r#"{{"statusLine": {{"command": "node ~/.claude/line --wide"}}, "apiKeyHelper": "{at}/.claude/helpers/key",
                "permissions": {{"allow": ["Read(~/.claude/projects/**)", "Read(~/.claude/history.jsonl)", "Read(~/.claude/../x)"]}}}}"#
            ),
        );
        write(".codex/config.toml", &format!("notify = [\"python3\", \"{at}/.codex/notify\"]\n"));
        write(".gemini/settings.json", r#"{"mcpServers": {"x": {"command": "${HOME}/.gemini/servers/x"}}}"#);
        write(
            ".claude.json",
            &format!(
                r#"{{"history": "cat ~/.claude/todos/1", "projects": {{"/w": {{"mcpServers": {{"y": {{"args": ["{at}/.claude/y"]}}}}}}}}}}"#
            ),
        );
        let expected =
            [".claude/helpers/key", ".claude/line", ".claude/y", ".codex/notify", ".gemini/servers/x"];
        let named = |home: &Path| named_files(&Links::default(), home, &[]);
        let mut found = named(home).unwrap();
        // This drops what the names would stand for if they were directories.
        found.retain(|path| path.extension().is_none());
        assert_eq!(found, expected.map(|name| home.join(name)));
        assert!(named(&home.join("none")).unwrap().is_empty());
        // The agent could repair a state that is no JSON, so every word in it counts.
        write(".claude.json", "{\"mcpServers\": {\"y\": {\"args\": [\"~/.claude/y\"]}");
        assert!(named(home).unwrap().contains(&home.join(".claude/y")));
        let many: Vec<String> = (0..=MAX_FILES).map(|number| format!("\"~/.claude/{number}\"")).collect();
        write(".claude.json", &format!("{{\"mcpServers\": [{}]}}", many.join(",")));
        assert_eq!(named(home), Err(UnreadSettings::many(&home.join(".claude.json"))));
    }
}
