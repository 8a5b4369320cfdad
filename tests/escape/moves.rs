//! Attacks that create a closed path by moving.

use guard_tests::World;

/// The attack makes a directory with the closed name inside elsewhere, then moves it into place.
#[test]
fn a_closed_path_is_not_planted_by_moving_its_parent() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rwx"}, "deny": ["@/work/.git/hooks/**"], "default": "---"}}}"#,
    );
    let ended = world.sh("mkdir -p x/hooks; echo evil > x/hooks/pre-commit; mv -T x .git; ls -A");
    assert!(world.read("work/.git/hooks/pre-commit").is_none(), "{} {}", ended.stdout, ended.stderr);
    // RENAME_EXCHANGE moves it to the same place.
    world.sh(
        "mkdir -p y/hooks .git; echo evil > y/hooks/pre-commit; mv --exchange -T y .git 2>/dev/null || true",
    );
    assert!(world.read("work/.git/hooks/pre-commit").is_none());
}

#[test]
fn a_directory_without_closed_places_moves_as_ever() {
    let world = World::open();
    let ended = world.sh("mkdir -p a/b; echo x > a/b/c; stat -c %i a; mv a d; stat -c %i d; cat d/b/c");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], lines[1], "moved, not copied: {}", ended.stderr);
    assert_eq!(lines[2], "x");
}
