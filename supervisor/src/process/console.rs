//! Job control between the operator's shell and the command, which are in different sessions.
//!
//! In the foreground the operator's terminal is raw, and the command gets what is typed. In the background, in a
//! pipeline and in another session, other programs may want the keyboard. There the terminal is left alone until the
//! command is stopped because it wants the keyboard (SIGTTIN, SIGTTOU).

use std::fs::File;
use std::os::fd::OwnedFd;

use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, raise, sigprocmask};
use nix::unistd::Pid;
use rustix::io::Errno;

use super::message::{Job, Message, Stopped};
use crate::kernel::signals::is_pending;
use crate::terminal::{Pty, Relay, RelayEvent, Tty, in_pipeline};

/// The front's side of the command's terminal.
pub struct Console {
    /// Relays keys and output between the terminals.
    pub relay: Relay,
    /// The socket to the leader of the command's session.
    pub jobs: File,
    /// Whether the command gets the keyboard when the front is in the foreground.
    wants_keyboard: bool,
    /// Whether the guard may take the keyboard for a prompt of its own.
    may_ask: bool,
    command: Option<i32>,
}

/// The command's end of a console.
pub struct Far {
    /// The command's terminal.
    pub terminal: guard_shim::JobTerminal,
    /// The leader's end of the socket to the front.
    pub jobs: OwnedFd,
}

impl Console {
    /// Opens a pseudoterminal that replaces the operator's terminal for the command.
    ///
    /// # Errors
    /// The kernel's, if a pseudoterminal or a socket cannot be created.
    pub fn open(outer: Tty) -> Result<(Console, Far), Errno> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        let Pty { master, slave } = Pty::open(&outer)?;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let replace = outer.replaces();
        let may_ask = replace != [false; 3] && outer.has_jobs() && !in_pipeline();
        let foreground = may_ask && outer.is_foreground();
        let far = Far { terminal: guard_shim::JobTerminal { slave, replace, foreground }, jobs: theirs };
        let relay = Relay::new(outer, master);
        Ok((
            Console { relay, jobs: File::from(ours), wants_keyboard: foreground, may_ask, command: None },
            far,
        ))
    }

    /// Records the process number of the command, which has started.
    pub fn started(&mut self, command: i32) {
        self.command = Some(command);
    }

    /// Takes the keyboard if it is wanted and the front is in the foreground. Releases it in the background.
    pub fn settle(&mut self) {
        // A resize while another job was in the foreground was signalled to that job only.
        self.relay.resize();
        let foreground = self.relay.outer().is_foreground();
        if foreground && (self.wants_keyboard || self.may_ask && self.relay.asks()) {
            self.wants_keyboard = true;
            self.relay.attend();
            self.order(Job::Foreground);
        } else if !foreground {
            self.relay.ignore();
            self.order(Job::Background);
        }
        self.relay.announce();
    }

    /// Relays what is ready between the terminals.
    pub fn carry(&mut self, source: RelayEvent) {
        let signals = self.relay.carry(source, self.command);
        if source == RelayEvent::Supervisor && self.relay.asks() && !self.relay.is_attentive() {
            // A prompt may be due before the command has wanted the keyboard.
            self.settle();
        }
        for signal in signals {
            if signal == Signal::SIGTSTP {
                self.suspend();
                continue;
            }
            // The signal is for the other processes of the operator's job. This process blocks the signal and
            // recognizes it as its own.
            let _ = killpg(nix::unistd::getpgrp(), signal);
        }
    }

    /// Stops the operator's job after a suspend key at a prompt. The command is not asked to stop first: its
    /// call is held, and what else it does is unknown.
    fn suspend(&mut self) {
        self.relay.ignore();
        self.stop(Signal::SIGTSTP);
        self.resume();
    }

    /// Does what is due. No signal reports that a running job has come to the foreground, so this checks.
    pub fn tick(&mut self) {
        self.relay.tick();
        if self.may_ask && self.relay.looks() && self.relay.outer().is_foreground() {
            self.settle();
        }
    }

    /// Handles a signal to the front.
    pub fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::SIGWINCH => self.relay.resize(),
            Signal::SIGCONT => self.resume(),
            other => self.order(Job::Signal(other as i32)),
        }
    }

    /// Handles a stop of the command.
    pub fn stopped(&mut self, signal: i32) {
        let wants = matches!(signal, libc::SIGTTIN | libc::SIGTTOU);
        if wants && !self.relay.is_attentive() {
            self.wants_keyboard = true;
            if self.relay.outer().is_foreground() {
                return self.resume();
            }
        }
        // The command's output must appear before the shell's next prompt.
        self.relay.drain();
        self.relay.ignore();
        let Ok(signal) = Signal::try_from(signal) else { return };
        let went_on = self.stop(signal);
        if !went_on && wants && !self.relay.outer().is_foreground() {
            // Nobody can bring this process to the foreground. Without the guard the read would have failed.
            self.order(Job::Foreground);
            self.relay.end_input();
            self.order(Job::Signal(libc::SIGCONT));
            return;
        }
        self.resume();
    }

    /// Stops the operator's job as the terminal would. Returns false if the kernel did not stop it.
    fn stop(&self, signal: Signal) -> bool {
        let set = SigSet::from_iter([signal]);
        match signal {
            Signal::SIGSTOP => drop(raise(signal)),
            _ => drop(killpg(Pid::from_raw(0), signal)),
        }
        // The unblocked signal stops this process here, until it is continued.
        let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&set), None);
        if super::front_signals::holds(signal) {
            let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None);
        }
        is_pending(Signal::SIGCONT as i32)
    }

    /// Continues the command, in the foreground if this process is there.
    fn resume(&mut self) {
        self.settle();
        self.order(Job::Signal(libc::SIGCONT));
    }

    fn order(&mut self, job: Job) {
        // If the leader is gone, so is the command.
        let _ = job.send(&mut self.jobs);
    }

    /// Handles a message from the leader. Returns false if the leader is gone.
    pub fn listen(&mut self) -> bool {
        match Stopped::receive(&mut self.jobs) {
            Some(Stopped(signal)) => {
                self.stopped(signal);
                true
            }
            None => false,
        }
    }
}
