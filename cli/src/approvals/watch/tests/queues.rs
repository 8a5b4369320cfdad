//! Rows come, merge and go.

use guard_approvals::decision::{Decision, GrantWidth, Span};
use guard_approvals::question::{Always, Question};
use guard_approvals::routes::guard_socket::QuestionState;
use guard_approvals::routes::openclaw_socket::Word;
use guard_approvals::testing::question;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::super::act::Act;
use super::super::lines::{Form, LineView};
use super::super::queue::{AnswerRoute, CannotAnswer, Key, Queue, QueueChange};
use super::{approvals, asked};

fn key(pid: u32, id: &str) -> Key {
    Key { pid, id: id.to_owned() }
}

fn appeared(key: &Key) -> QueueChange {
    QueueChange::Appeared(key.clone())
}

fn ended(key: &Key, how: &str) -> QueueChange {
    QueueChange::Ended(key.clone(), how.to_owned())
}

#[test]
fn a_question_by_both_ways_is_one_row() {
    let (all, _tickets) = approvals(&[question(&["/bin/a"])]);
    let row = key(7, &all[0].id);
    let mut queue = Queue::default();
    let (answer, mut answered) = oneshot::channel();
    queue.asked(row.clone(), asked("harmless"), 1, answer, 0);
    queue.listed(7, all.clone());
    assert_eq!(queue.changes(), [appeared(&row)]);
    // An update that does not change the shown text leaves the version alone.
    let version = queue.get(&row).unwrap().version;
    let (again, _again) = oneshot::channel();
    queue.asked(row.clone(), asked("other"), 3, again, 0);
    assert_eq!(queue.get(&row).unwrap().version, version);
    // The guard's description is shown, and the answer goes to the guard.
    assert_eq!(queue.get(&row).unwrap().approval.as_ref(), Some(&all[0]));
    assert_eq!(queue.answer(&row, Decision::AllowOnce), Ok(AnswerRoute::Guard(Decision::AllowOnce)));
    assert_eq!(queue.rows().len(), 1);
    queue.ended(7, &row.id, &QuestionState::Expired);
    assert_eq!(queue.changes(), [ended(&row, "expired")]);
    // Nobody answered: the connection ends without a reply.
    assert_eq!(answered.try_recv(), Err(TryRecvError::Closed));
    // The same id from another process is another row.
    let (other, _answered) = oneshot::channel();
    queue.listed(7, all);
    queue.asked(key(8, &row.id), asked("harmless"), 2, other, 0);
    assert_eq!(queue.rows().len(), 2);
}

#[test]
fn the_asker_on_the_socket_gets_the_answer() {
    let mut queue = Queue::default();
    let row = key(9, "a");
    let (answer, mut answered) = oneshot::channel();
    queue.asked(row.clone(), asked("ls"), 1, answer, 0);
    for decision in
        [Decision::AllowFor(GrantWidth::Narrow, Span::Session), Decision::AllowAlways(GrantWidth::Directory)]
    {
        assert_eq!(queue.answer(&row, decision), Err(CannotAnswer::NoWord));
    }
    assert_eq!(queue.answer(&key(10, "a"), Decision::Deny), Err(CannotAnswer::Gone));
    assert_eq!(queue.answer(&row, Decision::AllowAlways(GrantWidth::Narrow)), Ok(AnswerRoute::Socket));
    assert_eq!(answered.try_recv(), Ok(Word::AllowAlways));
    assert_eq!(queue.changes(), [appeared(&row), ended(&row, "allow-always")]);
    assert_eq!(queue.answer(&row, Decision::Deny), Err(CannotAnswer::Gone));
}

#[test]
fn another_question_under_the_same_id_takes_nobody_along() {
    let mut queue = Queue::default();
    let row = key(9, "a");
    let (first, mut of_first) = oneshot::channel();
    let (again, mut of_again) = oneshot::channel();
    let (other, mut of_other) = oneshot::channel();
    queue.asked(row.clone(), asked("rm -rf /"), 1, first, 0);
    queue.asked(row.clone(), asked("rm -rf /"), 2, again, 0);
    let version = queue.get(&row).unwrap().version;
    queue.asked(row.clone(), asked("ls"), 3, other, 0);
    assert_ne!(queue.get(&row).unwrap().version, version);
    // The late end of the first two connections does not remove the third.
    queue.dropped(&row, 1);
    queue.dropped(&row, 2);
    assert_eq!(queue.answer(&row, Decision::AllowOnce), Ok(AnswerRoute::Socket));
    assert_eq!(of_first.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(of_again.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(of_other.try_recv(), Ok(Word::AllowOnce));
}

#[test]
fn ended_questions_are_not_shown() {
    let (all, _tickets) = approvals(&[question(&["/bin/a"]), question(&["/bin/b"])]);
    let mut queue = Queue::default();
    queue.listed(7, all.clone());
    queue.listed(7, all[1..].to_vec());
    assert_eq!(queue.rows().len(), 1);
    // A row that is also asked on the socket stays, with a new version.
    let row = key(7, &all[1].id);
    let (answer, _answered) = oneshot::channel();
    queue.asked(row.clone(), asked("b"), 1, answer, 0);
    let version = queue.get(&row).unwrap().version;
    queue.gone(7);
    assert_ne!(queue.get(&row).unwrap().version, version);
    queue.dropped(&row, 1);
    assert!(queue.rows().is_empty());
}

#[test]
fn always_is_offered_where_something_can_be_saved() {
    let never = Question { always: Always::Never("it is a shell".to_owned()), ..question(&["/bin/sh"]) };
    let (all, _tickets) = approvals(&[never, question(&["/bin/a"])]);
    let mut queue = Queue::default();
    queue.listed(7, all.clone());
    let why = Err(CannotAnswer::NoAlways("it is a shell".to_owned()));
    assert_eq!(queue.answer(&key(7, &all[0].id), Decision::AllowAlways(GrantWidth::Narrow)), why);
    let row = key(7, &all[1].id);
    assert!(queue.answer(&row, Decision::AllowAlways(GrantWidth::Narrow)).is_ok());
    assert!(queue.answer(&row, Decision::AllowAlways(GrantWidth::Directory)).is_err());
}

#[derive(Clone, Default)]
struct Out(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_say_what_happens_and_take_answers() {
    let (all, _tickets) = approvals(&[question(&["/bin/a", "\u{1b}[2J\u{202e}é\u{9b}\u{1f600}"])]);
    let row = key(7, &all[0].id);
    for form in [Form::Json, Form::Plain] {
        let out = Out::default();
        let mut lines = LineView::to(form, Box::new(out.clone()));
        let mut queue = Queue::default();
        queue.listed(7, all.clone());
        for change in queue.changes() {
            lines.changed(&change, &queue).unwrap();
        }
        let output = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        assert!(output.contains("/bin/a") && output.contains(&row.id), "{output}");
        let acts = |character: char| character.is_control() && character != '\n' || character == '\u{202e}';
        assert!(!output.contains(acts), "{output:?}");
        if form == Form::Json {
            assert!(output.is_ascii(), "{output}");
            let value: serde_json::Value = serde_json::from_str(&output).unwrap();
            assert_eq!(value["approval"]["argv"][1], "\u{1b}[2J\u{202e}é\u{9b}\u{1f600}");
            assert_eq!(value["approval"]["guard"], 7);
        }
        let act = lines.line(&format!(" {}  allow-10m ", row.id[..9].to_uppercase()), &queue).unwrap();
        assert_eq!(act, Act::Answer(row.clone(), "allow-10m".parse().unwrap()));
        for wrong in ["", "x", "zz deny", "a b c"] {
            assert_eq!(lines.line(wrong, &queue).unwrap(), Act::Nothing);
        }
        assert_eq!(lines.line(&format!("{} perhaps", row.id), &queue).unwrap(), Act::Nothing);
    }
}
