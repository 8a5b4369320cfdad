//! Finds the position of a key that a message names.

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};

use super::options;
use super::syntax::join;
use crate::config::problem::line_column;

/// The position of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The full key: `agents.main.allowlist[0]`.
    pub key: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// The position of the key with which a message about `text` begins (`exec.roots: …`); of several such keys, the
/// deepest. `None` if the message begins with no key of the text.
pub fn locate(text: &str, message: &str) -> Option<Location> {
    let tree = parse_to_ast(text, &CollectOptions::default(), &options()).ok()?.value?;
    let (key, offset) = deepest(&tree, "", message)?;
    let (line, column) = line_column(text, offset);
    Some(Location { key, line, column })
}

fn deepest(value: &Value<'_>, key: &str, message: &str) -> Option<(String, usize)> {
    let inside = |key: String, start: usize, value: &Value<'_>| {
        // The rest of the message must end the key or continue with a deeper one.
        let rest = message.strip_prefix(&key)?;
        let found = deepest(value, &key, message);
        let is_whole = rest.is_empty() || rest.starts_with([':', ' ']);
        found.or(is_whole.then_some((key, start)))
    };
    match value {
        Value::Object(object) => object.properties.iter().find_map(|property| {
            let name = property.name.as_str();
            // Patterns are always quoted.
            [join(key, name), format!("{key}[\"{name}\"]")]
                .into_iter()
                .find_map(|key| inside(key, property.start(), &property.value))
        }),
        Value::Array(array) => array.elements.iter().enumerate().find_map(|(i, element)| {
            // A pattern in a list is named by itself, not by its index.
            let itself = match element {
                Value::StringLit(text) => {
                    inside(format!("{key}[\"{}\"]", text.value), element.start(), element)
                }
                _ => None,
            };
            itself.or_else(|| inside(format!("{key}[{i}]"), element.start(), element))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\n  \"version\": 1, // one\n  \"exec\": { \"roots\": [\"/ä\", \"/b\"] },\n  \"permissions\": {\n    \"filesystem\": { \"rules\": { \"/a: b/**\": \"r--\", \"/a\": \"rw-\" } } },\n  \"agents\": { \"*\": { \"allowlist\": [\n    { \"pattern\": \"x\" } ] }, \"a b\": {} } }";

    #[test]
    fn a_message_leads_to_the_deepest_key_that_it_names() {
        let found =
            |message: &str| locate(TEXT, message).map(|located| (located.key, located.line, located.column));
        let at = |key: &str, line, column| Some((key.to_owned(), line, column));
        assert_eq!(found("exec.roots[1]: x"), at("exec.roots[1]", 3, 29));
        assert_eq!(found("exec.roots is read"), at("exec.roots", 3, 13));
        assert_eq!(found("exec.rootsy: x"), None);
        assert_eq!(found("exec.roots[2]: x"), None);
        assert_eq!(found("exec.roots[\"/b\"]: x"), at("exec.roots[\"/b\"]", 3, 29));
        assert_eq!(found("exec.roots[\"/c\"]: x"), None);
        assert_eq!(found("version"), at("version", 2, 3));
        let rules = "permissions.filesystem.rules";
        assert_eq!(found(&format!("{rules}[\"/a: b/**\"]: x")), at(&format!("{rules}[\"/a: b/**\"]"), 5, 32));
        assert_eq!(found(&format!("{rules}[\"/a\"]: x")), at(&format!("{rules}[\"/a\"]"), 5, 51));
        assert_eq!(found("agents[\"*\"].allowlist[0]: x"), at("agents[\"*\"].allowlist[0]", 7, 5));
        assert_eq!(found("agents[\"a b\"]: x"), at("agents[\"a b\"]", 7, 29));
        assert_eq!(found("nothing: x"), None);
        assert_eq!(locate("{", "exec: x"), None);
    }
}
