//! Panics in the guard itself, provoked in a build for tests (`GUARD_TEST_FAULTS`): the call under way is
//! refused, and everything else continues.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

use guard_tests::{
    Ended, Held, World, descendants, ended, layers_off, program_text, rounds, skip, until, without_layers,
};

/// `work/` belongs to the tree; `asked/` needs an answer; `secret` is denied.
fn world() -> World {
    World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rwx", "@/work/fall-connect": "rw-", "@/asked/**": "???"},
            "deny": ["@/secret"], "default": "r--"}}}"#,
    )
}

/// Returns this world's guard with these faults, or None in a run that tests builds without a layer.
fn guard(world: &World, faults: &str) -> Option<Command> {
    if layers_off().is_some() {
        skip("the build for tests is the one that is tested");
        return None;
    }
    let mut command = world.command_of(&without_layers());
    // Sends every kind of call to the broker.
    command.args(["--tiers", "broker"]).env("GUARD_TEST_FAULTS", faults);
    Some(command)
}

fn python(mut command: Command, script: &str) -> Command {
    command.args(["--", &program_text("python3"), "-I", "-B", "-u", "-c"]).arg(format!("{PRELUDE}{script}"));
    command
}

const PRELUDE: &str = "
import os, signal, socket, sys, time
def errno(act):
    try:
        act()
    except OSError as error:
        return error.errno
    return 0
def read(path):
    with open(path) as file:
        return file.read()
";

/// The lines of the audit log about faults.
fn faults(world: &World) -> Vec<serde_json::Value> {
    world.audit().into_iter().filter(|line| line["operation"] == "fault").collect()
}

/// Runs a script that prints `held` if everything it checked was right.
fn holds(world: &World, kind: &str, call: &str, script: &str) {
    world.write("secret", "TOPSECRET");
    world.write("asked/fall", "x");
    world.write("work/own", "own");
    let subject = if kind == "asking" { "/asked/" } else { "fall" };
    let Some(command) = guard(world, &format!("{kind}:{subject}")) else { return };
    let script = format!(
        "{script}\nassert read('own') == 'own'\nassert errno(lambda: open('../secret')) == 13\nprint('held')"
    );
    let Ended { stdout, stderr, status } = ended(&mut python(command, &script));
    assert_eq!((stdout.as_str(), status), ("held\n", 0), "{kind}: {stderr}");
    let lines: Vec<&str> =
        stderr.lines().filter(|line| line.contains("an error in the guard itself")).collect();
    assert_eq!(lines.len(), 1, "{kind}: {stderr}");
    assert!(lines[0].ends_with(&format!("; denied {call}")), "{kind}: {stderr}");
    assert!(!stderr.contains("RUST_BACKTRACE") && !stderr.contains("panicked at"), "{kind}: {stderr}");
    let faults = faults(world);
    assert_eq!(faults.len(), 1, "{kind}: {faults:?}");
    assert_eq!((&faults[0]["call"], &faults[0]["verdict"]), (&call.into(), &"deny".into()), "{kind}");
    assert!(faults[0]["pid"].as_i64().is_some_and(|pid| pid > 1), "{kind}: {faults:?}");
    println!("{kind}: denied, told and logged");
}

#[test]
fn in_an_open() {
    holds(
        &world(),
        "open",
        "open",
        "
assert errno(lambda: open('fall')) == 13",
    );
}

#[test]
fn before_an_exec() {
    holds(
        &world(),
        "exec",
        "execve",
        "
assert errno(lambda: os.execv('./fall', ['fall'])) == 13
assert os.spawnv(os.P_WAIT, '/bin/true', ['true']) == 0",
    );
}

/// The worker panics while the new program is stopped: the program is killed.
#[test]
fn after_an_exec() {
    let world = world();
    let program = world.write("work/fall", fs::read("/bin/true").expect("true"));
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a mode");
    holds(
        &world,
        "verify",
        "execve",
        "
assert os.spawnv(os.P_WAIT, './fall', ['fall']) == -signal.SIGKILL
assert os.spawnv(os.P_WAIT, '/bin/true', ['true']) == 0",
    );
}

#[test]
fn in_a_connect() {
    let world = world();
    let _server = UnixListener::bind(world.work().join("fall-connect")).expect("a socket");
    let _other = UnixListener::bind(world.work().join("sock")).expect("a socket");
    holds(
        &world,
        "connect",
        "connect",
        "
assert errno(lambda: socket.socket(socket.AF_UNIX).connect('fall-connect')) == 13",
    );
}

/// The worker panics while it holds the lock for all moves.
#[test]
fn in_a_rename() {
    let world = world();
    world.write("work/fall", "");
    world.write("work/a", "");
    holds(
        &world,
        "rename",
        "rename",
        "
assert errno(lambda: os.rename('fall', 'x')) == 13
assert os.path.exists('fall')
os.rename('a', 'b')
os.link('b', 'c')",
    );
}

/// A call that is already carried out is still refused: its caller sees only the error.
#[test]
fn with_the_answer_in_hand() {
    let world = world();
    let Some(command) = guard(&world, "answer:symlink") else { return };
    let ended = ended(&mut python(command, "print([errno(lambda: os.symlink('x', 'y')) for _ in range(3)])"));
    assert_eq!(ended.stdout, "[13, 17, 17]\n", "{}", ended.stderr);
}

/// A panic between two calls leaves an unknown state: the guard ends, and nothing is allowed any more.
#[test]
fn in_a_worker_itself() {
    let world = world();
    world.write("work/own", "own");
    world.write("secret", "TOPSECRET");
    let Some(command) = guard(&world, "worker:symlink") else { return };
    let ended = ended(&mut python(
        command,
        "
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # The reaper ends what is left.
os.symlink('x', 'y')
while errno(lambda: open('own')) != 38:
    assert errno(lambda: open('../secret')) in (13, 38)
    time.sleep(0.01)
print(errno(lambda: open('own')), errno(lambda: open('../secret')), errno(lambda: os.execv('/bin/true', ['true'])))",
    ));
    assert_eq!(ended.stdout, "38 38 38\n", "{}", ended.stderr);
    assert!(ended.status != 0 && ended.stderr.contains("no call is allowed any more"), "{ended:?}");
    assert_eq!(faults(&world).len(), 1);
}

#[test]
fn while_asking() {
    let world = world().attended();
    holds(
        &world,
        "asking",
        "open",
        "
assert errno(lambda: open('../asked/fall')) == 13",
    );
}

/// Returns the process id of the supervisor, which is the guard's child.
fn supervisor(held: &Held<'_>) -> u32 {
    let mut number = None;
    until("the supervisor is named", || {
        let errors = held.stderr();
        let named = errors.split_once("kill -HUP ").and_then(|(_, rest)| rest.split_once(' '));
        number = named.and_then(|(number, _)| number.parse().ok());
        number.is_some()
    });
    number.expect("a number")
}

fn status(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
    line.split_whitespace()
        .nth(if line.starts_with(':') { 1 } else { 0 })
        .and_then(|text| text.parse().ok())
        .expect("a number")
}

/// How many workers may be left: four asleep, four that wait for calls, one for each of three callers, and one that ends.
const MAX_WORKERS: usize = 12;

fn workers(pid: u32) -> usize {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
    let names = threads.map(|thread| fs::read_to_string(thread.path().join("comm")).unwrap_or_default());
    names.filter(|name| name == "worker\n").count()
}

/// Thousands of panics while others work: no other call is refused, and neither threads nor memory leak.
#[test]
fn thousands_of_times() {
    let world = world();
    world.write("work/own", "own");
    world.write("secret", "TOPSECRET");
    let Some(mut command) = guard(&world, "open:fall") else { return };
    command.arg("-v");
    let count = rounds(2_000, 100_000);
    let script = format!(
        "
def others():
    while not os.path.exists('stop'):
        assert read('own') == 'own'
        assert errno(lambda: open('../secret')) == 13
    os._exit(0)
children = [os.fork() or others() for _ in range(2)]
def fall(times):
    for _ in range(times):
        assert errno(lambda: os.open('fall', 0)) == 13
fall({count} // 10)
os.close(os.open('warm', os.O_CREAT))
while not os.path.exists('go'): time.sleep(0.01)
fall({count})
os.close(os.open('done', os.O_CREAT))
while not os.path.exists('stop'): time.sleep(0.01)
print([os.waitpid(child, 0)[1] for child in children], read('own'))"
    );
    let held = world.start_command(python(command, &script));
    let pid = supervisor(&held);
    let there = |name: &str| world.work().join(name).exists();
    until("it has fallen often", || there("warm"));
    let memory = status(pid, "VmRSS");
    world.write("work/go", "");
    until("it has fallen", || there("done"));
    // On a busy machine a thread that has ended is there for a while.
    until("its workers have ended", || workers(pid) <= MAX_WORKERS);
    let workers = workers(pid);
    let after = status(pid, "VmRSS");
    world.write("work/stop", "");
    let ended = held.end();
    assert_eq!(ended.stdout, "[0, 0] own\n", "{}", &ended.stderr[..ended.stderr.len().min(4000)]);
    assert!(after < memory + (32 << 10), "{memory} KiB, and {after} afterwards");
    until("the log is whole", || faults(&world).len() == count + count / 10);
    assert!(ended.stderr.len() < 100_000, "{} bytes on stderr", ended.stderr.len());
    println!(
        "faults: {} of {}, workers {workers}, KiB {memory} and {after}",
        faults(&world).len(),
        count + count / 10,
    );
}

/// One log entry is lost, and the next is written.
#[test]
fn in_the_thread_that_logs() {
    let world = world();
    let Some(command) = guard(&world, "audit:fall") else { return };
    world.write("secret", "TOPSECRET");
    world.write("work/fall", fs::read("/bin/true").expect("true"));
    fs::set_permissions(world.work().join("fall"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let ended = ended(&mut python(
        command,
        "
print([os.spawnv(os.P_WAIT, './fall', ['fall']) for _ in range(3)])
print(errno(lambda: open('../secret')))",
    ));
    // It is unknown whether the start was logged, so nothing starts.
    assert_eq!(ended.stdout, "[127, 127, 127]\n13\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("one line of the audit log is lost"), "{}", ended.stderr);
    let denied = |line: &serde_json::Value| line["verdict"] == "deny";
    assert_eq!(world.audit().into_iter().filter(denied).count(), 1);
}

/// The line is lost, and the next is printed; no caller waits for it.
#[test]
fn in_the_thread_that_prints() {
    let world = world().policy_text(|text| text.replace("\"@/secret\"", "\"@/secret\", \"@/fall\""));
    let world = world.policy_text(|text| text.replace(r#"/secret"]"#, r#"/secret", "@/fall"]"#));
    let Some(command) = guard(&world, "report:fall") else { return };
    for name in ["secret", "fall"] {
        world.write(name, "TOPSECRET");
    }
    let ended = ended(&mut python(
        command,
        "
print([errno(lambda: open(name)) for name in ('../fall', '../fall', '../secret')])",
    ));
    assert_eq!(ended.stdout, "[13, 13, 13]\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("denied read") && ended.stderr.contains("/secret"), "{}", ended.stderr);
    assert!(ended.stderr.contains("an error in the guard itself"), "{}", ended.stderr);
}

/// A policy that makes its reader panic is refused like an invalid one, and the next is read.
#[test]
fn in_the_thread_that_reads_the_policy() {
    let world = world();
    world.write("secret", "TOPSECRET");
    let Some(mut command) = guard(&world, "policy:tumble") else { return };
    command.arg("-v");
    let held = world.start_command(python(
        command,
        "
print(errno(lambda: open('../secret')))
while not os.path.exists('go'): time.sleep(0.01)
print(errno(lambda: open('../secret')), errno(lambda: open('own', 'w')))",
    ));
    until("it runs", || held.stdout().contains("13\n"));
    let text = world.read("guard.json").expect("a policy");
    let file = world.root().join("guard.json");
    fs::write(&file, format!("{text}\n// tumble\n")).expect("a policy");
    until("it is refused", || held.stderr().contains("the policy that was in force stays"));
    let other = text.replace(
        &format!("{}/work/**\": \"rwx", world.root().display()),
        &format!("{}/work/**\": \"r-x", world.root().display()),
    );
    assert_ne!(other, text);
    fs::write(&file, other).expect("a policy");
    until("it is read", || held.stderr().contains("was read again"));
    world.write("work/go", "");
    let ended = held.end();
    assert_eq!(ended.stdout, "13\n13 13\n", "{}", ended.stderr);
}

/// A signal still wakes a caller that waits in an open.
#[test]
fn in_the_threads_that_watch() {
    for thread in ["watch", "floor"] {
        let world = world();
        world.write("secret", "TOPSECRET");
        if layers_off().is_some() {
            return skip("the build for tests is the one that is tested");
        }
        let mut command = world.command_of(&without_layers());
        command.env("GUARD_TEST_FAULTS", format!("{thread}:"));
        let ended = ended(&mut python(
            command,
            "
os.mkfifo('fifo')
class Woken(Exception): pass
def woken(*_): raise Woken
signal.signal(signal.SIGALRM, woken)
try: signal.setitimer(signal.ITIMER_REAL, 0.3); open('fifo')
except Woken: print('woken', errno(lambda: open('../secret')))",
        ));
        assert_eq!(ended.stdout, "woken 13\n", "{thread}: {}", ended.stderr);
        let reports = ended.stderr.matches("an error in the guard itself").count();
        // Where the floor is not used, no thread watches it.
        assert!(reports == 1 || thread == "floor", "{thread}: {}", ended.stderr);
    }
}

/// Nobody can answer any more: calls that need an answer are refused, and none waits forever.
#[test]
fn in_the_thread_that_asks() {
    let world = world().attended();
    world.write("asked/file", "ASKED");
    let Some(command) = guard(&world, "approvals:") else { return };
    let ended = ended(&mut python(
        command,
        "
print([errno(lambda: open('../asked/file')) for _ in range(3)], errno(lambda: open('own', 'w')))",
    ));
    assert_eq!(ended.stdout, "[13, 13, 13] 0\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("an error in the guard itself"), "{}", ended.stderr);
}

/// A directory of many names, far down: the guard looks at the whole path of each before the directory is moved.
#[test]
fn a_move_far_down_takes_no_memory_for_each_path() {
    const MOVE: &str = r#"
import os, time
for number in range(5000): os.makedirs(f"flat/{number}")
top = os.open(".", os.O_PATH)
name = "d" * 250
for _ in range(100):
    os.mkdir(name)
    os.chdir(name)
os.rename("flat", "many", src_dir_fd=top)
os.rename("many", "moved")
print("moved", flush=True)
while not os.access("go", os.F_OK, dir_fd=top): time.sleep(0.02)
"#;
    let world = World::open().with_persistence(true);
    let held = world.start(&[&*program_text("python3"), "-I", "-S", "-B", "-c", MOVE]);
    until("the moves", || held.stdout().contains('\n'));
    let peak = descendants(held.pid()).into_iter().map(|process| status(process, "VmHWM:")).max();
    world.write("work/go", "");
    let ended = held.end();
    assert_eq!((ended.status, &*ended.stdout), (0, "moved\n"), "{}", ended.stderr);
    assert!((1..100 << 10).contains(&peak.expect("processes")), "{peak:?} KiB");
}
