//! What holds for each template.

use guard_tests::{World, ended};
use serde_json::Value;

/// Returns every template, by `init --list`.
fn names() -> Vec<String> {
    let listed = ended(World::bare().command().args(["init", "--list", "--json"]));
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let names =
        listed.as_array().expect("a list").iter().map(|one| one["name"].as_str().expect("a name").to_owned());
    names.collect()
}

#[test]
fn each_template_is_valid_and_its_examples_hold() {
    let names = names();
    assert!(names.iter().any(|name| name == "coding"), "{names:?}");
    let mut fine = 0;
    for name in &names {
        let world = World::bare();
        let run = |arguments: &[&str]| ended(world.command().args(arguments));
        let written = run(&["init", "--template", name]);
        assert_eq!(written.status, 0, "{name}: {}", written.stderr);
        let looked = run(&["policy", "validate", "--strict"]);
        assert_eq!(looked.status, 0, "{name}: {}", looked.stdout);
        let asked = run(&["policy", "test"]);
        assert_eq!(asked.status, 0, "{name}: {}{}", asked.stdout, asked.stderr);
        let count = |text: &str| text.split_whitespace().next().and_then(|n| n.parse::<usize>().ok());
        assert!(count(&asked.stdout).is_some_and(|held| held >= 6), "{name}: {}", asked.stdout);
        fine += 1;
    }
    println!("templates: {fine} of {}", names.len());
}
