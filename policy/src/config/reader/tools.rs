//! Reads `tools`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::document::{ReadTool, Tools};

pub(super) const TOOLS: [&str; 3] = ["allow", "deny", "read"];
pub(super) const READ_TOOL: [&str; 1] = ["maxSizeBytes"];

impl Reader<'_> {
    pub(super) fn tools(&mut self, value: &Value<'_>, key: &str) -> Tools {
        let mut tools = Tools::default();
        for (name, key, property) in self.object(value, key, Some(&TOOLS)) {
            let problem = |text: &str| {
                text.trim().is_empty().then(|| "must be the name of a tool or a group".to_owned())
            };
            let value = &property.value;
            match name.as_str() {
                "allow" => tools.allow = self.strings(value, &key, problem),
                "deny" => tools.deny = self.strings(value, &key, problem),
                _ => tools.read = self.read_tool(value, &key),
            }
        }
        tools
    }

    fn read_tool(&mut self, value: &Value<'_>, key: &str) -> ReadTool {
        let mut tool = ReadTool::default();
        for (_, key, property) in self.object(value, key, Some(&READ_TOOL)) {
            tool.max_size_bytes = self.byte_count(&property.value, &key);
        }
        tool
    }
}
