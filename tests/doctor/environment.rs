//! Secrets in the operator's environment: doctor prints their names, never a value.

use std::process::Command;

use guard_tests::{World, ended};

use super::found::Found;

const VALUE: &str = "hunter2-hunter2-hunter2";

fn secrets(command: &mut Command) {
    for name in ["ACME_API_KEY", "DB_PASSWORD", "LD_PRELOAD_X"] {
        command.env(name, VALUE);
    }
    command.env("OPENCLAW_GATEWAY_TOKEN", "another-hunter2");
    command.env("BASH_ENV", "/tmp/hunter2-hunter2-hunter2").env("PLAIN", VALUE);
}

#[test]
fn a_secret_looking_variable_that_is_inherited_is_a_warning() {
    let found = Found::with(&World::bare(), secrets);
    found.must("warning", "secrets", "ACME_API_KEY", "\"environment\": \"sandbox\"");
    found.must("warning", "secrets", "DB_PASSWORD", "openclaw-guard init");
    let found_by_file = Found::with(&World::bare().policy(r#"{"version": 1}"#), secrets);
    found_by_file.must("warning", "secrets", "DB_PASSWORD", "\"exec\"");
    assert!(!found_by_file.raw.stdout.contains("openclaw-guard init"));
    found.must("ok", "environment", "BASH_ENV", "");
    found.must("ok", "environment", "OPENCLAW_GATEWAY_TOKEN", "");
    assert!(!found.is("warning", "secrets", "PLAIN") && !found.is("warning", "secrets", "GATEWAY"));
}

#[test]
fn the_proposed_fix_removes_the_warning() {
    let world = World::bare().policy(r#"{"version": 1, "exec": {"environment": "sandbox"}}"#);
    let found = Found::with(&world, secrets);
    assert!(found.named("secrets").is_empty(), "{found:?}");
    found.must("ok", "environment", "ACME_API_KEY", "");
}

#[test]
fn a_credential_like_value_is_reported_by_its_name_only() {
    let value = "QUJD".repeat(30);
    let world = World::bare().policy(r#"{"version": 1, "exec": {"environment": "sandbox"}}"#);
    let found = Found::with(&world, |command| {
        command.env("BLOB", &value);
    });
    found.must("warning", "values", "BLOB: ", "unset it");
    assert!(!found.raw.stdout.contains(&value));
}

#[test]
fn no_value_is_ever_written() {
    for arguments in [&["doctor", "--json"][..], &["doctor"], &["-vv", "doctor"]] {
        let world = World::bare();
        let mut command = world.command();
        secrets(&mut command);
        let token = format!(
            r#"{{"gateway": {{"auth": {{"token": "hunter2-of-the-gateway"}}}}, "env": {{"X": "{VALUE}"}}}}"#
        );
        world.write("home/.openclaw/openclaw.json", token);
        world.write(
            "home/.openclaw/exec-approvals.json",
            format!(r#"{{"version": 1, "socket": {{"token": "{VALUE}-3"}}}}"#),
        );
        let ended = ended(command.args(arguments));
        assert!(ended.stdout.contains("ACME_API_KEY"), "{ended:?}");
        assert!(!format!("{ended:?}").contains("hunter2"), "{ended:?}");
    }
}

#[test]
fn names_act_on_no_terminal() {
    let world = World::bare();
    for arguments in [&["doctor", "--json"][..], &["doctor"]] {
        let mut command = world.command();
        let ended = ended(command.args(arguments).env("A\x1b[31m\u{202e}_TOKEN", "x"));
        assert!(ended.stdout.contains("_TOKEN"), "{ended:?}");
        assert!(!ended.stdout.contains(['\x1b', '\u{202e}']), "{}", ended.stdout);
    }
}
