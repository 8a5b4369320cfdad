//! How values are written: on the lines and with the blanks that the text around them has.

use jsonc_parser::cst::CstRootNode;
use serde_json::Value;

/// The ways of a text.
pub(super) struct Style {
    /// What a line ends with.
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

    /// The value on as many lines as a human would give it, all but the first behind `indent`: an object's members each on
    /// one, but what stands in a list on one.
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

/// What goes into an object or a list.
pub(super) enum New<'v> {
    Element(&'v Value),
    Member(&'v str, &'v Value),
}

impl New<'_> {
    /// On one line.
    pub(super) fn compact(&self) -> String {
        match self {
            New::Element(value) => compact(value),
            New::Member(key, value) => format!("{}: {}", Value::from(*key), compact(value)),
        }
    }

    /// On as many lines as it wants, all but the first behind `indent`.
    pub(super) fn lines(&self, style: &Style, indent: &str) -> String {
        match self {
            New::Element(value) => compact(value),
            New::Member(key, value) => format!("{}: {}", Value::from(*key), style.lines(value, indent)),
        }
    }

    /// Whether it gets a line of its own where nothing says otherwise.
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
