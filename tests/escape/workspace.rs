//! `${workspace}` in a policy for every project: what an earlier guarded run leaves behind must not choose the workspace
//! of a later one.

use std::fs;
use std::process::Command;

use guard_tests::{Ended, World, ended};

const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
    "rules": {SYSTEM, "${workspace}/**": "rwx", "@/home/code/secret": "rw-"}, "deny": ["${workspace}/secret"]}}}"#;

/// One attack: runs below `home/code`, where `a` and `b` are directories, each with the script that it executes. Every
/// script goes as far as it can.
struct Attack {
    /// The operator's preparation, in `home/code`.
    before: &'static str,
    runs: &'static [(&'static str, &'static str)],
    /// Where the operator then starts a run, below `home`, and the path in which that must not write.
    start: &'static str,
    victim: &'static str,
}

fn world() -> World {
    let world = World::bare().policy(POLICY);
    for name in ["a/src", "b", "private"] {
        fs::create_dir_all(world.home().join("code").join(name)).expect("directories");
    }
    world
}

fn at(world: &World, directory: &str, configure: impl Fn(&mut Command), script: &str) -> Ended {
    let mut command = world.command();
    let directory = world.home().join(directory);
    command.current_dir(&directory).env("PWD", &directory).env("GIT_CONFIG_NOSYSTEM", "1");
    configure(&mut command);
    ended(command.args(["--", "sh", "-c", script]))
}

fn prepared(attack: &Attack) -> World {
    let world = world();
    let mut command = world.native_command();
    command.current_dir(world.home().join("code")).env("GIT_CONFIG_NOSYSTEM", "1");
    let done = ended(command.args(["sh", "-c", &format!("set -e; {}", attack.before)]));
    assert_eq!(done.status, 0, "{}", done.stderr);
    for (directory, script) in attack.runs {
        at(&world, directory, |_| {}, script);
    }
    world
}

/// Whether a run at the attack's start can write to its victim.
fn reaches(world: &World, attack: &Attack) -> bool {
    let (start, victim) = (attack.start, world.home().join(attack.victim));
    let script = format!("echo x > own; echo x > '{}'", victim.display());
    let ran = at(world, start, |_| {}, &script);
    println!("{}", ran.stderr);
    victim.exists()
}

fn comes_to_nothing(attack: &Attack) {
    let world = prepared(attack);
    assert!(!reaches(&world, attack), "{}: {:?}", attack.before, attack.runs);
}

const WIDENING: [Attack; 3] = [
    Attack { before: ":", runs: &[("code", "git init -q .")], start: "code/a", victim: "code/b/x" },
    Attack { before: ":", runs: &[("code", "mkdir .git")], start: "code/a/src", victim: "code/b/x" },
    Attack {
        before: ":",
        runs: &[("code", "mkdir n && git init -q n && mv a n")],
        start: "code/n/a",
        victim: "code/n/x",
    },
];

#[test]
fn a_repository_around_the_start_is_not_chosen_by_the_tree() {
    WIDENING.iter().for_each(comes_to_nothing);
}

/// The attacks above fail because of the record alone.
#[test]
fn without_the_record_it_would_be() {
    for attack in &WIDENING {
        let world = prepared(attack);
        fs::remove_file(world.home().join(".openclaw/guard/workspaces.jsonl")).expect("the record");
        assert!(reaches(&world, attack), "{:?}", attack.runs);
    }
}

#[test]
fn neither_link_nor_repository_of_another_place_counts() {
    for attack in [
        Attack { before: ":", runs: &[("code", "ln -s b .git")], start: "code/a", victim: "code/x" },
        Attack { before: ":", runs: &[("code", "echo gitdir: b > .git")], start: "code/a", victim: "code/x" },
        // What a configuration says of the worktree is not asked.
        Attack {
            before: "git init -q a && git -C a config core.worktree ../..",
            runs: &[],
            start: "code/a/src",
            victim: "code/x",
        },
        // In a directory that the tree made the operator's start directory by a link.
        Attack {
            before: ":",
            runs: &[("code", "rmdir a/src a && ln -s private a")],
            start: "code/a",
            victim: "code/private/x",
        },
    ] {
        comes_to_nothing(&attack);
    }
}

#[test]
fn a_repository_that_is_taken_away_gives_nothing_above_it() {
    for script in [
        "rm -rf .git",
        "mv .git away",
        "rm -rf .git/HEAD .git/refs .git/objects",
        "rm -rf .git; ln -s .. .git",
    ] {
        let runs = Box::leak(vec![("code/a", script)].into_boxed_slice());
        comes_to_nothing(&Attack {
            before: "git init -q . && git init -q a",
            runs,
            start: "code/a/src",
            victim: "code/b/x",
        });
    }
    // Also where nothing keeps it from doing so.
    let attack = Attack {
        before: "mkdir .git a/.git",
        runs: &[("code/a", "rmdir .git")],
        start: "code/a/src",
        victim: "code/b/x",
    };
    let world = prepared(&attack);
    assert!(!world.home().join("code/a/.git").exists(), "the attack does what it says");
    assert!(!reaches(&world, &attack));
}

#[test]
fn the_record_is_out_of_reach() {
    let attack = Attack {
        before: ":",
        runs: &[(
            "code",
            "cd ~/.openclaw/guard; rm workspaces.jsonl; true > workspaces.jsonl; echo x >> workspaces.jsonl; cat workspaces.jsonl
            cd ..; mv guard away; cd ..; mv .openclaw away; ln -s code .openclaw; cd code; mkdir .git",
        )],
        start: "code/a",
        victim: "code/x",
    };
    let world = prepared(&attack);
    let record = world.read("home/.openclaw/guard/workspaces.jsonl").expect("a record");
    let code = world.home().join("code");
    assert_eq!(record, format!("{{\"path\":\"{}\",\"repository\":false}}\n", code.display()));
    assert!(world.home().join("code/.git").is_dir() && !reaches(&world, &attack));
}

#[test]
fn a_denial_holds_wherever_the_tree_moves_the_workspace() {
    // The rule for the file is absolute, so only the denial keeps it.
    let attack = Attack {
        before: "git init -q .",
        runs: &[("code", "mkdir a/.git; mkdir a/src/.git")],
        start: "code/a/src",
        victim: "code/secret",
    };
    comes_to_nothing(&attack);
    comes_to_nothing(&Attack { runs: &[], start: "code", ..attack });
    let attack =
        Attack { before: ":", runs: &[("code", "mkdir .git")], start: "code/a", victim: "code/secret" };
    comes_to_nothing(&attack);
}

#[test]
fn a_name_is_no_pattern_and_no_placeholder() {
    for name in ["*", "?", "**", "${workspace}", "~", "a*", "${above}"] {
        let script: &'static str = Box::leak(format!("mkdir '{name}'").into_boxed_str());
        let start: &'static str = Box::leak(format!("code/{name}").into_boxed_str());
        let runs = Box::leak(vec![("code", script)].into_boxed_slice());
        let attack = Attack { before: ":", runs, start, victim: "code/b/x" };
        let world = prepared(&attack);
        assert!(!reaches(&world, &attack), "{name}");
        assert_eq!(world.read(format!("home/{start}/own")).as_deref(), Some("x\n"), "{name}");
    }
}

#[test]
fn an_agent_that_chooses_the_start_directory_chooses_no_workspace() {
    let world = world();
    fs::create_dir(world.home().join("code/.git")).expect("a directory");
    for start in ["code", "code/a", "code/a/src"] {
        let home = world.home();
        let untrusted = |command: &mut Command| {
            command.arg("--untrusted-environment").arg("--home").arg(&home);
        };
        let ran = at(&world, start, untrusted, "echo x > own");
        assert!(!world.home().join(start).join("own").exists(), "{start}");
        assert!(ran.stderr.contains("not the operator's choice"), "{}", ran.stderr);
    }
}

#[test]
fn a_run_in_the_home_or_above_it_gets_nothing() {
    for start in ["", "..", "/"] {
        let world = world();
        fs::create_dir(world.home().join(".git")).expect("a directory");
        let ran = at(&world, start, |_| {}, &format!("echo x > '{}'", world.home().join("x").display()));
        assert!(
            !world.home().join("x").exists() && ran.stderr.contains("your home directory"),
            "{}",
            ran.stderr
        );
    }
}
