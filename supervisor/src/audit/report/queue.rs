//! The queue of what is to be logged.
//!
//! Why: docs/decisions.md, "The worker writes the line of a program that starts"

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::LogMessage;

/// The capacity, so that memory stays bounded.
const BACKLOG: usize = 4096;

/// Messages in the order of their arrival.
#[derive(Default)]
pub struct LogQueue {
    state: Mutex<State>,
    arrived: Condvar,
    taken: Condvar,
}

#[derive(Default)]
struct State {
    messages: VecDeque<LogMessage>,
    /// How many messages have arrived.
    arrivals: u64,
}

impl State {
    fn is_full(&mut self) -> bool {
        self.messages.len() >= BACKLOG
    }

    fn push(&mut self, message: LogMessage) {
        self.messages.push_back(message);
        self.arrivals += 1;
    }
}

impl LogQueue {
    /// Adds a message. While the queue is full, waits.
    pub fn push(&self, message: LogMessage) {
        let mut state = self.state.lock();
        self.taken.wait_while(&mut state, State::is_full);
        state.push(message);
        self.arrived.notify_one();
    }

    /// Adds a message if the queue has room for it before `until`. Returns whether it did.
    pub fn push_until(&self, message: LogMessage, until: Instant) -> bool {
        let mut state = self.state.lock();
        if self.taken.wait_while_until(&mut state, State::is_full, until).timed_out() {
            return false;
        }
        state.push(message);
        self.arrived.notify_one();
        true
    }

    /// Waits until more than `seen` messages have arrived, even if others have taken them, but no longer than `until`.
    /// Returns how many have arrived.
    pub fn wait(&self, seen: u64, until: Option<Instant>) -> u64 {
        let mut state = self.state.lock();
        let is_known = |state: &mut State| state.arrivals == seen;
        match until {
            Some(until) => drop(self.arrived.wait_while_until(&mut state, is_known, until)),
            None => self.arrived.wait_while(&mut state, is_known),
        }
        state.arrivals
    }

    /// Takes the next message.
    pub fn take(&self) -> Option<LogMessage> {
        let next = self.state.lock().messages.pop_front();
        if next.is_some() {
            self.taken.notify_one();
        }
        next
    }
}
