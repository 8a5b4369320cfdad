//! Peers of the approvals socket, and how the server treats them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use guard_approvals::routes::openclaw_socket::{SocketToken, Word};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use super::super::admission::Admission;
use super::super::endpoint::{WatchSocket, WatchSocketError};
use super::super::event::WatchEvent;
use super::super::server::{MAX_BYTES, WatchServer};

struct Served {
    directory: TempDir,
    events: UnboundedReceiver<WatchEvent>,
}

fn served(is_member: bool) -> Served {
    let directory = tempfile::Builder::new().prefix("guard-watch-").tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join("s")).unwrap();
    let (sender, events) = unbounded_channel();
    let server =
        WatchServer::new(Admission::new(SocketToken::new("secret")), Arc::new(move |_| is_member), sender);
    tokio::spawn(server.run(listener));
    Served { directory, events }
}

impl Served {
    async fn connect(&self) -> UnixStream {
        UnixStream::connect(self.directory.path().join("s")).await.unwrap()
    }

    /// Sends bytes, half-closes, and reads until the server closes.
    async fn say(&self, text: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The server may close before everything is sent.
        let _ = stream.write_all(text).await;
        let _ = stream.shutdown().await;
        let mut reply = String::new();
        let _ = stream.read_to_string(&mut reply).await;
        reply
    }

    async fn next(&mut self) -> WatchEvent {
        timeout(Duration::from_secs(60), self.events.recv()).await.unwrap().unwrap()
    }

    async fn rejected(&mut self) -> String {
        match self.next().await {
            WatchEvent::Rejected { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }
}

fn request(token: &str, id: &str) -> Vec<u8> {
    let request = json!({"command": "ls", "cwd": null, "host": "node", "extra": 1});
    format!("{}\n", json!({"type": "request", "token": token, "id": id, "request": request})).into_bytes()
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    for (word, written) in
        [(Word::AllowOnce, "allow-once"), (Word::AllowAlways, "allow-always"), (Word::Deny, "deny")]
    {
        let mut served = served(false);
        let mut stream = served.connect().await;
        stream.write_all(&request("secret", "q1")).await.unwrap();
        stream.shutdown().await.unwrap();
        let WatchEvent::Asked { key, asked, answer, .. } = served.next().await else { panic!("a question") };
        assert_eq!((key.pid, &*key.id, &*asked.command), (std::process::id(), "q1", "ls"));
        // A peer that has half-closed is still there.
        tokio::time::sleep(Duration::from_millis(300)).await;
        answer.send(word).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        assert_eq!(reply, format!("{{\"type\":\"decision\",\"id\":\"q1\",\"decision\":\"{written}\"}}\n"));
        assert!(matches!(served.next().await, WatchEvent::Dropped { .. }));
    }
}

#[tokio::test]
async fn a_question_is_withdrawn_from_either_end() {
    let mut served = served(false);
    let mut stream = served.connect().await;
    stream.write_all(&request("secret", "q1")).await.unwrap();
    stream.shutdown().await.unwrap();
    let WatchEvent::Asked { key, connection, answer, .. } = served.next().await else { panic!("a question") };
    drop(stream);
    let WatchEvent::Dropped { key: of, connection: which } = served.next().await else {
        panic!("it has gone")
    };
    assert_eq!((of, which), (key, connection));
    drop(answer);
    // The question was answered elsewhere: there is no reply.
    let mut stream = served.connect().await;
    stream.write_all(&request("secret", "q2")).await.unwrap();
    let WatchEvent::Asked { answer, .. } = served.next().await else { panic!("a question") };
    drop(answer);
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    assert_eq!(reply, "");
}

#[tokio::test]
async fn without_the_token_the_answer_is_no() {
    let mut served = served(false);
    for token in ["", "secre", "secrets", "SECRET"] {
        let reply: Value = serde_json::from_str(&served.say(&request(token, "q")).await).unwrap();
        assert_eq!(reply, json!({"type": "decision", "id": "q", "decision": "deny"}));
        assert_eq!(served.rejected().await, "it does not have the token");
    }
}

#[tokio::test]
async fn a_member_of_a_tree_is_turned_away() {
    let mut served = served(true);
    assert_eq!(served.say(&request("secret", "q")).await, "");
    assert!(served.rejected().await.contains("may not answer"));
}

#[tokio::test]
async fn another_user_is_turned_away() {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root has other users");
        return;
    }
    let mut served = served(false);
    let socket = served.directory.path().join("s");
    fs::set_permissions(served.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    let say = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(sys.argv[2].encode()); \
        sys.exit(len(s.recv(1)))";
    let line = String::from_utf8(request("secret", "q")).unwrap();
    let mut peer = std::process::Command::new("/usr/bin/python3");
    let Ok(mut peer) = peer.args(["-c", say]).arg(&socket).arg(line).uid(12_345).gid(12_345).spawn() else {
        eprintln!("skipped: no python3");
        return;
    };
    assert_eq!(served.rejected().await, "a process of another user (12345) is at its other end");
    assert!(served.events.try_recv().is_err());
    let _ = peer.wait();
}

#[tokio::test]
async fn a_malformed_request_is_not_answered() {
    let mut served = served(false);
    let mut whole = request("secret", "q");
    whole.pop();
    let long = |length: usize| [vec![b' '; length - whole.len() - 1], whole.clone(), b"\n".to_vec()].concat();
    let long_id = request("secret", &"x".repeat(129));
    let texts: [(&[u8], Option<&str>); 8] = [
        (b"", None),
        (&whole, None),
        (b"\n", Some("its request cannot be parsed")),
        (b"{}\n", Some("its request cannot be parsed")),
        (b"\xff\xfe\n", Some("its request cannot be parsed")),
        (&request("secret", ""), Some("its request has no id")),
        (&long_id, Some("its request has no id")),
        (&long(MAX_BYTES as usize + 1), None),
    ];
    for (text, why) in texts {
        assert_eq!(served.say(text).await, "");
        if let Some(why) = why {
            assert_eq!(served.rejected().await, why);
        }
    }
    assert!(served.events.try_recv().is_err());
    // The longest line that is read.
    let mut stream = served.connect().await;
    stream.write_all(&long(MAX_BYTES as usize)).await.unwrap();
    assert!(matches!(served.next().await, WatchEvent::Asked { .. }));
}

#[tokio::test]
async fn a_request_to_run_a_command_runs_nothing() {
    let mut served = served(false);
    let exec = |ts: u64, hmac: &str| {
        let request = json!({"type": "exec", "id": "e", "nonce": "n", "ts": ts, "hmac": hmac,
            "requestJson": "{\"command\":[\"ls\"]}"});
        format!("{request}\n").into_bytes()
    };
    let now = guard_openclaw::clock::now_ms();
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"secret").unwrap();
    mac.update(format!("n:{now}:{{\"command\":[\"ls\"]}}").as_bytes());
    let hmac: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    for (line, code, reason) in [
        (exec(1, &hmac), "INVALID_REQUEST", json!("ttl")),
        (exec(now, "00"), "INVALID_REQUEST", json!("hmac")),
        (exec(now, &hmac), "UNAVAILABLE", Value::Null),
        (exec(now, &hmac), "INVALID_REQUEST", json!("nonce")),
    ] {
        let reply: Value = serde_json::from_str(&served.say(&line).await).unwrap();
        assert_eq!(
            (&reply["type"], &reply["id"], &reply["ok"]),
            (&json!("exec-res"), &json!("e"), &json!(false))
        );
        assert_eq!((&reply["error"]["code"], &reply["error"]["reason"]), (&json!(code), &reason));
        assert!(served.rejected().await.contains("it asks to run something"));
    }
}

#[tokio::test]
async fn a_flood_ends_at_the_gate() {
    let mut served = served(false);
    // The burst, and the tokens that were refilled meanwhile.
    let mut denied = 0;
    while !served.say(&request("wrong", "q")).await.is_empty() {
        denied += 1;
        assert!(denied < 10_000);
    }
    assert!(denied >= 128, "{denied}");
    let mut whys = Vec::new();
    while let Ok(WatchEvent::Rejected { why, .. }) = served.events.try_recv() {
        whys.push(why);
    }
    assert!(whys.iter().any(|why| why == "it asks too often"));
}

#[tokio::test]
async fn silent_connections_delay_no_others() {
    let mut served = served(false);
    let mut silent = Vec::new();
    for _ in 0..96 {
        let mut stream = served.connect().await;
        stream.write_all(b"{").await.unwrap();
        silent.push(stream);
    }
    // This process has used up its share.
    assert_eq!(served.say(&request("secret", "q")).await, "");
    assert_eq!(served.rejected().await, "it has too many connections");
    // Further connections are closed; one that ends makes room.
    drop(silent.pop());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut stream = served.connect().await;
    stream.write_all(&request("secret", "q")).await.unwrap();
    assert!(matches!(served.next().await, WatchEvent::Asked { .. }));
    let mut first = silent.remove(0);
    let mut reply = Vec::new();
    // The server closes the silent connection after its timeout.
    timeout(Duration::from_secs(60), first.read_to_end(&mut reply)).await.unwrap().unwrap();
    assert!(reply.is_empty());
}

fn home() -> (TempDir, PathBuf, PathBuf) {
    let home = tempfile::Builder::new().prefix("guard-socket-").tempdir().unwrap();
    let real = home.path().canonicalize().unwrap();
    let state = real.join("state");
    (home, real, state)
}

#[test]
fn one_watch_listens_at_a_time() {
    let (_home, home, state) = home();
    let bound = WatchSocket::bind(&state, &home).unwrap();
    let path = state.join("exec-approvals.sock");
    let mode = |path: &PathBuf| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&path), mode(&state)), (0o600, 0o700));
    assert!(matches!(WatchSocket::bind(&state, &home), Err(WatchSocketError::Runs)));
    // Dropping `bound` removes the socket file, unless another process has replaced it.
    drop(bound);
    assert!(!path.exists());
    let bound = WatchSocket::bind(&state, &home).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "mine").unwrap();
    drop(bound);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn only_a_dead_socket_is_replaced() {
    let (_home, home, state) = home();
    fs::create_dir_all(&state).unwrap();
    let socket = state.join("exec-approvals.sock");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    drop(WatchSocket::bind(&state, &home).unwrap());
    let living = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(matches!(WatchSocket::bind(&state, &home), Err(WatchSocketError::Taken(_))));
    drop(living);
    fs::remove_file(&socket).unwrap();
    let refused = || assert!(matches!(WatchSocket::bind(&state, &home), Err(WatchSocketError::NoSocket(_))));
    fs::write(&socket, "a file").unwrap();
    refused();
    assert_eq!(fs::read_to_string(&socket).unwrap(), "a file");
    fs::remove_file(&socket).unwrap();
    symlink(home.join("victim"), &socket).unwrap();
    refused();
    fs::remove_file(&socket).unwrap();
    fs::create_dir(&socket).unwrap();
    refused();
    fs::remove_dir(&socket).unwrap();
    // Others could put a socket into this directory.
    fs::set_permissions(&state, fs::Permissions::from_mode(0o770)).unwrap();
    assert!(matches!(WatchSocket::bind(&state, &home), Err(WatchSocketError::Open { .. })));
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    let socket = WatchSocket::bind(&state, &home).unwrap();
    assert_eq!(socket.token.text().len(), 64);
}

#[test]
fn the_socket_is_at_the_path_in_the_store() {
    let (_home, home, state) = home();
    fs::create_dir_all(&state).unwrap();
    let store = json!({"version": 1, "socket": {"path": "~/run/a.sock", "token": "t"}});
    fs::write(state.join("exec-approvals.json"), store.to_string()).unwrap();
    let socket = WatchSocket::bind(&state, &home).unwrap();
    assert_eq!((&socket.path, socket.token.text()), (&home.join("run/a.sock"), "t"));
    assert!(home.join("run/a.sock").exists());
    assert!(!state.join("guard/socket-token").exists());
    drop(socket);
    fs::write(state.join("exec-approvals.json"), "{").unwrap();
    assert!(matches!(WatchSocket::bind(&state, &home), Err(WatchSocketError::Endpoint(_))));
}
