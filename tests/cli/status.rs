//! Exit statuses.

use guard_tests::World;

#[test]
fn the_commands_status_is_the_guards() {
    let world = World::open();
    assert_eq!(world.sh("exit 7").status, 7);
    assert_eq!(world.sh("kill -TERM $$").status, 128 + 15);
}

#[test]
fn what_is_not_there_is_127_and_what_is_no_program_126() {
    let world = World::open();
    assert_eq!(world.guarded(&["no-such-command-here"]).status, 127);
    assert_eq!(world.guarded(&["/etc/passwd"]).status, 126);
}
