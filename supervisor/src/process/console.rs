//! Job control between the operator's shell and the command, which are in different sessions.
//!
//! In the foreground the operator's terminal is raw and what is typed is the command's. In the background, in a
//! pipeline and in another session, where other programs may want the keyboard, it is left alone until the command is
//! stopped for wanting it (SIGTTIN, SIGTTOU).

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
    /// What carries keys and text.
    pub relay: Relay,
    /// The leader of the command's session.
    pub jobs: File,
    /// Whether the command is to have the keyboard when the front is in the foreground.
    wants_keyboard: bool,
    /// Whether the keyboard may be taken for a question of the guard's.
    may_ask: bool,
    command: Option<i32>,
}

/// The command's side of it.
pub struct Far {
    /// The command's terminal.
    pub terminal: guard_shim::JobTerminal,
    /// For the leader of its session.
    pub jobs: OwnedFd,
}

impl Console {
    /// A terminal for the command that stands for the operator's.
    ///
    /// # Errors
    /// The kernel's, when there can be no pseudoterminal.
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

    /// The command runs.
    pub fn started(&mut self, command: i32) {
        self.command = Some(command);
    }

    /// Takes the keyboard if that is for the command, and leaves it if not.
    pub fn settle(&mut self) {
        // A change while another job was in the foreground was told to that one.
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

    /// Carries what is ready between the terminals.
    pub fn carry(&mut self, source: RelayEvent) {
        let signals = self.relay.carry(source, self.command);
        if source == RelayEvent::Supervisor && self.relay.asks() && !self.relay.is_attentive() {
            // A question may be put where the command has not wanted the keyboard yet.
            self.settle();
        }
        for signal in signals {
            if signal == Signal::SIGTSTP {
                self.suspend();
                continue;
            }
            // The others of the operator's job. This process holds the signal and knows it for its own.
            let _ = killpg(nix::unistd::getpgrp(), signal);
        }
    }

    /// The operator suspends at a prompt. What the command does is not known: the call that is asked for is held.
    fn suspend(&mut self) {
        self.relay.ignore();
        self.stop(Signal::SIGTSTP);
        self.resume();
    }

    /// Does what is due. Nobody tells a job that runs already when it comes to the foreground.
    pub fn tick(&mut self) {
        self.relay.tick();
        if self.may_ask && self.relay.looks() && self.relay.outer().is_foreground() {
            self.settle();
        }
    }

    /// A signal came to the front.
    pub fn signal(&mut self, signal: Signal) {
        match signal {
            Signal::SIGWINCH => self.relay.resize(),
            Signal::SIGCONT => self.resume(),
            other => self.order(Job::Signal(other as i32)),
        }
    }

    /// The command was stopped.
    pub fn stopped(&mut self, signal: i32) {
        let wants = matches!(signal, libc::SIGTTIN | libc::SIGTTOU);
        if wants && !self.relay.is_attentive() {
            self.wants_keyboard = true;
            if self.relay.outer().is_foreground() {
                return self.resume();
            }
        }
        // What it wrote before stands before the shell's next prompt.
        self.relay.drain();
        self.relay.ignore();
        let Ok(signal) = Signal::try_from(signal) else { return };
        let went_on = self.stop(signal);
        if !went_on && wants && !self.relay.outer().is_foreground() {
            // Nobody can bring this process to the foreground: natively the read would have failed.
            self.order(Job::Foreground);
            self.relay.end_input();
            self.order(Job::Signal(libc::SIGCONT));
            return;
        }
        self.resume();
    }

    /// Stops the operator's job, as the terminal would have. False when the kernel did not stop it.
    fn stop(&self, signal: Signal) -> bool {
        let set = SigSet::from_iter([signal]);
        match signal {
            Signal::SIGSTOP => drop(raise(signal)),
            _ => drop(killpg(Pid::from_raw(0), signal)),
        }
        // Held so far, it stops this process now, until it is continued.
        let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&set), None);
        if super::front_signals::holds(signal) {
            let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None);
        }
        is_pending(Signal::SIGCONT as i32)
    }

    /// The command goes on: in the foreground or not, as this process does.
    fn resume(&mut self) {
        self.settle();
        self.order(Job::Signal(libc::SIGCONT));
    }

    fn order(&mut self, job: Job) {
        // A leader that is gone has no command to look after.
        let _ = job.send(&mut self.jobs);
    }

    /// What the leader has to say. False when it is gone.
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
