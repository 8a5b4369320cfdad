//! `guard-bench instructions`: counts the instructions of the supervisor's hot path, and compares with committed
//! figures.
//!
//! Instruction counts hardly depend on the load of the machine, so a regression of a few percent shows. The remaining
//! noise (hash seeds, names of temporary files) is removed by taking the median of several runs.

mod step;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::cli::Instructions;
use crate::error::{Context, Error};
use crate::stats::median;

/// The measured calls, as named by the driver (supervisor/src/syscall/hot.rs).
const NAMES: [&str; 6] =
    ["open-absolute", "open-relative", "open-floored", "open-missing", "open-denied", "decide"];
/// The driver, one of the supervisor's tests.
const DRIVER: &str = "syscall::hot::the_hottest_calls_are_answered_again_and_again";
/// The number of calls in the shorter loop.
const CALLS: u64 = 4;
/// Each count is the median of this many runs.
const RUNS: usize = 5;
/// A copy size in bytes that never occurs.
const NEVER: u64 = 1 << 30;
/// The factor by which a figure may grow.
const MAX_GROWTH: f64 = 1.05;

/// Committed figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionCounts {
    /// The compiler: another one generates other instructions.
    pub rustc: String,
    /// The instructions of one call.
    pub instructions: BTreeMap<String, u64>,
}

/// Counts, prints, and compares with the figures or writes them.
///
/// # Errors
/// If a call takes more instructions than allowed, or cannot be counted.
pub fn run(options: &Instructions) -> Result<(), Error> {
    let mut counted = InstructionCounts { rustc: rustc(), ..InstructionCounts::default() };
    for name in NAMES {
        let runs: Vec<f64> = (0..RUNS).map(|_| count(&options.driver, name)).collect::<Result<_, _>>()?;
        counted.instructions.insert(name.to_owned(), median(&runs).unwrap_or_default() as u64);
    }
    if options.update {
        let text = serde_json::to_string_pretty(&counted).context(|| "figures".into())?;
        std::fs::write(&options.figures, text + "\n").context(|| options.figures.display().to_string())?;
        println!("{}", table(&counted, &counted));
        return Ok(());
    }
    let committed = read(&options.figures)?;
    println!("{}", table(&counted, &committed));
    if committed.rustc != counted.rustc {
        println!("the figures are of {}, this is {}", committed.rustc, counted.rustc);
    }
    let more = more(&counted, &committed);
    if more.is_empty() {
        return Ok(());
    }
    let (more, figures) = (more.join(", "), options.figures.display());
    Err(Error::new(format!(
        "more than 5 % above {figures}: {more}. Make it faster, or, where it is worth it, --update"
    )))
}

/// The instructions of one call, in one run.
fn count(driver: &Path, name: &str) -> Result<f64, Error> {
    let (short, long) = step::between_marks(
        Command::new(driver)
            .args([DRIVER, "--exact", "--test-threads=1"])
            // Keeps the lengths of paths constant.
            .env("TMPDIR", "/tmp")
            // A copy by one repeated instruction (`rep movsb`) would count one instruction per byte or word.
            .env(
                "GLIBC_TUNABLES",
                format!(
                    "glibc.cpu.x86_rep_movsb_threshold={NEVER}:glibc.cpu.x86_rep_stosb_threshold={NEVER}"
                ),
            )
            .env("GUARD_HOT", format!("{name}:{CALLS}")),
    )?;
    Ok(per_call(short, long) as f64)
}

fn per_call(short: u64, long: u64) -> u64 {
    long.saturating_sub(short) / (2 * CALLS)
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn read(path: &Path) -> Result<InstructionCounts, Error> {
    let text = std::fs::read_to_string(path).context(|| path.display().to_string())?;
    serde_json::from_str(&text).context(|| path.display().to_string())
}

/// The calls that take too many instructions or have no committed figure.
fn more(counted: &InstructionCounts, committed: &InstructionCounts) -> Vec<String> {
    let limit = |name: &String| committed.instructions.get(name).map(|known| *known as f64 * MAX_GROWTH);
    let too_many = counted
        .instructions
        .iter()
        .filter(|(name, count)| limit(name).is_none_or(|limit| **count as f64 > limit));
    too_many.map(|(name, _)| name.clone()).collect()
}

fn table(counted: &InstructionCounts, committed: &InstructionCounts) -> String {
    let line = |(name, count): (&String, &u64)| {
        let change = committed.instructions.get(name).map_or("new".to_owned(), |known| {
            format!("{:+.1} %", (*count as f64 / (*known).max(1) as f64 - 1.0) * 100.0)
        });
        format!("{name:<16} {count:>8} instructions  {change:>8}")
    };
    counted.instructions.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{CALLS, InstructionCounts, more, per_call, table};

    fn figures(values: &[(&str, u64)]) -> InstructionCounts {
        let instructions = values.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        InstructionCounts { rustc: String::new(), instructions }
    }

    #[test]
    fn five_percent_more_is_fine_and_a_little_more_is_not() {
        let committed = figures(&[("a", 1000), ("b", 1000), ("c", 1000)]);
        let counted = figures(&[("a", 1050), ("b", 1051), ("c", 1), ("d", 1)]);
        assert_eq!(more(&counted, &committed), ["b", "d"]);
        assert_eq!(more(&committed, &committed), [""; 0]);
        let table = table(&counted, &committed);
        assert!(table.contains("+5.1 %") && table.contains("-99.9 %") && table.contains("new"), "{table}");
    }

    #[test]
    fn what_is_done_once_falls_out() {
        assert_eq!(per_call(1_000 + CALLS * 300, 1_000 + 3 * CALLS * 300), 300);
    }
}
