//! From a way to a command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::error::Error;
use crate::guard::Guard;
use crate::way::Way;
use crate::world::World;

/// Runs work in the world, in every way.
pub struct Runner {
    /// Where the work is.
    pub world: World,
    /// The guard.
    pub guard: Guard,
}

impl Runner {
    /// The command that does `work` in this way.
    ///
    /// # Errors
    /// When a peer is not there.
    pub fn command(&self, way: Way, work: &[OsString]) -> Result<Command, Error> {
        let world = &self.world;
        Ok(match way {
            Way::Native => {
                let mut command = world.command(&work[0]);
                command.args(&work[1..]);
                command
            }
            Way::Guard(tier) => self.guard.command(tier, world, work),
            Way::Bare(own) => {
                let mut command = world.command(world.caller());
                command.args(["bare", own.name(), "--"]).args(work);
                command
            }
            Way::Peer(peer) => {
                let program: PathBuf =
                    peer.find().ok_or_else(|| Error::new(format!("{} is not on PATH", peer.name())))?;
                peer.command(&program, world, work)
            }
        })
    }
}
