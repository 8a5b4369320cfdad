//! `approvals.notify`: a program that runs outside of the tree.

use guard_tests::until;
use serde_json::Value;

use crate::world::{executable, path, world_with};

#[test]
fn a_program_is_told_of_what_waits() {
    let world = world_with(100_000, r#", "approvals": {"notify": ["@/bin/notify", "an argument"]}"#);
    let out = path(&world, "told");
    // Writes where the tree may not: the program is not part of it.
    let script = format!(
        "#!/bin/sh\n{{ cat; pwd; umask; ps -o sid= -p $$ | tr -d ' '; }} > {out}.new; mv {out}.new {out}\n"
    );
    executable(&world.write("bin/notify", script));
    let held = world.start(&["bash", "-c", &format!("{} one", path(&world, "bin/asked"))]);
    until("it is told", || world.read("told").is_some());
    let notification = world.read("told").expect("it");
    let lines: Vec<_> = notification.lines().collect();
    let value: Value = serde_json::from_str(lines[0]).expect("JSON");
    let mut listed = world.answer("allow-once");
    listed["more"] = 0.into();
    assert_eq!(value, listed);
    assert_eq!(lines[1], "/");
    let ended = held.end();
    assert_eq!((&*ended.stdout, &*ended.stderr.replace(lines[0], "")), ("one\n", &*ended.stderr));
    assert!(!ended.stderr.contains("approvals.notify"), "{}", ended.stderr);
}

/// Where the guard's workers have a real-time priority, what they start does not.
#[test]
fn a_program_has_the_operators_priority_and_limits() {
    let world = world_with(100_000, r#", "approvals": {"notify": ["@/bin/notify"]}"#);
    let out = path(&world, "told");
    // Field 41 is the policy (proc_pid_stat(5)).
    let text = "ulimit -Sr; ulimit -Hr; cut -d ' ' -f 41 /proc/$$/stat";
    executable(
        &world.write("bin/notify", format!("#!/bin/bash\n{{ {text}; }} > {out}.new; mv {out}.new {out}\n")),
    );
    let native = world.native(&["bash", "-c", text]);
    let held = world.start(&["bash", "-c", &format!("{} one", path(&world, "bin/asked"))]);
    until("it is told", || world.read("told").is_some());
    assert_eq!((native.status, native.stdout), (0, world.read("told").expect("it")));
    world.answer("allow-once");
    assert_eq!(held.end().stdout, "one\n");
}

/// Nor one that gets a script which the tree may write.
#[test]
fn a_notify_program_that_the_tree_may_write_is_not_run() {
    for program in [r#"["@/work/notify"]"#, r#"["/bin/sh", "@/work/notify"]"#] {
        let world = world_with(100_000, &format!(r#", "approvals": {{"notify": {program}}}"#));
        let out = path(&world, "told");
        executable(&world.write("work/notify", format!("#!/bin/sh\ntouch {out}\n")));
        let held = world.start(&["bash", "-c", &format!("{} one", path(&world, "bin/asked"))]);
        until("the warning", || held.stderr().contains("would run unguarded"));
        world.answer("allow-once");
        assert_eq!(held.end().stdout, "one\n");
        assert!(world.read("told").is_none(), "{program}");
    }
}

#[test]
fn a_program_that_is_missing_hinders_nothing() {
    let world = world_with(100_000, r#", "approvals": {"notify": ["no-such-program"]}"#);
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} one; {asked} two")]);
    world.answer("allow-once");
    until("the warning", || held.stderr().contains("there is no program no-such-program"));
    world.answer("allow-once");
    let ended = held.end();
    assert_eq!(ended.stdout, "one\ntwo\n");
    assert_eq!(ended.stderr.matches("approvals.notify").count(), 1, "{}", ended.stderr);
}
