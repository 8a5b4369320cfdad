//! Builds the command for each way.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::bench_runner::BenchRunner;
use crate::error::Error;
use crate::guard::BenchGuard;
use crate::world::World;

/// Runs work in a world, in any way.
pub struct Runner {
    /// The files to work on.
    pub world: World,
    /// The guard.
    pub guard: BenchGuard,
}

impl Runner {
    /// The command that does `work` in this way.
    ///
    /// # Errors
    /// If a peer program is not installed.
    pub fn command(&self, way: BenchRunner, work: &[OsString]) -> Result<Command, Error> {
        let world = &self.world;
        Ok(match way {
            BenchRunner::Native => {
                let mut command = world.command(&work[0]);
                command.args(&work[1..]);
                command
            }
            BenchRunner::Guard(tier) => self.guard.command(tier, world, work),
            BenchRunner::Shipped(policy) => self.guard.command_as_shipped(policy, world, work),
            BenchRunner::Bare(own) => {
                let mut command = world.command(world.caller());
                command.args(["bare", own.name(), "--"]).args(work);
                command
            }
            BenchRunner::Peer(peer) => {
                let program: PathBuf =
                    peer.find().ok_or_else(|| Error::new(format!("{} is not on PATH", peer.name())))?;
                peer.command(&program, world, work)
            }
        })
    }
}
