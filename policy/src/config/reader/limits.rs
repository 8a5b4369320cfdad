//! Reads `limits`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::limits::{LimitsSection, NUMBER_IS, SIZE_IS, size};

pub(super) const LIMITS: [&str; 4] = ["memory", "pids", "openFiles", "seconds"];

impl Reader<'_> {
    pub(super) fn limits(&mut self, value: &Value<'_>, key: &str) -> LimitsSection {
        let mut limits = LimitsSection::default();
        for (name, key, property) in self.object(value, key, Some(&LIMITS)) {
            let value = &property.value;
            match name.as_str() {
                "memory" => limits.memory = self.size(value, &key),
                "pids" => limits.pids = self.above_zero(value, &key),
                "openFiles" => limits.open_files = self.above_zero(value, &key),
                _ => limits.seconds = self.above_zero(value, &key),
            }
        }
        limits
    }

    fn size(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        let text = self.string(value, key)?;
        if size(&text).is_none() {
            self.wrong(value, key, SIZE_IS);
        }
        Some(text)
    }

    fn above_zero(&mut self, value: &Value<'_>, key: &str) -> Option<u64> {
        let number = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|number| *number > 0),
            _ => None,
        };
        if number.is_none() {
            self.wrong(value, key, NUMBER_IS);
        }
        number
    }
}
