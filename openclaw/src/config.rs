//! OpenClaw's own configuration, openclaw.json, as far as a client of its gateway needs it.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::str::Utf8Error;
use std::sync::Arc;

use guard_policy::text::shown;
use jsonc_parser::errors::ParseError;
use serde_json::Value;

use crate::plain_file::read as read_plain;

/// The key with the URL of another host's gateway.
pub const REMOTE_URL: &str = "gateway.remote.url";

/// The content of openclaw.json, or why it cannot be read.
pub struct Config {
    /// The file's path, for display.
    pub file: String,
    content: Result<Option<ConfigContent>, ConfigProblem>,
}

/// What an openclaw.json contains.
struct ConfigContent {
    source: String,
    /// The parsed source. A duplicated key has the last of its values.
    value: Value,
}

/// An openclaw.json that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{file} cannot be read: {}", shown(error.to_string().as_bytes()))]
pub struct ConfigProblem {
    /// The file's path, for display.
    pub file: String,
    /// Why it cannot be read.
    #[source]
    pub error: Arc<ConfigError>,
}

/// Why openclaw.json cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read from the disk.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not text.
    #[error("it is not UTF-8 text")]
    NotText(#[from] Utf8Error),
    /// It is not JSON5.
    #[error(transparent)]
    Syntax(#[from] ParseError),
    /// It is JSON5, but not an object.
    #[error("it is no object")]
    NotObject,
}

/// The value of a key that holds a secret.
pub enum SecretInput<'c> {
    /// No value.
    Nothing,
    /// The secret itself.
    Text(&'c str),
    /// The name of an environment variable that holds the secret.
    Variable(String),
    /// A reference that only OpenClaw can resolve.
    Elsewhere,
}

impl Config {
    /// Reads the file. A failure is reported by [`Config::problem`].
    pub fn read(path: &Path) -> Config {
        use std::os::unix::ffi::OsStrExt;
        let file = shown(path.as_os_str().as_bytes());
        let content = match read_plain(path) {
            Ok(bytes) => parse(bytes).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        };
        let problem = |error| ConfigProblem { file: file.clone(), error: Arc::new(error) };
        Config { content: content.map_err(problem), file }
    }

    /// Returns why the file cannot be read; `None` if it was read or does not exist.
    pub fn problem(&self) -> Option<&ConfigProblem> {
        self.content.as_ref().err()
    }

    /// Returns whether the file exists and could be parsed.
    pub fn is_there(&self) -> bool {
        matches!(self.content, Ok(Some(_)))
    }

    /// Returns all that the file says, if it exists and could be parsed.
    pub fn content(&self) -> Option<&Value> {
        Some(&self.content.as_ref().ok()?.as_ref()?.value)
    }

    /// Returns the file as it was written, in JSON5, if it exists and could be parsed.
    pub(crate) fn source(&self) -> Option<&str> {
        Some(&self.content.as_ref().ok()?.as_ref()?.source)
    }

    /// Returns the value at a dotted path such as `gateway.remote.url`; null counts as absent.
    pub fn at(&self, path: &str) -> Option<&Value> {
        path.split('.')
            .try_fold(self.content()?, |value, key| value.get(key))
            .filter(|value| !value.is_null())
    }

    /// Returns the trimmed text at a dotted path, unless it is empty.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.at(path)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns whether the configured gateway is another host's.
    pub fn is_remote(&self) -> bool {
        self.text("gateway.mode") == Some("remote")
    }

    /// Returns the secret at a dotted path: a string, `${NAME}`, or a reference `{source: "env", id: "NAME"}`
    /// (OpenClaw 2026.9.6).
    pub fn secret(&self, path: &str) -> SecretInput<'_> {
        let Some(value) = self.at(path) else { return SecretInput::Nothing };
        if let Some(text) = value.as_str() {
            let text = text.trim();
            return match text.strip_prefix("${").and_then(|text| text.strip_suffix('}')) {
                Some(name) => SecretInput::Variable(name.to_owned()),
                None if text.is_empty() => SecretInput::Nothing,
                // A part of the text is a reference.
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

fn parse(bytes: Vec<u8>) -> Result<ConfigContent, ConfigError> {
    let source = String::from_utf8(bytes).map_err(|error| error.utf8_error())?;
    let text = source.strip_prefix('\u{feff}').unwrap_or(&source);
    // By default the parser allows all of JSON5.
    let value: Option<Value> =
        jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default())?;
    let value = value.filter(Value::is_object).ok_or(ConfigError::NotObject)?;
    Ok(ConfigContent { source, value })
}
