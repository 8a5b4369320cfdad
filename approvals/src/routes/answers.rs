//! Submits answers from routes that cannot report an error back to the human who answered.

use std::sync::Arc;

use guard_openclaw::ports::Warn;
use guard_policy::approval::Route;
use parking_lot::Mutex;

use crate::decision::{Decision, ResolveError};
use crate::manager::Manager;
use crate::outcome::Resolved;
use crate::persist::GrantStore;
use crate::question::Id;

/// Submits the answers of one route.
#[derive(Clone)]
pub struct AnswerSink {
    /// The manager of the answered questions.
    pub manager: Manager,
    route: Route,
    grant_store: GrantStore,
    warn: Warn,
    /// The last warning, so that it is not repeated.
    warned: Arc<Mutex<String>>,
}

impl AnswerSink {
    /// Submits answers as `route`.
    pub fn new(manager: Manager, route: Route, grant_store: GrantStore, warn: Warn) -> AnswerSink {
        AnswerSink { manager, route, grant_store, warn, warned: Arc::default() }
    }

    /// Submits an answer, and saves what an "always" asks for.
    pub async fn submit(&self, id: Id, decision: Decision) {
        let resolve = |decision| self.manager.resolve(&id.to_string(), None, decision, self.route);
        let resolved = match resolve(decision) {
            // An "always" that cannot be saved still allows this one call, because this route cannot report back.
            Err(error @ (ResolveError::NoAlways(_) | ResolveError::AskedEachTime(_))) => {
                self.print(format!("{id} is allowed this time only: {error}"));
                resolve(Decision::AllowOnce)
            }
            resolved => resolved,
        };
        // An error here means that the question is no longer pending.
        let Ok(Resolved { saves, .. }) = resolved else { return };
        for save in saves {
            let (grant_store, manager) = (self.grant_store.clone(), self.manager.clone());
            let saved = tokio::task::spawn_blocking(move || grant_store.save(&manager, &save)).await;
            if let Err(why) = saved.unwrap_or_else(|error| Err(error.into())) {
                self.print(format!("{id} is allowed this time, but not saved: {why}"));
            }
        }
    }

    /// Prints a note for the operator.
    pub fn print(&self, text: String) {
        (self.warn)(format!("openclaw-guard: {text}"));
    }

    /// Prints a problem, unless it was the last one printed.
    pub fn warn_once(&self, problem: String) {
        let mut last = self.warned.lock();
        if *last != problem {
            self.print(problem.clone());
            *last = problem;
        }
    }
}
