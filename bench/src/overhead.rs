//! `guard-bench overhead`: every row, native and guarded by turns.

use crate::cli::Overhead;
use crate::error::Error;
use crate::machine::Machine;
use crate::measure::{Effort, by_turns};
use crate::privileges;
use crate::report::{Line, Report, latencies, table};
use crate::results;
use crate::rows::{Row, all};
use crate::way::{Guard, Way};
use crate::world::World;

/// Measures, shows and writes.
///
/// # Errors
/// When something cannot be measured. A goal that is not met is no error.
pub fn run(options: &Overhead) -> Result<(), Error> {
    if options.list {
        all().iter().for_each(|row| println!("{:<12} {}", row.name, row.what));
        return Ok(());
    }
    let rows = chosen(&options.only)?;
    privileges::drop()?;
    let guard = Guard::find(&options.guard)?;
    let world = World::new(options.dir.as_deref())?;
    let effort = options.effort();
    let mut report = Report {
        machine: Machine::this(world.root()),
        guard: guard.version().to_owned(),
        rounds: effort.rounds,
        rows: Vec::new(),
    };
    for (index, row) in rows.iter().enumerate() {
        eprintln!("guard-bench: {} of {}: {}", index + 1, rows.len(), row.what);
        let ways = ways(row, &options.ways, &guard);
        report.rows.push(Line::new(row, &by_turns(row, &ways, effort, &world, &guard)?));
    }
    println!("{}\n{}", table(&report), latencies(&report));
    results::write(&options.json, &report)
}

/// The rows that were named, in the order of the table; all if none was.
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

/// Native, then those that were named; without names the ways that the row has goals for, as far as this guard knows them.
fn ways(row: &Row, named: &[Way], guard: &Guard) -> Vec<Way> {
    let mut ways = vec![Way::Native];
    if named.is_empty() {
        ways.push(if guard.knows(Way::Floored) { Way::Floored } else { Way::Broker });
        ways.extend(row.kernel.map(|_| Way::Kernel));
    } else {
        ways.extend(named.iter().filter(|way| **way != Way::Native));
    }
    ways.retain(|way| guard.knows(*way));
    ways
}

impl Overhead {
    fn effort(&self) -> Effort {
        let (rounds, fewer) = if self.quick { (3, 4) } else { (7, 1) };
        Effort { rounds: self.rounds.map_or(rounds, usize::from), fewer }
    }
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn rows_are_chosen_by_name() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
            chosen(&wanted).map(|rows| rows.iter().map(|row| row.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["start", "open"]).unwrap(), ["open", "start"]);
        assert_eq!(names(&[]).unwrap().len(), 14);
        assert!(names(&["opne"]).unwrap_err().to_string().contains("opne"));
    }
}
