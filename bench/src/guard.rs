//! The measured guard.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench_runner::{ShippedPolicy, Tier};
use crate::error::{Context, Error};
use crate::policies::PolicyKind;
use crate::world::World;

/// Where such a policy is written; `None` for the built-in one.
fn shipped_path(policy: ShippedPolicy, world: &World) -> Option<PathBuf> {
    match policy {
        ShippedPolicy::BuiltIn => None,
        ShippedPolicy::Coding => Some(world.root().join("coding.json")),
        ShippedPolicy::DenyNames => Some(world.root().join("deny-names.json")),
    }
}

/// A guard, with the options that it supports.
pub struct BenchGuard {
    program: PathBuf,
    version: String,
    has_tiers: bool,
    has_unattended: bool,
}

impl BenchGuard {
    /// Runs the program to find out which options it supports.
    ///
    /// # Errors
    /// If it does not exist or does not run.
    pub fn find(program: &Path) -> Result<BenchGuard, Error> {
        let ask = |option: &str| {
            let output = Command::new(program).arg(option).stdin(Stdio::null()).output().context(|| {
                format!("cannot run {} (cargo build --release -p openclaw-guard)", program.display())
            })?;
            Ok::<_, Error>(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let help = ask("--help")?;
        Ok(BenchGuard {
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

    /// Whether this guard supports the tier. A guard without tiers counts as a broker.
    pub fn knows(&self, tier: Tier) -> bool {
        self.has_tiers || tier == Tier::Broker
    }

    /// The fastest supported tier that holds every call.
    pub fn holding(&self) -> Tier {
        if self.has_tiers { Tier::Floored } else { Tier::Broker }
    }

    /// Runs `work` as users do, with nothing but a policy.
    pub fn command_as_shipped(&self, policy: ShippedPolicy, world: &World, work: &[OsString]) -> Command {
        let mut command = world.command(&self.program);
        command.arg("-q");
        if let Some(path) = shipped_path(policy, world) {
            command.arg("--policy").arg(path);
        }
        command.arg("--").args(work);
        command
    }

    /// Writes the policies that users have: what `init` prints in this world, and the same with more denials.
    ///
    /// # Errors
    /// If `init` fails or something cannot be written.
    pub fn write_shipped(&self, world: &World) -> Result<(), Error> {
        let output = world
            .command(&self.program)
            .args(["init", "--template", "coding", "--print"])
            .output()
            .context(|| self.program.display().to_string())?;
        let coding = String::from_utf8_lossy(&output.stdout).into_owned();
        let deny_names = coding.replacen("\"deny\": [", "\"deny\": [ \"**/.env\", \"**/*.pem\",", 1);
        if !output.status.success() || deny_names == coding {
            return Err(Error::new(format!("init --print: {}", output.stderr.escape_ascii())));
        }
        for (policy, text) in [(ShippedPolicy::Coding, coding), (ShippedPolicy::DenyNames, deny_names)] {
            if let Some(path) = shipped_path(policy, world) {
                std::fs::write(&path, text).context(|| path.display().to_string())?;
            }
        }
        Ok(())
    }

    /// Runs `work` with a policy that allows everything it does.
    pub fn command(&self, tier: Tier, world: &World, work: &[OsString]) -> Command {
        let policy = match tier {
            Tier::Broker | Tier::Floored => PolicyKind::Everything,
            Tier::Kernel => PolicyKind::Exact,
        };
        self.command_with(tier, &policy.path(world), world, work)
    }

    /// Runs `work` under this policy.
    pub fn command_with(&self, tier: Tier, policy: &Path, world: &World, work: &[OsString]) -> Command {
        let tiers = match tier {
            Tier::Broker => "broker",
            Tier::Floored => "broker,floored",
            Tier::Kernel => "broker,floored,kernel",
        };
        let mut command = world.command(&self.program);
        let home = world.other_home();
        command.env("OPENCLAW_STATE_DIR", home.join(".openclaw")).env("HOME", home).arg("-q");
        if self.has_unattended {
            command.arg("--unattended");
        }
        if self.has_tiers {
            command.args(["--tiers", tiers]);
        }
        command.arg("--policy").arg(policy).arg("--").args(work);
        command
    }
}
