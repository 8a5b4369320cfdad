//! The process that the operator started. It passes signals and keys down, and the exit status up.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use super::ProcessError;
use super::console::Console;
use super::message::{CommandEnd, Message, ProcessMessage};
use crate::exit::Exit;
use crate::kernel::fork::{Side, quit, split};
use crate::terminal::RelayEvent;

/// The events that the front waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrontEvent {
    News,
    Signal,
    Leader,
    Terminal(RelayEvent),
}

struct Front {
    news: File,
    signals: Option<SignalFd>,
    /// The command, if there is no terminal and so no leader to pass signals to.
    command: Option<Pid>,
    console: Option<Console>,
    leader_is_there: bool,
}

/// Waits for the command's end.
///
/// # Errors
/// When the supervisor ends first.
pub fn wait(
    news: OwnedFd,
    signals: &SigSet,
    console: Option<Console>,
    link: Option<UnixStream>,
) -> Result<Exit, ProcessError> {
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let mut front = Front {
        news: File::from(news),
        signals: SignalFd::with_flags(signals, flags).ok(),
        command: None,
        leader_is_there: console.is_some(),
        console,
    };
    if let Some(console) = &mut front.console {
        if let Some(link) = link {
            console.relay.prompt_by(link);
        }
        console.settle();
    }
    let end = front.work()?;
    if let Some(console) = front.console {
        finish(console);
    }
    Ok(match end {
        CommandEnd::Status(status) => Exit::Command(status),
        CommandEnd::Signal(signal) => Exit::Signal(signal),
    })
}

impl Front {
    fn work(&mut self) -> Result<CommandEnd, ProcessError> {
        loop {
            let events = self.ready();
            if let Some(console) = &mut self.console {
                console.tick();
            }
            for event in events {
                match event {
                    FrontEvent::Signal => self.pass_signals(),
                    FrontEvent::Leader => {
                        self.leader_is_there = self.console.as_mut().is_some_and(Console::listen);
                    }
                    FrontEvent::Terminal(source) => {
                        if let Some(console) = &mut self.console {
                            console.carry(source);
                        }
                    }
                    FrontEvent::News => match ProcessMessage::receive(&mut self.news) {
                        Some(ProcessMessage::Started(pid)) => match &mut self.console {
                            Some(console) => console.started(pid),
                            None => self.command = Some(Pid::from_raw(pid)),
                        },
                        Some(ProcessMessage::Ended(end)) => return Ok(end),
                        Some(ProcessMessage::Leads(_)) => {}
                        None => return Err(ProcessError::SupervisorLost),
                    },
                }
            }
        }
    }

    /// Waits until something is ready.
    fn ready(&self) -> Vec<FrontEvent> {
        let mut waiting: Vec<(FrontEvent, BorrowedFd<'_>, PollFlags)> =
            vec![(FrontEvent::News, self.news.as_fd(), PollFlags::POLLIN)];
        // Until there is a command, signals stay pending: they would be lost, with nothing to pass them to.
        let passing = self.signals.as_ref().filter(|_| self.console.is_some() || self.command.is_some());
        waiting.extend(passing.map(|held| (FrontEvent::Signal, held.as_fd(), PollFlags::POLLIN)));
        if let Some(console) = &self.console {
            if self.leader_is_there {
                waiting.push((FrontEvent::Leader, console.jobs.as_fd(), PollFlags::POLLIN));
            }
            let sources = console.relay.sources().into_iter();
            waiting.extend(sources.map(|(source, fd, flags)| (FrontEvent::Terminal(source), fd, flags)));
        }
        let mut polled: Vec<_> = waiting.iter().map(|(_, fd, flags)| PollFd::new(*fd, *flags)).collect();
        let due = self.console.as_ref().and_then(|console| console.relay.due());
        // Rounded up to milliseconds: poll(2) would otherwise return just before the time is due.
        let due = due.map(|due| due + Duration::from_millis(1));
        let timeout = due.map_or(PollTimeout::NONE, |due| due.try_into().unwrap_or(PollTimeout::MAX));
        if poll(&mut polled, timeout).is_err() {
            return Vec::new();
        }
        let ready = polled.iter().map(|fd| fd.any().unwrap_or(true));
        waiting.iter().zip(ready).filter(|(_, ready)| *ready).map(|((event, ..), _)| *event).collect()
    }

    fn pass_signals(&mut self) {
        while let Some(held) = self.signals.as_ref().and_then(|held| held.read_signal().ok().flatten()) {
            let Ok(signal) = Signal::try_from(held.ssi_signo as i32) else { continue };
            let own = held.ssi_pid == std::process::id() && held.ssi_code <= 0;
            match &mut self.console {
                // Ignores what this process itself sent to the operator's job.
                Some(_) if own && signal != Signal::SIGCONT => {}
                Some(console) => console.signal(signal),
                None => self.pass(signal, held.ssi_code),
            }
        }
    }

    /// Passes on a signal that a process sent. A signal from the terminal goes to the whole group, the
    /// command included.
    fn pass(&self, signal: Signal, code: i32) {
        let from_process = code <= 0;
        if let (Some(command), true) = (self.command, from_process) {
            // Fails only if the command is gone.
            let _ = nix::sys::signal::kill(command, signal);
        }
    }
}

/// Shows the remaining output, and gives the terminal back. Processes that the command left running may still
/// write: a child of this process shows that, until the last of them has closed the terminal.
fn finish(mut console: Console) {
    console.relay.prompt_no_more();
    let more = console.relay.drain();
    console.relay.ignore();
    if more && matches!(split(), Ok(Side::Child)) {
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
        let terminals = console.relay.outer().replaces();
        super::detach_stdio(terminals.map(|terminal| !terminal));
        console.relay.linger();
        quit()
    }
}
