//! Attacks on the guard's own processes: the tree cannot stop, inspect or change them, and once they are gone
//! nothing is allowed.

use std::fs;
use std::process::Command;

use guard_tests::{World, descendants, is_root, program_text, until};

use super::native;

const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
    "rules": {SYSTEM, "@/work/**": "rwx"}, "deny": ["@/secret"], "default": "r--"}}}"#;

/// Returns the processes of the guard: its own first, then the supervisor's. Waits for the command: the log
/// reports its start earlier, and until then its process looks like one of the guard's.
fn guards(pid: u32, command: &str) -> Vec<u32> {
    let is_command = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(command.as_bytes())
    };
    until("the command runs", || descendants(pid).iter().any(is_command));
    descendants(pid).into_iter().filter(|pid| !is_command(pid)).collect()
}

/// Everything that one process may try on another. All of it must be refused; an attempt prints its result if
/// it was not.
const ATTEMPTS: &str = r#"
import ctypes, os, resource, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *args):
    number, args = native(number, args)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
    if result == -1: raise OSError(ctypes.get_errno(), '')
    return result
while not os.path.exists('pids') or not os.path.getsize('pids'): time.sleep(0.01)
tried = 0
def refused(name, act, *errors):
    global tried
    tried += 1
    try:
        print('NOT REFUSED', name, act())
    except OSError as error:
        if error.errno not in (errors or (1, 13)): print('OTHERWISE', name, error.errno)
memory = ctypes.create_string_buffer(4096)
vector = struct.pack('PN', ctypes.addressof(memory), 4096)
there = struct.pack('PN', 0x400000, 4096)
for pid in map(int, open('pids').read().split()):
    for signal in (0, 1, 2, 9, 10, 15, 18, 19, 20, 34, 64):
        refused(f'kill {signal}', lambda: os.kill(pid, signal))
        refused(f'tgkill {signal}', lambda: call(234, pid, pid, signal))
        refused(f'sigqueue {signal}', lambda: call(129, pid, signal, struct.pack('iii', signal, 0, -1) + bytes(116)))
        # The front is in the command's own group, as a shell would have it: that is for the command to signal.
        if pid != os.getpgrp(): refused(f'kill group {signal}', lambda: os.kill(-pid, signal), 1, 3, 13)
    fd = os.pidfd_open(pid)
    for signal in (9, 19): refused(f'pidfd_send_signal {signal}', lambda: call(424, fd, signal, None, 0))
    for number in range(0, 12): refused('pidfd_getfd', lambda: call(438, fd, number, 0), 1, 3, 13)
    for request in (16, 0x4206): refused(f'ptrace {request}', lambda: call(101, request, pid, 0, 0))
    refused('process_vm_readv', lambda: call(310, pid, vector, 1, there, 1, 0), 1, 38, 13)
    refused('process_vm_writev', lambda: call(311, pid, vector, 1, there, 1, 0), 1, 38, 13)
    refused('process_madvise', lambda: call(440, fd, there, 1, 21, 0), 1, 38, 13, 22)
    refused('process_mrelease', lambda: call(448, fd, 0), 1, 38, 13, 22)
    refused('kcmp', lambda: call(312, os.getpid(), pid, 0, 0, 0), 1, 38, 13)
    refused('prlimit', lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)))
    refused('prlimit read', lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE))
    refused('sched_setaffinity', lambda: os.sched_setaffinity(pid, {0}))
    refused('sched_setscheduler', lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)))
    refused('setpriority', lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))
    refused('ioprio_set', lambda: call(251, 1, pid, 3 << 13))
    refused('migrate_pages', lambda: call(256, pid, 64, memory, memory), 1, 13, 38)
    refused('move_pages', lambda: call(279, pid, 1, there, memory, memory, 0), 1, 13, 38)
    refused('setpgid', lambda: os.setpgid(pid, 0), 1, 3, 13)
    refused('setns', lambda: call(308, fd, 0x20000000), 1, 13, 22)
    for name in ('mem', 'environ', 'maps', 'smaps', 'auxv', 'stack', 'syscall', 'pagemap', 'personality', 'io'):
        refused(f'read {name}', lambda: open(f'/proc/{pid}/{name}', 'rb').read(1), 1, 13, 2)
    for name in ('mem', 'oom_score_adj', 'oom_adj', 'coredump_filter', 'clear_refs', 'comm', 'autogroup', 'sched',
                 'timerslack_ns', 'loginuid', 'attr/current', 'setgroups', 'uid_map', f'task/{pid}/comm'):
        refused(f'write {name}', lambda: os.write(os.open(f'/proc/{pid}/{name}', os.O_WRONLY), b'0'), 1, 13, 2)
    refused('list fd', lambda: os.listdir(f'/proc/{pid}/fd'))
    for number in range(0, 12): refused('open fd', lambda: os.open(f'/proc/{pid}/fd/{number}', os.O_RDONLY), 1, 13, 2)
    for name in ('exe', 'cwd', 'root'): refused(name, lambda: os.stat(f'/proc/{pid}/{name}/'), 1, 13, 2, 20)
    refused('map_files', lambda: os.listdir(f'/proc/{pid}/map_files'))
    for name in ('mnt', 'user', 'pid'): refused(f'ns {name}', lambda: os.open(f'/proc/{pid}/ns/{name}', os.O_RDONLY), 1, 13, 2)
try: print(open('../secret').read())
except PermissionError: pass
open('own', 'w').close()
print('tried', tried)
"#;

#[test]
fn nothing_is_done_to_the_guards_processes() {
    let world = World::bare().policy(POLICY);
    world.write("secret", "TOPSECRET");
    let python = program_text("python3");
    let attempts = native::numbers() + ATTEMPTS;
    let held = world.start(&[&*python, "-I", "-B", "-c", &attempts]);
    let guards = guards(held.pid(), &python);
    assert!(guards.len() >= 3, "{guards:?}");
    let state = || {
        let of =
            |pid: &u32, name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let is_stopped = |pid| {
            of(pid, "stat").rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't', 'Z']))
        };
        let scores = ["oom_score_adj", "coredump_filter", "limits", "comm"];
        guards.iter().map(|pid| (is_stopped(pid), scores.map(|name| of(pid, name)))).collect::<Vec<_>>()
    };
    let before = state();
    assert!(before.iter().all(|(stopped, _)| !stopped), "{before:?}");
    let pids = guards.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    fs::write(world.root().join("pids"), pids).expect("a file");
    fs::rename(world.root().join("pids"), world.work().join("pids")).expect("a file");
    until("all is tried", || held.stdout().contains("tried"));
    let output = held.stdout();
    let after = world.work().join("own").exists();
    let ended = held.end();
    assert_eq!(output.lines().count(), 1, "{output}\n{}", ended.stderr);
    assert!(after && ended.status == 0, "{ended:?}");
    println!("{} processes of the guard: {} refused", guards.len(), output.trim());
}

/// The supervisor is a process outside of the tree, with limits of its own.
#[test]
fn the_trees_limits_are_not_the_supervisors() {
    let world = World::bare().policy(POLICY);
    world.write("secret", "TOPSECRET");
    world.write("work/own", "own");
    let ended = world.guarded(&["bash", "-c", "
        ulimit -Sn 12; ulimit -Hn 12; ulimit -v 400000; ulimit -s 256; ulimit -f 0
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do eval \"exec $((i + 3))< own\" 2>/dev/null || { echo full; break; }; done
        exec 4<&- 5<&-; cat own; cat ../secret"]);
    assert!(ended.stdout.starts_with("full\n") && ended.stdout.ends_with("own"), "{ended:?}");
    assert!(ended.stderr.contains("denied read"), "{ended:?}");
}

/// The supervisor is killed from outside: calls that it holds end, later ones fail, and none is allowed.
#[test]
fn a_killed_supervisor_allows_nothing() {
    for whom in 0..2 {
        let mut world = World::bare().policy(POLICY);
        // Makes the supervisor handle every call.
        world.set_tiers("broker");
        world.write("secret", "TOPSECRET");
        world.write("work/own", "own");
        let python = program_text("python3");
        let mut command: Command = world.command();
        command.args([
            "-v",
            "--",
            &python,
            "-I",
            "-B",
            "-c",
            "
import os, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # The reaper ends what is left.
os.mkfifo('fifo')
def told(text): os.write(1, text.encode() + b'\\n')
def wait():
    try: os.open('fifo', os.O_RDONLY); told('OPENED')
    except OSError as error: told(f'held {error.errno}')
for _ in range(3): threading.Thread(target=wait).start()
time.sleep(0.2)
told('ready')
own = True
while own:
    try: os.close(os.open('own', os.O_RDONLY)); time.sleep(0.01)
    except OSError as error: told(f'own {error.errno}'); own = False
    try: told(os.read(os.open('../secret', os.O_RDONLY), 99).decode())
    except OSError as error: error.errno == 13 or told(f'secret {error.errno}')
try: os.execv('/bin/echo', ['echo', 'STARTED'])
except OSError as error: told(f'exec {error.errno}')
told('end')",
        ]);
        let held = world.start_command(command);
        until("it runs", || held.stdout().contains("ready"));
        let errors = held.stderr();
        let supervisor =
            errors.split_once("kill -HUP ").and_then(|(_, rest)| rest.split_once(' ')).expect("a number").0;
        // A supervisor that is stopped first holds up every call, and allows none either.
        if whom == 1 {
            assert!(Command::new("kill").args(["-STOP", supervisor]).status().expect("kill").success());
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        let before = held.stdout();
        assert!(Command::new("kill").args(["-KILL", supervisor]).status().expect("kill").success());
        until("all of the tree has noticed", || {
            let output = held.stdout();
            output.contains("end") && output.matches("held").count() == 3
        });
        let ended = held.end();
        for let_through in ["TOPSECRET", "OPENED", "STARTED"] {
            assert!(!ended.stdout.contains(let_through), "{ended:?}");
        }
        assert!(!before.contains("held"), "{before}");
        assert_ne!(ended.status, 0, "{ended:?}");
        for line in ended.stdout.lines().filter(|line| !matches!(*line, "ready" | "end")) {
            assert!(line.ends_with(&format!(" {}", libc::ENOSYS)), "{line}: {ended:?}");
        }
        println!("supervisor killed: {:?}", ended.stdout.lines().collect::<Vec<_>>());
    }
}

/// Process numbers are reused within moments: a verdict for one process must not hold for the next one.
#[test]
fn numbers_that_come_again() {
    let last = "/proc/sys/kernel/ns_last_pid";
    let can_write =
        is_root() && fs::read_to_string(last).is_ok_and(|number| fs::write(last, number.trim()).is_ok());
    let world = World::bare().policy(POLICY);
    world.write("secret", "TOPSECRET");
    world.write("work/own", "own");
    if !can_write {
        guard_tests::skip("ns_last_pid is root's: numbers come again only as they happen to");
    }
    let number: u32 = fs::read_to_string(last).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    let script = "
import os, sys
read = 0
for turn in range(1500):
    # Some die while they are held, and another process has the number at once.
    child = os.fork()
    if child == 0:
        for path in ('own', '../secret', 'own', '../secret'):
            try:
                text = os.read(os.open(path, os.O_RDONLY), 99)
                if b'TOP' in text: os.write(1, b'LEAK\\n')
            except PermissionError: pass
        os._exit(0)
    if turn % 3: os.kill(child, 9)
    os.waitpid(child, 0)
print('done')";
    let held = world.start(&[&*program_text("python3"), "-I", "-B", "-c", script]);
    until("it is done", || {
        if can_write {
            for _ in 0..200 {
                // Gives the next processes the same few numbers, as far as they are free.
                let _ = fs::write(last, number.to_string());
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        }
        held.stdout().contains("done") || held.stderr().contains("Error")
    });
    let ended = held.end();
    assert_eq!(ended.stdout, "done\n", "{}", ended.stderr);
}
