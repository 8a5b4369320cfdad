//! Keys, and what the screen shows. The expected screens are the files beside this one; GUARD_BLESS=1 rewrites them.

use std::time::{Duration, Instant};

use guard_approvals::decision::{Decision, GrantWidth, Span};
use guard_approvals::manager::Ticket;
use guard_approvals::question::{BoundScript, Process, Question, Subject};
use guard_approvals::routes::guard_socket::Approval;
use guard_approvals::testing::question;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::sync::oneshot;

use super::super::act::Act;
use super::super::queue::{Key, Queue};
use super::{approvals, asked};
use crate::approvals::tui::{Screen, draw};

const SECOND: Duration = Duration::from_secs(1);

struct Seat {
    screen: Screen,
    queue: Queue,
    now: Instant,
    approvals: Vec<Approval>,
    _tickets: Vec<Ticket>,
}

fn seat(questions: &[Question]) -> Seat {
    let (mut approvals, tickets) = approvals(questions);
    for (n, approval) in approvals.iter_mut().enumerate() {
        approval.id = format!("{n:08x}-0000-4000-8000-000000000000");
        approval.created_at_ms = 1_000_000;
        approval.expires_at_ms = 1_120_000;
    }
    let mut queue = Queue::default();
    queue.listed(7, approvals.clone());
    let mut seat =
        Seat { screen: Screen::default(), queue, now: Instant::now(), approvals, _tickets: tickets };
    seat.screen.follow(&seat.queue, seat.now);
    seat.now += SECOND;
    seat
}

impl Seat {
    fn key(&mut self, code: KeyCode) -> Act {
        self.now += Duration::from_millis(200);
        self.screen.key(KeyEvent::new(code, KeyModifiers::NONE), &self.queue, self.now)
    }

    fn keys(&mut self, keys: &str) -> Act {
        keys.chars().fold(Act::Nothing, |_, key| {
            self.key(if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) })
        })
    }

    fn row(&self, n: usize) -> Key {
        Key { pid: 7, id: self.approvals[n].id.clone() }
    }

    fn picture(&self, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal
            .draw(|frame| {
                draw(frame, &self.screen, &self.queue, 1_010_000);
            })
            .unwrap();
        let buffer = terminal.backend().buffer().clone();
        let line = |row: u16| {
            let cells = (0..width).map(|column| buffer[(column, row)].symbol()).collect::<String>();
            cells.trim_end().to_owned() + "\n"
        };
        (0..height).map(line).collect()
    }
}

fn assert_picture(name: &str, picture: &str) {
    let path = format!("{}/src/approvals/watch/tests/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("GUARD_BLESS").is_some() {
        std::fs::write(&path, picture).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(picture == expected, "{name} is now\n{picture}");
}

fn questions() -> Vec<Question> {
    let mut script = question(&["/usr/bin/python3", "build.py", "--all"]);
    if let Subject::Exec(exec) = &mut script.subject {
        let sha256 = exec.executable.sha256;
        exec.script = Some(BoundScript { path: b"/work/build.py".to_vec(), sha256 });
    }
    let process = |pid, name: &str| Process { pid, started: 1, name: name.to_owned() };
    script.asked_by = vec![process(31, "make"), process(20, "bash")];
    vec![script, question(&["/usr/bin/curl", "https://example.org", "\u{1b}[2J\u{202e}x"])]
}

#[test]
fn pictures() {
    let mut seat = seat(&questions());
    assert_picture("list", &seat.picture(110, 24));
    assert_picture("narrow", &seat.picture(60, 20));
    seat.keys("a");
    assert_picture("always", &seat.picture(110, 24));
    seat.keys("xjv");
    assert_picture("details", &seat.picture(80, 24));
    seat.keys("v?");
    assert_picture("help", &seat.picture(80, 20));
    let empty = super::screens::seat(&[]);
    assert_picture("empty", &empty.picture(80, 8));
}

#[test]
fn questions_of_the_socket_are_shown_in_the_same_queue() {
    let mut seat = seat(&questions()[..1]);
    let (answer, _answered) = oneshot::channel();
    let row = Key { pid: 9, id: "node-1".to_owned() };
    seat.queue.asked(row.clone(), asked("rm -rf build \u{9b}2J"), 1, answer, 1_004_000);
    seat.keys("j");
    assert_picture("socket", &seat.picture(110, 16));
    assert_eq!(seat.keys("s\n"), Act::Nothing);
    seat.keys("x");
    assert_eq!(seat.keys("y\n"), Act::Answer(row, Decision::AllowOnce));
}

#[test]
fn an_answer_needs_its_key_and_enter() {
    let always = Decision::AllowAlways(GrantWidth::Narrow);
    let session = Decision::AllowFor(GrantWidth::Narrow, Span::Session);
    for (keys, decision) in [
        ("y\n", Decision::AllowOnce),
        ("s\n", session),
        ("a\n", always),
        ("n\n", Decision::Deny),
        ("\n\n", Decision::Deny),
        ("yn\n", Decision::Deny),
        ("ny\n", Decision::AllowOnce),
    ] {
        let mut seat = seat(&questions());
        assert_eq!(seat.keys(keys), Act::Answer(seat.row(0), decision), "{keys:?}");
    }
    for keys in ["y", "a", "\n", "yx\n", "yj\n", "yv\n", "d\n", "y?\n", "ykx", "Y\n"] {
        let mut seat = seat(&questions());
        assert_eq!(seat.keys(keys), Act::Nothing, "{keys:?}");
    }
    // With Control or Alt, `y` is another key.
    let mut seat = seat(&questions());
    let held = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::ALT);
    seat.screen.key(held, &seat.queue, seat.now);
    seat.now += SECOND;
    assert_eq!(seat.key(KeyCode::Enter), Act::Nothing);
    assert_eq!(seat.keys("xq"), Act::End);
}

#[test]
fn pasted_text_is_no_answer() {
    let mut seat = seat(&questions());
    let press = |code| KeyEvent::new(code, KeyModifiers::NONE);
    assert_eq!(seat.screen.key(press(KeyCode::Char('y')), &seat.queue, seat.now), Act::Nothing);
    assert_eq!(seat.screen.key(press(KeyCode::Enter), &seat.queue, seat.now), Act::Nothing);
    // A second Enter of the same paste does not answer either: the prepared answer is gone, and Enter alone means no.
    seat.now += SECOND;
    assert_eq!(seat.screen.key(press(KeyCode::Enter), &seat.queue, seat.now), Act::Nothing);
}

#[test]
fn an_answer_is_for_what_was_seen() {
    // The row goes, and another one comes under the cursor.
    let mut seat = seat(&questions());
    seat.keys("y");
    let (gone, stays) = (seat.row(0), seat.row(1));
    seat.queue.ended(7, &gone.id, &guard_approvals::routes::guard_socket::QuestionState::Expired);
    assert_eq!(seat.keys("\n"), Act::Nothing);
    // A key that is typed just then has no effect.
    assert_eq!(seat.keys("y"), Act::Nothing);
    assert_eq!(seat.keys("\n"), Act::Nothing);
    seat.now += SECOND;
    assert_eq!(seat.keys("xy\n"), Act::Answer(stays, Decision::AllowOnce));

    // The row stays, but its text changes.
    let mut seat = super::screens::seat(&questions());
    seat.keys("y");
    let other = Approval { argv: vec!["rm".to_owned()], ..seat.approvals[0].clone() };
    seat.queue.requested(7, other);
    assert_eq!(seat.keys("\n"), Act::Nothing);
    assert!(seat.picture(110, 24).contains("look, and press the key again"));

    // Other rows around the selected row come and go: the selection stays.
    let mut seat = super::screens::seat(&questions());
    seat.keys("jy");
    let (first, second) = (seat.row(0), seat.row(1));
    seat.queue.ended(7, &first.id, &guard_approvals::routes::guard_socket::QuestionState::Withdrawn);
    assert_eq!(seat.keys("\n"), Act::Answer(second, Decision::AllowOnce));
}

#[test]
fn no_size_is_too_small() {
    let mut seat = seat(&questions());
    for keys in ["", "a", "v", "v?", "?"] {
        seat.keys(keys);
        for width in [1, 2, 3, 5, 11, 40, 89, 90, 91, 300] {
            for height in [1, 2, 3, 4, 5, 6, 7, 9, 100] {
                let picture = seat.picture(width, height);
                assert!(!picture.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'));
            }
        }
    }
}

#[test]
fn where_nothing_can_be_read_nothing_is_answered() {
    let mut seat = seat(&questions());
    seat.keys("y");
    seat.screen.resize(200, 9);
    assert_eq!(seat.keys("\n"), Act::Nothing);
    assert_eq!(seat.keys("y\n"), Act::Nothing);
    seat.screen.resize(30, 10);
    assert_eq!(seat.keys("y\n"), Act::Answer(seat.row(0), Decision::AllowOnce));
}

#[test]
fn long_texts_are_not_cut_in_silence() {
    let long = question(&["/bin/a", &"x".repeat(60_000), "the end"]);
    let mut seat = seat(&[long]);
    let picture = seat.picture(100, 20);
    assert!(picture.contains("more lines: v, Page Down"), "{picture}");
    seat.keys("v");
    for _ in 0..200 {
        seat.key(KeyCode::PageDown);
    }
    assert!(seat.picture(100, 20).contains("the end"));
}
