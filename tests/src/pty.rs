//! A command that leads a session on a terminal of its own.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use nix::pty::{OpenptyResult, Winsize, openpty};
use rustix::io::FdFlags;

use crate::program;

/// The command and its terminal.
pub struct Pty {
    pub child: Child,
    pub master: File,
    /// To be kept open, so that nothing is lost between two commands that have it open.
    pub slave: OwnedFd,
}

impl Pty {
    /// Starts a command on a new terminal of so many rows and columns.
    ///
    /// # Panics
    /// When that fails.
    pub fn start(command: &Command, (rows, columns): (u16, u16)) -> Pty {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).expect("a terminal");
        for end in [&master, &slave] {
            rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC).expect("a flag");
        }
        let end = || Stdio::from(slave.try_clone().expect("a descriptor"));
        let mut leader = Command::new(program("setsid"));
        leader.arg("--ctty").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => leader.env(name, value),
                None => leader.env_remove(name),
            };
        }
        leader.current_dir(command.get_current_dir().unwrap_or_else(|| "/".as_ref()));
        let child = leader.stdin(end()).stdout(end()).stderr(end()).spawn().expect("setsid");
        Pty { child, master: File::from(master), slave }
    }
}
