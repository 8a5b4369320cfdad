//! Lists every setting in force, with its source.

mod values;

use serde::Serialize;

use super::document::Document;
use super::layers::{Layer, layers};
use super::persistence::switched_off;
use crate::paths::ceilings::Ceilings;
use crate::paths::entry::CompiledPattern;
use crate::paths::expansion::{WORKSPACE, show, trim};
use crate::paths::persistence::Set;
use crate::paths::saved_rules::SavedRule;
use crate::verdict::CompiledReason;
use crate::{Permission, Policy, Source};

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// Modes and single values.
    Values,
    /// Programs that may start.
    Programs,
    /// The directories from which programs may start.
    Roots,
    /// Denials, which come before every rule.
    Denied,
    /// Paths where a denial is neither asked about nor printed.
    Quiet,
    /// Paths that may not be written, whatever the rules say.
    Persistence,
    /// Rules, the longest pattern first.
    Rules,
    /// What the files of projects leave at most.
    Projects,
    /// The built-in base.
    Base,
    /// The default for paths that no rule covers.
    Rest,
    /// Saved answers: they allow what the settings above would ask about.
    Saved,
}

/// One setting that is in force, or that was written and has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The section that it belongs to.
    pub section: Section,
    /// The name of the setting, such as `exec.ask`, or a pattern as it is compared.
    pub name: String,
    /// The value.
    pub value: String,
    /// Who set it.
    pub source: Source,
    /// The key that sets it, such as `agents.main.exec.ask`; empty if no file sets it.
    pub path: String,
    /// An explanation, if one is needed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Setting {
    fn new(
        section: Section,
        name: impl Into<String>,
        value: impl Into<String>,
        by: (Source, &str),
    ) -> Setting {
        let (source, path) = (by.0, by.1.to_owned());
        Setting { section, name: name.into(), value: value.into(), source, path, note: String::new() }
    }

    /// A value that only the top level of guard.json sets, under its own name.
    fn single(name: &str, value: String, is_given: bool) -> Setting {
        let by = if is_given { (Source::Global, name) } else { (Source::Default, "") };
        Setting::new(Section::Values, name, value, by)
    }

    fn noted(self, note: impl Into<String>) -> Setting {
        Setting { note: note.into(), ..self }
    }
}

impl Policy {
    /// All settings of this policy. `document` is the one that it was compiled from, if any.
    pub fn explain(&self, document: Option<&Document>) -> Vec<Setting> {
        let nothing = Document::default();
        let document = document.unwrap_or(&nothing);
        let mut settings = self.values(document);
        settings.extend(self.read_bound.as_ref().map(|bound| {
            let name = "permissions.filesystem.maxReadBytes";
            let setting =
                Setting::new(Section::Values, name, bound.bytes().to_string(), (bound.source(), bound.key()));
            setting.noted("files of the built-in base are not bounded")
        }));
        settings.extend(self.web());
        settings.extend(self.node_values(document));
        settings.extend(self.workspace_setting(document));
        settings.extend(self.started(document));
        let builtin = if document.exec.roots.is_some() { Source::Global } else { Source::Default };
        let root = |root: &Vec<u8>| Setting::new(Section::Roots, show(root), "x", (builtin, "exec.roots"));
        settings.extend(self.roots.iter().map(root));
        settings.extend(self.files(document));
        settings
    }

    /// What `${workspace}` stands for, if the document names it.
    fn workspace_setting(&self, document: &Document) -> Option<Setting> {
        let value = self.workspace().map_or_else(|| "nothing".to_owned(), show);
        let note = self.warnings.iter().find(|warning| warning.starts_with(WORKSPACE));
        let setting = Setting::new(Section::Values, WORKSPACE, value, (Source::Default, ""));
        document.names_workspace().then(|| setting.noted(note.map_or("", String::as_str)))
    }

    /// Programs that may start, apart from those that a file rule grants `x`.
    fn started(&self, document: &Document) -> Vec<Setting> {
        let programs = &self.programs;
        let of = |name: String, value: &str, reason: &CompiledReason| {
            Setting::new(Section::Programs, name, value, (reason.source, reason.path.as_str()))
        };
        let mut settings: Vec<Setting> = programs
            .carriers
            .iter()
            .map(|name| of(name.clone(), "carrier", &programs.reasons.carrier))
            .collect();
        settings.extend(programs.safe_bins.listing().map(|(name, paths, reason)| {
            let mut paths: Vec<_> = paths.iter().map(|path| show(path)).collect();
            paths.sort();
            paths.dedup();
            of(name, "safe bin", reason).noted(paths.join(", "))
        }));
        settings.extend(programs.skills.listing().map(|(forms, _, reason)| of(forms, "skill", reason)));
        settings.extend(
            programs
                .outside
                .listing()
                .map(|(forms, limit, reason)| of(forms, "entry outside", reason).noted(limit)),
        );
        let active: Vec<Setting> = programs
            .allowlist
            .listing()
            .map(|(forms, limit, reason)| of(forms, "entry", reason).noted(limit))
            .collect();
        let mut written = Vec::new();
        for layer in layers(document, self.extended.as_deref(), &self.agent) {
            for (i, entry) in layer.agent.map_or(&[][..], |agent| &agent.allowlist).iter().enumerate() {
                let path = format!("{}allowlist[{i}]", layer.prefix);
                if active.iter().any(|setting| setting.path == path) {
                    continue;
                }
                let about = |warning: &&String| warning.starts_with(&format!("{path}: "));
                let why = self.warnings.iter().find(about).map_or("", |warning| &warning[path.len() + 2..]);
                let inactive = Setting::new(
                    Section::Programs,
                    trim(&entry.pattern),
                    "inactive entry",
                    (layer.source, &path),
                );
                written.push(inactive.noted(why));
            }
        }
        settings.extend(active);
        settings.extend(written);
        settings
    }

    fn files(&self, document: &Document) -> Vec<Setting> {
        let map = &self.map;
        let of = |section: Section| {
            move |entry: &CompiledPattern| {
                let CompiledReason { source, path, text, .. } = &*entry.reason;
                let setting = Setting::new(
                    section,
                    entry.glob.text(),
                    entry.rights.to_string(),
                    (*source, path.as_str()),
                );
                // For a rule, name and value already show what it grants and where a link leads.
                if matches!(section, Section::Denied | Section::Quiet) {
                    setting.noted(text)
                } else {
                    setting
                }
            }
        };
        // A denied path is compiled to itself and to everything below it. List only the second, which covers the first.
        let is_covered = |entry: &CompiledPattern, list: &[CompiledPattern]| {
            let below = format!("{}/**", entry.glob.text().trim_end_matches('/'));
            list.iter().any(|other| other.reason.path == entry.reason.path && other.glob.text() == below)
        };
        let mut settings = Vec::new();
        for (section, list) in [(Section::Denied, map.denies()), (Section::Quiet, map.quiet())] {
            settings.extend(list.iter().filter(|entry| !is_covered(entry, list)).map(of(section)));
        }
        settings.extend(map.protected().entries().iter().map(|entry| {
            let CompiledReason { source, path, .. } = &*entry.reason;
            let set = path.strip_prefix("permissions.persistence.").unwrap_or(match path.as_str() {
                "builtin.policies" => "the policy of an earlier run",
                "builtin.project" => "the policy of a project",
                _ => "a link to what is denied",
            });
            Setting::new(Section::Persistence, entry.glob.text(), set, (*source, path.as_str()))
        }));
        settings.extend(map.protected().shapes().patterns().into_iter().map(|(shape, set, reason)| {
            Setting::new(Section::Persistence, &shape, set.as_str(), (reason.source, reason.path.as_str()))
        }));
        settings.extend(self.unprotected(document).into_iter().map(|(set, source, path)| {
            Setting::new(Section::Persistence, set.as_str(), "off", (source, path.as_str()))
        }));
        settings.extend(map.rules().iter().map(of(Section::Rules)));
        settings.extend(map.ceilings().iter().flat_map(Ceilings::entries).map(of(Section::Projects)));
        settings.extend(map.base().iter().map(of(Section::Base)));
        let rest = map.default_reason();
        let value = Permission(map.default()).to_string();
        settings.push(Setting::new(Section::Rest, "**", value, (rest.source, rest.path.as_str())));
        settings.extend(map.answers().iter().map(|SavedRule { glob, bits, reason }| {
            let by = (reason.source, reason.path.as_str());
            Setting::new(Section::Saved, glob.text(), bits.to_string(), by)
        }));
        settings.extend(self.network.saved_origins().map(|(origin, reason)| {
            let by = (reason.source, reason.path.as_str());
            Setting::new(Section::Saved, origin.to_string(), "reach", by)
        }));
        settings
    }

    /// The persistence sets that are switched off, with the source and key of each switch.
    fn unprotected(&self, document: &Document) -> Vec<(Set, Source, String)> {
        let layers = layers(document, self.extended.as_deref(), &self.agent);
        let off = |set| {
            let (source, path) = switched_off(layers.iter().map(Layer::persistence), set)?;
            Some((set, source, path))
        };
        Set::ALL.into_iter().filter_map(off).collect()
    }
}
