//! The manager under a clock that the tests move, and the pending state under arbitrary operations.

mod limits;
mod load;
mod model;
mod persist;
mod races;
mod rows;
mod signals;
mod widths;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use guard_policy::Access;
use guard_policy::analysis::BoundEntry;
use guard_policy::approval::{Route, Saving};

use super::decision::{Decision, GrantWidth, Refusal, Resolution, ResolveError};
use super::digest::Digest;
use super::event::{Event, Log, QuestionChange};
use super::manager::{AskOutcome, Manager, Ticket};
use super::question::{Always, Exec, PendingRequest, Question, Repeat, Subject};
use super::settings::Settings;
pub use super::testing::*;

/// Records every event.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Log for Recorder {
    fn log(&self, event: &Event, _: Option<&Question>) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Recorder {
    fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    fn whats(&self) -> Vec<QuestionChange> {
        self.events().into_iter().map(|event| event.what).collect()
    }
}

/// A manager with a running expiry loop, and its log. Needs an async runtime.
fn started(settings: Settings) -> (Manager, Recorder) {
    let recorder = Recorder::default();
    let manager = Manager::new(settings, recorder.clone());
    tokio::spawn(manager.clone().expire_loop());
    (manager, recorder)
}

fn ask(manager: &Manager, question: &Question) -> AskOutcome {
    manager.register(&Arc::new(manager.create(question.clone())))
}

fn waiting(manager: &Manager, question: &Question) -> Ticket {
    match ask(manager, question) {
        AskOutcome::Waiting(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

fn refusal(manager: &Manager, question: &Question) -> Refusal {
    match ask(manager, question) {
        AskOutcome::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}

fn answer(manager: &Manager, ticket: &Ticket, decision: Decision) -> Result<usize, ResolveError> {
    let resolved = manager.resolve(&ticket.call().to_string(), None, decision, Route::Cli);
    resolved.map(|resolved| resolved.answered.len())
}

const ONCE: Decision = Decision::AllowOnce;
const DENY: Decision = Decision::Deny;
const YES: Resolution = Resolution::Resolved(Decision::AllowOnce);
const NO: Resolution = Resolution::Resolved(Decision::Deny);

/// Asserts that nothing is left some time after the last caller has gone.
fn assert_empty(manager: &Manager) {
    assert_eq!(manager.held(), [0; 6]);
}

fn request(manager: &Manager, question: &Question) -> Arc<PendingRequest> {
    Arc::new(manager.create(question.clone()))
}
