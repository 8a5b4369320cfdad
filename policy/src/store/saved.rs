//! What "always" has saved: listing it, and taking it back.

use serde_json::{Map, Value};

use super::rules::{SECTION, bits};
use super::usage::last_used;
use super::{BaseHash, Store, origins, section_of_mut};
use crate::Bits;
use crate::programs::allowlist::CWD_ARGV;

/// How many characters of the hash name an answer.
const ID_LENGTH: usize = 12;

/// An answer that a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedAnswer {
    /// The agent's key in the store; `*` is every agent.
    pub agent: String,
    /// What it allows.
    pub grant: SavedGrant,
    /// When it was used last, in milliseconds since 1970. Known of programs only.
    pub last_used: Option<u64>,
}

/// What a saved answer allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedGrant {
    /// Starting a program.
    Program {
        /// The pattern of its path.
        pattern: String,
        /// The expression or hash that its arguments must match.
        arg_pattern: Option<String>,
        /// Whether "allow always" made the entry. Otherwise somebody wrote it.
        is_allow_always: bool,
    },
    /// Using files.
    Files {
        /// The pattern of their paths.
        pattern: String,
        /// What is granted.
        bits: Bits,
    },
    /// Reaching hosts of the Web.
    Origin {
        /// Scheme, host and port.
        origin: String,
    },
}

impl SavedAnswer {
    /// A short name, the same in each list as long as the answer stays as it is: twelve hexadecimal digits.
    pub fn id(&self) -> String {
        let what = match &self.grant {
            SavedGrant::Program { pattern, arg_pattern, .. } => {
                format!("program\0{}\0{pattern}\0{}", self.agent, arg_pattern.as_deref().unwrap_or_default())
            }
            SavedGrant::Files { pattern, bits } => format!("files\0{}\0{pattern}\0{bits}", self.agent),
            SavedGrant::Origin { origin } => format!("origin\0{}\0{origin}", self.agent),
        };
        let mut id = BaseHash::new(what.as_bytes()).to_string();
        id.truncate(ID_LENGTH);
        id
    }

    /// Whether it is for the same arguments in the same directory only.
    pub fn is_bound(&self) -> bool {
        matches!(&self.grant, SavedGrant::Program { arg_pattern: Some(hash), .. } if hash.starts_with(CWD_ARGV))
    }
}

impl Store {
    /// Every entry, file rule and origin of every agent, in the order of the text.
    pub fn saved_answers(&self) -> Vec<SavedAnswer> {
        let mut all = Vec::new();
        for (agent, section) in self.section("agents").into_iter().flatten() {
            let Some(section) = section.as_object() else { continue };
            let grants = files(section).chain(origins(section)).map(|grant| (grant, None));
            let grants = programs(section).chain(grants);
            all.extend(grants.map(|(grant, last_used)| SavedAnswer {
                agent: agent.clone(),
                grant,
                last_used,
            }));
        }
        all
    }

    /// Removes an answer. Returns whether it was there.
    pub fn forget(&mut self, answer: &SavedAnswer) -> bool {
        let section = self.root.get_mut("agents").and_then(|agents| agents.get_mut(&answer.agent));
        let Some(section) = section.and_then(Value::as_object_mut) else { return false };
        match &answer.grant {
            SavedGrant::Program { .. } => {
                let Some(list) = section.get_mut("allowlist").and_then(Value::as_array_mut) else {
                    return false;
                };
                let before = list.len();
                list.retain(|entry| entry.as_object().and_then(program).as_ref() != Some(&answer.grant));
                list.len() < before
            }
            SavedGrant::Files { pattern, bits: granted } => {
                let Some(rules) = section_of_mut(section, &SECTION) else { return false };
                if rules.get(pattern).and_then(bits) != Some(*granted) {
                    return false;
                }
                rules.shift_remove(pattern).is_some()
            }
            SavedGrant::Origin { origin } => {
                let web = section_of_mut(section, &origins::SECTION);
                let list = web.and_then(|web| web.get_mut(origins::LIST)?.as_array_mut());
                let Some(list) = list else { return false };
                let before = list.len();
                list.retain(|known| known != origin);
                list.len() < before
            }
        }
    }
}

/// The programs, each with its last use.
fn programs(agent: &Map<String, Value>) -> impl Iterator<Item = (SavedGrant, Option<u64>)> {
    let list = agent.get("allowlist").and_then(Value::as_array);
    let entries = list.into_iter().flatten().filter_map(Value::as_object);
    entries.filter_map(|entry| Some((program(entry)?, last_used(entry))))
}

fn program(entry: &Map<String, Value>) -> Option<SavedGrant> {
    let entry = super::StoreEntry::new(entry);
    Some(SavedGrant::Program {
        pattern: entry.pattern().to_owned(),
        arg_pattern: entry.arg_pattern().map(str::to_owned),
        is_allow_always: entry.is_allow_always(),
    })
}

fn files(agent: &Map<String, Value>) -> impl Iterator<Item = SavedGrant> {
    super::rules::section(agent).into_iter().flatten().filter_map(|(pattern, value)| {
        Some(SavedGrant::Files { pattern: pattern.clone(), bits: bits(value)? })
    })
}

fn origins(agent: &Map<String, Value>) -> impl Iterator<Item = SavedGrant> {
    let list = origins::list(agent).into_iter().flatten();
    list.filter_map(|origin| Some(SavedGrant::Origin { origin: origin.as_str()?.to_owned() }))
}
