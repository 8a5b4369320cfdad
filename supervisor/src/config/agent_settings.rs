//! Files in the directories of agents that the agents' settings name: status lines, helpers, servers. The agent starts them
//! outside of the guard, and the profile of the agent opens the directories.

use std::path::{Path, PathBuf};

use guard_openclaw::plain_file;
use serde_json::Value;

use crate::config::hook_commands;
use crate::config::realpath::Links;

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
/// The settings of a project, by the same manuals. In a home, too, what the keys below run counts wherever it is.
const OF_PROJECTS: [&str; 4] =
    [".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json", ".qwen/settings.json"];
/// Keys with commands that an agent runs by itself (Claude Code's "Settings" and "Hooks", Gemini CLI's "Hooks").
const COMMANDS: [&str; 7] = [
    "hooks",
    "statusLine",
    "fileSuggestion",
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "otelHeadersHelper",
];
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
        if OF_PROJECTS.contains(&settings) {
            scripts.extend(scripts_in(&text, home, home));
        }
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

/// Returns whether a directory of this name in a project may hold such settings.
pub fn is_directory_of_projects(name: &[u8]) -> bool {
    OF_PROJECTS.iter().any(|settings| settings.split('/').next().is_some_and(|part| part.as_bytes() == name))
}

/// Returns the scripts that the settings of a project have an agent run by itself.
///
/// # Errors
/// As [`named_files`].
pub fn named_scripts(links: &Links, home: &Path, project: &Path) -> Result<Vec<PathBuf>, PathBuf> {
    let mut scripts = Vec::new();
    for settings in OF_PROJECTS {
        scripts.extend(scripts_in(&text(links, &project.join(settings))?, home, project));
    }
    Ok(scripts)
}

/// The scripts that the text of such settings names. Where it is no plain JSON, for its comments for instance, each word
/// counts that may be one.
fn scripts_in(settings: &str, home: &Path, project: &Path) -> Vec<PathBuf> {
    let text = settings.trim_start_matches('\u{feff}');
    let mut commands = Vec::new();
    match serde_json::from_str(text) {
        Ok(settings) => commands_in(&settings, false, &mut commands),
        Err(_) => words_of(text, &mut commands),
    }
    commands.iter().flat_map(|command| hook_commands::scripts(command, home, project)).collect()
}

/// Adds the text below the keys with commands.
fn commands_in(value: &Value, is_inside: bool, commands: &mut Vec<String>) {
    match value {
        Value::String(text) if is_inside => commands.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| commands_in(value, is_inside, commands)),
        Value::Object(entries) => {
            for (key, value) in entries {
                commands_in(value, is_inside || COMMANDS.contains(&key.as_str()), commands);
            }
        }
        _ => {}
    }
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
                "hooks": {"PreToolUse": [{"matcher": "x/y", "hooks": [{"type": "command",
                "command": "cd src/ && \"$CLAUDE_PROJECT_DIR\"/tools/check.sh --x; /usr/bin/true | ls ./src"}]}]}}"#,
        );
        settings(
            ".claude/settings.json",
            r#"{"hooks": {"Stop": [{"command": "~/work/project/tools/stop"}]}}"#,
        );
        let of = |project: &Path| named_scripts(&Links::default(), &home, project).unwrap();
        let expected = [".claude/line.sh", "x/y", "tools/check.sh"].map(|name| project.join(name));
        let mut found = of(&project);
        found.sort();
        let mut sorted = expected.to_vec();
        sorted.sort();
        assert_eq!(found, sorted);
        assert_eq!(of(&home), [home.join("work/project/tools/stop")]);
        assert_eq!(named_files(&Links::default(), &home).unwrap(), of(&home));
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
