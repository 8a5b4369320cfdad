//! The own file of a project, `.openclaw/guard.json`: what it says of files. It always takes away from the policy. What it
//! allows counts only if the operator trusts the file, and then as saved answers do.

use std::collections::BTreeSet;

use super::document::Document;
use super::layers::{Layer, layers};
use crate::paths::expansion::{Expanded, show};
use crate::paths::saved_rules::SavedRule;
use crate::paths::workspace::Workspace;
use crate::verdict::CompiledReason;
use crate::{Bits, Grant, Permission, Source};

/// The file of a project, found in the start directory or above it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectFile {
    /// The real path of the project's directory, for which `${workspace}` stands in the file. The file is
    /// `.openclaw/guard.json` there.
    pub directory: Vec<u8>,
    /// Its contents.
    pub document: Document,
    /// Whether what it allows counts.
    pub trust: ProjectTrust,
}

/// Whether what a project's file allows counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectTrust {
    /// The operator trusted this file as it is.
    Trusted,
    /// The operator has not trusted the file.
    Untrusted,
    /// The operator trusted it with other contents.
    Changed,
    /// It cannot be trusted; contains why.
    Never(String),
}

impl ProjectFile {
    /// The place of the file below a project's directory.
    pub const PLACE: &'static str = ".openclaw/guard.json";

    /// The path of the file.
    pub fn path(&self) -> Vec<u8> {
        let directory = self.directory.strip_suffix(b"/").unwrap_or(&self.directory);
        [directory, b"/", Self::PLACE.as_bytes()].concat()
    }

    /// The sections that apply to an agent, the most specific first.
    pub(crate) fn layers(&self, agent: &str) -> Vec<Layer<'_>> {
        layers(&self.document, None, agent)
    }

    fn workspace(&self) -> Workspace {
        Workspace::at(self.directory.clone())
    }

    /// Returns a key in the file as reasons name it.
    pub(crate) fn key_path(&self, key: &str) -> String {
        format!("{}: {key}", show(&self.path()))
    }

    fn reason(&self, key: &str, name: &str, value: &str, text: String) -> CompiledReason {
        CompiledReason {
            source: Source::Project,
            path: self.key_path(&format!("{key}[\"{name}\"]")),
            rule: self.key_path(&format!("{key} \"{name}\"{value}")),
            text: format!("{text} in the project's own {}", Self::PLACE),
        }
    }

    /// Why nothing may write the file.
    pub(crate) fn own_reason(&self) -> CompiledReason {
        CompiledReason {
            source: Source::Builtin,
            path: "builtin.project".to_owned(),
            rule: "builtin: a project's policy file is changed outside the guard only".to_owned(),
            text: "the guarded tree may not change a project's policy file, which restricts it".to_owned(),
        }
    }

    /// Calls `deny` with each denial.
    pub(crate) fn denials(&self, agent: &str, home: &[u8], mut deny: impl FnMut(&Expanded, CompiledReason)) {
        let workspace = self.workspace();
        for layer in self.layers(agent) {
            let section = format!("{}permissions.filesystem.deny", layer.prefix);
            for pattern in &layer.permissions.filesystem.deny {
                let reason = self.reason(&section, pattern, "", format!("\"{pattern}\" is denied"));
                for expanded in workspace.denials(pattern, home) {
                    deny(&expanded, reason.clone());
                }
            }
        }
    }

    /// Calls `add` with each rule. A rule of an agent replaces a more general rule with the same pattern.
    pub(crate) fn each_rule(
        &self,
        agent: &str,
        home: &[u8],
        mut add: impl FnMut(&Expanded, Permission, CompiledReason),
    ) {
        let workspace = self.workspace();
        let mut decided: BTreeSet<Vec<u8>> = BTreeSet::new();
        for layer in self.layers(agent) {
            let section = format!("{}permissions.filesystem.rules", layer.prefix);
            let mut own = Vec::new();
            for (pattern, permission) in &layer.permissions.filesystem.rules {
                let value = format!(": \"{permission}\"");
                let text = format!("\"{pattern}\" {}", permission.in_words());
                let reason = self.reason(&section, pattern, &value, text);
                for expanded in workspace.rules(pattern, *permission, home) {
                    let key = [&expanded.literal, expanded.pattern.as_bytes()].concat();
                    if !decided.contains(&key) {
                        own.push(key);
                        add(&expanded, *permission, reason.clone());
                    }
                }
            }
            decided.extend(own);
        }
    }

    /// What the file allows about files, as saved answers.
    pub(crate) fn answers(&self, agent: &str, home: &[u8]) -> Vec<SavedRule> {
        let mut answers = Vec::new();
        self.each_rule(agent, home, |expanded, permission, reason| {
            if let Some(bits) = Bits::from_rights(permission.0, |grant| grant == Grant::Yes) {
                answers.push(SavedRule { glob: expanded.glob(true), bits, reason });
            }
        });
        answers
    }
}
