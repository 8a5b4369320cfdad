//! `openclaw-guard bench`: what the guard costs on this machine, under the policy in force, in each tier.

mod calls;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

use crate::charset::fitted;

/// What `bench` is asked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard bench                       with the policy in force, in the current directory\n  \
    openclaw-guard --policy guard.json bench   with another policy\n  \
    openclaw-guard bench --json\n\n\
    It runs the same calls natively and guarded, alternately, and prints the medians. It creates and\n\
    removes one file in the current directory.\n\n\
    Exit status: 0, 125 error.")]
pub struct BenchArgs {
    /// Print the medians as JSON, in nanoseconds
    #[arg(long)]
    json: bool,
    /// The number of rounds, each native and guarded
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// The measurement itself, which this command starts: make the calls, and print how long each takes
    #[arg(long, hide = true)]
    calls: bool,
}

/// How the calls are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Native,
    Broker,
    Floored,
    Kernel,
}

impl Mode {
    const ALL: [Mode; 4] = [Mode::Native, Mode::Broker, Mode::Floored, Mode::Kernel];

    fn name(self) -> &'static str {
        match self {
            Mode::Native => "native",
            Mode::Broker => "broker",
            Mode::Floored => "floored",
            Mode::Kernel => "kernel",
        }
    }

    /// The value for `--tiers`.
    fn tiers(self) -> Option<&'static str> {
        match self {
            Mode::Native => None,
            Mode::Broker => Some("broker"),
            Mode::Floored => Some("broker,floored"),
            Mode::Kernel => Some("broker,floored,kernel"),
        }
    }
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("cannot find the guard's own program: {0}")]
    Itself(std::io::Error),
    #[error("cannot run the measurement: {0}")]
    Run(std::io::Error),
    #[error("{way}: the measurement did not finish: {text}", text = shown(.text.as_bytes()))]
    Failed { way: &'static str, text: String },
    #[error("cannot print: {0}")]
    Print(#[from] std::io::Error),
}

/// The name of each call and its nanoseconds, in the order of the calls.
type Timings = Vec<(String, f64)>;

/// Runs the benchmark and prints the results.
///
/// # Errors
/// When the calls cannot be run, natively or under the policy.
pub fn run(options: &Options, arguments: &BenchArgs) -> Result<Exit, BenchError> {
    if arguments.calls {
        calls::measure()?;
        return Ok(Exit::Success);
    }
    let program = std::env::current_exe().map_err(BenchError::Itself)?;
    let mut runs: BTreeMap<Mode, Vec<Timings>> = BTreeMap::new();
    for round in 1..=arguments.rounds {
        eprint!("\ropenclaw-guard: round {round} of {} ", arguments.rounds);
        for way in Mode::ALL {
            runs.entry(way).or_default().push(figures(options, &program, way)?);
        }
    }
    eprintln!();
    print(&runs, arguments.json)?;
    Ok(Exit::Success)
}

fn figures(options: &Options, program: &PathBuf, way: Mode) -> Result<Timings, BenchError> {
    let mut command = Command::new(program);
    if let Some(tiers) = way.tiers() {
        command.args(["-q", "--unattended", "--tiers", tiers, "--agent", &options.agent]);
        for (name, path) in
            [("--policy", &options.policy), ("--home", &options.home), ("--audit", &options.audit)]
        {
            command.args(path.iter().flat_map(|path| [name.as_ref(), path.as_os_str()]));
        }
        command.arg("--").arg(program);
    }
    let ended = command.args(["bench", "--calls"]).stdin(Stdio::null()).output().map_err(BenchError::Run)?;
    if !ended.status.success() {
        let text = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        let text = if text.is_empty() { ended.status.to_string() } else { text };
        return Err(BenchError::Failed { way: way.name(), text });
    }
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let line = |line: &str| {
        let (name, figure) = line.rsplit_once('\t')?;
        Some((name.to_owned(), figure.parse().ok()?))
    };
    Ok(text.lines().filter_map(line).collect())
}

fn print(runs: &BTreeMap<Mode, Vec<Timings>>, json: bool) -> std::io::Result<()> {
    let names: Vec<&String> = runs
        .get(&Mode::Native)
        .and_then(|all| all.first())
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    let of = |way: Mode, name: &String| {
        let all = runs.get(&way).into_iter().flatten().flatten();
        median(all.filter(|(other, _)| other == name).map(|(_, figure)| *figure).collect())
    };
    let mut out = std::io::stdout().lock();
    if json {
        let medians = |name: &&String| {
            let ways = Mode::ALL.map(|way| (way.name().to_owned(), serde_json::json!(of(way, name))));
            ((*name).clone(), serde_json::Value::Object(ways.into_iter().collect()))
        };
        let all: serde_json::Map<_, _> = names.iter().map(medians).collect();
        return writeln!(out, "{}", serde_json::Value::Object(all));
    }
    let (micros, times) = (fitted("µs"), fitted("×"));
    writeln!(out, "{:<28}{:>12}{:>18}{:>18}{:>18}", "", "native", "broker", "floored", "kernel")?;
    for name in names {
        let native = of(Mode::Native, name);
        write!(out, "{name:<28}{:>9.2} {micros}", native / 1000.0)?;
        for way in &Mode::ALL[1..] {
            let figure = of(*way, name);
            write!(out, "{:>9.2} {micros}{:>5.1}{times}", figure / 1000.0, figure / native)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "\nWhich calls are left to which tier: openclaw-guard policy show --tiers")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }
}
