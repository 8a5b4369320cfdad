//! Origins of the Web in the guard's own store, next to an agent's allowlist:
//! `"network": { "web": { "allowedOrigins": ["https://example.com"] } }`. OpenClaw's store has none.

use serde_json::{Map, Value};

use super::{Added, Store, lists, section_of, section_path};

/// The keys that lead to the list in an agent's section.
pub(super) const SECTION: [&str; 2] = ["network", "web"];
/// The list.
pub(super) const LIST: &str = "allowedOrigins";

impl Store {
    /// The origins of an agent: those of `*`, then its own, each with its key. What is no text is skipped.
    pub fn origins(&self, agent: &str) -> Vec<(String, String)> {
        let mut origins = Vec::new();
        for name in lists(agent) {
            for (i, origin) in self.agent(name).and_then(list).into_iter().flatten().enumerate() {
                if let Some(origin) = origin.as_str() {
                    let key_path = format!("{}.{}.{LIST}[{i}]", section_path(name), SECTION.join("."));
                    origins.push((key_path, origin.to_owned()));
                }
            }
        }
        origins
    }

    /// Adds an origin to an agent. `None` if another kind of value is in the way; nothing is added then.
    pub fn add_origin(&mut self, agent: &str, origin: &str) -> Option<Added> {
        let section = self.make_section(agent, &SECTION)?;
        let list = section.entry(LIST).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()?;
        if list.iter().any(|known| known == origin) {
            return Some(Added::Known);
        }
        list.push(origin.into());
        Some(Added::New)
    }
}

pub(super) fn list(agent: &Map<String, Value>) -> Option<&Vec<Value>> {
    section_of(agent, &SECTION)?.get(LIST)?.as_array()
}
