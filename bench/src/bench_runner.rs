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
    /// Under the guard, with a policy that allows everything.
    Guard(Tier),
    /// Under the guard as its users start it: all tiers, persistence, questions.
    Shipped(ShippedPolicy),
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
    /// The supervisor may judge a call and let it go on, where the floor covers it.
    Floored,
    /// Besides, a call need not be held where the floor enforces just what the policy says.
    Kernel,
}

/// A policy that users have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShippedPolicy {
    /// None: the built-in one is in force.
    BuiltIn,
    /// What `init --template coding` writes.
    Coding,
    /// The same, with the denials that people add first: names that may be in any directory.
    DenyNames,
}

impl ShippedPolicy {
    /// All of them, in the order of the table.
    pub const ALL: [ShippedPolicy; 3] =
        [ShippedPolicy::BuiltIn, ShippedPolicy::Coding, ShippedPolicy::DenyNames];

    fn name(self) -> &'static str {
        match self {
            ShippedPolicy::BuiltIn => "built-in",
            ShippedPolicy::Coding => "coding",
            ShippedPolicy::DenyNames => "deny-names",
        }
    }
}

impl fmt::Display for BenchRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BenchRunner::Native => "native",
            BenchRunner::Guard(Tier::Broker) => "broker",
            BenchRunner::Guard(Tier::Floored) => "floored",
            BenchRunner::Guard(Tier::Kernel) => "kernel",
            BenchRunner::Shipped(policy) => policy.name(),
            BenchRunner::Bare(own) => own.name(),
            BenchRunner::Peer(peer) => peer.name(),
        })
    }
}
