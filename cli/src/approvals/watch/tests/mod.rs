//! The socket's server, its queue and its views, each by itself.

mod admission;
mod queues;
mod screens;
mod servers;

use std::sync::Arc;

use guard_approvals::manager::{AskOutcome as Outcome, Manager, Ticket};
use guard_approvals::question::Question;
use guard_approvals::routes::guard_socket::Approval;
use guard_approvals::routes::openclaw_socket::ApprovalRequest;
use guard_approvals::testing::settings;

/// The approvals that a guard lists for these questions, and the tickets that keep them pending.
pub fn approvals(questions: &[Question]) -> (Vec<Approval>, Vec<Ticket>) {
    let manager = Manager::new(settings(), ());
    let wait = |question: &Question| match manager.register(&Arc::new(manager.create(question.clone()))) {
        Outcome::Waiting(ticket) => ticket,
        other => panic!("{other:?}"),
    };
    let tickets = questions.iter().map(wait).collect();
    (Approval::all(&manager.snapshot()), tickets)
}

pub fn asked(command: &str) -> ApprovalRequest {
    ApprovalRequest {
        command: command.to_owned(),
        agent_id: Some("main".to_owned()),
        ..ApprovalRequest::default()
    }
}
