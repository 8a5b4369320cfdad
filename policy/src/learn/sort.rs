//! Decides what a proposal leaves out, and why.

use super::patterns::Bits;
use super::zone::{ZoneKind, Zones, is_gone};
use super::{FinalState, Observation, Session, Used, Width, secrets};
use crate::compile::builtin::system::DENIED;
use crate::{
    Access, Document, GitLockedNames, Grant, Outcome, Overrides, Policy, Request, Rights, ShapeKind, decide,
};

/// Why an observation is not proposed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It holds secrets.
    Secret,
    /// It belongs to the guard or to OpenClaw.
    Guard,
    /// A file written there would run later, outside the guard. Holds the set of `permissions.persistence`.
    Persistence(String),
    /// It was written outside every project, cache and temporary directory.
    Outside,
    /// It is a directory that was created for caches in it. It exists now, so the next session need not create it.
    There,
    /// It is in another user's home.
    OtherHome,
    /// It is a program in a temporary directory, gone now. The next one will have another name.
    Temporary,
    /// It is a socket. The server behind it acts outside the guard for any client.
    Socket,
    /// It is another process, which will have another number next time.
    Process,
    /// No pattern matches its path alone.
    Unnamable,
    /// The proposal would still deny it, for this reason.
    Refused(String),
}

impl Why {
    /// A short explanation for a human.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Why::Secret => "holds secrets".to_owned(),
            Why::Guard => "is the guard's or OpenClaw's own".to_owned(),
            Why::Persistence(set) => format!("runs later outside the guard (persistence \"{set}\")"),
            Why::Outside => "written outside of projects, caches and temporary directories".to_owned(),
            Why::There => "created for the caches in it; it exists from now on".to_owned(),
            Why::OtherHome => "in another user's home".to_owned(),
            Why::Temporary => {
                "a program in a temporary directory, whose name changes; --width wide allows such programs"
                    .to_owned()
            }
            Why::Socket => "a socket whose server is not guarded: add a rule for it yourself".to_owned(),
            Why::Process => "a process outside of the session".to_owned(),
            Why::Unnamable => "no pattern matches only this name".to_owned(),
            Why::Refused(words) => words.clone(),
        }
    }
}

/// Uses of a path that are not proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The real path.
    pub path: Vec<u8>,
    /// The uses that are left out.
    pub used: Used,
    /// Why.
    pub why: Why,
}

/// The observations to allow, and those left out.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) observations: Vec<Observation>,
    pub(super) left_out: Vec<LeftOut>,
}

/// Knows what no rule may open, and what needs no rule.
pub(super) struct Bounds {
    /// Allows everything that a rule may open.
    most: Policy,
    /// Allows only what needs no rule.
    least: Policy,
}

impl Bounds {
    pub(super) fn from_session(session: &Session<'_>) -> Option<Bounds> {
        let denied: Vec<&str> = DENIED.iter().flat_map(|list| list.split_whitespace()).collect();
        let document = serde_json::json!({
            "version": 1,
            "exec": { "security": "full", "ask": "off" },
            "permissions": { "filesystem": { "rules": { "/**": "rwx" }, "deny": denied } },
        });
        let least = serde_json::json!({ "version": 1, "exec": { "ask": "off" } });
        // The documents are constants, so compiling them cannot fail.
        let compile = |document: serde_json::Value| {
            let document = Document::parse("bounds", &document.to_string()).ok()?;
            Policy::compile(&document, "main", session.host, &Overrides::default()).ok()
        };
        Some(Bounds { most: compile(document)?, least: compile(least)? })
    }

    /// Whether this access needs no rule.
    fn needs_none(&self, path: &[u8], access: Access) -> bool {
        decide(&self.least, &Request::File { path, access }).outcome == Outcome::Allow
    }

    /// What a path grants without a rule.
    pub(super) fn given(&self, path: &[u8]) -> Bits {
        let Rights { r, w, x } = self.least.rights(path);
        Bits { r: r == Grant::Yes, w: w == Grant::Yes, x: x == Grant::Yes }
    }

    /// Whether none of an observation's uses needs a rule. Programs always need one.
    pub(super) fn needs_no_rule(&self, seen: &Observation) -> bool {
        !seen.used.meets(Used::STARTED)
            && seen.used.accesses().all(|access| self.needs_none(&seen.path, access))
    }

    /// The reason not to learn this access, if there is one.
    fn refuse(&self, path: &[u8], access: Access) -> Option<Why> {
        let verdict = decide(&self.most, &Request::File { path, access });
        if verdict.outcome == Outcome::Allow {
            return None;
        }
        let reason = &verdict.reason.path;
        Some(if let Some(set) = reason.strip_prefix("permissions.persistence.") {
            Why::Persistence(set.to_owned())
        } else if reason.starts_with("permissions.filesystem.deny") {
            Why::Secret
        } else if reason.starts_with("builtin.deny") {
            Why::Guard
        } else {
            Why::Refused(verdict.reason.text.into_owned())
        })
    }
}

/// Sorts all observations.
pub(super) fn sort(session: &Session<'_>, bounds: &Bounds, zones: &Zones, width: Width) -> Sorted {
    let mut sorted = Sorted::default();
    // Through their locks, git may change these files wherever it may write the files beside them. No rule could allow more.
    let is_gits = |path: &[u8]| {
        let shapes = bounds.most.shapes(path);
        GitLockedNames::is_of_paths(path) && shapes.iter().any(|shape| shape.kind == ShapeKind::GitLocked)
    };
    for seen in session.observations.iter().filter(|seen| !is_gits(&seen.path)) {
        let left = left_out(seen, bounds, zones, width);
        let mut rest = seen.used;
        for (used, why) in left {
            let used = Used(rest.0 & used.0);
            if !used.is_empty() {
                rest = rest.without(used);
                sorted.left_out.push(LeftOut { path: seen.path.clone(), used, why });
            }
        }
        if !rest.without(Used::MADE).is_empty() {
            sorted.observations.push(Observation { used: rest, ..seen.clone() });
        }
    }
    // The result must not depend on the order of the observations.
    sorted.observations.sort_by(|a, b| a.path.cmp(&b.path));
    sorted.left_out.sort_by(|a, b| (&a.path, &a.why).cmp(&(&b.path, &b.why)));
    sorted
}

fn left_out(seen: &Observation, bounds: &Bounds, zones: &Zones, width: Width) -> Vec<(Used, Why)> {
    const ALL: Used = Used(Used::ALL);
    let path = &seen.path;
    let zone = zones.find(path);
    if let Some(why) = bounds.refuse(path, Access::READ) {
        return vec![(ALL, why)];
    }
    if zone.kind == ZoneKind::OtherHome && path != b"/home" {
        return vec![(ALL, Why::OtherHome)];
    }
    if is_process(path) {
        return vec![(ALL, Why::Process)];
    }
    // These hold no secrets of the operator: system programs and certificates, paths that need no rule, and files that
    // the session created.
    let may_hold =
        !zone.kind.holds_programs() && zone.kind != ZoneKind::Cache && !seen.used.meets(Used::MADE);
    let may_hold = may_hold && seen.final_state == FinalState::File && !bounds.needs_none(path, Access::READ);
    if may_hold && secrets::is_named_so(path) {
        return vec![(ALL, Why::Secret)];
    }
    let written = Used::WRITTEN | Used::MADE;
    let mut left = vec![(Used::SPOKEN_TO, Why::Socket)];
    if seen.used.meets(Used::WRITTEN) {
        if let Some(why) = bounds.refuse(path, Access::WRITE) {
            left.push((written, why));
        } else if seen.used.meets(Used::MADE)
            && seen.final_state == FinalState::Directory
            && zones.is_around_a_cache(path)
        {
            left.push((written, Why::There));
        } else if !zone.kind.is_written() && !bounds.needs_none(path, Access::WRITE) {
            left.push((written, Why::Outside));
        }
    }
    if zone.kind == ZoneKind::Temporary && is_gone(seen.final_state) && width != Width::Wide {
        left.push((Used::STARTED, Why::Temporary));
    }
    left
}

/// Whether the path is below `/proc/N`: another process. Processes of the session appear as /proc/self.
fn is_process(path: &[u8]) -> bool {
    let number = path.strip_prefix(b"/proc/").and_then(|rest| rest.split(|byte| *byte == b'/').next());
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}
