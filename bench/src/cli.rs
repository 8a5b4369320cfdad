//! The command line.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::bare::Loop;
use crate::bench_runner::Tier;
use crate::caller::Operation;
use crate::scale::work::Beside;

/// What the guard costs, measured from the side of what it guards.
#[derive(Parser, Debug)]
#[command(name = "guard-bench", version)]
pub struct Cli {
    /// What to measure.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Calls and commands, native and guarded by turns, beside the goals
    Overhead(Overhead),
    /// The same beside other programs, and beside supervisors that only answer
    Peers(Measure),
    /// What becomes of the cost with more callers, processes, rules and calls
    Scale(Scale),
    /// Draws the results
    Plot(Plot),
    /// Writes the results into the page
    Tables(Tables),
    /// Counts the instructions of the supervisor's hot path; `make bench-check` builds what it needs
    Instructions(Instructions),
    /// Makes calls and says how long they took
    #[command(hide = true)]
    Caller {
        /// Which call.
        operation: Operation,
        /// On what.
        path: PathBuf,
        /// How often, twice.
        count: usize,
    },
    /// Threads that open and close a file
    #[command(hide = true)]
    Crowd {
        /// Which file.
        path: PathBuf,
        /// How many.
        threads: usize,
        /// For how long.
        milliseconds: u64,
    },
    /// Opens a file now and then
    #[command(hide = true)]
    NowAndThen {
        /// Which file.
        path: PathBuf,
        /// How often.
        count: usize,
        /// Who else calls.
        beside: Beside,
    },
    /// Opens a file until standard input ends
    #[command(hide = true)]
    Greedy {
        /// Which file.
        path: PathBuf,
    },
    /// Starts processes that wait
    #[command(hide = true)]
    Sleepers {
        /// How many.
        count: usize,
    },
    /// Opens a file so often
    #[command(hide = true)]
    Steady {
        /// Which file.
        path: PathBuf,
        /// How often.
        count: usize,
    },
    /// Runs a command under a supervisor that only answers
    #[command(hide = true)]
    Bare {
        /// Which.
        own: Loop,
        /// The command.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Becomes a command under a filter, for `bare`
    #[command(hide = true)]
    BareLeader {
        /// The command.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// Options of `overhead`.
#[derive(Args, Debug)]
pub struct Overhead {
    /// What is common to all.
    #[command(flatten)]
    pub measure: Measure,
    /// Under the guard with these, each one more than that before [default: those with a goal]
    #[arg(long, value_name = "TIER", value_delimiter = ',')]
    pub tiers: Vec<Tier>,
}

/// Options of `scale`.
#[derive(Args, Debug)]
pub struct Scale {
    /// The guard that is measured
    #[arg(long, value_name = "PATH", default_value = "target/release/openclaw-guard")]
    pub guard: PathBuf,
    /// Where results are written [default: a file in bench/results]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where to work [default: in memory, for those who may mount; else on the disk]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Calls between the two looks at memory [default: 1000000, quick 20000]
    #[arg(long, value_name = "N")]
    pub calls: Option<usize>,
    /// Fewer numbers and calls, for a first look
    #[arg(long)]
    pub quick: bool,
}

/// Options of `plot`.
#[derive(Args, Debug)]
pub struct Plot {
    /// Where results are
    #[arg(long, value_name = "DIR", default_value = "bench/results")]
    pub results: PathBuf,
    /// Where pictures are written
    #[arg(long, value_name = "DIR", default_value = "docs/benchmarks")]
    pub pictures: PathBuf,
}

/// Options of `tables`.
#[derive(Args, Debug)]
pub struct Tables {
    /// Where results are
    #[arg(long, value_name = "DIR", default_value = "bench/results")]
    pub results: PathBuf,
    /// The page with places for tables
    #[arg(long, value_name = "FILE", default_value = "docs/benchmarks.md")]
    pub page: PathBuf,
}

/// Options of `instructions`.
#[derive(Args, Debug)]
pub struct Instructions {
    /// The supervisor's tests, built for release
    #[arg(long, value_name = "PATH")]
    pub driver: PathBuf,
    /// The figures to compare with
    #[arg(long, value_name = "FILE", default_value = "bench/instructions.json")]
    pub figures: PathBuf,
    /// Write what was counted instead
    #[arg(long)]
    pub update: bool,
}

/// How to measure rows.
#[derive(Args, Debug)]
pub struct Measure {
    /// The guard that is measured
    #[arg(long, value_name = "PATH", default_value = "target/release/openclaw-guard")]
    pub guard: PathBuf,
    /// Where results are written [default: a file in bench/results]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Rounds of each row [default: 7, quick 3]
    #[arg(long, value_name = "N")]
    pub rounds: Option<NonZeroUsize>,
    /// Only these rows
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Where to work [default: in memory, for those who may mount; else on the disk]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Fewer rounds and calls, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Name the rows, and measure nothing
    #[arg(long)]
    pub list: bool,
}
