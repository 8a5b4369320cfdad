//! Parses the text of a store.

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::{Map, Value};

use super::Store;
use super::normalise::normalise;
use super::own_shape::own_shape;
use super::shape::{Misshapen, shape};
use crate::Problem;
use crate::config::problem;

/// A parsed store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreContents {
    /// The store.
    pub store: Store,
    /// Notes for the operator, a sentence each: invalid values and entries without a pattern are left out, as in
    /// OpenClaw.
    pub notes: Vec<String>,
}

impl Store {
    /// Parses and normalises a store. `file` is only for messages; `id` makes ids for entries that lack one (OpenClaw's
    /// are UUIDs, version 4).
    ///
    /// # Errors
    /// If the text is not JSON, its `version` is not 1, or a section is not an object. OpenClaw up to 2026.7 reads such
    /// a file as an empty one, which allows everything.
    pub fn parse(file: &str, text: &str, id: &mut dyn FnMut() -> String) -> Result<StoreContents, Problem> {
        Store::parse_as(file, text, shape, id)
    }

    /// Parses the guard's own store, which may have file rules and origins. Other settings have no effect there and cause a
    /// note.
    ///
    /// # Errors
    /// Fails like [`Store::parse`], and if a section on the way to the file rules or the origins is not an object.
    pub fn parse_own(
        file: &str,
        text: &str,
        id: &mut dyn FnMut() -> String,
    ) -> Result<StoreContents, Problem> {
        let shape = |root| shape(root).and_then(|root| own_shape(&root).map(|()| root));
        let mut reading = Store::parse_as(file, text, shape, id)?;
        reading.notes.extend(reading.store.idle());
        Ok(reading)
    }

    fn parse_as(
        file: &str,
        text: &str,
        shape: impl FnOnce(Value) -> Result<Map<String, Value>, Misshapen>,
        id: &mut dyn FnMut() -> String,
    ) -> Result<StoreContents, Problem> {
        let at = |(line, column), key: &str, message: &str| Problem {
            file: file.to_owned(),
            line,
            column,
            key: key.to_owned(),
            message: message.to_owned(),
            nearest: None,
        };
        let root: Value = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let what = message.split(" at line ").next().unwrap_or(&message);
            at(counted(text, error.line(), error.column()), "", what)
        })?;
        match shape(root) {
            Ok(mut root) => {
                let notes = normalise(&mut root, id);
                Ok(StoreContents { store: Store { root }, notes })
            }
            Err((path, message)) => {
                let key = path.join(".");
                Err(at(value_position(text, &path), &key, message))
            }
        }
    }
}

/// Converts serde_json's position, which counts bytes and starts at 0 at the end of a line.
fn counted(text: &str, line: usize, column: usize) -> (usize, usize) {
    let line = line.max(1);
    let bytes = text.split('\n').nth(line - 1).unwrap_or_default().as_bytes();
    let before = &bytes[..column.saturating_sub(1).min(bytes.len())];
    (line, String::from_utf8_lossy(before).chars().count() + 1)
}

/// The line and column of the value at a path of keys.
fn value_position(text: &str, path: &[String]) -> (usize, usize) {
    // serde_json has parsed the text, so it is JSON and not nested too deeply.
    let tree = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let mut value = tree.ok().and_then(|tree| tree.value);
    for key in path {
        value = match value {
            // Of duplicate keys, the last counts.
            Some(ast::Value::Object(object)) => {
                object.properties.into_iter().rfind(|p| p.name.as_str() == key).map(|p| p.value)
            }
            _ => None,
        };
    }
    let offset = value.map_or(0, |value| value.start());
    problem::line_column(text, offset)
}
