//! Reads `audit`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::audit::{Audit, MIN_BYTES, OnError};

pub(super) const AUDIT: [&str; 5] = ["path", "onError", "maxBytes", "keep", "journald"];

impl Reader<'_> {
    pub(super) fn audit(&mut self, value: &Value<'_>, key: &str) -> Audit {
        let mut audit = Audit::default();
        for (name, key, property) in self.object(value, key, Some(&AUDIT)) {
            let value = &property.value;
            match name.as_str() {
                "path" => audit.path = self.log(value, &key),
                "onError" => audit.on_error = self.word(value, &key, &OnError::NAMES, OnError::from_name),
                "maxBytes" => audit.max_bytes = self.bytes(value, &key),
                "keep" => audit.keep = self.count(value, &key),
                _ => audit.journald = self.boolean(value, &key),
            }
        }
        audit
    }

    fn log(&mut self, value: &Value<'_>, key: &str) -> Option<String> {
        let path = self.string(value, key)?;
        let is_file = (path.starts_with('/') || path.starts_with("~/")) && !path.ends_with('/');
        if !is_file || path.contains(['*', '?', '\0']) {
            self.wrong(
                value,
                key,
                "must be the path of a file, which begins with / or ~/, without wildcards",
            );
        }
        Some(path)
    }

    fn bytes(&mut self, value: &Value<'_>, key: &str) -> Option<u64> {
        let bytes = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|bytes| *bytes >= MIN_BYTES),
            _ => None,
        };
        if bytes.is_none() {
            self.wrong(value, key, format!("must be a whole number of bytes, {MIN_BYTES} or more"));
        }
        bytes
    }
}
