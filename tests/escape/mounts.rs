//! Attacks by what is left of a mount that the operator has taken away (`umount -l`): the kernel's paths of it lack the mount
//! point. As root only, on mounts that the tests make.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use guard_tests::{TIERS, World, is_root, skip, until};

/// A file system in memory, until it is taken away.
struct Mounted(PathBuf);

impl Mounted {
    /// Returns `None` where nothing can be mounted.
    fn at(path: PathBuf) -> Option<Mounted> {
        fs::create_dir_all(&path).expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "guard-test"]).arg(&path);
        let is_mounted = is_root() && mount.status().is_ok_and(|status| status.success());
        is_mounted.then_some(Mounted(path))
    }

    /// Takes it away, though it is used.
    fn detach(&self) -> bool {
        Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Denies parts of `m`, and allows the rest of the world, and whatever has the path of such a part without `m`.
fn world() -> World {
    World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/"]}, "permissions": {"persistence": false,
            "filesystem": {"rules": {"/**": "rwx"}, "deny": ["@/m/shut/**"], "default": "rwx"}}}"#,
    )
}

/// Tries to get at what is denied from what it has open, before and after. The operator says when.
const ATTACK: &str = r#"
import ctypes, os, subprocess, sys, time
work = os.getcwd()
def link(name): return "/proc/self/" + name
held = os.open("../m/open", os.O_RDONLY); path = os.open("../m/open", os.O_PATH); shut = os.open("../m/shut", os.O_PATH)
os.chdir("../m/open")
def read(name, **at): os.read(os.open(name, os.O_RDONLY, **at), 9)
def write(name, **at): os.close(os.open(name, os.O_WRONLY | os.O_CREAT, **at))
ways = {
    "read": lambda: read("../shut/secret"),
    "read by a descriptor": lambda: read("../shut/secret", dir_fd=held),
    "read by O_PATH": lambda: read("secret", dir_fd=shut),
    "read through /proc": lambda: read(link("cwd/../shut/secret")),
    "read through a descriptor's link": lambda: read(link("fd/%d/secret" % shut)),
    "list": lambda: os.listdir(link("fd/%d" % shut)),
    "write": lambda: write("../shut/secret"),
    "make": lambda: write("../shut/made"),
    "make a directory": lambda: os.mkdir("../shut/made"),
    "make by O_PATH": lambda: write("made", dir_fd=shut),
    "remove": lambda: os.unlink("../shut/secret"),
    "move away": lambda: os.rename("../shut/secret", "moved"),
    "move there": lambda: os.rename("own", "../shut/made"),
    "link": lambda: os.link("../shut/secret", "linked"),
    "truncate": lambda: os.truncate("../shut/secret", 0),
    "change": lambda: os.chmod("../shut/secret", 0o777),
    "start": lambda: subprocess.run(["../shut/program"], check=True),
    "start through /proc": lambda: subprocess.run([link("cwd/../shut/program")], check=True),
    "start in there": lambda: subprocess.run(["./program"], cwd=link("fd/%d" % shut), check=True),
}
def attack():
    for name, way in ways.items():
        try: way(); print("done:", name)
        except OSError: pass
attack()
print(open("own").read(), flush=True)
open(work + "/ready", "w").close()
end = time.time() + 60
while not os.path.exists(work + "/go") and time.time() < end: time.sleep(0.01)
attack()
print("end")
"#;

#[test]
fn what_is_left_of_a_mount_is_not_taken_for_what_has_its_path_now() {
    for tiers in TIERS {
        let mut world = world();
        world.set_tiers(tiers);
        let Some(mounted) = Mounted::at(world.root().join("m")) else {
            return skip("a mount, which takes root");
        };
        world.write("m/shut/secret", "secret");
        world.write("m/open/own", "own");
        let program = world.write("m/shut/program", "#!/bin/sh\necho started\n");
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        let left = fs::File::open(world.root().join("m/shut")).expect("a directory");
        let left = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&left)));
        let held = world.start(&["python3", "-c", ATTACK]);
        until("it has what it needs", || world.read("work/ready").is_some());
        assert!(mounted.detach(), "nothing uses it but the tree and this test");
        world.write("work/go", "");
        let ended = held.end();
        assert_eq!((ended.stdout.as_str(), ended.status), ("own\nend\n", 0), "{tiers}: {}", ended.stderr);
        assert_eq!(fs::read_to_string(left.join("secret")).expect("it is there"), "secret", "{tiers}");
        assert!(!left.join("made").exists(), "{tiers}");
    }
}

/// Whatever the operator mounts and takes away elsewhere.
#[test]
fn what_is_on_other_mounts_is_reached_as_ever() {
    const WORK: &str = r#"
import os, subprocess, time
work = os.getcwd()
os.mkdir("d"); os.chdir("d")
print(open("../../old/file").read(), flush=True)
open(work + "/ready", "w").close()
end = time.time() + 60
while not os.path.exists(work + "/go") and time.time() < end: time.sleep(0.01)
open("made", "w").write("x"); print(open("made").read())
os.chdir("../../new"); print(open("file").read()); open("made", "w").write("y"); print(open("../new/made").read())
subprocess.run(["cat", "made"], check=True)
"#;
    for tiers in TIERS {
        let mut world = world();
        world.set_tiers(tiers);
        let Some(old) = Mounted::at(world.root().join("old")) else {
            return skip("a mount, which takes root");
        };
        world.write("old/file", "old");
        let held = world.start(&["python3", "-c", WORK]);
        until("it runs", || world.read("work/ready").is_some());
        assert!(old.detach());
        let _new = Mounted::at(world.root().join("new")).expect("another mount");
        world.write("new/file", "new");
        world.write("work/go", "");
        let ended = held.end();
        assert_eq!(
            (ended.stdout.as_str(), ended.status),
            ("old\nx\nnew\ny\ny", 0),
            "{tiers}: {}",
            ended.stderr
        );
    }
}
