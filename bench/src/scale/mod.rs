//! `guard-bench scale`: how costs grow with more callers, processes, rules and calls.

mod conversation;
pub mod work;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bench_runner::BenchRunner;
use crate::caller::Latency;
use crate::cli::Scale;
use crate::error::{Context, Error};
use crate::guard::BenchGuard;
use crate::machine::Machine;
use crate::policies;
use crate::privileges;
use crate::results;
use crate::runner::Runner;
use crate::stats::median;
use crate::units::nanoseconds;
use conversation::Conversation;
use work::Rate;

/// The file that is opened.
const FILE: &str = "/etc/passwd";

/// All results. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Results {
    /// The measured machine.
    pub machine: Machine,
    /// The version of the guard.
    pub guard: String,
    /// The tier of the guard.
    pub tier: String,
    /// By the number of threads that open and close a file at the same time.
    pub callers: Vec<Pair<Rate>>,
    /// By the number of processes that run at the same time.
    pub processes: Vec<Processes>,
    /// By the number of rules in the policy.
    pub rules: Vec<Rules>,
    /// Nanoseconds for one open and close, by the number of components of the path.
    pub depth: Vec<Pair<f64>>,
    /// A caller that opens at intervals, alone (0) and beside one that opens in a loop (1).
    pub fairness: Vec<Pair<Rate>>,
    /// Memory over many calls by one guard.
    pub memory: Memory,
}

/// The same measurement natively and guarded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair<T> {
    /// The quantity that grows.
    pub n: usize,
    /// Without a guard.
    pub native: T,
    /// With the guard.
    pub guarded: T,
}

/// The result for one number of processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Processes {
    /// The number of processes.
    pub n: usize,
    /// Nanoseconds to start one, natively.
    pub native: f64,
    /// Nanoseconds to start one, guarded.
    pub guarded: f64,
    /// Resident memory of the guard's own processes while they run, in KiB.
    pub resident: u64,
}

/// The result for one number of rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The number of rules.
    pub n: usize,
    /// Nanoseconds for one open and close.
    pub open: f64,
    /// Nanoseconds for `-- true`.
    pub start: f64,
}

/// Resident memory of the guard's own processes, in KiB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The number of calls.
    pub calls: usize,
    /// The memory after the first thousand calls.
    pub start: u64,
    /// The memory after all calls.
    pub end: u64,
}

/// Measures, prints and writes the results.
///
/// # Errors
/// If something cannot be measured.
pub fn run(options: &Scale) -> Result<(), Error> {
    let guard = BenchGuard::find(&options.guard)?;
    let runner = Runner { world: policies::world(options.dir.as_deref())?, guard };
    privileges::drop()?;
    let bench = Bench { runner: &runner, quick: options.quick };
    let step = |what: &str| eprintln!("guard-bench: {what}");
    let ways = bench.guarded();
    step("callers in parallel");
    let callers = bench.callers()?;
    step("processes");
    let processes = bench.processes()?;
    step("rules");
    let rules = bench.rules()?;
    step("depth of paths");
    let depth = bench.depth()?;
    step("fairness");
    let fairness = bench.fairness()?;
    step("memory");
    let memory = bench.memory(options.calls.unwrap_or(if options.quick { 20_000 } else { 1_000_000 }))?;
    let results = Results {
        machine: Machine::this(runner.world.root()),
        guard: runner.guard.version().to_owned(),
        tier: ways.to_string(),
        callers,
        processes,
        rules,
        depth,
        fairness,
        memory,
    };
    println!("{}", table(&results));
    results::write(options.json.as_deref(), "scale", &results)
}

struct Bench<'r> {
    runner: &'r Runner,
    quick: bool,
}

impl Bench<'_> {
    fn guarded(&self) -> BenchRunner {
        BenchRunner::Guard(self.runner.guard.holding())
    }

    /// All of the numbers; for a quick run, the first and a quarter of the last.
    fn numbers(&self, all: &[usize]) -> Vec<usize> {
        match all {
            [first, .., last] if self.quick => vec![*first, *last / 4],
            all => all.to_vec(),
        }
    }

    fn line(&self, words: &[&str]) -> Vec<OsString> {
        let mut line = vec![self.runner.world.caller().into_os_string()];
        line.extend(words.iter().map(OsString::from));
        line
    }

    /// Runs this program and reads its output.
    fn ask<T: DeserializeOwned>(&self, way: BenchRunner, words: &[&str]) -> Result<T, Error> {
        parsed_output(self.runner.command(way, &self.line(words))?)
    }

    fn pair<T: DeserializeOwned>(&self, n: usize, words: &[&str]) -> Result<Pair<T>, Error> {
        Ok(Pair {
            n,
            native: self.ask(BenchRunner::Native, words)?,
            guarded: self.ask(self.guarded(), words)?,
        })
    }

    fn callers(&self) -> Result<Vec<Pair<Rate>>, Error> {
        let milliseconds = if self.quick { "100" } else { "1000" };
        let numbers = self.numbers(&[1, 2, 4, 8, 16, 32, 64]);
        numbers.into_iter().map(|n| self.pair(n, &["crowd", FILE, &n.to_string(), milliseconds])).collect()
    }

    fn processes(&self) -> Result<Vec<Processes>, Error> {
        let one = |n: usize| {
            let line = self.line(&["sleepers", &n.to_string()]);
            let mut native = Conversation::start(self.runner.command(BenchRunner::Native, &line)?)?;
            let native_time = native.hear()?;
            native.answer()?;
            native.end()?;
            let mut guarded = Conversation::start(self.runner.command(self.guarded(), &line)?)?;
            let guarded_time = guarded.hear()?;
            let resident = guarded.resident()?;
            guarded.answer()?;
            guarded.end()?;
            let each = |time: f64| (time / n as f64).round();
            Ok(Processes { n, native: each(native_time), guarded: each(guarded_time), resident })
        };
        self.numbers(&[1, 10, 100, 500, 1000, 2000]).into_iter().map(one).collect()
    }

    fn rules(&self) -> Result<Vec<Rules>, Error> {
        let world = &self.runner.world;
        let one = |n: usize| {
            let policy = policies::write_rules(world, n)?;
            let command = |line: &[OsString]| {
                self.runner.guard.command_with(self.runner.guard.holding(), &policy, world, line)
            };
            let latency: Latency = parsed_output(command(&self.line(&["caller", "open", FILE, "2000"])))?;
            let mut starts = Vec::new();
            for _ in 0..5 {
                let mut command = command(&["/bin/true".into()]);
                let start = Instant::now();
                let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
                let took = start.elapsed().as_nanos() as f64;
                if !status.context(|| "the guard".into())?.success() {
                    return Err(Error::new(format!("{n} rules: true fails")));
                }
                starts.push(took);
            }
            Ok(Rules { n, open: latency.each.round(), start: median(&starts).unwrap_or_default().round() })
        };
        self.numbers(&[10, 100, 1_000, 10_000]).into_iter().map(one).collect()
    }

    fn depth(&self) -> Result<Vec<Pair<f64>>, Error> {
        let root = self.runner.world.fresh()?;
        let one = |n: usize| {
            let path = deep(&root, n)?;
            let path = path.display().to_string();
            let pair: Pair<Latency> = self.pair(n, &["caller", "open", &path, "2000"])?;
            Ok(Pair { n, native: pair.native.each.round(), guarded: pair.guarded.each.round() })
        };
        self.numbers(&[1, 5, 10, 20, 30, 40, 50, 60]).into_iter().map(one).collect()
    }

    fn fairness(&self) -> Result<Vec<Pair<Rate>>, Error> {
        let count = if self.quick { "50" } else { "2000" };
        let one = |(n, beside)| self.pair(n, &["now-and-then", FILE, count, beside]);
        [(0, "nobody"), (1, "greedy")].into_iter().map(one).collect()
    }

    fn memory(&self, calls: usize) -> Result<Memory, Error> {
        let line = self.line(&["steady", FILE, &calls.to_string()]);
        let mut guarded = Conversation::start(self.runner.command(self.guarded(), &line)?)?;
        guarded.hear()?;
        let start = guarded.resident()?;
        guarded.answer()?;
        guarded.hear()?;
        let end = guarded.resident()?;
        guarded.answer()?;
        guarded.end()?;
        Ok(Memory { calls, start, end })
    }
}

/// Runs a command that prints one JSON value.
fn parsed_output<T: DeserializeOwned>(mut command: Command) -> Result<T, Error> {
    let output = command.output().context(|| command.get_program().to_string_lossy().into_owned())?;
    if !output.status.success() {
        return Err(Error::new(format!("{}: {}", output.status, output.stderr.trim_ascii().escape_ascii())));
    }
    serde_json::from_slice(&output.stdout).context(|| "what is measured".into())
}

/// Creates a file below `depth` directories.
fn deep(root: &Path, depth: usize) -> Result<PathBuf, Error> {
    let directory =
        (1..depth).fold(root.join(format!("deep{depth}")), |path, level| path.join(format!("d{level}")));
    std::fs::create_dir_all(&directory).context(|| directory.display().to_string())?;
    let file = directory.join("file");
    std::fs::write(&file, "").context(|| file.display().to_string())?;
    Ok(file)
}

fn table(results: &Results) -> String {
    let rate = |rate: &Rate| {
        format!(
            "{:>8.0} calls/s  p50 {:>8}  p99 {:>8}",
            rate.per_second,
            nanoseconds(rate.p50),
            nanoseconds(rate.p99)
        )
    };
    let mut lines = vec![format!("tier: {}", results.tier)];
    for pair in &results.callers {
        lines.push(format!(
            "{:>5} callers    native {}   guarded {}",
            pair.n,
            rate(&pair.native),
            rate(&pair.guarded)
        ));
    }
    for own in &results.processes {
        let (native, guarded) = (nanoseconds(own.native), nanoseconds(own.guarded));
        let (n, resident) = (own.n, own.resident);
        lines.push(format!(
            "{n:>5} processes  native {native:>8} each   guarded {guarded:>8} each, {resident} KiB"
        ));
    }
    for rules in &results.rules {
        let (open, start) = (nanoseconds(rules.open), nanoseconds(rules.start));
        lines.push(format!("{:>5} rules      open + close {open:>8}   start {start:>8}", rules.n));
    }
    for pair in &results.depth {
        let (native, guarded) = (nanoseconds(pair.native), nanoseconds(pair.guarded));
        lines.push(format!("{:>5} deep       native {native:>8}   guarded {guarded:>8}", pair.n));
    }
    for (pair, what) in results.fairness.iter().zip(["alone", "beside a greedy caller"]) {
        lines.push(format!("{what}: native {}   guarded {}", rate(&pair.native), rate(&pair.guarded)));
    }
    let Memory { calls, start, end } = results.memory;
    lines.push(format!("memory after {calls} calls: {end} KiB, at the start {start} KiB"));
    lines.join("\n")
}
