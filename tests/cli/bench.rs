//! `openclaw-guard bench`.

use std::fs;

use guard_tests::{World, copy_guard, ended};
use serde_json::Value;

/// The guard's copy is where the policy lets it run, since it makes the measured calls inside the tree.
#[test]
fn each_tier_is_measured() {
    let world = World::open();
    let copy = world.work().join("guard");
    copy_guard(&copy);
    let ended = ended(world.command_of(&copy).args(["bench", "--rounds", "1", "--json"]));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let measured: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    for call in [
        "stat",
        "open and close, system",
        "open, missing",
        "create and close, here",
        "start and end a program",
    ] {
        for way in ["native", "broker", "floored", "kernel"] {
            assert!(
                measured[call][way].as_f64().is_some_and(|nanoseconds| nanoseconds > 0.0),
                "{call}: {measured}"
            );
        }
    }
    let left: Vec<_> =
        fs::read_dir(world.work()).expect("a directory").flatten().map(|name| name.file_name()).collect();
    assert_eq!(left, ["guard"]);
}

/// If the policy does not let it run, `bench` reports the denial.
#[test]
fn bench_reports_a_denial() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-"}, "default": "---"}}}"#,
    );
    let copy = world.work().join("guard");
    copy_guard(&copy);
    let ended = ended(world.command_of(&copy).args(["bench", "--rounds", "1"]));
    assert_eq!(ended.status, 125);
    assert!(ended.stderr.contains("broker: the measurement did not finish"), "{}", ended.stderr);
}
