//! Compares both runs of every sequence call by call, and shrinks a sequence that differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::known::{SET_ID, known, without_set_id};
use super::player::{Played, Player, Side};
use super::vocabulary::{Sequence, sequence};

/// Sequences that one process plays.
const BATCH: usize = 100;
/// Different differences that are shrunk and shown.
const SHOWN: usize = 8;
/// Steps in which a sequence is shrunk.
const SHRINKS: usize = 300;

/// The first difference of two runs.
enum First {
    /// A known one, by its name.
    Known(&'static str),
    /// A new one, by its kind: one of each is shown.
    New(String),
}

/// Returns the first difference. What follows a known one is not compared, as it may result from it.
fn difference(sequence: &Sequence, native: &Played, guarded: &Played) -> Option<First> {
    for (index, line) in native.lines.iter().enumerate() {
        let other = guarded.lines.get(index).map_or("", String::as_str);
        if line == other {
            continue;
        }
        let Some(call) = sequence.calls.get(index) else {
            return Some(First::New(format!("{line} {other}")));
        };
        if let Some(name) = known(call, line, other) {
            return Some(First::Known(name));
        }
        let error = |line: &str| line.split(' ').nth(2).unwrap_or_default().to_owned();
        return Some(First::New(format!("{} {} {}", call.name, error(line), error(other))));
    }
    if native.files == guarded.files {
        return None;
    }
    let bare = native.files.iter().map(|(name, file)| (name.clone(), without_set_id(file)));
    let is_known = bare.collect::<BTreeMap<_, _>>() == guarded.files;
    Some(if is_known { First::Known(SET_ID) } else { First::New("files".to_owned()) })
}

/// Renders both runs side by side.
fn shown(sequence: &Sequence, native: &Played, guarded: &Played) -> String {
    let mut text = String::new();
    for (index, line) in native.lines.iter().enumerate() {
        let call = sequence.calls.get(index).map(ToString::to_string).unwrap_or_default();
        let other = guarded.lines.get(index).map_or("nothing", String::as_str);
        if line == other {
            let _ = writeln!(text, "  {call} {line}");
        } else {
            let _ = writeln!(text, "  {call}\n      native  {line}\n      guarded {other}");
        }
    }
    let names: BTreeSet<_> = native.files.keys().chain(guarded.files.keys()).collect();
    for name in names {
        let (one, other) = (native.files.get(name), guarded.files.get(name));
        if one != other {
            let _ = writeln!(text, "  {name}\n      native  {one:?}\n      guarded {other:?}");
        }
    }
    text
}

/// Two ways to play the same sequences; the first is the reference.
pub struct Pair<'p> {
    /// The reference.
    pub right: (&'p Player, Side),
    /// The player whose results must equal the reference's.
    pub other: &'p Player,
    /// The name of the second way.
    pub name: &'p str,
}

fn run(pair: &Pair<'_>, sequences: &[Sequence]) -> (Vec<Played>, Vec<Played>) {
    let (player, side) = pair.right;
    (player.play(sequences, side), pair.other.play(sequences, Side::Guarded))
}

/// Plays `count` sequences generated from this seed in both ways, and fails if they differ.
pub fn compare(pair: &Pair<'_>, count: usize, seed: u64) {
    let config = Config { failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let strategy = sequence();
    let (mut kinds, mut reports, mut calls) = (BTreeSet::new(), Vec::new(), 0);
    let mut excused = BTreeMap::new();
    let mut left = count;
    while left > 0 && reports.len() < SHOWN {
        let mut trees: Vec<_> = (0..left.min(BATCH))
            .map(|_| strategy.new_tree(&mut runner).expect("nothing is rejected"))
            .collect();
        left -= trees.len();
        let sequences: Vec<Sequence> = trees.iter().map(ValueTree::current).collect();
        calls += sequences.iter().map(|sequence| sequence.calls.len()).sum::<usize>();
        let (native, guarded) = run(pair, &sequences);
        for (index, sequence) in sequences.iter().enumerate() {
            let kind = match difference(sequence, &native[index], &guarded[index]) {
                None => continue,
                Some(First::Known(name)) => {
                    *excused.entry(name).or_insert(0) += 1;
                    continue;
                }
                Some(First::New(kind)) => kind,
            };
            if reports.len() < SHOWN && kinds.insert(kind.clone()) {
                let text = shown(sequence, &native[index], &guarded[index]);
                reports.push(shortest(pair, &mut trees[index], &kind, text));
            }
        }
    }
    assert!(
        reports.is_empty(),
        "{}: of {} sequences with seed {seed} these differ:\n\n{}",
        pair.name,
        count - left,
        reports.join("\n")
    );
    println!("{}: {count} sequences, {calls} calls, seed {seed}; known: {excused:?}", pair.name);
}

/// Shrinks the sequence while it differs in the same way; `text` shows the runs of the whole sequence.
fn shortest(
    pair: &Pair<'_>,
    tree: &mut impl ValueTree<Value = Sequence>,
    kind: &str,
    text: String,
) -> String {
    let attempt = |sequence: Sequence| {
        let (native, guarded) = run(pair, std::slice::from_ref(&sequence));
        let found = difference(&sequence, &native[0], &guarded[0]);
        let differs = matches!(found, Some(First::New(found)) if found == kind);
        differs.then(|| shown(&sequence, &native[0], &guarded[0]))
    };
    let mut best = attempt(tree.current());
    if best.is_none() {
        return format!("{kind}, once:\n{text}");
    }
    for _ in 0..SHRINKS {
        if !tree.simplify() {
            break;
        }
        loop {
            if let Some(text) = attempt(tree.current()) {
                best = Some(text);
                break;
            }
            if !tree.complicate() {
                break;
            }
        }
    }
    format!("{kind}:\n{}", best.unwrap_or_default())
}
