//! Finds the commands in the text of settings, by the kind of the settings and their format.

use std::path::Path;

use guard_openclaw::plain_file;
use guard_policy::toml_bounds;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, ParseOptions, Scanner, ScannerOptions};
use serde_json::Value;

use super::opening_tasks::{keep_opening, mentions_opening};
use super::read_budget::{Beyond, MAX_NESTING, ReadBudget};
use super::settings_files::SettingsFile;
use super::settings_table::SettingsReader;
use super::settings_words::words_of;
use super::started_commands::{NamedCommand, StartedCommand};
use super::unread_settings::UnreadSettings;
use super::{command_keys, command_lines, json_escapes};
use crate::config::realpath::Links;

/// The key of the commands of a development container that start on the host.
const ON_HOST: &str = "initializeCommand";

/// The stack on which TOML is read. The parser calls itself for each level of nesting, and needs more stack for that than a
/// worker has. If the nesting is counted too low before parsing, the stack still suffices for all that the parser accepts.
const TOML_STACK: usize = 32 << 20;

/// Returns the text of a file, which is empty if the file cannot be opened.
///
/// # Errors
/// The file is longer than `most`.
pub fn read(links: &Links, path: &Path, most: u64) -> Result<String, UnreadSettings> {
    match plain_file::read_at_most(path, most) {
        Ok(text) => Ok(decoded(&text)),
        Err(_) if path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > most) => {
            Err(UnreadSettings::long(path))
        }
        Err(error) => {
            links.unreadable(path, &error);
            Ok(String::new())
        }
    }
}

/// Returns the text of a file as editors read it: as UTF-16 if its byte order mark says so, otherwise as UTF-8.
fn decoded(text: &[u8]) -> String {
    let utf16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match text {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(text).into_owned(),
    }
}

/// Returns the commands in the text of settings. If JSON cannot be read, each word that may be a command counts.
///
/// # Errors
/// The text nests too deeply, or has more values than `budget` allows.
pub fn commands_in(
    text: &str,
    settings: &SettingsFile,
    budget: &ReadBudget,
) -> Result<Vec<StartedCommand>, UnreadSettings> {
    let unread = |beyond| match beyond {
        Beyond::Deep => UnreadSettings::deep(&settings.path),
        Beyond::Many => UnreadSettings::many(&settings.path),
    };
    let end = settings.path.extension().and_then(|end| end.to_str());
    Ok(match (settings.reader, end) {
        (SettingsReader::Nothing, _) => Vec::new(),
        (SettingsReader::Prompt, _) => command_lines::of_prompt(text),
        (SettingsReader::Shell, _) => vec![NamedCommand::Text(text.to_owned()).into()],
        (_, Some("md")) => command_lines::of_markdown(text, budget).map_err(unread)?,
        (_, Some("yml" | "yaml")) => command_lines::of_yaml(text, budget).map_err(unread)?,
        (_, Some("toml")) => match toml(text, budget, command_keys::commands).map_err(unread)? {
            Some(commands) => commands,
            None => command_lines::of_lines(text),
        },
        _ => match json(text, budget).map_err(unread)? {
            Some(value) => command_keys::commands(&meant(value, settings.reader)),
            None => {
                let text = json_escapes::decoded(text);
                let may_start = settings.reader != SettingsReader::Tasks || mentions_opening(&text);
                let words = if may_start { words_of(&text) } else { Vec::new() };
                words.into_iter().map(|word| NamedCommand::Text(word).into()).collect()
            }
        },
    })
}

/// Returns the part of a value that counts for settings of this kind.
fn meant(mut value: Value, reader: SettingsReader) -> Value {
    match reader {
        SettingsReader::Tasks => keep_opening(&mut value),
        SettingsReader::CodeWorkspace => value.get_mut("tasks").into_iter().for_each(keep_opening),
        SettingsReader::Devcontainer => {
            let mut on_host = value.get(ON_HOST).cloned().unwrap_or_default();
            // The keys of an object are only labels of commands that run at the same time.
            if let Value::Object(commands) = on_host {
                let numbered = commands.into_iter().enumerate();
                on_host = numbered.map(|(number, (_, command))| (number.to_string(), command)).collect();
            }
            return Value::Object([(ON_HOST.to_owned(), on_host)].into_iter().collect());
        }
        SettingsReader::Keys | SettingsReader::Prompt | SettingsReader::Shell | SettingsReader::Nothing => {}
    }
    value
}

/// Returns the value of a JSON text, which may have comments and trailing commas: editors and some agents accept both
/// in their settings. `None` if the text is no JSON.
fn json(text: &str, budget: &ReadBudget) -> Result<Option<Value>, Beyond> {
    // JavaScript accepts half of a surrogate pair, which a text in Rust cannot have. The count reads the same text as
    // the parser.
    let text = json_escapes::without_lone_surrogates(text.trim_start_matches('\u{feff}'));
    budget.take_values(count(&text, MAX_NESTING)?)?;
    let parsed = jsonc_parser::parse_to_ast(&text, &CollectOptions::default(), &ParseOptions::default());
    Ok(parsed.ok().and_then(|parsed| parsed.value).map(Value::from))
}

/// Returns how many values a text of JSON may have, if none lies deeper than `most`. What follows an error does not
/// count: no parser gets there.
fn count(text: &str, most: usize) -> Result<usize, Beyond> {
    let mut scanner = Scanner::new(text, &ScannerOptions::default());
    let (mut depth, mut values) = (0usize, 1);
    while let Ok(Some(token)) = scanner.scan() {
        match token {
            Token::OpenBrace | Token::OpenBracket => (depth, values) = (depth + 1, values + 1),
            Token::CloseBrace | Token::CloseBracket => depth = depth.saturating_sub(1),
            Token::Comma => values += 1,
            _ => {}
        }
        if depth > most {
            return Err(Beyond::Deep);
        }
    }
    Ok(values)
}

/// Returns what `read` makes of the value of a TOML text. `None` if the text is no TOML.
fn toml<T: Send>(
    text: &str,
    budget: &ReadBudget,
    read: impl FnOnce(&Value) -> T + Send,
) -> Result<Option<T>, Beyond> {
    budget.take_values(toml_bounds::count(text, MAX_NESTING).ok_or(Beyond::Deep)?)?;
    let read = || {
        let document: toml_edit::DocumentMut = text.parse().ok()?;
        Some(read(&of_table(document.as_table())))
    };
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(TOML_STACK).spawn_scoped(scope, read);
        // Without a thread, and after a panic, nobody knows what the text has.
        reader.map_err(|_| Beyond::Many)?.join().map_err(|_| Beyond::Many)
    })
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

    fn read_json(text: &str) -> Result<Option<Value>, Beyond> {
        super::json(text, &ReadBudget::default())
    }

    fn read_toml(text: &str) -> Result<Option<Value>, Beyond> {
        super::toml(text, &ReadBudget::default(), Value::clone)
    }

    #[test]
    fn json_of_any_depth_is_read_or_not() {
        assert_eq!(read_json("{// c\n\"a\": [1,],}"), Ok(Some(json!({"a": [1]}))));
        assert_eq!(read_json(&"[".repeat(100_000)), Err(Beyond::Deep));
        assert_eq!(read_json(""), Ok(None));
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (depth, is_read) in [(MAX_NESTING, true), (MAX_NESTING + 1, false), (500, false)] {
            assert_eq!(read_json(&nested(depth)).is_ok(), is_read, "{depth}");
        }
        // Half of a surrogate pair does not hide what follows it, either.
        assert_eq!(read_json(&format!("[\"\\ud800\",{}", "[".repeat(100_000))), Err(Beyond::Deep));
        // A bracket in a text or in a comment does not end a value.
        for hidden in ["\"]\",", "/*]*/", "//]\n"] {
            assert_eq!(read_json(&format!("[{hidden}").repeat(100)), Err(Beyond::Deep), "{hidden}");
        }
    }

    fn found_in(name: &str, reader: SettingsReader, text: &str) -> Vec<String> {
        let settings = SettingsFile { path: name.into(), reader };
        let found = commands_in(text, &settings, &ReadBudget::default()).unwrap();
        found.into_iter().map(StartedCommand::into_text).collect()
    }

    #[test]
    fn escapes_hide_no_command() {
        for (reader, text) in [
            (SettingsReader::Keys, r#"{"a": "\ud800", "command": "\u002e/x.sh"}"#),
            (SettingsReader::Keys, r#"{"a": "\ud800", "command": "\u002e/x.sh""#),
            (
                SettingsReader::Tasks,
                r#"{"tasks": [{"label": "\udc00", "command": "./x.sh", "runOptions": {"runOn": "folder\u004fpen"}}]}"#,
            ),
            (SettingsReader::Tasks, r#"{"tasks": [{"command": ".\/x.sh", "runOn": "folder\u004fpen"}"#),
        ] {
            let found = found_in("x.json", reader, text);
            assert!(found.contains(&"./x.sh".to_owned()), "{text}: {found:?}");
        }
        assert_eq!(found_in("x.json", SettingsReader::Tasks, r#"{"tasks": [{"command": "./x.sh"}"#), [""; 0]);
    }

    #[test]
    fn each_command_of_a_container_counts_whatever_its_name_is() {
        for text in [
            r#"{"initializeCommand": "./x.sh"}"#,
            r#"{"initializeCommand": {"name": "./x.sh", "env": ["a", "b"]}}"#,
            r#"{"initializeCommand": {"env": ["./x.sh"]}}"#,
        ] {
            let found = found_in("x.json", SettingsReader::Devcontainer, text);
            assert!(found.contains(&"./x.sh".to_owned()), "{text}: {found:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_says_how_a_file_is_read() {
        let utf16 =
            |unit: fn(u16) -> [u8; 2]| "\u{feff}a é".encode_utf16().flat_map(unit).collect::<Vec<u8>>();
        assert_eq!(decoded(&utf16(u16::to_le_bytes)), "a é");
        assert_eq!(decoded(&utf16(u16::to_be_bytes)), "a é");
        assert_eq!(decoded("a é".as_bytes()), "a é");
        assert_eq!(decoded(b"\xff\xfe"), "");
        assert_eq!(decoded(b"\xff\xfe\x00\xd8a"), "\u{fffd}");
    }

    /// Reads on a stack of a worker's size.
    #[test]
    fn what_is_read_fits_the_stack_of_a_worker() {
        let texts = [("[", "]"), ("{\"a\":", "}"), ("{\"hooks\":[", "]}")].map(|(open, close)| {
            let depth = MAX_NESTING / open.matches(['[', '{']).count();
            format!("{}\"./x.sh\"{}", open.repeat(depth), close.repeat(depth))
        });
        let read = move || {
            for text in texts {
                let settings = SettingsFile { path: "x.json".into(), reader: SettingsReader::Keys };
                assert!(commands_in(&text, &settings, &ReadBudget::default()).is_ok(), "{text}");
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
        assert_eq!(read_toml(text), Ok(Some(expected)));
        assert_eq!(read_toml("a = "), Ok(None));
        assert_eq!(read_toml(&format!("a = {}", "[".repeat(100_000))), Err(Beyond::Deep));
    }

    /// The texts have keys of many parts, and inline tables in each other, also as deep as is just allowed.
    #[test]
    fn toml_of_any_depth_is_read_or_not() {
        let nested = |depth: usize, key: &str| {
            let (open, close) = (format!("{{{key}=").repeat(depth - 1), "}".repeat(depth - 1));
            format!("{key} = {open}\"./x.sh\"{close}\n")
        };
        let read = move || {
            assert_eq!(read_toml(&nested(20, &["a"; 20].join("."))), Err(Beyond::Deep));
            assert_eq!(read_toml(&vec!["a"; 950_000].join(".")), Err(Beyond::Deep));
            assert_eq!(read_toml(&format!("[{}]\na = 1", ["a"; 80].join("."))), Err(Beyond::Deep));
            assert!(matches!(read_toml(&nested(MAX_NESTING / 2, "a")), Ok(Some(_))));
            assert!(matches!(read_toml(&nested(MAX_NESTING / 4, "a.b")), Ok(Some(_))));
            let many: String = (0..1000).map(|i| format!("k{i}.a.b = 1.5 # a.b.c [[[[\n")).collect();
            assert!(matches!(read_toml(&many), Ok(Some(_))));
        };
        let worker = std::thread::Builder::new().stack_size(256 << 10).spawn(read);
        worker.unwrap().join().unwrap();
    }

    #[test]
    fn more_values_than_the_budget_has_are_not_read() {
        let settings = SettingsFile { path: "x.json".into(), reader: SettingsReader::Keys };
        let budget = ReadBudget::default();
        let text = format!("[{}1]", "1,".repeat(60_000));
        assert!(commands_in(&text, &settings, &budget).is_ok());
        assert!(commands_in(&text, &settings, &budget).is_err(), "two of them are more");
        assert!(commands_in("{\"a\": 1}", &settings, &budget).is_err(), "and then nothing is left");
    }
}
