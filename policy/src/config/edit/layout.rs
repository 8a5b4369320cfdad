//! Formats new values with the line ends and indentation of the text around them.

use jsonc_parser::cst::CstRootNode;
use serde_json::Value;

/// The style of a text.
pub(super) struct Style {
    /// The line ending.
    pub(super) line_end: &'static str,
    /// One step of indentation.
    pub(super) step: String,
}

impl Style {
    pub(super) fn detect(root: &CstRootNode, text: &str) -> Style {
        let is_dos = text.split_once('\n').is_some_and(|(line, _)| line.ends_with('\r'));
        let step = root.single_indent_text().unwrap_or_else(|| "  ".to_owned());
        Style { line_end: if is_dos { "\r\n" } else { "\n" }, step }
    }

    /// Formats a value over several lines, as a human would: one line for each member of an object and for each
    /// element of a list of objects. Every line but the first starts with `indent`.
    fn lines(&self, value: &Value, indent: &str) -> String {
        let deeper = format!("{indent}{}", self.step);
        let lines = |parts: Vec<String>, open: &str, close: &str| {
            let next = format!("{}{deeper}", self.line_end);
            format!("{open}{next}{}{}{indent}{close}", parts.join(&format!(",{next}")), self.line_end)
        };
        match value {
            Value::Object(members) if !members.is_empty() => {
                let members = members.iter().map(|(key, value)| New::Member(key, value).lines(self, &deeper));
                lines(members.collect(), "{", "}")
            }
            Value::Array(elements) if elements.iter().any(Value::is_object) => {
                lines(elements.iter().map(compact).collect(), "[", "]")
            }
            short => compact(short),
        }
    }
}

/// A new member of an object or element of a list.
pub(super) enum New<'v> {
    Element(&'v Value),
    Member(&'v str, &'v Value),
}

impl New<'_> {
    /// Formats it on one line.
    pub(super) fn compact(&self) -> String {
        match self {
            New::Element(value) => compact(value),
            New::Member(key, value) => format!("{}: {}", Value::from(*key), compact(value)),
        }
    }

    /// Formats it over as many lines as it needs. Every line but the first starts with `indent`.
    pub(super) fn lines(&self, style: &Style, indent: &str) -> String {
        match self {
            New::Element(value) => compact(value),
            New::Member(key, value) => format!("{}: {}", Value::from(*key), style.lines(value, indent)),
        }
    }

    /// Whether it gets a line of its own by default.
    pub(super) fn wants_a_line(&self) -> bool {
        match self {
            New::Element(value) => value.is_object(),
            New::Member(..) => true,
        }
    }
}

fn compact(value: &Value) -> String {
    match value {
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(compact).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) if !members.is_empty() => {
            let members = members.iter().map(|(key, value)| New::Member(key, value).compact());
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}
