//! Attacks that create a closed path by moving.

use guard_tests::{World, rounds};

/// The attack makes a directory with the closed name inside elsewhere, then moves it into place.
#[test]
fn a_closed_path_is_not_planted_by_moving_its_parent() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rwx"}, "deny": ["@/work/.git/hooks/**"], "default": "---"}}}"#,
    );
    let ended = world.sh("mkdir -p x/hooks; echo evil > x/hooks/pre-commit; mv -T x .git; ls -A");
    assert!(world.read("work/.git/hooks/pre-commit").is_none(), "{} {}", ended.stdout, ended.stderr);
    // RENAME_EXCHANGE moves it to the same place.
    world.sh(
        "mkdir -p y/hooks .git; echo evil > y/hooks/pre-commit; mv --exchange -T y .git 2>/dev/null || true",
    );
    assert!(world.read("work/.git/hooks/pre-commit").is_none());
}

#[test]
fn a_directory_without_closed_places_moves_as_ever() {
    let world = World::open();
    let ended = world.sh("mkdir -p a/b; echo x > a/b/c; stat -c %i a; mv a d; stat -c %i d; cat d/b/c");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], lines[1], "moved, not copied: {}", ended.stderr);
    assert_eq!(lines[2], "x");
}

/// The tree may move its own empty directory, and exchange it. In the meantime, the operator renames a repository to the
/// directory's name.
fn renamed_meanwhile(script: &str) {
    let world = World::bare();
    let mut tree = world.command();
    let mut tree = tree.args(["-q", "--", "python3", "-c", script]).spawn().expect("the guard");
    let at = |path: &str| world.root().join(path);
    // As long as the name has only been the tree's, nothing is remembered of it.
    guard_tests::until("the tree moves its own", || at("work/ready").exists());
    let (mut arrived, mut moved) = (0, None);
    for number in 0..rounds(400, 20_000) {
        let made = at(&format!("made{number}"));
        for part in ["objects", "refs", "hooks"] {
            std::fs::create_dir_all(made.join(".git").join(part)).expect("a directory");
        }
        std::fs::write(made.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        std::thread::sleep(std::time::Duration::from_micros(number as u64 * 37 % 1500));
        // As long as the tree's own directory is there and empty, it is replaced.
        if (0..2000).any(|_| std::fs::rename(&made, at("work/name")).is_ok()) {
            arrived += 1;
            // Whatever the tree had judged is done by now, or on its way back: on a busy machine, that takes longer.
            let is_there = |_| {
                std::thread::sleep(std::time::Duration::from_millis(2));
                at("work/name/.git/HEAD").exists()
            };
            if !(0..5000).any(is_there) {
                moved = Some(number);
                break;
            }
        }
        let _ = std::fs::remove_dir_all(at("work/name"));
    }
    world.write("stop", "");
    assert_eq!(guard_tests::status_of(&mut tree), 0);
    assert_eq!(moved, None);
    assert!(arrived > 100, "{arrived}");
}

#[test]
fn a_directory_that_takes_the_name_meanwhile_is_not_moved() {
    renamed_meanwhile(
        r#"
import os
n = 0
while not os.path.exists("../stop"):
    n += 1
    if n == 500: open("ready", "w").close()
    try: os.mkdir("name")
    except OSError: pass
    try: os.rename("name", "to%d" % n); os.rmdir("to%d" % n)
    except OSError: pass"#,
    );
}

#[test]
fn a_directory_that_takes_the_name_meanwhile_is_not_exchanged() {
    renamed_meanwhile(
        r#"
import ctypes, os
rename = ctypes.CDLL(None).renameat2
n = 0
while not os.path.exists("../stop"):
    n += 1
    if n == 500: open("ready", "w").close()
    for name in "name", "to%d" % n:
        try: os.mkdir(name)
        except OSError: pass
    rename(-100, b"to%d" % n, -100, b"name", 2)
    try: os.rmdir("to%d" % n)
    except OSError: pass"#,
    );
}

/// Two guards of one user judge and act one after the other. One that is stopped in between does not go on from what it has
/// judged while another moves something, and does not hold that up for ever either.
#[test]
fn what_moves_waits_for_other_guards_of_the_user() {
    let world = World::open();
    std::fs::create_dir(world.home().join(".openclaw")).expect("a state directory");
    let script = r#"
import os, socket
def way(name, call):
    try: call(); print(name)
    except PermissionError: pass
open("a", "w").close(); open("b", "w").close()
way("mkdir", lambda: os.mkdir("d"))
way("rename", lambda: os.rename("a", "c"))
way("exchange", lambda: os.rename("b", "c"))
way("link", lambda: os.link("c", "l"))
way("symlink", lambda: os.symlink("c", "s"))
way("bind", lambda: socket.socket(socket.AF_UNIX).bind("socket"))
open("d.txt", "w").write("x"); os.unlink("d.txt")
print("end")"#;
    let run = || world.guarded(&["python3", "-c", script]);
    assert_eq!(run().stdout, "mkdir\nrename\nexchange\nlink\nsymlink\nbind\nend\n");
    std::fs::remove_dir_all(world.work()).expect("what it made goes");
    std::fs::create_dir(world.work()).expect("a directory");
    // A process that stops while it has the lock.
    let lock = world.home().join(".openclaw/guard/moves.lock");
    let mut holder = std::process::Command::new("flock")
        .arg("--no-fork")
        .arg(&lock)
        .args(["sh", "-c", "kill -STOP $$"])
        .spawn()
        .expect("flock (util-linux)");
    guard_tests::until("it is stopped", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", holder.id())).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T"))
    });
    let ended = run();
    assert_eq!((ended.stdout.as_str(), ended.status), ("end\n", 0), "{}", ended.stderr);
    assert!(ended.stderr.contains("another guard of this user holds this lock"), "{}", ended.stderr);
    holder.kill().expect("it is this test's");
    holder.wait().expect("it has ended");
    let ended = run();
    assert_eq!(ended.stdout, "mkdir\nrename\nexchange\nlink\nsymlink\nbind\nend\n", "{}", ended.stderr);
}
