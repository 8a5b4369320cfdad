//! What a file watcher sees: the guard opens, lists and closes nothing that the program did not.

use guard_tests::{World, program_text};

/// Compares all events except the close of files only read: the guard's own copy may last a moment longer.
#[test]
fn inotify_reports_the_same_events() {
    let source = r#"
import ctypes, os, struct
c = ctypes.CDLL(None); watch = c.inotify_init1(0o4000)
names = {1: "access", 2: "modify", 4: "attrib", 8: "close written", 16: "close", 32: "open", 64: "from", 128: "to", 256: "create", 512: "delete", 1024: "delete self", 2048: "move self", 0x8000: "ignored"}
def told(what):
    try: raw = os.read(watch, 65536)
    except BlockingIOError: raw = b""
    found, at = [], 0
    while at < len(raw):
        wd, mask, cookie, length = struct.unpack_from("iIII", raw, at); name = raw[at + 16:at + 16 + length].rstrip(b"\0").decode(); at += 16 + length
        if name.startswith(chr(35)): name = "unnamed"
        found.append(f"{wd}:{name}:" + "+".join(names[bit] for bit in names if mask & bit) + ("/" if mask >> 30 & 1 else ""))
    print(what, *found)
os.mkdir("d"); os.mkdir("d/e"); open("d/f", "w").write("f"); os.symlink("f", "d/l"); os.mkfifo("d/p"); here = os.getcwd()
for path in "d", "d/e", ".", "d/f": c.inotify_add_watch(watch, path.encode(), 0xfef)
def did(what, call, *args, **kw):
    try: result = call(*args, **kw)
    except OSError as e: result = -e.errno
    told(f"{what} {result if isinstance(result, int) and not what.startswith('open') else ''}"); return result
def opened(path, flags):
    fd = did(f"open {path.replace(here, '@')} {flags:o}", os.open, path, flags, 0o644); isinstance(fd, int) and fd > 2 and os.close(fd); told("closed")
R, W, C, X, T, D = os.O_RDONLY, os.O_WRONLY, os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_DIRECTORY
for path, flags in ("d/f", R), ("d/l", R), (here + "/d/f", R), (here + "/d/l", W), ("d/new", C | W), ("d/new", C | W), ("d/new2", C | X | W), ("d/new2", C | X | W), ("d/f", T | W), (here + "/d/new3", C | T | W), \
    ("d/e", D), ("d/f", D), ("d", os.O_TMPFILE | W), ("d/missing", R), ("d/f", os.O_PATH), ("d/p", R | os.O_NONBLOCK), ("/proc/self/cwd/d/f", R), ("d/e/../f", R), ("d/f/", R): opened(path, flags)
did("mkdir", os.mkdir, "d/n"); did("mkdir", os.mkdir, "d/n"); did("rmdir", os.rmdir, "d/n"); did("symlink", os.symlink, "f", "d/s"); did("link", os.link, "d/f", "d/h"); did("unlink", os.unlink, "d/h")
did("rename", os.rename, "d/new", "d/e/new"); did("rename", os.rename, "d/e/new", "d/new2"); did("mknod", os.mknod, "d/e/node"); did("unlink", os.unlink, "d/e/node"); did("rename", os.rename, "d/e", "d/g")
did("chmod", os.chmod, "d/f", 0o600); did("chown", os.chown, "d/f", -1, -1); did("utime", os.utime, "d/f", (1, 2)); did("utime", os.utime, "d/l", (1, 2), follow_symlinks=False); did("setxattr", os.setxattr, "d/f", "user.a", b"1"); did("removexattr", os.removexattr, "d/f", "user.a")
fd = os.open("d/f", os.O_RDWR); told("open"); did("fchmod", os.fchmod, fd, 0o640); did("futimes", os.utime, fd, (3, 4)); did("ftruncate", os.ftruncate, fd, 9); os.close(fd); told("close")
did("truncate", os.truncate, "d/f", 3); did("truncate", os.truncate, "d/f", 3); did("truncate", os.truncate, "d/g", 3); did("truncate", os.truncate, "d/p", 3); did("stat", os.stat, "d/f") and None; did("listdir", os.listdir, "d/g") and None; did("access", os.access, "d/f", 4)
import socket; did("bind", socket.socket(socket.AF_UNIX).bind, "d/sock"); did("unlink", os.unlink, "d/f"); did("chdir", os.chdir, "d/g"); did("rmdir", os.rmdir, "../g")
"#;
    let world = World::open();
    let prepare = |world: &World| drop(world.write("home/t.py", source));
    let file = world.home().join("t.py");
    let argv = [&program_text("python3"), "-B", file.to_str().expect("a plain path")];
    let same = world.same(prepare, &argv, &[]);
    assert_eq!(same.native.status, 0, "the program itself: {}", same.native.stderr);
    assert!(same.native.stdout.contains("1:f:modify"), "{}", same.native.stdout);
}
