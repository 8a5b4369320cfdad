//! The parts of settings that hold commands, by the keys around them.

use guard_policy::PersistenceSites;
use serde_json::Value;

use super::started_commands::{NamedCommand, StartedCommand};

/// Keys whose text, or list of words, is a command.
const COMMANDS: [&str; 15] = [
    "command",
    "cmd",
    "install",
    "start",
    "bash",
    "powershell",
    "notify",
    "setup-worktree",
    "setup-worktree-unix",
    "awsCredentialExport",
    "program",
    "script",
    "setup",
    "shellSetup",
    "editor",
];
/// Keys with commands at any depth.
const AROUND_COMMANDS: [&str; 5] = ["hooks", "scripts", "statusLine", "fileSuggestion", "binary"];
/// The ends of further keys with commands at any depth: `apiKeyHelper`, `gcpAuthRefresh`, `discoveryCommand`,
/// `subagentStatusLine`, aider's `lint-cmd` and `notifications-command`, `rust-analyzer.check.overrideCommand` of editors.
const ENDS: [&str; 7] = ["Helper", "Refresh", "Command", "StatusLine", "-cmd", "-command", ".command"];
/// The ends of editors' keys whose text may name a program, or any other file or directory.
const ENDS_OF_PATHS: [&str; 4] = ["Path", ".path", "executable", "Executable"];
/// Keys with a program, to which other keys give arguments.
const PROGRAMS: [&str; 3] = ["command", "cmd", "path"];
/// Keys with the arguments of a program.
const ARGUMENTS: [&str; 2] = ["args", "arguments"];
/// Keys that name what is loaded as code: opencode's plugins, and the commands that aider loads at its start.
const LOADED: [&str; 5] = ["plugin", "plugins", "load", "env-file", "CLAUDE_ENV_FILE"];
/// Variables that name directories. Programs there come before those of the system, or a shell reads files there at its
/// start.
const PLACES: [&str; 3] = ["PATH", "ZDOTDIR", "GIT_EXEC_PATH"];
/// The beginnings of VS Code's keys that hold the programs of terminals.
const TERMINALS: [&str; 2] = ["terminal.integrated.profiles.", "terminal.integrated.automationProfile."];
/// Claude Code's key that holds directories of plugins, each at a key `path`.
const MARKETPLACES: &str = "extraKnownMarketplaces";
/// Keys whose value is text for humans, text for a model, or data. It is never a command, even inside
/// `AROUND_COMMANDS`.
const TEXTS: [&str; 13] = [
    "prompt",
    "description",
    "statusMessage",
    "matcher",
    "if",
    "template",
    "message",
    "name",
    "label",
    "detail",
    "cwd",
    "env",
    "environment",
];

/// What the strings at a place in settings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// No commands.
    Data,
    /// A command, if it is a text or a list.
    Command,
    /// Commands at any depth.
    Around,
    Arguments,
    /// Paths, which may be programs.
    Paths,
    Loaded,
    Marketplaces,
    Place,
}

/// Returns the known key that this key is to a reader that ignores case, as Go's encoding/json does. If there is none,
/// returns the key itself.
fn without_case(key: &str) -> &str {
    let is_same = |known: &str| {
        let folded = key.chars().map(|letter| match letter {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        });
        folded.eq(known.chars().map(|letter| letter.to_ascii_lowercase()))
    };
    let mut known = COMMANDS.iter().chain(&AROUND_COMMANDS).chain(&ARGUMENTS);
    known.find(|known| is_same(known)).copied().unwrap_or(key)
}

impl Part {
    /// What the value at a key is, within this part.
    pub fn at(self, key: &str) -> Part {
        let key = without_case(key);
        let is_variable = || PersistenceSites::names_of_variables().any(|name| name == key);
        match key {
            _ if TEXTS.contains(&key) => Part::Data,
            "args" => Part::Arguments,
            MARKETPLACES => Part::Marketplaces,
            "path" if self == Part::Marketplaces => Part::Place,
            _ if PLACES.contains(&key) => Part::Place,
            _ if TERMINALS.iter().any(|start| key.starts_with(start)) => Part::Around,
            _ if LOADED.contains(&key) || is_variable() => Part::Loaded,
            _ if COMMANDS.contains(&key) && self != Part::Around => Part::Command,
            _ if AROUND_COMMANDS.contains(&key) || ENDS.iter().any(|end| key.ends_with(end)) => Part::Around,
            // VS Code writes a word with its quoting as an object with this key.
            "value" => self,
            _ if matches!(self, Part::Around | Part::Marketplaces) => self,
            _ if ENDS_OF_PATHS.iter().any(|end| key.ends_with(end)) => Part::Paths,
            _ => Part::Data,
        }
    }

    /// Returns what a text at this place makes an agent start.
    pub fn text(self, text: String) -> Option<NamedCommand> {
        match self {
            Part::Data | Part::Marketplaces => None,
            Part::Command | Part::Around => Some(NamedCommand::Text(text)),
            Part::Arguments | Part::Paths => Some(NamedCommand::Words(text)),
            Part::Loaded => Some(NamedCommand::Loaded(text)),
            Part::Place => Some(NamedCommand::Place(text)),
        }
    }
}

/// Returns what a value of settings makes an agent start.
pub fn commands(value: &Value) -> Vec<StartedCommand> {
    let mut found = Vec::new();
    add(value, Part::Data, None, &mut found);
    found
}

/// Adds what a value of settings makes an agent start, in the directory that the settings around the value name.
fn add(value: &Value, part: Part, directory: Option<&str>, found: &mut Vec<StartedCommand>) {
    let started = |command: NamedCommand| StartedCommand { command, directory: directory.map(str::to_owned) };
    match value {
        Value::String(text) => found.extend(part.text(text.clone()).map(started)),
        Value::Array(values) => {
            let argv = words(values).filter(|_| matches!(part, Part::Command | Part::Around));
            // A single word of a list is a command by itself only if it is a path or contains blanks.
            let is_whole = |value: &&Value| {
                argv.is_none()
                    || value
                        .as_str()
                        .is_some_and(|text| text.contains(|c: char| c == '/' || c.is_whitespace()))
            };
            values.iter().filter(is_whole).for_each(|value| add(value, part, directory, found));
            found.extend(argv.map(NamedCommand::Argv).map(started));
        }
        Value::Object(entries) => {
            let directory = directory_in(value).or(directory);
            let spelled = entries.iter().map(|(key, value)| (without_case(key), value));
            let spelled: Vec<_> =
                spelled.filter(|(key, _)| PROGRAMS.contains(key) || ARGUMENTS.contains(key)).collect();
            // Where case is ignored, the last spelling counts.
            let last = argv(|name| spelled.iter().rfind(|(key, _)| *key == name).map(|(_, value)| *value));
            let exact = argv(|name| entries.get(name)).filter(|argv| last.as_ref() != Some(argv));
            found.extend(exact.into_iter().chain(last).map(|argv| StartedCommand {
                command: NamedCommand::Argv(argv),
                directory: directory.map(str::to_owned),
            }));
            entries.iter().for_each(|(key, value)| add(value, part.at(key), directory, found));
        }
        _ => {}
    }
}

/// A program with its arguments. `at` returns the value of a key.
fn argv<'v>(at: impl Fn(&str) -> Option<&'v Value>) -> Option<Vec<String>> {
    let program = PROGRAMS.iter().find_map(|key| at(key)?.as_str())?;
    let arguments = ARGUMENTS.iter().find_map(|key| words(at(key)?.as_array()?))?;
    Some([vec![program.to_owned()], arguments].concat())
}

/// Returns the directory that settings name for the commands in them. VS Code's tasks name it in `options`.
fn directory_in(value: &Value) -> Option<&str> {
    let own = ["cwd", "working_directory", "workingDirectory"].into_iter().find_map(|key| value.get(key));
    own.or_else(|| value.get("options")?.get("cwd"))?.as_str()
}

/// The words of a list, if the list holds nothing but texts.
fn words(values: &[Value]) -> Option<Vec<String>> {
    values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(value: Value) -> Vec<String> {
        let mut found: Vec<_> = commands(&value).into_iter().map(StartedCommand::into_text).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn commands_are_found_by_their_keys() {
        for (value, expected) in [
            (
                json!({"mcpServers": {"x": {"command": "sh", "args": ["a.sh"]}}}),
                &["a.sh", "sh", "sh a.sh"][..],
            ),
            (json!({"mcp": {"x": {"type": "local", "command": ["sh", "a"]}}}), &["sh a"]),
            (json!({"hooks": {"Stop": [{"hooks": [{"type": "x", "command": "a"}]}]}}), &["a", "x"]),
            (json!({"gcpAuthRefresh": "a", "subagentStatusLine": {"command": "b"}}), &["a", "b"]),
            (json!({"env": {"BASH_ENV": "a", "NODE_OPTIONS": "-r b", "MODE": "c"}}), &["-r b", "a"]),
            (json!({"tools": {"discoveryCommand": "a", "callCommand": "b", "allowed": ["c"]}}), &["a", "b"]),
            (
                json!({"extraKnownMarketplaces": {"l": {"source": {"source": "directory", "path": "a"}}}}),
                &["a"],
            ),
            (json!({"tasks": [{"label": "x", "command": {"value": "a", "quoting": "b"}}]}), &["a"]),
            (json!({"plugin": ["./a.ts"], "instructions": ["b.md"]}), &["./a.ts"]),
            (json!({"mcp": {"a": {"COMMAND": "./a"}}}), &["./a"]),
            (json!({"mcp": {"a": {"Command": "sh", "ARG\u{17f}": ["a"]}}}), &["a", "sh", "sh a"]),
            (
                json!({"mcp": {"a": {"command": "sh", "Command": "x", "args": ["a"]}}}),
                &["a", "sh", "sh a", "x", "x a"],
            ),
        ] {
            assert_eq!(found(value.clone()), expected, "{value}");
        }
    }

    #[test]
    fn patterns_data_and_text_for_a_model_are_no_commands() {
        for value in [
            json!({"permissions": {"allow": ["Edit(./src/main.ts)"], "additionalDirectories": ["src"]}}),
            json!({"files.exclude": {"src/main.ts": true}, "ignore": ["src/main.ts"]}),
            json!({"read": ["src/main.ts"], "context": {"fileName": "src/main.ts"}}),
            json!({"command": {"review": {"template": "look at src/main.ts", "description": "src/main.ts"}}}),
            json!({"hooks": {"Stop": [{"matcher": "src/main.ts", "hooks": [{"prompt": "is src/main.ts fine?"}]}]}}),
            json!({"mcpServers": {"x": {"cwd": "src", "env": {"CONFIG": "src/main.ts"}, "alwaysAllow": ["x"]}}}),
        ] {
            assert_eq!(found(value.clone()), [""; 0], "{value}");
        }
    }
}
