//! What the own files of projects mean for a policy, apart from its map: modes are in `modes`, ceilings in `builder`.

use crate::config::project::{ProjectFile, ProjectTrust};
use crate::network::Network;
use crate::paths::expansion::{Paths, show};
use crate::paths::path_rules::PathRules;
use crate::programs::Programs;
use crate::programs::allowlist::CompiledEntry;
use crate::verdict::CompiledReason;
use crate::{Ask, Bits, Grant, Host, Policy, Security, Source};

/// Something that a project's file would allow beyond the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectGrant {
    /// The key in the file.
    pub key: String,
    /// The pattern of files or programs.
    pub pattern: String,
    /// The bits that the file allows and that the policy, without the file, asks for. `None` for an entry of an
    /// allowlist.
    pub bits: Option<Bits>,
}

impl ProjectFile {
    /// The entries of the file's allowlists, and warnings.
    fn entries(&self, agent: &str, paths: &Paths<'_>, map: &PathRules) -> (Vec<CompiledEntry>, Vec<String>) {
        let paths = Paths { workspace: Some(&self.directory), ..*paths };
        let (mut entries, mut warnings) = (Vec::new(), Vec::new());
        for layer in self.layers(agent) {
            for (i, entry) in layer.agent.map_or(&[][..], |agent| &agent.allowlist).iter().enumerate() {
                let section = format!("{}allowlist", layer.prefix);
                let reason = CompiledReason {
                    source: Source::Project,
                    path: self.key_path(&format!("{section}[{i}]")),
                    rule: self.key_path(&format!("{section} \"{}\"", entry.pattern)),
                    text: format!(
                        "the allowlist of the project's own {} has \"{}\"",
                        Self::PLACE,
                        entry.pattern
                    ),
                };
                let compiled = CompiledEntry::compile(entry, &paths, map, reason);
                entries.extend(compiled.entry);
                warnings.extend(compiled.warning);
            }
        }
        (entries, warnings)
    }

    /// What the file would allow beyond a policy that ignores it. `map` is the policy's map without ceilings.
    fn grants(&self, agent: &str, home: &[u8], map: &PathRules, programs: &Programs) -> Vec<ProjectGrant> {
        let mut grants = Vec::new();
        let asks_for_programs = programs.security == Security::Allowlist && programs.ask != Ask::Off;
        self.each_rule(agent, home, |expanded, permission, reason| {
            let glob = expanded.glob(true);
            let asked = match glob.is_literal() {
                true => Bits::from_rights(map.find(glob.literal()).rights, |grant| grant == Grant::Ask),
                false => map.reach().asked(directory(glob.literal())),
            };
            let given = Bits::from_rights(permission.0, |grant| grant == Grant::Yes);
            if let (Some(asked), Some(given)) = (asked, given)
                && let Some(bits) = asked.intersection(given)
            {
                grants.push(ProjectGrant { key: reason.path, pattern: glob.text(), bits: Some(bits) });
            }
        });
        for layer in self.layers(agent).iter().filter(|_| asks_for_programs) {
            for (i, entry) in layer.agent.map_or(&[][..], |agent| &agent.allowlist).iter().enumerate() {
                let key = self.key_path(&format!("{}allowlist[{i}]", layer.prefix));
                grants.push(ProjectGrant { key, pattern: entry.pattern.clone(), bits: None });
            }
        }
        grants
    }

    /// Returns a line about what does not count. `None` if everything counts.
    fn warning(&self, grants: &[ProjectGrant]) -> Option<String> {
        let path = show(&self.path());
        let what = match (&self.trust, grants) {
            (ProjectTrust::Trusted, _) | (_, []) => return None,
            (ProjectTrust::Untrusted, _) => "you have not trusted it".to_owned(),
            (ProjectTrust::Changed, _) => "it has changed since you trusted it".to_owned(),
            (ProjectTrust::Never(why), _) => {
                return Some(format!(
                    "{path}: what it allows is ignored, because {why}; what it denies holds"
                ));
            }
        };
        let todo = "run `openclaw-guard trust` to see it and to let it count";
        Some(format!("{path}: what it allows is ignored, because {what}; what it denies holds; {todo}"))
    }
}

/// Returns the directory that contains a path.
fn directory(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        None | Some(0) => b"/",
        Some(end) => &path[..end],
    }
}

/// Returns the entries of the files that are trusted, and warnings. If the policy never asks, no entry counts: a file only
/// answers questions.
pub(super) fn entries(
    projects: &[ProjectFile],
    agent: &str,
    ask: Ask,
    paths: &Paths<'_>,
    map: &PathRules,
) -> (Vec<CompiledEntry>, Vec<String>) {
    let is_counted = |project: &&ProjectFile| project.trust == ProjectTrust::Trusted && ask != Ask::Off;
    let trusted = projects.iter().filter(is_counted);
    let (entries, warnings): (Vec<_>, Vec<_>) =
        trusted.map(|project| project.entries(agent, paths, map)).unzip();
    (entries.concat(), warnings.concat())
}

/// Removes the carriers, safe bins and connections that a file does not leave.
pub(super) fn restrict(projects: &[ProjectFile], programs: &mut Programs, network: &mut Network) {
    for project in projects {
        if let Some(carriers) = &project.document.exec.carriers {
            programs.carriers.retain(|name| carriers.contains(name));
        }
        if let Some(names) = &project.document.exec.safe_bins.names {
            let names: Vec<_> = names.iter().map(|name| name.trim().to_ascii_lowercase()).collect();
            programs.safe_bins.retain(|name| names.iter().any(|other| other.as_bytes() == name));
        }
        network.restrict(&project.document.network.connect, &project.key_path("network.connect"));
    }
}

/// Returns a line for each file of which something does not count.
pub(super) fn warnings(host: &Host<'_>, agent: &str, map: &PathRules, programs: &Programs) -> Vec<String> {
    let untrusted = host.projects.iter().filter(|project| project.trust != ProjectTrust::Trusted);
    let lines = untrusted.filter_map(|project| {
        let grants = project.grants(agent, host.home, &map.without_ceilings(), programs);
        project.warning(&grants)
    });
    lines.collect()
}

impl Policy {
    /// What a project's file would allow beyond this policy, in which it is not trusted.
    pub fn granted_by(&self, project: &ProjectFile) -> Vec<ProjectGrant> {
        project.grants(&self.agent, &self.home, &self.map.without_ceilings(), &self.programs)
    }
}
