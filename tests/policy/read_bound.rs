//! `permissions.filesystem.maxReadBytes`: a file that is larger is not opened to be read, in any way.
//!
//! The files are mostly holes, so that they are large and take no room.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use guard_tests::{Ended, TIERS, World, ended, program_text};

/// More than any library or module that a test's programs read.
const BOUND: u64 = 64 << 20;

/// A policy under which reads need not be held at all, but for the bound.
const PLAIN: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr", "@/work"]},
    "permissions": {"base": false, "persistence": false, "filesystem": {"maxReadBytes": 67108864,
        "rules": {"/usr/**": "r-x", "/etc/**": "r--", "/dev/null": "rw-", "/dev/zero": "rw-", "@/work/**": "rwx"}}}}"#;

fn world() -> World {
    let world = World::bare().policy(PLAIN);
    for (name, size) in
        [("fits", BOUND), ("large", BOUND + 1), ("emptied", BOUND + 1), ("emptied2", BOUND + 1)]
    {
        sized(&world, name, size);
    }
    std::os::unix::fs::symlink("large", world.work().join("link")).expect("a link");
    world
}

/// Writes a file of this size that begins with a word.
fn sized(world: &World, name: &str, size: u64) -> PathBuf {
    let path = world.write(format!("work/{name}"), "told\n");
    File::options().write(true).open(&path).expect("a file").set_len(size).expect("a size");
    path
}

/// Runs a Python program in the workspace. In it, `op` prints what a call returns, or the name of its errno.
fn python(world: &World, source: &str) -> Ended {
    let program = format!(
        r#"
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def op(what, call, *rest, **more):
    try:
        done = call(*rest, **more)
        print(what, "ok" if done is None else done)
    except OSError as error:
        print(what, errno.errorcode[error.errno])
def call(number, *rest):
    done = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(one) if isinstance(one, int) else one for one in rest))
    if done < 0:
        raise OSError(ctypes.get_errno(), "")
    return done
def opened(path, flags=os.O_RDONLY, *rest, **more):
    os.close(os.open(path, flags, *rest, **more))
def how(path, flags, resolve=0):
    os.close(call(437, os.open(".", os.O_RDONLY), path.encode(), struct.pack("QQQ", flags, 0, resolve), 24))
def again(path, flags, then=os.O_RDONLY):
    os.close(os.open("/proc/self/fd/%d" % os.open(path, flags), then))
{source}
"#
    );
    world.guarded(&[&program_text("python3"), "-I", "-B", "-c", &program])
}

/// Each line of a program is what it tried and what came of it.
fn assert_lines(ended: &Ended, expected: &[(&str, &str)], tiers: &str) {
    let expected: Vec<String> = expected.iter().map(|(what, came)| format!("{what} {came}")).collect();
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines, expected, "{tiers}: {}", ended.stderr);
}

/// Without the bound, the kernel alone would decide about reads under this policy.
#[test]
fn reads_are_held_for_the_bound_alone() {
    let is_exact = |world: &World| {
        let shown = ended(world.command().args(["policy", "show", "--tiers", "--json"])).stdout;
        serde_json::from_str::<serde_json::Value>(&shown).expect("JSON")["classes"]["read"]["exact"] == true
    };
    let world = world();
    assert!(!is_exact(&world));
    let world = world.policy_text(|text| text.replace(r#""maxReadBytes": 67108864,"#, ""));
    assert!(is_exact(&world));
    assert_eq!(world.sh("head -c 4 large").stdout, "told");
}

fn in_each_tier(check: impl Fn(&World, &str)) {
    for tiers in TIERS {
        let mut world = world();
        world.set_tiers(tiers);
        check(&world, tiers);
    }
}

#[test]
fn no_spelling_and_no_flags_open_a_larger_file_to_read() {
    in_each_tier(|world, tiers| {
        let ended = python(
            world,
            r#"
here = os.getcwd()
op("fits", opened, "fits")
op("fits both", opened, "fits", os.O_RDWR)
op("plain", opened, "large")
op("both", opened, "large", os.O_RDWR)
op("append", opened, "large", os.O_RDWR | os.O_APPEND)
op("create", opened, "large", os.O_RDWR | os.O_CREAT)
op("read create", opened, "large", os.O_RDONLY | os.O_CREAT)
op("nonblock", opened, "large", os.O_NONBLOCK | os.O_CLOEXEC)
op("absolute", opened, here + "/large")
op("dots", opened, "../work/./large")
op("root", opened, "/proc/self/root" + here + "/large")
op("cwd", opened, "/proc/self/cwd/large")
op("directory", opened, "large", dir_fd=os.open(".", os.O_PATH))
op("link", opened, "link")
op("neither", opened, "large", 3)
op("old call", call, 2, b"large", 0, 0)
op("openat2", how, "large", os.O_RDONLY)
op("openat2 both", how, "large", os.O_RDWR)
op("openat2 beneath", how, "link", os.O_RDONLY, 8)
op("by path", again, "large", os.O_PATH)
op("by a link's path", again, "link", os.O_PATH)
op("by writing", again, "large", os.O_WRONLY)
op("by writing, both", again, "large", os.O_WRONLY, os.O_RDWR)
os.link("large", "other")
op("name", opened, "other")
os.rename("other", "moved")
op("moved", opened, "moved")
os.rename("moved", "fits")
op("replaced", opened, "fits")
"#,
        );
        let mut expected = vec![("fits", "ok"), ("fits both", "ok")];
        for what in [
            "plain",
            "both",
            "append",
            "create",
            "read create",
            "nonblock",
            "absolute",
            "dots",
            "root",
            "cwd",
            "directory",
            "link",
            "neither",
            "old call",
            "openat2",
            "openat2 both",
            "openat2 beneath",
            "by path",
            "by a link's path",
            "by writing",
            "by writing, both",
            "name",
            "moved",
            "replaced",
        ] {
            expected.push((what, "EFBIG"));
        }
        assert_lines(&ended, &expected, tiers);
    });
}

#[test]
fn what_does_not_read_is_not_bounded() {
    in_each_tier(|world, tiers| {
        let ended = python(
            world,
            r#"
op("write", opened, "large", os.O_WRONLY)
op("append", opened, "large", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
op("path", opened, "large", os.O_PATH)
op("openat2", how, "large", os.O_WRONLY)
op("size", lambda: os.stat("large").st_size == (64 << 20) + 1)
op("directory", opened, ".", os.O_RDONLY | os.O_DIRECTORY)
op("device", lambda: os.read(os.open("/dev/zero", os.O_RDONLY), 1))
os.mkfifo("pipe")
op("pipe", opened, "pipe", os.O_RDWR | os.O_NONBLOCK)
op("missing", opened, "nothing")
# Cut to the bound, it is read.
os.truncate("large", 64 << 20)
op("cut", lambda: os.read(os.open("large", os.O_RDONLY), 4))
"#,
        );
        let expected = [
            ("write", "ok"),
            ("append", "ok"),
            ("path", "ok"),
            ("openat2", "ok"),
            ("size", "True"),
            ("directory", "ok"),
            ("device", r"b'\x00'"),
            ("pipe", "ok"),
            ("missing", "ENOENT"),
            ("cut", "b'told'"),
        ];
        assert_lines(&ended, &expected, tiers);
    });
}

/// What an open empties has nothing left to read. An open that is refused has emptied nothing.
#[test]
fn an_open_that_is_refused_changes_nothing() {
    in_each_tier(|world, tiers| {
        let ended = python(
            world,
            r#"
def emptied(path, flags):
    file = os.open(path, flags | os.O_TRUNC)
    return os.read(file, 9) if flags != os.O_WRONLY else b""
op("both", emptied, "emptied", os.O_RDWR)
op("sizes", lambda: (os.stat("emptied").st_size, os.stat("emptied2").st_size > 64 << 20))
op("read", emptied, "emptied2", os.O_RDONLY)
op("refused", opened, "large", os.O_RDWR | os.O_CREAT)
op("exclusive", opened, "large", os.O_RDWR | os.O_CREAT | os.O_EXCL)
op("kept", lambda: os.stat("large").st_size - (64 << 20))
# A new file is made, and grows: its descriptor goes on reading, and another open does not.
new = os.open("new", os.O_RDWR | os.O_CREAT | os.O_EXCL)
os.write(new, b"mine"); os.ftruncate(new, (64 << 20) + 1)
op("own", os.pread, new, 4, 0)
op("reopened", again, "new", os.O_PATH)
unnamed = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
os.ftruncate(unnamed, (64 << 20) + 1)
op("unnamed", opened, "/proc/self/fd/%d" % unnamed)
"#,
        );
        let expected = [
            ("both", "b''"),
            ("sizes", "(0, True)"),
            ("read", "b''"),
            ("refused", "EFBIG"),
            ("exclusive", "EEXIST"),
            ("kept", "1"),
            ("own", "b'mine'"),
            ("reopened", "EFBIG"),
            ("unnamed", "EFBIG"),
        ];
        assert_lines(&ended, &expected, tiers);
        assert_eq!(world.read("work/emptied").as_deref(), Some(""), "{tiers}");
    });
}

/// Other ways to a file's content than an open.
#[test]
fn other_calls_do_not_read_it_either() {
    in_each_tier(|world, tiers| {
        let ended = python(
            world,
            r#"
op("ring", call, 425, 8, bytes(120))
handle = ctypes.create_string_buffer(struct.pack("Ii", 120, 0), 128); mount = ctypes.c_int()
def by_handle():
    call(303, -100, b"large", handle, ctypes.byref(mount), 0)
    return call(304, os.open(".", os.O_RDONLY), handle, 0)
op("handle", by_handle)
file = os.open("large", os.O_WRONLY)
op("descriptor", os.pread, file, 4, 0)
new = os.open("copy", os.O_RDWR | os.O_CREAT)
op("range", os.copy_file_range, file, new, 4, 0)
op("copied", lambda: os.stat("copy").st_size)
"#,
        );
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert!(["ring ENOSYS", "ring EPERM"].contains(&lines[0]), "{tiers}: {}", ended.stdout);
        // A file system may have no handles.
        let refused = ["handle EPERM", "handle ENOSYS", "handle EOPNOTSUPP"];
        assert!(refused.contains(&lines[1]), "{tiers}: {}", ended.stdout);
        assert_eq!(lines[2..], ["descriptor EBADF", "range EBADF", "copied 0"], "{tiers}: {}", ended.stderr);
        for line in [
            "cat large",
            "cat < large",
            "cp --reflink=auto large second",
            "cp --reflink=always large second",
            "cp --sparse=always link second",
            "dd if=large of=second count=1 status=none",
            "head -c 4 large",
            "mv large second && cat second",
        ] {
            let ended = world.sh(line);
            assert!(ended.status != 0 && !ended.stdout.contains("told"), "{tiers}: {line}: {ended:?}");
            assert!(ended.stderr.contains("File too large"), "{tiers}: {line}: {}", ended.stderr);
        }
    });
}

/// The kernel reads a program to start it. An interpreter opens its script.
#[test]
fn a_program_starts_whatever_its_size_and_a_script_does_not() {
    let world = world();
    for (name, text) in
        [("prog", fs::read("/bin/true").expect("a program")), ("script", b"#!/bin/sh\nexit 0\n".to_vec())]
    {
        let path = world.write(format!("work/{name}"), text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        File::options().write(true).open(&path).expect("a file").set_len(BOUND + 1).expect("a size");
    }
    let ended = world.sh("./prog && echo started; ./script || echo not read; cat prog || echo no");
    assert_eq!(ended.stdout, "started\nnot read\nno\n", "{}", ended.stderr);
}

#[test]
fn the_line_and_the_log_name_the_key_and_both_sizes() {
    let world = world();
    let ended = world.sh("cat large; cat large");
    let path = world.work().join("large").display().to_string();
    let rule = "permissions.filesystem.maxReadBytes 67108864: the file has 67108865 bytes";
    let line = format!("openclaw-guard: denied read {path} ({rule})");
    // The second is counted.
    assert_eq!(ended.guard_lines(), [line.clone(), format!("{line} [1 more time]")], "{}", ended.stderr);
    assert_eq!(world.denied(), [format!("read {path}")]);
    let audit = world.audit();
    let denied = audit.iter().find(|line| line["verdict"] == "deny").expect("a line");
    assert_eq!(denied["because"]["path"], "permissions.filesystem.maxReadBytes");
    // Where nothing is blocked, the line is all.
    let ended = guard_tests::ended(world.command().args(["--observe", "--", "head", "-c", "4", "large"]));
    assert_eq!((ended.status, &*ended.stdout), (0, "told"), "{}", ended.stderr);
    assert!(ended.stderr.contains(rule), "{}", ended.stderr);
}

/// The operator opened it, and no call of the tree did.
#[test]
fn a_descriptor_from_outside_is_read() {
    let world = world();
    let large = File::open(world.work().join("large")).expect("a file");
    let mut command = world.command();
    let ended = ended(command.args(["--", "head", "-c", "4"]).stdin(Stdio::from(large)));
    assert_eq!((ended.status, &*ended.stdout), (0, "told"), "{}", ended.stderr);
    // Its name in /proc is another open.
    let large = File::open(world.work().join("large")).expect("a file");
    let mut command = world.command();
    let ended = guard_tests::ended(
        command.args(["--", "head", "-c", "4", "/proc/self/fd/0"]).stdin(Stdio::from(large)),
    );
    assert_ne!(ended.status, 0);
    assert_eq!(ended.stdout, "");
}

/// The descriptor that is handed over is the one whose size was looked at.
#[test]
fn names_that_change_do_not_matter() {
    in_each_tier(|world, tiers| {
        sized(world, "small", 9);
        let ended = python(
            world,
            r#"
import time
end = time.monotonic() + 1
def now(): return time.monotonic() < end
if os.fork() == 0:
    while now():
        libc.renameat2(-100, b"small", -100, b"large", 2)
    os._exit(0)
counts = {}
while now():
    for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT):
        try:
            file = os.open("small", flags)
            came = "read" if os.fstat(file).st_size <= 64 << 20 else "large"
            os.close(file)
        except OSError as error:
            came = errno.errorcode[error.errno]
        counts[came] = counts.get(came, 0) + 1
os.wait()
print(" ".join(sorted(counts)))
"#,
        );
        assert!(["EFBIG read\n", "read\n", "EFBIG\n"].contains(&&*ended.stdout), "{tiers}: {ended:?}");
    });
}

#[test]
fn it_is_predicted_and_explained() {
    let world = world();
    let told = |arguments: &[&str]| guard_tests::ended(world.command().args(arguments));
    for (question, file, status) in
        [("--read", "large", 1), ("--read", "link", 1), ("--read", "fits", 0), ("--write", "large", 0)]
    {
        let ended = told(&["check", question, file]);
        assert_eq!(ended.status, status, "{question} {file}: {ended:?}");
        assert_eq!(ended.stdout.contains("maxReadBytes 67108864: the file has"), status == 1, "{ended:?}");
    }
    let tiers = told(&["policy", "show", "--tiers"]).stdout;
    let bounded = "permissions.filesystem.maxReadBytes bounds the size of each file that is read";
    assert!(tiers.contains(bounded), "{tiers}");
    let doctor = told(&["doctor"]).stdout;
    assert!(doctor.contains("permissions.filesystem.maxReadBytes"), "{doctor}");
    world.sh("cat large");
    let why = told(&["why"]);
    assert!(why.stdout.contains("maxReadBytes"), "{why:?}");
    assert!(why.stdout.contains("raise permissions.filesystem.maxReadBytes in guard.json"), "{why:?}");
}

/// No answer opens a larger file, so there is no question.
#[test]
fn nobody_is_asked_about_it() {
    let world = World::bare()
        .policy(
            r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss", "timeoutMs": 60000}, "permissions": {"filesystem": {
                "maxReadBytes": 67108864, "rules": {SYSTEM, "@/work/**": "r--", "@/asked/**": "??-"}}}}"#,
        )
        .attended();
    let path = world.write("asked/large", "told\n");
    File::options().write(true).open(&path).expect("a file").set_len(BOUND + 1).expect("a size");
    let ended = world.sh("cat ../asked/large");
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    assert_eq!(world.denied(), [format!("read {}", path.display())]);
    assert!(world.audit().iter().all(|line| line["operation"] != "ask"), "{}", world.audit_text());
}
