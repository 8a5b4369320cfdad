//! Programs that need more than an ordinary user has.

use guard_tests::{World, has, program_text};

/// no_new_privs: set-user-ID programs and programs with file capabilities print the same as natively.
#[test]
fn ping_and_sudo_say_the_same() {
    if !has(&["ping", "sudo", "su"]) {
        return;
    }
    let same = World::open().same(
        |_| {},
        &["sh", "-c", "ping -c1 -W1 127.0.0.1 | sed 's/time.*//'; echo $?; sudo -n true; echo $?; su -c true nobody < /dev/null; echo $?; id -u; grep -E 'Cap|NoNew' /proc/self/status; chroot / true; mount; hostname x; nice -n -5 true; echo $?"],
        &[],
    );
    assert!(same.native.stdout.contains("NoNewPrivs:\t1"), "{}", same.native.stdout);
}

/// Only `unshare` differs: namespaces are refused.
#[test]
fn limits_and_identities() {
    let python = program_text("python3");
    let script = r#"
import os, resource
for act in (lambda: os.setuid(os.getuid()), lambda: os.setuid(12345), lambda: os.setgroups([]), lambda: os.nice(5), lambda: os.nice(-5), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)), lambda: os.sched_setaffinity(-1, [0]),
            lambda: os.sched_setaffinity(2**22 + 1, [0]), lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)), lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)), lambda: resource.prlimit(2**22 + 1, resource.RLIMIT_CORE, (0, 0)), lambda: os.chroot("/"), lambda: os.setpriority(os.PRIO_PROCESS, 0, 10),
            lambda: os.setpriority(os.PRIO_PROCESS, 2**22 + 1, 10), lambda: os.kill(2**22 + 1, 0), lambda: os.setpgid(0, 0), lambda: os.setsid(), lambda: os.getpriority(os.PRIO_PGRP, 0), lambda: os.initgroups("nobody", 1), lambda: os.setresuid(-1, -1, -1), lambda: os.mknod("dev", 0o020666, os.makedev(1, 3))):
    try: print(act())
    except OSError as e: print(type(e).__name__, e.errno)
    except ValueError as e: print(e)
print(os.fork() and os.wait()[1])
"#;
    World::open().same(|_| {}, &[&python, "-c", script], &[]);
}
