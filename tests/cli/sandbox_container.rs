//! `sandbox run` with docker and podman: a script in the place of either writes down what it is asked.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use guard_tests::{Ended, World, ended, guard};
use serde_json::Value;

/// A world with openclaw.json and a directory for programs. `ROOT` stands for the world.
fn with(sandbox: &str) -> World {
    configured(World::bare(), sandbox)
}

fn configured(world: World, sandbox: &str) -> World {
    let world = crate::sandbox_run::configured(world, sandbox);
    fs::create_dir_all(world.root().join("bin")).expect("a directory");
    world
}

/// Puts a script in the place of a program. It writes its arguments to `asked`, one a line; `run` keeps the two files that
/// it is given, and then does `then`.
fn stub(world: &World, name: &str, inspect: &str, then: &str) {
    let root = world.root().display().to_string();
    let script = format!(
        r#"#!/bin/sh
printf '%s\n' "$@" >> ROOT/asked
if [ "$1" = image ]; then
    {inspect}
fi
while [ $# -gt 0 ]; do
    case "$1" in
    --env-file) cp -p "$2" ROOT/env ;;
    *:/usr/local/share/openclaw-guard/guard.json:ro) cp -p "${{1%%:*}}" ROOT/inner.json ;;
    esac
    shift
done
{then}
"#
    );
    let path = world.write(format!("bin/{name}"), script.replace("ROOT", &root));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn run(world: &World, options: &[&str], argv: &[&str]) -> Ended {
    run_by(&format!("{}:/usr/bin:/bin", world.root().join("bin").display()), world, options, argv)
}

fn run_by(path: &str, world: &World, options: &[&str], argv: &[&str]) -> Ended {
    let mut command = world.command();
    // Not in the workspace, which one test replaces.
    command
        .current_dir(world.root())
        .env("PATH", path)
        .args(["sandbox", "run"])
        .args(options)
        .arg("--")
        .args(argv);
    ended(&mut command)
}

fn asked(world: &World) -> Vec<String> {
    world.read("asked").unwrap_or_default().lines().map(str::to_owned).collect()
}

/// What the policy for the container says of a call there.
fn says(world: &World, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(guard());
    command.arg("--policy").arg(world.root().join("inner.json")).arg("check").arg("--json").args(arguments);
    command.env("HOME", world.home()).current_dir(world.root());
    let ended = ended(&mut command);
    let answer: Value = serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ended.stdout, ended.stderr));
    answer["outcome"].as_str().unwrap_or_default().to_owned()
}

const ALL: &str = r#"mode: "all""#;
const DOCKER: &str = r#"docker: { env: { TOKEN: "very secret" }, image: "tools:1", memory: "1g" }"#;

#[test]
fn the_guard_is_the_containers_program() {
    let world = with(&format!("{ALL}, workspaceAccess: \"rw\", {DOCKER}"));
    stub(&world, "docker", "exit 0", "exit 7");
    let ended = run(&world, &[], &["sh", "-c", "echo '$x'"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (7, ""), "{}", ended.stderr);
    let asked = asked(&world);
    assert_eq!(asked[..4], ["image", "inspect", "--format={{.Id}}", "tools:1"]);
    let run = &asked[4..];
    assert_eq!(run[..7], ["run", "--rm", "--pull", "never", "-i", "--init", "--label"], "{run:#?}");
    let root = world.root().display().to_string();
    let words = run.join(" ");
    for part in [
        "--label openclaw-guard.scope=agent:main:workspace:",
        "--read-only --tmpfs /tmp --tmpfs /var/tmp --tmpfs /run --network none --cap-drop ALL \
         --security-opt no-new-privileges --memory 1g --workdir /workspace",
        &format!("-v {root}/work:/workspace:z"),
        ":/usr/local/bin/openclaw-guard:ro",
        "--entrypoint /usr/local/bin/openclaw-guard tools:1 --policy \
         /usr/local/share/openclaw-guard/guard.json --agent main --kill-on-exit --unattended -- sh -c echo '$x'",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert!(!words.contains("--name") && !words.contains("openclaw.sandbox") && !words.contains("secret"));
    // The variables are in a file of the user's, which is gone.
    assert_eq!(world.read("env").as_deref(), Some("TOKEN=very secret\nOPENCLAW_CLI=1\n"));
    let mode = fs::metadata(world.root().join("env")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let own = fs::read_dir(world.home().join(".openclaw/guard/sandboxes")).expect("sandboxes");
    let own = own.map(|entry| entry.expect("one").path()).next().expect("one");
    let mut left: Vec<_> = fs::read_dir(own)
        .expect("a scope")
        .map(|entry| entry.expect("one").file_name().into_string().expect("a name"))
        .collect();
    left.sort();
    assert_eq!(left, ["files", "lock"]);
    // Without a guard.json, the system's programs and those of the workspace may start.
    for (arguments, outcome) in [
        (&["--read", "/workspace/x"][..], "allow"),
        (&["--write", "/workspace/x"], "allow"),
        (&["--write", "/tmp/x"], "allow"),
        (&["--read", "/usr/share/x"], "allow"),
        (&["--write", "/usr/share/x"], "deny"),
        (&["--read", "/root/x"], "deny"),
        (&["--read", "/agent/x"], "deny"),
    ] {
        // What nothing names is a miss, which the built-in policy asks about.
        let outcome = if outcome == "deny" && !arguments[1].starts_with("/usr") { "ask" } else { outcome };
        assert_eq!(says(&world, arguments), outcome, "{arguments:?}");
    }
}

#[test]
fn the_policy_in_force_holds_for_programs_and_names() {
    let policy = r#"{ "version": 1, "exec": { "security": "allowlist", "ask": "off", "roots": ["/usr"] },
        "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/true" }] } },
        "network": { "connect": { "ports": [443] } },
        "permissions": { "filesystem": { "rules": { SYSTEM, "@/work/**": "r--" }, "deny": ["**/.env", "@/work/x"] } } }"#;
    let world = configured(World::bare().policy(policy), &format!("{ALL}, {DOCKER}"));
    stub(&world, "docker", "exit 0", "exit 0");
    let ended = run(&world, &[], &["true"]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    for (arguments, outcome) in [
        (&["--read", "/workspace/.env"][..], "deny"),
        (&["--read", "/workspace/x"], "allow"),
        (&["--write", "/workspace/x"], "allow"),
        (&["--read", "/home/x"], "deny"),
        (&["/usr/bin/true"], "allow"),
        (&["/usr/bin/false"], "deny"),
        (&["--connect", "93.184.216.34:80"], "deny"),
    ] {
        assert_eq!(says(&world, arguments), outcome, "{arguments:?}");
    }
}

#[test]
fn podman_is_asked_in_the_same_way() {
    let world = with(&format!("{ALL}, backend: \"podman\", workspaceAccess: \"ro\", {DOCKER}"));
    stub(&world, "podman", "exit 0", "kill -TERM $$");
    let ended = run(&world, &[], &["true"]);
    assert_eq!(ended.status, 128 + 15, "{}", ended.stderr);
    let words = asked(&world).join(" ");
    assert!(words.contains(":/workspace:ro,z -v ") && words.contains("/work:/agent:ro,z"), "{words}");
    assert!(run(&world, &["--backend", "docker"], &["true"]).stderr.contains("there is no docker in PATH"));
}

#[test]
fn what_is_missing_is_said() {
    for (program, package) in [("docker", "docker.io"), ("podman", "podman")] {
        let world = with(ALL);
        // Where none of the system's is found either.
        let ended = run_by("/nonexistent", &world, &["--backend", program], &["true"]);
        assert_eq!((ended.status, ended.stdout.as_str()), (125, ""), "{}", ended.stderr);
        let line = format!("there is no {program} in PATH: install it (Debian: apt install {package})");
        assert!(ended.stderr.contains(&line), "{}", ended.stderr);
        stub(&world, program, "echo 'Error: No such image: x' >&2; exit 1", "exit 0");
        let ended = run(&world, &["--backend", program], &["true"]);
        assert_eq!(ended.status, 125, "{}", ended.stderr);
        let line = format!("the image openclaw-sandbox:bookworm-slim is not on this machine: {program} pull");
        assert!(ended.stderr.contains(&line), "{}", ended.stderr);
        stub(&world, program, "echo 'Cannot connect to the daemon' >&2; exit 1", "exit 0");
        let ended = run(&world, &["--backend", program], &["true"]);
        let line = format!("{program} does not answer (Cannot connect to the daemon): start its service");
        assert!(ended.status == 125 && ended.stderr.contains(&line), "{}", ended.stderr);
        assert!(!asked(&world).contains(&"run".to_owned()), "a container was started");
    }
    let world = with(&format!("{ALL}, workspaceAccess: \"rw\", {DOCKER}"));
    stub(&world, "docker", "exit 0", "exit 0");
    let text = world.read("home/.openclaw/openclaw.json").expect("a file");
    world.write("home/.openclaw/openclaw.json", text.replace("/work\"", "/none\""));
    let ended = run(&world, &[], &["true"]);
    assert!(
        ended.status == 125 && ended.stderr.contains("/none, does not exist: make it"),
        "{}",
        ended.stderr
    );
}

#[test]
fn refused_settings_start_no_container() {
    let world = with(&format!(r#"{ALL}, docker: {{ network: "host" }}"#));
    stub(&world, "docker", "exit 0", "exit 0");
    let ended = run(&world, &[], &["true"]);
    assert_eq!(ended.status, 125, "{}", ended.stderr);
    assert!(ended.stderr.contains("network mode \"host\" is blocked") && asked(&world).is_empty());
    let observed = run(&with(ALL), &["--observe"], &["true"]);
    assert!(
        observed.status == 125 && observed.stderr.contains("--observe denies nothing"),
        "{}",
        observed.stderr
    );
}

/// docker itself swaps the directory here, after the first check and before the second.
#[test]
fn a_bind_that_becomes_a_link_between_check_and_start_is_refused() {
    let world = with(&format!(r#"{ALL}, docker: {{ binds: ["ROOT/work/data:/data:ro"] }}"#));
    fs::create_dir(world.work().join("data")).expect("a directory");
    stub(&world, "docker", "mv ROOT/work/data ROOT/moved; ln -s ROOT/home ROOT/work/data; exit 0", "exit 0");
    let ended = run(&world, &[], &["true"]);
    assert_eq!(ended.status, 125, "{}", ended.stderr);
    assert!(ended.stderr.contains("Sandbox security: bind mount"), "{}", ended.stderr);
    assert!(!asked(&world).contains(&"run".to_owned()), "a container was started");
    assert!(fs::symlink_metadata(world.work().join("data")).expect("the link").is_symlink());
}

#[test]
fn inside_a_guard_no_container_starts() {
    let world = configured(World::open(), ALL);
    stub(&world, "docker", "exit 0", "exit 0");
    let program = guard().display().to_string();
    let ended = world.guarded(&[&program, "sandbox", "run", "--backend", "docker", "--", "true"]);
    assert!(ended.status == 125 && ended.stderr.contains("this runs inside a guard"), "{}", ended.stderr);
    assert!(asked(&world).is_empty());
}

#[test]
fn a_workspace_that_is_a_link_is_not_mounted() {
    let world = with(&format!("{ALL}, workspaceAccess: \"rw\", {DOCKER}"));
    stub(&world, "docker", "mv ROOT/work ROOT/moved; ln -s ROOT/home ROOT/work; exit 0", "exit 0");
    let ended = run(&world, &[], &["true"]);
    assert_eq!(ended.status, 125, "{}", ended.stderr);
    assert!(ended.stderr.contains("/work, is or lies behind a symbolic link"), "{}", ended.stderr);
    assert!(!asked(&world).contains(&"run".to_owned()), "a container was started");
}

/// A program in the current directory is no docker.
#[test]
fn only_absolute_directories_of_path_count() {
    let world = with(ALL);
    stub(&world, "docker", "exit 0", "exit 0");
    symlink(world.root().join("bin/docker"), world.work().join("docker")).expect("a link");
    let mut command = world.command();
    command.env("PATH", ".:").args(["sandbox", "run", "--", "true"]);
    let ended = ended(&mut command);
    assert!(ended.status == 125 && ended.stderr.contains("there is no docker in PATH"), "{}", ended.stderr);
    assert!(!world.root().join("asked").exists());
}
