//! The real-time priority of the guard's workers: who has it, who may, and that nothing inherits it.

use std::process::Command;

use guard_tests::{Ended, World, behind, ended, is_root, program_text, skip};

/// `threads()` lists the guard's threads: name, policy and priority (proc_pid_stat(5)). `own()` is what the tree has.
/// `until()` waits at most a minute.
const HEAD: &str = "
import os, resource, time
GUARD = 'openclaw-guard', 'guard', 'guard-layers'
def read(path):
 try: return open(path).read()
 except (FileNotFoundError, ProcessLookupError): return ''
def threads():
 found, at = [], os.getppid()
 while at > 1:
  if read(f'/proc/{at}/comm').strip() in GUARD:
   for task in os.listdir(f'/proc/{at}/task'):
    name, stat = (read(f'/proc/{at}/task/{task}/{file}') for file in ('comm', 'stat'))
    if name and stat:
     fields = stat.rsplit(') ', 1)[1].split(); found.append((name.strip(), int(fields[38]), int(fields[37])))
  at = int(read(f'/proc/{at}/stat').rsplit(') ', 1)[1].split()[1])
 return found
def workers(): return sorted(thread[1:] for thread in threads() if thread[0] == 'worker')
def until(done):
 end = time.monotonic() + 60
 while not done() and time.monotonic() < end: time.sleep(0.01)
 return done()
def own():
 read, write = os.pipe()
 if os.fork() == 0: os.write(write, b'%d' % os.sched_getscheduler(0)); os._exit(0)
 os.wait()
 limits = resource.getrlimit(resource.RLIMIT_RTPRIO), resource.getrlimit(resource.RLIMIT_RTTIME)
 return os.sched_getscheduler(0), os.read(read, 9), limits
REAL_TIME, ORDINARY = (os.SCHED_RR, 1), (os.SCHED_OTHER, 0)
";

/// Runs a script guarded, with a guard that is started after `before`.
fn guarded(world: &World, before: &[&str], script: &str) -> Ended {
    let file = world.write("script.py", format!("{HEAD}{script}"));
    let mut guard = world.command();
    guard.arg("--").arg(program_text("python3")).arg(file);
    let ended = ended(&mut behind(before, &guard));
    assert_eq!((ended.status, &*ended.stderr), (0, ""), "{before:?}");
    ended
}

const WITHOUT_CAPABILITIES: [&str; 4] = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--"];

/// How guards are started that may give their workers a real-time priority: by the limit, and by a capability.
fn allowed() -> Vec<Vec<&'static str>> {
    let mut by_limit = vec!["prlimit", "--rtprio=1:1"];
    if is_root() {
        by_limit.extend(WITHOUT_CAPABILITIES);
    }
    let by_capability = vec!["prlimit", "--rtprio=0:0"];
    let mut ways = vec![by_limit, by_capability];
    ways.retain(|before| {
        let may = ended(&mut behind(&[&before[..], &["chrt", "--rr", "1"]].concat(), &Command::new("true")))
            .status
            == 0;
        if !may {
            skip(&format!("no real-time priority after {}", before.join(" ")));
        }
        may
    });
    ways
}

#[test]
fn where_it_is_allowed_only_workers_and_their_watcher_are_real_time() {
    for before in allowed() {
        let world = World::open();
        let limits = ended(&mut behind(&before, &native(&world)));
        let script = "
print(own())
print(until(lambda: set(workers()) == {REAL_TIME}))
print({thread[1:] for thread in threads() if thread[0] == 'priority'} == {REAL_TIME})
print({thread[1:] for thread in threads() if thread[0] not in ('worker', 'priority')} == {ORDINARY})";
        let guarded = guarded(&world, &before, script);
        let (own, rest) = guarded.stdout.split_once('\n').expect("lines");
        assert_eq!(rest, "True\nTrue\nTrue\n", "{before:?}");
        assert_eq!(own, limits.stdout.trim(), "{before:?}: the command has what it has natively");
    }
}

/// Prints what the tree has, natively.
fn native(world: &World) -> Command {
    let file = world.write("native.py", format!("{HEAD}print(own())"));
    let mut command = world.native_command();
    command.arg(program_text("python3")).arg(file);
    command
}

#[test]
fn a_worker_in_a_long_call_is_ordinary() {
    for before in allowed() {
        let script = "
os.mkfifo('p')
if os.fork() == 0: os.open('p', os.O_RDONLY); os._exit(0)
print(until(lambda: {REAL_TIME, ORDINARY} <= set(workers())))
os.close(os.open('p', os.O_WRONLY)); os.wait()
print(until(lambda: set(workers()) == {REAL_TIME}))";
        assert_eq!(guarded(&World::open(), &before, script).stdout, "True\nTrue\n", "{before:?}");
    }
}

/// nice(1) is how an operator says that the guard is not urgent.
#[test]
fn a_guard_that_is_nice_stays_so() {
    let guarded = guarded(&World::open(), &["nice", "-n", "1"], ORDINARY_ONLY);
    assert_eq!(guarded.stdout, "True False\n");
}

/// By then a thread that may would have its priority: the guard has answered many calls.
const ORDINARY_ONLY: &str = "
for _ in range(2000): os.stat('.'); os.listdir('.')
time.sleep(0.2)
print({thread[1:] for thread in threads()} == {ORDINARY}, 'priority' in [thread[0] for thread in threads()])";

#[test]
fn where_it_is_not_allowed_nothing_is_real_time() {
    let mut before = vec!["prlimit", "--rtprio=0:0"];
    if is_root() {
        before.extend(WITHOUT_CAPABILITIES);
    }
    let world = World::open();
    let limits = ended(&mut behind(&before, &native(&world)));
    let script = format!("print(own()){ORDINARY_ONLY}");
    let guarded = guarded(&world, &before, &script);
    let (own, rest) = guarded.stdout.split_once('\n').expect("lines");
    assert_eq!((own, rest), (limits.stdout.trim(), "True False\n"));
}
