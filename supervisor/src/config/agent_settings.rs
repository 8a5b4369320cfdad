//! Files in the directories of agents that the agents' settings name: status lines, helpers, servers. The agent starts them
//! outside of the guard, and the profile of the agent opens the directories.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

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
/// Holds the state of Claude Code, too: only what it says of servers counts.
const STATE: &str = ".claude.json";
/// How much of each file is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// How many files count.
const MAX_FILES: usize = 512;
/// How the names of files end that an agent itself keeps there and writes all the time.
const DATA: [&str; 5] = [".jsonl", ".log", ".lock", ".sqlite", ".db"];

/// Returns the paths that settings in a home name.
pub fn named_files(home: &Path) -> Vec<PathBuf> {
    let mut words: Vec<String> = Vec::new();
    for settings in SETTINGS {
        words_of(&text(&home.join(settings)), &mut words);
    }
    if let Ok(state) = serde_json::from_str(&text(&home.join(STATE))) {
        servers(&state, false, &mut words);
    }
    let mut files: Vec<PathBuf> = words.iter().filter_map(|word| path(word, home)).collect();
    files.sort();
    files.dedup();
    files.truncate(MAX_FILES);
    files
}

/// The text of a file; none if it cannot be read.
fn text(path: &Path) -> String {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    read.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
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
        assert_eq!(named_files(home), expected.map(|name| home.join(name)));
        assert!(named_files(&home.join("none")).is_empty());
    }
}
