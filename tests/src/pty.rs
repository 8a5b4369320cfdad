//! A command that leads a session on a terminal of its own.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{OpenptyResult, Winsize, openpty};
use rustix::io::FdFlags;

use crate::program;

/// A command and its terminal.
pub struct Pty {
    pub child: Child,
    pub master: File,
    /// Stays open, so that nothing is lost between two commands that have it open.
    pub slave: OwnedFd,
}

impl Pty {
    /// Starts a command on a new terminal of this many rows and columns.
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
        give_environment(command, &mut leader);
        leader.current_dir(command.get_current_dir().unwrap_or_else(|| "/".as_ref()));
        let child = leader.stdin(end()).stdout(end()).stderr(end()).spawn().expect("setsid");
        Pty { child, master: File::from(master), slave }
    }
}

/// Copies the environment variables that one command sets or removes to another.
pub fn give_environment(from: &Command, to: &mut Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
}

/// Reads until `over` is set, or nobody has the terminal open.
pub fn read(mut master: File, over: &AtomicBool, mut take: impl FnMut(&mut File, &[u8])) {
    let mut buffer = [0; 65536];
    while !over.load(Ordering::Relaxed) {
        let mut ready = [PollFd::new(master.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::from(20u8)) {
            Ok(0) => continue,
            Ok(_) => {}
            Err(_) => return,
        }
        let Ok(count @ 1..) = master.read(&mut buffer) else { return };
        take(&mut master, &buffer[..count]);
    }
}
