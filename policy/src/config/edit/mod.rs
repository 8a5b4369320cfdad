//! Edits the text of `guard.json`. Everything outside an edit stays byte for byte: comments, blank lines, order,
//! indentation, trailing commas and line ends.

mod layout;
mod tree;

use serde_json::{Value, json};

use super::reader::join;
use crate::paths::expansion::{Bases, expand, problem, rule_problem};
use crate::{Ask, Document, Permission, Problem};

/// The section that an edit changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The top level: every agent.
    Everyone,
    /// `agents.NAME`.
    Agent(String),
}

impl Scope {
    fn keys(&self) -> Vec<&str> {
        match self {
            Scope::Everyone => Vec::new(),
            Scope::Agent(name) => vec!["agents", name],
        }
    }

    /// The full name of a key in this section, as messages write it: `agents.main.permissions.filesystem.rules`.
    pub fn key(&self, below: &str) -> String {
        match self {
            Scope::Everyone => below.to_owned(),
            Scope::Agent(name) => format!("{}.{below}", join("agents", name)),
        }
    }
}

/// What an edit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The text changed.
    Made,
    /// The text already said so.
    Needless,
}

/// A pattern that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?}: {why}")]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

const RULES: [&str; 3] = ["permissions", "filesystem", "rules"];
const DENY: [&str; 3] = ["permissions", "filesystem", "deny"];

/// The text of a valid `guard.json`. Every edit keeps it valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    text: String,
}

impl Draft {
    /// Parses a text; `name` is only for messages.
    ///
    /// # Errors
    /// Every problem that [`Document::parse`] finds.
    pub fn parse(name: &str, text: &str) -> Result<Draft, Vec<Problem>> {
        Document::parse(name, text)?;
        Ok(Draft { text: text.to_owned() })
    }

    /// A text that holds only the version.
    pub fn empty() -> Draft {
        Draft { text: "{\n  \"version\": 1\n}\n".to_owned() }
    }

    /// Sets what a pattern grants. Replaces a rule with the same pattern.
    ///
    /// # Errors
    /// If the pattern is not valid in the file map.
    pub fn set_rule(
        &mut self,
        at: &Scope,
        pattern: &str,
        permission: Permission,
    ) -> Result<Change, BadPattern> {
        let mut keys = keys(at, RULES);
        keys.push(right(pattern, rule_problem)?);
        let text = tree::put(&self.text, &keys, permission.to_string());
        Ok(self.becomes(text))
    }

    /// Sets `exec.ask` to `off`, so that nobody is asked.
    pub fn set_ask_off(&mut self) -> Change {
        let text = tree::put(&self.text, &["exec", "ask"], Ask::Off.as_str());
        self.becomes(text)
    }

    /// Leaves out the built-in base: sets `permissions.base` to false.
    pub fn set_base_off(&mut self) -> Change {
        let text = tree::put(&self.text, &["permissions", "base"], false);
        self.becomes(text)
    }

    /// Adds a pattern to `deny`.
    ///
    /// # Errors
    /// If the pattern is not valid in the file map.
    pub fn add_deny(&mut self, at: &Scope, pattern: &str) -> Result<Change, BadPattern> {
        Ok(self.pushed(&keys(at, DENY), &right(pattern, problem)?.into()))
    }

    /// Removes every occurrence of a pattern from `deny`.
    pub fn remove_deny(&mut self, at: &Scope, pattern: &str) -> Change {
        let text = tree::remove(&self.text, &keys(at, DENY), pattern);
        self.becomes(text)
    }

    /// Adds a host to `network.web.allowedDomains`. The caller makes sure that it parses.
    pub(crate) fn add_domain(&mut self, domain: &str) -> Change {
        self.pushed(&["network", "web", "allowedDomains"], &domain.into())
    }

    /// Adds an address to `network.connect.allow`. The caller makes sure that it parses.
    pub(crate) fn add_address(&mut self, address: &str) -> Change {
        self.pushed(&["network", "connect", "allow"], &address.into())
    }

    /// Adds an entry to the allowlist of an agent; `*` stands for every agent.
    pub fn add_entry(&mut self, agent: &str, pattern: &str, arg_pattern: Option<&str>) -> Change {
        let mut entry = json!({ "pattern": pattern });
        if let Some(arguments) = arg_pattern {
            entry["argPattern"] = arguments.into();
        }
        self.pushed(&["agents", agent, "allowlist"], &entry)
    }

    /// Returns the rule that covers the same files as a pattern, as written, with its permission. The two may be spelled
    /// differently: `~/x/` and `/home/u/x/**`, or `${workspace}/**`.
    pub fn rule<'b>(
        &self,
        at: &Scope,
        pattern: &str,
        bases: impl Into<Bases<'b>>,
    ) -> Option<(String, Permission)> {
        let bases = bases.into();
        let document = self.document();
        let permissions = match at {
            Scope::Everyone => &document.permissions,
            Scope::Agent(name) => &document.agents.get(name)?.permissions,
        };
        let mut rules = permissions.filesystem.rules.iter();
        let (written, granted) = rules.find(|(written, _)| is_same(written, pattern, bases))?;
        Some((written.clone(), *granted))
    }

    /// The text. [`Document::parse`] accepts it.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn document(&self) -> Document {
        Document::parse("", &self.text).unwrap_or_default()
    }

    /// Adds an item to the list to which these keys lead.
    fn pushed(&mut self, keys: &[&str], item: &Value) -> Change {
        let text = tree::push(&self.text, keys, item);
        self.becomes(text)
    }

    fn becomes(&mut self, text: Option<String>) -> Change {
        let Some(text) = text else { return Change::Needless };
        self.text = text;
        Change::Made
    }
}

/// Whether two patterns are equal once their placeholders are expanded.
fn is_same(one: &str, other: &str, bases: Bases<'_>) -> bool {
    let whole = |pattern: &str| {
        let expanded = expand(pattern, bases);
        [expanded.literal, expanded.pattern.into_bytes()].concat()
    };
    whole(one) == whole(other)
}

fn keys<'k>(at: &'k Scope, below: [&'k str; 3]) -> Vec<&'k str> {
    at.keys().into_iter().chain(below).collect()
}

fn right(pattern: &str, problem: fn(&str) -> Option<String>) -> Result<&str, BadPattern> {
    match problem(pattern) {
        None => Ok(pattern),
        Some(why) => Err(BadPattern { pattern: pattern.to_owned(), why }),
    }
}
