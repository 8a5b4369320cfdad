//! `permissions.persistence`: protects files that would run later, outside the guard, from being written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::paths::persistence::Set;
use crate::verdict::Source;

/// How a set is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// `false`: not at all.
    Off,
    /// `"ask"` for all sets: the guard asks about files that ordinary work on a project changes, and denies the others.
    Project,
    /// `"ask"` for one set: everything in it is asked about.
    Ask,
    /// `true` and `"deny"`: everything is denied.
    Deny,
}

impl Protection {
    /// What counts where the policy says nothing.
    pub(crate) const DEFAULT: Protection = Protection::Project;
    /// The words beside true and false.
    pub(crate) const WORDS: [(&'static str, Protection); 2] =
        [("ask", Protection::Ask), ("deny", Protection::Deny)];

    /// Returns the setting that `true` or `false` stands for.
    pub(crate) fn from_bool(on: bool) -> Protection {
        if on { Protection::Deny } else { Protection::Off }
    }

    /// Returns the setting that a word stands for.
    pub(crate) fn from_word(word: &str) -> Option<Protection> {
        Self::WORDS.into_iter().find(|(other, _)| *other == word).map(|(_, protection)| protection)
    }
}

impl Serialize for Protection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Protection::Off => serializer.serialize_bool(false),
            Protection::Project | Protection::Ask => serializer.serialize_str("ask"),
            Protection::Deny => serializer.serialize_bool(true),
        }
    }
}

/// `permissions.persistence`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Persistence {
    /// The same for all sets.
    All(Protection),
    /// A setting for each of some sets.
    Each(BTreeMap<Set, Protection>),
}

impl JsonSchema for Persistence {
    fn schema_name() -> Cow<'static, str> {
        "Persistence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let values = json!([true, false, "ask", "deny"]);
        let one = |set: Set| {
            let description =
                format!("Protects what runs {}. Default: ask, about files of a project.", set.when());
            (set.as_str().to_owned(), json!({ "description": description, "enum": values }))
        };
        let sets: serde_json::Map<String, Value> = Set::ALL.into_iter().map(one).collect();
        json_schema!({
            "description": "Which files that later run outside the guard are protected from writing: true or \"deny\" (all), \"ask\" (the \
                default: all; where somebody can be asked, files of a project are asked about), false (none), or an object with the sets, in which \
                \"ask\" asks about everything in the set.",
            "oneOf": [
                { "enum": values },
                { "type": "object", "properties": sets, "additionalProperties": false },
            ],
        })
    }
}

/// Returns how a set is protected, with the source and key that say so; `None` if nothing does. `settings` holds the
/// `permissions.persistence` of a document's sections, the most specific section first.
fn setting<'d>(
    settings: impl IntoIterator<Item = (Option<&'d Persistence>, Source, &'d str)>,
    set: Set,
) -> Option<(Protection, Source, String)> {
    let found = |(persistence, source, prefix): (Option<&Persistence>, Source, &str)| match persistence? {
        Persistence::All(Protection::Ask) => Some((Protection::Project, source, String::new())),
        Persistence::All(all) => Some((*all, source, format!("{prefix}permissions.persistence"))),
        Persistence::Each(sets) => {
            let one = *sets.get(&set)?;
            Some((one, source, format!("{prefix}permissions.persistence.{}", set.as_str())))
        }
    };
    settings.into_iter().find_map(found)
}

/// Returns how a set is protected.
pub(crate) fn protection<'d>(
    settings: impl IntoIterator<Item = (Option<&'d Persistence>, Source, &'d str)>,
    set: Set,
) -> Protection {
    setting(settings, set).map_or(Protection::DEFAULT, |(protection, ..)| protection)
}

/// Returns the source and key that switch a set off; `None` if the set is on.
pub(crate) fn switched_off<'d>(
    settings: impl IntoIterator<Item = (Option<&'d Persistence>, Source, &'d str)>,
    set: Set,
) -> Option<(Source, String)> {
    let (protection, source, path) = setting(settings, set)?;
    (protection == Protection::Off).then_some((source, path))
}
