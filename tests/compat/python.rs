//! Python's standard library: the calls that only large programs make.

use guard_tests::World;

#[test]
fn temporary_files() {
    let same = World::open().same_python(
        r#"
import tempfile, os, mmap
with tempfile.TemporaryFile(dir=".") as f: f.write(b"t"); f.seek(0); print(f.read(), os.fstat(f.fileno()).st_nlink)
with tempfile.NamedTemporaryFile(dir=".") as f: print(oct(os.stat(f.name).st_mode))
with tempfile.TemporaryDirectory(dir=".") as d:
    open(d + "/x", "w").write("x"); os.mkdir(d + "/y"); print(sorted(os.listdir(d)))
with tempfile.SpooledTemporaryFile(max_size=2, dir=".") as f: f.write(b"spooled"); f.seek(0); print(f.read())
fd, name = tempfile.mkstemp(dir="."); os.ftruncate(fd, 8192); m = mmap.mmap(fd, 8192); m[0:4] = b"mmap"; m.flush(); print(open(name, "rb").read(4)); os.unlink(name)
print(os.listdir("."))
"#,
    );
    assert!(same.native.stdout.contains("b'spooled'"));
}

#[test]
fn children_of_every_kind() {
    let same = World::open().same_python(
        r#"
import subprocess, os, sys, signal
print(subprocess.run(["cat"], input=b"x" * 100000, capture_output=True).stdout.count(b"x"))
print(subprocess.check_output("echo $0; exit 0", shell=True))
for argv in ["/nonexistent"], ["/etc/passwd"], ["/"], ["nonexistent-command"]:
    try: subprocess.run(argv)
    except OSError as e: print(type(e).__name__)
print(subprocess.run(["sh", "-c", "kill -9 $$"]).returncode, subprocess.run(["false"]).returncode)
print(subprocess.run(["pwd"], cwd="/usr", capture_output=True).stdout, subprocess.run(["env"], env={"A": "b"}, capture_output=True).stdout)
p = subprocess.Popen(["sleep", "60"], start_new_session=True); p.terminate(); print(p.wait())
r, w = os.pipe(); print(subprocess.run(["sh", "-c", f"echo passed >&{w}"], pass_fds=[w]).returncode, os.read(r, 20))
print(subprocess.run(["ls", "/proc/self/fd"], capture_output=True, close_fds=True).stdout.split())
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 5"], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "spawned", os.O_CREAT | os.O_WRONLY, 0o644)])
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), os.path.exists("spawned"))
try: subprocess.run(["sleep", "9"], timeout=0.2)
except subprocess.TimeoutExpired: print("timeout")
print(os.system("exit 3") >> 8, os.popen("echo popen").read())
"#,
    );
    assert!(same.native.stdout.contains("timeout"));
}

#[test]
fn processes_that_talk() {
    let same = World::open().same_python(
        r#"
import multiprocessing as mp, os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
def square(x): return x * x
def produce(q, n): [q.put(i) for i in range(n)]
def bump(v, l):
    for _ in range(200):
        with l: v.value += 1
if __name__ == "__main__":
    for method in "fork", "spawn", "forkserver":
        ctx = mp.get_context(method); q = ctx.Queue(); p = ctx.Process(target=produce, args=(q, 100)); p.start()
        print(method, sum(q.get() for _ in range(100))); p.join(); print(p.exitcode)
    v, l = mp.Value("i", 0), mp.Lock(); ps = [mp.Process(target=bump, args=(v, l)) for _ in range(4)]
    [p.start() for p in ps]; [p.join() for p in ps]; print(v.value)
    with ProcessPoolExecutor(3) as pool: print(sum(pool.map(square, range(50))))
    def write(i): open(f"t{i}", "w").write(str(i)); return int(open(f"t{i}").read())
    with ThreadPoolExecutor(8) as pool: print(sum(pool.map(write, range(200))))
    from multiprocessing import shared_memory; s = shared_memory.SharedMemory(create=True, size=99); s.buf[0] = 7; t = shared_memory.SharedMemory(s.name); print(t.buf[0]); t.close(); s.close(); s.unlink()
"#,
    );
    assert!(same.native.stdout.contains("forkserver 4950"), "{}", same.native.stdout);
}

#[test]
fn a_manager_process() {
    World::open().same_python(
        r#"
import multiprocessing as mp
if __name__ == "__main__":
    with mp.Manager() as m: d = m.dict(); d["a"] = 1; print(dict(d))
"#,
    );
}

#[test]
fn pseudo_terminals() {
    let same = World::open().same_python(
        r#"
import pty, os, termios, fcntl, struct, tty
# A terminal hands on a line and its end apart.
def line(fd):
    text = b""
    while not text.endswith(b"\n"): text += os.read(fd, 99)
    return text
m, s = pty.openpty(); os.write(s, b"to master\n"); print(line(m)); print(os.isatty(s), os.ttyname(s).startswith("/dev/pts/"))
fd = os.open(os.ttyname(s), os.O_RDWR | os.O_NOCTTY); os.write(fd, b"by name\n"); print(line(m))
fcntl.ioctl(m, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0)); print(os.get_terminal_size(s)); tty.setraw(s); os.write(m, b"raw"); print(os.read(s, 9))
pid, m = pty.fork()
if pid == 0: os.execvp("sh", ["sh", "-c", "tty >/dev/null && echo on a terminal; echo straight > /dev/tty; exit 4"])
out = b""
while True:
    try: part = os.read(m, 999)
    except OSError: break
    if not part: break
    out += part
print(out, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#,
    );
    assert!(same.native.stdout.contains("straight"), "{}", same.native.stdout);
}

#[test]
fn trees_of_files() {
    World::open().same_python(
        r#"
import shutil, os, pathlib, filecmp, zipfile, tarfile, sqlite3, glob, fileinput
p = pathlib.Path("a/b"); p.mkdir(parents=True); (p / "f").write_text("f" * 5000); (p / "l").symlink_to("f"); os.link(p / "f", p / "h"); (p / "x").touch(0o700)
shutil.copytree("a", "c", symlinks=True); shutil.move("c", "d"); print(filecmp.dircmp("a", "d").same_files, filecmp.cmp("a/b/f", "d/b/f", shallow=False))
shutil.make_archive("z", "zip", "a"); print(sorted(zipfile.ZipFile("z.zip").namelist())); os.unlink("z.zip"); shutil.copystat("a/b/x", "a/b/f"); print(oct((p / "f").stat().st_mode))
shutil.rmtree("d"); print(glob.glob("**", recursive=True)); os.replace("a/b/h", "a/b/r"); print([e.name for e in sorted(os.scandir("a/b"), key=lambda e: e.name)])
db = sqlite3.connect("db"); db.execute("pragma journal_mode=wal"); db.execute("create table t(x)"); db.executemany("insert into t values(?)", [(i,) for i in range(100)]); db.commit(); print(db.execute("select sum(x) from t").fetchone()); db.close()
os.unlink("db"); src, dst = os.open("a/b/f", os.O_RDONLY), os.open("sent", os.O_CREAT | os.O_WRONLY); print(os.sendfile(dst, src, 0, 5000), os.copy_file_range(src, dst, 100))
d = os.open("a", os.O_RDONLY | os.O_DIRECTORY); print(os.listdir(d), os.stat("b/f", dir_fd=d).st_size); os.mkdir("n", dir_fd=d); os.rename("n", "m", src_dir_fd=d, dst_dir_fd=d); os.rmdir("m", dir_fd=d)
os.fchdir(d); print(os.listdir(".")); os.chdir(".."); shutil.rmtree("a"); print(sorted(os.listdir(".")), shutil.which("sh") is not None, shutil.disk_usage(".").total > 0)
import fcntl; f = open("lock", "w"); fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.flock(f, fcntl.LOCK_EX); print("locked"); os.mkfifo("p"); r = os.open("p", os.O_RDONLY | os.O_NONBLOCK)
try: os.open("q" * 300, os.O_RDONLY)
except OSError as e: print(e.errno)
"#,
    );
}

/// An ioctl that the filter recognizes by its number alone (PROCMAP_QUERY, linux/fs.h).
#[test]
fn the_mapping_at_an_address_is_found() {
    let same = World::open().same_python(
        r#"
import errno, fcntl, struct
here = object()
query = bytearray(struct.pack("QQQ", 104, 0, id(here)) + bytes(80))
with open("/proc/self/maps", "rb") as maps:
    try:
        fcntl.ioctl(maps, 0xc0686611, query)
        start, end = struct.unpack_from("QQ", query, 24)
        print("within", start <= id(here) < end)
    except OSError as error:
        print(errno.errorcode[error.errno])
"#,
    );
    assert!(["within True", "ENOTTY"].contains(&same.native.stdout.trim()), "{same:?}");
}
