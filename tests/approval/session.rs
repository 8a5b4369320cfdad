//! `openclaw-guard session`: running guards seen and set from outside.

use std::fs::DirBuilder;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use guard_tests::{Ended, Held, World, ended, guard, until};
use serde_json::{Value, json};

use crate::world::{path, world};

/// Runs `openclaw-guard session …` as the same operator, outside of the guard.
fn session(world: &World, arguments: &[&str]) -> Ended {
    let mut command = Command::new(guard());
    command.arg("session").args(arguments).env("HOME", world.home()).current_dir(world.root());
    command.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME");
    ended(&mut command)
}

/// A world in which a guard has kept its log before.
fn used(world: World) -> World {
    let state = world.home().join(".openclaw/guard");
    DirBuilder::new().recursive(true).mode(0o700).create(state).expect("the state directory");
    world
}

fn sessions(world: &World) -> Vec<Value> {
    let listed = session(world, &["list", "--json"]);
    serde_json::from_str(&listed.stdout).unwrap_or_else(|error| panic!("{error}: {listed:?}"))
}

/// Waits for this many sessions, oldest first.
fn wait_for(world: &World, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    until("that many sessions", || {
        found = sessions(world);
        found.len() == count
    });
    found
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn socket(world: &World, info: &Value) -> PathBuf {
    world.home().join(format!(".openclaw/guard/run/{}.session", info["pid"]))
}

/// A shell that starts a program whenever a line comes in through the FIFO `go`, until the line is `end`.
const OBEDIENT: &str = "mkfifo go; echo ready; while read line <go; do
    [ \"$line\" = end ] && break; /usr/bin/id -u >out.now 2>&1 && echo yes || echo no; done";

fn start<'w>(world: &'w World, line: &str) -> Held<'w> {
    world.start(&["bash", "-c", line])
}

fn go(world: &World, line: &str) {
    std::fs::write(world.work().join("go"), format!("{line}\n")).expect("the FIFO");
}

#[test]
fn sessions_are_listed_with_what_they_are() {
    let world = used(world());
    assert_eq!(session(&world, &["list"]).stdout, "no guard is running\n");
    assert_eq!(session(&world, &["list", "--json"]).stdout, "[]\n");
    let asking = world.start(&["bash", "-c", &format!("{} x", path(&world, "bin/asked"))]);
    let asked = world.wait_for(1).remove(0);
    let found = wait_for(&world, 1);
    assert_eq!(found[0]["pending"], 1, "{found:?}");
    assert_eq!(found[0]["id"], asked["session"]);
    assert_eq!(
        (&found[0]["mode"], &found[0]["security"], &found[0]["set"]),
        (&json!("enforce"), &json!("allowlist"), &json!("policy"))
    );
    let shown = session(&world, &["show", &text(&found[0], "id")[..4]]);
    assert_eq!(shown.status, 0, "{shown:?}");
    assert!(
        shown.stdout.contains("  agent       main\n") && shown.stdout.contains("  asks        1\n"),
        "{shown:?}"
    );
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    assert_eq!(asking.end().stdout, "x\n");
    assert!(sessions(&world).is_empty());
}

#[test]
fn what_a_session_says_of_itself_cannot_write_to_the_terminal_and_has_no_secrets() {
    let world = used(World::open());
    let mut command = world.command();
    command.args(["--session-key", "agent:main:\u{1b}x", "--"]);
    command.args(["sh", "-c", "echo ready; sleep 600", "--token=hunter2hunter2", "\u{1b}[2J"]);
    let held = world.start_command(command);
    let found = wait_for(&world, 1);
    assert_eq!(found[0]["command"][3], "--token=***");
    for arguments in [&["list"][..], &["list", "--json"], &["show", text(&found[0], "id")]] {
        let shown = session(&world, arguments);
        assert_eq!(shown.status, 0, "{shown:?}");
        assert!(!shown.stdout.contains('\u{1b}') && !shown.stdout.contains("hunter2"), "{shown:?}");
        assert!(shown.stdout.contains("[2J"), "{shown:?}");
    }
    drop(held);
}

#[test]
fn deny_stops_every_later_program_at_once_and_policy_takes_it_back() {
    let world = used(World::open());
    let held = start(&world, OBEDIENT);
    let info = wait_for(&world, 1).remove(0);
    until("the command's output", || held.stdout() == "ready\n");
    let id = text(&info, "id");
    go(&world, "go");
    until("the command's output", || held.stdout() == "ready\nyes\n");

    let set = session(&world, &["set", "--security", "deny", id]);
    assert_eq!((set.status, &*set.stdout), (0, &*format!("session {id}: no further program starts in it\n")));
    go(&world, "go");
    until("the command's output", || held.stdout() == "ready\nyes\nno\n");
    let line = held.stderr();
    assert!(line.contains("denied exec /usr/bin/id (session set --security deny)"), "{line}");
    assert_eq!(sessions(&world)[0]["set"], "deny");
    assert_eq!(sessions(&world)[0]["security"], "deny");
    assert_eq!(sessions(&world)[0]["denials"], 1);
    assert!(session(&world, &["list"]).stdout.contains("deny (set)"));

    // A policy that is read again does not lift it.
    let text = world.read("guard.json").expect("the policy");
    world.write("guard.json", text.replace("\"ask\": \"off\"", "\"ask\": \"on-miss\""));
    until("the command's output", || held.stderr().contains("was read again and is in force"));
    go(&world, "go");
    until("the command's output", || held.stdout() == "ready\nyes\nno\nno\n");

    let set = session(&world, &["set", "--security", "policy", &id[..5]]);
    assert_eq!(set.stdout, format!("session {id}: exec.security is full again, as the policy says\n"));
    go(&world, "go");
    until("the command's output", || held.stdout() == "ready\nyes\nno\nno\nyes\n");
    go(&world, "end");
    assert_eq!(held.end().status, 0);
    let set: Vec<_> = world.audit().into_iter().filter(|line| line["operation"] == "session").collect();
    let what = |line: &Value| (text_of(line, "event"), text_of(line, "security"));
    assert_eq!(
        set.iter().map(what).collect::<Vec<_>>(),
        [("set".into(), "deny".into()), ("set".into(), "policy".into())]
    );
    assert!(set.iter().all(|line| line["by"].is_number() && line["session"] == id));
}

fn text_of(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}

/// The answer comes after the session was tightened: it is judged again.
#[test]
fn an_answer_starts_nothing_in_a_session_that_is_set_to_deny() {
    let world = used(world());
    let held = world.start(&["bash", "-c", &format!("{} x; :", path(&world, "bin/asked"))]);
    let asked = world.wait_for(1).remove(0);
    let info = wait_for(&world, 1).remove(0);
    assert_eq!(session(&world, &["set", "--security", "deny", text(&info, "id")]).status, 0);
    assert_eq!(world.resolve(&asked, "allow-session").status, 0);
    let output = held.end();
    assert_eq!(output.stdout, "", "{output:?}");
    assert!(output.stderr.contains("(session set --security deny)"), "{output:?}");
}

#[test]
fn end_ends_what_ignores_sigterm_and_what_has_left_its_group() {
    let world = used(World::open());
    let script =
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >far; sleep 600' & sh -c 'kill -STOP $$' &
        until [ -s far ]; do :; done; echo ready; while :; do :; done";
    let held = start(&world, script);
    until("the command's output", || held.stdout() == "ready\n");
    let info = wait_for(&world, 1).remove(0);
    let ended = session(&world, &["end", text(&info, "id")]);
    assert_eq!((ended.status, &*ended.stderr), (0, ""), "{ended:?}");
    assert_eq!(ended.stdout, format!("session {} has ended\n", text(&info, "id")));
    // SIGKILL, as the command itself would have ended.
    assert_eq!(held.end().status, 128 + 9);
    let far: u32 = world.read("work/far").expect("a number").trim().parse().expect("a number");
    let command = std::fs::read(format!("/proc/{far}/environ")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&command).contains(&*world.home().to_string_lossy()));
    let end: Vec<_> = world.audit().into_iter().filter(|line| line["event"] == "end").collect();
    assert_eq!(end.len(), 1, "{end:?}");
    assert!(!socket(&world, &info).exists());
}

#[test]
fn a_command_that_heeds_sigterm_ends_by_it() {
    let world = used(World::open());
    let held = start(&world, "echo ready; exec sleep 600");
    until("the command's output", || held.stdout() == "ready\n");
    let info = wait_for(&world, 1).remove(0);
    assert_eq!(session(&world, &["end", text(&info, "id")]).status, 0);
    assert_eq!(held.end().status, 128 + 15);
}

#[test]
fn observing_is_not_set_to_deny_but_ended() {
    let world = used(World::open());
    let mut command = world.command();
    command.args(["--observe", "--", "sleep", "600"]);
    let held = world.start_command(command);
    let info = wait_for(&world, 1).remove(0);
    assert_eq!(info["mode"], "observe");
    let set = session(&world, &["set", "--security", "deny", text(&info, "id")]);
    assert_eq!(set.status, 1);
    assert!(set.stderr.contains("it only observes, so nothing would be denied: end it instead"), "{set:?}");
    assert_eq!(session(&world, &["end", text(&info, "id")]).status, 0);
    assert_eq!(held.end().status, 128 + 15);
}

#[test]
fn ids_that_are_none_or_several_are_refused() {
    let world = used(World::open());
    let both = [start(&world, "sleep 600"), start(&world, "sleep 600")];
    let found = wait_for(&world, 2);
    assert!(text(&found[0], "id") != text(&found[1], "id"));
    for (id, why) in [
        ("", "more than one session has an id that begins with this"),
        ("x\u{1b}", "x\\u{1B}: there is no such session"),
        ("../../x", "there is no such session"),
        (&found[0]["pid"].to_string(), "there is no such session"),
    ] {
        for verb in [&["show"][..], &["end"], &["set", "--security", "deny"]] {
            let refused = session(&world, &[verb, &[id]].concat());
            // A process id may be the beginning of an id, though not of both.
            if refused.status == 0 {
                continue;
            }
            assert!(refused.status == 1 && refused.stderr.contains(why), "{verb:?}: {refused:?}");
        }
    }
    assert_eq!(session(&world, &["set", "--security", "full", text(&found[0], "id")]).status, 125);
    drop(both);
}

/// A guard that was killed leaves its socket behind.
#[test]
fn the_socket_of_a_dead_guard_is_removed() {
    let world = used(World::bare());
    let run = world.home().join(".openclaw/guard/run");
    std::fs::create_dir_all(&run).expect("a directory");
    drop(std::os::unix::net::UnixListener::bind(run.join("4194305.session")).expect("a socket"));
    assert_eq!(session(&world, &["list"]).stdout, "no guard is running\n");
    assert_eq!(std::fs::read_dir(&run).expect("a directory").count(), 0);
}

#[test]
fn broken_requests_set_nothing() {
    let world = used(World::open());
    let held = start(&world, "sleep 600");
    let info = wait_for(&world, 1).remove(0);
    let socket = socket(&world, &info);
    let mode = |path: &std::path::Path| path.metadata().expect("it").permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().expect("a directory"))), (0o600, 0o700));
    let whole = json!({"version": 1, "method": "set", "id": info["id"], "security": "deny"}).to_string();
    let long = format!("{}{whole}\n", " ".repeat(1 << 20));
    let half = &whole[..whole.len() / 2];
    let lines = [
        half,
        &whole,
        &long,
        "\n",
        "\u{0}\n",
        &format!("{}\n", whole.replace("\"version\":1", "\"version\":2")),
        &format!("{}\n", whole.replace("deny", "full")),
        &format!("{}\n", whole.replace(text(&info, "id"), "0000000000000000")),
        &format!("{}\n", whole.replace(text(&info, "id"), &text(&info, "id")[..8])),
    ];
    for line in lines {
        let mut peer = UnixStream::connect(&socket).expect("the guard");
        peer.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        // The guard may hang up before the whole line is written.
        let _ = peer.write_all(line.as_bytes());
        let _ = peer.shutdown(std::net::Shutdown::Write);
        let mut reply = String::new();
        let _ = peer.read_to_string(&mut reply);
        assert!(!reply.contains("\"type\":\"session\""), "{reply}");
        assert_eq!(sessions(&world)[0]["set"], "policy", "{reply}");
    }
    // Silent peers delay others, and no longer than their timeout.
    let silent: Vec<_> = (0..2).map(|_| UnixStream::connect(&socket).expect("the guard")).collect();
    assert_eq!(session(&world, &["set", "--security", "deny", text(&info, "id")]).status, 0);
    drop((silent, held));
}

/// From inside, nothing is shown and nothing is set: neither by the program, nor by the socket, nor by that of another
/// session.
#[test]
fn a_tree_reaches_neither_its_own_session_nor_another() {
    let world = used(world());
    let held = world.start(&["bash", "-c", "sleep 600"]);
    let info = wait_for(&world, 1).remove(0);
    let socket = socket(&world, &info);
    let request = json!({"version": 1, "method": "set", "id": info["id"], "security": "policy"});
    let code = format!(
        r"
import glob, json, os, socket
def ask(path):
    peer = socket.socket(socket.AF_UNIX)
    try:
        peer.connect(path)
        peer.sendall({line:?}.encode() + b'\n')
        return peer.recv(4096)
    except OSError as error:
        return type(error).__name__
print(ask({socket:?}))
",
        line = request.to_string()
    );
    // A socket is reached by a rule that names it.
    let policy = |socket: &std::path::Path| {
        format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"persistence": false,
            "filesystem": {{"rules": {{"/**": "rwx", {socket:?}: "rw-"}}, "default": "rwx"}}}}}}"#
        )
    };
    let output = used(World::bare()).policy(&policy(&socket)).guarded(&["/usr/bin/python3", "-c", &code]);
    // The guard hangs up, whether before or after the request.
    assert!(
        ["b''\n", "BrokenPipeError\n", "ConnectionResetError\n"].contains(&&*output.stdout),
        "{output:?}"
    );
    let other = used(World::open());
    let tool = other.guarded(&[guard().to_str().expect("a path"), "session", "list"]);
    assert_eq!(tool.status, 125, "{tool:?}");
    assert!(tool.stderr.contains("this runs inside a guard"), "{tool:?}");
    // Its own socket is where nothing may be reached.
    let own = other.sh("ls $HOME/.openclaw/guard/run; echo $?");
    assert!(own.stdout.ends_with("2\n"), "{own:?}");
    assert_eq!(sessions(&world)[0]["set"], "policy");
    drop(held);
}
