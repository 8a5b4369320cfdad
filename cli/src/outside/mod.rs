//! `openclaw-guard run-outside`: inside a guard, the client of one command that runs outside of it.
//!
//! The guard has judged the command when this program was started; nothing here can change that verdict.

mod relay;

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};

use clap::{Args, ValueHint};
use guard_policy::text::shown;
use guard_supervisor::exit::Exit;
use guard_supervisor::outside::wire::{CHANNEL, ClientMessage, PASSED, receive_with, send_with};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use relay::Relay;

/// The exit status if nothing runs.
const REFUSED: u8 = 126;

/// What to run.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard run-outside -- make install\n  \
    openclaw-guard run-outside -- sudo systemctl restart app\n\n\
    The guard asks its operator first, unless guard.json allows the command without a question. The\n\
    command has the operator's environment and rights, this directory, and this program's descriptors\n\
    0, 1 and 2. elevated.enabled and elevated.allowFrom in guard.json say who may ask for that. The\n\
    guard has two options for it: --elevated off|ask|on|full and --sender CHANNEL:WHO\n\
    (docs/elevated.md).\n\n\
    Exit status: the command's; 125 the guard failed, 126 it was not run. If a signal ends the command,\n\
    run-outside ends by the same signal.")]
pub struct RunOutsideArgs {
    /// The command
    #[arg(last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

/// Why the client failed.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    #[error("cannot wait for the command outside the guard: {0}")]
    Wait(#[from] Errno),
    #[error("the process that runs commands outside the guard has ended")]
    Lost,
}

/// Runs the subcommand.
///
/// # Errors
/// When the command cannot be waited for.
pub fn act(arguments: &RunOutsideArgs) -> Result<Exit, OutsideError> {
    if arguments.command.is_empty() {
        return Ok(refused("openclaw-guard: there is no command: openclaw-guard run-outside -- CMD"));
    }
    let signals = block()?;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let channel = match rustix::fs::openat2(CWD, CHANNEL, flags, Mode::empty(), ResolveFlags::empty()) {
        Ok(channel) => channel,
        Err(_) => {
            return Ok(refused(
                "openclaw-guard: no guard has recognised this program: run-outside works only inside a guard, and only as a start of \
                 the guard's own file (openclaw-guard run-outside -- CMD)",
            ));
        }
    };
    OutsideClient { channel, signals, relay: None }.wait()
}

fn refused(text: &str) -> Exit {
    eprintln!("{}", shown(text.as_bytes()));
    Exit::Command(REFUSED)
}

/// Blocks the signals that are passed on, and reads them from a descriptor.
fn block() -> Result<SignalFd, OutsideError> {
    let own = [libc::SIGWINCH, libc::SIGTTOU];
    let all: SigSet = PASSED.into_iter().chain(own).filter_map(|one| Signal::try_from(one).ok()).collect();
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&all), None).map_err(errno)?;
    Ok(SignalFd::with_flags(&all, flags).map_err(errno)?)
}

fn errno(error: nix::Error) -> Errno {
    Errno::from_raw_os_error(error as i32)
}

/// A client that waits for its command.
struct OutsideClient {
    channel: OwnedFd,
    signals: SignalFd,
    relay: Option<Relay>,
}

impl OutsideClient {
    fn wait(mut self) -> Result<Exit, OutsideError> {
        loop {
            let (messages, signals) = self.ready();
            if signals {
                self.pass_signals();
            }
            if let Some(relay) = &mut self.relay {
                relay.carry();
            }
            if messages && let Some(exit) = self.receive()? {
                if let Some(relay) = &mut self.relay {
                    relay.drain();
                }
                return Ok(exit);
            }
        }
    }

    /// Waits until there is something to do: a message, a signal, or something to relay.
    fn ready(&self) -> (bool, bool) {
        let mut waiting = vec![
            PollFd::new(self.channel.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        waiting.extend(self.relay.iter().flat_map(Relay::sources));
        if poll(&mut waiting, PollTimeout::NONE).is_err() {
            return (false, false);
        }
        let is_ready = |at: usize| waiting.get(at).is_some_and(|one| one.any().unwrap_or(true));
        (is_ready(0), is_ready(1))
    }

    fn pass_signals(&mut self) {
        while let Ok(Some(held)) = self.signals.read_signal() {
            let signal = held.ssi_signo as i32;
            if let (Some(relay), true) = (&mut self.relay, [libc::SIGWINCH, libc::SIGCONT].contains(&signal))
            {
                relay.settle();
            }
            if PASSED.contains(&signal) {
                // Fails only if the command has ended.
                let _ = send_with(self.channel.as_fd(), &ClientMessage::Pass(signal).encode(), &[]);
            }
        }
    }

    /// Takes one message. Returns the exit of a command that has ended.
    fn receive(&mut self) -> Result<Option<Exit>, OutsideError> {
        let (bytes, descriptors) = receive_with(self.channel.as_fd())?;
        match ClientMessage::decode(&bytes) {
            Some(ClientMessage::Refused(text)) => Ok(Some(refused(&format!("openclaw-guard: {text}")))),
            Some(ClientMessage::Status(status)) => Ok(Some(Exit::Command(status))),
            Some(ClientMessage::Signalled(signal)) => Ok(Some(Exit::Signal(signal))),
            Some(ClientMessage::Terminal) => {
                self.relay = descriptors.into_iter().next().and_then(Relay::new);
                Ok(None)
            }
            Some(ClientMessage::Stopped(_)) => {
                self.stop();
                Ok(None)
            }
            Some(ClientMessage::Pass(_)) | None => Err(OutsideError::Lost),
        }
    }

    /// Stops this process, because the command has stopped, until somebody continues it.
    fn stop(&mut self) {
        if let Some(relay) = &mut self.relay {
            relay.carry();
            relay.restore();
        }
        // The shell continues the job by SIGCONT, which is passed on and takes the terminal back.
        let _ = nix::sys::signal::raise(Signal::SIGSTOP);
        if let Some(relay) = &mut self.relay {
            relay.settle();
        }
        let _ = send_with(self.channel.as_fd(), &ClientMessage::Pass(libc::SIGCONT).encode(), &[]);
    }
}
