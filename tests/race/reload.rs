//! A policy that takes away what the floor grants: the kernel goes on granting it, so no call may be left to
//! the kernel.

use std::fs;
use std::sync::PoisonError;

use guard_tests::{lacks_floor, until};

use crate::arena::{ALONE, Effort, PLAIN, POLICY, ROUNDS, arena_under, enough};

/// Returns the policy with the closed files opened.
fn opened(policy: &str) -> String {
    policy.replace(r#""@/only/**": "r--""#, r#""@/only/**": "r--", "@/shut/**": "rw-""#)
}

/// Runs the reading attacker, after a change of the policy if there is one. Returns its attempts and leaks,
/// and what the guard printed.
fn attack_after(
    before: &str,
    after: Option<&dyn Fn(&str) -> String>,
    tiers: &str,
    message: &str,
    effort: Effort,
) -> (u64, u64, String) {
    let mut arena = arena_under(&opened(before));
    arena.world.set_tiers(tiers);
    let root = arena.root().display().to_string();
    let wait = format!(
        "until [ -e {root}/work/go ]; do /usr/bin/sleep 0.05; done; exec {root}/okay/flip read {}",
        effort.arguments(&arena.root(), "thread").join(" ")
    );
    let mut command = arena.world.command();
    command.args(["--", "/usr/bin/sh", "-c", &wait]);
    let held = arena.world.start_command(command);
    if let Some(after) = after {
        // The thread that watches the file must have started.
        until("the first program runs", || {
            arena.world.audit().iter().any(|line| line["operation"] == "exec")
        });
        let policy = arena.root().join("guard.json");
        let text = fs::read_to_string(&policy).expect("a policy");
        let closed = text.replace(&format!(r#", "{root}/shut/**": "rw-""#), &after(&root));
        assert_ne!(closed, text);
        fs::write(&policy, &closed).expect("a policy");
        until("the policy is read again", || held.stderr().contains(message));
    }
    arena.world.write("work/go", "");
    let ended = held.end();
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let ["attempts", attempts, "leaks", leaks] = words[..] else { panic!("{ended:?}") };
    (attempts.parse().expect("a number"), leaks.parse().expect("a number"), ended.stderr)
}

/// Attacks in rounds of more and more attempts until something is read: what is open can be read. Returns
/// what the guard printed.
fn wins(before: &str, after: Option<&dyn Fn(&str) -> String>, tiers: &str, message: &str) -> String {
    for round in 0..ROUNDS {
        let (_, leaks, stderr) = attack_after(before, after, tiers, message, Effort::of_round(round));
        if leaks > 0 {
            return stderr;
        }
    }
    panic!("what is open is not read");
}

#[test]
fn nothing_goes_on_in_the_kernel_under_a_stricter_policy() {
    if lacks_floor() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    wins(POLICY, None, "broker,floored", "");
    let (attempts, leaks, _) =
        attack_after(POLICY, Some(&|_| String::new()), "broker,floored", "was read again", Effort::half());
    assert_eq!(leaks, 0, "read what was taken away");
    assert!(attempts >= enough(), "only {attempts} attempts");
    println!("{attempts} attempts held after a reload");
}

/// A right that is not held cannot be taken away: the guard tells the operator what to do.
#[test]
fn a_policy_that_takes_what_is_not_held_is_refused() {
    if lacks_floor() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let message = "it removes rights that the kernel already grants";
    let stderr = wins(PLAIN, Some(&|_| String::new()), "broker,floored,kernel", message);
    assert!(stderr.contains("the policy that was in force stays"), "{stderr}");
}

/// A right that is not held cannot be granted either.
#[test]
fn a_policy_that_gives_what_is_not_held_says_so() {
    if lacks_floor() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let more = r#", "/root/**": "r--", "/var/**": "r--""#;
    let shut = |root: &str| format!(r#", "{root}/shut/**": "rw-"{more}"#);
    let message = "count only after a restart";
    let stderr = wins(PLAIN, Some(&shut), "broker,floored,kernel", message);
    assert!(stderr.contains("was read again"), "{stderr}");
}
