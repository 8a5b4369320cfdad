//! The examples in a policy: requests with the outcomes that the policy must give.

use serde_json::Value;

use super::allowlist_entry::AllowlistEntry;
use super::reader::join;
use crate::{Document, Exec, Outcome, Policy};

/// An item of `examples`.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// `examples[0]`
    pub key: String,
    /// The agent, if the example names one.
    pub agent: Option<String>,
    /// The request, as `openclaw-guard check --batch` takes it.
    pub question: Value,
    /// The outcome that the policy must give.
    pub outcome: Outcome,
}

/// An item of `match` or `not_match` of an allowlist entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryExample {
    /// `agents.main.allowlist[0].match[1]`
    pub key: String,
    /// The agent that has the entry.
    pub agent: String,
    /// `agents.main.allowlist[0]`
    pub entry: String,
    /// A command line that starts with an absolute path.
    pub command: String,
    /// Whether the entry must let the command run.
    pub matches: bool,
}

impl Document {
    /// The items of `examples`.
    pub fn examples(&self) -> impl Iterator<Item = Example> {
        self.examples.iter().enumerate().map(|(i, example)| {
            let mut question = example.other.clone();
            question.insert("op".to_owned(), example.op.as_str().into());
            Example {
                key: format!("examples[{i}]"),
                agent: example.agent.clone(),
                question: question.into(),
                outcome: example.outcome,
            }
        })
    }

    /// The examples of allowlist entries.
    pub fn entry_examples(&self) -> impl Iterator<Item = EntryExample> {
        let inside = self.agents.iter().map(|(agent, section)| {
            (agent.as_str(), join("agents", agent) + ".allowlist", &section.allowlist)
        });
        let outside = ("*", "elevated.allowlist".to_owned(), &self.elevated.allowlist);
        inside.chain([outside]).flat_map(|(agent, list, entries)| {
            let entries = entries.iter().enumerate();
            entries.flat_map(move |(i, entry)| of_entry(agent, &format!("{list}[{i}]"), entry))
        })
    }
}

fn of_entry(agent: &str, key: &str, entry: &AllowlistEntry) -> Vec<EntryExample> {
    let lists = [("match", &entry.matching, true), ("not_match", &entry.not_matching, false)];
    let items = lists.into_iter().flat_map(|(name, list, matches)| {
        list.iter().enumerate().map(move |(i, command)| (format!("{name}[{i}]"), command, matches))
    });
    items
        .map(|(item, command, matches)| EntryExample {
            key: format!("{key}.{item}"),
            agent: agent.to_owned(),
            entry: key.to_owned(),
            command: command.clone(),
            matches,
        })
        .collect()
}

impl Policy {
    /// Whether one allowlist entry (`agents.main.allowlist[0]`, `elevated.allowlist[0]`) is enough to let this program
    /// start. False if the entry can match nothing or does not belong to the policy's agent.
    pub fn entry_matches(&self, entry: &str, exec: &Exec<'_>) -> bool {
        let lists = [&self.programs.allowlist, &self.programs.outside];
        lists.iter().any(|list| list.only(entry).allow(exec, self.writers(exec)).is_some())
    }
}
