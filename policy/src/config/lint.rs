//! Warnings about settings that may not do what the operator meant. Printed by `openclaw-guard policy validate`, not
//! at every start.

use crate::config::layers::layers;
use crate::paths::entry::CompiledPattern;
use crate::paths::glob::Glob;
use crate::programs::safe_bins::runs_its_input;
use crate::verdict::CompiledReason;
use crate::{Document, Grant, Policy, Rights, Source};

impl Policy {
    /// Returns warnings that begin with a key of the document, like [`Policy::warnings`]. `exists` reports whether a
    /// file exists at a path.
    pub fn lint(&self, document: &Document, exists: &dyn Fn(&[u8]) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        let written = self
            .map
            .rules()
            .iter()
            .filter(|rule| matches!(rule.reason.source, Source::Agent | Source::Global));
        for rule in written {
            // Where a placeholder leads depends on the start.
            if !rule.reason.path.contains("${") {
                found.extend(self.overruled(rule));
            }
            if rule.rights == Rights::NONE {
                continue;
            }
            found.extend(self.denied(&rule.glob, &rule.reason));
            if rule.rights.w != Grant::No {
                found.extend(self.unwritable(&rule.glob, &rule.reason));
            }
        }
        for answer in self.map.answers().iter() {
            found.extend(self.denied(&answer.glob, &answer.reason));
        }
        found.extend(self.programs.allowlist.missing(exists));
        found.extend(document.approvals.remarks());
        let layers = layers(document, self.extended.as_deref(), &self.agent);
        let sections: Vec<_> =
            layers.iter().filter_map(|layer| Some((&layer.prefix, layer.safe_bins?))).collect();
        for (prefix, section) in &sections {
            for name in section.names.iter().flatten().filter(|name| runs_its_input(name)) {
                let name_of_profile = name.trim().to_ascii_lowercase();
                if sections.iter().any(|(_, section)| section.profiles.contains_key(&name_of_profile)) {
                    found.push(format!(
                        "{prefix}exec.safeBins: \"{name}\" runs code from standard input, so it is not safe"
                    ));
                }
            }
        }
        // A rule has two forms if a link in it was resolved.
        found.sort();
        found.dedup();
        found
    }

    /// Warns if a denial covers everything that a pattern matches.
    fn denied(&self, glob: &Glob, reason: &CompiledReason) -> Option<String> {
        let deny = self.map.denies().iter().find(|deny| deny.glob.covers_all_of(glob))?;
        Some(format!("{}: has no effect, because all of it is denied ({})", reason.path, deny.reason.rule))
    }

    /// Warns if a longer pattern covers everything that a rule matches, such as `~/p/**` beside `~/p/k`, and grants what a
    /// denial withholds, or less than the rule does.
    fn overruled(&self, rule: &CompiledPattern) -> Option<String> {
        let mut longer = self.map.rules().iter().take_while(|other| other.glob.length() > rule.glob.length());
        let other = longer.find(|other| other.glob.covers_all_of(&rule.glob))?;
        let (written, granted) = (rule.rights, other.rights);
        let is_opened = written == Rights::NONE && granted != Rights::NONE;
        let is_narrowed = granted.r < written.r || granted.w < written.w || granted.x < written.x;
        if !is_opened && !is_narrowed {
            return None;
        }
        Some(format!(
            "{}: has no effect, because {} covers all of it, and the longer pattern counts",
            rule.reason.path, other.reason.path
        ))
    }

    /// Warns if persistence withholds `w` from everything that a rule matches.
    fn unwritable(&self, glob: &Glob, reason: &CompiledReason) -> Option<String> {
        let entry = self.map.protected().all_of(glob).filter(|entry| entry.rights.w == Grant::No)?;
        Some(format!("{}: grants no w, because {} denies it", reason.path, entry.reason.path))
    }
}
