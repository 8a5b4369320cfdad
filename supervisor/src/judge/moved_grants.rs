//! Takes an access back from the kernel where the floor grants it and the policy does not allow it.
//!
//! The floor grants objects, and the policy allows paths. An object that somebody outside of the tree moves takes its
//! grant along. From then on the guard performs that kind of access itself.

use std::sync::Arc;

use guard_policy::Access;
use guard_policy::text::shown;
use parking_lot::Mutex;

use super::active::Current;
use super::guard::Guard;
use crate::landlock::{Location, PlacedGrant};

/// The kinds of access that the floor grants, with what the lines call them.
const CLASSES: [(Access, &str); 2] = [(Access::READ, "read"), (Access::WRITE, "write")];

/// Ends the tree.
pub type EndTree = Box<dyn Fn() + Send>;

/// Reconsiders the plan whenever a grant was moved.
pub struct MovedGrants {
    current: Arc<Current>,
    /// Called when the tree has an access that the policy does not allow and that is never held.
    end: Option<EndTree>,
    /// The lines that hold at present. Each is printed when it begins to hold.
    lines: Mutex<Vec<String>>,
}

impl MovedGrants {
    /// Creates it for the guards of one tree. Without `end`, the operator is told what to do.
    pub fn new(current: Arc<Current>, end: Option<EndTree>) -> MovedGrants {
        MovedGrants { current, end, lines: Mutex::default() }
    }

    /// Puts the plan for the present places of the grants in force.
    pub fn reconsider(&self) {
        let before = self.current.guard().floor.tiers();
        self.current.update(Guard::after_relocation);
        let guard = self.current.guard();
        if guard.floor.tiers() != before {
            tracing::info!("tiers now: {}", guard.floor.tiers());
        }
        let (lines, is_unheld) = self.lines_of(&guard);
        let before = std::mem::replace(&mut *self.lines.lock(), lines.clone());
        for line in lines.into_iter().filter(|line| !before.contains(line)) {
            guard.reporter.problem(format!("openclaw-guard: {}", shown(line.as_bytes())));
        }
        if let Some(end) = self.end.as_ref().filter(|_| is_unheld) {
            end();
        }
    }

    /// Returns a line for each grant that exceeds the policy because it was moved, and whether one of them is for an
    /// access that is never held.
    fn lines_of(&self, guard: &Guard) -> (Vec<String>, bool) {
        let untrapped = guard.floor.untrapped();
        let (mut lines, mut is_unheld) = (Vec::new(), false);
        for (class, verb) in CLASSES {
            let is_held = match class {
                Access::READ => !untrapped.reads,
                _ => !untrapped.writes,
            };
            let outcome = match (is_held, &self.end) {
                (true, _) => format!("the guard checks each {verb} itself from now on"),
                (false, None) => format!("the tree can still {verb} there; restart the guard to end that"),
                (false, Some(_)) => "the command is ended (--require-floor)".to_owned(),
            };
            for granted in guard.floor.exceeding(guard.policy(), class) {
                let Some(moved) = moved(&granted, verb) else { continue };
                is_unheld |= !is_held;
                let line = format!("{moved}: {outcome}");
                // An object may have several grants.
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        (lines, is_unheld)
    }
}

/// Describes the move of a grant; `None` if it was not moved.
fn moved(granted: &PlacedGrant<'_>, verb: &str) -> Option<String> {
    let path = String::from_utf8_lossy(granted.path);
    match &granted.location {
        Location::At(now) if granted.is_mounted_over => {
            let now = String::from_utf8_lossy(now);
            Some(format!(
                "procfs or another kernel file system was mounted below {now}, which the tree may {verb}"
            ))
        }
        Location::At(now) if now == granted.path => None,
        Location::At(now) => {
            let now = String::from_utf8_lossy(now);
            Some(format!(
                "{path} was moved to {now}, and the policy does not let the tree {verb} everything there"
            ))
        }
        Location::Unknown => Some(format!("{path} was moved, and the guard cannot find it")),
        Location::Gone => None,
    }
}
