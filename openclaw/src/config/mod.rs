//! OpenClaw's own configuration: openclaw.json, and the files that it includes.

mod includes;
mod parse;
mod variables;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::str::Utf8Error;
use std::sync::Arc;

use guard_policy::text::shown;
use jsonc_parser::errors::ParseError;
use serde_json::Value;

pub use includes::IncludeError;

use crate::plain_file;
use includes::Includes;

/// The key with the URL of another host's gateway.
pub const REMOTE_URL: &str = "gateway.remote.url";

/// The content of openclaw.json, or why it cannot be read.
pub struct Config {
    /// The file's path, for display.
    pub file: String,
    /// What could be read, also if there is a problem.
    content: Option<ConfigContent>,
    problem: Option<ConfigProblem>,
    included: Vec<PathBuf>,
}

/// What an openclaw.json contains.
struct ConfigContent {
    source: String,
    /// The parsed source, with what it includes. A duplicated key has the last of its values.
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
    /// A file that it includes cannot be read.
    #[error(transparent)]
    Include(#[from] IncludeError),
}

/// Returns the value at a dotted path in a configuration; null counts as absent.
pub fn at<'v>(content: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(content, |value, key| value.get(key)).filter(|value| !value.is_null())
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
    /// Reads the file, and what it includes. A failure is reported by [`Config::problem`].
    pub fn read(path: &Path) -> Config {
        use std::os::unix::ffi::OsStrExt;
        let file = shown(path.as_os_str().as_bytes());
        let mut includes = Includes::default();
        let (content, error) = match plain_file::read(path) {
            Ok(bytes) => match content(bytes, path, &mut includes) {
                Ok(content) => (Some(content), includes.problem.map(ConfigError::from)),
                Err(error) => (None, Some(error)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => (None, None),
            Err(error) => (None, Some(error.into())),
        };
        let problem = error.map(|error| ConfigProblem { file: file.clone(), error: Arc::new(error) });
        Config { content, problem, included: includes.files, file }
    }

    /// Returns why the file, or one that it includes, cannot be read; `None` if it was read or does not exist.
    pub fn problem(&self) -> Option<&ConfigProblem> {
        self.problem.as_ref()
    }

    /// Returns whether the file exists and could be parsed.
    pub fn is_there(&self) -> bool {
        self.content().is_some()
    }

    /// Returns all that the file says, if it exists and could be parsed.
    pub fn content(&self) -> Option<&Value> {
        self.content.as_ref().filter(|_| self.problem.is_none()).map(|content| &content.value)
    }

    /// Returns what could be read, also if a file that is included cannot be read: OpenClaw refuses such a configuration until
    /// somebody mends it. Its texts have the values of the variables that they name: once for each value that a variable may have.
    /// `state` is the state directory.
    pub fn expanded(&self, state: &Path) -> Vec<Value> {
        self.content.as_ref().map_or_else(Vec::new, |content| variables::expanded(&content.value, state))
    }

    /// Returns the files that are included, also those that cannot be read.
    pub fn included(&self) -> &[PathBuf] {
        &self.included
    }

    /// Returns what could be read, in JSON5: as it was written, unless it includes others or jsonc-parser cannot read it.
    pub(crate) fn source(&self) -> Option<&str> {
        Some(&self.content.as_ref()?.source)
    }

    /// Returns the value at a dotted path such as `gateway.remote.url`; null counts as absent.
    pub fn at(&self, path: &str) -> Option<&Value> {
        at(self.content()?, path)
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

fn content(bytes: Vec<u8>, path: &Path, includes: &mut Includes) -> Result<ConfigContent, ConfigError> {
    let text = String::from_utf8(bytes).map_err(|error| error.utf8_error())?;
    let parsed = parse::parse(text.as_bytes())?;
    let value =
        Some(includes.resolve(parsed.value, path)).filter(Value::is_object).ok_or(ConfigError::NotObject)?;
    let is_whole = includes.files.is_empty() && !parsed.needs_json5;
    let source = if is_whole { text } else { value.to_string() };
    Ok(ConfigContent { source, value })
}

#[cfg(test)]
mod tests;
