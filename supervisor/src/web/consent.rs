//! Asks a human about a request to a host.
//!
//! Each request waits in a thread of its own, because the thread that answers the proxy must go on. The proxy withdraws a
//! question whose client has left.

use std::io;
use std::sync::Arc;

use guard_approvals::{Approvals, Binding, DenyReason, Question, Subject};
use guard_policy::{Outcome, Reason, Verdict};

use super::answers::{Answers, Judged, builtin};
use super::wire::{WebQuestion, WebVerdict};
use crate::judge::consent::{ConsentState, consent_state, settled};
use crate::panics::caught;

/// The maximum number of questions about one request. It asks about its name and its addresses, once each, but the
/// policy may change meanwhile.
const MAX_QUESTIONS: usize = 8;

impl Answers {
    /// Asks a human, and then answers the proxy.
    ///
    /// # Errors
    /// If the proxy cannot be answered.
    pub(super) fn ask(self: &Arc<Self>, question: WebQuestion, asked: Question) -> io::Result<()> {
        let id = question.id;
        if !self.asked.begin(id) {
            let verdict = self.deny(&question, &asked, "too many requests wait for an answer");
            return self.send(id, verdict);
        }
        self.send(id, WebVerdict::Asked)?;
        let answers = Arc::clone(self);
        let (waiting, first) = (question.clone(), asked.clone());
        let wait = move || {
            let verdict = caught(|| answers.decide(&waiting, first)).unwrap_or_else(|fault| {
                answers.reporter.fault(&fault, None);
                WebVerdict::Denied("the guard has failed".to_owned())
            });
            answers.asked.end(id);
            // Fails where the proxy has ended.
            let _ = answers.send(id, verdict);
        };
        let started = std::thread::Builder::new().name("web-asked".into()).spawn(wait);
        if started.is_err() {
            self.asked.end(id);
            let verdict = self.deny(&question, &asked, "nobody can be asked: there is no thread left");
            return self.send(id, verdict);
        }
        Ok(())
    }

    /// The answer to a question of the proxy's, after a human has decided about each question that it leads to.
    fn decide(&self, question: &WebQuestion, mut asked: Question) -> WebVerdict {
        for _ in 0..MAX_QUESTIONS {
            let binding = Binding::from_question(&asked);
            let state = match self.current.guard().approvals() {
                Some(approvals) => self.consent(approvals, question.id, asked.clone()),
                None => ConsentState::Unanswered(DenyReason::Failed, "nobody can be asked".to_owned()),
            };
            let is_allowed = matches!(state, ConsentState::Approved(_));
            if !is_allowed || !self.asked.allow(question, binding) {
                let asks = Verdict { outcome: Outcome::Ask, reason: asked.reason.clone() };
                // Without an answer the request is denied, whatever `exec.askFallback` says.
                let denied = state.verdict(asks, |asks| Verdict { outcome: Outcome::Deny, ..asks });
                let rule = denied.reason.rule().to_owned();
                self.report_denial(question, &asked, denied.reason.into_owned());
                return WebVerdict::Denied(rule);
            }
            match self.judge(question) {
                Judged::Settled(verdict) => return verdict,
                Judged::Asks(next) => asked = *next,
            }
        }
        self.deny(question, &asked, "the request keeps asking new questions")
    }

    fn consent(&self, approvals: &Approvals, id: u64, asked: Question) -> ConsentState {
        let (_, outcome) = approvals.ask(asked);
        match settled(outcome) {
            Ok(state) => state,
            Err(ticket) => {
                let call = ticket.call();
                if !self.asked.note(id, ticket.canceller()) {
                    return ConsentState::Refused(
                        DenyReason::Failed,
                        "the program has closed its connection".to_owned(),
                    );
                }
                let end = ticket.wait();
                consent_state(end, || approvals.manager().consume(call))
            }
        }
    }

    /// Denies for a reason of the guard's own.
    fn deny(&self, question: &WebQuestion, asked: &Question, why: &str) -> WebVerdict {
        self.report_denial(question, asked, builtin(why));
        WebVerdict::Denied(why.to_owned())
    }

    fn report_denial(&self, question: &WebQuestion, asked: &Question, reason: Reason<'static>) {
        let authority = match &asked.subject {
            Subject::Host(host) => &host.authority,
            _ => &question.authority,
        };
        // A client that has left has no process any more, and its denial is in the log with the question.
        if let Some(process) = self.clients.process(question.client) {
            self.report(process, authority, Outcome::Deny, reason);
        }
    }
}
