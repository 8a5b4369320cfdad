//! strace, gdb and other tracers inside the tree.

use std::path::Path;

use guard_tests::{World, compile, has_floor, program_text, skip, words};

/// Returns a world that allows everything, tracing too.
fn world() -> World {
    World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "allowPtrace": true},
            "permissions": {"filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#,
    )
}

/// Masks what differs: addresses and times from run to run, and the environment that the guard changes.
const PLAIN: &str = "sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/[0-9]{3,}/N/g; s/[0-9]+ vars/N vars/g; s/si_([us])time=[^,}]*/si_\\1time=N/g'";

#[test]
fn strace_follows_programs() {
    let strace = program_text("strace");
    let script = format!(
        "echo text > f; {strace} -ff -o log -e trace=execve,openat,write sh -c 'cat f; ./no; /bin/true; exec echo last' 2>&1; cat log.* | grep -v /proc | {PLAIN} | sort
         {strace} -f -qq -e trace=execve -e signal=none sh -c 'exit 3' 2>&1 | {PLAIN}; {strace} -c -o /dev/null ls f"
    );
    let same = world().same_script(&script, &["log*"]);
    assert!(same.native.stdout.contains("execve(\"/bin/true\""), "{}", same.native.stdout);
    assert!(same.native.stdout.contains("openat(AT_FDCWD, \"f\", O_RDONLY)"), "arguments are read");
}

#[test]
fn gdb_stops_a_program() {
    if !Path::new("/usr/bin/gdb").exists() {
        return skip("gdb is not installed");
    }
    let source = "#include <stdio.h>\nint twice(int n) { return 2 * n; }\nint main(void) { printf(\"%d\\n\", twice(21)); return 3; }\n";
    let world = world();
    let program = world.root().join("program");
    compile(source, &program, &["-g", "-O0"]);
    let script = format!(
        "gdb -nx -q --batch -ex 'break twice' -ex run -ex 'print n' -ex bt -ex 'set var n = 4' -ex finish -ex continue {} 2>&1 | {PLAIN}",
        program.display()
    );
    let same = world.same(|_| {}, &["bash", "-c", &script], &[]);
    assert!(same.native.stdout.contains("$1 = 21"), "{}", same.native.stdout);
    assert!(same.native.stdout.contains("\n8\n"), "memory is written: {}", same.native.stdout);
}

#[test]
fn without_leave_it_is_refused_with_a_line() {
    let world = World::open();
    let ended = world.guarded(&[&program_text("strace"), "true"]);
    assert_ne!(ended.status, 0);
    assert!(ended.stderr.contains("Operation not permitted"), "{}", ended.stderr);
    let lines = ended.guard_lines();
    assert!(
        lines.first().is_some_and(|line| line.contains("denied trace") && line.contains("exec.allowPtrace is not set")),
        "{lines:?}"
    );
}

/// A process that execs its own program looks the same before and after: the guard must see the exec itself.
#[test]
fn a_traced_process_that_starts_itself_again_starts_only_itself() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "allowPtrace": true, "roots": ["/usr", "/bin", "/lib", "/lib64", "@/work"]},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-", "@/work/good": "r-x"}, "default": "---"}}}"#,
    );
    compile("#include <unistd.h>\nint main(void) { for (;;) pause(); }", &world.work().join("evil"), &[]);
    compile(ATTACK, &world.work().join("good"), &["-pthread"]);
    let ended = world.guarded(&["./good"]);
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("killed"), "the attack never got that far: {}", ended.stdout);
}

/// The parent of the first command is the guard's process: as its tracer it would stop the command at every
/// signal, and report stops to the operator's job.
#[test]
fn the_guards_processes_trace_nothing_for_the_tree() {
    let world = world();
    let script = "import ctypes, os, signal
print('traced', ctypes.CDLL(None).ptrace(0, 0, 0, 0), flush=True)
os.kill(os.getpid(), signal.SIGUSR1)";
    world.write("work/script", script);
    let guard = words(&world.command());
    let line = format!("trap 'echo reached' USR1; {guard} -q -- python3 script; echo status $?");
    let mut shell = world.native_command();
    shell.args(["bash", "-c", &line]);
    let (status, shown) = guard_tests::Screen::start(&shell).end();
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("traced -1") && shown.contains("status 138"), "{shown}");
    assert!(!shown.contains("reached"), "{shown}");
}

#[test]
fn a_traced_process_starts_only_what_it_may() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "off", "allowPtrace": true, "roots": ["/usr", "/bin", "/lib", "/lib64", "@/work"]},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-", "@/work/good": "r-x"}, "default": "---"}},
            "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/*"}, {"pattern": "@/work/*"}]}}}"#,
    );
    compile("int main(void) { return 7; }", &world.work().join("good"), &[]);
    // Runs until it is killed.
    compile("#include <unistd.h>\nint main(void) { for (;;) pause(); }", &world.work().join("evil"), &[]);
    let plain = world.guarded(&[&program_text("strace"), "-o", "/dev/null", "./evil"]);
    if !has_floor() {
        let refused = "exec.allowPtrace needs the Landlock floor";
        assert!(plain.stderr.contains(refused), "{}", plain.stderr);
        return;
    }
    assert!(plain.stderr.contains("Permission denied"), "{}", plain.stderr);
    let good = world.guarded(&[&program_text("strace"), "-o", "/dev/null", "./good"]);
    assert_eq!(good.status, 7, "{}", good.stderr);
    // A thread swaps the path while the tracer's child execs: the guard kills a child that became `evil`.
    let attack = world.root().join("attack");
    compile(ATTACK, &attack, &["-pthread"]);
    let installed = world.work().join("good-attack");
    std::fs::copy(&attack, &installed).expect("a copy");
    let world = world.policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "allowPtrace": true, "roots": ["/usr", "/bin", "/lib", "/lib64", "@/work"]},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-", "@/work/good": "r-x", "@/work/good-attack": "r-x"}, "default": "---"}}}"#,
    );
    let ended = world.guarded(&["./good-attack"]);
    assert_eq!(ended.status, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("killed"), "the attack never got that far: {}", ended.stdout);
}

/// Traces a child that execs a path which another thread swaps, until one is killed for what it has become.
const ATTACK: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
static char path[] = "./good";
static void *swap(void *unused) { for (;;) { memcpy(path, "./evil", 7); memcpy(path, "./good", 7); } return unused; }
int main(int argc, char **argument) {
    int killed = 0, good = 0, denied = 0;
    if (argc == 1 && strcmp(argument[0], "program") == 0) return 7;
    for (int round = 0; round < 3000 && !killed; round++) {
        pid_t child = fork();
        if (child == 0) {
            char *argv[] = { "program", 0 };
            ptrace(PTRACE_TRACEME, 0, 0, 0);
            pthread_t thread;
            pthread_create(&thread, 0, swap, 0);
            execve(path, argv, argv + 1);
            _exit(13);
        }
        int status;
        while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) ptrace(PTRACE_CONT, child, 0, 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) == 9) killed++;
        else if (WIFEXITED(status) && WEXITSTATUS(status) == 7) good++;
        else if (WIFEXITED(status) && WEXITSTATUS(status) == 13) denied++;
    }
    printf("%s after %d good and %d denied\n", killed ? "killed" : "nothing", good, denied);
    return 0;
}
"#;
