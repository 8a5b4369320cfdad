//! Limits of processes, and what directories pass on to new files.

use std::process::Command;

use guard_tests::{TIERS, World, ended, is_root, program_text, skip, words};

/// The kernel reserves a descriptor before it looks at the path: without one it creates and truncates no file
/// and does not wait.
#[test]
fn without_a_descriptor_nothing_is_made() {
    let source = r#"
import os, errno, resource
def attempt(path, flags):
    try: return os.close(os.open(path, flags, 0o600))
    except OSError as e: return errno.errorcode[e.errno]
open("kept", "w").write("kept"); os.mkdir("d"); os.mkfifo("p"); here = os.getcwd()
paths = [("new", os.O_CREAT | os.O_WRONLY), ("kept", os.O_TRUNC | os.O_WRONLY), ("kept", os.O_RDONLY), ("missing", os.O_RDONLY), ("", os.O_RDONLY), ("x" * 5000, 0), ("new", os.O_CREAT | os.O_EXCL | os.O_RDONLY),
         (here + "/new", os.O_CREAT | os.O_RDWR), ("d", os.O_TMPFILE | os.O_RDWR), ("p", os.O_WRONLY), ("p", os.O_RDONLY), (here + "/p", os.O_RDWR), ("kept/x", 0), ("d/../new", os.O_CREAT | os.O_RDWR)]
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
found = [attempt(*p) for p in paths]
os.close(2); found += [attempt("kept", os.O_RDONLY), attempt("made", os.O_CREAT | os.O_WRONLY)]
os.open("kept", 0); found.append(attempt("new", os.O_CREAT | os.O_WRONLY))
print(found); print(os.path.exists("new"), os.stat("kept").st_size, os.path.exists("made"))
"#;
    for tiers in TIERS {
        let mut world = World::open();
        world.set_tiers(tiers);
        let native = world.same_python(source).native.stdout;
        let start = "['EMFILE', 'EMFILE', 'EMFILE', 'EMFILE', 'ENOENT', 'ENAMETOOLONG',";
        assert!(native.contains(start) && native.ends_with("False 4 True\n"), "{tiers}: {native}");
    }
}

/// The caller's RLIMIT_FSIZE applies, and the caller gets the signal.
#[test]
fn files_grow_no_larger_than_allowed() {
    let same = World::open().same_python(
        r#"
import os, errno, resource, signal
def attempt(path, size):
    try: return os.truncate(path, size)
    except OSError as e: return errno.errorcode[e.errno]
got = []; signal.signal(signal.SIGXFSZ, lambda *_: got.append("signal"))
open("f", "w").write("f" * 2000); open("ro", "w").close(); os.chmod("ro", 0o400)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
print([attempt(*of) for of in (("f", 3000), ("f", 1500), ("f", 1000), ("f", 1001), ("ro", 5000), ("ro", 10))], got, os.stat("f").st_size)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL); pid = os.fork()
if pid == 0: os.truncate("f", 5000)
print(os.WTERMSIG(os.wait()[1]) == signal.SIGXFSZ)
"#,
    );
    assert_eq!(
        same.native.stdout,
        "['EFBIG', None, None, 'EFBIG', 'EACCES', 'EACCES'] ['signal', 'signal'] 1000\nTrue\n"
    );
}

/// The guard itself starts and works under its operator's limits.
#[test]
fn a_guard_with_a_small_file_size_limit_works() {
    // A hard limit applies to the log, too (tests/audit/full.rs).
    let continues = |text: String| text.replacen("{", r#"{"audit": {"onError": "continue"}, "#, 1);
    for (option, world) in [("-S", World::open()), ("-SH", World::open().policy_text(continues))] {
        let guard = words(&world.command());
        let line = format!("ulimit {option} -f 1; exec {guard} -- sh -c 'echo x > f; mkdir d; cat f; uname'");
        let ended = world.native(&["bash", "-c", &line]);
        assert_eq!((ended.status, &ended.stdout[..]), (0, "x\nLinux\n"), "{option}: {}", ended.stderr);
    }
}

/// /proc/PID/status lists all groups of a process, so its size varies.
#[test]
fn a_user_may_be_in_a_thousand_groups() {
    if !is_root() {
        return skip("only root can join a group");
    }
    let world = World::open();
    world.write(
        "t.py",
        "import os, signal\nos.umask(0o27); os.mkfifo('p'); print(len(os.getgroups()), oct(os.stat('p').st_mode))\n\
         def caught(*_): raise InterruptedError\n\
         signal.signal(signal.SIGALRM, caught)\n\
         try: signal.setitimer(signal.ITIMER_REAL, 0.2); os.open('p', os.O_RDONLY)\n\
         except InterruptedError: print('caught')\n",
    );
    let groups: Vec<_> = (1_000_000_000..1_000_001_000).map(|group: u32| group.to_string()).collect();
    let guard = world.command();
    let mut command = Command::new("setpriv");
    command.args(["--groups", &groups.join(",")]).arg(guard.get_program()).args(guard.get_args());
    command.args(["--", &program_text("python3"), "../t.py"]).current_dir(world.work());
    let ended = ended(&mut command);
    assert_eq!((ended.status, &ended.stdout[..]), (0, "1000 0o10640\ncaught\n"), "{}", ended.stderr);
}

#[test]
fn default_acls_are_handed_down() {
    let same = World::open().same_python(
        r#"
import os, struct
def acl(*entries): return struct.pack("I", 2) + b"".join(struct.pack("HHI", *entry) for entry in entries)
none = 0xffffffff
def show(name):
    lists = {a: os.getxattr(name, "system.posix_acl_" + a).hex() for a in ("access", "default") if "system.posix_acl_" + a in os.listxattr(name)}
    print(name, oct(os.stat(name).st_mode), lists)
for kind, default in ("wide", acl((1, 7, none), (2, 6, 4242), (4, 5, none), (16, 7, none), (32, 0, none))), ("plain", acl((1, 6, none), (4, 4, none), (32, 4, none))):
    os.mkdir(kind); os.chmod(kind, 0o777); os.setxattr(kind, "system.posix_acl_default", default); here = os.getcwd()
    for mask in 0o022, 0o077, 0:
        os.umask(mask); at = f"{kind}/{mask:o}"
        os.mkdir(at + "d", 0o777); os.mkfifo(at + "p", 0o666); os.mknod(at + "n", 0o100640)
        for name, flags in ("f", os.O_CREAT | os.O_WRONLY), ("x", os.O_CREAT | os.O_EXCL | os.O_RDWR):
            os.close(os.open(at + name, flags, 0o666)); os.close(os.open(f"{here}/{at}{name}2", flags, 0o777))
        fd = os.open(kind, os.O_TMPFILE | os.O_RDWR, 0o666); show(fd); os.close(fd)
        for name in "d", "p", "n", "f", "f2", "x", "x2": show(at + name)
"#,
    );
    assert!(same.native.stdout.contains("'default'"), "{}", same.native.stdout);
}
