//! PATH: where somebody could leave a program that the operator starts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use guard_tests::{World, is_root, skip};

use super::found::{Found, open};

/// Runs doctor with this PATH, in which `@` stands for the world's directory.
fn with_path(world: &World, path: &str) -> Found {
    let path = path.replace('@', world.root().to_str().expect("a plain path"));
    Found::with(world, |command| {
        command.env("PATH", format!("{path}:/usr/bin:/bin"));
    })
}

fn directory(world: &World, name: &str, mode: u32) {
    let path = world.root().join(name);
    fs::create_dir_all(&path).expect("a directory");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

#[test]
fn a_directory_that_the_tree_may_write_is_a_problem() {
    let world = open("");
    directory(&world, "bin", 0o755);
    with_path(&world, "@/bin").must("problem", "path", "the guarded tree may put programs into", "deny");
    // The persistence rules, if nobody has disabled them, protect PATH.
    let world = world.policy_text(|text| text.replace("\"persistence\": false", "\"persistence\": true"));
    let found = with_path(&world, "@/bin");
    assert!(!found.is("problem", "path", ""), "{found:?}");
    found.must("ok", "path", "neither others nor the guarded tree", "");
}

#[test]
fn a_path_directory_that_is_asked_about_is_a_warning() {
    let asks = |text: String| {
        text.replace("\"/**\": \"rwx\"", "\"/**\": \"r?x\"")
            .replace("\"ask\": \"off\"", "\"ask\": \"on-miss\"")
    };
    let world = open("").policy_text(asks);
    directory(&world, "bin", 0o755);
    with_path(&world, "@/bin").must("warning", "path", "after asking", "");
}

#[test]
fn a_path_directory_that_everybody_may_write_is_a_problem() {
    let world = World::bare();
    directory(&world, "open", 0o777);
    with_path(&world, "@/open").must("problem", "path", "everybody may put programs into", "chmod o-w");
    directory(&world, "open", 0o1777);
    with_path(&world, "@/open").must("problem", "path", "everybody may put programs into", "chmod o-w");
}

#[test]
fn a_path_entry_that_is_not_absolute_is_a_problem() {
    let world = World::bare();
    for (path, text) in [("", "an empty entry"), (".", "\".\""), ("bin/../x", "\"bin/../x\"")] {
        with_path(&world, path).must("problem", "path", text, "take it out of PATH");
    }
}

#[test]
fn a_missing_path_directory_is_noted_and_a_problem_if_the_tree_may_make_it() {
    let world = World::bare();
    let found = with_path(&world, "/no/such/directory");
    found.must("note", "path-missing", "/no/such/directory", "");
    if !is_root() {
        // What this user cannot create, the tree cannot create either.
        with_path(&open(""), "/usr/no/such/bin").must("note", "path-missing", "/usr/no/such/bin", "");
    }
    with_path(&open(""), "@/none/bin").must("problem", "path", "the guarded tree may create it", "");
}

#[test]
fn without_a_path_or_a_home_it_says_so() {
    let world = World::bare();
    let found = Found::with(&world, |command| {
        command.env_remove("PATH").env("HOME", world.root().join("none"));
    });
    found.must("note", "path", "PATH is not set", "");
    found.must("warning", "home", "/none, which is ~ in the policy", "--home");
}

#[test]
fn a_path_directory_of_another_user_or_group_is_a_warning() {
    if !is_root() {
        return skip("only root gives directories away");
    }
    const OTHER: u32 = 4242;
    let world = World::bare();
    directory(&world, "given", 0o755);
    chown(world.root().join("given"), Some(OTHER), None).expect("another owner");
    with_path(&world, "@/given").must("warning", "path", "belongs to user 4242", "");
    chown(world.root().join("given"), Some(0), Some(OTHER)).expect("another group");
    directory(&world, "given", 0o775);
    with_path(&world, "@/given").must("warning", "path", "the group 4242", "chmod g-w");
}

#[test]
fn names_act_on_no_terminal() {
    let world = World::bare();
    directory(&world, "a\u{202e}\x1b[31mb", 0o777);
    let found = with_path(&world, "@/a\u{202e}\x1b[31mb");
    found.must("problem", "path", "everybody may put programs into", "");
    assert!(!found.raw.stdout.contains(['\u{202e}', '\x1b']), "{}", found.raw.stdout);
    let mut command = world.command();
    let path = format!("{}/a\u{202e}\x1b[31mb", world.root().display());
    let text = guard_tests::ended(command.arg("doctor").env("PATH", path)).stdout;
    assert!(text.contains("\\u{202E}\\u{1B}[31mb") && !text.contains(['\u{202e}', '\x1b']), "{text}");
}
