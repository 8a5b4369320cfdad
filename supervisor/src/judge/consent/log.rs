//! What happens to questions, for the audit log and, where no prompt can be shown, for the operator's eyes.

use guard_approvals::{Event, Log, Question, QuestionChange, Subject};
use guard_policy::text::shown;

use crate::audit::QuestionRecord;
use crate::audit::report::Reporter;

/// Tells the reporter.
#[derive(Debug)]
pub struct ApprovalLog {
    reporter: Reporter,
    manner: Announce,
}

/// Whether a line says that something waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announce {
    /// There is no terminal for a prompt: how it is answered.
    Lines(AnswerHint),
    /// A prompt says it.
    Nothing,
}

/// How what waits can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerHint {
    /// By `openclaw-guard approvals`.
    Cli,
    /// Elsewhere: `approvals.routes` has no `cli`.
    Elsewhere,
}

impl ApprovalLog {
    /// Tells this reporter.
    pub fn new(reporter: Reporter, manner: Announce) -> ApprovalLog {
        ApprovalLog { reporter, manner }
    }
}

impl Log for ApprovalLog {
    fn log(&self, event: &Event, question: Option<&Question>) {
        if let (QuestionChange::Requested { .. }, Some(question), Announce::Lines(way)) =
            (&event.what, question, self.manner)
        {
            self.reporter.news(waiting(event, question, way));
        }
        self.reporter.record_question(QuestionRecord::new(event, question));
    }
}

/// Enough of the id to tell it from others, as git(1) shows commits.
fn short(event: &Event) -> String {
    event.id.to_string().chars().take(8).collect()
}

fn waiting(event: &Event, question: &Question, way: AnswerHint) -> String {
    let what = match &question.subject {
        Subject::Exec(exec) => format!("exec {}", shown(&exec.executable.path)),
        Subject::File { path, access, .. } => format!("{} {}", access.word(), shown(path)),
    };
    let id = short(event);
    match way {
        AnswerHint::Cli => format!(
            "openclaw-guard: {what} waits for approval: openclaw-guard approvals resolve {id} allow-once|deny"
        ),
        AnswerHint::Elsewhere => {
            format!("openclaw-guard: {what} waits for approval (approvals.routes): {id}")
        }
    }
}
