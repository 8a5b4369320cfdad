//! Only the tests' own binary has the switches that leave out a layer.

use std::fs;
use std::path::Path;

use guard_tests::{World, guard, without_layers};

/// The prefix of every switch's name.
const SWITCH: &[u8] = b"GUARD_TEST_";

fn has_switches(binary: &Path) -> bool {
    let bytes = fs::read(binary).expect("a binary");
    bytes.windows(SWITCH.len()).any(|window| window == SWITCH)
}

#[test]
fn no_switch_is_in_the_guard() {
    assert!(!has_switches(&guard()));
    // The tests' own binary shows that the search finds them.
    assert!(has_switches(&without_layers()));
}

#[test]
fn a_switch_does_nothing() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-"}, "deny": ["@/work/secret"]}}}"#,
    );
    world.write("work/secret", "TOPSECRET");
    let read = |guard: &Path| {
        let off = "refusals,holds,broker,verify,floor,domain";
        let mut command = world.command_of(guard);
        command.env("GUARD_TEST_LAYERS_OFF", off).args(["--", "/usr/bin/cat", "secret"]);
        guard_tests::ended(&mut command).stdout
    };
    assert_eq!(read(&guard()), "");
    assert_eq!(read(&without_layers()), "TOPSECRET");
}
