//! Files that the operator removes while the tree holds them by descriptors that were not opened for anything (O_PATH). The
//! kernel gives such a file the path of its former directory, wherever that is moved.

use std::fs;
use std::process::Stdio;

use guard_tests::{World, program, until};

const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem":
    {"rules": {SYSTEM, "@/work/**": "rwx"}, "deny": ["@/closed/**", "@/copies/**"], "default": "---"}}}"#;

/// Holds the files of the arguments. After the operator's turn, reads, writes and changes each by its descriptor, gives it a
/// name, and starts it; says what went through.
const HOLDS: &str = r#"
import ctypes, os, sys, time
def attempt(what, act, *arguments):
    try: act(*arguments); print(what, flush=True)
    except OSError: pass
def linked(by):
    if ctypes.CDLL(None).linkat(-100, by.encode(), -100, b"name", 0x400): raise OSError
    open("name", "a").write("evil")
held = [os.open(path, os.O_PATH) for path in sys.argv[1:]]
open("held", "w").close()
while not os.path.exists("moved"): time.sleep(0.01)
for file in held:
    by = "/proc/self/fd/%d" % file
    attempt("read", lambda: os.read(os.open(by, os.O_RDONLY), 9))
    attempt("written", lambda: os.write(os.open(by, os.O_WRONLY | os.O_APPEND), b"evil"))
    attempt("truncated", os.truncate, by, 1)
    attempt("mode", os.chmod, by, 0o777)
    attempt("attribute", os.setxattr, by, "user.x", b"x")
    attempt("times", os.utime, by, (1, 1))
    attempt("linked", linked, by)
    if os.fork() == 0:
        attempt("started", os.execv, by, ["x"])
        os._exit(0)
    os.wait()
print("done")
"#;

/// Runs the tree beside the operator's turn, and returns what it prints.
fn beside(world: &World, tiers: &str, held: &[&str], turn: impl FnOnce()) -> String {
    let mut command = world.command();
    command.args(["-q", "--tiers", tiers, "--"]).arg(program("python3")).args(["-S", "-c", HOLDS]);
    command.args(held.iter().map(|path| world.root().join(path)));
    let run =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the guard");
    until("the tree holds the files", || world.work().join("held").exists());
    turn();
    fs::write(world.work().join("moved"), "").expect("to go on");
    let output = run.wait_with_output().expect("to end");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn its_former_directory_may_be_moved_to_where_all_is_allowed() {
    for tiers in ["broker", "broker,floored"] {
        let world = World::bare().policy(POLICY);
        world.write("closed/key", "secret");
        let turn = || {
            fs::remove_file(world.root().join("closed/key")).expect("to remove it");
            fs::rename(world.root().join("closed"), world.work().join("opened")).expect("to move it");
        };
        assert_eq!(beside(&world, tiers, &["closed/key"], turn), "done\n", "{tiers}");
    }
}

/// The removed name was a second one: the file is still there by another, which the tree may neither read nor write.
#[test]
fn it_may_have_another_name() {
    for tiers in ["broker", "broker,floored"] {
        let world = World::bare().policy(POLICY);
        let kept = world.write("closed/key", "secret");
        fs::create_dir(world.root().join("copies")).expect("a directory");
        fs::hard_link(&kept, world.root().join("copies/key")).expect("a link");
        let turn = || {
            fs::remove_file(world.root().join("copies/key")).expect("to remove it");
            fs::rename(world.root().join("copies"), world.work().join("copies")).expect("to move it");
        };
        assert_eq!(beside(&world, tiers, &["copies/key"], turn), "done\n", "{tiers}");
        assert_eq!(fs::read_to_string(&kept).expect("the file"), "secret");
    }
}

/// Of what the policy has let the tree open, nothing is taken back.
#[test]
fn what_the_tree_has_open_it_opens_again() {
    let world = World::bare().policy(POLICY);
    let line = r#"
import ctypes, os
file = os.open("own", os.O_RDWR | os.O_CREAT)
os.unlink("own")
again = os.open("/proc/self/fd/%d" % file, os.O_RDWR)
os.write(again, b"x"); os.fchmod(again, 0o600); os.truncate("/proc/self/fd/%d" % file, 5)
unnamed = os.open(".", os.O_TMPFILE | os.O_WRONLY)
ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % unnamed, -100, b"named", 0x400)
memory = os.memfd_create("x")
os.write(os.open("/proc/self/fd/%d" % memory, os.O_RDWR), b"x")
print(os.fstat(file).st_size, os.path.exists("named"))
"#;
    for tiers in ["broker", "broker,floored"] {
        let mut command = world.command();
        command.args(["-q", "--tiers", tiers, "--"]).arg(program("python3")).args(["-S", "-c", line]);
        let ended = guard_tests::ended(&mut command);
        assert_eq!(ended.stdout, "5 True\n", "{tiers}: {}", ended.stderr);
        fs::remove_file(world.work().join("named")).expect("to remove it");
    }
}
