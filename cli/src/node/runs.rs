//! The calls that are being answered.

use std::collections::{HashMap, HashSet};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_openclaw::node::Answer;
use parking_lot::Mutex;
use tokio::sync::watch;

/// By which a run is given up.
#[derive(Debug, Default)]
pub struct Lifeline {
    is_cut: AtomicBool,
    socket: Mutex<Option<UnixStream>>,
}

impl Lifeline {
    /// Takes the socket to the run's guard. If the run was cancelled before, it ends now.
    pub fn hold(&self, socket: &UnixStream) {
        let mut held = self.socket.lock();
        *held = socket.try_clone().ok();
        if self.is_cut() || held.is_none() {
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Cancels the run: its guard ends the tree.
    pub fn cut(&self) {
        let held = self.socket.lock();
        self.is_cut.store(true, Ordering::Release);
        if let Some(socket) = &*held {
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Whether the run was given up.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }
}

/// The answer to repetitions of a call; `None` until it is known.
pub type Repeated = watch::Receiver<Option<Answer>>;

/// How the node treats a call.
pub enum Begun {
    /// A new one.
    New(watch::Sender<Option<Answer>>),
    /// A repetition of a call that is being answered.
    Repeats(Repeated),
    /// The gateway has made this very call already.
    Known,
}

/// The calls that are being answered.
#[derive(Debug, Default)]
pub struct Calls(Mutex<CallsInner>);

#[derive(Debug, Default)]
struct CallsInner {
    ids: HashSet<String>,
    keys: HashMap<String, Repeated>,
    runs: HashMap<String, Arc<Lifeline>>,
}

impl Calls {
    /// Begins to answer a call. `key` is equal for repetitions.
    pub fn begin(&self, id: &str, key: Option<&str>) -> Begun {
        let mut calls = self.0.lock();
        if !calls.ids.insert(id.to_owned()) {
            return Begun::Known;
        }
        if let Some(known) = key.and_then(|key| calls.keys.get(key)) {
            return Begun::Repeats(known.clone());
        }
        let (sender, receiver) = watch::channel(None);
        if let Some(key) = key {
            calls.keys.insert(key.to_owned(), receiver);
        }
        Begun::New(sender)
    }

    /// Ends a call.
    pub fn end(&self, id: &str, key: Option<&str>) {
        let mut calls = self.0.lock();
        calls.ids.remove(id);
        calls.runs.remove(id);
        if let Some(key) = key {
            calls.keys.remove(key);
        }
    }

    /// Ends a repetition.
    pub fn end_repetition(&self, id: &str) {
        self.0.lock().ids.remove(id);
    }

    /// Registers a call's run, so that it can be cancelled.
    pub fn runs(&self, id: &str) -> Arc<Lifeline> {
        let lifeline = Arc::<Lifeline>::default();
        self.0.lock().runs.insert(id.to_owned(), Arc::clone(&lifeline));
        lifeline
    }

    /// Gives up the run of a call.
    pub fn cancel(&self, id: &str) {
        let run = self.0.lock().runs.get(id).cloned();
        if let Some(run) = run {
            run.cut();
        }
    }

    /// Gives up every run.
    pub fn cancel_all(&self) {
        let runs: Vec<_> = self.0.lock().runs.values().cloned().collect();
        runs.iter().for_each(|run| run.cut());
    }

    /// How many commands run.
    pub fn running(&self) -> usize {
        self.0.lock().runs.len()
    }
}
