//! Only the guard's own file gets anything, and only the process that was answered.

use guard_tests::{LOADER, compile, compile_flips, copy_guard, until};

use crate::world::{answered, executable, own, start, unasked, world};

/// The client's words when the guard has not recognised it.
const UNKNOWN: &str = "no guard has recognised this program";

#[test]
fn a_program_that_only_looks_like_the_guard_gains_nothing() {
    let world = world();
    copy_guard(&world.root().join("work/openclaw-guard"));
    executable(&world, "work/bin/openclaw-guard", "#!/bin/sh\necho \"$@\" > called\n");
    let loader = LOADER;
    for line in [
        "./openclaw-guard run-outside -- touch made".to_owned(),
        format!("{loader} {} run-outside -- touch made", own()),
        format!("exec -a {} ./openclaw-guard run-outside -- touch made", own()),
        "ln openclaw-guard other; ./other run-outside -- touch made".to_owned(),
        format!("{} -q run-outside -- touch made", own()),
    ] {
        let ended = unasked(&world, &format!("rm -f other; {line} 2>&1"));
        assert_eq!(ended.status, 126, "{line}: {ended:?}");
        assert!(ended.stdout.contains(UNKNOWN), "{line}: {ended:?}");
    }
    let ended = unasked(&world, "PATH=$PWD/bin:$PATH openclaw-guard run-outside -- touch made; cat called");
    assert_eq!(ended.stdout, "run-outside -- touch made\n");
    assert!(!world.work().join("made").exists());
}

#[test]
fn a_link_to_the_guards_file_is_the_guards_file() {
    let world = world();
    let (_, ended) =
        answered(&world, &format!("ln -s {} g; ./g run-outside -- echo yes", own()), "allow-once");
    assert_eq!(ended.stdout, "yes\n", "{ended:?}");
}

#[test]
fn a_copy_in_memory_gains_nothing() {
    let world = world();
    let script = format!(
        "import os\nfd = os.memfd_create('x', 0)\nos.write(fd, open({:?}, 'rb').read())\n\
         try: os.execve(fd, ['openclaw-guard', 'run-outside', '--', 'touch', 'made'], os.environ)\n\
         except OSError as error: print(error.errno)\n",
        own()
    );
    world.write("work/copy.py", script);
    let ended = unasked(&world, "python3 copy.py 2>&1");
    assert!(ended.stdout.contains(UNKNOWN) || ended.stdout.contains("13"), "{ended:?}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn outside_there_is_no_guard_to_ask() {
    let world = world();
    let (_, ended) = answered(&world, &format!("RUN {} run-outside -- touch made 2>&1", own()), "allow-once");
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains(UNKNOWN), "{ended:?}");
    assert!(!world.work().join("made").exists());
}

/// Opens the channel again and again, in each process into which it is loaded, and in a child of each.
const CLAIMS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int claim(void) {
    struct open_how how = { .flags = O_RDWR | O_CLOEXEC };
    return syscall(SYS_openat2, AT_FDCWD, "/.openclaw-guard/outside", &how, sizeof how);
}
#ifdef PRELOADED
__attribute__((constructor)) static void start(void) {
    pid_t child = fork();
    if (child == 0) { int fd = claim(); FILE *out = fopen(OUT, "a"); fprintf(out, "%d\n", fd); fclose(out); _exit(0); }
    waitpid(child, 0, 0);
}
#else
int main(void) { for (int i = 0; access("stop", F_OK); i++) { if (claim() >= 0) { puts("claimed"); return 0; } usleep(1000); } puts("none"); return 0; }
#endif
"#;

#[test]
fn another_process_cannot_claim_the_channel() {
    let world = world();
    let claims = world.root().join("bin/claims");
    compile(CLAIMS, &claims, &[]);
    let line = format!(
        "{0} > claims.1 & {0} > claims.2 & RUN echo mine; touch stop; wait; cat claims.1 claims.2",
        claims.display()
    );
    let (_, ended) = answered(&world, &line, "allow-once");
    assert_eq!(ended.stdout, "mine\nnone\nnone\n", "{ended:?}");
}

#[test]
fn a_child_of_the_client_cannot_claim_the_channel() {
    let world = world();
    let library = world.root().join("bin/claims.so");
    let out = world.work().join("claimed");
    compile(CLAIMS, &library, &["-shared", "-fPIC", "-DPRELOADED", &format!("-DOUT=\"{}\"", out.display())]);
    let line = format!("LD_PRELOAD={} RUN echo mine", library.display());
    let (_, ended) = answered(&world, &line, "allow-once");
    assert_eq!(ended.stdout, "mine\n", "{ended:?}");
    assert_eq!(world.read("work/claimed").as_deref(), Some("-1\n"));
}

#[test]
fn a_traced_client_gets_nothing() {
    let world =
        crate::world::with(r#""security": "full", "ask": "off", "allowPtrace": true"#, crate::world::OPEN);
    let tracer = world.root().join("bin/tracer");
    let source = r#"
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    pid_t child = fork();
    if (child == 0) { if (ptrace(PTRACE_TRACEME, 0, 0, 0)) return 3; execv(argv[1], argv + 1); return 4; }
    int status;
    while (waitpid(child, &status, 0) == child && !WIFEXITED(status) && !WIFSIGNALED(status))
        ptrace(PTRACE_CONT, child, 0, WIFSTOPPED(status) && WSTOPSIG(status) != 5 ? WSTOPSIG(status) : 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}"#;
    compile(source, &tracer, &[]);
    let mut held = start(&world, &format!("{} {} run-outside -- touch made 2>&1", tracer.display(), own()));
    // It may be asked: the answer then comes to nothing.
    until("a question, or the end", || {
        let pending = world.pending();
        pending.iter().for_each(|asked| drop(world.resolve(asked, "allow-once")));
        held.has_ended()
    });
    let ended = held.end();
    assert!(ended.status != 0 && !world.work().join("made").exists(), "{ended:?}");
}

/// The program that runs outside is a copy, which may have another content than the file had when it was found.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_gets_no_other_loader_meanwhile() {
    let world = world();
    let marker = world.root().join("closed/marker");
    // It takes the place of the other name in the program.
    let systems = "/lib64/ld-linux-x86-64.so.2";
    let directory = world.work().display().to_string();
    let loader = world.work().join("L".repeat(systems.len() - directory.len() - 1));
    let source = format!(
        r#"
static long call(long n, long a, long b, long c) {{
    long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r;
}}
void _start(void) {{ static const char path[] = "{}"; call(85, (long)path, 0600, 0); call(231, 0, 0, 0); __builtin_unreachable(); }}"#,
        marker.display()
    );
    compile(&source, &loader, &["-nostdlib", "-static-pie", "-fPIC", "-fno-stack-protector"]);
    let program = world.work().join("program");
    compile("int main(void) { return 0; }", &program, &[]);
    let bytes = std::fs::read(&program).expect("a program");
    let at = bytes.windows(systems.len()).position(|part| part == systems.as_bytes()).expect("a loader");
    compile_flips(&world.work().join("flips"));
    for _ in 0..3 {
        let line =
            format!("./flips program {at} {} {systems} {} run-outside -- ./program", loader.display(), own());
        let held = start(&world, &line);
        let (_, ended) = held.answer_all(|_| {
            // The answer comes when the program has its own loader again, as it had at the first look.
            std::thread::sleep(std::time::Duration::from_millis(700));
            "allow-once"
        });
        assert!(!marker.exists(), "{ended:?}");
    }
}
