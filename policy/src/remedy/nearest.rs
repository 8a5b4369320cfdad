//! The rule that comes nearest to allowing something.

use std::cmp::Reverse;

use crate::paths::entry::CompiledPattern;
use crate::{Access, Exec, Grant, Policy, Reason, Request};

/// A rule or an entry, and how near it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest<'p> {
    /// What it says, and where.
    pub because: Reason<'p>,
    /// How near.
    pub near: Near,
}

/// How near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Near {
    /// It grants what is wanted in another place.
    Elsewhere,
    /// It lets another program start.
    OtherProgram,
    /// It lets this program start with other arguments.
    OtherArguments,
}

impl Policy {
    /// Of what grants all that is wanted without asking, what has most of the way to it in common; `None` where nothing has
    /// any. It may be about the very path, where something else has the last word.
    pub fn nearest(&self, request: &Request<'_>) -> Option<Nearest<'_>> {
        match request {
            Request::File { path, access } => self.nearest_rule(path, *access),
            // Without x an entry is no use.
            Request::Exec(exec) if self.map.find_program(exec.path).rights.x != Grant::Yes => {
                self.nearest_rule(exec.path, Access::MAP)
            }
            Request::Exec(exec) => self.nearest_entry(exec),
            Request::Connect(_) | Request::Bind { .. } => None,
        }
    }

    fn nearest_rule(&self, path: &[u8], access: Access) -> Option<Nearest<'_>> {
        let near = |entry: &CompiledPattern| {
            Distance::to(leading(entry.glob.literal(), entry.glob.is_literal()), path)
        };
        let granting = self.map.rules.iter().filter(|entry| entry.rights.grants(access));
        // Of equally near ones the longest pattern, and of those the first.
        let near = granting.rev().map(|entry| (near(entry), entry)).filter(|(way, _)| way.common > 0);
        let (_, entry) = near.max_by_key(|(way, entry)| (*way, entry.glob.length()))?;
        Some(Nearest { because: entry.reason.to_reason(), near: Near::Elsewhere })
    }

    fn nearest_entry(&self, exec: &Exec<'_>) -> Option<Nearest<'_>> {
        let is_protected = self.map.find_program(exec.path).is_protected();
        let allowlist = &self.programs.allowlist;
        if let Some((reason, _)) = allowlist.naming(exec, is_protected) {
            return Some(Nearest { because: reason.to_reason(), near: Near::OtherArguments });
        }
        let ways = allowlist
            .literals()
            .map(|(literal, is_whole, reason)| (Distance::to(leading(literal, is_whole), exec.path), reason));
        // Of equally near ones the first.
        let (way, reason) = ways.rev().max_by_key(|(way, _)| *way)?;
        (way.common > 0).then(|| Nearest { because: reason.to_reason(), near: Near::OtherProgram })
    }
}

/// The directories of what stands before the first wildcard.
fn leading(literal: &[u8], is_whole: bool) -> &[u8] {
    if is_whole { literal } else { &literal[..literal.iter().rposition(|byte| *byte == b'/').unwrap_or(0)] }
}

/// How two paths lie to each other. What is greater is nearer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Components in common from the top.
    common: usize,
    /// How much further the one goes.
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
