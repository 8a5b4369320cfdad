//! What OpenClaw's own configuration, openclaw.json, says to a client of its gateway.

use std::io::ErrorKind;
use std::path::Path;

use guard_policy::text::shown;
use serde_json::Value;

use crate::plain_file::read as read_plain;

/// Where another host's gateway is.
pub const REMOTE_URL: &str = "gateway.remote.url";

/// What it says.
pub struct Config {
    /// Its path, for people.
    pub file: String,
    content: Result<Option<Value>, String>,
}

/// What stands where a secret is wanted.
pub enum SecretInput<'c> {
    /// Nothing.
    Nothing,
    /// The secret itself.
    Text(&'c str),
    /// The name of a variable that has it.
    Variable(String),
    /// Something that only OpenClaw can look up.
    Elsewhere,
}

impl Config {
    /// Reads it.
    pub fn read(path: &Path) -> Config {
        use std::os::unix::ffi::OsStrExt;
        let file = shown(path.as_os_str().as_bytes());
        let content = match read_plain(path) {
            Ok(bytes) => parse(&bytes).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        Config { file, content }
    }

    /// Why it cannot be read, where it is there.
    pub fn problem(&self) -> Option<String> {
        let why = self.content.as_ref().err()?;
        Some(format!("{} cannot be read: {}", self.file, shown(why.as_bytes())))
    }

    /// Whether there is one that says something.
    pub fn is_there(&self) -> bool {
        matches!(self.content, Ok(Some(_)))
    }

    /// The value at this path, such as `gateway.remote.url`.
    pub fn at(&self, path: &str) -> Option<&Value> {
        let top = self.content.as_ref().ok()?.as_ref()?;
        path.split('.').try_fold(top, |value, key| value.get(key)).filter(|value| !value.is_null())
    }

    /// The text at this path, where there is one.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.at(path)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Whether its gateway is another host's.
    pub fn is_remote(&self) -> bool {
        self.text("gateway.mode") == Some("remote")
    }

    /// The secret at this path: a string, `${NAME}`, or a reference `{source: "env", id: "NAME"}` (OpenClaw 2026.9.6).
    pub fn secret(&self, path: &str) -> SecretInput<'_> {
        let Some(value) = self.at(path) else { return SecretInput::Nothing };
        if let Some(text) = value.as_str() {
            let text = text.trim();
            return match text.strip_prefix("${").and_then(|text| text.strip_suffix('}')) {
                Some(name) => SecretInput::Variable(name.to_owned()),
                None if text.is_empty() => SecretInput::Nothing,
                // A part of it stands elsewhere.
                None if text.contains("${") => SecretInput::Elsewhere,
                None => SecretInput::Text(text),
            };
        }
        match (value.get("source").and_then(Value::as_str), value.get("id").and_then(Value::as_str)) {
            (Some("env"), Some(name)) => SecretInput::Variable(name.to_owned()),
            _ => SecretInput::Elsewhere,
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is no UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // All that JSON5 allows is the parser's default.
    let value: Option<Value> =
        jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default())
            .map_err(|error| error.to_string())?;
    value.filter(Value::is_object).ok_or_else(|| "it is no object".to_owned())
}
