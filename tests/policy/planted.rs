//! What the operator's own git runs in the operator's own repository after the tree has worked there.

use std::process::Command;

use guard_tests::{World, ended};

/// What the tree does, and what the operator does before and after it.
struct Planted {
    /// The operator's preparation of the repository.
    before: &'static str,
    /// The tree's attack.
    attack: &'static str,
    /// The operator's commands afterwards.
    after: &'static str,
}

/// Runs all three steps. Returns whether the operator's git left the mark of the planted program.
fn leaves_a_mark(planted: &Planted, made: fn() -> World, git_is_protected: bool) -> bool {
    let world = made().policy_text(|text| {
        let persistence = format!(r#""persistence": {{"git": {git_is_protected}}}"#);
        text.replace(r#""persistence": false"#, &persistence)
    });
    let native = |line: &str| {
        let mut command = world.native_command();
        let line = format!("exec 2>&1; set -e; {line}");
        ended(operator(&world, &mut command).args(["sh", "-c", &line]))
    };
    let prepared = native(&format!("git init -q . && {}", planted.before));
    assert_eq!(prepared.status, 0, "{}", prepared.stdout);
    let mut command = world.command();
    let ended = ended(operator(&world, &mut command).args(["--", "sh", "-c", planted.attack]));
    assert!(!world.root().join("mark").exists(), "{}", ended.stderr);
    native(planted.after);
    world.root().join("mark").exists()
}

fn operator<'c>(world: &World, command: &'c mut Command) -> &'c mut Command {
    command.env("MARK", world.root().join("mark")).env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), "u").env(format!("GIT_{name}_EMAIL"), "u@example.org");
    }
    command.env_remove("GIT_CONFIG_GLOBAL")
}

fn comes_to_nothing(planted: &Planted) {
    for made in [World::open, World::floored] {
        assert!(leaves_a_mark(planted, made, false), "the attack does not work where nothing is kept");
        assert!(!leaves_a_mark(planted, made, true), "the operator's git ran what the tree left");
    }
}

#[test]
fn a_hook_that_is_a_link_leads_to_no_script_of_the_trees() {
    comes_to_nothing(&Planted {
        before: r#"mkdir scripts; printf '#!/bin/sh\n' > scripts/check; chmod +x scripts/check
            ln -s ../../scripts/check .git/hooks/pre-commit"#,
        attack: r#"echo 'touch "$MARK"' >> scripts/check; sed -i '$ a touch "$MARK"' scripts/check"#,
        after: "git commit -q --allow-empty -m x",
    });
}

#[test]
fn a_nested_git_include_is_protected_too() {
    comes_to_nothing(&Planted {
        before: r"git config include.path ../shared/one; mkdir shared; printf '[include]\npath = two\n' > shared/one",
        attack: r#"printf '[core]\nfsmonitor = touch \\"$MARK\\"; false\n' > shared/two"#,
        after: "git status",
    });
}

#[test]
fn hooks_that_an_included_file_names_are_not_the_trees() {
    comes_to_nothing(&Planted {
        before: r"git config include.path ../shared; printf '[core]\nhooksPath = own\n' > shared",
        attack: r#"mkdir own; printf '#!/bin/sh\ntouch "$MARK"\n' > own/pre-commit; chmod +x own/pre-commit"#,
        after: "git commit -q --allow-empty -m x",
    });
}

/// If git finds no HEAD in `.git`, it checks whether the directory around it is a repository.
#[test]
fn the_repository_is_not_replaced_by_one_around_it() {
    comes_to_nothing(&Planted {
        before: "true",
        attack: r#"mv .git/HEAD .git/away; mkdir -p objects refs; echo 'ref: refs/heads/main' > HEAD
            printf '[core]\nrepositoryformatversion = 0\nworktree = .\nfsmonitor = touch \\"$MARK\\"; false\n' > config"#,
        after: "git status",
    });
}
