//! Who may ask on the socket, and what is no request.

use guard_approvals::testing::python;

use super::*;

#[test]
fn members_of_the_tree_are_turned_away() {
    let state = state();
    let approvals = approvals(&state, true);
    let ticket = waiting(&approvals, &["/bin/a"]);
    let id = ticket.call().to_string();
    let line = json!({"version": 1, "method": "resolve", "id": id, "decision": "allow-once"});
    assert_eq!(raw(&state, format!("{line}\n").as_bytes()), "");
    assert_eq!(raw(&state, b"{\"version\":1,\"method\":\"list\"}\n"), "");
    assert!(matches!(approvals.manager().find(&id), Ok(guard_approvals::outcome::Lookup::Pending(_))));
}

/// SO_PEERCRED names the process that connected (unix(7)). When that process has ended, its number says nothing about
/// the process that holds the descriptor now.
#[test]
fn a_peer_that_has_ended_answers_nothing() {
    let state = state();
    let approvals = approvals(&state, false);
    let ticket = waiting(&approvals, &["/bin/a"]);
    let id = ticket.call().to_string();
    let script = r#"
import os, socket, sys
held = socket.socket(socket.AF_UNIX)
print('ready', flush=True)
sys.stdin.readline()
if os.fork() == 0:
    held.connect(sys.argv[1])
    os._exit(0)
os.wait()
print('ended', flush=True)
sys.stdin.readline()
try:
    held.sendall(sys.argv[2].encode() + b'\n')
    print(held.recv(4096), flush=True)
except OSError:
    print(b'', flush=True)
"#;
    let line = json!({"version": 1, "method": "resolve", "id": id, "decision": "allow-once"});
    let arguments = [socket(&state).into_os_string(), line.to_string().into()];
    let Some(mut child) = python(script, &arguments.each_ref().map(|one| one.as_os_str())) else { return };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut input = child.stdin.take().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    // These are as many connections as are served at once. The next connection waits until it is accepted.
    let silent: Vec<_> = (0..32).map(|_| UnixStream::connect(socket(&state)).unwrap()).collect();
    input.write_all(b"\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "ended");
    drop(silent);
    input.write_all(b"\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "b''");
    child.wait().unwrap();
    assert!(matches!(approvals.manager().find(&id), Ok(guard_approvals::outcome::Lookup::Pending(_))));
}

#[test]
fn a_malformed_request_answers_nothing() {
    let state = state();
    let approvals = approvals(&state, false);
    let ticket = waiting(&approvals, &["/bin/a"]);
    let id = ticket.call();
    let long =
        format!("{{\"version\":1,\"method\":\"list\",\"x\":\"{}\"}}\n", "x".repeat(MAX_REQUEST_LEN as usize));
    for (text, begins) in [
        (&b"\n"[..], "{\"version\":1,\"type\":\"error\",\"code\":\"INVALID_REQUEST\""),
        (b"{}\n", "{\"version\":1,\"type\":\"error\",\"code\":\"INVALID_REQUEST\""),
        (b"\xff\xfe\n", "{\"version\":1,\"type\":\"error\",\"code\":\"INVALID_REQUEST\""),
        (b"{\"version\":2,\"method\":\"list\"}\n", "{\"version\":1,\"type\":\"error\",\"code\":\"VERSION\""),
        (
            b"{\"version\":1,\"method\":\"resolve\"}\n",
            "{\"version\":1,\"type\":\"error\",\"code\":\"INVALID_REQUEST\"",
        ),
        (b"{\"version\":1,\"method\":\"list\"}", ""),
        (long.as_bytes(), ""),
        (b"", ""),
    ] {
        let reply = raw(&state, text);
        assert!(reply.starts_with(begins) && (!begins.is_empty() || reply.is_empty()), "{reply}");
    }
    assert!(!approvals.manager().consume(id));
    // Several requests may be sent on one connection.
    let list = "{\"version\":1,\"method\":\"list\"}\n";
    assert_eq!(raw(&state, list.repeat(3).as_bytes()).lines().count(), 3);
}

#[test]
fn peers_that_stay_hold_up_nobody() {
    let state = state();
    let approvals = approvals(&state, false);
    let silent: Vec<_> = (0..31).map(|_| UnixStream::connect(socket(&state)).unwrap()).collect();
    // A client that subscribes and never reads.
    let mut deaf = UnixStream::connect(socket(&state)).unwrap();
    deaf.write_all(b"{\"version\":1,\"method\":\"subscribe\"}\n").unwrap();
    let long = "x".repeat(60_000);
    let many: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = UnixStream::connect(socket(&state)).unwrap();
            stream.write_all(b"{\"version\":1,\"method\":\"subscribe\"}\n").unwrap();
            let mut line = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
            (stream, line)
        })
        .collect();
    assert_eq!(many.iter().filter(|(_, line)| line.contains("BUSY")).count(), 25);
    for n in 0..50 {
        let ticket = waiting(&approvals, &["/bin/a", &long, &n.to_string()]);
        let id = ticket.call().to_string();
        let Body::Resolved { .. } = resolve(&state, &id, "deny") else { panic!("answered") };
        assert_eq!(ticket.wait(), Resolution::Resolved(Decision::Deny));
    }
    drop((silent, deaf, many));
}
