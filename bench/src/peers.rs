//! Other programs that stand between a command and the kernel, configured to allow everything.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::world::World;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// ptrace(2), stopping only at openat(2).
    Strace,
    /// A mount namespace.
    Bwrap,
    /// seccomp user notification, with Syd.
    Syd,
    /// Landlock and seccomp user notification.
    Sandlock,
    /// Landlock.
    Landrun,
}

impl Peer {
    /// All supported programs.
    pub const ALL: [Peer; 5] = [Peer::Strace, Peer::Bwrap, Peer::Syd, Peer::Sandlock, Peer::Landrun];

    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Strace => "strace",
            Peer::Bwrap => "bwrap",
            Peer::Syd => "syd",
            Peer::Sandlock => "sandlock",
            Peer::Landrun => "landrun",
        }
    }

    /// Its path, found in PATH.
    pub fn find(self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|directory| directory.join(self.name())).find(|file| file.is_file())
    }

    /// Runs `work` under this program with everything allowed. The options are those of each program's manual.
    pub fn command(self, program: &Path, world: &World, work: &[OsString]) -> Command {
        let words: &[&str] = match self {
            Peer::Strace => &["--seccomp-bpf", "-f", "-qq", "-e", "trace=openat", "-o", "/dev/null"],
            Peer::Bwrap => &["--bind", "/", "/", "--dev-bind", "/dev", "/dev"],
            Peer::Syd => &["-m", "allow/all+/***", "--"],
            Peer::Sandlock => &["run", "-r", "/", "-w", "/", "--"],
            Peer::Landrun => &[
                "--rwx",
                "/",
                "--unrestricted-network",
                "--env",
                "PATH",
                "--env",
                "HOME",
                "--env",
                "TMPDIR",
                "--env",
                "LC_ALL",
                "--",
            ],
        };
        let mut command = world.command(program);
        command.args(words).args(work);
        command
    }
}
