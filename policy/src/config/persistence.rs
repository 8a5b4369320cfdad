//! `permissions.persistence`: protects files that would run later, outside the guard, from being written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::paths::persistence::Set;
use crate::verdict::Source;

/// `permissions.persistence`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Persistence {
    /// All sets on, or off.
    All(bool),
    /// Some of them.
    Each(BTreeMap<Set, bool>),
}

impl JsonSchema for Persistence {
    fn schema_name() -> Cow<'static, str> {
        "Persistence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |set: Set| {
            let description = format!("Protects what runs {}. Default: true.", set.when());
            (set.as_str().to_owned(), json!({ "description": description, "type": "boolean" }))
        };
        let sets: serde_json::Map<String, Value> = Set::ALL.into_iter().map(one).collect();
        json_schema!({
            "description": "Which files that later run outside the guard are protected from writing: true (all), false (none), or \
                an object with the sets.",
            "oneOf": [
                { "type": "boolean" },
                { "type": "object", "properties": sets, "additionalProperties": false },
            ],
        })
    }
}

/// Returns the source and key that switch a set off; `None` if the set is on. `settings` holds those of a document's
/// sections, the most specific first.
pub(crate) fn switched_off<'d>(
    settings: impl IntoIterator<Item = (Option<&'d Persistence>, Source, &'d str)>,
    set: Set,
) -> Option<(Source, String)> {
    let on_or_off = |(persistence, source, prefix): (Option<&Persistence>, Source, &str)| match persistence? {
        Persistence::All(on) => Some((*on, source, format!("{prefix}permissions.persistence"))),
        Persistence::Each(sets) => {
            let on = *sets.get(&set)?;
            Some((on, source, format!("{prefix}permissions.persistence.{}", set.as_str())))
        }
    };
    let (on, source, path) = settings.into_iter().find_map(on_or_off)?;
    (!on).then_some((source, path))
}
