//! `approvals watch`, beside guards whose calls are held.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use guard_tests::{Emulator, Replies, World, ended, give_environment, guard, limit, until};
use serde_json::Value;

use crate::world::{path, world, world_with};

const SIZE: (u16, u16) = (30, 110);
const ONLY_SOCKET: &str = r#", "approvals": {"routes": ["socket"]}"#;

fn command(world: &World) -> Command {
    let mut command = Command::new(guard());
    command.args(["approvals", "watch"]).env("HOME", world.home()).current_dir(world.root());
    command.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME").env("TERM", "xterm");
    command
}

/// An `approvals watch` process that prints events as JSON and reads answers.
struct Watch {
    child: Child,
    input: ChildStdin,
    events: Receiver<Value>,
}

impl Watch {
    fn start(world: &World) -> Watch {
        let mut child = command(world)
            .arg("--json")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("to start the watch");
        let (sender, events) = channel();
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).expect("JSON")).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take().expect("a pipe");
        let watch = Watch { child, input, events };
        assert_eq!(watch.next()["event"], "listening");
        watch
    }

    fn next(&self) -> Value {
        self.events.recv_timeout(limit()).expect("something is said")
    }

    /// Waits for the next event of this kind.
    fn wait(&self, event: &str) -> Value {
        loop {
            let next = self.next();
            if next["event"] == event {
                return next;
            }
        }
    }

    fn answer(&mut self, id: &Value, decision: &str) {
        writeln!(self.input, "{} {decision}", id.as_str().expect("an id")).expect("to answer");
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the queue on a screen, and returns it with the terminal modes from before.
fn watching(world: &World) -> (Emulator, String) {
    let watch = command(world);
    let mut later = Command::new("sh");
    later.args(["-c", "read go; exec \"$0\" \"$@\""]).arg(watch.get_program()).args(watch.get_args());
    give_environment(&watch, &mut later);
    later.current_dir(watch.get_current_dir().expect("a directory"));
    let mut screen = Emulator::start(&later, SIZE, Replies::Given);
    // Read before the queue can change them.
    let modes = screen.modes();
    screen.keys("\n");
    screen.expect("no questions are pending");
    (screen, modes)
}

#[test]
fn questions_are_answered_on_the_screen() {
    let world = world();
    let (mut screen, modes) = watching(&world);
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} one; {asked} two; echo $?")]);
    for (key, question) in [("y", "Enter: allow once"), ("n", "Enter: deny")] {
        screen.expect("1 waiting");
        screen.expect("argv[1]");
        let _ = screen.rest();
        let is_there = |screen: &Emulator| screen.picture().text.contains(question);
        until("the key is taken", || {
            // The queue ignores keys typed as soon as a question appears.
            std::thread::sleep(std::time::Duration::from_millis(700));
            is_there(&screen) || {
                screen.keys(key);
                false
            }
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        screen.keys("\r");
        screen.wait("it is answered", |picture| !picture.text.contains(question));
    }
    let ended = held.end();
    assert_eq!(ended.stdout, "one\n126\n", "{}", ended.stderr);
    screen.expect("no questions are pending");
    until("the terminal is given back", || {
        screen.keys("q");
        std::thread::sleep(std::time::Duration::from_millis(700));
        screen.modes() == modes
    });
    assert!(!screen.picture().modes.contains("alternate: true"));
    assert_eq!(screen.end(), 0);
}

#[test]
fn pasted_text_answers_nothing() {
    let world = world();
    let mut screen = Emulator::start(&command(&world), SIZE, Replies::Given);
    screen.expect("no questions are pending");
    let held = world.start(&["bash", "-c", &format!("{} one", path(&world, "bin/asked"))]);
    screen.expect("1 waiting");
    let _ = screen.rest();
    std::thread::sleep(std::time::Duration::from_millis(700));
    for text in ["y\r", "\u{1b}[200~y\r\u{1b}[201~", "yyy\ry\r"] {
        screen.keys(text);
        let _ = screen.rest();
        assert_eq!(world.pending().len(), 1, "{text:?}");
    }
    // The queue survives every terminal size.
    for (rows, columns) in [(1, 1), (2, 30), (5, 10), (60, 200), SIZE] {
        screen.resize(rows, columns);
        let _ = screen.rest();
    }
    screen.expect("1 waiting");
    world.answer("allow-once");
    screen.expect("no questions are pending");
    assert_eq!(held.end().stdout, "one\n");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let world = world();
    let (screen, modes) = watching(&world);
    assert_ne!(screen.modes(), modes);
    let kill = ended(Command::new("kill").args(["-TERM", &screen.pid().to_string()]));
    assert_eq!(kill.status, 0);
    until("the terminal is given back", || screen.modes() == modes);
    assert_eq!(screen.end(), 0);
    assert!(!world.home().join(".openclaw/exec-approvals.sock").exists());
}

#[test]
fn a_question_that_comes_both_ways_is_one_row() {
    let world = world();
    let mut watch = Watch::start(&world);
    let held = world.start(&["bash", "-c", &format!("{} one", path(&world, "bin/asked"))]);
    let requested = watch.wait("requested");
    // The event comes from the guard's own socket or from OpenClaw's, whichever was first.
    let id = if requested["id"].is_null() { &requested["approval"]["id"] } else { &requested["id"] };
    // By now the question has come over both sockets, but only one event is printed.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(watch.events.try_recv().is_err());
    watch.answer(id, "allow-session");
    assert_eq!(watch.wait("answered")["message"], "allow-session");
    assert_eq!(held.end().stdout, "one\n");
}

#[test]
fn the_socket_alone_is_enough() {
    let world = world_with(100_000, ONLY_SOCKET);
    let mut watch = Watch::start(&world);
    let asked = path(&world, "bin/asked");
    let line = format!("{asked} 'x y' $'\\e[2J'; {asked} 2; cat {}", path(&world, "else/file"));
    let held = world.start(&["bash", "-c", &line]);
    let first = watch.wait("requested");
    assert_eq!(first["request"]["command"], format!("{asked} 'x y' '\\u{{1B}}[2J'"));
    watch.answer(&first["id"], "allow-once");
    let second = watch.wait("requested");
    watch.answer(&second["id"], "deny");
    let file = watch.wait("requested");
    assert_eq!(file["request"]["command"], format!("[read] {}", path(&world, "else/file")));
    watch.answer(&file["id"], "allow-always");
    let ended = held.end();
    assert_eq!(ended.stdout, "x y \u{1b}[2J\nsecret\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("denied by the operator"), "{}", ended.stderr);
    let saved = world.read("home/.openclaw/guard/approvals.json").expect("it is saved");
    assert!(saved.contains("else/file"), "{saved}");
    assert!(!world.home().join(".openclaw/exec-approvals.json").exists());
}

#[test]
fn a_watch_that_dies_answers_nothing() {
    let world = world_with(100_000, ONLY_SOCKET);
    let watch = Watch::start(&world);
    let held = world.start(&["bash", "-c", &format!("{} one", path(&world, "bin/asked"))]);
    let before = watch.wait("requested");
    // This kills it, and its socket file remains.
    drop(watch);
    assert!(world.home().join(".openclaw/exec-approvals.sock").exists());
    let mut watch = Watch::start(&world);
    let again = watch.wait("requested");
    assert_eq!(again["id"], before["id"]);
    watch.answer(&again["id"], "allow-once");
    assert_eq!(held.end().stdout, "one\n");

    let world = world_with(1500, ONLY_SOCKET);
    let watch = Watch::start(&world);
    let held = world.start(&["bash", "-c", &format!("{} one; echo $?", path(&world, "bin/asked"))]);
    watch.wait("requested");
    drop(watch);
    let ended = held.end();
    assert_eq!(ended.stdout, "126\n");
    assert!(ended.stderr.contains("nobody answered in time"), "{}", ended.stderr);
    // If nobody listens from the start, the guard does not wait.
    let ended = world.start(&[path(&world, "bin/asked")]).end();
    assert!(ended.stderr.contains("no-approval-route"), "{}", ended.stderr);
}

/// The policy's fallback allows calls that nobody answers.
#[test]
fn silence_is_no_answer_to_what_was_not_shown() {
    let world = world_with(100_000, ONLY_SOCKET).policy_text(|text| {
        text.replace(r#""allowlist", "ask": "on-miss""#, r#""full", "ask": "always", "askFallback": "full""#)
    });
    let watch = Watch::start(&world);
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} {}; echo $?; {asked} one", "x".repeat(20_000))]);
    // Only the short call is shown; the long one has ended before it.
    let shown = watch.wait("requested");
    assert!(shown.to_string().contains("one"), "{shown}");
    let mut watch = watch;
    watch.answer(&shown["id"], "allow-once");
    let ended = held.end();
    assert_eq!(ended.stdout, "126\none\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("the question could not be asked"), "{}", ended.stderr);
}

#[test]
fn a_second_watch_does_not_start() {
    let world = world();
    let _watch = Watch::start(&world);
    let second = ended(command(&world).arg("--json").stdin(Stdio::null()));
    assert_eq!(second.status, 125);
    assert!(
        second.stderr.contains("`approvals watch` or `approvals serve` runs already"),
        "{}",
        second.stderr
    );
}

#[test]
fn nobody_watches_from_inside() {
    let world = World::open();
    let guard = guard();
    let guard = guard.to_str().expect("a plain path");
    let ended = world.guarded(&[guard, "approvals", "watch", "--json"]);
    assert_eq!(ended.status, 125);
    assert!(ended.stderr.contains("this shell is guarded itself"), "{}", ended.stderr);
}

/// Tries to connect to each path and to bind it, tries to read the token, and prints the results.
const INTRUDER: &str = "\
import socket, sys
for path in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(path)
        print('connected')
    except OSError as error:
        print(error.errno)
    for name in (path, path + '.new'):
        try:
            socket.socket(socket.AF_UNIX).bind(name)
            print('bound', name)
        except OSError:
            pass
try:
    print(open(sys.argv[1].rsplit('/', 1)[0] + '/guard/socket-token').read())
except OSError as error:
    print(error.errno)
";

#[test]
fn the_tree_reaches_neither_the_socket_nor_the_token() {
    let world = World::open();
    let state = world.home().join(".openclaw");
    let default = state.join("exec-approvals.sock");
    let watch = Watch::start(&world);
    let intrude = |socket: &std::path::Path| {
        let ended = world.guarded(&["python3", "-c", INTRUDER, socket.to_str().expect("a plain path")]);
        assert!(!ended.stdout.contains("connected"), "{}{}", ended.stdout, ended.stderr);
        ended.stdout
    };
    let output = intrude(&default);
    assert_eq!(output, "13\n13\n");
    drop(watch);
    // Nor a socket that the store names elsewhere, where the tree may write.
    let elsewhere = world.work().join("a.sock");
    let store = serde_json::json!({"version": 1, "socket": {"path": elsewhere, "token": "t"}});
    world.write("home/.openclaw/exec-approvals.json", store.to_string());
    let _watch = Watch::start(&world);
    assert!(elsewhere.exists());
    let output = intrude(&elsewhere);
    assert!(
        output.starts_with("13\n") && !output.contains(&format!("bound {}\n", elsewhere.display())),
        "{output}"
    );
    let removed = world.sh(&format!("rm -f {0}; mv {0} {0}2; ls {0}", elsewhere.display()));
    assert!(elsewhere.exists(), "{removed:?}");
}

/// Listens, and would answer every question with yes.
const IMPOSTOR: &str = "\
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print('listening', flush=True)
while True:
    peer, _ = s.accept()
    line = peer.makefile().readline()
    print('told', line, flush=True)
    if line:
        answer = {'type': 'decision', 'id': json.loads(line)['id'], 'decision': 'allow-once'}
        peer.sendall(json.dumps(answer).encode() + b'\\n')
";

#[test]
fn a_member_of_another_tree_answers_nothing() {
    let other = World::open();
    let socket = other.work().join("a.sock");
    let impostor = other.start(&["python3", "-c", IMPOSTOR, socket.to_str().expect("a plain path")]);
    until("it listens", || impostor.stdout().contains("listening"));
    let world = world_with(3000, r#", "approvals": {"routes": ["socket", "cli"]}"#);
    let store = serde_json::json!({"version": 1, "socket": {"path": socket, "token": "t"}});
    world.write("home/.openclaw/exec-approvals.json", store.to_string());
    let ended = world.start(&["bash", "-c", &format!("{} one; echo $?", path(&world, "bin/asked"))]).end();
    assert_eq!(ended.stdout, "126\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("may not answer"), "{}", ended.stderr);
    assert!(!impostor.stdout().contains("told {"), "{}", impostor.stdout());
    let kill = ended_of_kill(impostor.pid());
    assert_eq!(kill, 0);
    let _ = impostor.end();
}

fn ended_of_kill(pid: u32) -> i32 {
    ended(Command::new("kill").args(["-TERM", &pid.to_string()])).status
}

#[test]
fn a_question_ends_when_the_only_watcher_leaves() {
    let world = crate::world::world_without_routes("");
    let watch = Watch::start(&world);
    let held = world.start(&[path(&world, "bin/asked")]);
    until("it is asked", || world.pending().len() == 1);
    drop(watch);
    let ended = held.end();
    assert_eq!(ended.status, 126, "{}", ended.stderr);
    assert!(ended.stderr.contains("nobody can be asked"), "{}", ended.stderr);
}
