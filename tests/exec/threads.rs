//! Programs started from processes with threads.

use guard_tests::{World, compile, program_text, rounds};

/// Four threads, each of which starts a program at the same moment; one wins.
const RACERS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *racer(void *name) {
    char *argv[] = {name, NULL}, *envp[] = {NULL};
    pthread_barrier_wait(&barrier);
    execve(name, argv, envp);
    // One that another's exec overtook is gone already; what comes here failed.
    return NULL;
}
int main(int argc, char **argv) {
    int good = 0, rounds = atoi(argv[1]);
    for (int i = 0; i < rounds; i++) {
        pid_t pid = fork();
        if (!pid) {
            pthread_t threads[4];
            pthread_barrier_init(&barrier, NULL, 4);
            for (int t = 0; t < 4; t++) pthread_create(&threads[t], NULL, racer, argc > 2 && t % 2 ? "/no/such/program" : "/bin/true");
            for (int t = 0; t < 4; t++) pthread_join(threads[t], NULL);
            _exit(1);
        }
        int status;
        if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0) good++;
    }
    printf("%d of %d\n", good, rounds);
    return 0;
}
"#;

fn race(arguments: &[&str]) {
    let world = World::open();
    let program = world.root().join("racers");
    compile(RACERS, &program, &["-pthread"]);
    for run in 0..rounds(2, 20) {
        let mut argv = vec![program.to_str().expect("a plain path"), "300"];
        argv.extend(arguments);
        let ended = world.guarded(&argv);
        assert_eq!(ended.stdout, "300 of 300\n", "run {run}: {}", ended.stderr);
        assert_eq!(ended.guard_lines(), Vec::<&str>::new());
    }
}

#[test]
fn four_threads_exec_at_once() {
    race(&[]);
}

#[test]
fn four_threads_of_which_two_fail() {
    race(&["fail"]);
}

/// Threads open files while others of the same process start programs: all calls succeed.
#[test]
fn starts_from_busy_processes() {
    let world = World::open();
    let program = world.root().join("busy");
    compile(
        r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static volatile int done;
static void *opener(void *unused) { while (!done) { int fd = open("/etc/passwd", O_RDONLY); char b[64]; if (fd < 0 || read(fd, b, 64) != 64) return (void *)1; close(fd); } return unused; }
static void *starter(void *out) {
    char *argv[] = {"true", NULL};
    for (int i = 0; i < 60; i++) { pid_t pid; int s; if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) || waitpid(pid, &s, 0) != pid || s) return (void *)1; }
    return out;
}
int main(void) {
    pthread_t o[3], s[4]; void *r; int bad = 0;
    for (int i = 0; i < 3; i++) pthread_create(&o[i], NULL, opener, NULL);
    for (int i = 0; i < 4; i++) pthread_create(&s[i], NULL, starter, NULL);
    for (int i = 0; i < 4; i++) pthread_join(s[i], &r), bad += r != NULL;
    done = 1;
    for (int i = 0; i < 3; i++) pthread_join(o[i], &r), bad += r != NULL;
    return printf("%d bad\n", bad), 0;
}
"#,
        &program,
        &["-pthread"],
    );
    let ended = world.guarded(&[program]);
    assert_eq!(ended.stdout, "0 bad\n", "{}", ended.stderr);
    assert_eq!(ended.status, 0);
}

#[test]
fn a_threads_exec_keeps_the_process() {
    World::open().same_script(
        r#"
        /usr/bin/python3 -c '
import os, threading, sys
pid = os.getpid()
def go(): os.execv("/bin/sh", ["sh", "-c", "test $$ = %d && echo same process; cat /proc/self/comm; ls /proc/$$/task | wc -l; trap \"echo trapped\" TERM; kill -TERM $$" % pid])
t = threading.Thread(target=go); t.start(); t.join()'"#,
        &[],
    );
}

/// A program killed while it starts leaves nothing to compare, so the guard must not report a change.
#[test]
fn killed_callers_are_not_reported_as_changed() {
    let world = World::open();
    // Popen returns as soon as the exec has closed a pipe, before the guard has compared the program.
    let script = "import subprocess\nfor _ in range(300):\n child = subprocess.Popen(['true']); child.kill(); child.wait()";
    let ended = world.guarded(&[&program_text("python3"), "-c", script]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
}
