//! A directory that the operator moves takes its grant along: the floor goes on granting what is in it, so no call may
//! be left to the kernel where the policy does not allow that.

use std::fs;
use std::sync::PoisonError;
use std::time::Duration;

use guard_tests::{Ended, lacks_floor, until};

use crate::arena::{ALONE, Effort, PLAIN, POLICY, ROUNDS, arena_under, enough};

/// Returns the policy with a directory beside that may be read.
fn with_keys(policy: &str) -> String {
    policy.replace(r#""@/only/**": "r--""#, r#""@/only/**": "r--", "@/keys/**": "r--""#)
}

/// Runs the reading attacker against `shut/file`, which was `keys/file` until the operator moved `keys` to `shut` while
/// the command ran. Begins once the guard has said `line`.
fn attack_after_move(policy: &str, tiers: &str, options: &[&str], line: &str, effort: Effort) -> Ended {
    let mut arena = arena_under(&with_keys(policy));
    let root = arena.root();
    fs::rename(root.join("shut"), root.join("keys")).expect("a move");
    arena.world.set_tiers(tiers);
    let wait = format!(
        "until [ -e {root}/work/go ]; do /usr/bin/sleep 0.05; done; exec {root}/okay/flip read {}",
        effort.arguments(&root, "thread").join(" "),
        root = root.display()
    );
    let mut command = arena.world.command();
    command.args(options).args(["--", "/usr/bin/sh", "-c", &wait]);
    let held = arena.world.start_command(command);
    until("the first program runs", || arena.world.audit().iter().any(|line| line["operation"] == "exec"));
    fs::rename(root.join("keys"), root.join("shut")).expect("a move");
    until("the guard notices", || held.stderr().contains(line));
    arena.world.write("work/go", "");
    held.end()
}

/// Returns the attacker's attempts and leaks.
fn score(ended: &Ended) -> (u64, u64) {
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let ["attempts", attempts, "leaks", leaks] = words[..] else { panic!("{ended:?}") };
    (attempts.parse().expect("a number"), leaks.parse().expect("a number"))
}

#[test]
fn nothing_goes_on_in_the_kernel_where_a_grant_was_moved() {
    if lacks_floor() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let line = "the guard checks each read itself from now on";
    let ended = attack_after_move(POLICY, "broker,floored", &[], line, Effort::usual());
    let (attempts, leaks) = score(&ended);
    assert_eq!(leaks, 0, "read what the policy does not allow there: {ended:?}");
    assert!(attempts >= enough(), "only {attempts} attempts");
}

/// Programs can start from `shut`, and the kernel reads a program to start it. While `shut/file` is missing, reads are
/// left to the kernel.
const AMONG: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {SYSTEM, "@": "r--", "@/okay/**": "r-x", "@/shut/**": "r-x", "@/work/**": "rw-"},
        "deny": ["@/shut/file"], "default": "---"}}}"#;

#[test]
fn nothing_goes_on_in_the_kernel_once_a_secret_is_among_programs() {
    if lacks_floor() {
        return;
    }
    attack_once_a_secret_appears(AMONG, None);
}

/// The policy denies the path only since a reload, and nothing else changes there before the secret appears.
#[test]
fn nothing_goes_on_in_the_kernel_once_a_newly_denied_secret_is_among_programs() {
    if lacks_floor() {
        return;
    }
    let before = AMONG.replace("@/shut/file", "@/shut/other");
    attack_once_a_secret_appears(&before, Some(("shut/other", "shut/file")));
}

/// Runs the reading attacker against `shut/file`, which appears while the command runs, and after the policy was
/// edited, if `edit` gives a text to replace and another.
fn attack_once_a_secret_appears(policy: &str, edit: Option<(&str, &str)>) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut arena = arena_under(policy);
    let root = arena.root();
    fs::remove_file(root.join("shut/file")).expect("a file");
    arena.world.set_tiers("broker,floored");
    let wait = format!(
        "until [ -e {root}/work/go ]; do /usr/bin/sleep 0.05; done; exec {root}/okay/flip read {}",
        Effort::usual().arguments(&root, "thread").join(" "),
        root = root.display()
    );
    let mut command = arena.world.command();
    command.args(["-v", "--", "/usr/bin/sh", "-c", &wait]);
    let held = arena.world.start_command(command);
    until("the first program runs", || arena.world.audit().iter().any(|line| line["operation"] == "exec"));
    if let Some((old, new)) = edit {
        // Later than the second in which the guard looks every 50 ms.
        std::thread::sleep(Duration::from_millis(1500));
        let policy = arena.world.read("guard.json").expect("a policy");
        assert!(policy.contains(old));
        arena.world.write("guard.json", policy.replace(old, new));
        until("the policy is read again", || {
            arena.world.audit().iter().any(|line| line["operation"] == "reload")
        });
    }
    arena.world.write("shut/file", "TOPSECRET");
    // Until now, reads were left to the kernel: this reports a change.
    until("the guard notices", || held.stderr().contains("tiers now: broker, floored (writes)"));
    arena.world.write("work/go", "");
    let ended = held.end();
    let (attempts, leaks) = score(&ended);
    assert_eq!(leaks, 0, "read what the policy denies: {ended:?}");
    assert!(attempts >= enough(), "only {attempts} attempts");
}

/// What is not held cannot be taken back: the guard says so, and the attacker wins.
#[test]
fn landlock_grants_that_moved_need_a_restart() {
    if lacks_floor() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let line = "the tree can still read there; restart the guard";
    let wins = |round| {
        let ended = attack_after_move(PLAIN, "broker,floored,kernel", &[], line, Effort::of_round(round));
        score(&ended).1 > 0
    };
    assert!((0..ROUNDS).any(wins), "the attack does not work");
}

#[test]
fn a_required_floor_ends_the_command_instead() {
    if lacks_floor() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let line = "the command is ended (--require-floor)";
    let effort = Effort::until_ended();
    let ended = attack_after_move(PLAIN, "broker,floored,kernel", &["--require-floor"], line, effort);
    assert_eq!((ended.status, &*ended.stdout), (137, ""), "{ended:?}");
}
