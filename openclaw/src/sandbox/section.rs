//! Reads a section of openclaw.json. Each error names its key.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A value of openclaw.json that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct SettingError {
    /// The path of the key, such as `agents.defaults.sandbox.mode`.
    pub key: String,
    /// What is wrong.
    pub problem: String,
}

/// An object of openclaw.json, with its path.
#[derive(Clone, Debug)]
pub(crate) struct SettingSection<'c> {
    path: String,
    values: Option<&'c Map<String, Value>>,
}

impl<'c> SettingSection<'c> {
    /// The object at `value`; null counts as absent.
    pub(crate) fn new(path: String, value: Option<&'c Value>) -> Result<SettingSection<'c>, SettingError> {
        match value {
            None | Some(Value::Null) => Ok(SettingSection { path, values: None }),
            Some(Value::Object(values)) => Ok(SettingSection { path, values: Some(values) }),
            Some(_) => Err(SettingError { key: path, problem: "it is no object".to_owned() }),
        }
    }

    /// An object without keys.
    pub(crate) fn empty() -> SettingSection<'c> {
        SettingSection { path: String::new(), values: None }
    }

    pub(crate) fn below(&self, key: &str) -> Result<SettingSection<'c>, SettingError> {
        SettingSection::new(self.path_of(key), self.value(key))
    }

    /// The value of a key, if it is there; null counts as absent.
    pub(crate) fn value(&self, key: &str) -> Option<&'c Value> {
        self.values?.get(key).filter(|value| !value.is_null())
    }

    /// Reads the value of a key.
    pub(crate) fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, SettingError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let error =
            |error: serde_json::Error| SettingError { key: self.path_of(key), problem: error.to_string() };
        T::deserialize(value).map(Some).map_err(error)
    }

    /// The keys that are not in `known`, each with its path.
    pub(crate) fn unknown(&self, known: &[&str]) -> impl Iterator<Item = String> {
        let keys = self.values.into_iter().flat_map(Map::keys);
        keys.filter(|key| !known.contains(&key.as_str())).map(|key| self.path_of(key))
    }

    pub(crate) fn path_of(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }
}

/// A section of the defaults and the same section of an agent, whose values take precedence.
#[derive(Clone, Debug)]
pub(crate) struct Layers<'c> {
    pub(crate) agent: SettingSection<'c>,
    pub(crate) defaults: SettingSection<'c>,
}

impl Layers<'_> {
    /// The sections below a key.
    pub(crate) fn below(&self, key: &str) -> Result<Self, SettingError> {
        Ok(Layers { agent: self.agent.below(key)?, defaults: self.defaults.below(key)? })
    }

    /// Reads a key of both sections, and returns the value that counts. A value that cannot be read is an error in
    /// either section.
    pub(crate) fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, SettingError> {
        let defaults = self.defaults.read(key)?;
        Ok(self.agent.read(key)?.or(defaults))
    }

    /// Reads a text of both sections, trimmed. An empty text of the agent replaces the default, and the result then
    /// counts as absent.
    pub(crate) fn trimmed(&self, key: &str) -> Result<Option<String>, SettingError> {
        let text = self.read::<String>(key)?;
        Ok(text.map(|text| crate::ecmascript::trim(&text).to_owned()).filter(|text| !text.is_empty()))
    }

    /// Reads a list of both sections, the defaults' entries first. `None` if both lack it.
    pub(crate) fn joined<T: DeserializeOwned>(&self, key: &str) -> Result<Option<Vec<T>>, SettingError> {
        let (defaults, agent) = (self.defaults.read::<Vec<T>>(key)?, self.agent.read::<Vec<T>>(key)?);
        Ok(match (defaults, agent) {
            (Some(mut all), more) => {
                all.extend(more.unwrap_or_default());
                Some(all)
            }
            (None, all) => all,
        })
    }

    /// Reads a map of both sections. An agent's entry replaces the default's of the same name.
    pub(crate) fn merged<T: DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<Option<NamedValues<T>>, SettingError> {
        let (defaults, agent) =
            (self.defaults.read::<NamedValues<T>>(key)?, self.agent.read::<NamedValues<T>>(key)?);
        Ok(match (defaults, agent) {
            (Some(mut all), more) => {
                for (name, value) in more.into_iter().flat_map(|more| more.0) {
                    all.insert(name, value);
                }
                Some(all)
            }
            (None, all) => all,
        })
    }
}

/// The entries of an object, in the order in which they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValues<T>(Vec<(String, T)>);

impl<T> NamedValues<T> {
    /// Collects entries. If two have the same name, the second value counts, at the first one's position.
    pub fn new(entries: impl IntoIterator<Item = (String, T)>) -> NamedValues<T> {
        let mut all = NamedValues(Vec::new());
        for (name, value) in entries {
            all.insert(name, value);
        }
        all
    }

    /// The entries.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Adds an entry, or replaces the entry of that name at its position.
    pub fn insert(&mut self, name: String, value: T) {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, place)) => *place = value,
            None => self.0.push((name, value)),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NamedValues<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = NamedValues<T>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<NamedValues<T>, A::Error> {
                let mut entries = NamedValues(Vec::new());
                while let Some((name, value)) = map.next_entry()? {
                    entries.insert(name, value);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

impl<T: serde::Serialize> serde::Serialize for NamedValues<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
