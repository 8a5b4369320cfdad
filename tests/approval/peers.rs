//! Peers of the control socket that break its protocol.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use guard_tests::World;

use crate::world::{path, world};

#[test]
fn broken_answers_answer_nothing() {
    let world = world();
    let held = world.start(&["bash", "-c", &format!("{} x", path(&world, "bin/asked"))]);
    let asked = world.wait_for(1).remove(0);
    let socket = world.home().join(format!(".openclaw/guard/run/{}.sock", asked["guard"]));
    let mode = |path: &std::path::Path| path.metadata().expect("it").permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().expect("a directory"))), (0o600, 0o700));
    let id = asked["id"].as_str().expect("an id");
    let whole = format!(
        "{{\"version\": 1, \"method\": \"resolve\", \"id\": \"{id}\", \"decision\": \"allow-once\"}}\n"
    );
    let long = format!("{{\"version\": 1, \"method\": \"resolve\", \"id\": \"{}\"}}\n", "a".repeat(10 << 20));
    let lines = [
        &whole[..whole.len() / 2],
        whole.trim_end(),
        &long,
        "\n",
        "allow-once\n",
        "{\"version\": 2, \"method\": \"list\"}\n",
        "{\"version\": 1, \"method\": \"resolve\", \"id\": \"\", \"decision\": \"allow-once\"}\n",
        &whole.replace("allow-once", "allow"),
        "\u{0}\u{0}\u{0}\n",
    ];
    for line in lines {
        let mut peer = UnixStream::connect(&socket).expect("the guard");
        peer.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        // The guard may hang up before the whole line is written.
        let _ = peer.write_all(line.as_bytes());
        let _ = peer.shutdown(std::net::Shutdown::Write);
        let mut reply = Vec::new();
        let _ = peer.read_to_end(&mut reply);
        let reply = String::from_utf8_lossy(&reply);
        assert!(!reply.contains("\"resolved\""), "{reply}");
        assert_eq!(world.pending(), std::slice::from_ref(&asked), "{reply}");
    }
    // Silent peers do not block the socket for others.
    let silent: Vec<_> = (0..31).map(|_| UnixStream::connect(&socket).expect("the guard")).collect();
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    drop(silent);
    assert_eq!(held.end().stdout, "x\n");
}

/// Another guard with another state directory does not know this socket. Its tree could answer for this one.
#[test]
fn a_member_of_another_tree_is_turned_away() {
    let world = world();
    let held = world.start(&["bash", "-c", &format!("{} x", path(&world, "bin/asked"))]);
    let asked = world.wait_for(1).remove(0);
    let socket = world.home().join(format!(".openclaw/guard/run/{}.sock", asked["guard"]));
    let code = format!(
        r#"
import json, socket
peer = socket.socket(socket.AF_UNIX)
peer.connect({socket:?})
print('connected')
try:
    peer.sendall(json.dumps({{"version": 1, "method": "resolve", "id": {id}, "decision": "allow-once"}}).encode() + b"\n")
    print(peer.recv(4096))
except OSError:
    print(b'')
"#,
        id = asked["id"]
    );
    // A socket is reached by a rule that names it.
    let policy = format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"persistence": false,
            "filesystem": {{"rules": {{"/**": "rwx", {socket:?}: "rw-"}}, "default": "rwx"}}}}}}"#
    );
    let output = World::bare().policy(&policy).guarded(&["/usr/bin/python3", "-c", &code]);
    assert_eq!(output.stdout, "connected\nb''\n", "{output:?}");
    assert_eq!(world.pending(), std::slice::from_ref(&asked));
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    assert!(!held.end().stdout.contains("x\n"));
}
