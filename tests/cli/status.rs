//! Exit statuses.

use std::process::Command;

use guard_tests::{World, ended, guard};

#[test]
fn the_commands_status_is_the_guards() {
    let world = World::open();
    for status in [0, 1, 7, 125, 126, 127, 128, 255] {
        assert_eq!(world.sh(&format!("exit {status}")).status, status);
    }
    for signal in [1, 2, 3, 6, 9, 11, 13, 15] {
        assert_eq!(world.sh(&format!("kill -{signal} $$")).status, 128 + signal, "signal {signal}");
    }
}

#[test]
fn a_missing_program_is_127_and_a_file_that_is_no_program_is_126() {
    let world = World::open();
    assert_eq!(world.guarded(&["no-such-command-here"]).status, 127);
    assert_eq!(world.guarded(&["./no-such-command-here"]).status, 127);
    assert_eq!(world.guarded(&["/etc/passwd"]).status, 126);
    assert_eq!(world.guarded(&["/etc"]).status, 126);
    let ended = world.guarded(&["no-such-command-here"]);
    assert!(
        ended.stderr.starts_with("openclaw-guard: ") && ended.stderr.contains("no-such-command-here"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_denied_command_is_126() {
    let world = World::open();
    let ended = ended(world.command().args(["--exec-security", "deny", "--", "true"]));
    assert_eq!(ended.status, 126, "{}", ended.stderr);
    assert!(ended.stderr.contains("denied exec /"), "{}", ended.stderr);
}

#[test]
fn the_guards_own_failures_are_125() {
    let world = World::open();
    let status = |arguments: &[&str]| {
        let ended = ended(world.command().args(arguments));
        assert!(ended.stdout.is_empty(), "{arguments:?}");
        assert!(!ended.stderr.is_empty(), "{arguments:?}: it says why");
        ended.status
    };
    assert_eq!(status(&[]), 125);
    assert_eq!(status(&["--no-such-option"]), 125);
    assert_eq!(status(&["--policy", "/no/such/file", "--", "true"]), 125);
    assert_eq!(status(&["--exec-security", "nonsense", "--", "true"]), 125);
    assert_eq!(status(&["--exec-ask", "nonsense", "--", "true"]), 125);
    assert_eq!(status(&["--audit", "/proc/no/such", "--", "true"]), 125);
    let of = |name: &str| ended(world.command().env(name, "nonsense").args(["--", "true"]));
    for name in ["OC_EXEC_SECURITY", "OC_EXEC_ASK"] {
        let ended = of(name);
        assert_eq!(ended.status, 125);
        assert!(ended.stderr.contains(name), "{}", ended.stderr);
    }
}

#[test]
fn help_and_version_are_0() {
    for (argument, part) in [
        ("--help", "Examples:"),
        ("--version", "openclaw-guard "),
        ("-h", "Usage:"),
        ("-V", "openclaw-guard "),
    ] {
        let ended = ended(Command::new(guard()).arg(argument));
        assert_eq!(ended.status, 0);
        assert!(ended.stdout.contains(part), "{}", ended.stdout);
    }
    let ended = ended(Command::new(guard()).args(["check", "--help"]));
    assert!(ended.stdout.contains("--batch"), "{}", ended.stdout);
}

#[test]
fn a_variable_that_changes_nothing_is_refused() {
    let world = World::open();
    for (name, value, instead) in
        [("OC_TOOL_PROFILE", "minimal", "tools.profile"), ("OC_SANDBOX", "off", "sandbox.mode")]
    {
        let refused = ended(world.command().env(name, value).args(["--", "true"]));
        assert_eq!(refused.status, 125, "{refused:?}");
        assert!(refused.stderr.contains(name) && refused.stderr.contains(instead), "{refused:?}");
    }
    for flag in ["--allow-tool", "--deny-tool", "--no-sandbox"] {
        assert_eq!(ended(world.command().args([flag, "x", "--", "true"])).status, 125, "{flag}");
    }
}

#[test]
fn the_environment_tightens_and_does_not_loosen() {
    let world = World::open();
    let of = |name: &str, value: &str, more: &[&str]| {
        ended(world.command().env(name, value).args(more).args(["--", "true"])).status
    };
    assert_eq!(of("OC_EXEC_SECURITY", "deny", &[]), 126);
    assert_eq!(of("OC_EXEC_SECURITY", "deny", &["--exec-security", "full"]), 126);
    assert_eq!(of("OC_EXEC_SECURITY", "full", &["--exec-security", "deny"]), 126);
    assert_eq!(of("OC_EXEC_SECURITY", "full", &[]), 0);
    let strict = World::bare().policy(r#"{"version": 1, "exec": {"security": "deny"}, "permissions": {"filesystem": {"rules": {"/**": "rwx"}}}}"#);
    assert_eq!(
        ended(strict.command().env("OC_EXEC_SECURITY", "full").args([
            "--exec-security",
            "full",
            "--",
            "true"
        ]))
        .status,
        126
    );
}
