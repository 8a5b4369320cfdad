//! The questions and answers of one held call.

use std::cell::RefCell;

use guard_approvals::{Binding, DenyReason, Question};
use guard_policy::{Outcome, Reason, Verdict};

/// A human's decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentState {
    /// Nobody was asked yet.
    Unasked,
    /// It may go on; contains how it was approved.
    Approved(&'static str),
    /// Nobody answered; contains why. `exec.askFallback` applies.
    Unanswered(DenyReason, String),
    /// The call may not go on; contains why.
    Refused(DenyReason, String),
}

impl ConsentState {
    /// Returns the final verdict in place of `asks`, a verdict to ask. `unanswered` gives the policy's verdict if
    /// nobody answers.
    pub fn verdict<'p>(
        &self,
        asks: Verdict<'p>,
        unanswered: impl FnOnce(Verdict<'p>) -> Verdict<'p>,
    ) -> Verdict<'p> {
        let reason = |why: &str, reason: &Reason<'_>| {
            let Reason { source, path, text, .. } = reason;
            let rule = format!("{}; {why}", reason.rule());
            Reason::new(*source, path.clone().into_owned(), rule, format!("{text}; {why}"))
        };
        match self {
            ConsentState::Approved(how) => {
                Verdict { outcome: Outcome::Allow, reason: reason(how, &asks.reason) }
            }
            ConsentState::Unanswered(_, why) => match unanswered(asks) {
                verdict if verdict.outcome == Outcome::Allow || why.is_empty() => verdict,
                verdict => Verdict { outcome: Outcome::Deny, reason: reason(why, &verdict.reason) },
            },
            ConsentState::Refused(_, why) => {
                Verdict { outcome: Outcome::Deny, reason: reason(why, &asks.reason) }
            }
            ConsentState::Unasked => Verdict { outcome: Outcome::Deny, ..asks },
        }
    }
}

/// The consent of one call, from beginning to end. None of it applies to another call.
#[derive(Debug, Default)]
pub struct Consent(RefCell<StateInner>);

#[derive(Debug, Default)]
struct StateInner {
    question: Option<Box<Question>>,
    /// The decisions that were not refusals, each for exactly its question.
    asked: Vec<(Binding, ConsentState)>,
    /// The refusal, after which there are no more questions.
    end: Option<ConsentState>,
}

impl Consent {
    /// The decision on what the call wants now. If nobody was asked about it, the question is kept.
    pub fn state_of(&self, question: Question) -> ConsentState {
        let mut inner = self.0.borrow_mut();
        let binding = Binding::from_question(&question);
        if let Some((_, state)) = inner.asked.iter().find(|(asked, _)| *asked == binding) {
            return state.clone();
        }
        if let Some(end) = &inner.end {
            return end.clone();
        }
        // One call starts only one program.
        if inner.asked.iter().any(|(asked, _)| asked.is_exec() && binding.is_exec()) {
            let changed =
                ConsentState::Refused(DenyReason::Changed, "changed while waiting for an answer".to_owned());
            inner.end = Some(changed.clone());
            return changed;
        }
        // Of several paths, the first is asked about first.
        inner.question.get_or_insert_with(|| Box::new(question));
        ConsentState::Unasked
    }

    /// Takes the question to ask, if any.
    pub fn take_question(&self) -> Option<Question> {
        self.0.borrow_mut().question.take().map(|question| *question)
    }

    /// Whether there is a question to ask.
    pub fn is_asking(&self) -> bool {
        self.0.borrow().question.is_some()
    }

    /// Drops the question: the call is denied, whatever the answer.
    pub fn drop_question(&self) {
        self.0.borrow_mut().question = None;
    }

    /// Why the call may not go on; `None` if it may, or still might.
    pub fn reason(&self) -> Option<DenyReason> {
        let inner = self.0.borrow();
        let mut states = inner.end.iter().chain(inner.asked.iter().map(|(_, state)| state));
        states.find_map(|state| match state {
            ConsentState::Unanswered(reason, _) | ConsentState::Refused(reason, _) => Some(*reason),
            ConsentState::Approved(_) | ConsentState::Unasked => None,
        })
    }

    /// Stores the decision on a question with this binding.
    pub fn settle(&self, binding: Binding, state: ConsentState) {
        let mut inner = self.0.borrow_mut();
        match state {
            ConsentState::Approved(_) | ConsentState::Unanswered(..) => inner.asked.push((binding, state)),
            ConsentState::Unasked => {}
            ConsentState::Refused(..) => inner.end = Some(state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard_approvals::testing::{file, question};

    const YES: ConsentState = ConsentState::Approved("approved");

    fn late() -> ConsentState {
        ConsentState::Unanswered(DenyReason::Timeout, "late".to_owned())
    }

    #[test]
    fn a_yes_is_for_what_was_asked() {
        let consent = Consent::default();
        assert_eq!(consent.state_of(file("/a")), ConsentState::Unasked);
        assert_eq!(consent.take_question(), Some(file("/a")));
        assert_eq!(consent.take_question(), None);
        consent.settle(Binding::from_question(&file("/a")), YES);
        assert_eq!(consent.state_of(file("/a")), YES);
        assert_eq!(consent.take_question(), None);
        // This is, for instance, the other path of a rename.
        assert_eq!(consent.state_of(file("/b")), ConsentState::Unasked);
        assert_eq!(consent.take_question(), Some(file("/b")));
    }

    #[test]
    fn another_program_is_not_what_was_approved() {
        // The same holds if nobody has answered, so that the policy may allow the call.
        for state in [YES, late()] {
            let consent = Consent::default();
            consent.settle(Binding::from_question(&question(&["/bin/a", "x"])), state.clone());
            assert_eq!(consent.state_of(question(&["/bin/a", "x"])), state);
            let ConsentState::Refused(DenyReason::Changed, why) =
                consent.state_of(question(&["/bin/a", "y"]))
            else {
                panic!("not refused")
            };
            assert!(why.contains("changed while waiting"), "{why}");
            assert_eq!(consent.take_question(), None);
        }
    }

    #[test]
    fn of_several_paths_the_first_is_asked_about_unless_the_call_is_denied() {
        let consent = Consent::default();
        assert!(!consent.is_asking());
        assert_eq!(consent.state_of(file("/a")), ConsentState::Unasked);
        assert_eq!(consent.state_of(file("/b")), ConsentState::Unasked);
        assert!(consent.is_asking());
        assert_eq!(consent.take_question(), Some(file("/a")));
        assert_eq!(consent.state_of(file("/b")), ConsentState::Unasked);
        consent.drop_question();
        assert_eq!(consent.take_question(), None);
    }

    #[test]
    fn nothing_is_asked_after_a_denial() {
        let no = ConsentState::Refused(DenyReason::User, "no".to_owned());
        let consent = Consent::default();
        consent.settle(Binding::from_question(&file("/a")), no.clone());
        assert_eq!(consent.state_of(file("/b")), no);
        assert_eq!(consent.take_question(), None);
        assert_eq!(consent.reason(), Some(DenyReason::User));
    }

    #[test]
    fn a_timeout_counts_for_its_own_file_only() {
        let consent = Consent::default();
        consent.settle(Binding::from_question(&file("/a")), late());
        assert_eq!(consent.state_of(file("/a")), late());
        assert_eq!(consent.reason(), Some(DenyReason::Timeout));
        assert_eq!(consent.state_of(file("/b")), ConsentState::Unasked);
        assert_eq!(consent.take_question(), Some(file("/b")));
    }
}
