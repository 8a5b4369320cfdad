//! Files that the settings of agents and editors name: status lines, helpers, servers, hooks. The agent starts them outside of
//! the guard. Some lie in the directories of agents, which the profiles of these open, others in projects.

mod command_keys;
mod command_lines;
mod hook_commands;
mod mentioned_scripts;
mod settings_files;
mod shell_words;

use std::path::{Path, PathBuf};

use guard_openclaw::plain_file;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::Value;

use crate::config::realpath::Links;
use command_keys::{NamedCommand, Part};
pub use settings_files::is_name_of_project;

/// The directories, below the home.
const DIRECTORIES: [&str; 6] = [".claude", ".codex", ".gemini", ".aider", ".qwen", ".local/share/opencode"];
/// The settings, by the manual of each agent. All text in them counts.
const SETTINGS: [&str; 9] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".aider.conf.yml",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".config/opencode/config.json",
];
/// The settings in a home in which commands count wherever the script is that they name.
const WITH_COMMANDS: [&str; 16] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".aider.conf.yml",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".config/crush/crush.json",
    ".config/amp/settings.json",
    ".copilot/mcp-config.json",
    ".factory/settings.json",
    ".kiro/settings/mcp.json",
];
/// Directories of editors' settings, which another set protects: what they name is looked for where something is written.
const OF_EDITORS: [&str; 2] = [".vscode", ".zed"];
/// What a task of VS Code's has that starts where the folder is opened. Other tasks are the work itself.
const ON_OPENING: &str = "folderOpen";
/// Holds the state of Claude Code, too: only what it says of servers counts.
const STATE: &str = ".claude.json";
/// How many files the state may name: more than anybody has.
const MAX_FILES: usize = 4096;
/// How the names of files end that an agent itself keeps there and writes all the time.
const DATA: [&str; 5] = [".jsonl", ".log", ".lock", ".sqlite", ".db"];

/// Returns the paths that settings in a home name.
///
/// # Errors
/// The file that names too much, or is too long to be read. The agent may write its own state, and could name so much there
/// that a file would not be found.
pub fn named_files(links: &Links, home: &Path) -> Result<Vec<PathBuf>, PathBuf> {
    let (mut words, mut scripts) = (Vec::new(), Vec::new());
    for settings in SETTINGS {
        let text = text(links, &home.join(settings))?;
        words_of(&text, &mut words);
        if WITH_COMMANDS.contains(&settings) {
            scripts.extend(scripts_in(&text, Path::new(settings), home, home));
        }
    }
    for settings in WITH_COMMANDS.iter().filter(|settings| !SETTINGS.contains(settings)) {
        scripts.extend(scripts_of(links, &home.join(settings), home, home)?);
    }
    let state = home.join(STATE);
    let text = text(links, &state)?;
    let before = words.len();
    match serde_json::from_str(&text) {
        Ok(state) => servers(&state, false, &mut words),
        Err(_) => words_of(&text, &mut words),
    }
    let mut of_state: Vec<String> = words.split_off(before);
    of_state.sort();
    of_state.dedup();
    let mut files: Vec<PathBuf> = of_state.iter().filter_map(|word| path(word, home)).collect();
    if files.len() > MAX_FILES {
        return Err(state);
    }
    files.extend(words.iter().filter_map(|word| path(word, home)));
    files.extend(scripts);
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns the scripts that settings in a home have started, wherever they are.
///
/// # Errors
/// As [`named_files`].
pub fn named_scripts_of_home(links: &Links, home: &Path) -> Result<Vec<PathBuf>, PathBuf> {
    let mut scripts = Vec::new();
    for settings in WITH_COMMANDS {
        scripts.extend(scripts_of(links, &home.join(settings), home, home)?);
    }
    Ok(scripts)
}

/// Returns the scripts that the settings of agents in a project have started. What ends with a slash is a directory of plugins.
///
/// # Errors
/// As [`named_files`], and a directory of settings with too many names.
pub fn named_scripts(links: &Links, home: &Path, project: &Path) -> Result<Vec<PathBuf>, PathBuf> {
    let mut scripts = Vec::new();
    for name in settings_files::names_of_projects().filter(|name| !OF_EDITORS.contains(name)) {
        scripts.extend(named_scripts_of(links, home, project, name)?);
    }
    Ok(scripts)
}

/// Returns the scripts that those settings of a project have started which are, or lie in, what has this name there.
///
/// # Errors
/// As [`named_scripts`].
pub fn named_scripts_of(
    links: &Links,
    home: &Path,
    project: &Path,
    name: &str,
) -> Result<Vec<PathBuf>, PathBuf> {
    let mut scripts = Vec::new();
    for settings in settings_files::of_project(links, project, name)? {
        scripts.extend(scripts_of(links, &settings, home, project)?);
    }
    Ok(scripts)
}

/// The scripts that such settings name.
fn scripts_of(links: &Links, settings: &Path, home: &Path, project: &Path) -> Result<Vec<PathBuf>, PathBuf> {
    Ok(scripts_in(&text(links, settings)?, settings, home, project))
}

/// The scripts that the text of such settings names.
fn scripts_in(text: &str, settings: &Path, home: &Path, project: &Path) -> Vec<PathBuf> {
    let is_meant = !settings.ends_with(".vscode/tasks.json") || text.contains(ON_OPENING);
    let commands = if is_meant { commands_in(text, settings) } else { Vec::new() };
    commands.iter().flat_map(|command| hook_commands::scripts(command, home, project)).collect()
}

/// The commands in the text of settings, by what they are. Where JSON cannot be read, each word counts that may be one.
fn commands_in(text: &str, settings: &Path) -> Vec<NamedCommand> {
    match settings.extension().and_then(|end| end.to_str()) {
        Some("md") => return command_lines::of_markdown(text),
        Some("toml" | "yml" | "yaml") => return command_lines::of_lines(text),
        _ => {}
    }
    let Some(settings) = json(text) else {
        let mut words = Vec::new();
        words_of(text, &mut words);
        return words.into_iter().map(NamedCommand::Text).collect();
    };
    let mut commands = Vec::new();
    command_keys::add(&settings, Part::Data, &mut commands);
    commands
}

/// The value of JSON, which may have comments and commas at the end: editors and some agents take both for their settings.
fn json(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    // Not by serde: the syntax tree has a bound for its depth.
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    parsed.ok()?.value.map(Value::from)
}

/// The text of a file; none if it is not there.
fn text(links: &Links, path: &Path) -> Result<String, PathBuf> {
    match plain_file::read(path) {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(_) if path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > plain_file::MAX_BYTES) => {
            Err(path.to_owned())
        }
        Err(error) => {
            links.unreadable(path, &error);
            Ok(String::new())
        }
    }
}

fn words_of(text: &str, words: &mut Vec<String>) {
    let is_between =
        |letter: char| letter.is_whitespace() || letter.is_control() || "\"'`=,:;|&()[]{}<>".contains(letter);
    let text = text.replace("${HOME}", "$HOME");
    words.extend(text.split(is_between).filter(|word| word.contains('/')).map(str::to_owned));
}

/// Adds the words of `mcpServers`, at any depth.
fn servers(value: &Value, is_inside: bool, words: &mut Vec<String>) {
    match value {
        Value::String(text) if is_inside => words_of(text, words),
        Value::Array(values) => values.iter().for_each(|value| servers(value, is_inside, words)),
        Value::Object(entries) => {
            for (key, value) in entries {
                servers(value, is_inside || key == "mcpServers", words);
            }
        }
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
        let of = |project: &Path| named_scripts(&Links::default(), &home, project).unwrap();
        let expected = [".claude/line.sh", "tools/check.sh"].map(|name| project.join(name));
        let mut found = of(&project);
        found.sort();
        found.dedup();
        let mut sorted = expected.to_vec();
        sorted.sort();
        assert_eq!(found, sorted);
        let stop = [home.join("work/project/tools/stop")];
        assert_eq!(named_files(&Links::default(), &home).unwrap(), stop);
    }

    /// What these settings of a project name, of files in `tools` and `src` and of directories of plugins.
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
        let found = named_scripts_of(&Links::default(), Path::new("/nowhere"), &project, name).unwrap();
        let name =
            |path: &PathBuf| path.strip_prefix(&project).unwrap().display().to_string().replace("./", "");
        let mut found: Vec<_> = found.iter().map(name).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn json_of_any_depth_is_read_or_not() {
        assert_eq!(json("{// c\n\"a\": [1,],}"), Some(serde_json::json!({"a": [1]})));
        assert_eq!(json(&"[".repeat(100_000)), None);
        assert_eq!(json(""), None);
    }

    #[test]
    fn what_the_settings_of_each_agent_and_editor_start_is_found() {
        for (settings, text) in [
            (".mcp.json", r#"{"mcpServers": {"x": {"command": "bash", "args": ["./tools/x.sh"]}}}"#),
            (".cursor/mcp.json", r#"{"mcpServers": {"x": {"command": "./tools/x.sh"}}}"#),
            (".cursor/hooks.json", r#"{"hooks": {"stop": [{"command": "./tools/x.sh"}]}}"#),
            (".cursor/worktrees.json", r#"{"setup-worktree": ["npm ci", "$ROOT_WORKTREE_PATH/tools/x.sh"]}"#),
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
        ] {
            assert_eq!(named_by(settings, text), ["tools/x.sh"], "{settings}: {text}");
        }
        let bare = r#"{"hooks": {"Stop": [{"type": "command", "command": "node", "args": ["root.js"]}]}}"#;
        assert_eq!(named_by(".claude/settings.json", bare), ["root.js"]);
        let local =
            r#"{"extraKnownMarketplaces": {"l": {"source": {"source": "directory", "path": "./plugins"}}}}"#;
        assert_eq!(named_by(".claude/settings.json", local), ["plugins"]);
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
        let named = |home: &Path| named_files(&Links::default(), home);
        assert_eq!(named(home).unwrap(), expected.map(|name| home.join(name)));
        assert!(named(&home.join("none")).unwrap().is_empty());
        // A state that is no JSON could be repaired by the agent: all of it counts.
        write(".claude.json", "{\"mcpServers\": {\"y\": {\"args\": [\"~/.claude/y\"]}");
        assert!(named(home).unwrap().contains(&home.join(".claude/y")));
        let many: Vec<String> = (0..=MAX_FILES).map(|number| format!("\"~/.claude/{number}\"")).collect();
        write(".claude.json", &format!("{{\"mcpServers\": [{}]}}", many.join(",")));
        assert_eq!(named(home), Err(home.join(".claude.json")));
    }
}
