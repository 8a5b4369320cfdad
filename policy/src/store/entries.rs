//! The entries of a store's allowlist: reading and adding them.

use serde_json::{Map, Value};

use super::{Store, key, object};
use crate::paths::expansion::trim;
use crate::programs::allowlist::{ARGV_ONLY, COMMANDS, CWD_ARGV};

/// OpenClaw's mark on an entry that "allow always" made.
const ALLOW_ALWAYS: &str = "allow-always";

/// An entry of a store's allowlist.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoreEntry<'s>(&'s Map<String, Value>);

/// Why an entry matches nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Inactive {
    /// `=command:` or `=node-command:`.
    CommandLine,
    /// `sha256:argv:`.
    ArgumentsAlone,
    /// An "allow always" entry without the hash of directory and arguments.
    UnboundAllowAlways,
    /// An `argPattern` that is not a string.
    NoArgPattern,
}

impl Inactive {
    /// The reason, for a human.
    pub fn reason(self) -> &'static str {
        match self {
            Inactive::CommandLine => {
                "it names a whole command line by its hash, but the guard judges programs"
            }
            Inactive::ArgumentsAlone => {
                "it is bound to arguments without a directory; OpenClaw 2026.6 and newer ignore it too"
            }
            Inactive::UnboundAllowAlways => {
                "it was allowed \"always\" without arguments and directory; OpenClaw 2026.6 and newer ignore it \
                 too"
            }
            Inactive::NoArgPattern => "its argPattern is not a string",
        }
    }
}

impl<'s> StoreEntry<'s> {
    pub(super) fn new(entry: &'s Map<String, Value>) -> StoreEntry<'s> {
        StoreEntry(entry)
    }

    /// The id; usually a UUID.
    pub fn id(self) -> &'s str {
        self.text("id").unwrap_or_default()
    }

    /// The pattern, trimmed. Never empty.
    pub fn pattern(self) -> &'s str {
        trim(self.text("pattern").unwrap_or_default())
    }

    /// The expression that the arguments must match.
    pub fn arg_pattern(self) -> Option<&'s str> {
        self.text("argPattern").filter(|pattern| !pattern.is_empty())
    }

    /// Whether "allow always" made it.
    pub fn is_allow_always(self) -> bool {
        self.text("source") == Some(ALLOW_ALWAYS)
    }

    /// Why it matches nothing in OpenClaw 2026.6 and newer; `None` if it is active.
    pub fn inactive(self) -> Option<Inactive> {
        if COMMANDS.iter().any(|prefix| self.pattern().starts_with(prefix)) {
            return Some(Inactive::CommandLine);
        }
        match (self.0.get("argPattern"), self.arg_pattern()) {
            (_, Some(pattern)) if pattern.starts_with(CWD_ARGV) => None,
            (_, Some(pattern)) if pattern.starts_with(ARGV_ONLY) => Some(Inactive::ArgumentsAlone),
            (Some(Value::String(_) | Value::Null) | None, _) => {
                self.is_allow_always().then_some(Inactive::UnboundAllowAlways)
            }
            // Without the condition, the entry would allow more than was meant.
            (Some(_), _) => Some(Inactive::NoArgPattern),
        }
    }

    pub(super) fn is_for(self, pattern: &str, arguments: Option<&str>) -> bool {
        self.pattern() == trim(pattern) && self.arg_pattern() == arguments.filter(|text| !text.is_empty())
    }

    fn text(self, key: &str) -> Option<&'s str> {
        self.0.get(key)?.as_str()
    }
}

/// An entry to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pattern: String,
    arguments: Option<String>,
    allow_always: bool,
}

impl NewEntry {
    /// Creates an entry as the operator would write it; `None` if the pattern is blank.
    pub fn new(pattern: &str) -> Option<NewEntry> {
        let pattern = trim(pattern).to_owned();
        (!pattern.is_empty()).then_some(NewEntry { pattern, arguments: None, allow_always: false })
    }

    /// Limits the entry to matching arguments.
    #[must_use]
    pub fn with_arg_pattern(self, pattern: &str) -> NewEntry {
        NewEntry { arguments: (!pattern.is_empty()).then(|| pattern.to_owned()), ..self }
    }

    /// Marks the entry as made by "allow always".
    #[must_use]
    pub fn from_allow_always(self) -> NewEntry {
        NewEntry { allow_always: true, ..self }
    }
}

/// The result of adding an entry or a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It was added.
    New,
    /// It existed and was extended: with the "allow always" mark, or with more bits.
    Marked,
    /// It existed already; nothing changed.
    Known,
}

impl Store {
    /// Adds an entry to an agent's list, unless the list has one with the same pattern and `argPattern`. `now` is in
    /// milliseconds since 1970.
    pub fn add(&mut self, agent: &str, new: NewEntry, now: u64, id: &mut dyn FnMut() -> String) -> Added {
        let list = self.list_mut(key(agent));
        let same = list
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .find(|entry| StoreEntry(entry).is_for(&new.pattern, new.arguments.as_deref()));
        if let Some(entry) = same {
            let is_active = StoreEntry(entry).inactive().is_none();
            if !new.allow_always || entry.contains_key("source") {
                return Added::Known;
            }
            entry.insert("source".to_owned(), ALLOW_ALWAYS.into());
            // The mark would make an entry of the operator inactive.
            if is_active && StoreEntry(entry).inactive().is_some() {
                entry.shift_remove("source");
                return Added::Known;
            }
            return Added::Marked;
        }
        let mut entry = Map::new();
        entry.insert("id".to_owned(), id().into());
        entry.insert("pattern".to_owned(), new.pattern.into());
        if let Some(arguments) = new.arguments {
            entry.insert("argPattern".to_owned(), arguments.into());
        }
        if new.allow_always {
            entry.insert("source".to_owned(), ALLOW_ALWAYS.into());
        }
        entry.insert("lastUsedAt".to_owned(), now.into());
        list.push(Value::Object(entry));
        Added::New
    }

    /// An agent's list, created if missing.
    fn list_mut(&mut self, agent: &str) -> &mut Vec<Value> {
        let agents = object(self.root.entry("agents"));
        let agent = object(agents.entry(agent));
        match agent.entry("allowlist").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(list) => list,
            _ => unreachable!("a store's allowlist is a list"),
        }
    }
}
