//! A card says which program is the first of its kind in a project.

use serde_json::Value;

use crate::world::{executable, path, world};

/// What is unusual about a program, answered with this.
fn unusual(world: &guard_tests::World, program: &str, decision: &str) -> Vec<Value> {
    let held = world.start(&[path(world, program)]);
    let asked = world.answer(decision);
    held.end();
    asked["unusual"].as_array().cloned().unwrap_or_default()
}

#[test]
fn the_first_start_in_a_project_is_unusual_where_others_were_allowed() {
    let world = world();
    executable(&world.write("bin/other", std::fs::read("/bin/echo").expect("echo")));
    // On the first day every program is the first.
    assert!(unusual(&world, "bin/asked", "allow-once").is_empty());
    assert!(unusual(&world, "bin/asked", "allow-once").is_empty());
    let first = [Value::from("the first time in this project")];
    // A no makes nothing known.
    assert_eq!(unusual(&world, "bin/other", "deny"), first);
    assert_eq!(unusual(&world, "bin/other", "allow-once"), first);
    assert!(unusual(&world, "bin/other", "allow-once").is_empty());
}
