//! `doctor` inside a guard, and beside one.

use guard_tests::{Ended, World, guard};

use super::found::Found;

fn inside(world: &World, arguments: &[&str]) -> Ended {
    let guard = guard();
    let mut argv = vec![guard.to_str().expect("a plain path")];
    argv.extend(arguments);
    world.guarded(&argv)
}

/// Returns a floored world in which this guard may start.
fn from_here() -> World {
    let world = World::floored();
    let bin = world.root().join("bin").display().to_string();
    let here = guard().parent().expect("a directory").display().to_string();
    world.policy_text(|text| text.replace(&bin, &here))
}

#[test]
fn a_guard_within_a_guard_does_not_start_and_doctor_says_why() {
    for world in [World::open(), from_here()] {
        let found = Found::read(inside(&world, &["doctor", "--json"]));
        found.must("problem", "listener", "a guard above has a listener", "outside of that guard");
        found.must("note", "own", "inside a guard", "");
        let problems: Vec<_> = found.all.iter().filter(|one| one["state"] == "problem").collect();
        assert_eq!(problems.len(), 1, "nothing else is said to be wrong: {problems:?}");
        for name in ["wait-killable", "landlock", "ptrace", "memory", "pidfd"] {
            found.must("note", name, "inside a guard", "");
        }
        found.must("note", "policy", "hides it from its tree", "");
        assert!(!found.raw.stderr.contains("panicked"), "{:?}", found.raw);
        assert!(!found.raw.stderr.contains("denied trace"), "it is no attempt: {:?}", found.raw);
    }
}

#[test]
fn the_report_inside_a_guard_is_text_too() {
    let world = World::open();
    let ended = inside(&world, &["doctor"]);
    assert_eq!(ended.status, 1, "{ended:?}");
    assert!(ended.stdout.contains("✗ listener") && ended.stdout.contains("1 problem"), "{ended:?}");
    assert!(!ended.stdout.contains('\x1b'));
}

#[test]
fn where_guards_cannot_be_found_it_says_so() {
    let world = World::bare();
    world.write("home/.openclaw/guard/run", "no directory");
    Found::of(&world).must("warning", "guards", "cannot be found", "guard/run");
}

#[test]
fn a_running_guard_is_listed() {
    let policy = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss"},
        "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/work/asked": "?--"}}}}"#;
    let world = World::bare().policy(policy).attended();
    world.write("work/asked", "x");
    // The guard creates its socket when it asks.
    let held = world.start(&["cat", "asked"]);
    let asked = world.wait_for(1).remove(0);
    Found::of(&world).must("ok", "guards", "one runs now: process ", "");
    world.resolve(&asked, "deny");
    held.end();
    Found::of(&world).must("ok", "guards", "none runs now", "");
}
