//! Each gate that is shut is named, and nothing runs.

use guard_tests::{World, ended, guard};

use crate::world::{OPEN, answered, logged, session_id, set_level, start, unasked, with, with_state, world};

const FULL: &str = r#""security": "full", "ask": "off""#;

/// Checks that a line is refused with this text, in the tree, in the log and on the guard's stderr.
fn is_refused(world: &World, options: &[&str], text: &str) {
    let mut command = world.command();
    command.args(options).args(["--", "bash", "-c", &crate::world::run("RUN touch made 2>&1")]);
    let ended = world.start_command(command).end();
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains(text), "{text}: {ended:?}");
    assert!(!world.work().join("made").exists());
    let denied = logged(world, "elevated-denied");
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!((&denied[0]["verdict"], &denied[0]["argv"][0]), (&"deny".into(), &"touch".into()));
    assert!(
        denied[0]["because"]["text"].as_str().is_some_and(|because| because.contains(text)),
        "{denied:?}"
    );
    assert!(ended.stderr.contains("denied run-outside touch"), "{}", ended.stderr);
}

#[test]
fn shut_gates_are_named_as_openclaw_names_them() {
    const NOT: &str = "elevated is not available right now (runtime=direct). Failing gates: ";
    let open = r#""elevated": {"enabled": true, "allowFrom": {"telegram": ["42"], "local": ["*"]}, "default": "on"}"#;
    for (policy, options, gates) in [
        (
            r#""elevated": {"default": "on"}"#,
            &[][..],
            "enabled (elevated.enabled), allowFrom (elevated.allowFrom.local)",
        ),
        (open, &["--sender", "telegram:43"], "allowFrom (elevated.allowFrom.telegram)"),
        (open, &["--sender", "telegram:name:42"], "allowFrom (elevated.allowFrom.telegram)"),
        (open, &["--elevated", "off"], "level (elevated.default)"),
        (
            &format!(r#"{open}, "agents": {{"main": {{"elevated": {{"enabled": false}}}}}}"#),
            &[],
            "enabled (agents.main.elevated.enabled)",
        ),
        (&format!(r#"{open}, "tools": {{"deny": ["exec"]}}"#), &[], "tools (tools)"),
    ] {
        is_refused(&with(FULL, policy), options, &format!("{NOT}{gates}"));
    }
}

#[test]
fn a_named_sender_may() {
    let world =
        with(FULL, r#""elevated": {"enabled": true, "allowFrom": {"telegram": ["42"]}, "default": "on"}"#);
    let mut command = world.command();
    command.args(["--sender", "telegram:42", "--", "bash", "-c", &crate::world::run("RUN echo yes")]);
    let held = world.start_command(command);
    world.answer("allow-once");
    assert_eq!(held.end().stdout, "yes\n");
}

#[test]
fn a_guard_that_asks_nobody_or_only_observes_runs_nothing_outside() {
    is_refused(&world(), &["--unattended"], "this guard asks nobody");
    let world = world();
    let mut command = world.command();
    command.args(["--observe", "--", "bash", "-c", &crate::world::run("RUN touch made 2>&1")]);
    let ended = world.start_command(command).end();
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains("only observes: it would ask about this"), "{ended:?}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn outside_of_a_guard_there_is_nothing_to_ask() {
    let output = ended(std::process::Command::new(guard()).args(["run-outside", "--", "echo", "no"]));
    assert_eq!((output.status, &*output.stdout), (126, ""));
    assert!(output.stderr.contains("no guard has recognised this program"), "{output:?}");
    let none = ended(std::process::Command::new(guard()).arg("run-outside"));
    assert!(none.status == 126 && none.stderr.contains("there is no command"), "{none:?}");
}

#[test]
fn what_cannot_run_is_said_without_a_question() {
    let world = world();
    for (line, text) in [
        ("RUN ''", "the command is empty"),
        ("RUN no-such-program", "not found in the operator's PATH"),
        ("RUN ./nothing", "No such file"),
        ("RUN /etc", "Permission denied"),
        ("RUN echo x <&-", "needs descriptors 0, 1 and 2"),
        ("printf x > x; chmod +x x; RUN ./x", "neither a program for this machine nor a script"),
    ] {
        let ended = unasked(&world, &format!("exec 2>err; {line}; status=$?; cat err; exit $status"));
        assert_eq!(ended.status, 126, "{line}: {ended:?}");
        assert!(ended.stdout.contains(text), "{line}: {ended:?}");
    }
}

#[test]
fn a_denial_of_exec_stands_in_every_level() {
    for level in ["ask", "on", "full"] {
        let policy = OPEN.replace("\"on\"", &format!("\"{level}\""));
        let exec = r#""security": "full", "ask": "off""#;
        let world = with(exec, &policy).policy_text(|text| {
            text.replace("\"default\": \"---\"}", "\"deny\": [\"/usr/bin/id\"], \"default\": \"---\"}")
        });
        let ended = unasked(&world, "RUN id 2>&1");
        assert_eq!(ended.status, 126, "{ended:?}");
        assert!(ended.stdout.contains("/usr/bin/id may not start"), "{ended:?}");
    }
}

#[test]
fn levels_ask_as_they_say() {
    // Full asks nothing where exec.security is full and exec.ask is off, and as on elsewhere.
    let full = OPEN.replace("\"on\"", "\"full\"");
    assert_eq!(unasked(&with(FULL, &full), "RUN echo unasked").stdout, "unasked\n");
    let lists = r#""agents": {"*": {"allowlist": [{"pattern": "/usr/**"}, {"pattern": "GUARD"}]}}"#
        .replace("GUARD", &guard().display().to_string());
    let listed = r#""security": "allowlist", "ask": "on-miss""#;
    let own = r#", "allowlist": [{"pattern": "/usr/bin/echo", "argPattern": "^listed$"}]}"#;
    let tool = |policy: &str| {
        let world = with(listed, &format!("{}{own}, {lists}", policy.strip_suffix('}').expect("an object")));
        crate::world::executable(&world, "bin/tool", std::fs::read("/bin/echo").expect("echo"));
        world
    };
    for policy in [full.as_str(), OPEN] {
        let world = tool(policy);
        assert_eq!(unasked(&world, "RUN echo listed").stdout, "listed\n");
        assert_eq!(answered(&world, "RUN ../bin/tool miss", "allow-once").1.stdout, "miss\n");
        // Inside, the files that its arguments name are judged. Outside nothing is.
        assert_eq!(answered(&world, "RUN echo any", "allow-once").1.stdout, "any\n");
        // Inside, a carrier's children are judged. Outside nothing is.
        for line in ["RUN sh -c 'echo code'", "RUN env echo code", "RUN python3 -c 'print(\"code\")'"] {
            let (card, ended) = answered(&world, line, "allow-once");
            assert_eq!(ended.stdout, "code\n", "{line}: {ended:?} {card}");
        }
    }
    let world = tool(&OPEN.replace("\"on\"", "\"ask\""));
    assert_eq!(answered(&world, "RUN echo asked", "allow-once").1.stdout, "asked\n");
}

/// By another name a program may do something else, as `systemctl` does as `reboot`.
#[test]
fn an_entry_is_for_the_programs_own_name() {
    let own = r#", "allowlist": [{"pattern": "/usr/bin/echo", "argPattern": "^listed$"}]}"#;
    let lists = r#""agents": {"*": {"allowlist": [{"pattern": "/usr/**"}, {"pattern": "GUARD"}]}}"#
        .replace("GUARD", &guard().display().to_string());
    let policy = format!("{}{own}, {lists}", OPEN.strip_suffix('}').expect("an object"));
    let world = with(r#""security": "allowlist", "ask": "on-miss""#, &policy);
    std::os::unix::fs::symlink("/usr/bin/echo", world.work().join("other")).expect("a link");
    assert_eq!(unasked(&world, "RUN echo listed").stdout, "listed\n");
    let (card, ended) = answered(&world, "RUN ./other listed", "deny");
    assert_eq!(ended.stdout, "", "{card}");
}

/// `git status` runs programs that the configuration of its directory's repository names. Inside each is judged.
#[test]
fn an_entry_for_inside_counts_for_nothing_outside() {
    let git = guard_tests::program("git").canonicalize().expect("a real path");
    let lists = r#""agents": {"*": {"allowlist": [{"pattern": "/usr/**"}, {"pattern": "GUARD"},
        {"pattern": "GIT", "argPattern": "^status$"}]}}"#
        .replace("GUARD", &guard().display().to_string())
        .replace("GIT", &git.display().to_string());
    let world = with(r#""security": "allowlist", "ask": "on-miss""#, &format!("{OPEN}, {lists}"));
    let git = git.display();
    let line =
        format!("git init -q . && git config core.fsmonitor 'touch ran; false' && RUN {git} status >&2");
    let (card, ended) = answered(&world, &line, "deny");
    let text = card["because"]["rule"].as_str().expect("a rule");
    assert!(text.contains("agents[\"*\"].allowlist[2] counts inside only"), "{text}");
    assert!(text.contains("write the entry into elevated.allowlist"), "{text}");
    assert!(!world.work().join("ran").exists(), "{ended:?}");
}

/// Inside, the files that its arguments name are judged.
#[test]
fn an_always_of_inside_counts_for_nothing_outside() {
    let lists = r#""agents": {"*": {"allowlist": [{"pattern": "GUARD"}, {"pattern": "/usr/bin/bash"}]}}"#
        .replace("GUARD", &guard().display().to_string());
    let world = with(r#""security": "allowlist", "ask": "on-miss""#, &format!("{OPEN}, {lists}"));
    let (card, ended) =
        answered(&world, "/usr/bin/cp /dev/null saved; /usr/bin/cp /dev/null saved", "allow-always");
    assert_eq!(ended.status, 0, "asked once: {ended:?}");
    assert!(card.to_string().contains("cp"), "{card}");
    let (card, ended) = answered(&world, "RUN /usr/bin/cp /dev/null saved", "allow-once");
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(card.to_string().contains("OUTSIDE"), "{card}");
}

#[test]
fn the_level_is_set_from_outside_only() {
    let world = with(FULL, &OPEN.replace("\"on\"", "\"off\""));
    with_state(&world);
    let line = format!(
        "mkfifo go; {0} session set --elevated full x 2>&1; RUN echo 1; echo ready; read x <go; RUN echo 2; read x <go; RUN echo 3",
        crate::world::own()
    );
    let held = start(&world, &line);
    guard_tests::until("the command", || held.stdout().contains("ready"));
    assert!(held.stdout().contains("this runs inside a guard"), "{}", held.stdout());
    let id = session_id(&world);
    let done = set_level(&world, "full", &id);
    assert_eq!(done.stdout, format!("session {id}: the level of commands outside is full\n"), "{done:?}");
    std::fs::write(world.work().join("go"), "\n").expect("the FIFO");
    guard_tests::until("the second", || held.stdout().contains("\n2\n"));
    assert_eq!(set_level(&world, "off", &id).status, 0);
    std::fs::write(world.work().join("go"), "\n").expect("the FIFO");
    let ended = held.end();
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(!ended.stdout.contains("\n1\n") && !ended.stdout.contains("\n3\n"), "{ended:?}");
}

/// The tree holds its client back until the operator has closed the gates.
#[test]
fn a_yes_from_before_a_gate_was_shut_runs_nothing() {
    const WAITS: &str = r#"#include <unistd.h>
        __attribute__((constructor)) static void waits(void) { while (access("go", F_OK)) usleep(10000); }"#;
    let world = with(FULL, OPEN);
    with_state(&world);
    let library = world.work().join("waits.so");
    guard_tests::compile(WAITS, &library, &["-shared", "-fPIC"]);
    let held = start(&world, "LD_PRELOAD=$PWD/waits.so RUN echo late 2>&1");
    let asked = world.wait_for(1).remove(0);
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    guard_tests::until("the yes", || !crate::world::logged(&world, "elevated").is_empty());
    assert_eq!(set_level(&world, "off", &session_id(&world)).status, 0);
    world.write("work/go", "");
    let ended = held.end();
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains("Failing gates: level") && !ended.stdout.contains("late\n"), "{ended:?}");
}
