//! A protected name counts in the directory in which it is made, whatever has that directory's path meanwhile.

use guard_tests::{World, ended};

/// A child exchanges a directory of the operator's for one of the tree's, while protected names are made in what has the
/// operator's name. Prints whether any was made, and those that came to be in the operator's.
const RACE: &str = r#"
import ctypes, os, signal, stat, sys
os.mkdir("own")
theirs, own = [os.open(name, os.O_RDONLY | os.O_DIRECTORY) for name in ("theirs", "own")]
child = os.fork()
while child == 0: ctypes.CDLL(None).renameat2(-100, b"theirs", -100, b"own", 2)
def renamed(path):
    open("file", "w").close()
    os.rename("file", path)
ways = {
    "open": (".envrc", lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))),
    "creat": (".envrc", lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))),
    "mknod": (".envrc", lambda path: os.mknod(path, stat.S_IFIFO | 0o600)),
    "rename": (".envrc", renamed),
    "mkdir": (".vscode", os.mkdir),
}
made, won = 0, set()
for i in range(int(sys.argv[1])):
    for way, (name, make) in ways.items():
        try: make("theirs/" + name); made += 1
        except OSError: continue
        try: os.stat(name, dir_fd=theirs); won.add(way)
        except OSError: pass
        try: (os.rmdir if way == "mkdir" else os.unlink)(name, dir_fd=own)
        except OSError: pass
    if won: break
os.kill(child, signal.SIGKILL)
print("made" if made else "none", *sorted(won))
"#;

#[test]
fn a_name_is_not_made_in_a_directory_that_is_exchanged_meanwhile() {
    for made in [World::open, World::floored] {
        let world = made().with_persistence(true);
        std::fs::create_dir(world.work().join("theirs")).expect("a directory");
        let ended = ended(world.command().args(["--", "python3", "-c", RACE, "1500"]));
        assert_eq!((ended.stdout.as_str(), ended.status), ("made\n", 0), "{}", ended.stderr);
    }
}
