//! The ways in which the same work is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::error::{Context, Error};
use crate::policies::Kind;
use crate::world::World;

/// A way to run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Way {
    /// As it is.
    Native,
    /// Under the guard, every call done by the supervisor.
    Broker,
    /// Under the guard, also with calls that are judged and let go on over the floor.
    Floored,
    /// Under the guard, also with calls that are not held, because the floor is what the policy says.
    Kernel,
}

impl Way {
    /// Its name in tables and results.
    pub fn name(self) -> &'static str {
        match self {
            Way::Native => "native",
            Way::Broker => "broker",
            Way::Floored => "floored",
            Way::Kernel => "kernel",
        }
    }

    /// The guard's tiers, as `--tiers` takes them; none without the guard.
    fn tiers(self) -> Option<&'static str> {
        match self {
            Way::Native => None,
            Way::Broker => Some("broker"),
            Way::Floored => Some("broker,floored"),
            Way::Kernel => Some("broker,floored,kernel"),
        }
    }

    fn policy(self) -> Kind {
        match self {
            Way::Kernel => Kind::Exact,
            Way::Native | Way::Broker | Way::Floored => Kind::Everything,
        }
    }
}

/// The guard that is measured, and what it can be told.
pub struct Guard {
    program: PathBuf,
    version: String,
    has_tiers: bool,
    has_unattended: bool,
}

impl Guard {
    /// Asks the program what it knows.
    ///
    /// # Errors
    /// When it is not there or does not run.
    pub fn find(program: &Path) -> Result<Guard, Error> {
        let ask = |option: &str| {
            let output = Command::new(program).arg(option).stdin(Stdio::null()).output().context(|| {
                format!("cannot run {} (cargo build --release -p openclaw-guard)", program.display())
            })?;
            Ok::<_, Error>(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let help = ask("--help")?;
        Ok(Guard {
            program: program.canonicalize().context(|| program.display().to_string())?,
            version: ask("--version")?.trim().to_owned(),
            has_tiers: help.contains("--tiers"),
            has_unattended: help.contains("--unattended"),
        })
    }

    /// What `--version` says.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether this guard can be run in this way. One that knows no tiers is a broker.
    pub fn knows(&self, way: Way) -> bool {
        self.has_tiers || matches!(way, Way::Native | Way::Broker)
    }

    /// The command to run `work` in this way.
    pub fn command(&self, way: Way, world: &World, work: &[OsString]) -> Command {
        let Some(tiers) = way.tiers() else {
            let mut command = world.command(&work[0]);
            command.args(&work[1..]);
            return command;
        };
        let mut command = world.command(&self.program);
        command.arg("-q");
        if self.has_unattended {
            command.arg("--unattended");
        }
        if self.has_tiers {
            command.args(["--tiers", tiers]);
        }
        command.arg("--policy").arg(way.policy().path(world)).arg("--").args(work);
        command
    }
}
