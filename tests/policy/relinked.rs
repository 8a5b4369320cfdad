//! Links that the operator makes or turns while a guarded tree runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use guard_tests::{World, until};

use crate::reload::{Shell, denying};

/// Moves what is at a path, and leaves a link to it, as the operator does with `mv` and `ln -s`.
fn move_behind_link(shell: &Shell, path: &str, to: &str) {
    let at = |path: &str| shell.world.root().join(path);
    fs::rename(at(path), at(to)).expect("a rename");
    symlink(at(to), at(path)).expect("a link");
}

/// The tree writes the policy by the name that was denied to it, as soon as that leads to where it may write.
fn takes_over(shell: &mut Shell, name: &str) {
    let own = denying(&shell.world, "other");
    shell.world.write("work/own.json", own);
    for _ in 0..25 {
        assert_eq!(shell.run(&format!("cat own.json > {name}; cat secret")), "", "{}", shell.errors());
        std::thread::sleep(Duration::from_millis(100));
    }
    shell.hang_up();
    until("it is told", || shell.errors().contains("a symbolic link leads to it now"));
    assert_eq!(shell.run("cat secret"), "", "{}", shell.errors());
}

#[test]
fn the_policy_is_not_read_through_a_link_made_since_the_start() {
    for (from, to, name) in [
        ("policies", "work/policies", "../policies/guard.json"),
        ("policies/guard.json", "work/guard.json", "../policies/guard.json"),
    ] {
        let world = World::bare();
        world.write("work/secret", "told\n");
        let policy = world.write("policies/guard.json", denying(&world, "secret"));
        let mut command = world.command();
        command.arg("--policy").arg(policy);
        let mut shell = Shell::of(world, command);
        assert_eq!(shell.run("cat secret"), "");
        move_behind_link(&shell, from, to);
        takes_over(&mut shell, name);
        // What is a plain file again counts again.
        let at = |path: &str| shell.world.root().join(path);
        fs::remove_file(at(from)).expect("a link");
        fs::rename(at(to), at(from)).expect("a rename");
        shell.world.write("policies/guard.json", denying(&shell.world, "other"));
        until("it is read again", || shell.run("cat secret") == "told\n");
        shell.end();
    }
}

/// A link that takes the place of a policy which was not there is not the policy's, and is told of.
#[test]
fn a_link_to_a_first_policy_waits_for_the_next_start() {
    let world = World::bare();
    world.write("home/.openclaw/guard/none", "");
    let shell = Shell::start(world);
    let text = denying(&shell.world, "secret");
    let file = shell.world.write("work/guard.json", text);
    symlink(file, shell.world.home().join(".openclaw/guard.json")).expect("a link");
    until("it is told", || shell.errors().contains("a symbolic link leads to it now"));
    let (applied, said) = shell.change(1);
    assert!(!applied && said.contains("only the next start follows"), "{said}");
    shell.end();
}
