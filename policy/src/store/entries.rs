//! The entries of an allowlist: what one says, and adding one.

use serde_json::{Map, Value};

use super::{Store, key, object};
use crate::paths::pattern::trim;
use crate::programs::allowlist::{ARGV_ONLY, COMMANDS, CWD_ARGV};

/// How OpenClaw marks what an "allow always" made.
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
    /// An "allow always" without the hash of directory and arguments.
    UnboundAllowAlways,
    /// An `argPattern` that is no text.
    NoArgPattern,
}

impl Inactive {
    /// The reason, for a human.
    pub fn reason(self) -> &'static str {
        match self {
            Inactive::CommandLine => "it names a whole command line by its hash, and the guard sees programs",
            Inactive::ArgumentsAlone => {
                "it is bound to arguments without a directory; OpenClaw 2026.6 and newer ignore it too"
            }
            Inactive::UnboundAllowAlways => {
                "it is an \"allow always\" that is not bound to arguments and directory; OpenClaw 2026.6 and newer \
                 ignore it too"
            }
            Inactive::NoArgPattern => "its argPattern is no text",
        }
    }
}

impl<'s> StoreEntry<'s> {
    pub(super) fn new(entry: &'s Map<String, Value>) -> StoreEntry<'s> {
        StoreEntry(entry)
    }

    /// A UUID, usually.
    pub fn id(self) -> &'s str {
        self.text("id").unwrap_or_default()
    }

    /// The pattern, trimmed. Never empty.
    pub fn pattern(self) -> &'s str {
        trim(self.text("pattern").unwrap_or_default())
    }

    /// What the arguments must be like.
    pub fn arg_pattern(self) -> Option<&'s str> {
        self.text("argPattern").filter(|pattern| !pattern.is_empty())
    }

    /// Whether an "allow always" made it.
    pub fn is_allow_always(self) -> bool {
        self.text("source") == Some(ALLOW_ALWAYS)
    }

    /// Why it matches nothing, if it matches nothing (OpenClaw 2026.6 and newer).
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
            // Without its condition the entry would say more than was meant.
            (Some(_), _) => Some(Inactive::NoArgPattern),
        }
    }

    fn is_for(self, pattern: &str, arguments: Option<&str>) -> bool {
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
    /// An entry of the operator's own; `None` where the pattern is blank.
    pub fn new(pattern: &str) -> Option<NewEntry> {
        let pattern = trim(pattern).to_owned();
        (!pattern.is_empty()).then_some(NewEntry { pattern, arguments: None, allow_always: false })
    }

    /// The same, only for arguments like these.
    #[must_use]
    pub fn with_arg_pattern(self, pattern: &str) -> NewEntry {
        NewEntry { arguments: (!pattern.is_empty()).then(|| pattern.to_owned()), ..self }
    }

    /// The same, as an "allow always" makes it.
    #[must_use]
    pub fn from_allow_always(self) -> NewEntry {
        NewEntry { allow_always: true, ..self }
    }
}

/// What adding an entry did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New,
    /// It was there, and says more now: that it is an "allow always", or more bits.
    Marked,
    /// It was there.
    Known,
}

impl Store {
    /// Adds an entry to an agent's list, unless one with the same pattern and `argPattern` is there. `now` is in
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
            // The mark would put what the operator wrote to sleep.
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

    /// An agent's list, made where there is none.
    fn list_mut(&mut self, agent: &str) -> &mut Vec<Value> {
        let agents = object(self.root.entry("agents"));
        let agent = object(agents.entry(agent));
        match agent.entry("allowlist").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(list) => list,
            _ => unreachable!("a store's allowlist is a list"),
        }
    }
}
