//! `guard-bench overhead` and `peers`: rows, each in several ways by turns.

use crate::bare::Loop;
use crate::bench_runner::{BenchRunner, ShippedPolicy, Tier};
use crate::cli::{Measure, Overhead};
use crate::error::Error;
use crate::guard::BenchGuard;
use crate::machine::Machine;
use crate::measure::{Effort, Measured, by_turns};
use crate::peers::Peer;
use crate::policies;
use crate::privileges;
use crate::report::{Report, ReportRow, latencies, table};
use crate::results;
use crate::rows::{Row, all};
use crate::runner::Runner;

/// Measures native and guarded, and compares with the goals.
///
/// # Errors
/// If something cannot be measured. A missed goal is not an error.
pub fn overhead(options: &Overhead) -> Result<(), Error> {
    measure(&options.measure, "overhead", Vec::new(), |row, guard| {
        let mut tiers = options.tiers.clone();
        let mut ways = Vec::new();
        if tiers.is_empty() {
            ways.extend(ShippedPolicy::ALL.map(BenchRunner::Shipped));
            tiers = vec![guard.holding()];
            tiers.extend(row.kernel.map(|_| Tier::Kernel));
        }
        tiers.retain(|tier| guard.knows(*tier));
        ways.extend(tiers.into_iter().map(BenchRunner::Guard));
        ways
    })
}

/// Measures the same rows with the bare supervisors and with other programs.
///
/// # Errors
/// If something other than a peer program cannot be measured.
pub fn peers(options: &Measure) -> Result<(), Error> {
    let (found, missing): (Vec<_>, Vec<_>) = Peer::ALL.into_iter().partition(|peer| peer.find().is_some());
    let missing = missing.iter().map(|peer| format!("{} is not on PATH", peer.name())).collect();
    measure(options, "peers", missing, |_, guard| {
        let tiers = [guard.holding(), Tier::Kernel].into_iter().filter(|tier| guard.knows(*tier));
        let loops = Loop::ALL.into_iter().map(BenchRunner::Bare);
        [BenchRunner::Shipped(ShippedPolicy::Coding)]
            .into_iter()
            .chain(tiers.map(BenchRunner::Guard))
            .chain(loops)
            .chain(found.iter().copied().map(BenchRunner::Peer))
            .collect()
    })
}

/// Measures the chosen rows natively and in the ways that `ways` returns for each. Prints and writes the results.
fn measure(
    options: &Measure,
    name: &str,
    left_out: Vec<String>,
    ways: impl Fn(&Row, &BenchGuard) -> Vec<BenchRunner>,
) -> Result<(), Error> {
    if options.list {
        all().iter().for_each(|row| println!("{:<12} {}", row.name, row.what));
        return Ok(());
    }
    let rows = chosen(&options.only)?;
    let guard = BenchGuard::find(&options.guard)?;
    let runner = Runner { world: policies::world(options.dir.as_deref())?, guard };
    runner.guard.write_shipped(&runner.world)?;
    privileges::drop()?;
    let effort = effort(options);
    let mut report = Report {
        machine: Machine::this(runner.world.root()),
        guard: runner.guard.version().to_owned(),
        rounds: effort.rounds,
        rows: Vec::new(),
        left_out,
    };
    for (index, row) in rows.iter().enumerate() {
        eprintln!("guard-bench: {} of {}: {}", index + 1, rows.len(), row.what);
        let mut ways = ways(row, &runner.guard);
        ways.insert(0, BenchRunner::Native);
        let Measured { ways: measured, left_out: failed } = by_turns(row, &ways, effort, &runner)?;
        for text in failed {
            // A program that does not run at all fails in every row: report it once.
            let (way, _) = text.split_once(':').unwrap_or_default();
            if !report.left_out.iter().any(|known| known.starts_with(way)) {
                eprintln!("guard-bench: left out: {text}");
                report.left_out.push(text);
            }
        }
        report.rows.push(ReportRow::new(row, &measured));
    }
    println!("{}\n{}", table(&report), latencies(&report));
    report.left_out.iter().for_each(|text| println!("left out: {text}"));
    results::write(options.json.as_deref(), name, &report)
}

/// The rows with these names, in the order of the table; all rows without names.
fn chosen(names: &[String]) -> Result<Vec<Row>, Error> {
    let mut rows = all();
    if let Some(unknown) = names.iter().find(|name| rows.iter().all(|row| row.name != **name)) {
        return Err(Error::new(format!("there is no row {unknown:?}; --list names them")));
    }
    if !names.is_empty() {
        rows.retain(|row| names.iter().any(|name| name == row.name));
    }
    Ok(rows)
}

fn effort(options: &Measure) -> Effort {
    let (rounds, fewer) = if options.quick { (3, 4) } else { (7, 1) };
    Effort { rounds: options.rounds.map_or(rounds, usize::from), fewer }
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn rows_are_chosen_by_name() {
        let names = |requested: &[&str]| {
            let requested: Vec<String> = requested.iter().map(|name| (*name).to_owned()).collect();
            chosen(&requested).map(|rows| rows.iter().map(|row| row.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["start", "open"]).unwrap(), ["open", "start"]);
        assert_eq!(names(&[]).unwrap().len(), 14);
        assert!(names(&["opne"]).unwrap_err().to_string().contains("opne"));
    }
}
