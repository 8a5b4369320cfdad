//! The system calls and library functions that start programs.

use guard_tests::{World, compile};

/// Calls the function that its first argument names, and prints the result.
const STARTER: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char *hello[] = {"echo", "started", NULL};
static void say(const char *what, long r) { printf("%s %ld %s\n", what, r, r < 0 ? strerrorname_np(errno) : ""); fflush(stdout); }
static int ended(pid_t pid) { int s = -1; waitpid(pid, &s, 0); return WIFEXITED(s) ? WEXITSTATUS(s) : 128 + WTERMSIG(s); }
static int copy(int to) {
    int from = open("/bin/echo", O_RDONLY);
    char b[65536];
    for (long n; (n = read(from, b, sizeof b)) > 0;) if (write(to, b, n) != n) return -1;
    return close(from);
}
static void *from_thread(void *path) { execve(path, hello, environ); perror("thread"); return NULL; }
static void in_child(const char *what, void (*f)(void)) {
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) { f(); say(what, -1); _exit(77); }
    printf("%s ended %d\n", what, ended(pid));
}
static void execs_(void) { execve("/bin/echo", hello, environ); }
static void at_(void) { syscall(SYS_execveat, open("/bin", O_PATH), "echo", hello, environ, 0); }
static void at_cwd(void) { syscall(SYS_execveat, AT_FDCWD, "/bin/echo", hello, environ, 0); }
static void f_exec(void) { fexecve(open("/bin/echo", O_RDONLY | O_CLOEXEC), hello, environ); }
static void f_path(void) { fexecve(open("/bin/echo", O_PATH | O_CLOEXEC), hello, environ); }
static void null_env(void) { execve("/bin/echo", hello, NULL); }
static void null_argv(void) { execve("/bin/true", NULL, environ); }
static void argc_0(void) { char *none[] = {NULL}; execve("/bin/true", none, environ); }
static void odd_argv0(void) { char *odd[] = {"", "", "x\n\x1b", NULL}; execve("/bin/echo", odd, environ); }
static void bad_argv(void) { char *bad[] = {"echo", (char *)1, NULL}; execve("/bin/echo", bad, environ); }
static void bad_array(void) { execve("/bin/echo", (char **)8, environ); }
static void bad_path(void) { execve((char *)1, hello, environ); }
static void nothing(void) { execve("", hello, environ); }
static void directory(void) { execve("/bin", hello, environ); }
static void plain(void) { execve("/etc/passwd", hello, environ); }
static void missing(void) { execve("/bin/no-such-program", hello, environ); }
static void below_file(void) { execve("/bin/echo/x", hello, environ); }
static void slash(void) { execve("/bin/echo/", hello, environ); }
static void no_follow(void) { syscall(SYS_execveat, AT_FDCWD, "link", hello, environ, AT_SYMLINK_NOFOLLOW); }
static void linked(void) { execve("link", hello, environ); }
static void empty_fd(void) { syscall(SYS_execveat, 99, "", hello, environ, AT_EMPTY_PATH); }
static void own(void) { char *again[] = {"own", "again", NULL}; execve("/proc/self/exe", again, environ); }
static void threaded(void) { pthread_t t; pthread_create(&t, NULL, from_thread, "/bin/echo"); pthread_join(t, NULL); }
static void big(size_t n, char **list(char *)) {
    char *text = malloc(n + 1); memset(text, 'a', n), text[n] = 0;
    char *argv[] = {"true", NULL}, *two[] = {"true", text, NULL};
    execve("/bin/true", list ? list(text) : two, environ);
    (void)argv;
}
static char **many(char *text) { static char *list[60]; for (int i = 0; i < 59; i++) list[i] = text; return list; }
static void b131071(void) { big(131071, NULL); }
static void b131072(void) { big(131072, NULL); }
static void b59x100k(void) { big(100000, many); }
static void b59x20k(void) { big(20000, many); }
int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "again")) return puts("again"), 0;
    (void)!symlink("/bin/echo", "link");
    if (argc > 1) {
        int fd = memfd_create("program", argc > 2 ? 0 : MFD_CLOEXEC);
        copy(fd);
        fexecve(fd, hello, environ);
        return say("memfd", -1), 1;
    }
    in_child("execve", execs_), in_child("execveat", at_), in_child("execveat cwd", at_cwd), in_child("fexecve", f_exec), in_child("fexecve path", f_path);
    in_child("envp NULL", null_env), in_child("argv NULL", null_argv), in_child("argc 0", argc_0), in_child("odd arguments", odd_argv0);
    in_child("bad argument", bad_argv), in_child("bad array", bad_array), in_child("bad path", bad_path), in_child("empty path", nothing);
    in_child("directory", directory), in_child("plain file", plain), in_child("missing", missing), in_child("below a file", below_file), in_child("slash", slash);
    in_child("no follow", no_follow), in_child("link", linked), in_child("bad descriptor", empty_fd), in_child("own", own), in_child("from a thread", threaded);
    in_child("longest argument", b131071), in_child("too long an argument", b131072), in_child("too much", b59x100k), in_child("much", b59x20k);
    fflush(stdout);
    pid_t pid = vfork();
    if (!pid) { execve("/bin/echo", hello, environ); _exit(1); }
    printf("vfork %d\n", ended(pid)), fflush(stdout);
    pid = vfork();
    if (!pid) { execve("/bin/no-such-program", hello, environ); _exit(errno); }
    printf("vfork missing %d\n", ended(pid)), fflush(stdout);
    int r = posix_spawn(&pid, "/bin/echo", NULL, NULL, hello, environ);
    printf("posix_spawn %d %d\n", r, r ? 0 : ended(pid));
    r = posix_spawnp(&pid, "no-such-program", NULL, NULL, hello, environ);
    printf("posix_spawnp missing %s\n", strerrorname_np(r)), fflush(stdout);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions), posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_CREAT | O_WRONLY, 0600);
    r = posix_spawnp(&pid, "echo", &actions, NULL, hello, environ);
    printf("posix_spawnp to a file %d %d\n", r, r ? 0 : ended(pid));
    return 0;
}
"#;

#[test]
fn every_call_starts_or_fails_as_natively() {
    let world = World::open();
    let starter = world.root().join("starter");
    compile(STARTER, &starter, &["-pthread", "-Wno-nonnull"]);
    let same = world.same(|_| {}, &[starter.to_str().expect("a plain path")], &[]);
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
    for line in ["execveat ended 0", "from a thread ended 0", "too much -1 E2BIG", "posix_spawn 0 0"] {
        assert!(same.native.stdout.contains(line), "{line}: {}", same.native.stdout);
    }
    assert!(same.tree["spawned"].contains("started"));
}

#[test]
fn a_program_without_a_path_does_not_start() {
    let world = World::open();
    let starter = world.root().join("starter");
    compile(STARTER, &starter, &["-pthread", "-Wno-nonnull"]);
    let starter = starter.to_str().expect("a plain path");
    for argv in [vec![starter, "memfd"], vec![starter, "memfd", "kept"]] {
        assert_eq!(world.native(&argv).stdout, "started\n", "natively it starts");
        let guarded = world.guarded(&argv);
        assert_eq!(guarded.stdout, "memfd -1 EACCES\n");
        assert_eq!(guarded.guard_lines().len(), 1, "{}", guarded.stderr);
        assert!(guarded.stderr.contains("denied exec /memfd:program"), "{}", guarded.stderr);
    }
}

#[test]
fn the_shells_ways() {
    let same = World::open().same_script(
        r#"
        set +e
        (exec -a other sh -c 'echo $0'); (exec -l sh -c 'echo $0'); (exec -c env); exec 3>&1; (exec echo kept >&3)
        env -i A=1 env; env -S 'echo split words'; command echo command; nice -n1 echo nice; nohup echo nohup 2>/dev/null; timeout 9 echo timed
        setsid -w echo session; stdbuf -o0 echo unbuffered; echo a b | xargs -n1 echo item; find /etc/passwd -exec echo {} \;
        ls /nonexistent; no-such-command; /etc/passwd; /etc; ./nothing; echo $?; (sh -c 'kill -SEGV $$'; echo $?) 2>/dev/null; sh -c 'exit 300'; echo $?
        awk 'BEGIN { system("echo awk"); "echo pipe" | getline x; print x }'; perl -e 'system "echo perl"; exec "echo", "exec"'"#,
        &[],
    );
    assert!(same.native.stdout.contains("split words"));
}
