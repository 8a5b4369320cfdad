//! Collects denials, rules and base into a map.

use std::sync::Arc;

use super::builtin::minimal;
use super::enclosure::Enclosure;
use super::host::Host;
use crate::config::project::{ProjectFile, ProjectTrust};
use crate::paths::ceilings::Ceilings;
use crate::paths::earlier_runs::EarlierRuns;
use crate::paths::entry::CompiledPattern;
use crate::paths::expansion::{Expanded, Paths, expand, replaceable_link, show};
use crate::paths::path_rules::PathRules;
use crate::paths::persistence::ProtectedPaths;
use crate::paths::saved_rules::{Answers, SavedRule};
use crate::verdict::CompiledReason;
use crate::{Ask, Grant, OwnStore, Permission, Rights, Source};

/// A map under construction.
pub(crate) struct MapBuilder<'a> {
    pub(crate) paths: Paths<'a>,
    pub(crate) ask: Ask,
    pub(crate) warnings: Vec<String>,
    is_of_many_runs: bool,
    denies: Vec<CompiledPattern>,
    rules: Vec<CompiledPattern>,
    base: Vec<CompiledPattern>,
    quiet: Vec<CompiledPattern>,
    answers: Vec<SavedRule>,
    ceilings: Vec<Ceilings>,
    /// The sandbox that the tree runs in.
    enclosure: Option<&'a Enclosure>,
    /// Denials that cover the sandbox's own directory. They hold everywhere except in that directory.
    around: Vec<CompiledPattern>,
    protected: ProtectedPaths,
    /// The links on the way to what is denied, each with the reason of the denial.
    ways: Vec<(Vec<u8>, Arc<CompiledReason>)>,
    /// Rules whose leading directories contain links. The resolved form is granted only if the tree cannot change the
    /// links.
    redirected: Vec<(Expanded, Expanded, Rights, CompiledReason)>,
    earlier_runs: EarlierRuns,
}

impl<'a> MapBuilder<'a> {
    pub(crate) fn new(host: &Host<'a>, ask: Ask) -> MapBuilder<'a> {
        MapBuilder {
            paths: host.paths(),
            earlier_runs: host.earlier_runs.clone(),
            ask,
            warnings: Vec::new(),
            is_of_many_runs: false,
            denies: Vec::new(),
            rules: Vec::new(),
            base: Vec::new(),
            quiet: Vec::new(),
            answers: Vec::new(),
            ceilings: Vec::new(),
            enclosure: None,
            around: Vec::new(),
            protected: ProtectedPaths::default(),
            ways: Vec::new(),
            redirected: Vec::new(),
        }
    }

    /// Replaces `?` by `-` if nobody may be asked.
    fn effective(&self, rights: Rights) -> Rights {
        if self.ask != Ask::Off {
            return rights;
        }
        let bit = |g| if g == Grant::Ask { Grant::No } else { g };
        Rights { r: bit(rights.r), w: bit(rights.w), x: bit(rights.x) }
    }

    /// Denies a pattern. A pattern without wildcards also denies everything below it, and is resolved to its end:
    /// an operator who names a directory or a link means what is there.
    pub(crate) fn deny(&mut self, expanded: &Expanded, reason: &CompiledReason) {
        let denied = self.denied(expanded, reason.clone());
        self.denies.extend(denied);
    }

    /// Makes the policy one for a sandbox, and adds the rule for the sandbox's own directory. Call this before adding denials.
    pub(crate) fn enclose(&mut self, enclosure: Option<&'a Enclosure>) {
        self.enclosure = enclosure;
        if let Some(enclosure) = enclosure {
            let (own, permission, reason) = enclosure.rule();
            self.rule(&own, permission, reason);
        }
    }

    /// Denies a pattern of the guard's own, as [`MapBuilder::deny`] does, except the own directory of a sandbox.
    pub(crate) fn deny_around(&mut self, expanded: &Expanded, reason: &CompiledReason) {
        let own = self.enclosure.map(|enclosure| &*enclosure.own);
        let covers = |entry: &CompiledPattern| own.is_some_and(|own| entry.glob.covers(own));
        let (around, denied): (Vec<_>, Vec<_>) =
            self.denied(expanded, reason.clone()).into_iter().partition(covers);
        self.around.extend(around);
        self.denies.extend(denied);
    }

    /// Returns the forms of a pattern that is denied.
    fn denied(&mut self, expanded: &Expanded, reason: CompiledReason) -> Vec<CompiledPattern> {
        let reason = Arc::new(reason);
        self.ways.extend(expanded.links(&self.paths).into_iter().map(|link| (link, Arc::clone(&reason))));
        self.withheld(expanded, &reason)
    }

    /// Makes everything quiet that [`MapBuilder::deny`] would deny for this pattern.
    pub(crate) fn quiet(&mut self, expanded: &Expanded, reason: CompiledReason) {
        let patterns = self.withheld(expanded, &Arc::new(reason));
        self.quiet.extend(patterns);
    }

    fn withheld(&self, expanded: &Expanded, reason: &Arc<CompiledReason>) -> Vec<CompiledPattern> {
        let real = expanded.resolved(&self.paths, true);
        let mut patterns = Vec::new();
        for form in [Some(expanded), real.as_ref()].into_iter().flatten() {
            let glob = form.glob(true);
            if glob.is_literal() {
                let below = Expanded {
                    pattern: format!("{}/**", form.pattern.trim_end_matches('/')),
                    literal: form.literal.strip_suffix(b"/").unwrap_or(&form.literal).to_vec(),
                };
                let glob = below.glob(true);
                patterns.push(CompiledPattern { glob, rights: Rights::NONE, reason: Arc::clone(reason) });
            }
            patterns.push(CompiledPattern { glob, rights: Rights::NONE, reason: Arc::clone(reason) });
        }
        patterns
    }

    /// Adds the files of projects: what they take away and, if they are trusted, what they allow. Nothing may change
    /// these files, whatever persistence protects. Must come after [`MapBuilder::persistence`].
    pub(crate) fn projects(&mut self, projects: &[ProjectFile], agent: &str) {
        let home = self.paths.home;
        for project in projects {
            let (mut always, mut rules) = (Vec::new(), Vec::new());
            project.denials(agent, home, |expanded, reason| always.extend(self.denied(expanded, reason)));
            project.each_rule(agent, home, |expanded, permission, reason| {
                let rights = self.effective(permission.0);
                let reason = Arc::new(reason);
                let links = if rights == Rights::NONE { expanded.links(&self.paths) } else { Vec::new() };
                self.ways.extend(links.into_iter().map(|link| (link, Arc::clone(&reason))));
                let entry = |form: &Expanded| CompiledPattern {
                    glob: form.glob(true),
                    rights,
                    reason: Arc::clone(&reason),
                };
                // The tree may have made the link. So the resolved form only tightens, and never loosens another rule.
                always.extend(expanded.resolved(&self.paths, false).as_ref().map(entry));
                rules.push(entry(expanded));
            });
            self.ceilings.push(Ceilings::new(always, rules));
            if project.trust == ProjectTrust::Trusted {
                self.answers.extend(project.answers(agent, home));
            }
            let file = project.path();
            let directory = file.strip_suffix(b"/guard.json").unwrap_or(&file).to_vec();
            self.protected.add(&directory, project.own_reason());
            self.protected.add(&file, project.own_reason());
        }
    }

    /// Keeps the policies of earlier runs from being written: the next run may use one of them again.
    pub(crate) fn former_policies(&mut self, policies: &[Vec<u8>]) {
        for policy in policies {
            let reason = CompiledReason {
                source: Source::Builtin,
                path: "builtin.policies".to_owned(),
                rule: "builtin: the policy of an earlier run".to_owned(),
                text: "it was the policy of an earlier run, and may be that of the next".to_owned(),
            };
            self.protected.add(policy, reason);
        }
    }

    pub(crate) fn rule(&mut self, expanded: &Expanded, permission: Permission, reason: CompiledReason) {
        let rights = self.effective(permission.0);
        if rights == Rights::NONE {
            let reason = Arc::new(reason.clone());
            self.ways.extend(expanded.links(&self.paths).into_iter().map(|link| (link, Arc::clone(&reason))));
        }
        if let Some(real) = expanded.resolved(&self.paths, false) {
            let text = format!("{} (here {}{})", reason.text, show(&real.literal), real.pattern);
            self.redirected.push((expanded.clone(), real, rights, CompiledReason { text, ..reason.clone() }));
        }
        self.rules.push(CompiledPattern { glob: expanded.glob(true), rights, reason: Arc::new(reason) });
    }

    /// Adds the built-in base.
    pub(crate) fn base(&mut self) {
        for (pattern, rights) in minimal::rules() {
            let reason = CompiledReason {
                source: Source::Builtin,
                path: "permissions.base".to_owned(),
                rule: "permissions.base".to_owned(),
                text: format!("the built-in base grants {rights} on \"{pattern}\""),
            };
            let rights = Permission::parse(rights).map_or(Rights::NONE, |p| p.0);
            self.base.push(CompiledPattern {
                glob: expand(&pattern, b"").glob(true),
                rights,
                reason: Arc::new(reason),
            });
        }
    }

    /// Adds the answers of the guard's own store. Must come before [`MapBuilder::finish`], since they let the
    /// tree write.
    pub(crate) fn answers(&mut self, store: &OwnStore<'_>, agent: &str) {
        let (answers, warnings) = store.answers(agent, self.paths.home, self.ask);
        self.answers.extend(answers);
        self.warnings.extend(warnings);
    }

    /// Sets the places that persistence protects.
    pub(crate) fn persistence(&mut self, protected: ProtectedPaths) {
        self.protected = protected;
    }

    /// Counts a link as replaceable also where writing is only asked about: with the built-in policy, a run in another
    /// directory may write there.
    pub(crate) fn of_many_runs(&mut self) {
        self.is_of_many_runs = true;
    }

    /// Returns the map and the warnings.
    pub(crate) fn finish(
        mut self,
        default: Permission,
        default_reason: CompiledReason,
    ) -> (PathRules, Vec<String>) {
        if let Some(enclosure) = self.enclosure {
            self.ceilings.extend([enclosure.around(std::mem::take(&mut self.around)), enclosure.ceiling()]);
        }
        // A bit that only the default withholds is a miss, and misses are asked about.
        let missed = |g| if g == Grant::No && self.ask != Ask::Off { Grant::Ask } else { g };
        let default = self.effective(default.0);
        let default = Rights { r: missed(default.r), w: missed(default.w), x: missed(default.x) };
        let map = PathRules::new(self.denies, self.rules.clone(), self.base, default, default_reason)
            .with_earlier_runs(self.earlier_runs)
            .with_quiet(self.quiet)
            .with_answers(Answers::new(self.answers));
        for (written, real, rights, reason) in self.redirected {
            let writable = |entry: &[u8]| {
                let found = map.find(entry);
                let is_asked_about = !found.is_protected() && !is_at_the_top(entry, self.paths.home);
                let is_written = found.is_the_trees() || map.earlier_runs().may_write(entry);
                is_written || self.is_of_many_runs && is_asked_about
            };
            // A rule that grants nothing may follow any link.
            let grants = rights != Rights::NONE;
            match replaceable_link(&written.leading_dir(), &self.paths, writable).filter(|_| grants) {
                None => self.rules.push(CompiledPattern {
                    glob: real.glob(true),
                    rights,
                    reason: Arc::new(reason),
                }),
                // Nobody can write a rule of the built-in policy in another way.
                Some(_) if reason.path.starts_with("builtin.rules") => {}
                Some(link) => self.warnings.push(format!(
                    "{}: {} is a symbolic link that the guarded tree may replace, so the rule does not \
                     follow it; name {}{} instead",
                    reason.path,
                    show(&link),
                    show(&real.literal),
                    real.pattern
                )),
            }
        }
        let map = map.with_rules(self.rules).with_ceilings(self.ceilings);
        // The next policy must resolve these links to the same paths. Files below them are judged by their real paths.
        for (link, reason) in self.ways {
            if map.find(&link).rights.w != Grant::No {
                self.protected.add_way(&link, &reason);
            }
        }
        (map.with_persistence(self.protected.sorted()), self.warnings)
    }
}

/// Returns whether a link lies where the built-in policy lets no run write, wherever the run was started: in `/` or in a home.
fn is_at_the_top(link: &[u8], home: &[u8]) -> bool {
    let end = link.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
    end == 0 || &link[..end] == home
}
