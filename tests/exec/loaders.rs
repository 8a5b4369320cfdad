//! Loaders that are other files when the kernel opens them than when the guard looked. Headers and addresses are of x86_64.

use std::path::Path;

use guard_tests::{World, compile};

/// System calls without a C library, in code that runs at any address.
const CALLS: &str = r#"
static long call(long n, long a, long b, long c) {
    long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r;
}
void _start(void) { static const char text[] = TEXT "\n"; call(1, 1, (long)text, sizeof text - 1); call(231, STATUS, 0, 0); __builtin_unreachable(); }
"#;
const BARE: [&str; 5] =
    ["-nostdlib", "-fno-stack-protector", "-fcf-protection=none", "-Wl,--build-id=none", "-Wl,-z,norelro"];

/// A program that prints a word and ends.
fn prints(path: &Path, text: &str, status: u8, options: &[&str]) {
    let defined = [format!("-DTEXT=\"{text}\""), format!("-DSTATUS={status}")];
    let all: Vec<&str> = BARE
        .iter()
        .copied()
        .chain(defined.iter().map(String::as_str))
        .chain(options.iter().copied())
        .collect();
    compile(CALLS, path, &all);
}

/// Writes a program without a loader, whose first program header becomes PT_INTERP by one write of 4 bytes.
const WITHOUT_LOADER: &str = r#"
import struct, sys
target = sys.argv[1].encode() + b"\0"
text = b"no loader\n"
base, at = 0x10000000, 64 + 56 * 3
code = (b"\xb8\x01\0\0\0\xbf\x01\0\0\0\x48\x8d\x35\x16\0\0\0\xba" + struct.pack("<I", len(text))
        + b"\x0f\x05\xb8\xe7\0\0\0\x31\xff\x0f\x05")
code = code[:13] + struct.pack("<i", len(code) - 17) + code[17:]
name = at + len(code + text)
total = name + len(target)
header = lambda kind, flags, offset, size, align: struct.pack(
    "<IIQQQQQQ", kind, flags, offset, base + offset, base + offset, size, size, align)
headers = header(0, 4, name, len(target), 1) + header(6, 4, 64, 56 * 3, 8) + header(1, 5, 0, total, 0x1000)
start = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + at, 64, 0, 0, 64, 56, 3, 0, 0, 0)
open(sys.argv[2], "wb").write(start + headers + code + text + target)
"#;

/// The same, with a program that lies entirely where the loader will lie, and has its entry there. Another file has the loader's
/// layout.
const BELOW_LOADER: &str = r#"
import struct, sys
loader = open(sys.argv[3], "rb").read()
entry, = struct.unpack_from("<Q", loader, 24)
count, = struct.unpack_from("<H", loader, 56)
count = max(count, 3)
loads = [struct.unpack_from("<IIQQQQQQ", loader, 64 + 56 * number) for number in range(struct.unpack_from("<H", loader, 56)[0])]
loads = [header for header in loads if header[0] == 1]
base, top = loads[0][3], max(header[3] + header[6] for header in loads)
target = sys.argv[1].encode() + b"\0"
name = 64 + 56 * count
total = name + len(target)
header = lambda kind, flags, offset, address, stored, size, align: struct.pack(
    "<IIQQQQQQ", kind, flags, offset, address, address, stored, size, align)
headers = header(0, 4, name, base + name, len(target), len(target), 1) + header(1, 5, 0, base, total, total, 0x1000)
# Memory without a file, behind which the heap begins.
headers += header(1, 6, 0, (top + 0x2000000) & ~0xfff, 0, 0x1000, 0x1000) + header(0, 0, 0, 0, 0, 0, 0) * (count - 3)
start = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, entry, 64, 0, 0, 64, 56, count, 0, 0, 0)
open(sys.argv[2], "wb").write(start + headers + target)
"#;

/// Starts the program again and again, and gives it a loader as soon as the guard has read it.
const GIVES_LOADER: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words) {
    const unsigned none = 0, interp = 3; char buffer[4096], byte;
    for (int tries = 0; tries < 60; tries++) {
        int looks = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), ready[2], status;
        inotify_add_watch(looks, words[1], IN_ACCESS);
        int file = open(words[1], O_RDWR | O_CLOEXEC);
        if (pwrite(file, &none, 4, 64) != 4 || pipe(ready)) return 1;
        pid_t child = fork();
        if (!child) { close(file); if (read(ready[0], &byte, 1)) {} execv(words[1], words + 1); _exit(99); }
        usleep(3000);
        while (read(looks, buffer, sizeof buffer) > 0);
        if (write(ready[1], "x", 1)) {}
        for (int waited = 0; read(looks, buffer, sizeof buffer) <= 0 && waited < 20000; waited++) usleep(10);
        if (pwrite(file, &interp, 4, 64)) {}
        close(file); waitpid(child, &status, 0); close(looks); close(ready[0]); close(ready[1]);
    }
    return 0;
}"#;

/// The kernel reports no address of a loader that has fixed addresses.
#[test]
fn a_denied_program_does_not_become_a_loader() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/"]}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/tools/**": "r-x", "@/work/**": "rwx"}, "deny": ["@/tools/denied"], "default": "---"}}}"#,
    );
    std::fs::create_dir(world.root().join("tools")).expect("a directory");
    prints(&world.root().join("tools/denied"), "DENIED RUNS", 5, &["-static", "-no-pie"]);
    prints(&world.root().join("tools/other"), "other", 0, &["-static", "-no-pie"]);
    compile(GIVES_LOADER, &world.work().join("gives"), &[]);
    for (target, script) in [("denied", WITHOUT_LOADER), ("denied", BELOW_LOADER), ("other", WITHOUT_LOADER)]
    {
        let target = world.root().join("tools").join(target);
        let layout = world.root().join("tools/other");
        let line = format!(
            "python3 -S -c \"$1\" {} work.elf {}; chmod +x work.elf; ./gives ./work.elf",
            target.display(),
            layout.display()
        );
        let ended = world.guarded(&["sh", "-c", &line, "sh", script]);
        assert!(!ended.stdout.contains("DENIED RUNS"), "{ended:?}");
        assert!(ended.stderr.contains("the loader changed"), "{ended:?}");
    }
    // The same loader, written openly, runs as it does natively.
    let named = format!("-Wl,--dynamic-linker={}", world.root().join("tools/other").display());
    prints(&world.work().join("open"), "open", 0, &["-pie", "-fPIC", &named]);
    let ended = world.guarded(&["./open"]);
    assert_eq!(ended.stdout, "other\n", "{ended:?}");
}

/// Descriptor 9 is the approved program until the guard holds the thread, and another file when the kernel opens it. A large
/// environment keeps the kernel busy in between.
const OTHER_DESCRIPTOR: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>
static int status, other;
static void *watch(void *unused) {
    char text[4096];
    for (;;) {
        ssize_t length = pread(status, text, sizeof text - 1, 0);
        if (length <= 0) continue;
        text[length] = 0;
        char *tracer = strstr(text, "TracerPid:\t");
        if (tracer && tracer[11] != '0') { dup2(other, 9); for (;;) pause(); }
    }
    return unused;
}
int main(int count, char **words) {
    static char *environment[16];
    char name[64]; pthread_t thread;
    dup2(open(words[1], O_RDONLY), 9);
    other = open(words[2], O_RDONLY);
    personality(ADDR_NO_RANDOMIZE);
    snprintf(name, sizeof name, "/proc/self/task/%ld/status", syscall(SYS_gettid));
    status = open(name, O_RDONLY | O_CLOEXEC);
    pthread_create(&thread, 0, watch, 0);
    usleep(100000);
    for (int i = 0; i < 15; i++) {
        environment[i] = malloc(120000);
        memset(environment[i], 'A' + i, 119999); environment[i][1] = '='; environment[i][119999] = 0;
    }
    execve(words[1], (char *[]){words[1], 0}, environment);
    perror("execve");
    return 1;
}"#;

/// The other file's headers have AT_BASE fall into the approved program.
#[test]
fn a_yes_starts_no_other_loader() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss", "roots": ["/"], "timeoutMs": 100000},
            "agents": {"*": {"allowlist": [{"pattern": "@/work/start"}]}},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}, "default": "---"}}}"#,
    );
    let world = world.attended();
    let layout = ["-pie", "-fPIC", "-Wl,-z,noseparate-code", "-Wl,--hash-style=gnu"];
    let with = |more: &[&'static str]| layout.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();
    let asked = world.work().join("asked");
    prints(
        &asked,
        "approved",
        0,
        &with(&["-Wl,--dynamic-linker=/proc/self/fd/9", "-Wl,-Ttext-segment=0x7ffffa000000"]),
    );
    let other = world.work().join("other");
    prints(
        &other,
        "NOBODY APPROVED THIS",
        7,
        &with(&["-Wl,--no-dynamic-linker", "-Wl,-Ttext-segment=0xfffffffffdffd000"]),
    );
    // The linker takes such addresses for another type than the kernel needs.
    for (path, kind) in [(&asked, 2), (&other, 3)] {
        let mut bytes = std::fs::read(path).expect("a program");
        bytes[16] = kind;
        std::fs::write(path, bytes).expect("a program");
    }
    compile(OTHER_DESCRIPTOR, &world.work().join("start"), &["-pthread"]);
    for _ in 0..3 {
        let held = world.start(&["./start", "./asked", "./other"]);
        let (asked, ended) = held.answer_all(|_| "allow-once");
        assert!(asked.len() == 1 && !ended.stdout.contains("NOBODY"), "{ended:?}");
    }
}
