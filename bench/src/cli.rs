//! The command line.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::bare::Loop;
use crate::caller::Operation;
use crate::way::Tier;

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
