//! Reads `tools`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::document::Tools;

pub(super) const TOOLS: [&str; 2] = ["allow", "deny"];

impl Reader<'_> {
    pub(super) fn tools(&mut self, value: &Value<'_>, key: &str) -> Tools {
        let mut tools = Tools::default();
        for (name, key, property) in self.object(value, key, Some(&TOOLS)) {
            let problem = |text: &str| {
                text.trim().is_empty().then(|| "must be the name of a tool or a group".to_owned())
            };
            let list = self.strings(&property.value, &key, problem);
            match name.as_str() {
                "allow" => tools.allow = list,
                _ => tools.deny = list,
            }
        }
        tools
    }
}
