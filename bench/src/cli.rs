//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::caller::Operation;
use crate::way::Way;

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
}

/// Options of `overhead`.
#[derive(Args, Debug)]
pub struct Overhead {
    /// The guard that is measured
    #[arg(long, value_name = "PATH", default_value = "target/release/openclaw-guard")]
    pub guard: PathBuf,
    /// Where results are written
    #[arg(long, value_name = "FILE", default_value = "bench/results/overhead.json")]
    pub json: PathBuf,
    /// Rounds of each row [default: 7, quick 3]
    #[arg(long, value_name = "N")]
    pub rounds: Option<NonZeroUsize>,
    /// Only these rows
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Beside native, these ways [default: those with a goal]
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    pub ways: Vec<Way>,
    /// Where to work [default: memory, if /dev/shm is that]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Fewer rounds and calls, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Name the rows, and measure nothing
    #[arg(long)]
    pub list: bool,
}
