//! The messages on the approvals sockets: only a whole, explicit approval by a peer who may answer allows a call.

use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_approvals::Settings;
use guard_approvals::decision::Resolution;
use guard_approvals::manager::{AskOutcome, Manager};
use guard_approvals::outcome::Lookup;
use guard_approvals::persist::GrantStore;
use guard_approvals::question::{Always, Process, Question, Repeat, Subject};
use guard_approvals::routes::guard_socket::protocol::{Body, Reply as GuardReply};
use guard_approvals::routes::guard_socket::server;
use guard_approvals::routes::openclaw_socket::SocketToken;
use guard_approvals::routes::openclaw_socket::wire::{Problem, ServerMessage, Word, answer};
use guard_openclaw::clock::now_ms;
use guard_openclaw::gateway::GatewaySettings;
use guard_policy::approval::Forwarding;
use guard_policy::{Reason, Source};
use openclaw_guard::approvals::card::render;
use openclaw_guard::approvals::client;
use openclaw_guard::approvals::watch::admission::Admission;
use openclaw_guard::approvals::watch::event::WatchEvent;
use openclaw_guard::approvals::watch::server::WatchServer;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc};

use super::input::Input;
use super::words::{PAYLOAD, TOKEN, Words, signature};

/// Runs one peer.
pub fn frames(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(5) {
        0 => watch(&mut input),
        1 => control(&mut input),
        2 => answered(&mut input),
        3 => gate(&mut input),
        _ => shown(&mut input),
    }
}

/// A runtime with paused time, which advances when nothing else happens.
fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(work)
}

/// A connection: our end, and a peer's end that has already sent all of this.
fn connection(input_bytes: &[u8]) -> (UnixStream, UnixStream) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    // Always fits into the socket's buffer.
    (&theirs).write_all(input_bytes).unwrap();
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    (UnixStream::from_std(ours).unwrap(), UnixStream::from_std(theirs).unwrap())
}

async fn heard(mut stream: UnixStream) -> Vec<u8> {
    let mut all = Vec::new();
    // Data that the other end did not read causes an error here, which is expected.
    let _ = stream.read_to_end(&mut all).await;
    all
}

/// The approvals socket of `approvals watch`. It allows whatever is asked, so only the token keeps a peer from an
/// approval.
fn watch(input: &mut Input<'_>) {
    let is_member = input.byte() & 7 == 7;
    let words = Words { id: "3f0c".to_owned(), now: now_ms() as i64 };
    let mut sent = words.line(input);
    sent.extend_from_slice(&words.line(input));
    let (asked, reply) = run(async {
        let (sender, mut events) = mpsc::unbounded_channel();
        let server =
            WatchServer::new(Admission::new(SocketToken::new(TOKEN)), Arc::new(move |_| is_member), sender);
        let (ours, theirs) = connection(&sent);
        let answering = tokio::spawn(async move {
            let mut asked = Vec::new();
            while let Some(event) = events.recv().await {
                if let WatchEvent::Asked { key, answer, .. } = event {
                    asked.push(key.id);
                    let _ = answer.send(Word::AllowOnce);
                }
            }
            asked
        });
        server.serve(ours).await;
        drop(server);
        (answering.await.unwrap(), heard(theirs).await)
    });
    let first = sent.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    let frame: Value = serde_json::from_slice(first).unwrap_or_default();
    let may = !is_member
        && first.ends_with(b"\n")
        && frame["type"] == "request"
        && frame["token"] == TOKEN
        && frame["request"]["command"].is_string();
    let text = String::from_utf8_lossy(&sent);
    assert!(asked.is_empty() || may && asked.len() == 1 && frame["id"] == asked[0], "{text}");
    if reply.is_empty() {
        return;
    }
    assert!(!is_member, "{text}");
    assert_eq!(reply.iter().filter(|&&byte| byte == b'\n').count(), 1, "one answer: {text}");
    match serde_json::from_slice(&reply).unwrap() {
        ServerMessage::Decision { id, decision } => {
            assert_eq!(frame["id"], id, "{text}");
            assert_eq!(decision != Word::Deny, !asked.is_empty(), "{text}");
        }
        ServerMessage::ExecRes { ok, .. } => assert!(!ok && frame["type"] == "exec", "{text}"),
    }
}

fn question(path: &str) -> Question {
    Question {
        agent: "main".to_owned(),
        session: "s".to_owned(),
        subject: Subject::File {
            path: path.into(),
            access: guard_policy::Access::READ,
            call: "open",
            change: None,
        },
        asked_by: vec![Process { pid: 7, started: 1, name: "x".to_owned() }],
        which: guard_approvals::WhichFile::default(),
        unusual: Vec::new(),
        edited_below: None,
        reason: Reason::new(Source::Default, "default", "ask", "nothing names it"),
        always: Always::Never("nothing is saved".to_owned()),
        repeat: Repeat::Allowed,
        reach: None,
    }
}

/// The control socket of a guard, where peers are identified by their process. A guarded process can answer nothing,
/// and others only with valid frames.
fn control(input: &mut Input<'_>) {
    let is_member = input.byte() & 3 == 3;
    let minute = Duration::from_secs(60);
    let settings = Settings {
        timeout: 60 * minute,
        running_notice: minute,
        max_pending: 8,
        routes: None,
        notify: None,
        gateway: GatewaySettings::default(),
        forwarding: Forwarding::default(),
    };
    let manager = Manager::new(settings, ());
    let wait = |path: &str| match manager.register(&Arc::new(manager.create(question(path)))) {
        AskOutcome::Waiting(ticket) => ticket,
        other => panic!("{other:?}"),
    };
    let tickets = ["/a", "/b", "/a"].map(wait);
    let words = Words { id: tickets[0].call().to_string(), now: now_ms() as i64 };
    let mut sent = Vec::new();
    for _ in 0..=input.below(4) {
        sent.extend_from_slice(&words.line(input));
    }
    let reply = run(async {
        let grant_store = GrantStore::new("/nowhere".as_ref());
        let server = server::Server::new(manager.clone(), grant_store, Arc::new(move |_| is_member));
        let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let (ours, theirs) = connection(&sent);
        server.serve_peer(ours, permit).await;
        heard(theirs).await
    });
    let text = String::from_utf8_lossy(&sent);
    assert!(!is_member || reply.is_empty(), "{text}");
    for line in reply.split_inclusive(|&byte| byte == b'\n') {
        let _: GuardReply = serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    let frames = sent.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let frames: Vec<Value> = frames.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    for ticket in &tickets {
        let id = ticket.call().to_string();
        let Ok(Lookup::Ended(_, Resolution::Resolved(decision))) = manager.find(&id) else { continue };
        let says = |frame: &&Value| {
            let named = frame["id"].as_str().is_some_and(|named| {
                // One answer is for all calls with the same binding; with a revision, for the whole card.
                let all = tickets.iter().map(|ticket| ticket.call().to_string());
                all.into_iter().any(|id| id.starts_with(&named.to_lowercase()) && !named.is_empty())
            });
            frame["version"] == 1 && frame["method"] == "resolve" && named
        };
        let mut frames = frames.iter().filter(says);
        let word = decision.to_string();
        assert!(!is_member && frames.any(|frame| frame["decision"] == word.as_str()), "{id} {word}: {text}");
    }
}

/// The messages of a server of the approvals socket: only a whole line that approves this question allows it.
fn answered(input: &mut Input<'_>) {
    let words = Words { id: "3f0c".to_owned(), now: 0 };
    let mut sent = Vec::new();
    for _ in 0..=input.below(4) {
        sent.extend_from_slice(&words.line(input));
    }
    let read = |sent: &[u8]| run(async { answer(sent, "3f0c").await });
    let lines = || sent.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let says = |line: &[u8], word: &str| {
        let frame: Value = serde_json::from_slice(line).unwrap_or_default();
        frame["type"] == "decision" && frame["id"] == "3f0c" && frame["decision"] == word
    };
    let text = String::from_utf8_lossy(&sent);
    match read(&sent) {
        Ok(Some(word)) => {
            let word = serde_json::to_value(word).unwrap();
            assert!(lines().any(|line| says(line, word.as_str().unwrap())), "{text}");
        }
        Ok(None) => assert!(sent.is_empty(), "{text}"),
        Err(_) => {
            assert!(!sent.is_empty(), "{text}");
            // An answer that follows is still read: the earlier messages are ignored.
            let mut more = sent.clone();
            more.push(b'\n');
            more.extend_from_slice(
                &ServerMessage::Decision { id: "3f0c".to_owned(), decision: Word::AllowOnce }.to_line(),
            );
            let whole = read(&more).unwrap();
            assert!(whole == Some(Word::AllowOnce) || !sent.ends_with(b"\n"), "{text}");
        }
    }
}

/// Requests to run a command: each is accepted once, if it was recently signed with the token.
fn gate(input: &mut Input<'_>) {
    let mut gate = Admission::new(SocketToken::new(TOKEN));
    let (start, start_ms) = (Instant::now(), 1_700_000_000_000_i64);
    let mut passed = HashSet::new();
    let mut away = 0;
    for _ in 0..12 {
        away += input.number(2) as i64;
        let nonce = input.pick(&["a", "b", "c", "", "a:1"]);
        let late = input.number(2) as i16;
        let ts = match input.below(8) {
            0 => input.number(8) as i64,
            _ => start_ms + away + i64::from(late),
        };
        let json = *input.pick(&[PAYLOAD, r#"{"command":"ls"}"#, "{", r#"{"command":[],"x":1}"#]);
        let token = input.pick(&[TOKEN, TOKEN, TOKEN, "other"]);
        let mut hmac = signature(token, nonce, ts, json);
        let is_whole = match input.below(6) {
            0 => {
                let at = input.below(hmac.len());
                hmac.replace_range(at..=at, "g");
                false
            }
            1 => {
                hmac.pop();
                false
            }
            2 => {
                hmac = hmac.to_uppercase();
                true
            }
            _ => true,
        };
        let now = (start_ms + away, start + Duration::from_millis(away as u64));
        let outcome = gate.signed((nonce, ts, &hmac), json, now);
        let is_now = (i128::from(now.0) - i128::from(ts)).abs() <= 10_000;
        let is_right = is_whole && *token == TOKEN && json.contains("\"command\":[");
        match outcome {
            Ok(()) => {
                assert!(is_now && is_right, "{nonce} {ts} {hmac}");
                assert!(passed.insert((*nonce, ts, json)), "{nonce} {ts} has passed before");
            }
            Err(Problem { reason, .. }) => {
                assert!(
                    !is_now || !is_right || reason.as_deref() == Some("nonce"),
                    "{nonce} {ts}: {reason:?}"
                );
            }
        }
        if input.is_empty() {
            break;
        }
    }
}

/// What a guard sends to the command line: none of it may act on the terminal.
fn shown(input: &mut Input<'_>) {
    let words = Words { id: "3f0c".to_owned(), now: 0 };
    let acts = |text: &str| {
        text.chars().any(|character| character.is_control() && character != '\n' || character == '\u{202e}')
    };
    let line = match input.below(3) {
        0 => words.line(input),
        _ => {
            let mut approval = json!({"id": "3f0c", "agentId": "main", "session": "s", "createdAtMs": 1,
                "expiresAtMs": 2, "card": 1, "revision": 1, "calls": 1, "operation": "exec", "argv": [],
                "resolvedPath": "/x", "isText": true, "askedBy": [], "always": {"never": "x"},
                "because": {"source": "agent", "path": "", "rule": "", "text": ""}});
            for _ in 0..input.below(6) {
                let value = json!(String::from_utf8_lossy(input.text()));
                match input.below(10) {
                    0 => approval["id"] = value,
                    1 => approval["argv"] = json!([value]),
                    2 => approval["resolvedPath"] = value,
                    3 => approval["cwd"] = value,
                    4 => approval["environment"] = json!([value]),
                    5 => approval["always"] = json!({ "never": value }),
                    6 => approval["askedBy"] = json!([{"pid": 1, "started": 1, "name": value}]),
                    7 => approval["because"]["text"] = value,
                    8 => approval["script"] = json!({"path": value, "sha256": value}),
                    _ => approval["operation"] = value,
                }
            }
            json!({"version": 1, "type": "approvals", "approvals": [approval]}).to_string().into_bytes()
        }
    };
    match client::read_reply(&line) {
        Ok(Body::Approvals { approvals }) => {
            for approval in approvals {
                assert!(!acts(&render(1, &approval, 0)), "{}", line.escape_ascii());
            }
        }
        Ok(_) => {}
        Err(error) => assert!(!acts(&error.to_string()), "{}", line.escape_ascii()),
    }
}
