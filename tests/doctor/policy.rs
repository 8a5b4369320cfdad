//! guard.json itself.

use std::process::Command;

use guard_tests::{World, ended, guard};

use super::found::{Found, open};

#[test]
fn without_a_file_the_built_in_policy_is_in_force() {
    let found = Found::of(&World::bare());
    found.must("note", "policy", "the built-in policy is in force: there is no ", "");
}

#[test]
fn a_mistake_in_the_policy_is_reported_with_its_line() {
    let world = World::bare().policy("{\n  \"version\": 1,\n  \"exec\": {\"securty\": 1, \"ask\": 2}\n}");
    let found = Found::of(&world);
    found.must("problem", "policy", "guard.json:3:", "openclaw-guard policy validate ");
    found.must("problem", "policy", "(and 1 more)", "");
    // doctor checks the rest nevertheless.
    found.must("note", "tiers", "the policy has errors", "");
    found.must("note", "environment", "the policy has errors", "");
    found.must("ok", "listener", "", "");
    found.must("ok", "guard.json", "", "");
}

#[test]
fn warnings_are_counted() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"safeBins": ["jqq", "jqqq"]}, "permissions": {"filesystem": {"rules": {"~/.ssh/x": "r--"}, "deny": ["~/.ssh/**"]}}}"#,
    );
    let found = Found::of(&world);
    found.must("ok", "policy", "is valid", "");
    found.must("warning", "warnings", "guard.json:1:", "openclaw-guard policy validate");
    found.must("warning", "warnings", "(and 2 more)", "");
    assert!(Found::of(&open("")).named("warnings").is_empty());
}

#[test]
fn a_policy_that_cannot_be_read_is_a_problem() {
    let world = World::bare();
    for path in ["nowhere.json", "work"] {
        let found = Found::with(&world, |command| {
            command.arg("--policy").arg(world.root().join(path));
        });
        found.must("problem", "policy", "cannot read the policy", "--policy");
    }
}

#[test]
fn a_wrong_override_is_a_problem_too() {
    let found = Found::with(&World::bare(), |command| {
        command.env("OC_EXEC_ASK", "sometimes\x1b");
    });
    found.must("problem", "policy", "OC_EXEC_ASK", "");
}

#[test]
fn without_a_current_directory_doctor_fails() {
    let world = World::bare();
    let line = format!("mkdir gone && cd gone && rmdir ../gone && exec {} doctor", guard().display());
    let mut command = world.native_command();
    let ended = ended(command.args(["sh", "-c", &line]));
    assert_eq!(ended.status, 125, "{ended:?}");
    assert!(ended.stderr.starts_with("openclaw-guard: cannot find the current directory"), "{ended:?}");
}

#[test]
fn a_log_without_room_is_a_warning() {
    let found = Found::with(&World::bare(), |command| {
        command.arg("--audit").arg("/proc/none/audit.jsonl");
    });
    found.must("warning", "disk", "0 MiB are free for /proc/none/audit.jsonl", "--audit");
    found.must("warning", "disk", "is denied (audit.onError)", "audit.path");
    let goes_on = World::bare()
        .policy(r#"{"version": 1, "audit": {"onError": "continue", "path": "/proc/none/audit.jsonl"}}"#);
    let mut command = Command::new(guard());
    command.arg("--policy").arg(goes_on.root().join("guard.json")).args(["doctor", "--json"]);
    let found = Found::read(ended(command.env("HOME", goes_on.home()).current_dir(goes_on.work())));
    found.must("warning", "disk", "goes on without a record", "");
    Found::of(&World::bare()).must("ok", "clock", "", "");
}
