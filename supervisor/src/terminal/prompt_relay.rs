//! The relay's handling of prompts: it draws one over the screen while a call waits for an answer.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFlags, PollTimeout};

use super::prompt::{Prompt, Surface};
use super::relay::{Relay, ready};
use crate::audit::report::print;

/// How long the command's terminal is one row smaller, so that programs notice it and redraw.
const RESIZE_TIMEOUT: Duration = Duration::from_millis(150);
/// How often to check whether the keyboard may be taken for a prompt.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long the operator's terminal may take to show the restored screen.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

impl Relay {
    /// Sets the socket over which the supervisor asks for prompts here.
    pub fn prompt_by(&mut self, link: UnixStream) {
        // Without it, calls can still be answered by other routes.
        self.prompt = Prompt::new(link).ok();
    }

    /// Removes the prompt, and shows no more prompts.
    pub fn prompt_no_more(&mut self) {
        self.lower();
        self.prompt = None;
    }

    /// Returns whether a prompt is on the screen.
    pub(super) fn is_covered(&self) -> bool {
        self.prompt.as_ref().is_some_and(Prompt::is_up)
    }

    /// Handles messages from the supervisor.
    pub(super) fn hear(&mut self) {
        let is_there = self.prompt.as_mut().is_some_and(|prompt| prompt.receive(Instant::now()));
        if !is_there {
            self.lower();
            self.prompt = None;
        }
        self.update();
    }

    /// Returns whether a call waits for an answer.
    pub fn asks(&self) -> bool {
        self.prompt.as_ref().is_some_and(Prompt::wants_up)
    }

    /// Returns whether a call waits while the guard does not have the keyboard.
    pub fn looks(&self) -> bool {
        self.asks() && !self.attentive
    }

    /// Prints the waiting calls as lines if no prompt can be drawn: in the background, in a pipeline.
    pub fn announce(&mut self) {
        if let Some(prompt) = self.prompt.as_mut().filter(|_| !self.attentive) {
            prompt.lines().iter().for_each(|line| print(line));
        }
    }

    /// Handles typed keys. Returns those for the command, and whether the operator suspends.
    pub(super) fn answered(&mut self, keys: &[u8]) -> (Vec<u8>, bool) {
        let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.reads()) else {
            return (keys.to_vec(), false);
        };
        let outcome = prompt.typed(keys, Instant::now());
        self.update();
        (outcome.keys, outcome.suspends)
    }

    /// Returns the time until `tick` is due.
    pub fn due(&self) -> Option<Duration> {
        let now = Instant::now();
        let redraws = self.redraws.map(|at| at.saturating_duration_since(now));
        let prompt = self.prompt.as_ref().and_then(|prompt| prompt.due(now));
        let look = self.looks().then_some(POLL_INTERVAL);
        [redraws, prompt, look].into_iter().flatten().min()
    }

    /// Handles what is due: the end of a resize, and the timeouts of the prompt.
    pub fn tick(&mut self) {
        let now = Instant::now();
        if self.redraws.is_some_and(|at| now >= at) {
            self.redraws = None;
            self.resize();
        }
        if let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.due(now).is_some()) {
            let outcome = prompt.tick(now);
            self.typed.extend(outcome.keys);
            self.write_master();
            self.update();
        }
    }

    /// Draws, updates or removes the prompt, as the waiting calls require.
    pub(super) fn update(&mut self) {
        let Some(prompt) = &mut self.prompt else { return };
        if !self.attentive {
            return;
        }
        if !prompt.wants_up() {
            return self.lower();
        }
        let surface = Surface { model: &self.model, terminal: self.terminal };
        if !prompt.is_up() {
            self.shown.extend_from_slice(self.filter.interrupt());
            self.shown.extend(prompt.rise(&surface));
        }
        self.shown.extend(prompt.draw(&surface, Instant::now()));
        self.show();
    }

    /// Removes the prompt from the screen. Keys typed before it was visible go to the command.
    pub(super) fn lower(&mut self) {
        let surface = Surface { model: &self.model, terminal: self.terminal };
        let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.is_up()) else { return };
        let fall = prompt.fall(&surface, Instant::now());
        self.shown.extend(fall.shown);
        self.typed.extend(fall.keys);
        let end = Instant::now() + IO_TIMEOUT;
        while !self.shown.is_empty() && Instant::now() < end {
            let wait = PollTimeout::try_from(IO_TIMEOUT).unwrap_or(PollTimeout::ZERO);
            let _ = ready(self.outer.screen(), PollFlags::POLLOUT, wait);
            self.show();
        }
        self.write_master();
        if fall.is_lossy {
            self.shrink();
        }
    }

    /// Makes the programs on the command's terminal redraw: changes its size, which `tick` sets right again.
    fn shrink(&mut self) {
        let (Some(master), Ok(mut size)) = (&self.master, self.outer.size()) else { return };
        size.ws_row = size.ws_row.saturating_sub(1).max(1);
        if rustix::termios::tcsetwinsize(master, size).is_ok() {
            self.redraws = Some(Instant::now() + RESIZE_TIMEOUT);
        }
    }

    /// Handles a changed size of the operator's terminal.
    pub(super) fn resized(&mut self) {
        let size = self.outer.rows_and_columns();
        if size == self.model.size() {
            return;
        }
        self.model.resize(size);
        let surface = Surface { model: &self.model, terminal: self.terminal };
        if let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.is_up()) {
            self.shown.extend(prompt.redraw(&surface));
        }
        self.update();
    }
}
