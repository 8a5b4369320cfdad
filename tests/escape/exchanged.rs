//! Another file gets the name of the one that a human was asked about.
//!
//! The tree may write `asked`, so it may rename there; what it reads there is asked about.

use std::fs;

use guard_tests::{World, until};

const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss", "timeoutMs": 100000},
    "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/asked/**": "?w-"}, "default": "---"}}}"#;

fn world() -> World {
    let world = World::bare().policy(POLICY).attended();
    for (name, content) in [("x", "plain\n"), ("y", "TOPSECRET\n")] {
        world.write(format!("asked/{name}/f"), content);
        world.write(format!("asked/{name}/deep/f"), content);
    }
    world
}

/// Runs a line in which `$A` is the directory, answers its first question so, and denies the others. Returns how many there
/// were, and the output.
fn run(world: &World, line: &str, answer: &str, meanwhile: impl FnOnce()) -> (usize, String) {
    let line = format!("A={}/asked; {line}; true", world.root().display());
    let held = world.start(&["bash", "-c", &line]);
    world.answer(answer);
    meanwhile();
    world.write("work/go", "");
    let (questions, ended) = held.answer_all(|_| "deny");
    (questions.len(), ended.stdout)
}

const WAIT: &str = "until [ -e go ]; do sleep 0.05; done";

/// Whatever is answered: the question is asked again, about what has the name by now.
#[test]
fn while_the_question_waits() {
    let moves = ["mv -T $A/y/f $A/x/f", "mv $A/x $A/z; mv $A/y $A/x", "rm $A/x/f; ln $A/y/f $A/x/f"];
    let answers =
        ["allow-once", "allow-session", "allow-directory-session", "allow-always", "allow-always-directory"];
    for (moved, answer) in moves.iter().flat_map(|moved| answers.map(|answer| (moved, answer))) {
        let world = world();
        let line =
            format!("A={}/asked; cat $A/x/f & {WAIT}; {moved}; touch moved; wait", world.root().display());
        let held = world.start(&["bash", "-c", &line]);
        let question = world.wait_for(1).remove(0);
        world.write("work/go", "");
        until("it is moved", || world.read("work/moved").is_some());
        assert_ne!(world.resolve(&question, answer).status, 0, "{moved}, {answer}");
        let (questions, ended) = held.answer_all(|_| "deny");
        assert!(!ended.stdout.contains("TOPSECRET"), "{moved}, {answer}: {}", ended.stdout);
        // It may have looked while there was no such directory.
        assert!(questions.len() <= 1, "{moved}, {answer}: {}", ended.stderr);
    }
}

#[test]
fn after_an_answer_for_one_file() {
    for answer in ["allow-session", "allow-30m", "allow-command"] {
        for (file, moved) in [
            ("x/f", "mv $A/x $A/z; mv $A/y $A/x"),
            ("x/deep/f", "mv $A/x $A/z; mv $A/y $A/x"),
            ("x/f", "mv -T $A/y/f $A/x/f"),
        ] {
            let world = world();
            let line = format!("bash -c 'A=$0; cat $A/{file}; {moved}; cat $A/{file}; true' $A");
            let (questions, stdout) = run(&world, &line, answer, || ());
            assert!(stdout.contains("plain") && !stdout.contains("TOPSECRET"), "{answer}, {moved}: {stdout}");
            assert_eq!(questions, 1, "{answer}, {moved}");
        }
    }
}

/// The operator, or the tree of another guard, moves it.
#[test]
fn moved_from_outside() {
    let world = world();
    let at = |name: &str| world.root().join("asked").join(name);
    let line = format!("cat $A/x/f; touch read; {WAIT}; cat $A/x/f");
    let (questions, stdout) = run(&world, &line, "allow-session", || {
        until("it has been read", || world.read("work/read").is_some());
        fs::rename(at("y/f"), at("x/f")).expect("to rename");
    });
    assert!(stdout.contains("plain") && !stdout.contains("TOPSECRET"), "{stdout}");
    assert_eq!(questions, 1);
}

/// What the tree itself has made at the name since then is asked about no more.
#[test]
fn made_anew() {
    let world = world();
    let line = "cat $A/x/f; rm $A/x/f; echo new > $A/x/f; cat $A/x/f";
    let (questions, stdout) = run(&world, line, "allow-session", || ());
    assert_eq!((questions, &*stdout), (0, "plain\nnew\n"));
}
