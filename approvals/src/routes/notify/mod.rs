//! `approvals.notify`: runs a program of the operator for each new card. The program cannot answer.
//!
//! It runs outside the tree, unguarded. So its path is resolved when the policy is read, not when it is run, and it is
//! not run if a guarded process could write its file.

mod program;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use guard_openclaw::ports::Warn;
use guard_policy::text::shown;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until};

pub use program::Program;

use super::guard_socket::Approval;
use crate::event::QuestionChange;
use crate::manager::Manager;
use crate::question::Id;

/// How many of these programs may run at once.
const MAX_RUNNING: usize = 4;
/// The pause between two runs. Cards that arrive meanwhile are reported together.
const MIN_RUN_INTERVAL: Duration = Duration::from_secs(1);
/// How long one run may take.
const RUN_TIMEOUT: Duration = Duration::from_secs(10);
/// How often to check whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the operator's program.
#[derive(Clone)]
pub struct Notifier {
    manager: Manager,
    warn: Warn,
}

/// The cards not reported yet, by their first questions.
#[derive(Default)]
struct Unannounced {
    cards: VecDeque<Id>,
    /// Cards up to this number are known.
    newest: u64,
}

impl Notifier {
    /// Reports the cards of this manager.
    pub fn new(manager: Manager, warn: Warn) -> Notifier {
        Notifier { manager, warn }
    }

    /// Runs for ever.
    pub async fn run(self) {
        let (listings, mut events) = self.manager.subscribe();
        let mut unannounced = Unannounced::default();
        let running = Arc::new(AtomicUsize::new(0));
        let (problems, mut to_say) = unbounded_channel();
        let mut last_message = String::new();
        let mut next = Instant::now();
        self.update(&mut unannounced, listings);
        loop {
            let is_due = !unannounced.cards.is_empty();
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => if let QuestionChange::Requested { card } = event.what {
                        unannounced.add(card.number, event.id);
                    },
                    // The snapshot contains whatever was missed.
                    Err(RecvError::Lagged(_)) => self.update(&mut unannounced, self.manager.snapshot()),
                    Err(RecvError::Closed) => return,
                },
                () = sleep_until(next), if is_due => {
                    next = Instant::now() + MIN_RUN_INTERVAL;
                    if running.load(Ordering::SeqCst) < MAX_RUNNING {
                        self.notify(&mut unannounced, &running, &problems);
                    }
                }
                problem = last_problem(&mut to_say) => if problem != last_message {
                    // Report it once: the cause will not go away by itself.
                    (self.warn)(format!("openclaw-guard: approvals.notify: {problem}"));
                    last_message = problem;
                },
            }
        }
    }

    fn update(&self, unannounced: &mut Unannounced, listings: Vec<crate::outcome::PendingCard>) {
        for listing in listings {
            if let Some((request, _)) = listing.requests.first() {
                unannounced.add(listing.card.number, request.id);
            }
        }
    }

    /// Reports the first card that is still pending, and how many more there are.
    fn notify(
        &self,
        unannounced: &mut Unannounced,
        running: &Arc<AtomicUsize>,
        problems: &UnboundedSender<String>,
    ) {
        let Some(program) = self.manager.notify() else { return unannounced.cards.clear() };
        let waiting = Approval::all(&self.manager.snapshot());
        let mut approvals = unannounced.cards.drain(..).filter_map(|id| {
            let id = id.to_string();
            waiting.iter().find(|approval| approval.id == id)
        });
        let Some(first) = approvals.next() else { return };
        let mut value = first.json(std::process::id());
        value["more"] = approvals.count().into();
        let (slot, problems, name) = (Slot::acquire(running), problems.clone(), program.argv[0].clone());
        let run = move || {
            let _slot = slot;
            if let Err(problem) = run(&program, format!("{value}\n").as_bytes(), RUN_TIMEOUT) {
                // Fails only when the guard is ending.
                let _ = problems.send(format!("{}: {problem}", shown(name.as_bytes())));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("notify".into()).spawn(run) {
            (self.warn)(format!("openclaw-guard: approvals.notify: cannot start a thread: {error}"));
        }
    }
}

async fn last_problem(problems: &mut UnboundedReceiver<String>) -> String {
    match problems.recv().await {
        Some(problem) => problem,
        None => std::future::pending().await,
    }
}

impl Unannounced {
    fn add(&mut self, card: u64, id: Id) {
        if card > self.newest {
            self.newest = card;
            self.cards.push_back(id);
        }
    }
}

/// One of the running programs.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn acquire(running: &Arc<AtomicUsize>) -> Slot {
        running.fetch_add(1, Ordering::SeqCst);
        Slot(Arc::clone(running))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs the program until it ends or its time is up.
fn run(program: &Program, text: &[u8], longest: Duration) -> io::Result<()> {
    let mut child = program.start(text)?;
    let end = std::time::Instant::now() + longest;
    // Wait for this child only: the others belong to the workers.
    loop {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) };
        }
        if std::time::Instant::now() >= end {
            if let Some(group) = Pid::from_raw(child.id() as i32) {
                // The child leads a session, and so a process group. If it has ended it needs no signal.
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Err(io::Error::other("it ran for too long and was killed"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
