//! The same commands in podman itself, in the guard's own sandbox, and what each of them may do there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use guard_tests::{Ended, World, ended, has, is_long_form, is_root, skip, sources};

/// The image is a Debian, whose C library is this machine's or newer.
const SETTINGS: &str = r#"mode: "all", workspaceAccess: "rw", docker: { image: "guard-test:1", memory: "300m", pidsLimit: 60, ulimits: { nofile: 512, nproc: 4096 } }"#;

/// podman with images and containers of its own below the world, where cgroups are as they may be.
fn podman(world: &World) -> Option<()> {
    if !is_long_form() {
        return None;
    }
    if !is_root() || !has(&["podman", "runc", "catatonit", "debootstrap"]) {
        skip("podman, as root");
        return None;
    }
    let root = world.root().display().to_string();
    let script = format!(
        "#!/bin/sh\nexec /usr/bin/podman --root {root}/images --runroot {root}/run --runtime runc \
         --cgroup-manager cgroupfs --storage-driver vfs \"$@\"\n"
    );
    let path = world.write("bin/podman", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    let settings = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n";
    world.write("containers.conf", settings);
    let made = ended(Command::new(sources().join("../scripts/clean-root")).arg("tarball"));
    assert_eq!(made.status, 0, "{}", made.stderr);
    let imported = ended(Command::new(path).args(["import", made.stdout.trim(), "guard-test:1"]));
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    Some(())
}

fn run(world: &World, backend: &str, line: &str) -> Ended {
    let path = format!("{}:/usr/bin:/bin", world.root().join("bin").display());
    let mut command = world.command();
    command.env("PATH", path).env("CONTAINERS_CONF", world.root().join("containers.conf"));
    ended(command.args(["sandbox", "run", "--backend", backend, "--", "sh", "-c", line]))
}

#[test]
fn commands_do_the_same_in_a_container_and_without_one() {
    let world = crate::sandbox_run::configured(World::bare(), SETTINGS);
    if podman(&world).is_none() {
        return;
    }
    let root = world.root().display().to_string();
    let connect = "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) and connect(S, sockaddr_in(80, inet_aton(\"10.0.0.1\"))) or exit 1'";
    let tree = "fork() { fork & fork & wait; }; fork 2>/dev/null & sleep 2; kill 0";
    // The line, and whether it succeeds, in podman and in the guard's own sandbox.
    for (line, contained, enclosed) in [
        ("id -u", true, true),
        ("cat file", true, true),
        ("echo x > new && cat new && rm new", true, true),
        ("echo x > \"${TMPDIR:-/tmp}/x\"", true, true),
        ("touch /x", false, false),
        ("touch /usr/x", false, false),
        ("cat ROOT/home/secret", false, false),
        ("cat ROOT/home/.openclaw/openclaw.json", false, false),
        (connect, false, false),
        ("perl -e '$x = \"a\" x 1_000_000_000'", false, false),
        ("test \"$(ulimit -n)\" = 512", true, true),
        (tree, false, false),
    ] {
        for (backend, succeeds) in [("podman", contained), ("guard", enclosed)] {
            let ended = run(&world, backend, &line.replace("ROOT", &root));
            assert_eq!(ended.status == 0, succeeds, "{backend}: {line}: {}{}", ended.stdout, ended.stderr);
            assert!(!ended.stdout.contains("outside"), "{backend}: {line}: {}", ended.stdout);
            // The files of the run are recorded below the image's home, too, which is read-only: a line says so.
            assert!(!ended.stderr.contains("the record of where"), "{backend}: {}", ended.stderr);
        }
    }
    let ended = run(&world, "podman", "ls /root; exit 7");
    assert_eq!((ended.status, ended.stdout.as_str()), (7, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("openclaw-guard: denied read /root ("), "{}", ended.stderr);
}
