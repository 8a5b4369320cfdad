//! How values are written: on the lines and with the blanks that the text around them has.

use serde_json::Value;

use super::place::{Tree, indent, line_start};
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;

/// The ways of a text.
pub(super) struct Style {
    /// What a line ends with.
    pub(super) line_end: &'static str,
    /// One step of indentation.
    pub(super) step: String,
}

impl Style {
    pub(super) fn of(tree: &Tree<'_>) -> Style {
        let text = tree.text;
        let line_end = match text.find(['\n', '\r']) {
            Some(at) if text[at..].starts_with("\r\n") => "\r\n",
            _ => "\n",
        };
        let first = match &tree.root {
            ast::Value::Object(object) => object.properties.first().and_then(|p| indent(text, p.start())),
            _ => None,
        };
        let own = &text[line_start(text, tree.root.start())..tree.root.start()];
        let step = first.and_then(|first| first.strip_prefix(own)).filter(|step| !step.is_empty());
        Style { line_end, step: step.unwrap_or("  ").to_owned() }
    }

    /// The value on one line.
    pub(super) fn compact(value: &Value) -> String {
        let list = |parts: Vec<String>, open: &str, close: &str, blank: &str| match parts.is_empty() {
            true => format!("{open}{close}"),
            false => format!("{open}{blank}{}{blank}{close}", parts.join(", ")),
        };
        match value {
            Value::Array(elements) => list(elements.iter().map(Style::compact).collect(), "[", "]", ""),
            Value::Object(members) => {
                let member = |(key, value): (&String, &Value)| Style::member(key, &Style::compact(value));
                list(members.iter().map(member).collect(), "{", "}", " ")
            }
            plain => plain.to_string(),
        }
    }

    /// The value on as many lines as a human would give it, all but the first behind `indent`: an object's members each on
    /// one, but what stands in a list on one.
    pub(super) fn lines(&self, value: &Value, indent: &str) -> String {
        let deeper = format!("{indent}{}", self.step);
        let lines = |parts: Vec<String>, open: &str, close: &str| {
            let next = format!("{}{deeper}", self.line_end);
            format!("{open}{next}{}{}{indent}{close}", parts.join(&format!(",{next}")), self.line_end)
        };
        match value {
            Value::Object(members) if !members.is_empty() => {
                let member =
                    |(key, value): (&String, &Value)| Style::member(key, &self.lines(value, &deeper));
                lines(members.iter().map(member).collect(), "{", "}")
            }
            Value::Array(elements) if elements.iter().any(Value::is_object) => {
                lines(elements.iter().map(Style::compact).collect(), "[", "]")
            }
            short => Style::compact(short),
        }
    }

    /// A member of an object.
    pub(super) fn member(key: &str, value: &str) -> String {
        format!("{}: {value}", Value::String(key.to_owned()))
    }
}
