//! What the tree does to the files beside a configuration while git changes it. Natively it would gain nothing by most of
//! this, so the tests look at the files themselves.

use guard_tests::{Ended, World, ended};

use crate::planted::operator;

const PYTHON: &str = r#"
import os, sys, threading
config, lock, new = ".git/config", ".git/config.lock", ".git/config.openclaw-guard"
old = open(config, "rb").read()
evil = b'[core]\n\tfsmonitor = evil\n'
good = b'[user]\n\tname = u\n'
def make(content, mode=0o644):
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    os.write(fd, content)
    return fd
def refused(call):
    try: call()
    except OSError as error: print(error.strerror)
    else: print("done")
"#;

/// A world with a repository of the operator's in `work`.
fn world() -> World {
    let world = World::open().with_persistence(true);
    let mut command = world.native_command();
    let made = ended(operator(&world, &mut command).args(["git", "init", "-q"]));
    assert_eq!(made.status, 0);
    world
}

fn python(world: &World, source: &str) -> Ended {
    let mut command = world.command();
    ended(operator(world, &mut command).args(["--", "python3", "-c", &format!("{PYTHON}{source}")]))
}

fn config(world: &World) -> String {
    world.read("work/.git/config").expect("a configuration")
}

/// What is written is there, with the mode of the configuration, and nothing is left beside it.
#[test]
fn the_lock_becomes_the_configuration() {
    let world = world();
    let old = config(&world);
    let done = python(
        &world,
        "make(old + good, 0o777); os.rename(lock, config); print(os.listdir('.git') == sorted(os.listdir('.git')) or sorted(os.listdir('.git')), oct(os.stat(config).st_mode))",
    );
    assert!(done.stdout.ends_with("0o100644\n"), "{} {}", done.stdout, done.stderr);
    assert_eq!(config(&world), format!("{old}[user]\n\tname = u\n"));
    for name in ["config.lock", "config.openclaw-guard"] {
        assert!(!world.root().join("work/.git").join(name).exists(), "{name}");
    }
    let lines = world.audit_text();
    assert!(lines.contains("only keys that run nothing change: user.name"), "{lines}");
}

#[test]
fn odd_content_is_refused_and_the_configuration_stays() {
    let world = world();
    let old = config(&world);
    for content in [
        "old + b'[user]\\n\\tname = a\\0b\\n'",
        "old + b'[core]\\n\\0fsmonitor = evil\\n'",
        "old + b'# ' * (1 << 20) + b'\\n' + evil",
        "old + b'[user]\\rname = x\\n'",
        "old + b'[user'",
        "b''.join([old, b'x = y\\n[', evil])",
        "b'name = x\\n' + old",
        "old[:-1] + b'\\\\\\n' + evil",
        "b'\\xef\\xbb' + old",
        "old.replace(b'bare = false', b'bare = true')",
        "old + b'[extensions]\\n\\trefStorage = reftable\\n'",
        "old + b'[extensions]\\n\\tworktreeConfig\\n'",
        "old.replace(b'repositoryformatversion = 0', b'repositoryformatversion = 2')",
        "old + evil + b'[core]\\n\\tfsmonitor = false\\n'",
    ] {
        let done = python(
            &world,
            &format!("make({content}); refused(lambda: os.rename(lock, config)); os.unlink(lock)"),
        );
        assert_eq!(done.stdout, "Permission denied\n", "{content}: {}", done.stderr);
        assert_eq!(config(&world), old, "{content}");
    }
}

#[test]
fn a_lock_becomes_nothing_else() {
    let world = world();
    let old = config(&world);
    let done = python(
        &world,
        r#"
make(old + good)
for to in ["x", ".git/x", ".git/hooks/pre-commit", ".git/config.worktree", ".git/commondir", ".git/config.lock/", ".envrc"]:
    refused(lambda: os.rename(lock, to))
refused(lambda: os.link(lock, "x"))
os.unlink(lock); print(os.path.exists(lock))"#,
    );
    assert_eq!(done.stdout.lines().last(), Some("False"), "{}", done.stderr);
    assert!(!done.stdout.contains("done"), "{}", done.stdout);
    assert_eq!(config(&world), old);
}

#[test]
fn the_guards_own_file_is_not_the_trees() {
    let world = world();
    let done = python(
        &world,
        r#"
for call in [lambda: open(new, "wb"), lambda: os.symlink("x", new), lambda: os.link(config, new),
             lambda: os.rename(config, new), lambda: os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY),
             lambda: os.mkfifo(new), lambda: os.rename("/dev/null", new)]:
    refused(call)
open("x", "wb").close(); refused(lambda: os.rename("x", new)); refused(lambda: os.rename(new, "y"))"#,
    );
    assert!(
        !done.stdout.contains("done") && done.stdout.lines().count() == 9,
        "{}{}",
        done.stdout,
        done.stderr
    );
}

/// What a guard left that was killed is replaced, also if it is a link.
#[test]
fn what_is_there_under_the_guards_name_is_replaced() {
    let world = world();
    let old = config(&world);
    let victim = world.write("victim", "mine");
    std::os::unix::fs::symlink(&victim, world.root().join("work/.git/config.openclaw-guard"))
        .expect("a link");
    python(&world, "make(old + good); os.rename(lock, config)");
    assert_eq!(config(&world), format!("{old}[user]\n\tname = u\n"));
    assert_eq!(world.read("victim").as_deref(), Some("mine"));
}

/// Threads that write, remove and make locks while others rename them: what is there afterwards was judged.
#[test]
fn calls_that_race_put_nothing_else_in_place() {
    let world = world();
    let done = python(
        &world,
        r#"
good_now, stop = old + good, threading.Event()
def attempt(call):
    try: return call()
    except OSError: pass
def write():
    while not stop.is_set():
        def way():
            fd = os.open(lock, os.O_RDWR)
            for content in [old + evil, good_now]:
                os.pwrite(fd, content, 0); os.ftruncate(fd, len(content))
            os.close(fd)
        attempt(way)
def swap():
    while not stop.is_set():
        attempt(lambda: os.unlink(lock))
        attempt(lambda: os.close(make(good_now)))
threads = [threading.Thread(target=work) for work in (write, swap)]
for thread in threads: thread.start()
for _ in range(300):
    attempt(lambda: os.close(make(good_now)))
    attempt(lambda: os.rename(lock, config))
    if b"fsmonitor" in open(config, "rb").read(): print("evil")
stop.set()
for thread in threads: thread.join()
print("end")"#,
    );
    assert_eq!(done.stdout, "end\n", "{}", done.stderr);
    assert!(!config(&world).contains("fsmonitor"));
}

/// A tree cannot make the guard hold more files open than a few.
#[test]
fn many_locks_have_a_bound() {
    let world = world();
    for number in 0..70 {
        std::fs::create_dir_all(world.root().join(format!("work/r{number}/.git"))).expect("a directory");
    }
    let done = python(
        &world,
        r#"
for number in range(70):
    refused(lambda: os.close(os.open(f"r{number}/.git/config.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY)))
os.unlink("r0/.git/config.lock")
refused(lambda: os.close(os.open("r69/.git/config.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY)))"#,
    );
    let count = |text: &str| done.stdout.lines().filter(|line| *line == text).count();
    assert_eq!((count("done"), count("No locks available")), (65, 6), "{}{}", done.stdout, done.stderr);
}

/// git tries out whether modes are kept when it makes a repository, or is told to make one that is there. Nobody else must
/// be let in by that, and the operator not shut out.
#[test]
fn the_mode_of_a_configuration_stays_as_it_is_for_others() {
    let world = world();
    let mode = |world: &World| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(world.root().join("work/.git/config")).expect("a file").permissions().mode() & 0o777
    };
    let old = mode(&world);
    let done = python(
        &world,
        r#"
refused(lambda: os.chmod(config, 0o666))
refused(lambda: os.chmod(config, 0o600))
refused(lambda: os.chmod(config, 0o4744))
old = os.stat(config).st_mode & 0o777
for mode in [old ^ 0o100, old]: refused(lambda: os.chmod(config, mode))
os.makedirs(".git/modules/sub")
config, lock = ".git/modules/sub/config", ".git/modules/sub/config.lock"
make(good); os.rename(lock, config)
for mode in [0o744, 0o644, 0o666, 0o646, 0o4755]:
    refused(lambda: os.chmod(config, mode))
make(good, 0o666); os.chmod(lock, 0o666); os.rename(lock, config)
print(oct(os.stat(config).st_mode))"#,
    );
    let (no, yes) = ("Permission denied\n", "done\ndone\n");
    assert_eq!(done.stdout, format!("{no}{no}{no}{yes}{yes}{no}{no}{no}0o100644\n"), "{}", done.stderr);
    assert_eq!(mode(&world), old);
}
