//! The commands in the text of settings, by what they are and how they are written.

use std::path::Path;

use guard_openclaw::plain_file;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, Scanner, ScannerOptions};
use serde_json::Value;

use super::opening_tasks::{ON_OPENING, keep_opening};
use super::settings_files::SettingsFile;
use super::settings_table::SettingsReader;
use super::started_commands::{NamedCommand, StartedCommand};
use super::unread_settings::UnreadSettings;
use super::{command_keys, command_lines};
use crate::config::realpath::Links;

/// How deep values in values are read: deeper than anybody writes. A worker of the supervisor, whose stack is small, calls
/// itself once for each.
const MAX_NESTING: usize = 64;
/// What a development container has that starts on the host.
const ON_HOST: &str = "initializeCommand";

/// Returns the text of a file; none if it is not there.
///
/// # Errors
/// It is longer than that.
pub fn read(links: &Links, path: &Path, most: u64) -> Result<String, UnreadSettings> {
    match plain_file::read_at_most(path, most) {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(_) if path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > most) => {
            Err(UnreadSettings::long(path))
        }
        Err(error) => {
            links.unreadable(path, &error);
            Ok(String::new())
        }
    }
}

/// Returns the commands in the text of settings. Where JSON cannot be read, each word counts that may be one.
///
/// # Errors
/// JSON nests too deeply.
pub fn commands_in(text: &str, settings: &SettingsFile) -> Result<Vec<StartedCommand>, UnreadSettings> {
    let end = settings.path.extension().and_then(|end| end.to_str());
    Ok(match (settings.reader, end) {
        (SettingsReader::Nothing, _) => Vec::new(),
        (SettingsReader::Prompt, _) => command_lines::of_prompt(text),
        (SettingsReader::Shell, _) => vec![NamedCommand::Text(text.to_owned()).into()],
        (_, Some("md")) => command_lines::of_markdown(text),
        (_, Some("yml" | "yaml")) => command_lines::of_lines(text),
        (_, Some("toml")) => {
            toml(text).map_or_else(|| command_lines::of_lines(text), |value| command_keys::commands(&value))
        }
        _ => match json(text).map_err(|TooDeep| UnreadSettings::deep(&settings.path))? {
            Some(value) => command_keys::commands(&meant(value, settings.reader)),
            None if settings.reader == SettingsReader::Tasks && !text.contains(ON_OPENING) => Vec::new(),
            None => words_of(text).into_iter().map(|word| NamedCommand::Text(word).into()).collect(),
        },
    })
}

/// Returns the words of a text that may be paths.
pub fn words_of(text: &str) -> Vec<String> {
    let is_between =
        |letter: char| letter.is_whitespace() || letter.is_control() || "\"'`=,:;|&()[]{}<>".contains(letter);
    let text = text.replace("${HOME}", "$HOME");
    text.split(is_between).filter(|word| word.contains('/')).map(str::to_owned).collect()
}

/// What counts of a value, by what it is.
fn meant(mut value: Value, reader: SettingsReader) -> Value {
    match reader {
        SettingsReader::Tasks => keep_opening(&mut value),
        SettingsReader::CodeWorkspace => value.get_mut("tasks").into_iter().for_each(keep_opening),
        SettingsReader::Devcontainer => {
            let on_host = value.get(ON_HOST).cloned().unwrap_or_default();
            return Value::Object([(ON_HOST.to_owned(), on_host)].into_iter().collect());
        }
        SettingsReader::Keys | SettingsReader::Prompt | SettingsReader::Shell | SettingsReader::Nothing => {}
    }
    value
}

/// JSON has values in values beyond [`MAX_NESTING`].
#[derive(Debug, PartialEq, Eq)]
struct TooDeep;

/// The value of JSON, which may have comments and commas at the end: editors and some agents take both for their
/// settings. None if it is no JSON.
fn json(text: &str) -> Result<Option<Value>, TooDeep> {
    let text = text.trim_start_matches('\u{feff}');
    if nests_beyond(text, MAX_NESTING) {
        return Err(TooDeep);
    }
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    Ok(parsed.ok().and_then(|parsed| parsed.value).map(Value::from))
}

/// Whether JSON has values in values beyond this depth. What is behind an error counts no more: no parser gets there.
fn nests_beyond(text: &str, most: usize) -> bool {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let mut depth = 0usize;
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            Token::OpenBrace | Token::OpenBracket => depth += 1,
            Token::CloseBrace | Token::CloseBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return true;
        }
    }
    false
}

/// The value of TOML.
fn toml(text: &str) -> Option<Value> {
    let document: toml_edit::DocumentMut = text.parse().ok()?;
    Some(of_table(document.as_table()))
}

fn of_table(table: &dyn toml_edit::TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect())
}

fn of_item(item: &toml_edit::Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return of_table(table);
    }
    if let Some(tables) = item.as_array_of_tables() {
        return Value::Array(tables.iter().map(|table| of_table(table)).collect());
    }
    item.as_value().map(of_value).unwrap_or_default()
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Array(values) => Value::Array(values.iter().map(of_value).collect()),
        toml_edit::Value::InlineTable(table) => of_table(table),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_of_any_depth_is_read_or_not() {
        assert_eq!(json("{// c\n\"a\": [1,],}"), Ok(Some(json!({"a": [1]}))));
        assert_eq!(json(&"[".repeat(100_000)), Err(TooDeep));
        assert_eq!(json(""), Ok(None));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (depth, is_read) in [(MAX_NESTING, true), (MAX_NESTING + 1, false), (500, false)] {
            assert_eq!(json(&nested(depth)).is_ok(), is_read, "{depth}");
        }
        // Neither a text nor a comment ends a value.
        for hidden in ["\"]\",", "/*]*/", "//]\n"] {
            assert_eq!(json(&format!("[{hidden}").repeat(100)), Err(TooDeep), "{hidden}");
        }
    }

    /// On a stack of a worker's size.
    #[test]
    fn what_is_read_fits_the_stack_of_a_worker() {
        let texts = [("[", "]"), ("{\"a\":", "}"), ("{\"hooks\":[", "]}")].map(|(open, close)| {
            let depth = MAX_NESTING / open.matches(['[', '{']).count();
            format!("{}\"./x.sh\"{}", open.repeat(depth), close.repeat(depth))
        });
        let read = move || {
            for text in texts {
                let settings = SettingsFile { path: "x.json".into(), reader: SettingsReader::Keys };
                assert!(commands_in(&text, &settings).is_ok(), "{text}");
            }
        };
        let worker = std::thread::Builder::new().stack_size(256 << 10).spawn(read);
        worker.unwrap().join().unwrap();
    }

    #[test]
    fn toml_is_read_as_json_is() {
        let text = "notify = [\"a\"]\n[[hooks]]\ncommand = '''\nb'''\n[x]\ny = { command = \"c\", n = 1 }\n";
        let expected =
            json!({"notify": ["a"], "hooks": [{"command": "b"}], "x": {"y": {"command": "c", "n": null}}});
        assert_eq!(toml(text), Some(expected));
        assert_eq!(toml("a = "), None);
        assert_eq!(toml(&format!("a = {}", "[".repeat(100_000))), None);
    }
}
