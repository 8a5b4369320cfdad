//! Calls that exhaust the supervisor's resources, or that no ordinary program makes. What is denied stays
//! unread, and later callers are answered.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use guard_tests::{Ended, World, behind, compile, ended, program_text, rounds, sources, without_layers};
use nix::sys::stat::Mode;

fn world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rw-", "@/bin/**": "r-x"}, "deny": ["@/secret"], "default": "r--"}}}"#,
    );
    world.write("secret", "TOPSECRET");
    world.write("work/own", "own");
    nix::unistd::mkfifo(&world.work().join("fifo"), Mode::S_IRWXU).expect("a pipe");
    world
}

/// Runs the attacker in C. Returns the lines that it printed.
fn exhaust(world: &World, mut command: Command, arguments: &[&str]) -> Vec<String> {
    let program = world.write("bin/exhaust", "");
    let source = fs::read_to_string(sources().join("attackers/exhaust.c")).expect("a source");
    compile(&source, &program, &["-O1", "-w", "-pthread"]);
    let Ended { stdout, stderr, .. } = ended(command.arg("--").arg(&program).args(arguments));
    assert!(stdout.ends_with("answered\n"), "{arguments:?}: {stdout}{}", &stderr[..stderr.len().min(4000)]);
    assert!(!stdout.contains("LEAK") && !stdout.contains("OPENED"), "{arguments:?}: {stdout}");
    println!("{arguments:?}: {stdout}");
    stdout.lines().map(str::to_owned).collect()
}

/// Runs Python. In the end the script checks that an allowed and a denied open still behave as usual.
fn python(world: &World, script: &str) -> Ended {
    let script = format!(
        "import os, sys\ndef errno(act):\n  try: act()\n  except OSError as error: return error.errno\n  return 0\n{script}
print('own', errno(lambda: os.close(os.open('own', 0))), errno(lambda: os.open('../secret', 0)))"
    );
    let ended = world.guarded(&[&*program_text("python3"), "-I", "-B", "-c", &script]);
    assert!(ended.stdout.ends_with("own 0 13\n"), "{ended:?}");
    ended
}

#[test]
fn callers_that_die_while_they_are_held() {
    let world = world();
    let count = rounds(10_000, 100_000).to_string();
    assert_eq!(exhaust(&world, world.command(), &["dying", &count])[0], format!("died {count}"));
}

/// More waiting calls than workers: the rest wait for a free worker.
#[test]
fn more_calls_than_workers() {
    let world = world();
    assert_eq!(exhaust(&world, world.command(), &["pending", "4300"])[0], "pending 4300");
}

/// Calls that never end do not hold up other callers.
#[test]
fn calls_that_never_end() {
    let world = world();
    let lines = exhaust(&world, world.command(), &["pending", "1000"]);
    assert_eq!(lines, ["pending 1000", "answered", "answered"]);
}

/// For a guard that may have 300 descriptors.
const FEW_DESCRIPTORS: &[&str] = &["prlimit", "--nofile=300:300"];

/// The supervisor may have few descriptors, and each open that waits takes some of them.
#[test]
fn a_supervisor_without_descriptors() {
    let world = world();
    let command = behind(FEW_DESCRIPTORS, &world.command());
    exhaust(&world, command, &["pending", "900"]);
}

/// Where Landlock does not scope signals (Linux before 6.12), the supervisor must answer the kill(2) that ends the calls
/// which wait.
#[test]
fn calls_that_wait_are_ended_where_signals_are_held() {
    let world = world();
    let old_kernel = || {
        let mut guard = world.command_of(&without_layers());
        guard.env("GUARD_TEST_LAYERS_OFF", "landlock-5");
        guard
    };
    exhaust(&world, behind(FEW_DESCRIPTORS, &old_kernel()), &["pending", "900"]);
    assert_eq!(exhaust(&world, old_kernel(), &["pending", "4300"])[0], "pending 4300");
}

#[test]
fn memory_that_ends_at_each_argument() {
    let world = world();
    assert_eq!(exhaust(&world, world.command(), &["partial"])[0], "partial: 0 wrong");
    assert_eq!(world.read("work/own").as_deref(), Some("own"));
}

#[test]
fn arguments_and_variables_without_end() {
    let world = world();
    let script = "
def start(argv, env):
    child = os.fork()
    if child == 0:
        try: os.execve('/bin/true', argv, env)
        except OSError as error: os._exit(error.errno)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
short = ['true']
print(start(['true'] + ['x' * 131071] * 12, {}), start(['true'] + ['x' * 131071] * 17, {}), start(['true', 'x' * 131072], {}),
    start(['true'] + ['x'] * 150000, {}), start(short, {f'N{i}': 'x' for i in range(10000)}),
    start(short, {f'N{i}': 'x' * 1000 for i in range(10000)}), start(short, {'N': 'x' * 200000}))";
    let native = world.native(&[&*program_text("python3"), "-I", "-B", "-c", &format!("import os{script}")]);
    let guarded = python(&world, script);
    assert_eq!(guarded.stdout.lines().next(), native.stdout.lines().next(), "{}", guarded.stderr);
    println!("{}", native.stdout.trim());
}

#[test]
fn paths_without_end() {
    let world = world();
    let work = world.work();
    for (name, target) in [("loop", "loop"), ("ping", "pong"), ("pong", "ping"), ("up", "../work/up/x")] {
        symlink(target, work.join(name)).expect("a link");
    }
    symlink("own", work.join("l1")).expect("a link");
    symlink("../secret", work.join("s1")).expect("a link");
    for number in 2..=42 {
        for kind in ["l", "s"] {
            symlink(format!("{kind}{}", number - 1), work.join(format!("{kind}{number}"))).expect("a link");
        }
    }
    let script = "
paths = ['loop', 'ping', 'up', 'l1', 'l40', 'l41', 'l42', 's1', 's40', 's41', 's42', 'own/', 'own/x', './' * 2000 + 'own',
    '../work/' * 500 + 'own', '../work/' * 511 + 'own', 'x' * 255, 'x' * 256, 'x/' * 2047, 'x/' * 2048, 'x' * 4095, 'x' * 4096, '/' * 4090 + 'x',
    '../' * 1000 + 'proc/self/cwd/' * 50 + 'own', '/proc/self/root' * 200 + '/x', '']
print([(errno(lambda: os.close(os.open(path, 0))), errno(lambda: os.close(os.open(path, 1)))) for path in paths])
os.mkdir('deep')
os.chdir('deep')
for level in range(250):
    os.mkdir('a' * 20)
    os.chdir('a' * 20)
print(errno(lambda: os.close(os.open('file', os.O_CREAT | os.O_WRONLY))), errno(lambda: os.close(os.open('file', 0))),
    errno(lambda: os.open('../' * 252 + 'secret', 0)), errno(lambda: os.rename('file', 'other')), errno(lambda: os.unlink('other')))
for level in range(250):
    os.chdir('..')
    os.rmdir('a' * 20)
os.chdir('..')
os.rmdir('deep')";
    // Paths that only the policy closes fail with EACCES under the guard.
    let native = world.native(&[&*program_text("python3"), "-I", "-B", "-c", &format!("import os\ndef errno(act):\n  try: act()\n  except OSError as error: return error.errno\n  return 0\n{script}")]);
    let guarded = python(&world, script);
    let numbers = |line: &str| {
        line.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse().ok()).collect::<Vec<i32>>()
    };
    let (mut closed, mut same) = (0, 0);
    for (native, guarded) in native.stdout.lines().zip(guarded.stdout.lines()) {
        let (native, guarded) = (numbers(native), numbers(guarded));
        assert_eq!(native.len(), guarded.len());
        for (at, (native, guarded)) in native.iter().zip(&guarded).enumerate() {
            match (native, guarded) {
                (0, 13) => closed += 1,
                (native, guarded) => {
                    assert_eq!(native, guarded, "at {at}");
                    same += 1;
                }
            }
        }
    }
    assert_eq!((closed, same > 40), (5, true), "{}", guarded.stdout);
    println!("paths: {same} as natively, {closed} closed");
}

#[test]
fn a_directory_of_a_hundred_thousand() {
    let world = world();
    let many = world.work().join("many");
    fs::create_dir(&many).expect("a directory");
    for number in 0..100_000 {
        fs::File::create(many.join(number.to_string())).expect("a file");
    }
    let script = "
print(len(os.listdir('many')))
for number in range(0, 100000, 100): os.unlink(f'many/{number}')
os.rename('many', 'moved')
print(sum(1 for _ in os.scandir('moved')), errno(lambda: os.close(os.open('moved/99999', 0))))";
    assert!(python(&world, script).stdout.starts_with("100000\n99000 0\n"));
    let remove = |path: &Path| fs::remove_dir_all(path).expect("to remove it");
    remove(&world.work().join("moved"));
}
