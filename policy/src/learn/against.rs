//! A proposal beside a policy that an operator has: what of it is missing there, and what they have said no to.
//!
//! What a rule or a denial of theirs withholds stays withheld: a rule that would grant it is not written, however much of
//! it is asked for.

use std::collections::BTreeSet;

use super::{LeftOut, Observation, Proposal, Session, Used, Why};
use crate::config::edit::{Draft, Scope};
use crate::paths::entry::CompiledPattern;
use crate::paths::glob::{Below, Glob};
use crate::paths::pattern::{expand, show};
use crate::{
    Access, Document, Exec, Grant, Outcome, Overrides, Permission, Policy, Problem, Request, Rights,
    Security, Source, Verdict, decide, matches_allowlist_pattern,
};

/// Something that is written into the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addition {
    /// A rule.
    Rule(String, Permission),
    /// A denial of a secret that a new rule would open.
    Deny(String),
    /// A program of the allowlist.
    Program(String),
}

/// Something that is not written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// What would have been added.
    pub wanted: String,
    /// Where the policy withholds it: `permissions.filesystem.deny["~/x"]`.
    pub by: String,
}

/// A policy with what is missing added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The new text; the old one where nothing is added.
    pub text: String,
    /// What is added.
    pub added: Vec<Addition>,
    /// What is not, because the operator has said no.
    pub conflicts: Vec<Conflict>,
    /// What the policy refuses or asks for as it is, of what was proposed.
    pub missing: usize,
    /// What the new text would still refuse or ask for.
    pub refused: Vec<LeftOut>,
    /// The operator's rules and entries that nothing of the session needed.
    pub unused: Vec<String>,
}

/// Adds to a policy what a proposal has and it has not. `name` is only for messages.
///
/// # Errors
/// Every problem of the text.
pub fn merge(
    name: &str,
    text: &str,
    session: &Session<'_>,
    proposal: &Proposal,
) -> Result<Merge, Vec<Problem>> {
    let document = Document::parse(name, text)?;
    let compile =
        |document: &Document| Policy::compile(document, session.agent, session.host, &Overrides::default());
    let policy = compile(&document)?;
    let mut merging = Merging {
        session,
        document: &document,
        policy: &policy,
        draft: Draft::parse(name, text)?,
        at: scope(&document, session.agent),
        added: Vec::new(),
        conflicts: BTreeSet::new(),
    };
    let missing: Vec<&Observation> = proposal.kept.iter().filter(|seen| !is_allowed(&policy, seen)).collect();
    merging.rules(proposal, &missing);
    merging.programs(proposal, &missing);
    let unused = unused(&policy, proposal);
    let Merging { draft, added, conflicts, .. } = merging;
    let text = draft.text().to_owned();
    let new = compile(&Document::parse(name, &text)?)?;
    let still = proposal.kept.iter().filter(|seen| !is_allowed(&new, seen));
    let refused = still.map(|seen| LeftOut {
        path: seen.path.clone(),
        used: seen.used,
        why: Why::Refused(first_refusal(&new, seen).unwrap_or_default()),
    });
    Ok(Merge {
        text,
        added,
        conflicts: conflicts.into_iter().collect(),
        missing: missing.len(),
        refused: refused.collect(),
        unused,
    })
}

/// Where rules go: for everybody, where there is nobody else.
fn scope(document: &Document, agent: &str) -> Scope {
    let is_alone = agent == "main" && document.agents().all(|other| other == agent);
    if is_alone { Scope::Everyone } else { Scope::Agent(agent.to_owned()) }
}

fn is_allowed(policy: &Policy, seen: &Observation) -> bool {
    first_refusal(policy, seen).is_none()
}

/// Why the policy does not allow a use.
fn first_refusal(policy: &Policy, seen: &Observation) -> Option<String> {
    let refused = verdicts(policy, seen).find(|verdict| verdict.outcome != Outcome::Allow)?;
    Some(refused.because.text.into_owned())
}

/// The answers to everything that a use comes down to.
fn verdicts<'p>(policy: &'p Policy, seen: &'p Observation) -> impl Iterator<Item = Verdict<'p>> {
    seen.requests().map(|request| decide(policy, &request))
}

/// The operator's rules and entries by which nothing was allowed.
fn unused(policy: &Policy, proposal: &Proposal) -> Vec<String> {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for seen in &proposal.kept {
        used.extend(verdicts(policy, seen).map(|verdict| verdict.because.path.into_owned()));
        // What lets a program start is an entry, and a rule all the same.
        if seen.used.meets(Used::STARTED) {
            let because = decide(policy, &Request::File { path: &seen.path, access: Access::MAP }).because;
            used.insert(because.path.into_owned());
        }
    }
    let rules =
        policy.map.rules.iter().filter(|entry| entry.rights != Rights::NONE).map(|entry| &*entry.reason);
    // With which arguments a program ran was not seen.
    let entries = policy
        .programs
        .allowlist
        .listing()
        .filter(|(_, limit, _)| limit.is_empty())
        .map(|(.., reason)| reason);
    let written =
        rules.chain(entries).filter(|reason| matches!(reason.source, Source::Agent | Source::Global));
    let mut unused: Vec<String> =
        written.filter(|reason| !used.contains(&reason.path)).map(|reason| reason.rule.clone()).collect();
    unused.sort();
    unused.dedup();
    unused
}

struct Merging<'m> {
    session: &'m Session<'m>,
    document: &'m Document,
    policy: &'m Policy,
    draft: Draft,
    at: Scope,
    added: Vec<Addition>,
    conflicts: BTreeSet<Conflict>,
}

impl Merging<'_> {
    fn glob(&self, pattern: &str) -> Glob {
        expand(pattern, self.session.host.home).glob(true)
    }

    /// Adds the rules that what is missing needs: of those that cover it the longest, which is the one that would count.
    fn rules(&mut self, proposal: &Proposal, missing: &[&Observation]) {
        let rules: Vec<(Glob, (&String, Permission))> = proposal
            .rules
            .iter()
            .map(|(pattern, permission)| {
                let glob = self.glob(pattern);
                let permission = self.with_what_is_granted(&glob, *permission);
                (glob, (pattern, permission))
            })
            .collect();
        let mut wanted: BTreeSet<usize> = BTreeSet::new();
        for seen in missing {
            let files = seen.used.accesses();
            let is_missing = |access| {
                decide(self.policy, &Request::File { path: &seen.path, access }).outcome != Outcome::Allow
            };
            if !files.into_iter().any(is_missing) {
                continue;
            }
            let covering = rules.iter().enumerate().filter(|(_, (glob, _))| glob.covers(&seen.path));
            wanted.extend(covering.max_by_key(|(_, (glob, _))| glob.length()).map(|(i, _)| i));
        }
        let mut opened: Vec<Glob> = Vec::new();
        for i in wanted {
            let (glob, (pattern, permission)) = &rules[i];
            if let Some(by) = self.withholding(glob, permission.0) {
                self.conflicts.insert(Conflict { wanted: format!("\"{pattern}\": \"{permission}\""), by });
            } else if self.draft.set_rule(&self.at, pattern, *permission) == Ok(crate::Change::Made) {
                self.added.push(Addition::Rule((*pattern).clone(), *permission));
                opened.push(glob.clone());
            }
        }
        // What keeps a home apart from the temporary directory that it lies in comes with the rule for that.
        let walls = rules.iter().filter(|(_, (_, permission))| permission.0 == Rights::NONE);
        for (glob, (pattern, permission)) in walls {
            let is_opened = opened.iter().any(|open| open.below(glob.literal()) == Below::Everything);
            if is_opened && self.draft.set_rule(&self.at, pattern, *permission) == Ok(crate::Change::Made) {
                self.added.push(Addition::Rule((*pattern).clone(), *permission));
            }
        }
        for pattern in &proposal.deny {
            let secret = self.glob(pattern);
            let is_opened = opened.iter().any(|open| open.covers(secret.literal()));
            // What the operator lets be read is no secret to them.
            let is_closed = self.policy.rights(secret.literal()).r != Grant::Yes;
            if is_opened && is_closed && self.draft.add_deny(&self.at, pattern) == Ok(crate::Change::Made) {
                self.added.push(Addition::Deny(pattern.clone()));
            }
        }
    }

    /// A new rule takes the place of shorter ones and of the default, and is not to take away what these grant.
    fn with_what_is_granted(&self, new: &Glob, permission: Permission) -> Permission {
        let directory = new.literal().strip_suffix(b"/").unwrap_or(new.literal());
        if permission.0 == Rights::NONE {
            return permission;
        }
        let granted = if new.is_literal() {
            self.policy.rights(new.literal())
        } else {
            let covers = |entry: &&CompiledPattern| entry.glob.below(directory) == Below::Everything;
            let rule = self.policy.map.rules.iter().find(covers);
            rule.map_or(self.policy.map.default, |entry| entry.rights)
        };
        let yes = |grant| if grant == Grant::Yes { Grant::Yes } else { Grant::No };
        Permission(permission.0.join(Rights { r: yes(granted.r), w: yes(granted.w), x: yes(granted.x) }))
    }

    /// The rule or denial of the operator that a new rule would speak over.
    fn withholding(&self, new: &Glob, rights: Rights) -> Option<String> {
        let directory = new.literal().strip_suffix(b"/").unwrap_or(new.literal());
        let takes = |entry: &&CompiledPattern| {
            let withholds =
                [(rights.r, entry.rights.r), (rights.w, entry.rights.w), (rights.x, entry.rights.x)]
                    .into_iter()
                    .any(|(new, own)| new == Grant::Yes && own != Grant::Yes);
            let is_over = new.length() > entry.glob.length() || new.text() == entry.glob.text();
            let meets = || {
                entry.glob.covers(directory)
                    || !new.is_literal() && entry.glob.below(directory) != Below::Nothing
            };
            entry.reason.source != Source::Builtin && withholds && is_over && meets()
        };
        let rule = self.policy.map.rules.iter().find(takes).map(|entry| entry.reason.path.clone());
        // A denial comes before every rule; one of all that the rule is about leaves it without effect.
        rule.or_else(|| {
            let all = |entry: &&CompiledPattern| {
                if new.is_literal() {
                    entry.glob.covers(directory)
                } else {
                    entry.glob.below(directory) == Below::Everything
                }
            };
            self.policy.map.denies.iter().find(all).map(|entry| entry.reason.path.clone())
        })
    }

    fn programs(&mut self, proposal: &Proposal, missing: &[&Observation]) {
        let allowlist = |pattern: &str| expand(pattern, self.session.host.home).glob(false);
        let programs: Vec<(Glob, String)> =
            proposal.programs.iter().map(|pattern| (allowlist(pattern), pattern.clone())).collect();
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for seen in missing.iter().filter(|seen| seen.used.meets(Used::STARTED)) {
            let path = &seen.path;
            let argv = [path.clone()];
            let exec = Exec { path, argv: &argv, cwd: self.session.host.cwd, role: crate::Role::Program };
            let verdict = decide(self.policy, &Request::Exec(exec));
            if verdict.outcome == Outcome::Allow {
                continue;
            }
            let found = self.policy.map.find_program(path);
            let by = if self.policy.security() == Security::Deny {
                Some(verdict.because.path.into_owned())
            } else if found.rights.x != Grant::Yes && self.is_the_operators(&found.x.path) {
                Some(found.x.path.clone())
            } else {
                self.limited(path)
            };
            if let Some(by) = by {
                self.conflicts.insert(Conflict { wanted: format!("program {}", show(path)), by });
                continue;
            }
            // A new rule gives it x, and an entry lets it start already.
            let is_listed = self.policy.programs.allowlist.allow(&exec, true).is_some();
            if !is_listed {
                let pattern =
                    programs.iter().find(|(glob, _)| glob.matches(path)).map(|(_, pattern)| pattern.clone());
                let own = || super::patterns::Pattern::exact(path.clone()).text(self.session.host.home, 0);
                wanted.extend(pattern.or_else(own));
            }
        }
        for pattern in wanted {
            if self.draft.add_entry(self.session.agent, &pattern, None) == crate::Change::Made {
                self.added.push(Addition::Program(pattern));
            }
        }
    }

    fn is_the_operators(&self, path: &str) -> bool {
        path.contains("permissions.filesystem.rules") || path.contains("permissions.filesystem.deny")
    }

    /// The entry by which the operator limits a program to some arguments.
    fn limited(&self, path: &[u8]) -> Option<String> {
        [self.session.agent, "*"].into_iter().find_map(|agent| {
            let mut entries = self.document.agents.get(agent)?.allowlist.iter().enumerate();
            let limited = entries.find(|(_, entry)| {
                let home = self.session.host.home;
                entry.arg_pattern.is_some() && matches_allowlist_pattern(&entry.pattern, home, path)
            });
            limited.map(|(i, _)| format!("agents.{agent}.allowlist[{i}].argPattern"))
        })
    }
}
