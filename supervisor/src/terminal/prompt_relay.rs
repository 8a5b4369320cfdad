//! What the relay does when a call waits for an answer: a prompt comes over what is shown, and goes.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::poll::{PollFlags, PollTimeout};

use super::prompt::{Prompt, Surface};
use super::relay::{Relay, ready};
use crate::audit::report::print;

/// So long the command's terminal is a row smaller, for its programs to see it and draw.
const RESIZE_TIMEOUT: Duration = Duration::from_millis(150);
/// So often it is looked whether the keyboard may be taken for a question.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// So long the operator's terminal may take to show what is put back.
const IO_TIMEOUT: Duration = Duration::from_secs(2);

impl Relay {
    /// Has the supervisor ask here, by this way.
    pub fn prompt_by(&mut self, link: UnixStream) {
        // Without it other ways are left.
        self.prompt = Prompt::new(link).ok();
    }

    /// Asks no more.
    pub fn prompt_no_more(&mut self) {
        self.lower();
        self.prompt = None;
    }

    /// Whether a prompt is over what is shown.
    pub(super) fn is_covered(&self) -> bool {
        self.prompt.as_ref().is_some_and(Prompt::is_up)
    }

    /// The supervisor has said something.
    pub(super) fn hear(&mut self) {
        let is_there = self.prompt.as_mut().is_some_and(|prompt| prompt.receive(Instant::now()));
        if !is_there {
            self.lower();
            self.prompt = None;
        }
        self.update();
    }

    /// Whether a call waits for an answer.
    pub fn asks(&self) -> bool {
        self.prompt.as_ref().is_some_and(Prompt::wants_up)
    }

    /// Whether a call waits and the keyboard is others'.
    pub fn looks(&self) -> bool {
        self.asks() && !self.attentive
    }

    /// Says what waits where no prompt is drawn: in the background, in a pipeline.
    pub fn announce(&mut self) {
        if let Some(prompt) = self.prompt.as_mut().filter(|_| !self.attentive) {
            prompt.lines().iter().for_each(|line| print(line));
        }
    }

    /// Keys were typed: what of them is for the command, and whether the operator suspends.
    pub(super) fn answered(&mut self, keys: &[u8]) -> (Vec<u8>, bool) {
        let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.reads()) else {
            return (keys.to_vec(), false);
        };
        let outcome = prompt.typed(keys, Instant::now());
        self.update();
        (outcome.keys, outcome.suspends)
    }

    /// When `tick` is due, whatever happens.
    pub fn due(&self) -> Option<Duration> {
        let now = Instant::now();
        let redraws = self.redraws.map(|at| at.saturating_duration_since(now));
        let prompt = self.prompt.as_ref().and_then(|prompt| prompt.due(now));
        let look = self.looks().then_some(POLL_INTERVAL);
        [redraws, prompt, look].into_iter().flatten().min()
    }

    /// Does what is due.
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

    /// Shows what is to be seen now, and nothing else.
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
            self.shown.extend_from_slice(self.sieve.interrupt());
            self.shown.extend(prompt.rise(&surface));
        }
        self.shown.extend(prompt.draw(&surface, Instant::now()));
        self.show();
    }

    /// Takes the prompt off the screen, and what was typed before it was seen goes to the command.
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

    /// Has the programs of the command's terminal draw again: they are told of another size, and then of the right one.
    fn shrink(&mut self) {
        let (Some(master), Ok(mut size)) = (&self.master, self.outer.size()) else { return };
        size.ws_row = size.ws_row.saturating_sub(1).max(1);
        if rustix::termios::tcsetwinsize(master, size).is_ok() {
            self.redraws = Some(Instant::now() + RESIZE_TIMEOUT);
        }
    }

    /// The operator's terminal has another size.
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
