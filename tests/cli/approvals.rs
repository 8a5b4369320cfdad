//! `openclaw-guard approvals` while no question is pending.

use std::fs;
use std::os::unix::net::UnixListener;

use guard_tests::{Ended, World, ended};

fn approvals(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().arg("approvals").args(arguments))
}

#[test]
fn without_questions_the_list_is_empty() {
    let world = World::bare();
    let listed = approvals(&world, &["list"]);
    assert_eq!((listed.status, &*listed.stdout), (0, "no questions are pending\n"));
    let listed = approvals(&world, &["list", "--json"]);
    assert_eq!((listed.status, &*listed.stdout), (0, "[]\n"));
}

#[test]
fn an_answer_without_a_question_is_refused() {
    let world = World::bare();
    let resolved = approvals(&world, &["resolve", "3f\u{1b}0c", "deny"]);
    assert_eq!(resolved.status, 1, "{}", resolved.stderr);
    assert_eq!(resolved.stderr, "openclaw-guard: 3f\\u{1B}0c: unknown or expired approval id\n");
    assert_eq!(approvals(&world, &["resolve", "3f0c", "perhaps"]).status, 125);
}

#[test]
fn the_socket_of_a_dead_guard_is_removed() {
    let world = World::bare();
    let run = world.home().join(".openclaw/guard/run");
    fs::create_dir_all(&run).expect("a directory");
    drop(UnixListener::bind(run.join("4194305.sock")).expect("a socket"));
    assert_eq!(approvals(&world, &["list"]).status, 0);
    assert_eq!(fs::read_dir(&run).expect("a directory").count(), 0);
}
