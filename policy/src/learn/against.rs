//! Merges a proposal into the operator's policy.
//!
//! A permission that the operator's rules or denials withhold stays withheld: a rule that would grant it is not added,
//! but reported as a conflict.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::hosts;
use super::{LeftOut, Observation, Proposal, Session, Used, Why};
use crate::config::edit::{Draft, Scope};
use crate::network::DomainRule;
use crate::paths::entry::CompiledPattern;
use crate::paths::expansion::{expand, show};
use crate::paths::glob::{Below, Glob};
use crate::programs::Writers;
use crate::{
    Access, Document, Exec, Grant, Outcome, Overrides, Permission, Policy, Problem, Request, Rights,
    Security, Source, Verdict, decide, matches_allowlist_pattern,
};

/// The key of the exceptions for addresses that are not public.
const ADDRESSES: &str = "network.connect.allow";

/// Something to add to the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addition {
    /// A rule.
    Rule(String, Permission),
    /// A denial of a secret that a new rule would expose.
    Deny(String),
    /// A program for the allowlist.
    Program(String),
    /// A host for `network.web.allowedDomains`, or an address for `network.connect.allow`.
    Host(String),
}

/// Something that is not added because the policy withholds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// The rule or entry that is not added.
    pub requested: String,
    /// The key that withholds it: `permissions.filesystem.deny["~/x"]`.
    pub by: String,
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The new text; unchanged if nothing is added.
    pub text: String,
    /// The additions.
    pub added: Vec<Addition>,
    /// Additions left out because the operator's policy withholds them.
    pub conflicts: Vec<Conflict>,
    /// The number of proposed observations that the old policy denies or asks about.
    pub missing: usize,
    /// The observations that the new policy would still deny or ask about.
    pub refused: Vec<LeftOut>,
    /// The operator's rules and entries that the session did not use.
    pub unused: Vec<String>,
}

/// Adds to a policy what a proposal has and the policy lacks. `name` is only for messages.
///
/// # Errors
/// Every problem in the text.
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
    let missing: Vec<&Observation> =
        proposal.observations.iter().filter(|seen| !is_allowed(&policy, seen)).collect();
    merging.rules(proposal, &missing);
    merging.programs(proposal, &missing);
    merging.hosts(proposal);
    let unused = unused(&policy, proposal);
    let Merging { draft, added, conflicts, .. } = merging;
    let text = draft.text().to_owned();
    let new = compile(&Document::parse(name, &text)?)?;
    let still = proposal.observations.iter().filter(|seen| !is_allowed(&new, seen));
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
        refused: refused.chain(session.reached.refused(&new)).collect(),
        unused,
    })
}

/// The section for new rules: the top level if no other agent has a section.
fn scope(document: &Document, agent: &str) -> Scope {
    let is_alone = agent == "main" && document.agents().all(|other| other == agent);
    if is_alone { Scope::Everyone } else { Scope::Agent(agent.to_owned()) }
}

fn is_allowed(policy: &Policy, seen: &Observation) -> bool {
    first_refusal(policy, seen).is_none()
}

/// The reason of the first verdict that does not allow an observation.
fn first_refusal(policy: &Policy, seen: &Observation) -> Option<String> {
    let refused = verdicts(policy, seen).find(|verdict| verdict.outcome != Outcome::Allow)?;
    Some(refused.reason.text.into_owned())
}

/// The verdicts on all requests of an observation.
fn verdicts<'p>(policy: &'p Policy, seen: &'p Observation) -> impl Iterator<Item = Verdict<'p>> {
    seen.requests().map(|request| decide(policy, &request))
}

/// The operator's rules and entries that allowed nothing in the session.
fn unused(policy: &Policy, proposal: &Proposal) -> Vec<String> {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for seen in &proposal.observations {
        used.extend(verdicts(policy, seen).map(|verdict| verdict.reason.path.into_owned()));
        // A program needs an entry to start, and also a rule that grants x.
        if seen.used.meets(Used::STARTED) {
            let reason = decide(policy, &Request::File { path: &seen.path, access: Access::MAP }).reason;
            used.insert(reason.path.into_owned());
        }
    }
    let rules =
        policy.map.rules().iter().filter(|entry| entry.rights != Rights::NONE).map(|entry| &*entry.reason);
    // A session that starts no programs consists of calls of tools, and can need no entry.
    let has_started = proposal.observations.iter().any(|seen| seen.used.meets(Used::STARTED));
    // The session does not record arguments, so it cannot show whether an entry with an `argPattern` was used.
    let entries = policy
        .programs
        .allowlist
        .listing()
        .filter(|(_, limit, _)| has_started && limit.is_empty())
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
        expand(pattern, self.session.host.bases()).glob(true)
    }

    /// Adds the rules that the missing observations need: for each observation the longest rule that covers it, because that
    /// rule would decide.
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
        let mut needed: BTreeSet<usize> = BTreeSet::new();
        for seen in missing {
            let files = seen.used.accesses();
            let is_missing = |access| {
                decide(self.policy, &Request::File { path: &seen.path, access }).outcome != Outcome::Allow
            };
            if !files.into_iter().any(is_missing) {
                continue;
            }
            let covering = rules.iter().enumerate().filter(|(_, (glob, _))| glob.covers(&seen.path));
            needed.extend(covering.max_by_key(|(_, (glob, _))| glob.length()).map(|(i, _)| i));
        }
        let mut opened: Vec<Glob> = Vec::new();
        for i in needed {
            let (glob, (pattern, permission)) = &rules[i];
            if let Some(by) = self.withholding(glob, permission.0) {
                self.conflicts.insert(Conflict { requested: format!("\"{pattern}\": \"{permission}\""), by });
            } else if self.draft.set_rule(&self.at, pattern, *permission) == Ok(crate::Change::Made) {
                self.added.push(Addition::Rule((*pattern).clone(), *permission));
                opened.push(glob.clone());
            }
        }
        // If a new rule opens a temporary directory that contains a home, also add the rule that closes the home.
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
            // A file that the policy already lets the agent read needs no denial.
            let is_closed = self.policy.rights(secret.literal()).r != Grant::Yes;
            if is_opened && is_closed && self.draft.add_deny(&self.at, pattern) == Ok(crate::Change::Made) {
                self.added.push(Addition::Deny(pattern.clone()));
            }
        }
    }

    /// Adds the rights that shorter rules or the default grant already, because the new rule overrides them and must
    /// not take anything away.
    fn with_what_is_granted(&self, new: &Glob, permission: Permission) -> Permission {
        let directory = new.literal().strip_suffix(b"/").unwrap_or(new.literal());
        if permission.0 == Rights::NONE {
            return permission;
        }
        let granted = if new.is_literal() {
            self.policy.rights(new.literal())
        } else {
            let covers = |entry: &&CompiledPattern| entry.glob.below(directory) == Below::Everything;
            let rule = self.policy.map.rules().iter().find(covers);
            rule.map_or(self.policy.map.default(), |entry| entry.rights)
        };
        let yes = |grant| if grant == Grant::Yes { Grant::Yes } else { Grant::No };
        Permission(permission.0.join(Rights { r: yes(granted.r), w: yes(granted.w), x: yes(granted.x) }))
    }

    /// The operator's rule or denial that conflicts with a new rule.
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
        let rule = self.policy.map.rules().iter().find(takes).map(|entry| entry.reason.path.clone());
        // A denial comes before every rule. If it covers all that the new rule matches, the rule would have no effect.
        rule.or_else(|| {
            let all = |entry: &&CompiledPattern| {
                if new.is_literal() {
                    entry.glob.covers(directory)
                } else {
                    entry.glob.below(directory) == Below::Everything
                }
            };
            self.policy.map.denies().iter().find(all).map(|entry| entry.reason.path.clone())
        })
    }

    fn programs(&mut self, proposal: &Proposal, missing: &[&Observation]) {
        let allowlist = |pattern: &str| expand(pattern, self.session.host.bases()).glob(false);
        let programs: Vec<(Glob, String)> =
            proposal.programs.iter().map(|pattern| (allowlist(pattern), pattern.clone())).collect();
        let mut needed: BTreeSet<String> = BTreeSet::new();
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
                Some(verdict.reason.path.into_owned())
            } else if found.rights.x != Grant::Yes && self.is_the_operators(&found.x.path) {
                Some(found.x.path.clone())
            } else {
                self.limited(path)
            };
            if let Some(by) = by {
                self.conflicts.insert(Conflict { requested: format!("program {}", show(path)), by });
                continue;
            }
            // If an entry already lets the program start, the new rule only adds x.
            let is_listed = self.policy.programs.allowlist.allow(&exec, Writers::NOBODY).is_some();
            if !is_listed {
                let pattern =
                    programs.iter().find(|(glob, _)| glob.matches(path)).map(|(_, pattern)| pattern.clone());
                let own = || super::patterns::Pattern::exact(path.clone()).text(self.session.host.home, 0);
                needed.extend(pattern.or_else(own));
            }
        }
        for pattern in needed {
            if self.draft.add_entry(self.session.agent, &pattern, None) == crate::Change::Made {
                self.added.push(Addition::Program(pattern));
            }
        }
    }

    /// Adds the hosts that the policy does not allow. A policy without `network.web` allows every name, and stays so.
    fn hosts(&mut self, proposal: &Proposal) {
        let Some(network) = self.policy.network.with_names_asked() else {
            return self.addresses(self.session.reached.closed_by_default(self.policy));
        };
        // The policy that would judge a request if the name of its host were allowed.
        let named = Policy { network, ..self.policy.clone() };
        let domains = proposal.network.domains.iter();
        let rules: Vec<(DomainRule, &String)> =
            domains.filter_map(|text| Some((DomainRule::parse(text).ok()?, text))).collect();
        let mut needed: BTreeSet<&String> = BTreeSet::new();
        let mut led_to: BTreeSet<SocketAddr> = BTreeSet::new();
        for (origin, addresses) in &self.session.reached.by_name {
            let connections = hosts::connections(origin, addresses);
            let now = hosts::judged(self.policy, origin, &connections, false);
            let Some(endpoint) = hosts::endpoint(origin).filter(|_| now.outcome != Outcome::Allow) else {
                continue;
            };
            let then = hosts::judged(&named, origin, &connections, true);
            let lacks_address = then.outcome == Outcome::Deny && then.reason.path == ADDRESSES;
            if then.outcome == Outcome::Deny && (!lacks_address || self.has_private_rules()) {
                let requested = format!("host {}", endpoint.host());
                self.conflicts.insert(Conflict { requested, by: then.reason.path.into_owned() });
                continue;
            }
            // Add the name only if the policy does not allow it. An empty list allows all names, and an entry in it
            // would deny the others.
            if hosts::judged(self.policy, origin, &[], false).outcome != Outcome::Allow {
                needed.extend(rules.iter().find(|(rule, _)| rule.names(&endpoint)).map(|(_, text)| *text));
            }
            if lacks_address && endpoint.address().is_none() {
                led_to.extend(hosts::not_public(endpoint.port(), addresses));
            }
        }
        for domain in needed {
            if self.draft.add_domain(domain) == crate::Change::Made {
                self.added.push(Addition::Host(domain.clone()));
            }
        }
        led_to.retain(|address| proposal.network.addresses.contains(&address.to_string()));
        self.addresses(led_to);
    }

    fn addresses(&mut self, addresses: BTreeSet<SocketAddr>) {
        for address in addresses.iter().map(SocketAddr::to_string) {
            if self.draft.add_address(&address) == crate::Change::Made {
                self.added.push(Addition::Host(address));
            }
        }
    }

    /// Whether the operator has said what becomes of addresses that are not public.
    fn has_private_rules(&self) -> bool {
        let crate::config::network::Network { connect, web, .. } = &self.document.network;
        connect.private.is_some() || web.as_ref().is_some_and(|web| web.private.is_some())
    }

    fn is_the_operators(&self, path: &str) -> bool {
        path.contains("permissions.filesystem.rules") || path.contains("permissions.filesystem.deny")
    }

    /// The operator's entry that limits a program to certain arguments.
    fn limited(&self, path: &[u8]) -> Option<String> {
        [self.session.agent, "*"].into_iter().find_map(|agent| {
            let mut entries = self.document.agents.get(agent)?.allowlist.iter().enumerate();
            let limited = entries.find(|(_, entry)| {
                let bases = self.session.host.bases();
                entry.arg_pattern.is_some() && matches_allowlist_pattern(&entry.pattern, bases, path)
            });
            limited.map(|(i, _)| format!("agents.{agent}.allowlist[{i}].argPattern"))
        })
    }
}
