//! The operator's terminals.

use std::fs;
use std::os::fd::AsFd;
use std::time::Duration;

use guard_tests::World;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// F_SETSIG chooses the signal that a terminal sends to its foreground group, which may include the guard's
/// leader.
#[test]
fn a_terminal_is_not_made_to_kill() {
    let script = "import fcntl, signal
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR1):
    try: print(fcntl.fcntl(0, 10, number))
    except OSError as error: print(error.errno)";
    let ended = World::open().guarded(&["python3", "-c", script]);
    assert_eq!(ended.stdout, format!("{0}\n{0}\n0\n", libc::EINVAL), "{}", ended.stderr);
}

/// The tree spins on names of terminals that do not exist yet while terminals are opened outside: it must
/// reach none.
#[test]
fn a_terminal_opened_meanwhile_is_out_of_reach() {
    let world = World::open();
    let spin = r#"
import os, time
while not os.path.exists("over"):
    for n in range(8):
        for flags in (os.O_RDWR | os.O_CREAT, os.O_RDWR):
            try: fd = os.open("/dev/pts/%d" % n, flags | os.O_NOCTTY, 0o600)
            except OSError: continue
            os.write(fd, b"typed for the operator"); os.close(fd)
"#;
    let mut guard = world.command();
    let mut guarded = guard.args(["-q", "--", "python3", "-c", spin]).spawn().expect("the guard");
    for terminal in 0..400 {
        let pty = nix::pty::openpty(None, None).expect("a terminal");
        std::thread::sleep(Duration::from_millis(10));
        let mut ready = [PollFd::new(pty.master.as_fd(), PollFlags::POLLIN)];
        let written = poll(&mut ready, PollTimeout::ZERO).expect("a poll");
        assert_eq!(written, 0, "something was typed into terminal {terminal}");
    }
    world.write("work/over", "");
    guarded.wait().expect("an end");
    assert!(fs::metadata("/dev/pts").is_ok());
}
