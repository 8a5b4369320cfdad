//! What the tree tries against what runs outside, and by it.

use guard_tests::until;

use crate::world::{OPEN, answered, own, start, unasked, with, world};

#[test]
fn the_tree_cannot_signal_the_command() {
    let world = world();
    let line = "RUN sh -c 'echo $$ > pid; until [ -e go ]; do sleep 0.05; done; echo alive' & \
                until [ -s pid ]; do sleep 0.05; done; \
                for signal in TERM KILL STOP; do kill -$signal $(cat pid) 2>/dev/null && echo sent; \
                kill -$signal -- -$(cat pid) 2>/dev/null && echo sent; done; touch go; wait";
    let (_, ended) = answered(&world, line, "allow-once");
    assert_eq!(ended.stdout, "alive\n", "{ended:?}");
}

#[test]
fn the_tree_cannot_reach_the_commands_memory_or_descriptors() {
    let world = world();
    let line = "RUN sh -c 'exec 5<../closed/secret; echo $$ > pid; until [ -e go ]; do sleep 0.05; done' & \
                until [ -s pid ]; do sleep 0.05; done; p=$(cat pid); \
                cat /proc/$p/fd/5 /proc/$p/environ 2>/dev/null; : 2>/dev/null >/proc/$p/mem && echo open; touch go; wait";
    world.write("closed/secret", "secret\n");
    let (_, ended) = answered(&world, line, "allow-once");
    assert!(!ended.stdout.contains("secret") && !ended.stdout.contains("open"), "{ended:?}");
    assert!(!ended.stdout.contains("HOME="), "{ended:?}");
}

#[test]
fn the_tree_cannot_open_the_gates() {
    let world = with(r#""security": "full", "ask": "off""#, r#""elevated": {"enabled": false}"#);
    let policy = world.policy_file().expect("a policy").display().to_string();
    let line = format!(
        "echo '{{\"version\": 1, {OPEN}}}' 2>/dev/null > {policy}; {0} session set --elevated full x 2>/dev/null; \
         {0} allow exec id 2>/dev/null; RUN touch made 2>&1",
        own()
    );
    let ended = unasked(&world, &line);
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains("enabled (elevated.enabled)"), "{ended:?}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn gates_that_open_later_are_not_open_for_a_guard_that_runs() {
    let world = with(r#""security": "full", "ask": "off""#, r#""elevated": {"enabled": false}"#);
    let held = start(&world, "mkfifo go; echo ready; read x < go; RUN touch made 2>&1");
    until("the command", || held.stdout() == "ready\n");
    let text = world.read("guard.json").expect("a policy");
    world.write("guard.json", text.replace(r#""elevated": {"enabled": false}"#, OPEN));
    until("the policy", || held.stderr().contains("was read again and is in force"));
    std::fs::write(world.work().join("go"), "\n").expect("the FIFO");
    let ended = held.end();
    assert!(ended.stdout.contains("was false when this guard was started"), "{ended:?}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn a_gate_that_shuts_while_a_human_reads_counts() {
    let world = world();
    let held = start(&world, "RUN touch made 2>&1");
    let asked = world.wait_for(1).remove(0);
    let text = world.read("guard.json").expect("a policy");
    world.write("guard.json", text.replace(r#""enabled": true"#, r#""enabled": false"#));
    until("the policy", || held.stderr().contains("was read again and is in force"));
    let _ = world.resolve(&asked, "allow-once");
    let ended = held.end();
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn nobody_in_the_tree_answers() {
    let world = world();
    let line = format!(
        "RUN touch made 2>&1 & for i in 1 2 3 4 5; do {0} approvals list 2>&1; sleep 0.1; done; wait $!; exit $?",
        own()
    );
    let (_, ended) = answered(&world, &line, "deny");
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains("this runs inside a guard"), "{ended:?}");
}

#[test]
fn two_at_once_are_two_questions() {
    let world = world();
    let held = start(&world, "RUN echo 1 & RUN echo 2 & wait");
    for asked in world.wait_for(2) {
        let is_first = asked["argv"][1] == "1";
        assert_eq!(world.resolve(&asked, if is_first { "allow-once" } else { "deny" }).status, 0);
    }
    assert_eq!(held.end().stdout, "1\n");
}
