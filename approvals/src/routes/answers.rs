//! Answers of routes that cannot be asked back.

use std::sync::Arc;

use guard_openclaw::ports::Warn;
use guard_policy::approval::Route;
use parking_lot::Mutex;

use crate::decision::{Decision, ResolveError};
use crate::manager::Manager;
use crate::outcome::Resolved;
use crate::persist::GrantStore;
use crate::question::Id;

/// Takes the answers of one route.
#[derive(Clone)]
pub struct AnswerSink {
    /// Whose questions they answer.
    pub manager: Manager,
    route: Route,
    keeper: GrantStore,
    complain: Warn,
    /// What was complained of last: the same again is not worth a line.
    complained: Arc<Mutex<String>>,
}

impl AnswerSink {
    /// By this route.
    pub fn new(manager: Manager, route: Route, keeper: GrantStore, complain: Warn) -> AnswerSink {
        AnswerSink { manager, route, keeper, complain, complained: Arc::default() }
    }

    /// Takes an answer, and has saved what it saves.
    pub async fn submit(&self, id: Id, decision: Decision) {
        let resolve = |decision| self.manager.resolve(&id.to_string(), None, decision, self.route);
        let resolved = match resolve(decision) {
            // Whoever said "always" said yes to this time, and cannot be told more by this way.
            Err(error @ (ResolveError::NoAlways(_) | ResolveError::AskedEachTime(_))) => {
                self.print(format!("{id} is allowed this time only: {error}"));
                resolve(Decision::AllowOnce)
            }
            resolved => resolved,
        };
        // Else somebody was faster.
        let Ok(Resolved { saves, .. }) = resolved else { return };
        for save in saves {
            let (keeper, manager) = (self.keeper.clone(), self.manager.clone());
            let kept = tokio::task::spawn_blocking(move || keeper.save(&manager, &save)).await;
            if let Err(why) = kept.unwrap_or_else(|error| Err(error.to_string())) {
                self.print(format!("{id} is allowed this time, but not saved: {why}"));
            }
        }
    }

    /// Says something to the operator.
    pub fn print(&self, text: String) {
        (self.complain)(format!("openclaw-guard: {text}"));
    }

    /// Says what is wrong, unless that was said last.
    pub fn grumble(&self, problem: String) {
        let mut last = self.complained.lock();
        if *last != problem {
            self.print(problem.clone());
            *last = problem;
        }
    }
}
