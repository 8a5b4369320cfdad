//! Landlock rules follow directories, and policies follow names.

use std::process::Command;

use guard_tests::{World, ended, has_floor, is_root, lacks_floor, program_text, rounds, skip, until};

use super::{has_untrapped_reads, in_each_tier, python, world};

/// `drop` may be written but not read.
fn with_a_drop() -> World {
    let world = world(r#""@/work/**": "rw-", "@/more/**": "rw-", "@/drop/**": "-w-""#, "");
    world.write("drop/secret", "TOPSECRET");
    world.write("more/file", "");
    world.write("work/file", "harmless");
    world
}

/// A readable directory is moved to where nothing may be read, and a secret is moved into it.
#[test]
fn a_grant_does_not_move_to_where_less_is_allowed() {
    in_each_tier(with_a_drop, |world, tiers| {
        let ended = python(
            world,
            r#"
op(text, "drop/secret")
op(os.rename, "work", "drop/work")
op(os.mkdir, "drop/work")
op(os.rename, "drop/secret", "drop/work/secret")
op(text, "drop/work/secret")
"#,
        );
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!(lines.first(), Some(&"EACCES"), "{tiers}: {}", ended.stderr);
        // The move fails only where a grant would move along; mv(1) then copies.
        let moved = if tiers == "broker" || !has_floor() { "ok" } else { "EXDEV" };
        assert_eq!(lines.get(1), Some(&moved), "{tiers}");
        assert_eq!(lines[3..], ["ok", "EACCES"], "{tiers}: {}", ended.stderr);
    });
}

/// Tries the same through allowed places, inside another directory, and by an exchange.
#[test]
fn a_grant_is_known_where_it_was_moved() {
    if lacks_floor() {
        return;
    }
    let mut world = with_a_drop();
    world.set_tiers("broker,floored");
    let ended = python(
        &world,
        r#"
os.mkdir("more/inner")
op(os.rename, "work", "more/inner/work")
op(os.rename, "more/inner/work", "drop/work")
op(os.rename, "more/inner", "drop/inner")
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir("drop/empty")
def exchange(a, b):
    if libc.renameat2(-100, a, -100, b, 2):
        raise OSError(ctypes.get_errno(), "")
op(exchange, b"drop/empty", b"more/inner")
op(exchange, b"more/inner", b"drop/empty")
op(os.rename, "more/inner", "more/outer")
op(text, "more/outer/work/file")
"#,
    );
    let expected = "ok\nEXDEV\nEXDEV\nEXDEV\nEXDEV\nok\nharmless\n";
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
}

/// Whoever makes a directory again can read its content at once.
#[test]
fn what_the_tree_makes_anew_is_read() {
    let split = || {
        let world = world(r#""@/work/**": "rw-""#, r#""@/work/secret""#);
        for name in ["work/a/f", "work/b/f", "work/secret/f"] {
            world.write(name, name);
        }
        world
    };
    let source = format!(
        r#"
import shutil
for round in range({}):
    for way in range(4):
        if way == 0:
            shutil.rmtree("work/a"); os.mkdir("work/a")
        elif way == 1:
            os.rename("work/a", "work/away"); os.mkdir("work/a"); put("work/a/f", "x"); shutil.rmtree("work/away")
        elif way == 2:
            os.mkdir("work/new"); os.rename("work/a", "work/old"); os.rename("work/new", "work/a"); shutil.rmtree("work/old")
        else:
            os.rename("work/b", "work/c"); os.rename("work/a", "work/b"); os.rename("work/c", "work/a")
        for name in "a", "b":
            put(f"work/{{name}}/f", "again")
            if text(f"work/{{name}}/f") != "again": print("lost", way)
            os.listdir(f"work/{{name}}")
            os.unlink(f"work/{{name}}/f")
print("done")
"#,
        rounds(20, 1000)
    );
    in_each_tier(split, |world, tiers| {
        let ended = python(world, &source);
        // The malloc of glibc 2.41 reads this file, which the policy denies.
        let said = ended.stderr.lines().filter(|line| !line.contains("/proc/sys/vm/overcommit_memory"));
        assert_eq!((&*ended.stdout, said.collect::<String>()), ("done\n", String::new()), "{tiers}");
    });
}

/// Where opening to read is not held, the broker cannot help: the hierarchy itself cannot be moved, as a
/// mount point cannot.
#[test]
fn what_reading_needs_stays() {
    let plain = || {
        let world = world(r#""@/work/**": "rw-", "@/around/**": "r--", "@/around/in/**": "rw-""#, "");
        world.write("work/f", "x");
        world.write("around/in/f", "x");
        world
    };
    let kernel_decides = has_floor();
    in_each_tier(plain, |world, tiers| {
        assert!(
            has_untrapped_reads(world),
            "{tiers}: {:?}",
            guard_tests::ended(world.command().args(["policy", "show", "--tiers"]))
        );
        let ended = python(
            world,
            r#"
for name in "around/in", "work":
    os.unlink(name + "/f")
    op(os.rename, name, "work.old" if name == "work" else "around/old")
    op(os.rmdir, name)
    op(os.mkdir, name)
    put(name + "/f", "again")
    op(text, name + "/f")
"#,
        );
        let work = if kernel_decides && tiers.contains("kernel") { "EBUSY\nEEXIST" } else { "ok\nok" };
        // The new names may not be written.
        let rename = "EACCES";
        let expected = format!("{rename}\nok\nok\nagain\n{rename}\n{work}\nagain\n");
        assert_eq!(ended.stdout, expected, "{tiers}: {}", ended.stderr);
    });
}

/// Processes outside of the tree may move things, too. The floor refuses what is new there until the guard
/// notices.
#[test]
fn what_others_make_anew_is_read_soon() {
    let world = world(r#""@/work/**": "rw-", "@/go": "r--", "@/gone": "rw-""#, r#""@/work/secret""#);
    for name in ["work/a/f", "work/secret/f"] {
        world.write(name, "old");
    }
    let mut world = world;
    world.set_tiers("broker,floored");
    let script = r#"
import time
print(text("work/a/f"), flush=True)
while not os.path.exists("go"): time.sleep(0.01)
while True:
    try:
        print(text("work/a/f")); break
    except PermissionError: time.sleep(0.01)
"#;
    let program = script
        .replace("text(", "open(")
        .replace("/f\"),", "/f\").read(),")
        .replace("/f\"))", "/f\").read())");
    let program = format!("import os; os.chdir({:?})\n{program}", world.root());
    let held = world.start(&[&program_text("python3"), "-I", "-S", "-B", "-c", &program]);
    until("the first look", || held.stdout().contains("old"));
    std::fs::rename(world.root().join("work/a"), world.root().join("elsewhere")).expect("a move");
    world.write("work/a/f", "new");
    world.write("go", "");
    let ended = held.end();
    assert_eq!((&*ended.stdout, ended.status), ("old\nnew\n", 0), "{}", ended.stderr);
}

/// A mount covers a hierarchy until it is unmounted. The test needs its own mount namespace and root: nothing
/// in the tree can mount.
#[test]
fn what_is_mounted_upon_is_read_soon() {
    if !is_root() {
        return skip("only root mounts");
    }
    let mut world = world(r#""@/work/**": "rw-""#, r#""@/work/secret""#);
    for name in ["work/a/f", "work/secret/f", "new/f"] {
        world.write(name, if name == "new/f" { "new" } else { "old" });
    }
    world.set_tiers("broker,floored");
    let root = world.root().display().to_string();
    let read = r#"
import os, time
os.chdir("ROOT/work")
def told(name):
    while not os.path.exists("../" + name): time.sleep(0.01)
    while True:
        try: return open("ROOT/work/a/f").read()
        except PermissionError: time.sleep(0.01)
print(told("guard.json"), flush=True)
open("ready", "w").close()
print(told("mounted"), flush=True)
open("seen", "w").close()
print(told("unmounted"), flush=True)
"#
    .replace("ROOT", &root);
    let guard = world.command();
    let guard: Vec<_> = std::iter::once(guard.get_program()).chain(guard.get_args()).collect();
    let script = r#"
until [ -e work/ready ]; do sleep 0.02; done; mount --bind new work/a && touch mounted
until [ -e work/seen ]; do sleep 0.02; done; until umount work/a 2>/dev/null; do sleep 0.02; done; touch unmounted
"#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    command.arg(format!("cd {root}; ({script}) & cd work; exec \"$@\"")).arg("sh").args(guard);
    command.args(["--", &program_text("python3"), "-I", "-B", "-c", &read]).env("HOME", world.home());
    let ended = ended(&mut command);
    assert_eq!(ended.stdout, "old\nnew\nold\n", "{}", ended.stderr);
}
