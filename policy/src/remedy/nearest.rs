//! Finds the rule that comes nearest to allowing a request.

use std::cmp::Reverse;

use crate::paths::entry::CompiledPattern;
use crate::{Access, Exec, Grant, Policy, Reason, Request};

/// A rule or an entry, and how near it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest<'p> {
    /// The rule or entry, as a reason.
    pub reason: Reason<'p>,
    /// How near.
    pub near: Near,
}

/// How near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Near {
    /// It grants the access, but for other paths.
    Elsewhere,
    /// It lets another program start.
    OtherProgram,
    /// It lets this program start with other arguments.
    OtherArguments,
}

impl Policy {
    /// Of the rules or entries that grant the whole request without asking, returns the one that shares the most
    /// leading path components with it; `None` if none shares any. The result may match the very path and be
    /// overridden there.
    pub fn nearest(&self, request: &Request<'_>) -> Option<Nearest<'_>> {
        match request {
            Request::File { path, access } | Request::FileAt { path, access, .. } => {
                self.nearest_rule(path, *access)
            }
            // An entry has no effect without x.
            Request::Exec(exec) if self.map.find_program(exec.path).rights.x != Grant::Yes => {
                self.nearest_rule(exec.path, Access::MAP)
            }
            Request::Exec(exec) => self.nearest_entry(exec),
            Request::Link(_)
            | Request::GitPaths { .. }
            | Request::GitConfig { .. }
            | Request::CodexConfig { .. }
            | Request::Sized { .. }
            | Request::Connect(_)
            | Request::Bind { .. }
            | Request::Web(_)
            | Request::Lookup(_)
            | Request::Sockets => None,
        }
    }

    fn nearest_rule(&self, path: &[u8], access: Access) -> Option<Nearest<'_>> {
        let near = |entry: &CompiledPattern| {
            Distance::to(leading(entry.glob.literal(), entry.glob.is_literal()), path)
        };
        let granting = self.map.rules().iter().filter(|entry| entry.rights.grants(access));
        // Of entries that are equally near, the longest pattern counts, then the first.
        let near = granting.rev().map(|entry| (near(entry), entry)).filter(|(way, _)| way.common > 0);
        let (_, entry) = near.max_by_key(|(way, entry)| (*way, entry.glob.length()))?;
        Some(Nearest { reason: entry.reason.to_reason(), near: Near::Elsewhere })
    }

    fn nearest_entry(&self, exec: &Exec<'_>) -> Option<Nearest<'_>> {
        let is_protected = self.map.find_program(exec.path).is_protected();
        let allowlist = &self.programs.allowlist;
        if let Some(naming) = allowlist.naming(exec, is_protected) {
            return Some(Nearest { reason: naming.reason.to_reason(), near: Near::OtherArguments });
        }
        let ways = allowlist
            .literals()
            .map(|(literal, is_whole, reason)| (Distance::to(leading(literal, is_whole), exec.path), reason));
        // Of entries that are equally near, the first counts.
        let (way, reason) = ways.rev().max_by_key(|(way, _)| *way)?;
        (way.common > 0).then(|| Nearest { reason: reason.to_reason(), near: Near::OtherProgram })
    }
}

/// The directories before the first wildcard.
fn leading(literal: &[u8], is_whole: bool) -> &[u8] {
    if is_whole { literal } else { &literal[..literal.iter().rposition(|byte| *byte == b'/').unwrap_or(0)] }
}

/// How near two paths are. Greater is nearer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// The number of leading components in common.
    common: usize,
    /// The number of remaining components of the first path; fewer is nearer.
    further: Reverse<usize>,
}

impl Distance {
    fn to(one: &[u8], other: &[u8]) -> Distance {
        let parts = |path: &[u8]| {
            path.split(|byte| *byte == b'/')
                .skip(1)
                .filter(|part| !part.is_empty())
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        };
        let (one, other) = (parts(one), parts(other));
        let common = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
        Distance { common, further: Reverse(one.len() - common) }
    }
}
