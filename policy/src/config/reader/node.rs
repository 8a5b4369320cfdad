//! Reads `node`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::node::{Node, NodeCommand, OUTPUT_LIMIT, RUNNING_LIMIT};

pub(super) const NODE: [&str; 6] =
    ["displayName", "commands", "cwd", "maxRunning", "outputBytes", "eventTailBytes"];

impl Reader<'_> {
    pub(super) fn node(&mut self, value: &Value<'_>, key: &str) -> Node {
        let mut node = Node::default();
        for (name, key, property) in self.object(value, key, Some(&NODE)) {
            let value = &property.value;
            match name.as_str() {
                "displayName" => node.display_name = self.display_name(value, &key),
                "commands" => node.commands = self.node_commands(value, &key),
                "cwd" => node.cwd = self.directory_of_runs(value, &key),
                "maxRunning" => node.max_running = self.up_to(value, &key, RUNNING_LIMIT),
                "outputBytes" => node.output_bytes = self.up_to(value, &key, OUTPUT_LIMIT),
                _ => node.event_tail_bytes = self.up_to(value, &key, OUTPUT_LIMIT),
            }
        }
        node
    }

    fn display_name(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        let name = self.string(value, key)?;
        if name.trim().is_empty() {
            self.wrong(value, key, "must not be blank");
        }
        Some(name)
    }

    fn node_commands(&mut self, value: &Value<'_>, key: &str) -> Option<Vec<NodeCommand>> {
        let Value::Array(array) = value else {
            self.wrong(value, key, format!("must be a list of {}", NodeCommand::NAMES.join(", ")));
            return None;
        };
        let commands = array.elements.iter().enumerate().filter_map(|(i, element)| {
            self.word(element, &format!("{key}[{i}]"), &NodeCommand::NAMES, NodeCommand::from_name)
        });
        Some(commands.collect())
    }

    fn directory_of_runs(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        let path = self.string(value, key)?;
        let is_directory = path.starts_with('/') || path == "~" || path.starts_with("~/");
        if !is_directory || path.contains(['*', '?', '\0']) {
            self.wrong(value, key, "must be a directory, which begins with / or ~, without wildcards");
        }
        Some(path)
    }

    fn up_to(&mut self, value: &Value<'_>, key: &str, most: usize) -> Option<usize> {
        let count = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|count| (1..=most).contains(count)),
            _ => None,
        };
        if count.is_none() {
            self.wrong(value, key, format!("must be a whole number from 1 to {most}"));
        }
        count
    }
}
