//! The contents of a snapshot.

use guard_approvals::question::{Always, Question, Subject};
use guard_approvals::routes::guard_socket::QuestionState;
use guard_approvals::testing::question;
use guard_approvals::{CodeInput, InputSource};
use guard_policy::analysis::InputKind;
use serde_json::Value;
use tokio::sync::oneshot;

use super::super::cards::WebCard;
use crate::approvals::watch::queue::{Key, Queue};
use crate::approvals::watch::tests::{approvals, asked};

const NASTY: &str = "\u{1b}[2J\u{202e}<script>\u{200b}\n\u{e0041}&amp;\u{9b}";

fn cards(queue: &Queue) -> Vec<Value> {
    let rows = queue.rows();
    rows.iter().filter_map(|(key, row)| serde_json::to_value(WebCard::from_row(key, row)?).ok()).collect()
}

/// All strings of a value except the id, which is not shown.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|one| strings(one, found)),
        Value::Object(object) => {
            object.iter().filter(|(name, _)| *name != "id").for_each(|(_, one)| strings(one, found));
        }
        _ => {}
    }
}

#[test]
fn nothing_that_is_shown_acts() {
    let mut never = Question {
        always: Always::Never(NASTY.to_owned()),
        agent: NASTY.to_owned(),
        ..question(&["/bin/a", NASTY])
    };
    let Subject::Exec(exec) = &mut never.subject else { unreachable!() };
    let source = InputSource::Argument(NASTY.into());
    exec.inputs.push(CodeInput { source, kind: InputKind::Other, path: NASTY.into(), sha256: None });
    let (all, _tickets) = approvals(&[never, question(&[NASTY])]);
    let mut queue = Queue::default();
    queue.listed(7, all);
    let (answer, _answered) = oneshot::channel();
    let mut by_socket = asked(NASTY);
    by_socket.cwd = Some(NASTY.to_owned());
    by_socket.host = Some(NASTY.to_owned());
    queue.asked(Key { pid: 9, id: NASTY.to_owned() }, by_socket, 1, answer, 0);
    let cards = cards(&queue);
    assert_eq!(cards.len(), 3);
    let mut found = Vec::new();
    cards.iter().for_each(|card| strings(card, &mut found));
    let acts = |character: char| {
        character.is_control() || matches!(character, '\u{200b}' | '\u{202e}' | '\u{e0041}')
    };
    assert!(found.iter().any(|text| text.contains("\\u{1B}[2J\\u{202E}<script>")), "{found:?}");
    assert!(found.iter().all(|text| !text.contains(acts)), "{found:?}");
    assert!(found.iter().any(|text| text.starts_with("code from \\u{1B}")), "{found:?}");
    // An answer names the id unchanged.
    assert_eq!(cards[2]["id"], NASTY);
}

#[test]
fn decisions_that_would_be_refused_are_not_offered() {
    let never = Question { always: Always::Never("it is a shell".to_owned()), ..question(&["/bin/sh"]) };
    let (all, _tickets) = approvals(&[never, question(&["/bin/a"])]);
    let mut queue = Queue::default();
    queue.listed(7, all);
    let (answer, _answered) = oneshot::channel();
    queue.asked(Key { pid: 9, id: "x".to_owned() }, asked("ls"), 1, answer, 0);
    let choices: Vec<_> = cards(&queue).iter().map(|card| card["choices"].to_string()).collect();
    assert_eq!(
        choices,
        [
            r#"["allow-once","allow-session","allow-30m","deny"]"#,
            r#"["allow-once","allow-session","allow-30m","allow-always","deny"]"#,
            r#"["allow-once","allow-always","deny"]"#,
        ]
    );
}

/// A peer chooses its questions' ids, so it could reuse one that was shown for another question.
#[test]
fn no_snapshot_version_comes_twice() {
    let mut queue = Queue::default();
    let key = Key { pid: 9, id: "x".to_owned() };
    let mut seen = Vec::new();
    for (n, command) in ["ls", "rm -rf /", "ls"].into_iter().enumerate() {
        let (answer, _answered) = oneshot::channel();
        queue.asked(key.clone(), asked(command), n as u64, answer, 0);
        let version = queue.get(&key).expect("a row").version;
        assert!(!seen.contains(&version), "{command}");
        seen.push(version);
        queue.dropped(&key, n as u64);
        assert!(queue.get(&key).is_none());
    }
    let (all, _tickets) = approvals(&[question(&["/bin/a"])]);
    for _ in 0..2 {
        queue.listed(7, all.clone());
        let version = queue.rows()[0].1.version;
        assert!(!seen.contains(&version));
        seen.push(version);
        queue.ended(7, &all[0].id, &QuestionState::Expired);
    }
}
