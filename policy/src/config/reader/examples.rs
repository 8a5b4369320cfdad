//! Reads `examples`, and the examples of an allowlist entry.

use jsonc_parser::ast::Value;

use super::syntax::{Reader, plain};
use crate::Outcome;
use crate::config::document::Example;

impl Reader<'_> {
    pub(super) fn examples(&mut self, value: &Value<'_>, key: &str) -> Vec<Example> {
        let Value::Array(array) = value else {
            self.wrong(value, key, "must be a list of { \"op\": …, \"path\": …, \"outcome\": … }");
            return Vec::new();
        };
        let items = array.elements.iter().enumerate();
        items.filter_map(|(i, element)| self.example(element, &format!("{key}[{i}]"))).collect()
    }

    fn example(&mut self, value: &Value<'_>, key: &str) -> Option<Example> {
        let before = self.problems.len();
        let (mut op, mut outcome, mut agent) = (None, None, None);
        let mut other = serde_json::Map::new();
        for (name, key, property) in self.object(value, key, None) {
            let value = &property.value;
            match name.as_str() {
                "op" => op = self.string(value, &key),
                "outcome" => outcome = self.word(value, &key, &Outcome::NAMES, Outcome::from_name),
                "agent" => agent = self.string(value, &key),
                _ => {
                    other.insert(name, plain(value));
                }
            }
        }
        let example = op.zip(outcome).map(|(op, outcome)| Example { op, outcome, agent, other });
        if example.is_none() && self.problems.len() == before {
            self.wrong(value, key, "needs both \"op\" and \"outcome\"");
        }
        example
    }

    pub(super) fn commands(&mut self, value: &Value<'_>, key: &str) -> Vec<String> {
        self.strings(value, key, |_| None).unwrap_or_default()
    }
}
