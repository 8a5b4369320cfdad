//! Reads `guard.json` from its syntax tree, so that every problem has a line and a column.

mod agents;
mod approvals;
mod audit;
mod elevated;
mod examples;
mod exec;
mod forwarding;
mod gateway;
mod limits;
mod locate;
mod network;
mod node;
mod permissions;
mod project;
mod syntax;
#[cfg(test)]
mod tests;
mod tools;

use jsonc_parser::ast::Value;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::document::Document;
use crate::{Problem, Template};
pub use locate::{Location, locate};
use syntax::Reader;
pub(crate) use syntax::join;

const TOP: [&str; 14] = [
    "$schema",
    "version",
    "extends",
    "exec",
    "permissions",
    "agents",
    "approvals",
    "network",
    "tools",
    "audit",
    "node",
    "limits",
    "elevated",
    "examples",
];

impl Document {
    /// Parses a document; `file` is only for messages.
    ///
    /// # Errors
    /// Every problem found, in the order of the text.
    pub fn parse(file: &str, text: &str) -> Result<Document, Vec<Problem>> {
        document(file, text, |_, _| {})
    }

    /// Parses the file of a project, which has fewer keys; `file` is only for messages.
    ///
    /// # Errors
    /// Every problem found, in the order of the text.
    pub fn parse_project(file: &str, text: &str) -> Result<Document, Vec<Problem>> {
        document(file, text, |reader, value| reader.project_keys(value, "", ""))
    }
}

/// Reads a document; `also` reports more problems.
fn document(
    file: &str,
    text: &str,
    also: impl Fn(&mut Reader<'_>, &Value<'_>),
) -> Result<Document, Vec<Problem>> {
    let mut reader = Reader { file, text, problems: Vec::new() };
    let tree = match parse_to_ast(text, &CollectOptions::default(), &options()) {
        Ok(tree) => tree.value,
        Err(error) => {
            reader.at(error.range().start, "", error.kind().to_string(), None);
            return Err(reader.problems);
        }
    };
    let mut document = Document::default();
    match &tree {
        Some(value) => {
            reader.top(value, &mut document);
            also(&mut reader, value);
        }
        None => reader.at(0, "", "the file is empty; it needs at least {\"version\": 1}".into(), None),
    }
    // Report in the order of the text, not in the order of reading.
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    if reader.problems.is_empty() { Ok(document) } else { Err(reader.problems) }
}

/// Accepts JSON with comments and trailing commas, and no other extension.
pub(crate) fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

impl Reader<'_> {
    fn top(&mut self, value: &Value<'_>, document: &mut Document) {
        let before = self.problems.len();
        let mut version = false;
        for (name, key, property) in self.object(value, "", Some(&TOP)) {
            let value = &property.value;
            match name.as_str() {
                "version" => {
                    version = true;
                    document.version = 1;
                    if !matches!(value, Value::NumberLit(n) if n.value == "1") {
                        self.wrong(value, &key, "must be 1: this guard supports no other version");
                    }
                }
                "$schema" => document.schema = self.string(value, &key),
                "extends" => {
                    document.extends = self.word(value, &key, &Template::NAMES, Template::from_name);
                }
                "exec" => document.exec = self.exec(value, &key),
                "permissions" => document.permissions = self.permissions(value, &key),
                "agents" => {
                    for (name, key, property) in self.object(value, &key, None) {
                        let agent = self.agent(&property.value, &key);
                        document.agents.insert(name, agent);
                    }
                }
                "approvals" => document.approvals = self.approvals(value, &key),
                "network" => document.network = self.network(value, &key),
                "node" => document.node = self.node(value, &key),
                "tools" => document.tools = self.tools(value, &key),
                "limits" => document.limits = self.limits(value, &key),
                "elevated" => document.elevated = self.elevated(value, &key),
                "examples" => document.examples = self.examples(value, &key),
                _ => document.audit = self.audit(value, &key),
            }
        }
        if !version && self.problems.len() == before {
            self.wrong(value, "version", "is missing: write \"version\": 1");
        }
    }
}
