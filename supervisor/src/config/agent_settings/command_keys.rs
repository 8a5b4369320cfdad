//! The parts of settings that hold commands, by the keys around them.

use guard_policy::PersistenceSites;
use serde_json::Value;

/// What settings have started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedCommand {
    /// A text of shell.
    Text(String),
    /// A program with its arguments.
    Argv(Vec<String>),
    /// Arguments alone.
    Words(String),
    /// What a program loads: a file whatever its name is.
    Loaded(String),
    /// A directory of programs, or a file.
    Place(String),
}

#[cfg(test)]
impl NamedCommand {
    /// Its words as one text.
    pub fn into_text(self) -> String {
        match self {
            NamedCommand::Argv(words) => words.join(" "),
            NamedCommand::Text(text)
            | NamedCommand::Words(text)
            | NamedCommand::Loaded(text)
            | NamedCommand::Place(text) => text,
        }
    }
}

/// Keys whose text, or list of words, is a command.
const COMMANDS: [&str; 7] = [
    "command",
    "bash",
    "powershell",
    "notify",
    "setup-worktree",
    "setup-worktree-unix",
    "awsCredentialExport",
];
/// Keys with commands at any depth.
const AROUND_COMMANDS: [&str; 3] = ["hooks", "statusLine", "fileSuggestion"];
/// How further keys with commands at any depth end: `apiKeyHelper`, `gcpAuthRefresh`, `discoveryCommand`, `subagentStatusLine`,
/// aider's `lint-cmd`.
const ENDS: [&str; 5] = ["Helper", "Refresh", "Command", "StatusLine", "-cmd"];
/// Keys with what is loaded as code: opencode's plugins, and the commands that aider loads at its start.
const LOADED: [&str; 2] = ["plugin", "load"];
/// Claude Code's key with directories of plugins, in `path`.
const MARKETPLACES: &str = "extraKnownMarketplaces";
/// Keys around which there is text for humans, for a model, or data, and no command, also below the keys above.
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
    Loaded,
    Marketplaces,
    Place,
}

impl Part {
    /// What the value at a key is, within this part.
    pub fn at(self, key: &str) -> Part {
        let is_variable = || PersistenceSites::names_of_variables().any(|name| name == key);
        match key {
            _ if TEXTS.contains(&key) => Part::Data,
            "args" => Part::Arguments,
            MARKETPLACES => Part::Marketplaces,
            "path" if self == Part::Marketplaces => Part::Place,
            _ if LOADED.contains(&key) || is_variable() => Part::Loaded,
            _ if COMMANDS.contains(&key) && self != Part::Around => Part::Command,
            _ if AROUND_COMMANDS.contains(&key) || ENDS.iter().any(|end| key.ends_with(end)) => Part::Around,
            // As VS Code writes a word with its quoting.
            "value" => self,
            _ if matches!(self, Part::Around | Part::Marketplaces) => self,
            _ => Part::Data,
        }
    }

    /// What a text there has started.
    pub fn text(self, text: String) -> Option<NamedCommand> {
        match self {
            Part::Data | Part::Marketplaces => None,
            Part::Command | Part::Around => Some(NamedCommand::Text(text)),
            Part::Arguments => Some(NamedCommand::Words(text)),
            Part::Loaded => Some(NamedCommand::Loaded(text)),
            Part::Place => Some(NamedCommand::Place(text)),
        }
    }
}

/// Adds what a value of settings has started.
pub fn add(value: &Value, part: Part, found: &mut Vec<NamedCommand>) {
    match value {
        Value::String(text) => found.extend(part.text(text.clone())),
        Value::Array(values) => {
            let argv = words(values).filter(|_| matches!(part, Part::Command | Part::Around));
            found.extend(argv.map(NamedCommand::Argv));
            values.iter().for_each(|value| add(value, part, found));
        }
        Value::Object(entries) => {
            let program = entries.get("command").and_then(Value::as_str);
            let arguments = entries.get("args").and_then(Value::as_array).and_then(|args| words(args));
            if let (Some(program), Some(arguments)) = (program, arguments) {
                found.push(NamedCommand::Argv([vec![program.to_owned()], arguments].concat()));
            }
            entries.iter().for_each(|(key, value)| add(value, part.at(key), found));
        }
        _ => {}
    }
}

/// A list of words, if it is nothing else.
fn words(values: &[Value]) -> Option<Vec<String>> {
    values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(value: Value) -> Vec<String> {
        let mut found = Vec::new();
        add(&value, Part::Data, &mut found);
        let mut found: Vec<_> = found.into_iter().map(NamedCommand::into_text).collect();
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
            (json!({"mcp": {"x": {"type": "local", "command": ["sh", "a"]}}}), &["a", "sh", "sh a"]),
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
