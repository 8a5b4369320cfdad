//! What has been asked and answered for one held call.

use std::cell::RefCell;

use guard_approvals::{Binding, Question, Reason};
use guard_policy::{Because, Outcome, Verdict};

/// How a call stands with a human.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Nobody was asked yet.
    Unasked,
    /// It may go on; how that came.
    Approved(&'static str),
    /// Nobody answered, why: what `exec.askFallback` says holds.
    Unanswered(Reason, String),
    /// It may not, why.
    Refused(Reason, String),
}

impl Stand {
    /// What becomes of a verdict that asks; `unanswered` is what the policy says then.
    pub fn verdict<'p>(
        &self,
        asks: Verdict<'p>,
        unanswered: impl FnOnce(Verdict<'p>) -> Verdict<'p>,
    ) -> Verdict<'p> {
        let because = |why: &str, because: &Because<'_>| {
            let Because { source, path, text, .. } = because;
            let rule = format!("{}; {why}", because.rule());
            Because::new(*source, path.clone().into_owned(), rule, format!("{text}; {why}"))
        };
        match self {
            Stand::Approved(how) => Verdict { outcome: Outcome::Allow, because: because(how, &asks.because) },
            Stand::Unanswered(_, why) => match unanswered(asks) {
                verdict if verdict.outcome == Outcome::Allow || why.is_empty() => verdict,
                verdict => Verdict { outcome: Outcome::Deny, because: because(why, &verdict.because) },
            },
            Stand::Refused(_, why) => {
                Verdict { outcome: Outcome::Deny, because: because(why, &asks.because) }
            }
            Stand::Unasked => Verdict { outcome: Outcome::Deny, ..asks },
        }
    }
}

/// Of one call, from its beginning to its end: nothing of it holds for another one.
#[derive(Debug, Default)]
pub struct Consent(RefCell<Inner>);

#[derive(Debug, Default)]
struct Inner {
    question: Option<Box<Question>>,
    /// What was approved, or not answered: each for what was asked, and for nothing else.
    asked: Vec<(Binding, Stand)>,
    /// The answer that was a no: there is no other question after it.
    end: Option<Stand>,
}

impl Consent {
    /// How the call stands with what it wants now. Where nobody was asked, the question is kept.
    pub fn stand(&self, question: Question) -> Stand {
        let mut inner = self.0.borrow_mut();
        let binding = Binding::of(&question);
        if let Some((_, stand)) = inner.asked.iter().find(|(asked, _)| *asked == binding) {
            return stand.clone();
        }
        if let Some(end) = &inner.end {
            return end.clone();
        }
        // One call starts one program.
        if inner.asked.iter().any(|(asked, _)| asked.is_exec() && binding.is_exec()) {
            let changed = Stand::Refused(Reason::Changed, "changed while waiting for an answer".to_owned());
            inner.end = Some(changed.clone());
            return changed;
        }
        inner.question = Some(Box::new(question));
        Stand::Unasked
    }

    /// What is to be asked.
    pub fn take_question(&self) -> Option<Question> {
        self.0.borrow_mut().question.take().map(|question| *question)
    }

    /// Why it may not go on; None where it may, or might.
    pub fn reason(&self) -> Option<Reason> {
        let inner = self.0.borrow();
        let mut stands = inner.end.iter().chain(inner.asked.iter().map(|(_, stand)| stand));
        stands.find_map(|stand| match stand {
            Stand::Unanswered(reason, _) | Stand::Refused(reason, _) => Some(*reason),
            Stand::Approved(_) | Stand::Unasked => None,
        })
    }

    /// Keeps what came of a question with this binding.
    pub fn settle(&self, binding: Binding, stand: Stand) {
        let mut inner = self.0.borrow_mut();
        match stand {
            Stand::Approved(_) | Stand::Unanswered(..) => inner.asked.push((binding, stand)),
            Stand::Unasked => {}
            Stand::Refused(..) => inner.end = Some(stand),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard_approvals::testing::{file, question};

    const YES: Stand = Stand::Approved("approved");

    fn late() -> Stand {
        Stand::Unanswered(Reason::Timeout, "late".to_owned())
    }

    #[test]
    fn a_yes_is_for_what_was_asked() {
        let consent = Consent::default();
        assert_eq!(consent.stand(file("/a")), Stand::Unasked);
        assert_eq!(consent.take_question(), Some(file("/a")));
        assert_eq!(consent.take_question(), None);
        consent.settle(Binding::of(&file("/a")), YES);
        assert_eq!(consent.stand(file("/a")), YES);
        assert_eq!(consent.take_question(), None);
        // The other path of a rename, say.
        assert_eq!(consent.stand(file("/b")), Stand::Unasked);
        assert_eq!(consent.take_question(), Some(file("/b")));
    }

    #[test]
    fn another_program_is_not_what_was_approved() {
        // Nor what nobody has answered, which the policy may let go.
        for stand in [YES, late()] {
            let consent = Consent::default();
            consent.settle(Binding::of(&question(&["/bin/a", "x"])), stand.clone());
            assert_eq!(consent.stand(question(&["/bin/a", "x"])), stand);
            let Stand::Refused(Reason::Changed, why) = consent.stand(question(&["/bin/a", "y"])) else {
                panic!("not refused")
            };
            assert!(why.contains("changed while waiting"), "{why}");
            assert_eq!(consent.take_question(), None);
        }
    }

    #[test]
    fn nothing_is_asked_after_a_no() {
        let no = Stand::Refused(Reason::User, "no".to_owned());
        let consent = Consent::default();
        consent.settle(Binding::of(&file("/a")), no.clone());
        assert_eq!(consent.stand(file("/b")), no);
        assert_eq!(consent.take_question(), None);
        assert_eq!(consent.reason(), Some(Reason::User));
    }

    #[test]
    fn what_nobody_answered_says_nothing_of_another_file() {
        let consent = Consent::default();
        consent.settle(Binding::of(&file("/a")), late());
        assert_eq!(consent.stand(file("/a")), late());
        assert_eq!(consent.reason(), Some(Reason::Timeout));
        assert_eq!(consent.stand(file("/b")), Stand::Unasked);
        assert_eq!(consent.take_question(), Some(file("/b")));
    }
}
