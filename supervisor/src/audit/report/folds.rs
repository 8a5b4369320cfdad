//! Folds equal denials: the first has a line at once, and the rest are counted.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use crate::audit::{DecisionEvent, Span};

/// The number of different denials that are remembered.
pub const MAX_REMEMBERED: usize = 1024;

/// Counts the repeats of denials.
#[derive(Default)]
pub struct Folds {
    denials: HashMap<Denial, Folded>,
    /// The number of denials remembered so far.
    added: u64,
}

/// A denial, compared by all that its line says except for its time and the numbers of processes.
struct Denial(DecisionEvent);

struct Folded {
    /// Its place in the order in which denials were remembered.
    order: u64,
    /// The repeats that have no line yet.
    repeats: Option<Span>,
}

/// The repeats of a denial.
pub type Repeats = (Box<DecisionEvent>, Span);

impl Denial {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.chain.iter().map(|(_, name)| name.as_str())
    }
}

impl PartialEq for Denial {
    fn eq(&self, other: &Denial) -> bool {
        let (one, two) = (&self.0, &other.0);
        (one.operation, one.outcome, &one.path, &one.argv, &one.reason)
            == (two.operation, two.outcome, &two.path, &two.argv, &two.reason)
            && self.names().eq(other.names())
    }
}

impl Eq for Denial {}

impl Hash for Denial {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let DecisionEvent { operation, path, argv, reason, .. } = &self.0;
        (operation, path, argv, &reason.path, &reason.text).hash(state);
    }
}

impl Folds {
    /// Counts a denial if an equal one is remembered. Otherwise returns the denial.
    pub fn count(&mut self, event: DecisionEvent) -> Option<DecisionEvent> {
        let denial = Denial(event);
        let Some(folded) = self.denials.get_mut(&denial) else { return Some(denial.0) };
        folded.repeats = Some(Span::now().with(folded.repeats));
        None
    }

    /// Remembers a denial that has its line. If the oldest denial is forgotten to make room, returns that denial's
    /// repeats.
    pub fn remember(&mut self, event: DecisionEvent) -> Option<Repeats> {
        let repeats = if self.denials.len() < MAX_REMEMBERED { None } else { self.forget_oldest() };
        self.added += 1;
        self.denials.insert(Denial(event), Folded { order: self.added, repeats: None });
        repeats
    }

    fn forget_oldest(&mut self) -> Option<Repeats> {
        let oldest = self.denials.values().map(|folded| folded.order).min()?;
        let (denial, folded) = self.denials.extract_if(|_, folded| folded.order == oldest).next()?;
        Some((Box::new(denial.0), folded.repeats?))
    }

    /// Takes all repeats, and forgets the denials that had none.
    pub fn take(&mut self) -> Vec<Repeats> {
        let mut repeats = Vec::new();
        self.denials.retain(|denial, folded| {
            let Some(span) = folded.repeats.take() else { return false };
            repeats.push((folded.order, (Box::new(denial.0.clone()), span)));
            true
        });
        repeats.sort_by_key(|(order, _)| *order);
        repeats.into_iter().map(|(_, repeats)| repeats).collect()
    }

    /// Returns whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.denials.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use guard_policy::{Outcome, Reason, Source};
    use proptest::prelude::*;

    use super::*;
    use crate::audit::Operation;

    fn denial(path: &str, pid: i32) -> DecisionEvent {
        DecisionEvent {
            pid,
            chain: vec![(pid, "cat".to_owned())],
            operation: Operation::Read,
            path: path.into(),
            argv: vec![b"cat".to_vec()],
            outcome: Outcome::Deny,
            reason: Reason::new(Source::Global, "p", "r", "t"),
            micros: u64::from(pid.unsigned_abs()),
        }
    }

    /// Reports a denial as the logger does. Returns whether the denial has a line, and the repeats of a denial that was
    /// forgotten.
    fn report(folds: &mut Folds, event: DecisionEvent) -> (bool, Option<Repeats>) {
        match folds.count(event) {
            None => (false, None),
            Some(event) => (true, folds.remember(event)),
        }
    }

    #[test]
    fn only_denials_that_differ_just_in_the_process_are_folded() {
        let mut folds = Folds::default();
        assert!(report(&mut folds, denial("/a", 1)).0);
        assert!(!report(&mut folds, denial("/a", 2)).0);
        let different: [fn(&mut DecisionEvent); 6] = [
            |event| event.path = b"/b".to_vec(),
            |event| event.operation = Operation::Write,
            |event| event.argv.push(b"-n".to_vec()),
            |event| event.reason = Reason::new(Source::Global, "q", "r", "t"),
            |event| event.reason = Reason::new(Source::Builtin, "p", "r", "t"),
            |event| event.chain[0].1 = "dog".to_owned(),
        ];
        for (index, differ) in different.into_iter().enumerate() {
            let mut event = denial("/a", 3);
            differ(&mut event);
            assert!(report(&mut folds, event.clone()).0, "{index}");
            assert!(!report(&mut folds, event).0, "{index}");
        }
        let repeats = folds.take();
        assert_eq!(repeats.iter().map(|(_, span)| span.count).collect::<Vec<_>>(), [1; 7]);
        assert_eq!(repeats[0].0.pid, 1, "the process of the first");
        // Denials that had repeats are remembered for another interval, and then forgotten.
        assert!(!report(&mut folds, denial("/a", 4)).0);
        assert_eq!(folds.take().len(), 1);
        assert!(folds.take().is_empty() && folds.is_empty());
        assert!(report(&mut folds, denial("/a", 5)).0);
    }

    #[test]
    fn the_oldest_fold_makes_room() {
        let mut folds = Folds::default();
        let name = |number: usize| format!("/{number}");
        for number in 0..MAX_REMEMBERED {
            assert!(matches!(report(&mut folds, denial(&name(number), 1)), (true, None)));
        }
        report(&mut folds, denial("/0", 1));
        let (_, forgotten) = report(&mut folds, denial("/new", 1));
        let (event, span) = forgotten.expect("the repeats of the oldest");
        assert_eq!((&*event.path, span.count), (&b"/0"[..], 1));
        // The denial that is forgotten next has no repeats.
        assert!(matches!(report(&mut folds, denial("/newer", 1)), (true, None)));
        assert_eq!(folds.denials.len(), MAX_REMEMBERED);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// The lines and the counts add up to the denials, for each path.
        #[test]
        fn nothing_is_lost(paths in prop::collection::vec(0..2 * MAX_REMEMBERED, 0..4000), every in 1..2000usize) {
            let (mut folds, mut lines, mut expected) = (Folds::default(), BTreeMap::new(), BTreeMap::new());
            let mut add = |path: Vec<u8>, count: u64| *lines.entry(path).or_insert(0) += count;
            for (index, path) in paths.iter().enumerate() {
                let event = denial(&path.to_string(), 1);
                *expected.entry(event.path.clone()).or_insert(0) += 1;
                let (is_line, forgotten) = report(&mut folds, event.clone());
                add(event.path, u64::from(is_line));
                let taken = if index % every == 0 { folds.take() } else { Vec::new() };
                for (event, span) in forgotten.into_iter().chain(taken) {
                    add(event.path, span.count);
                }
                prop_assert!(folds.denials.len() <= MAX_REMEMBERED);
            }
            for (event, span) in folds.take() {
                add(event.path, span.count);
            }
            prop_assert_eq!(lines, expected);
        }
    }
}
