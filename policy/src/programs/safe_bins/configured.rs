//! The safe bins of a policy: which names, in which files, with which profiles.

use std::collections::BTreeMap;

use super::{DEFAULT, Profile, TRUSTED_DIRS, is_interpreter, is_safe};
use crate::config::document::SafeBinSection;
use crate::config::layers::Layer;
use crate::paths::expansion::{Paths, expand_home, show};
use crate::programs::name::basename;
use crate::verdict::CompiledReason;
use crate::{Exec, Source};

#[derive(Clone, Debug)]
struct SafeBin {
    /// The files of this safe bin: those in the trusted directories, and targets of links there, if a target has the same
    /// name as the link.
    paths: Vec<Vec<u8>>,
    profile: Profile,
    reason: CompiledReason,
}

/// The safe bins of a policy, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SafeBins {
    bins: BTreeMap<Vec<u8>, SafeBin>,
}

impl SafeBins {
    /// Compiles the safe bins of the first section that has a list, else the default ones. Also returns warnings.
    pub(crate) fn compile(layers: &[Layer<'_>], paths: &Paths<'_>) -> (SafeBins, Vec<String>) {
        let sections: Vec<(&Layer<'_>, &SafeBinSection)> =
            layers.iter().filter_map(|layer| Some((layer, layer.safe_bins?))).collect();
        let list = sections.iter().find_map(|(layer, section)| Some((*layer, section.names.clone()?)));
        let (source, place, names) = match list {
            Some((layer, names)) => (layer.source, format!("{}exec.safeBins", layer.prefix), names),
            None => (Source::Default, "exec.safeBins".to_owned(), DEFAULT.map(str::to_owned).to_vec()),
        };
        let dirs = sections.iter().find_map(|(_, section)| section.trusted_dirs.clone());
        let dirs: Vec<_> = dirs
            .unwrap_or_else(|| TRUSTED_DIRS.map(str::to_owned).to_vec())
            .iter()
            .map(|dir| expand_home(dir.trim_end_matches('/'), paths.home))
            .map(|dir| [dir.literal, dir.pattern.into_bytes()].concat())
            .collect();
        let (mut safe, mut warnings) = (SafeBins::default(), Vec::new());
        for name in names.iter().map(|name| name.trim().to_ascii_lowercase()) {
            let custom = sections.iter().find_map(|(_, section)| section.profiles.get(&name).cloned());
            let profile = custom.or_else(|| Profile::builtin(name.as_bytes()));
            let Some(profile) = profile.filter(|_| !is_interpreter(name.as_bytes())) else {
                let text = if is_interpreter(name.as_bytes()) {
                    "runs programs from its arguments and is never safe"
                } else {
                    "has no profile in exec.safeBinProfiles and is never safe"
                };
                warnings.push(format!("{place}: \"{name}\" {text}"));
                continue;
            };
            let reason = CompiledReason {
                source,
                path: place.clone(),
                rule: format!("{place} \"{name}\""),
                text: format!("{name} is a safe bin, and its arguments make it read only standard input"),
            };
            let files = dirs.iter().flat_map(|dir| files(dir, name.as_bytes(), paths)).collect();
            safe.bins.insert(name.into_bytes(), SafeBin { paths: files, profile, reason });
        }
        (safe, warnings)
    }

    /// Removes the safe bins of other names.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&[u8]) -> bool) {
        self.bins.retain(|name, _| is_kept(name));
    }

    /// Returns every safe bin: its name, the files that count, and its reason.
    pub(crate) fn listing(&self) -> impl Iterator<Item = (String, &[Vec<u8>], &CompiledReason)> {
        self.bins.iter().map(|(name, bin)| (show(name), bin.paths.as_slice(), &bin.reason))
    }

    /// Returns whether a program named like a safe bin is one of its files; `None` if no safe bin has the
    /// name.
    pub(crate) fn is_in_place(&self, exec: &Exec<'_>) -> Option<bool> {
        let bin = self.bins.get(&basename(exec.path).to_ascii_lowercase())?;
        Some(bin.paths.iter().any(|path| path == exec.path))
    }

    /// Returns why this program may start as a safe bin, if it may.
    pub(crate) fn allow(&self, exec: &Exec<'_>) -> Option<&CompiledReason> {
        let bin = self.bins.get(&basename(exec.path).to_ascii_lowercase())?;
        let is_trusted = bin.paths.iter().any(|path| path == exec.path);
        let arguments = exec.argv.get(1..).unwrap_or_default();
        (is_trusted && is_safe(exec.path, &bin.profile, arguments)).then_some(&bin.reason)
    }
}

/// Returns the file of this name in a trusted directory and, if it has the same name, the target that it
/// links to.
fn files(dir: &[u8], name: &[u8], paths: &Paths<'_>) -> Vec<Vec<u8>> {
    let written = [dir, b"/", name].concat();
    let real = (paths.realpath)(&written).filter(|real| basename(real) == name);
    std::iter::once(written).chain(real).collect()
}
