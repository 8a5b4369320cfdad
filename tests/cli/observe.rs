//! `--observe` blocks nothing and reports what it would have denied.

use guard_tests::{World, ended};

fn world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "off"}, "permissions": {"filesystem": {"rules": {"@/read/**": "r--"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret\n");
    world.write("read/file", "read\n");
    world
}

#[test]
fn everything_goes_on_as_without_a_guard() {
    let world = world();
    let script = "set -e; cat ~/secret/key; echo changed > ../read/file; mkdir d; mv ../read/file d/; ln ~/secret/key hard; rm ~/secret/key; cp /bin/echo prog; ./prog ran; ls ~/secret d; chmod 600 d/file; exit 3";
    let ended = ended(world.command().args(["--observe", "--", "bash", "-c", script]));
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let secret = world.home().join("secret");
    assert_eq!(ended.stdout, format!("secret\nran\n{}:\n\nd:\nfile\n", secret.display()), "{}", ended.stderr);
    assert_eq!(world.read("work/d/file").as_deref(), Some("changed\n"));
    assert_eq!(world.read("work/hard").as_deref(), Some("secret\n"));
    let lines = ended.guard_lines();
    assert!(lines.iter().all(|line| line.starts_with("openclaw-guard: would have denied ")), "{lines:?}");
    for part in ["read", "write", "exec"] {
        assert!(
            lines.iter().any(|line| line.contains(&format!("would have denied {part} "))),
            "{part}: {lines:?}"
        );
    }
    assert!(world.audit().iter().any(|line| line["operation"] == "read"
        && line["path"].as_str().is_some_and(|path| path.ends_with("secret/key"))));
}

#[test]
fn what_would_be_asked_is_reported_as_a_question() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret\n");
    let script = "cat ~/secret/key /var/lib/dpkg/status > /dev/null; echo $?";
    let ended = ended(world.command().args(["--observe", "--", "bash", "-c", script]));
    assert_eq!(ended.stdout, "0\n", "{}", ended.stderr);
    let lines = ended.guard_lines();
    for part in ["denied read ", "asked about read /var/lib/dpkg/status (", "asked about exec "] {
        assert!(lines.iter().any(|line| line.contains(&format!("would have {part}"))), "{part}: {lines:?}");
    }
    let asked = |line: &&serde_json::Value| line["verdict"] == "ask";
    assert!(world.audit().iter().filter(asked).any(|line| line["path"] == "/var/lib/dpkg/status"));
}

#[test]
fn without_observe_the_same_is_blocked() {
    let world = world();
    let ended = world.guarded(&["bash", "-c", "cat ~/secret/key"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (126, ""), "{}", ended.stderr);
}
