//! The ways in which the same work is run.

use std::fmt;

use clap::ValueEnum;

use crate::bare::Loop;
use crate::peers::Peer;

/// A way to run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchRunner {
    /// As it is.
    Native,
    /// Under the guard.
    Guard(Tier),
    /// Under a supervisor that does nothing but answer: what the mechanism costs by itself.
    Bare(Loop),
    /// Under another program.
    Peer(Peer),
}

/// How far the guard may go to save time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tier {
    /// Every call is done by the supervisor.
    Broker,
    /// Calls may be judged and let go on over the floor.
    Floored,
    /// Calls may also not be held at all, where the floor is what the policy says.
    Kernel,
}

impl fmt::Display for BenchRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BenchRunner::Native => "native",
            BenchRunner::Guard(Tier::Broker) => "broker",
            BenchRunner::Guard(Tier::Floored) => "floored",
            BenchRunner::Guard(Tier::Kernel) => "kernel",
            BenchRunner::Bare(own) => own.name(),
            BenchRunner::Peer(peer) => peer.name(),
        })
    }
}
