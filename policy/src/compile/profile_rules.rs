//! A profile laid over a policy.

use super::builder::MapBuilder;
use super::profiles::Profile;
use crate::config::allowlist_entry::AllowlistEntry;
use crate::paths::expansion::{Expanded, Paths, expand};
use crate::paths::path_rules::PathRules;
use crate::programs::allowlist::CompiledEntry;
use crate::verdict::CompiledReason;
use crate::{Grant, Permission, Source};

impl Profile {
    pub(super) fn add_rules(self, builder: &mut MapBuilder<'_>) {
        for (pattern, permission) in self.rules() {
            let reason = CompiledReason {
                source: Source::Builtin,
                path: format!("profile.{}[\"{pattern}\"]", self.as_str()),
                rule: format!("profile {} \"{pattern}\": \"{permission}\"", self.as_str()),
                text: format!(
                    "the profile {} has \"{pattern}\", which {}",
                    self.as_str(),
                    permission.in_words()
                ),
            };
            builder.rule(&expand(pattern, builder.paths.home), permission, reason);
        }
    }

    /// Returns the allowlist entries for programs of the agent's own.
    pub(super) fn entries(self, paths: &Paths<'_>, map: &PathRules) -> Vec<CompiledEntry> {
        let runs = |(_, permission): &(&str, Permission)| permission.0.x == Grant::Yes;
        let entry = |(pattern, _): (&'static str, Permission)| {
            let reason = CompiledReason {
                source: Source::Builtin,
                path: format!("profile.{}.allowlist[\"{pattern}\"]", self.as_str()),
                rule: format!("profile {} allowlist \"{pattern}\"", self.as_str()),
                text: format!("with the profile {}, programs at \"{pattern}\" may start", self.as_str()),
            };
            let written = AllowlistEntry { pattern: pattern.to_owned(), ..AllowlistEntry::default() };
            CompiledEntry::compile(&written, paths, map, reason).entry
        };
        self.rules().filter(runs).filter_map(entry).collect()
    }

    /// Returns a warning if `deny` has what the agent keeps for itself.
    pub(super) fn warning(self, map: &PathRules, home: &[u8]) -> Option<String> {
        let is_denied = |secret: &&&str| {
            let Expanded { literal, pattern } = expand(secret, home);
            let path = [&literal, pattern.as_bytes()].concat();
            map.denies().iter().any(|entry| entry.glob.covers(&path))
        };
        let secret = self.content().own_secrets.iter().find(is_denied)?;
        let name = self.as_str();
        Some(format!(
            "profile {name}: {secret} stays denied by the policy, and {} needs it: remove it from deny",
            self.content().command
        ))
    }
}
