//! The process that the operator started: passes signals down and the status up.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use super::{News, ProcessError};
use crate::exit::Exit;

/// What is passed on to the command. SIGTSTP is not held: the front stops with its group, as a shell expects.
const PASSED: [Signal; 8] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGCONT,
];

/// Holds the signals that are to be passed on.
pub fn hold_signals() -> SigSet {
    let set = SigSet::from_iter(PASSED);
    // Without it signals act on the front alone: worse manners, no less guard.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None);
    set
}

/// Waits for the command's end.
///
/// # Errors
/// When the supervisor ends first.
pub fn wait(news: OwnedFd, signals: &SigSet) -> Result<Exit, ProcessError> {
    let held = SignalFd::with_flags(signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).ok();
    let mut news = File::from(news);
    let mut command = None;
    loop {
        let mut ready = vec![PollFd::new(news.as_fd(), PollFlags::POLLIN)];
        // Until the command is known its signals stay pending: passed on to nobody, they would be lost.
        let passing = held.as_ref().filter(|_| command.is_some());
        ready.extend(passing.map(|held| PollFd::new(held.as_fd(), PollFlags::POLLIN)));
        if poll(&mut ready, PollTimeout::NONE).is_err() {
            continue;
        }
        let is_ready = |at: usize| ready.get(at).is_some_and(|fd| fd.any().unwrap_or(false));
        let (has_news, has_signal) = (is_ready(0), is_ready(1));
        if has_signal {
            while let Some(held) = held.as_ref().and_then(|held| held.read_signal().ok().flatten()) {
                pass(command, held.ssi_signo as i32, held.ssi_code);
            }
        }
        if has_news {
            match News::receive(&mut news) {
                Some(News::Started(pid)) => command = Some(Pid::from_raw(pid)),
                Some(News::Ended(status)) => return Ok(Exit::Command(status)),
                None => return Err(ProcessError::SupervisorLost),
            }
        }
    }
}

/// What a terminal sends goes to the whole group, the command included; what a process sent is for the command.
fn pass(command: Option<Pid>, signal: i32, code: i32) {
    let from_process = code <= 0;
    if let (Some(command), Ok(signal), true) = (command, Signal::try_from(signal), from_process) {
        // A command that is gone needs no signal.
        let _ = nix::sys::signal::kill(command, signal);
    }
}
