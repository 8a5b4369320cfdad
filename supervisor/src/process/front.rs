//! The process that the operator started. It passes signals and keys down, and the exit status up.
//!
//! Why: docs/decisions.md, "A front that is killed takes the command along, and nothing else."

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::console::Console;
use super::message::{CommandEnd, Message, ProcessMessage, ToldToEnd};
use super::{ProcessError, ending};
use crate::exit::Exit;
use crate::kernel::fork::{Side, quit, split};
use crate::kernel::pidfd::ProcessHandle;
use crate::terminal::RelayEvent;

/// How long a supervisor may take to end after the last process of the tree, in milliseconds: it still sends its last replies.
const LAST_TIMEOUT: u16 = 3000;

/// How long a reaper may take to end the tree.
const LOST_TIMEOUT: Duration = Duration::from_secs(4);

/// What is sent to a node at the end of a run, so that it can distinguish a killed command from a killed guard.
const ORDERLY: &[u8] = b"e";

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrontEvent {
    Message,
    Signal,
    Leader,
    Terminal(RelayEvent),
    /// The node that wants this run has given it up, or is gone.
    Abandoned,
}

struct Front {
    from_supervisor: File,
    to_supervisor: File,
    signals: Option<SignalFd>,
    /// The command, if there is no terminal and so no leader to pass signals to. A signal to the handle cannot reach
    /// another process that has got its number.
    command: Option<ProcessHandle>,
    console: Option<Console>,
    leader_is_there: bool,
    /// The socket to the node that wants this run.
    lifeline: Option<OwnedFd>,
}

/// The supervisor, as the front sees it.
pub struct Below {
    /// Its process, a child of this one.
    pub supervisor: Pid,
    /// Its messages.
    pub from_supervisor: OwnedFd,
    /// Messages for it.
    pub to_supervisor: OwnedFd,
    /// Whether there are children that are not the guard's.
    pub others: OtherChildren,
    /// The socket to the node that wants this run.
    pub lifeline: Option<OwnedFd>,
}

/// Children that this process had before the guard's: a shell's jobs, if the shell has replaced itself by the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherChildren {
    /// There are none.
    None,
    /// There may be some.
    Some,
}

impl OtherChildren {
    /// Looks for children before the first fork.
    pub fn now() -> OtherChildren {
        match ending::has_children() {
            true => OtherChildren::Some,
            false => OtherChildren::None,
        }
    }
}

/// Waits for the command's end.
///
/// # Errors
/// When the supervisor ends first.
pub fn wait(
    below: Below,
    signals: &SigSet,
    console: Option<Console>,
    link: Option<UnixStream>,
) -> Result<Exit, ProcessError> {
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let Below { supervisor, from_supervisor, to_supervisor, others, lifeline } = below;
    // A supervisor that does not read must not hold up the signals.
    let _ = rustix::io::ioctl_fionbio(&to_supervisor, true);
    if others == OtherChildren::None {
        // If supervisor and reaper are killed, this process inherits the tree.
        let _ = nix::sys::prctl::set_child_subreaper(true);
    }
    let mut front = Front {
        from_supervisor: File::from(from_supervisor),
        to_supervisor: File::from(to_supervisor),
        signals: SignalFd::with_flags(signals, flags).ok(),
        command: None,
        leader_is_there: console.is_some(),
        console,
        lifeline,
    };
    if let Some(console) = &mut front.console {
        if let Some(link) = link {
            console.relay.prompt_by(link);
        }
        console.settle();
    }
    let end = front.work().inspect_err(|_| end_lost(others))?;
    if let Some(node) = &front.lifeline {
        // The send fails if the node is gone, which does not matter.
        let flags = rustix::net::SendFlags::DONTWAIT | rustix::net::SendFlags::NOSIGNAL;
        let _ = rustix::net::send(node, ORDERLY, flags);
    }
    if front.is_last() {
        let _ = waitpid(supervisor, None);
    }
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
                    FrontEvent::Abandoned => abandon(),
                    FrontEvent::Leader => {
                        self.leader_is_there = self.console.as_mut().is_some_and(Console::listen);
                    }
                    FrontEvent::Terminal(source) => {
                        if let Some(console) = &mut self.console {
                            console.carry(source);
                        }
                    }
                    FrontEvent::Message => match ProcessMessage::receive(&mut self.from_supervisor) {
                        Some(ProcessMessage::Started(pid)) => match &mut self.console {
                            Some(console) => console.started(pid),
                            None => self.command = ProcessHandle::open(pid).ok(),
                        },
                        Some(ProcessMessage::Ended(end)) => return Ok(end),
                        Some(
                            ProcessMessage::Leads(_) | ProcessMessage::Remains | ProcessMessage::ToldToEnd(_),
                        ) => {}
                        None => return Err(ProcessError::SupervisorLost),
                    },
                }
            }
        }
    }

    /// Returns whether the supervisor ends with the command. Waits after the command's end until that is known. If
    /// nobody waits for the supervisor, it stays a zombie where the init process reaps nobody, as in many containers.
    fn is_last(&mut self) -> bool {
        let mut ready = [PollFd::new(self.from_supervisor.as_fd(), PollFlags::POLLIN)];
        let is_ready = poll(&mut ready, LAST_TIMEOUT).is_ok_and(|ready| ready > 0);
        is_ready && ProcessMessage::receive(&mut self.from_supervisor).is_none()
    }

    /// Waits until something is ready.
    fn ready(&self) -> Vec<FrontEvent> {
        let mut waiting: Vec<(FrontEvent, BorrowedFd<'_>, PollFlags)> =
            vec![(FrontEvent::Message, self.from_supervisor.as_fd(), PollFlags::POLLIN)];
        // Until there is a command, signals stay pending: they would be lost, with nothing to pass them to.
        let passing = self.signals.as_ref().filter(|_| self.console.is_some() || self.command.is_some());
        waiting.extend(passing.map(|held| (FrontEvent::Signal, held.as_fd(), PollFlags::POLLIN)));
        let lifeline = self.lifeline.as_ref();
        waiting.extend(lifeline.map(|node| (FrontEvent::Abandoned, node.as_fd(), PollFlags::POLLIN)));
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
    fn pass(&mut self, signal: Signal, code: i32) {
        let from_process = code <= 0;
        let number = signal as i32;
        let signal = rustix::process::Signal::from_named_raw(number);
        if let (Some(command), Some(signal), true) = (&self.command, signal, from_process) {
            // Fails only if the command is gone.
            let _ = rustix::process::pidfd_send_signal(command.as_fd(), signal);
        }
        // The message follows the signal, so that a command that the signal ends does not see its call refused first.
        if let Some(told) = ToldToEnd::by(number) {
            let _ = told.send(&mut self.to_supervisor);
        }
    }
}

/// Ends this process as a kill by the node would: the reaper then kills the command, and `--kill-on-exit` the rest.
fn abandon() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Waits until the reaper has ended the tree. If the reaper was killed, too, ends the tree from here.
fn end_lost(others: OtherChildren) {
    // The operator's processes cannot be told from the tree's.
    if others == OtherChildren::None && !ending::wait_for_children(LOST_TIMEOUT) {
        ending::end_members(&ending::own_descendants());
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
