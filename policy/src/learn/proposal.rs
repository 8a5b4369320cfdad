//! Makes a proposal, tests it, and makes it again to cover what it still denied.

use std::collections::{BTreeMap, BTreeSet};

use super::hosts::LearnedNetwork;
use super::patterns::{Bits, Pattern};
use super::sort::{Bounds, Sorted, sort};
use super::text::{Parts, RuleLine, text};
use super::widen::{Inventory, Widened, widen};
use super::zone::{ZoneKind, Zones, around};
use super::{LeftOut, Observation, Session, Used, Why, Width};
use crate::compile::builtin::system::DENIED;
use crate::paths::exec_roots::is_below;
use crate::paths::expansion::expand;
use crate::{Access, Document, Exec, Outcome, Overrides, Permission, Policy, Request, Rights, Role, decide};

/// Patterns that are always in `deny`, so that rules added later do not open them.
const ALWAYS: [&str; 3] = ["~/.ssh", "~/.gnupg", "~/.aws"];
/// The maximum number of rounds of testing and adding.
const MAX_ROUNDS: usize = 4;

/// A policy that lets a session run again, except for what is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The text of a guard.json, with comments.
    pub text: String,
    /// Pattern and permission of each rule, in the order of the text.
    pub rules: Vec<(String, Permission)>,
    /// `deny`.
    pub deny: Vec<String>,
    /// The allowlist.
    pub programs: Vec<String>,
    /// `network`. The text has no `network.web` if hosts were reached without the proxy, because `network.web` would deny those.
    pub network: LearnedNetwork,
    /// What was used but is not proposed, by path.
    pub left_out: Vec<LeftOut>,
    /// The observations that the proposal covers.
    pub observations: Vec<Observation>,
}

/// Proposes a policy. The text does not depend on the order of the observations.
///
/// `None` if no policy can be compiled for the host.
#[must_use]
pub fn propose(session: &Session<'_>, width: Width) -> Option<Proposal> {
    let zones = Zones::new(session);
    let bounds = Bounds::from_session(session)?;
    let Sorted { mut observations, mut left_out } = sort(session, &bounds, &zones, width);
    let standing = Inventory::new(session.observations.iter());
    // A path that needs no rule gets one only if another rule would take its access away.
    let mut counted: BTreeSet<usize> =
        (0..observations.len()).filter(|i| !bounds.needs_no_rule(&observations[*i])).collect();
    let mut exact: BTreeMap<Pattern, Bits> = BTreeMap::new();
    let mut round = 0;
    let network = session.reached.learned(width);
    // With `network.web`, what was reached without the proxy would be denied.
    let domains = if session.reached.directly.is_empty() { network.domains.clone() } else { Vec::new() };
    let written = LearnedNetwork { domains, addresses: network.addresses.clone() };
    let (text, made) = loop {
        let not_yet_allowed: Vec<&Observation> = counted.iter().map(|i| &observations[*i]).collect();
        let mut widened = widen(&not_yet_allowed, &standing, &zones, width);
        exact.iter().for_each(|(pattern, bits)| widened.rights.add(pattern.clone(), *bits));
        // A rule overrides what a path grants without any rule, so the rule must grant that as well.
        for (pattern, bits) in widened.rights.patterns_mut() {
            *bits = bits.join(if pattern.is_deep { Bits::default() } else { bounds.given(&pattern.path) });
        }
        let made = ProposalLines::new(session, &zones, &widened, &left_out);
        let text = made.text(session, &widened, &written, width);
        let document = Document::parse("guard.json", &text).ok()?;
        let policy = Policy::compile(&document, session.agent, session.host, &Overrides::default()).ok()?;
        let failing: Vec<(usize, Used, String)> = (0..observations.len())
            .filter_map(|i| fails(&policy, &observations[i], session).map(|(used, why)| (i, used, why)))
            .collect();
        if failing.is_empty() {
            // No other round would help: the entries for hosts do not depend on the rules for paths.
            left_out.extend(session.reached.refused(&policy));
            break (text, made);
        }
        let is_last = round >= MAX_ROUNDS;
        for (i, used, why) in failing.into_iter().rev() {
            if !counted.insert(i) && !is_last {
                for (bit, bits) in [(Access::READ, Bits::R), (Access::WRITE, Bits::W), (Access::MAP, Bits::X)]
                {
                    if used.accesses().any(|access| access == bit) {
                        let own = exact.entry(Pattern::exact(observations[i].path.clone())).or_default();
                        *own = own.join(bits);
                    }
                }
            }
            if is_last {
                let path = observations[i].path.clone();
                let why = if Pattern::exact(path.clone()).text(b"", 0).is_none() {
                    Why::Unnamable
                } else {
                    Why::Refused(why)
                };
                left_out.push(LeftOut { path, used, why });
                observations[i].used = observations[i].used.without(used | Used::MADE);
            }
        }
        if is_last {
            // `retain` moves the indices, so start over with the paths that need no rule.
            observations.retain(|seen| !seen.used.is_empty());
            counted = (0..observations.len()).filter(|i| !bounds.needs_no_rule(&observations[*i])).collect();
        }
        if round >= 4 * MAX_ROUNDS {
            return None;
        }
        round += 1;
    };
    left_out.sort_by(|a, b| (&a.path, &a.why).cmp(&(&b.path, &b.why)));
    let rules = made
        .rules
        .iter()
        .filter_map(|line| Some((line.pattern.clone(), Permission::parse(&line.permission)?)));
    Some(Proposal {
        text,
        rules: rules.collect(),
        deny: made.deny,
        programs: made.programs.into_iter().map(|(_, pattern)| pattern).collect(),
        network,
        left_out,
        observations,
    })
}

/// The exec roles that these uses need.
fn roles(used: Used) -> impl Iterator<Item = Role> {
    [(Used::STARTED, Role::Program), (Used::LOADED, Role::Loader)]
        .into_iter()
        .filter(move |(of, _)| used.meets(*of))
        .map(|(_, role)| role)
}

/// The uses of an observation that a policy does not allow, with the reason.
fn fails(policy: &Policy, seen: &Observation, session: &Session<'_>) -> Option<(Used, String)> {
    let mut failed = Used::default();
    let mut why = String::new();
    let path = &seen.path;
    for (used, access) in
        [(Used::READ, Access::READ), (Used::WRITTEN, Access::WRITE), (Used::MAPPED, Access::MAP)]
    {
        if seen.used.meets(used) {
            let verdict = decide(policy, &Request::File { path, access });
            if verdict.outcome != Outcome::Allow {
                (failed, why) = (failed | used, verdict.reason.text.into_owned());
            }
        }
    }
    let argv = [path.clone()];
    for role in roles(seen.used) {
        let exec = Exec { path, argv: &argv, cwd: session.host.cwd, role };
        let verdict = decide(policy, &Request::Exec(exec));
        let is_rooted = policy.within_exec_roots(path);
        if verdict.outcome != Outcome::Allow || !is_rooted {
            failed = failed | if role == Role::Loader { Used::LOADED } else { Used::STARTED };
            why = verdict.reason.text.into_owned();
        }
    }
    (!failed.is_empty()).then_some((failed, why))
}

#[derive(Debug)]
struct ProposalLines {
    rules: Vec<RuleLine>,
    deny: Vec<String>,
    programs: Vec<(ZoneKind, String)>,
}

impl ProposalLines {
    fn new(session: &Session<'_>, zones: &Zones, widened: &Widened, left_out: &[LeftOut]) -> ProposalLines {
        let home = session.host.home;
        let settled = widened.rights.settled(home);
        let mut rules: Vec<(Pattern, RuleLine)> = Vec::new();
        // A home inside a granted temporary directory needs a rule that closes it.
        let wall = widened.rights.is_around(home);
        for (pattern, bits) in &settled {
            let beaten = match around(&pattern.path) {
                directory if wall && directory == home => home.len() + "/?**".len(),
                directory if settled.contains_key(&Pattern::deep(directory)) => directory.len() + "/**".len(),
                _ => 0,
            };
            let Some(text) = pattern.text(home, beaten) else { continue };
            let kind = zones.find(&pattern.path).kind;
            rules.push((
                pattern.clone(),
                RuleLine { kind, pattern: text, permission: bits.permission().to_string() },
            ));
        }
        if wall {
            let line = RuleLine {
                kind: ZoneKind::Home,
                pattern: "~/?**".to_owned(),
                permission: Permission(Rights::NONE).to_string(),
            };
            rules.push((Pattern::deep(home), line));
        }
        rules.sort_by(|(a, left), (b, right)| (left.kind, a).cmp(&(right.kind, b)));
        let deny = deny(home, &settled, left_out);
        let mut programs: Vec<(ZoneKind, Pattern)> = widened
            .programs
            .iter()
            .map(|pattern| (zones.find(&pattern.path).kind, pattern.clone()))
            .collect();
        programs.sort();
        let is_held = |pattern: &Pattern| {
            widened.programs.iter().any(|other| {
                other.is_deep && other.path != pattern.path && is_below(&pattern.path, &other.path)
            })
        };
        programs.retain(|(_, pattern)| !is_held(pattern));
        let programs = programs.into_iter().filter_map(|(kind, pattern)| {
            // Allowlist patterns match no line breaks.
            let text =
                pattern.text(home, 0).filter(|text| !text.contains(['\n', '\r', '\u{2028}', '\u{2029}']))?;
            Some((kind, text))
        });
        ProposalLines {
            rules: rules.into_iter().map(|(_, line)| line).collect(),
            deny,
            programs: programs.collect(),
        }
    }

    fn text(
        &self,
        session: &Session<'_>,
        widened: &Widened,
        network: &LearnedNetwork,
        width: Width,
    ) -> String {
        let home = session.host.home;
        let roots = widened.roots.iter().filter_map(|root| Pattern::exact(root.clone()).text(home, 0));
        let roots: Vec<String> = roots.collect();
        let carriers: Vec<String> = widened.carriers.iter().cloned().collect();
        text(&Parts {
            agent: session.agent,
            rules: &self.rules,
            deny: &self.deny,
            programs: &self.programs,
            carriers: (width != Width::Wide).then_some(&carriers),
            roots: &roots,
            network,
        })
    }
}

/// The denials: secrets that a rule would expose, and those that are always denied.
fn deny(home: &[u8], settled: &BTreeMap<Pattern, Bits>, left_out: &[LeftOut]) -> Vec<String> {
    let opened = |path: &[u8]| {
        // The built-in base opens none of these secrets.
        let opens = |(pattern, bits): (&Pattern, &Bits)| {
            let reaches =
                is_below(path, &pattern.path) && (!is_below(path, home) || is_below(&pattern.path, home));
            *bits != Bits::default() && pattern.is_deep && reaches
        };
        settled.iter().any(opens)
    };
    let mut deny: Vec<String> = ALWAYS.map(str::to_owned).to_vec();
    for pattern in DENIED.iter().flat_map(|list| list.split_whitespace()) {
        let expanded = expand(pattern, home);
        let whole = [&expanded.literal, expanded.pattern.as_bytes()].concat();
        let literal = whole.split(|byte| matches!(byte, b'*' | b'?')).next().unwrap_or_default();
        if opened(literal) && !deny.iter().any(|other| other == pattern) {
            deny.push(pattern.to_owned());
        }
    }
    for left in left_out.iter().filter(|left| left.why == Why::Secret && opened(&left.path)) {
        let is_denied = |other: &String| expand(other, home).glob(true).covers(&left.path);
        // A name with a wildcard still matches itself as a pattern.
        let Ok(path) = std::str::from_utf8(&left.path) else { continue };
        let home = std::str::from_utf8(home).unwrap_or_default();
        let shown = match path.strip_prefix(home).filter(|rest| home.len() > 1 && rest.starts_with('/')) {
            Some(rest) => format!("~{rest}"),
            None => path.to_owned(),
        };
        let is_below_denied = deny
            .iter()
            .any(|other| shown.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/')));
        if !deny.iter().any(is_denied) && !is_below_denied {
            deny.push(shown);
        }
    }
    deny
}
