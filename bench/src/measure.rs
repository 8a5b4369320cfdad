//! Measures one row in several ways, in turns.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::bench_runner::BenchRunner;
use crate::caller::Latency;
use crate::error::{Context, Error};
use crate::histogram::Histogram;
use crate::rows::{ExpectedStatus, On, Row, Work};
use crate::runner::Runner;
use crate::stats::median;
use crate::world::World;

/// How thoroughly to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The number of rounds. Each round covers every way.
    pub rounds: usize,
    /// The divisor of the number of calls.
    pub fewer: usize,
}

/// The measurements of one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Nanoseconds for one call or for the command, by round.
    pub each: Vec<f64>,
    /// For calls: the median latency, by round.
    pub p50: Vec<f64>,
    /// For calls: the 99th percentile, by round.
    pub p99: Vec<f64>,
    /// For calls: all latencies of all rounds.
    pub histogram: Option<Histogram>,
}

impl Series {
    fn add(&mut self, sample: Sample) {
        match sample {
            Sample::Calls(latency) => {
                self.each.push(latency.each);
                self.p50.push(latency.p50);
                self.p99.push(latency.p99);
                self.histogram.get_or_insert_default().merge(&latency.histogram);
            }
            Sample::Command(nanoseconds) => self.each.push(nanoseconds),
        }
    }
}

/// The measurements of one row.
pub struct Measured {
    /// In the order of the requested ways.
    pub ways: Vec<(BenchRunner, Series)>,
    /// The ways that were left out, and why.
    pub left_out: Vec<String>,
}

enum Sample {
    Calls(Latency),
    Command(f64),
}

/// Runs the row in every way, then again, so that other load on the machine affects all ways alike. A first round for
/// warm-up is not counted. A peer program that fails is left out.
///
/// # Errors
/// If something fails natively or under the guard, because then there is nothing to compare.
pub fn by_turns(row: &Row, ways: &[BenchRunner], effort: Effort, runner: &Runner) -> Result<Measured, Error> {
    let mut all: Vec<_> = ways.iter().map(|way| (*way, Series::default())).collect();
    let mut left_out = Vec::new();
    for round in 0..=effort.rounds {
        let mut still = Vec::new();
        for (way, mut series) in all {
            match (once(&row.work, way, effort, runner), way) {
                (Ok(sample), _) => {
                    if round > 0 {
                        series.add(sample);
                    }
                    still.push((way, series));
                }
                (Err(error), BenchRunner::Peer(_)) => left_out.push(format!("{way}: {error} ({})", row.name)),
                (Err(error), _) => return Err(Error::new(format!("{}, {way}: {error}", row.name))),
            }
        }
        all = still;
    }
    Ok(Measured { ways: all, left_out })
}

fn once(work: &Work, way: BenchRunner, effort: Effort, runner: &Runner) -> Result<Sample, Error> {
    let world = &runner.world;
    match *work {
        Work::Calls { operation, on, count } => {
            let path = match on {
                On::Path(path) => PathBuf::from(path),
                On::Fresh => world.fresh()?,
            };
            let count = (count / effort.fewer).max(1);
            let name = clap::ValueEnum::to_possible_value(&operation)
                .map(|value| value.get_name().to_owned())
                .unwrap_or_default();
            let line = [
                world.caller().into(),
                "caller".into(),
                name.into(),
                path.clone().into(),
                count.to_string().into(),
            ];
            run(runner.command(way, &line)?, ExpectedStatus::Zero, world)?;
            if matches!(on, On::Fresh) {
                std::fs::remove_dir_all(&path).context(|| path.display().to_string())?;
            }
            let output_json =
                std::fs::read_to_string(output(world)).context(|| "what the caller said".into())?;
            Ok(Sample::Calls(serde_json::from_str(&output_json).context(|| "what the caller said".into())?))
        }
        Work::Command { line, times, status } => {
            let line = line(world)?;
            let mut all = Vec::new();
            for _ in 0..times {
                all.push(run(runner.command(way, &line)?, status, world)?);
            }
            median(&all).map(Sample::Command).ok_or_else(|| Error::new("nothing to run"))
        }
    }
}

/// Runs a command and returns its duration in nanoseconds. Output goes to a file: some programs do less work
/// when their output goes to /dev/null.
fn run(mut command: Command, fine: ExpectedStatus, world: &World) -> Result<f64, Error> {
    let (out, errors) = (output(world), world.root().join("errors"));
    command.stdout(created(&out)?).stderr(created(&errors)?);
    let start = Instant::now();
    let status = command.status();
    let took = start.elapsed().as_nanos() as f64;
    let status = status.context(|| command.get_program().to_string_lossy().into_owned())?;
    let has_output = std::fs::metadata(&out).is_ok_and(|data| data.len() > 0);
    if status.success() || fine == ExpectedStatus::ZeroOrOne && status.code() == Some(1) && has_output {
        return Ok(took);
    }
    let stderr = std::fs::read(&errors).unwrap_or_default();
    let tail = &stderr[stderr.len().saturating_sub(400)..];
    Err(Error::new(format!("{status}: {}", tail.trim_ascii_end().escape_ascii())))
}

fn output(world: &World) -> PathBuf {
    world.root().join("output")
}

fn created(path: &Path) -> Result<File, Error> {
    File::create(path).context(|| path.display().to_string())
}
