//! The client, against all kinds of listeners.

mod trust;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guard_policy::approval::Route;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::paths::{Endpoint, NAME};
use super::text::approval_request;
use super::wire::answer;
use crate::decision::{Decision, GrantWidth, Refusal, Resolution};
use crate::manager::{AskOutcome, Ticket};
use crate::outcome::Lookup;
use crate::question::{Always, Question, Repeat, Subject};
use crate::settings::Settings;
use crate::tests::{question, settings};
use crate::{Approvals, Surroundings};

const TOKEN: &str = "of-the-store";

/// A state directory, a guard with questions, and its warnings.
struct SocketFixture {
    state: TempDir,
    approvals: Approvals,
    warnings: Arc<Mutex<Vec<String>>>,
}

struct SocketGuard {
    routes: Option<Vec<Route>>,
    timeout: Duration,
    is_member: bool,
}

const PLAIN: SocketGuard = SocketGuard { routes: None, timeout: Duration::from_secs(120), is_member: false };

fn state() -> TempDir {
    let state = tempfile::Builder::new().prefix("guard-socket-").tempdir().expect("a directory");
    let store = json!({"version": 1, "socket": {"path": state.path().join(NAME), "token": TOKEN}});
    fs::write(state.path().join("exec-approvals.json"), store.to_string()).expect("a store");
    state
}

impl SocketGuard {
    fn start(self, state: TempDir) -> SocketFixture {
        let warnings = Arc::<Mutex<Vec<String>>>::default();
        let (into, is_member) = (Arc::clone(&warnings), self.is_member);
        let around = Surroundings {
            session_key: None,
            node_id: None,
            state: state.path().canonicalize().unwrap(),
            home: "/nonexistent".into(),
            sync: guard_openclaw::gateway::SyncThread::new(
                "/nowhere".into(),
                Arc::new(|_| false),
                Arc::new(|_| {}),
            ),
            is_member: Arc::new(move |_| is_member),
            warn: Arc::new(move |problem| into.lock().unwrap().push(problem)),
            terminal: None,
        };
        // With `cli`, a question waits although nobody listens yet.
        let routes = self.routes.or_else(|| Some(vec![Route::Cli, Route::Socket]));
        let settings = Settings { routes, timeout: self.timeout, ..settings() };
        SocketFixture { state, approvals: Approvals::new(settings, (), around), warnings }
    }
}

impl SocketFixture {
    fn path(&self) -> PathBuf {
        self.state.path().join(NAME)
    }

    fn listen(&self) -> UnixListener {
        UnixListener::bind(self.path()).expect("a socket")
    }

    fn waiting(&self, question: Question) -> Ticket {
        match self.approvals.ask(question).1 {
            AskOutcome::Waiting(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn warned(&self, of: &str) {
        until(|| self.warnings.lock().unwrap().iter().any(|warning| warning.contains(of)));
    }
}

fn until(mut done: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(std::time::Instant::now() < end, "it never happens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The next question, and the connection to answer it on.
fn next(listener: &UnixListener) -> (Value, UnixStream) {
    let (stream, _) = listener.accept().unwrap();
    let mut text = String::new();
    // The client sends one line and half-closes.
    let mut read = BufReader::new(stream.try_clone().unwrap());
    read.read_line(&mut text).unwrap();
    assert_eq!(read.read_to_string(&mut String::new()).unwrap(), 0);
    (serde_json::from_str(&text).unwrap(), stream)
}

fn decision(id: &Value, word: &str) -> Vec<u8> {
    format!("{}\n", json!({"type": "decision", "id": id, "decision": word})).into_bytes()
}

/// Waits until the client closes, and writes to it until then.
fn closes(mut stream: UnixStream) {
    until(|| stream.write_all(b"x").is_err());
}

#[test]
fn a_question_is_asked_and_answered_in_openclaws_words() {
    for (word, end) in [
        ("allow-once", Decision::AllowOnce),
        ("allow-always", Decision::AllowAlways(GrantWidth::Narrow)),
        ("deny", Decision::Deny),
    ] {
        let fixture = PLAIN.start(state());
        let listener = fixture.listen();
        let ticket = fixture.waiting(question(&["/bin/a", "x y", "$(z)"]));
        let (asked, mut stream) = next(&listener);
        assert_eq!(
            asked,
            json!({"type": "request", "token": TOKEN, "id": ticket.call().to_string(), "request": {
                "command": "/bin/a 'x y' '$(z)'", "cwd": "/work", "host": "openclaw-guard", "security": null,
                "ask": "on-miss", "agentId": "main", "resolvedPath": "/bin/a", "sessionKey": "s"}})
        );
        // Other lines, and answers to other questions, are ignored.
        for line in ["\n", "{}\n", "no JSON\n", "\u{1b}[2J\n"] {
            stream.write_all(line.as_bytes()).unwrap();
        }
        stream.write_all(&decision(&json!("another"), "allow-once")).unwrap();
        stream.write_all(&decision(&asked["id"], "allow")).unwrap();
        stream.write_all(&decision(&asked["id"], word)).unwrap();
        let call = ticket.call();
        assert_eq!(ticket.wait(), Resolution::Resolved(end));
        assert_eq!(fixture.approvals.manager().consume(call), end.allows());
        closes(stream);
        if word == "allow-always" {
            let store = || fs::read_to_string(fixture.state.path().join("exec-approvals.json")).unwrap();
            until(|| store().contains("allow-always"));
        }
    }
}

#[test]
fn a_file_is_asked_for_with_its_use() {
    let file = Question {
        subject: Subject::File {
            path: b"/a b\x1b[2J\n".to_vec(),
            access: guard_policy::Access::WRITE,
            call: "open",
            change: None,
        },
        repeat: Repeat::AskedEachTime,
        ..question(&["/x"])
    };
    let asked = approval_request(&file).unwrap();
    assert_eq!(asked.command, "[write] /a b\\u{1B}[2J\\u{A}");
    assert_eq!((asked.ask.as_deref(), asked.cwd), (Some("always"), None));
    // A question that cannot be shown in full is not asked.
    assert_eq!(super::text::approval_request(&question(&["/bin/a", &"x".repeat(20_000)])), None);
    let mut preloaded = question(&["/bin/a", "x"]);
    let Subject::Exec(exec) = &mut preloaded.subject else { panic!("no program") };
    exec.program_variables = vec![b"LD_PRELOAD=./e vil.so".to_vec()];
    assert_eq!(
        super::text::approval_request(&preloaded).unwrap().command,
        "'LD_PRELOAD=./e vil.so' /bin/a x"
    );
}

#[test]
fn a_malformed_answer_allows_nothing() {
    let whole = |id: &Value| decision(id, "allow-once");
    let texts: [fn(&Value) -> Vec<u8>; 6] = [
        |_| Vec::new(),
        |id| decision(id, "allow-once")[..20].to_vec(),
        // Without the newline.
        |id| decision(id, "allow-once").trim_ascii_end().to_vec(),
        |id| {
            format!(
                "{{\"type\":\"decision\",\"id\":{id},\"decision\":\"deny\",\"decision\":\"allow-once\"}}\n"
            )
            .into_bytes()
        },
        |_| [b"{\"type\":\"decision\",\"x\":\"".to_vec(), vec![b'x'; 10 << 20]].concat(),
        |_| b"{}\n".repeat(1 << 20),
    ];
    for text in texts {
        let fixture = SocketGuard { timeout: Duration::from_secs(3), ..PLAIN }.start(state());
        let listener = fixture.listen();
        let ticket = fixture.waiting(question(&["/bin/a"]));
        let (asked, mut stream) = next(&listener);
        // The client may close before everything is written.
        let written = stream.write_all(&text(&asked["id"]));
        if written.is_ok() && text(&asked["id"]).len() > 1 << 16 {
            let _ = stream.write_all(&whole(&asked["id"]));
        }
        drop(stream);
        let call = ticket.call();
        assert_eq!(ticket.wait(), Resolution::Expired);
        assert!(!fixture.approvals.manager().consume(call));
        if text(&asked["id"]).is_empty() {
            assert_eq!(*fixture.warnings.lock().unwrap(), [""; 0]);
        } else {
            fixture.warned("the approvals socket gave no answer");
        }
    }
}

#[tokio::test]
async fn no_cut_of_an_answer_is_an_answer() {
    let whole = decision(&json!("id"), "allow-once");
    let of = async |text: &[u8]| answer(text, "id").await.ok().flatten();
    assert!(of(&whole).await.is_some());
    for end in 0..whole.len() {
        assert_eq!(of(&whole[..end]).await, None);
    }
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut other = whole.clone();
            other[at] ^= 1 << bit;
            // A line with a changed bit may still parse, but must not give another answer. With a changed id or key it
            // gives no answer.
            if let Some(word) = of(&other).await {
                assert_eq!(word, super::wire::Word::AllowOnce, "{}", String::from_utf8_lossy(&other));
            }
        }
    }
}

#[test]
fn an_answer_elsewhere_takes_the_question_back() {
    let fixture = PLAIN.start(state());
    let listener = fixture.listen();
    let ticket = fixture.waiting(question(&["/bin/a"]));
    let (asked, stream) = next(&listener);
    let manager = fixture.approvals.manager();
    manager.resolve(asked["id"].as_str().unwrap(), None, Decision::Deny, Route::Cli).unwrap();
    closes(stream);
    drop(ticket);
    // The same for a caller that has gone.
    let ticket = fixture.waiting(question(&["/bin/b"]));
    let (_, stream) = next(&listener);
    drop(ticket);
    closes(stream);
}

#[test]
fn a_listener_that_goes_is_found_again_and_is_no_answer() {
    let fixture = PLAIN.start(state());
    let listener = fixture.listen();
    let ticket = fixture.waiting(question(&["/bin/a"]));
    let (before, stream) = next(&listener);
    drop((listener, stream));
    assert!(matches!(fixture.approvals.manager().find(&ticket.call().to_string()), Ok(Lookup::Pending(_))));
    fs::remove_file(fixture.path()).unwrap();
    let listener = fixture.listen();
    let (again, mut stream) = next(&listener);
    assert_eq!(again, before);
    stream.write_all(&decision(&again["id"], "deny")).unwrap();
    assert_eq!(ticket.wait(), Resolution::Resolved(Decision::Deny));
}

fn refused(fixture: &SocketFixture) -> bool {
    matches!(fixture.approvals.ask(question(&["/bin/a"])).1, AskOutcome::Refused(Refusal::NoRoute))
}

#[test]
fn where_it_is_the_only_route_somebody_has_to_listen() {
    let only = || SocketGuard { routes: Some(vec![Route::Socket]), ..PLAIN }.start(state());
    let fixture = only();
    assert!(refused(&fixture));
    let fixture = only();
    drop(fixture.listen());
    assert!(refused(&fixture));
    let fixture = only();
    let _listener = fixture.listen();
    let _ticket = fixture.waiting(question(&["/bin/a"]));
    // A file at the socket's path that cannot be asked does not prove that nobody listens.
    let fixture = only();
    fs::write(fixture.path(), "").expect("a file");
    assert!(!refused(&fixture));
    let fixture = only();
    fs::write(fixture.state.path().join("exec-approvals.json"), "{").expect("a broken store");
    assert!(!refused(&fixture));
    let fixture = SocketGuard { routes: Some(vec![Route::Socket]), is_member: true, ..PLAIN }.start(state());
    let _listener = fixture.listen();
    assert!(refused(&fixture));
    // If the route is not configured, nobody connects.
    let fixture = SocketGuard { routes: Some(vec![Route::Cli]), ..PLAIN }.start(state());
    let listener = fixture.listen();
    listener.set_nonblocking(true).unwrap();
    let ticket = fixture.waiting(question(&["/bin/a"]));
    std::thread::sleep(Duration::from_millis(200));
    assert!(listener.accept().is_err());
    drop(ticket);
}

#[test]
fn a_question_without_an_answer_expires() {
    let fixture = SocketGuard { routes: Some(vec![Route::Socket]), timeout: Duration::from_secs(3), ..PLAIN };
    let fixture = fixture.start(state());
    let listener = fixture.listen();
    let (done, is_done): (_, Receiver<()>) = channel();
    let listening = std::thread::spawn(move || {
        // First the probe, then the question.
        let (probe, _) = listener.accept().unwrap();
        drop(probe);
        let (_, stream) = next(&listener);
        drop((listener, stream));
        let _ = is_done.recv();
    });
    let ticket = fixture.waiting(question(&["/bin/a"]));
    assert_eq!(ticket.wait(), Resolution::Expired);
    drop(done);
    listening.join().unwrap();
}

#[test]
fn always_is_once_where_nothing_can_be_saved() {
    let fixture = PLAIN.start(state());
    let listener = fixture.listen();
    let never = Question { always: Always::Never("it is a shell".to_owned()), ..question(&["/bin/a"]) };
    let ticket = fixture.waiting(never);
    let (asked, mut stream) = next(&listener);
    stream.write_all(&decision(&asked["id"], "allow-always")).unwrap();
    assert_eq!(ticket.wait(), Resolution::Resolved(Decision::AllowOnce));
    fixture.warned("allowed this time only: allow-always is unavailable: it is a shell");
}

#[test]
fn more_questions_than_connections_are_asked_one_after_the_other() {
    let fixture = PLAIN.start(state());
    let listener = fixture.listen();
    let tickets: Vec<_> = (0..80).map(|n| fixture.waiting(question(&["/bin/a", &n.to_string()]))).collect();
    let mut open: Vec<_> = (0..64).map(|_| next(&listener)).collect();
    listener.set_nonblocking(true).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert!(listener.accept().is_err());
    listener.set_nonblocking(false).unwrap();
    for _ in 0..80 {
        let (asked, mut stream) = if open.is_empty() { next(&listener) } else { open.remove(0) };
        stream.write_all(&decision(&asked["id"], "deny")).unwrap();
    }
    for ticket in tickets {
        assert_eq!(ticket.wait(), Resolution::Resolved(Decision::Deny));
    }
}
