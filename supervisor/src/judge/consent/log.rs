//! Reports what happens to questions: to the audit log and, if no prompt can be shown, to the operator.

use std::sync::atomic::{AtomicBool, Ordering};

use guard_approvals::protocol::Approval;
use guard_approvals::{Event, Log, Question, QuestionChange, Refusal, facts};

use crate::audit::QuestionRecord;
use crate::audit::report::Reporter;

/// Reports to a [`Reporter`].
#[derive(Debug)]
pub struct ApprovalLog {
    reporter: Reporter,
    manner: Announce,
    /// Whether a line has said that nobody can be asked.
    has_said: AtomicBool,
}

/// Printed once, when a question was not asked because nobody could answer it.
const NOBODY: &str = "openclaw-guard: nobody can be asked: no route in approvals.routes leads to anybody now (a terminal, \
    a gateway, a companion, `openclaw-guard approvals watch` or the page). To have questions wait for \
    `openclaw-guard approvals resolve`, add \"cli\" to it";

/// Whether a waiting question is announced with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announce {
    /// There is no terminal for a prompt: print how to answer.
    Lines(AnswerHint),
    /// No line: a prompt shows the question.
    Nothing,
}

/// How a waiting question can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerHint {
    /// By `openclaw-guard approvals`.
    Cli,
    /// Elsewhere: `approvals.routes` has no `cli`.
    Elsewhere,
}

impl ApprovalLog {
    /// Creates a log that reports to this reporter.
    pub fn new(reporter: Reporter, manner: Announce) -> ApprovalLog {
        ApprovalLog { reporter, manner, has_said: AtomicBool::new(false) }
    }
}

impl Log for ApprovalLog {
    fn log(&self, event: &Event, question: Option<&Question>) {
        if let (QuestionChange::Requested { .. }, Some(question), Announce::Lines(way)) =
            (&event.what, question, self.manner)
        {
            self.reporter.notice(waiting(event, question, way));
        }
        let is_unasked =
            matches!(event.what, QuestionChange::NoRoute | QuestionChange::Refused(Refusal::NoRoute));
        if is_unasked && !self.has_said.swap(true, Ordering::Relaxed) {
            self.reporter.notice(NOBODY.to_owned());
        }
        self.reporter.record_question(QuestionRecord::new(event, question));
    }
}

fn waiting(event: &Event, question: &Question, way: AnswerHint) -> String {
    let id = event.id.to_string();
    let approval = Approval { id, ..Approval::from_question(question) };
    match way {
        AnswerHint::Cli => facts::waiting_by_command(&approval),
        AnswerHint::Elsewhere => facts::waiting_elsewhere(&approval),
    }
}
