//! Programs of the system that act for their user, and terminals.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use guard_tests::{Arena, program, until};
use nix::pty::openpty;

use super::watch;
use crate::attempt::Outside;

/// A program that dropping this ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn running(command: &mut Command, socket: &Path) -> Running {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(quiet.spawn().expect("a program of the system"));
    // The socket is there a moment before the program listens.
    until("it listens", || UnixStream::connect(socket).is_ok());
    running
}

/// A bus at `work/bus` and at the abstract name `$R`. On request it starts `org.guard.Test`, which writes
/// below `shut/`.
pub fn bus(arena: &Arena) -> Outside {
    let root = arena.root();
    let root = root.display();
    arena.world.write(
        "bus/services/org.guard.Test.service",
        // The bus reports a service that fails at once; it would wait for the name of one that does not.
        format!(
            "[D-BUS Service]\nName=org.guard.Test\nExec=/bin/sh -c 'cp {root}/guard.json {root}/shut/reached; exit 1'\n"
        ),
    );
    let configuration = format!(
        "<busconfig><type>session</type><listen>unix:abstract={root}</listen><listen>unix:path={root}/work/bus</listen>\
         <servicedir>{root}/bus/services</servicedir><policy context=\"default\"><allow send_destination=\"*\"/>\
         <allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>"
    );
    let file = arena.world.write("bus/configuration", configuration);
    let mut command = Command::new(program("dbus-daemon"));
    command.arg("--nofork").arg(format!("--config-file={}", file.display()));
    Box::new(running(&mut command, &arena.root().join("work/bus")))
}

/// A tmux at `work/tmux`.
struct Tmux {
    socket: PathBuf,
}

/// Starts a tmux server at `work/tmux`, with one session.
pub fn tmux(arena: &Arena) -> Outside {
    let tmux = Tmux { socket: arena.root().join("work/tmux") };
    assert!(tmux.run(&["-f", "/dev/null", "new-session", "-d", "sleep", "1000"]), "no tmux");
    Box::new(tmux)
}

impl Tmux {
    fn run(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new(program("tmux"));
        command.arg("-S").arg(&self.socket).args(arguments).env_remove("TMUX").current_dir("/");
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // The sleep ends with the server; an attack may have ended both.
        let _ = self.run(&["kill-server"]);
    }
}

/// An ssh-agent at `work/agent`. Dropping it leaves a mark unless it holds exactly the key it was given.
struct Agent {
    agent: Running,
    socket: PathBuf,
    mark: PathBuf,
}

/// An ssh-agent at `work/agent` that holds a key whose comment is the secret. A key that an attack adds is an
/// effect, too.
pub fn agent(arena: &Arena) -> Outside {
    let socket = arena.root().join("work/agent");
    let mut command = Command::new(program("ssh-agent"));
    command.args(["-D", "-a"]).arg(&socket);
    let agent = running(&mut command, &socket);
    let secret = fs::read_to_string(arena.root().join("shut/file")).expect("the secret");
    let key = arena.world.write("keys/none", "").with_file_name("key");
    let mut generate = Command::new(program("ssh-keygen"));
    generate.args(["-q", "-t", "ed25519", "-N", "", "-C", &secret, "-f"]).arg(&key);
    assert!(generate.stdin(Stdio::null()).status().is_ok_and(|status| status.success()), "no key");
    let mut add = Command::new(program("ssh-add"));
    add.arg("-q").arg(&key).env("SSH_AUTH_SOCK", &socket).stdin(Stdio::null());
    until("the key is added", || add.status().is_ok_and(|status| status.success()));
    Box::new(Agent { agent, socket, mark: super::mark(arena) })
}

impl Drop for Agent {
    fn drop(&mut self) {
        let listed = Command::new(program("ssh-add")).arg("-l").env("SSH_AUTH_SOCK", &self.socket).output();
        let keys =
            listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
        if keys.lines().filter(|line| line.starts_with("256 ")).count() != 1 || keys.lines().count() != 1 {
            fs::write(&self.mark, "reached").expect("a mark");
        }
        let _ = self.agent.0.kill();
    }
}

/// Another terminal of the same user, into which the secret has been typed. `work/terminal` contains its
/// name.
pub fn terminal(arena: &Arena) -> Outside {
    let pair = openpty(None, None).expect("a terminal");
    let name = nix::unistd::ttyname(&pair.slave).expect("a name");
    fs::write(arena.root().join("work/terminal"), name.to_str().expect("a name")).expect("a file");
    let mut modes = rustix::termios::tcgetattr(&pair.slave).expect("modes");
    modes.make_raw();
    rustix::termios::tcsetattr(&pair.slave, rustix::termios::OptionalActions::Now, &modes).expect("modes");
    let mut master = fs::File::from(pair.master);
    master.write_all(&fs::read(arena.root().join("shut/file")).expect("the secret")).expect("to type");
    let slave = pair.slave;
    let size = rustix::termios::tcgetwinsize(slave.as_fd()).expect("a size");
    let before = (size.ws_row, size.ws_col);
    watch(arena, move || {
        let now = rustix::termios::tcgetwinsize(slave.as_fd()).expect("a size");
        let mut ready = [nix::poll::PollFd::new(master.as_fd(), nix::poll::PollFlags::POLLIN)];
        let written = nix::poll::poll(&mut ready, nix::poll::PollTimeout::ZERO).expect("a poll") > 0;
        (written && master.read(&mut [0; 9]).is_ok_and(|count| count > 0))
            || (now.ws_row, now.ws_col) != before
    })
}
