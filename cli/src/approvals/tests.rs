//! Uses real sockets in real directories.

mod peers;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_approvals::decision::{Decision, Resolution};
use guard_approvals::manager::{AskOutcome, Manager, Ticket};
use guard_approvals::protocol::{Approval, Body, MAX_REQUEST_LEN, Method, QuestionState};
use guard_approvals::question::PendingRequest;
use guard_approvals::routes::guard_socket::paths::{Purpose, Socket, SocketDirectory};
use guard_approvals::settings::Settings;
use guard_approvals::testing::{ALWAYS, question, settings};
use guard_approvals::{Approvals, Surroundings};
use guard_policy::approval::Route;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::approvals::card::render;
use crate::approvals::client::Guards;

fn state() -> TempDir {
    tempfile::Builder::new().prefix("guard-control-").tempdir().expect("a directory")
}

/// The directory's path without symbolic links, as the guard resolves it.
fn real(state: &TempDir) -> PathBuf {
    state.path().canonicalize().expect("a path")
}

fn approvals(state: &TempDir, is_member: bool) -> Approvals {
    let around = Surroundings {
        session_key: None,
        node_id: None,
        state: real(state),
        home: "/nonexistent".into(),
        sync: guard_openclaw::gateway::SyncThread::new(
            "/nowhere".into(),
            Arc::new(|_| false),
            Arc::new(|_| {}),
        ),
        is_member: Arc::new(move |_| is_member),
        warn: Arc::new(|problem| panic!("{problem}")),
        terminal: None,
    };
    let approvals = Approvals::new(
        Settings { routes: Some(vec![Route::Cli, Route::Terminal]), ..settings() },
        (),
        around,
    );
    approvals.start().expect("a thread");
    approvals
}

fn waiting(approvals: &Approvals, argv: &[&str]) -> Ticket {
    match approvals.ask(question(argv)).1 {
        AskOutcome::Waiting(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

fn socket(state: &TempDir) -> PathBuf {
    state.path().join(format!("guard/run/{}.sock", std::process::id()))
}

/// Asks as the command line does.
fn ask(state: &TempDir, method: Method) -> Body {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let guards = Guards::find(&real(state)).unwrap();
    let mut answers = runtime.block_on(guards.ask(&method)).unwrap();
    assert_eq!(answers.len(), 1);
    answers.remove(0).body.unwrap()
}

/// Sends arbitrary bytes, and reads until the guard closes the connection.
fn raw(state: &TempDir, text: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket(state)).unwrap();
    // The guard may close the connection before everything is written.
    let _ = stream.write_all(text);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    reply
}

fn resolve(state: &TempDir, id: &str, decision: &str) -> Body {
    ask(
        state,
        Method::Resolve { id: id.to_owned(), decision: decision.to_owned(), revision: None, pattern: None },
    )
}

#[test]
fn a_question_is_listed_found_and_answered() {
    let state = state();
    let approvals = approvals(&state, false);
    let ticket = waiting(&approvals, &["/bin/a", "x y"]);
    let Body::Approvals { approvals: listed } = ask(&state, Method::List) else { panic!("a list") };
    assert_eq!(listed.len(), 1);
    let id = ticket.call().to_string();
    let shown = json!(listed[0]);
    assert_eq!(
        [&shown["id"], &shown["argv"], &shown["resolvedPath"], &shown["cwd"], &shown["agentId"]],
        [&json!(id), &json!(["/bin/a", "x y"]), &json!("/bin/a"), &json!("/work"), &json!("main")]
    );
    assert_eq!(shown["because"]["rule"], "allowlist miss");
    let text = "allowlist \"/bin/a\" with these arguments in this directory";
    let saves = json!([{ "pattern": "/bin/a", "argPattern": "/bin/a x y", "text": text }]);
    assert_eq!(shown["always"], json!({ "saves": saves }));
    assert_eq!(shown["expiresAtMs"].as_u64().unwrap() - shown["createdAtMs"].as_u64().unwrap(), 120_000);
    let found = ask(&state, Method::Find { id: id[..9].to_uppercase() });
    assert_eq!(found, Body::Found { id: id.clone(), state: QuestionState::Pending });
    let Body::Resolved { answered, questions, .. } = resolve(&state, &id[..9], "allow-once") else {
        panic!("an answer")
    };
    assert_eq!((&answered, &questions), (&vec![id.clone()], &listed));
    let call = ticket.call();
    assert_eq!(ticket.wait(), Resolution::Resolved(Decision::AllowOnce));
    assert!(approvals.manager().consume(call));
    let Body::Resolved { answered, .. } = resolve(&state, &id, "allow-once") else { panic!("the same") };
    assert!(answered.is_empty());
    for (id, decision, code, message) in [
        (&*id, "deny", "APPROVAL_ALREADY_RESOLVED", "approval already resolved"),
        ("zz", "deny", "APPROVAL_NOT_FOUND", "unknown or expired approval id"),
        (&*id, "yes", "INVALID_DECISION", "invalid decision: one of"),
    ] {
        let Body::Error { code: reported, message: text } = resolve(&state, id, decision) else {
            panic!("an error")
        };
        assert_eq!(reported, code);
        assert!(text.starts_with(message), "{text}");
    }
}

#[test]
fn the_socket_is_its_owners_alone_and_goes_with_the_guard() {
    let state = state();
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    fs::create_dir_all(state.path().join("guard/run")).unwrap();
    fs::set_permissions(state.path().join("guard/run"), fs::Permissions::from_mode(0o755)).unwrap();
    let bound = Socket::bind(&real(&state), Purpose::Approvals).unwrap();
    assert_eq!((mode(&socket(&state)), mode(&state.path().join("guard/run"))), (0o600, 0o700));
    drop(bound);
    assert!(!socket(&state).exists());
    // A link in place of the socket is replaced; a link in a parent directory is not followed.
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path().join("victim"), socket(&state)).unwrap();
    drop(Socket::bind(&real(&state), Purpose::Approvals).unwrap());
    fs::remove_dir_all(state.path().join("guard")).unwrap();
    symlink(elsewhere.path(), state.path().join("guard")).unwrap();
    assert!(Socket::bind(&real(&state), Purpose::Approvals).is_err());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_long_state_directory_is_no_matter() {
    let state = state();
    let long = real(&state).join("d".repeat(100)).join("e".repeat(100));
    let _socket = Socket::bind(&long, Purpose::Approvals).unwrap();
    let directory = SocketDirectory::open(&long, Purpose::Approvals).unwrap().unwrap();
    assert_eq!(directory.pids().unwrap(), [std::process::id()]);
    assert!(directory.path(std::process::id()).as_os_str().len() < 100);
}

#[test]
fn a_subscriber_is_told_what_happens() {
    let state = state();
    let approvals = approvals(&state, false);
    let before = waiting(&approvals, &["/bin/a"]);
    let mut stream = UnixStream::connect(socket(&state)).unwrap();
    stream.write_all(b"{\"version\":1,\"method\":\"subscribe\"}\n").unwrap();
    let mut lines =
        BufReader::new(stream).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(lines.next().unwrap()["approvals"][0]["id"], before.call().to_string());
    let after = waiting(&approvals, &["/bin/b"]);
    let requested = lines.next().unwrap();
    assert_eq!(
        (&requested["type"], &requested["approval"]["id"]),
        (&json!("requested"), &json!(after.call().to_string()))
    );
    let before_id = before.call().to_string();
    drop(before);
    let withdrawn = lines.next().unwrap();
    assert_eq!((&withdrawn["id"], &withdrawn["state"]), (&json!(before_id), &json!("withdrawn")));
    resolve(&state, &after.call().to_string(), "deny");
    assert_eq!(lines.next().unwrap()["state"], json!({"resolved": {"decision": "deny", "by": "cli"}}));
}

#[test]
fn a_subscriber_is_answered_between_events() {
    let state = state();
    let approvals = approvals(&state, false);
    let mut stream = UnixStream::connect(socket(&state)).unwrap();
    stream.write_all(b"{\"version\":1,\"method\":\"subscribe\"}\n").unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(lines.next().unwrap()["type"], "approvals");
    // Half a line, then an event, then the other half.
    stream.write_all(b"{\"version\":1,\"meth").unwrap();
    let ticket = waiting(&approvals, &["/bin/a"]);
    let requested = lines.next().unwrap();
    assert_eq!(requested["type"], "requested");
    stream.write_all(b"od\":\"list\"}\n").unwrap();
    assert_eq!(lines.next().unwrap()["approvals"][0]["id"], ticket.call().to_string());
    let resolve = json!({"version": 1, "method": "resolve", "id": ticket.call().to_string(), "decision": "deny",
        "revision": requested["approval"]["revision"]});
    stream.write_all(format!("{resolve}\n").as_bytes()).unwrap();
    // The event and the reply, in either order.
    let mut types = [lines.next().unwrap(), lines.next().unwrap()].map(|line| line["type"].to_string());
    types.sort();
    assert_eq!(types, ["\"ended\"", "\"resolved\""]);
    // A line that is not a request gets an error, and the connection goes on.
    stream.write_all(b"{}\n").unwrap();
    assert_eq!(lines.next().unwrap()["code"], "INVALID_REQUEST");
    let next = waiting(&approvals, &["/bin/b"]);
    assert_eq!(lines.next().unwrap()["approval"]["id"], next.call().to_string());
}

#[test]
fn the_fronts_answers_are_the_terminals() {
    let state = state();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let around = Surroundings {
        session_key: None,
        node_id: None,
        state: real(&state),
        home: "/nonexistent".into(),
        sync: guard_openclaw::gateway::SyncThread::new(
            "/nowhere".into(),
            Arc::new(|_| false),
            Arc::new(|_| {}),
        ),
        is_member: Arc::new(|_| false),
        warn: Arc::new(|problem| panic!("{problem}")),
        terminal: Some(Arc::new(theirs)),
    };
    let only = Settings { routes: Some([Route::Terminal].into()), ..settings() };
    let approvals = Approvals::new(only, (), around);
    (&ours).write_all(b"{\"version\":1,\"method\":\"subscribe\"}\n").unwrap();
    let ticket = waiting(&approvals, &["/bin/a"]);
    let mut lines = BufReader::new(ours.try_clone().unwrap())
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    while lines.next().unwrap()["approvals"].as_array().is_some_and(Vec::is_empty) {}
    let id = ticket.call().to_string();
    let resolve = json!({"version": 1, "method": "resolve", "id": id, "decision": "allow-once"});
    (&ours).write_all(format!("{resolve}\n").as_bytes()).unwrap();
    let ended = lines.find(|line| line["type"] == "ended").unwrap();
    assert_eq!(ended["state"], json!({"resolved": {"decision": "allow-once", "by": "terminal"}}));
    assert_eq!(ticket.wait(), Resolution::Resolved(Decision::AllowOnce));
    // A guard whose front process has gone cannot be asked.
    drop(lines);
    ours.shutdown(std::net::Shutdown::Both).unwrap();
    while let AskOutcome::Waiting(ticket) = approvals.ask(question(&["/bin/b", "x"])).1 {
        drop(ticket);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn sockets_of_dead_guards_are_removed() {
    let state = state();
    let approvals = approvals(&state, false);
    let _ticket = waiting(&approvals, &["/bin/a"]);
    let run = state.path().join("guard/run");
    // A closed listener leaves its socket file behind.
    drop(UnixListener::bind(run.join("4194305.sock")).unwrap());
    fs::write(run.join("notes"), "").unwrap();
    assert!(matches!(ask(&state, Method::List), Body::Approvals { .. }));
    let left: Vec<_> = fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(fs::metadata(socket(&state)).unwrap().file_type().is_socket());
}

fn saved_in(state: &TempDir, path: &str) -> Value {
    let approvals = approvals(state, false);
    let ticket = waiting(&approvals, &["/bin/a", "x"]);
    let reply = resolve(state, &ticket.call().to_string(), "allow-always");
    let Body::Resolved { saved, unsaved, .. } = reply else { panic!("{reply:?}") };
    assert_eq!((saved, unsaved), (vec![real(state).join(path).display().to_string()], vec![]));
    serde_json::from_str(&fs::read_to_string(state.path().join(path)).unwrap()).unwrap()
}

#[test]
fn always_is_saved_where_openclaw_looks_or_in_the_guards_own_store() {
    let state_with = state();
    fs::write(state_with.path().join("exec-approvals.json"), "{\"version\": 1}").unwrap();
    let (own, newer) = (state(), state());
    fs::create_dir(newer.path().join("state")).unwrap();
    fs::write(newer.path().join("state/openclaw.sqlite"), "").unwrap();
    for (state, path) in [
        (&state_with, "exec-approvals.json"),
        (&own, "guard/approvals.json"),
        (&newer, "guard/approvals.json"),
    ] {
        let store = saved_in(state, path);
        let entry = &store["agents"]["main"]["allowlist"][0];
        assert_eq!(
            (&entry["pattern"], &entry["argPattern"], &entry["source"]),
            (&json!("/bin/a"), &json!("/bin/a x"), &json!("allow-always"))
        );
        assert_eq!(state.path().join("exec-approvals.json").exists(), path == "exec-approvals.json");
    }
    let guard_openclaw::approvals_store::File::Present(reading) =
        guard_openclaw::approvals_store::load_own(&real(&own))
    else {
        panic!("a store")
    };
    assert_eq!(reading.store.allowlist("main").len(), 1);
}

#[test]
fn an_always_that_cannot_be_saved_is_reported_and_allowed_once() {
    let state = state();
    fs::write(state.path().join("exec-approvals.json"), "no store").unwrap();
    let approvals = approvals(&state, false);
    let ticket = waiting(&approvals, &["/bin/a"]);
    let reply = resolve(&state, &ticket.call().to_string(), "allow-always");
    let Body::Resolved { saved, unsaved, .. } = reply else { panic!("{reply:?}") };
    assert!(saved.is_empty() && unsaved[0].contains("repair it first"), "{unsaved:?}");
    let call = ticket.call();
    assert_eq!(ticket.wait(), Resolution::Resolved(ALWAYS));
    assert!(approvals.manager().consume(call));
    assert_eq!(fs::read_to_string(state.path().join("exec-approvals.json")).unwrap(), "no store");
}

#[test]
fn nothing_in_a_question_acts_on_a_terminal() {
    let manager = Manager::new(settings(), ());
    let request: PendingRequest =
        manager.create(question(&["/bin/\u{1b}[2Ja", "a\nb", "\u{202e}x", "\u{9b}"]));
    let AskOutcome::Waiting(_ticket) = manager.register(&Arc::new(request)) else { panic!("waits") };
    let approval = Approval::all(&manager.snapshot()).remove(0);
    let text = render(1, &approval, 0);
    assert!(
        text.contains("a\\u{A}b") && text.contains("\\u{202E}x") && text.contains("\\u{1B}[2Ja"),
        "{text}"
    );
    assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("argv[")).count(), 4);
}
