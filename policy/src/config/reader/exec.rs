//! Reads `exec`, at the top level and in an agent.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;

use super::syntax::Reader;
use crate::config::document::{ExecSection, Mode, SafeBinSection, SkillBin, Skills};
use crate::environment::Inherit;
use crate::paths::expansion;
use crate::programs::safe_bins::Profile;
use crate::{Ask, Preset, Security};

pub(super) const EXEC: [&str; 17] = [
    "mode",
    "security",
    "ask",
    "askFallback",
    "timeoutMs",
    "runningNoticeMs",
    "strictInlineEval",
    "autoAllowSkills",
    "safeBins",
    "safeBinTrustedDirs",
    "safeBinProfiles",
    "skills",
    "carriers",
    "roots",
    "allowPtrace",
    "pathPrepend",
    "environment",
];
pub(super) const SKILLS: [&str; 1] = ["bins"];
pub(super) const SKILL_BIN: [&str; 2] = ["name", "resolvedPath"];
pub(super) const PROFILE: [&str; 5] =
    ["minPositional", "maxPositional", "allowedValueFlags", "allowedBooleanFlags", "deniedFlags"];

impl Reader<'_> {
    pub(super) fn mode(&mut self, name: &str, value: &Value<'_>, key: &str, mode: &mut Mode) -> bool {
        match name {
            "mode" => mode.preset = self.word(value, key, &Preset::NAMES, Preset::from_name),
            "security" => mode.security = self.word(value, key, &Security::NAMES, Security::from_name),
            "ask" => mode.ask = self.word(value, key, &Ask::NAMES, Ask::from_name),
            "askFallback" => mode.ask_fallback = self.word(value, key, &Security::NAMES, Security::from_name),
            "strictInlineEval" => mode.strict_inline_eval = self.boolean(value, key),
            "autoAllowSkills" => mode.auto_allow_skills = self.boolean(value, key),
            _ => return false,
        }
        true
    }

    pub(super) fn safe_bins(
        &mut self,
        name: &str,
        value: &Value<'_>,
        key: &str,
        section: &mut SafeBinSection,
    ) -> bool {
        match name {
            "safeBins" => section.names = self.strings(value, key, program_problem),
            "safeBinTrustedDirs" => section.trusted_dirs = self.strings(value, key, root_problem),
            "safeBinProfiles" => section.profiles = self.profiles(value, key),
            _ => return false,
        }
        true
    }

    fn milliseconds(&mut self, value: &Value<'_>, key: &str) -> Option<u64> {
        let number = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|&ms| ms > 0),
            _ => None,
        };
        if number.is_none() {
            self.wrong(value, key, "must be a whole number of milliseconds above 0");
        }
        number
    }

    pub(super) fn exec(&mut self, value: &Value<'_>, key: &str) -> ExecSection {
        let mut exec = ExecSection::default();
        for (name, key, property) in self.object(value, key, Some(&EXEC)) {
            let value = &property.value;
            if self.mode(&name, value, &key, &mut exec.mode)
                || self.safe_bins(&name, value, &key, &mut exec.safe_bins)
            {
                continue;
            }
            match name.as_str() {
                "timeoutMs" => exec.timeout_ms = self.milliseconds(value, &key),
                "runningNoticeMs" => exec.running_notice_ms = self.milliseconds(value, &key),
                "carriers" => exec.carriers = self.strings(value, &key, program_problem),
                "roots" => exec.roots = self.strings(value, &key, root_problem),
                "allowPtrace" => exec.allow_ptrace = self.boolean(value, &key),
                "skills" => exec.skills = self.skills(value, &key),
                "pathPrepend" => exec.path_prepend = self.strings(value, &key, path_problem),
                _ => exec.environment = self.word(value, &key, &Inherit::NAMES, Inherit::from_name),
            }
        }
        exec
    }

    fn skills(&mut self, value: &Value<'_>, key: &str) -> Skills {
        let mut skills = Skills::default();
        for (_, key, property) in self.object(value, key, Some(&SKILLS)) {
            let Value::Array(array) = &property.value else {
                self.wrong(&property.value, &key, "must be a list of { \"name\": …, \"resolvedPath\": … }");
                continue;
            };
            for (i, element) in array.elements.iter().enumerate() {
                skills.bins.extend(self.skill_bin(element, &format!("{key}[{i}]")));
            }
        }
        skills
    }

    fn skill_bin(&mut self, value: &Value<'_>, key: &str) -> Option<SkillBin> {
        let before = self.problems.len();
        let mut bin = SkillBin { name: String::new(), resolved_path: String::new() };
        for (name, key, property) in self.object(value, key, Some(&SKILL_BIN)) {
            let text = self.string(&property.value, &key)?;
            let (field, problem) = match name.as_str() {
                "name" => (&mut bin.name, program_problem(&text)),
                _ => (&mut bin.resolved_path, root_problem(&text)),
            };
            *field = text;
            if let Some(message) = problem {
                self.wrong(&property.value, &key, message);
            }
        }
        if self.problems.len() == before && (bin.name.is_empty() || bin.resolved_path.is_empty()) {
            self.wrong(value, key, "needs both \"name\" and \"resolvedPath\"");
        }
        Some(bin)
    }

    fn profiles(&mut self, value: &Value<'_>, key: &str) -> BTreeMap<String, Profile> {
        let mut profiles = BTreeMap::new();
        for (name, key, property) in self.object(value, key, None) {
            if let Some(message) = program_problem(&name) {
                self.at(property.start(), &key, message, None);
            }
            let mut profile = Profile::default();
            for (name, key, property) in self.object(&property.value, &key, Some(&PROFILE)) {
                let value = &property.value;
                let flags = |reader: &mut Self| {
                    reader.strings(value, &key, flag_problem).unwrap_or_default().into_iter().collect()
                };
                match name.as_str() {
                    "minPositional" => profile.min_positional = self.count(value, &key).unwrap_or(0),
                    "maxPositional" => profile.max_positional = self.count(value, &key),
                    "allowedValueFlags" => profile.value_flags = flags(self),
                    "allowedBooleanFlags" => profile.boolean_flags = flags(self),
                    _ => profile.denied_flags = flags(self),
                }
            }
            profiles.insert(name, profile);
        }
        profiles
    }
}

fn program_problem(name: &str) -> Option<String> {
    (name.trim().is_empty() || name.contains('/'))
        .then(|| "must be a program's name, without a path".to_owned())
}

fn flag_problem(flag: &str) -> Option<String> {
    let is_flag = match flag.strip_prefix("--") {
        Some(long) => !long.is_empty() && !long.contains('='),
        None => flag.starts_with('-') && flag.len() == 2,
    };
    (!is_flag).then(|| "a flag is --name or -x".to_owned())
}

pub(super) fn root_problem(dir: &str) -> Option<String> {
    if dir.contains(['*', '?']) || !dir.starts_with(['/', '~']) {
        return Some("must be a path that starts with / or ~/, without wildcards".to_owned());
    }
    expansion::problem(dir)
}

fn path_problem(dir: &str) -> Option<String> {
    root_problem(dir).or_else(|| dir.contains(':').then(|| "a directory of PATH has no colon".to_owned()))
}
