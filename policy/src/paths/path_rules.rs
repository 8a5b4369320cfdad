//! The compiled file map: which path grants what, and the reason.

use std::borrow::Cow;

use super::bounds::RightsBelow;
use super::ceilings::Ceilings;
use super::earlier_runs::{EarlierRuns, WritablePlace};
use super::entry::{CompiledPattern, Match};
use super::glob::Glob;
use super::index::Index;
use super::normalize;
use super::permission::{Grant, Rights};
use super::persistence::{LinkedSet, ProtectedPaths, Set};
use super::saved_rules::Answers;
use crate::request::Site;
use crate::verdict::{CompiledReason, Source};

/// The map: denials, then the longest rule, then the base, then the default. `answers` then grant what the result asks
/// for. Finally project files take away, and persistence withholds `w`.
#[derive(Clone, Debug)]
pub(crate) struct PathRules {
    denies: Vec<CompiledPattern>,
    /// The longest pattern first.
    rules: Vec<CompiledPattern>,
    base: Vec<CompiledPattern>,
    /// Places that may not be written, whatever grants it.
    protected: ProtectedPaths,
    /// The rights that the files of projects leave, whatever grants more.
    ceilings: Vec<Ceilings>,
    /// The index of the four lists above, in this order.
    index: Index,
    /// If misses are asked about, a bit that the default withholds is already `Ask` here.
    default: Rights,
    answers: Answers,
    /// Where a denial is not worth a line, nor a question.
    quiet: Vec<CompiledPattern>,
    default_reason: CompiledReason,
    /// The reason for a path that is not real, where nothing is granted.
    no_path: CompiledReason,
    /// Where earlier runs could write.
    earlier_runs: EarlierRuns,
    /// The reason to ask again about a program or library that a saved answer allows, because it may have changed.
    outdated_answer: CompiledReason,
}

impl PathRules {
    /// Returns the reason given where nothing covers a path.
    pub(crate) fn default_reason(&self) -> &CompiledReason {
        &self.default_reason
    }

    pub(crate) fn new(
        denies: Vec<CompiledPattern>,
        rules: Vec<CompiledPattern>,
        base: Vec<CompiledPattern>,
        default: Rights,
        default_reason: CompiledReason,
    ) -> PathRules {
        let no_path = CompiledReason {
            source: Source::Builtin,
            path: "builtin".to_owned(),
            rule: "builtin: not a real path".to_owned(),
            text: "a file without a real path cannot be covered by a rule".to_owned(),
        };
        let outdated_answer = CompiledReason {
            source: Source::Builtin,
            path: "builtin".to_owned(),
            rule: "builtin: a guarded run could have changed the file since the answer was saved".to_owned(),
            text: "the saved answer is ignored: a guarded run could have changed the file since".to_owned(),
        };
        let map = PathRules {
            denies,
            rules: Vec::new(),
            base,
            protected: ProtectedPaths::default(),
            ceilings: Vec::new(),
            index: Index::default(),
            default,
            answers: Answers::default(),
            quiet: Vec::new(),
            default_reason,
            no_path,
            earlier_runs: EarlierRuns::default(),
            outdated_answer,
        };
        map.with_rules(rules)
    }

    /// Returns the map with these rules.
    pub(crate) fn with_rules(mut self, mut rules: Vec<CompiledPattern>) -> PathRules {
        rules.sort_by_key(|e| std::cmp::Reverse(e.glob.length()));
        self.rules = rules;
        self.indexed()
    }

    /// Returns the map with these protected places.
    pub(crate) fn with_persistence(self, protected: ProtectedPaths) -> PathRules {
        PathRules { protected, ..self }.indexed()
    }

    fn indexed(mut self) -> PathRules {
        let all = self.denies.iter().chain(&self.rules).chain(&self.base).chain(self.protected.entries());
        self.index = Index::new(all.map(|e| &e.glob));
        self
    }

    /// The patterns that deny whatever a rule grants.
    pub(crate) fn denies(&self) -> &[CompiledPattern] {
        &self.denies
    }

    /// The rules, the longest pattern first.
    pub(crate) fn rules(&self) -> &[CompiledPattern] {
        &self.rules
    }

    /// The rules of the built-in policy, for what no rule covers.
    pub(crate) fn base(&self) -> &[CompiledPattern] {
        &self.base
    }

    /// The places that may not be written, whatever grants it.
    pub(crate) fn protected(&self) -> &ProtectedPaths {
        &self.protected
    }

    /// The rights that the files of projects leave.
    pub(crate) fn ceilings(&self) -> &[Ceilings] {
        &self.ceilings
    }

    /// The rights where no pattern applies.
    pub(crate) fn default(&self) -> Rights {
        self.default
    }

    /// The saved answers.
    pub(crate) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The patterns whose denials are not worth a line.
    pub(crate) fn quiet(&self) -> &[CompiledPattern] {
        &self.quiet
    }

    /// Where earlier runs could write.
    pub(crate) fn earlier_runs(&self) -> &EarlierRuns {
        &self.earlier_runs
    }

    /// Returns the map with these ceilings.
    pub(crate) fn with_ceilings(self, ceilings: Vec<Ceilings>) -> PathRules {
        PathRules { ceilings, ..self }
    }

    /// Returns the map without project files and persistence.
    pub(crate) fn without_ceilings(&self) -> PathRules {
        self.clone().with_ceilings(Vec::new()).with_persistence(ProtectedPaths::default())
    }

    /// Returns the map with these saved answers.
    pub(crate) fn with_answers(self, answers: Answers) -> PathRules {
        PathRules { answers, ..self }
    }

    /// Returns the map for a host with these earlier runs.
    pub(crate) fn with_earlier_runs(self, earlier_runs: EarlierRuns) -> PathRules {
        PathRules { earlier_runs, ..self }
    }

    /// Adds places where earlier runs could write.
    pub(crate) fn add_written(&mut self, places: impl IntoIterator<Item = impl Into<WritablePlace>>) {
        self.earlier_runs.extend(places);
    }

    /// Returns the map with these quiet patterns.
    pub(crate) fn with_quiet(self, quiet: Vec<CompiledPattern>) -> PathRules {
        PathRules { quiet, ..self }
    }

    /// Returns the reason for which a real path is quiet.
    pub(crate) fn quiet_reason(&self, path: &[u8]) -> Option<&CompiledReason> {
        self.quiet.iter().find(|entry| entry.glob.covers(path)).map(|entry| &*entry.reason)
    }

    /// Returns the map without the denials for which `skip` is true.
    pub(crate) fn without(&self, skip: impl Fn(&CompiledReason) -> bool) -> PathRules {
        let denies = self.denies.iter().filter(|entry| !skip(&entry.reason)).cloned().collect();
        PathRules { denies, ..self.clone() }.indexed()
    }

    /// Finds the rights of a real path, if nothing is known about the directories around it.
    pub(crate) fn find(&self, path: &[u8]) -> Match<'_> {
        self.find_at(path, None)
    }

    /// Finds the rights of a real path, if `site` is known about the directories around it.
    pub(crate) fn find_at(&self, path: &[u8], site: Option<Site>) -> Match<'_> {
        let mut found = self.find_listed(path, site == Some(Site::GitLocked));
        if found.rights.w != Grant::No
            && let Some((w, reason)) = self.kept_by_name(path, site)
        {
            found.keep_from_writing(w, reason);
        }
        found
    }

    /// Returns what the guard's own name or a shape leaves of `w`, and the reason.
    fn kept_by_name(&self, path: &[u8], site: Option<Site>) -> Option<(Grant, &CompiledReason)> {
        if let Some(reason) = self.protected.replacement(path) {
            return Some((Grant::No, reason));
        }
        let shapes = self.protected.shapes();
        match site {
            None => shapes.first(path),
            Some(Site::Repository) => shapes.reason(Set::Git).map(|reason| (Grant::No, reason)),
            Some(Site::Linked(LinkedSet(set))) => shapes.reason(set).map(|reason| (Grant::No, reason)),
            Some(Site::Configured(LinkedSet(set))) => {
                let w = if shapes.asks(set) { Grant::Ask } else { Grant::No };
                shapes.reason(set).map(|reason| (w, reason))
            }
            Some(Site::Own | Site::GitLocked) => None,
        }
    }

    /// Returns whether persistence keeps a real path from being written, even if a rule or a denial does so, too.
    pub(crate) fn is_kept(&self, path: &[u8], site: Option<Site>) -> bool {
        self.keeping(path, site).is_some()
    }

    /// Returns the reason for which persistence keeps a real path from being written.
    pub(crate) fn keeping(&self, path: &[u8], site: Option<Site>) -> Option<&CompiledReason> {
        let is_let_through = |entry: &CompiledPattern| {
            site == Some(Site::GitLocked) && self.protected.is_git_config(entry, path)
        };
        let covers = |entry: &CompiledPattern| entry.glob.covers(path) && !is_let_through(entry);
        let listed =
            || self.protected.entries().iter().find(|entry| covers(entry)).map(|entry| &*entry.reason);
        self.kept_by_name(path, site).map(|(_, reason)| reason).or_else(listed)
    }

    /// Finds what a real path grants, by everything that is listed as a pattern. With `is_git_config`, a repository's
    /// configuration is not protected for being one.
    fn find_listed(&self, path: &[u8], is_git_config: bool) -> Match<'_> {
        if !is_real(path) {
            return Match::new(Rights::NONE, &self.no_path);
        }
        let (denials, rules) = (self.denies.len(), self.denies.len() + self.rules.len());
        let bases = rules + self.base.len();
        let mut protecting: Option<&CompiledPattern> = None;
        let mut denied: Option<&CompiledReason> = None;
        let mut longest: Option<(usize, Match<'_>)> = None;
        // Where no rule applies: every bit that some entry of the base grants.
        let mut base = Match::new(self.default, &self.default_reason);
        self.index.candidates(path, |i| {
            if i < denials {
                let entry = &self.denies[i];
                denied = entry.glob.covers(path).then_some(&entry.reason);
            } else if i < rules {
                let entry = &self.rules[i - denials];
                let length = entry.glob.length();
                match &mut longest {
                    Some((longest, _)) if length < *longest => {}
                    _ if !entry.glob.covers(path) => {}
                    // Of several equally long patterns, all must grant.
                    Some((longest, found)) if length == *longest => found.meet(entry),
                    _ => longest = Some((length, Match::new(entry.rights, &entry.reason))),
                }
            } else if i >= bases {
                let entry = &self.protected.entries()[i - bases];
                let is_let_through = is_git_config && self.protected.is_git_config(entry, path);
                // Of several protected places, one that denies counts before one that asks.
                let may_count = protecting.is_none_or(|other| entry.rights.w < other.rights.w);
                if may_count && !is_let_through && entry.glob.covers(path) {
                    protecting = Some(entry);
                }
            } else if longest.is_none() {
                let entry = &self.base[i - rules];
                if !entry.rights.within(base.rights) && entry.glob.covers(path) {
                    base.join(entry);
                }
            }
            denied.is_none()
        });
        let mut found = match (denied, longest) {
            (Some(reason), _) => return Match::new(Rights::NONE, reason),
            (None, Some((_, found))) => found,
            (None, None) => base,
        };
        self.answers.answer(path, &mut found);
        // The following only prevents writing: it does not make existing files trustworthy.
        found.granted_w = found.rights.w;
        if !self.ceilings.is_empty() {
            self.ceilings.iter().for_each(|ceilings| ceilings.lower(path, &mut found));
            self.answers.answer(path, &mut found);
        }
        if let Some(entry) = protecting {
            found.keep_from_writing(entry.rights.w, &entry.reason);
        }
        found
    }

    /// Returns the entry of `deny` that covers a path.
    pub(crate) fn denial(&self, path: &[u8]) -> Option<&CompiledReason> {
        self.denies.iter().find(|entry| entry.glob.covers(path)).map(|entry| &*entry.reason)
    }

    /// Returns why something strictly below `dir` is protected, if it is named by literal directories. Ignores places for
    /// which `skip` is true.
    pub(crate) fn kept_below(&self, dir: &[u8], skip: impl Fn(&Glob) -> bool) -> Option<&CompiledReason> {
        let is_below = |literal: &[u8]| {
            literal.strip_prefix(dir).is_some_and(|rest| rest.len() > 1 && rest.starts_with(b"/"))
        };
        let kept = self.protected.entries().iter();
        kept.filter(|entry| is_below(entry.glob.literal()) && !skip(&entry.glob))
            .map(|entry| &*entry.reason)
            .next()
    }

    /// Finds the rights of a program. Its path is as written, if the kernel has not resolved it. A program that an earlier
    /// run could write counts as one that the tree may write, and no saved answer starts it.
    pub(crate) fn find_program(&self, path: &[u8]) -> Match<'_> {
        let path = if is_real(path) { Cow::Borrowed(path) } else { Cow::Owned(normalize::posix(path)) };
        let mut found = self.find(&path);
        // What persistence protects, it protects under each policy. But each run has a PATH of its own.
        let is_kept = || self.keeping(&path, None).is_some_and(|by| !Set::Path.is_named_by(&by.path));
        if self.earlier_runs.may_write(&path) && !is_kept() {
            found.count_as_the_trees();
        }
        if found.is_the_trees() {
            found.ask_again(&self.outdated_answer);
        }
        found
    }

    /// Finds the rights of a file that is mapped for execution. What persistence withholds does not count. A saved answer does
    /// not let a library be mapped that can change without a question ([`PathRules::may_change_library`]).
    pub(crate) fn find_library(&self, path: &[u8]) -> Match<'_> {
        let mut found = self.find_at(path, Some(Site::Own));
        if found.x.source == Source::Saved && self.may_change_library(path, &found) {
            found.ask_again(&self.outdated_answer);
        }
        found
    }

    /// Returns whether the tree may write a library by the policy, or an earlier run could. A saved answer that lets the tree
    /// write it does not count: whoever gave that answer also answers about the library.
    pub(crate) fn may_change_library(&self, path: &[u8], found: &Match<'_>) -> bool {
        match found.is_the_trees() {
            true => found.w.source != Source::Saved,
            false => self.earlier_runs.may_write(path),
        }
    }

    /// Returns the whole map as a starting point for bounds.
    pub(crate) fn reach(&self) -> RightsBelow<'_> {
        RightsBelow {
            denies: self.denies.iter().collect(),
            rules: self.rules.iter().collect(),
            base: self.base.iter().collect(),
            protected: &self.protected,
            ceilings: &self.ceilings,
            answers: self.answers.iter().collect(),
            default: self.default,
        }
    }

    /// Returns a pattern that denies something strictly below `dir`, and names it by literal directories.
    pub(crate) fn denied_below(&self, dir: &[u8]) -> Option<&CompiledPattern> {
        let inside = [dir.strip_suffix(b"/").unwrap_or(dir), b"/"].concat();
        let is_below = |literal: &[u8]| literal.len() > inside.len() && literal.starts_with(&inside);
        let rules = self.rules.iter().filter(|rule| rule.rights == Rights::NONE);
        let of_projects = self.ceilings.iter().flat_map(Ceilings::denials);
        self.denies.iter().chain(rules).chain(of_projects).find(|entry| is_below(entry.glob.literal()))
    }

    /// Returns the rights that everything strictly below `dir` has at least. Ignores denials for which `skip`
    /// is true.
    pub(crate) fn least_below(&self, dir: &[u8], skip: impl Fn(&Glob) -> bool) -> Rights {
        self.reach().least(dir, skip)
    }

    /// Returns the rights that anything strictly below `dir` has at most.
    pub(crate) fn most_below(&self, dir: &[u8]) -> Rights {
        self.reach().most(dir)
    }
}

/// Returns true for an absolute path without components that a real path cannot have.
fn is_real(path: &[u8]) -> bool {
    let Some((b'/', mut rest)) = path.split_first() else { return false };
    while let Some(slash) = rest.iter().position(|b| *b == b'/') {
        if matches!(rest[..slash], [] | [b'.'] | [b'.', b'.']) {
            return false;
        }
        rest = &rest[slash + 1..];
    }
    !matches!(rest, [b'.'] | [b'.', b'.'])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Document, Host, Overrides, Policy};

    fn map(filesystem: Value, base: bool) -> PathRules {
        let document = json!({
            "version": 1, "exec": { "ask": "off" }, "permissions": { "filesystem": filesystem, "base": base, "persistence": false },
        });
        let document = Document::parse("guard.json", &document.to_string()).unwrap();
        let host = Host::bare(b"/home/u", b"/home/u");
        Policy::compile(&document, "main", &host, &Overrides::default()).unwrap().map
    }

    #[test]
    fn of_equally_long_patterns_both_must_grant() {
        let map = map(json!({ "rules": { "/a/b*": "rw-", "/a/*b": "r-x", "/**": "rwx" } }), false);
        let found = map.find(b"/a/bb");
        assert_eq!(found.rights.to_string(), "r--");
        // The reason of a bit is the pattern that withholds it, or the first one if both grant it.
        let paths = [found.r, found.w, found.x].map(|reason| reason.path.as_str());
        let (first, second) =
            ("permissions.filesystem.rules[\"/a/*b\"]", "permissions.filesystem.rules[\"/a/b*\"]");
        assert_eq!(paths, [first, first, second]);
        assert_eq!(map.find(b"/a/bc").rights.to_string(), "rw-");
    }

    #[test]
    fn the_base_adds_to_the_default() {
        let map = map(json!({ "default": "r--" }), true);
        let found = map.find(b"/dev/null");
        assert_eq!(found.rights.to_string(), "rw-");
        assert_eq!((&*found.r.path, &*found.w.path), ("permissions.filesystem.default", "permissions.base"));
    }

    #[test]
    fn what_lies_below_a_directory_has_bounds() {
        let plain = map(json!({ "rules": { "/a/**": "rw-", "/a/b/c": "r-x" }, "default": "r--" }), false);
        let bounds = |map: &PathRules, dir: &str| {
            let dir = dir.as_bytes();
            (map.least_below(dir, |_| false).to_string(), map.most_below(dir).to_string())
        };
        let expected = |least: &str, most: &str| (least.to_owned(), most.to_owned());
        assert_eq!(bounds(&plain, "/a"), expected("r--", "rwx"));
        assert_eq!(bounds(&plain, "/a/x"), expected("rw-", "rw-"));
        assert_eq!(bounds(&plain, "/z"), expected("r--", "r--"));
        assert_eq!(bounds(&plain, "/"), expected("r--", "rwx"));
        // The base counts where no rule decides everything.
        let based = map(json!({ "default": "r--" }), true);
        assert_eq!(bounds(&based, "/dev/pts"), expected("rw-", "rw-"));
        assert_eq!(bounds(&based, "/dev"), expected("r--", "rw-"));
        assert_eq!(bounds(&based, "/usr/share/terminfo"), expected("r--", "r--"));
        assert_eq!(bounds(&based, "/srv"), expected("r--", "r--"));
        let covered = map(json!({ "rules": { "/dev/**": "r--" } }), true);
        assert_eq!(bounds(&covered, "/dev/pts"), expected("r--", "r--"));
        // A denial of something lowers the lower bound, one of everything also the upper.
        let denied = map(json!({ "rules": { "/**": "rwx" }, "deny": ["/a/b", "/c/**", "**/.env"] }), false);
        assert_eq!(bounds(&denied, "/a"), expected("---", "rwx"));
        assert_eq!(bounds(&denied, "/c"), expected("---", "---"));
        assert_eq!(denied.least_below(b"/d", Glob::is_position_free), Rights::ALL);
    }

    #[test]
    fn only_real_paths_are_looked_up() {
        for path in ["/", "/a", "/a/b", "/a/.b", "/a/..b", "/...", "/a/"] {
            assert!(is_real(path.as_bytes()), "{path}");
        }
        for path in ["", "a", "memfd:x", "/a/../b", "/..", "/a/.", "/./a", "//a", "/a//b"] {
            assert!(!is_real(path.as_bytes()), "{path}");
        }
    }
}
