//! What runs outside, with what, and what comes back.

use guard_tests::{is_root, until};

use crate::world::{answered, executable, logged, start, unasked, world};

#[test]
fn one_yes_installs_where_the_policy_denies() {
    let world = world();
    world.write("work/Makefile", "install:\n\tcp Makefile ../closed/installed\n");
    let inside = world.start(&["make", "install"]).end();
    assert_ne!(inside.status, 0, "{inside:?}");
    let (asked, ended) = answered(&world, "RUN make install", "allow-once");
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(world.root().join("closed/installed").exists());
    assert_eq!(asked["argv"], serde_json::json!(["make", "install"]));
    let because = asked["because"]["text"].as_str().expect("a reason");
    assert!(because.contains("OUTSIDE the guard"), "{because}");
    assert_eq!(asked["cwd"], world.work().display().to_string());
    let ran = logged(&world, "elevated");
    assert_eq!((ran.len(), &ran[0]["argv"][1]), (1, &"install".into()), "{ran:?}");
    assert!(ran[0]["because"]["text"].as_str().is_some_and(|text| text.contains("approved by the operator")));
    let end = logged(&world, "session");
    assert_eq!((&end[0]["event"], &end[0]["status"]), (&"outside-end".into(), &0.into()), "{end:?}");
}

/// No rule of a template names the link /lib64, by which programs name their loader.
#[test]
fn a_program_of_the_systems_runs_under_a_template() {
    let world = guard_tests::World::bare().policy(&format!(
        r#"{{"version": 1, "extends": "coding", {}, "approvals": {{"routes": ["cli"]}}, "exec": {{"timeoutMs": 100000}},
            "permissions": {{"filesystem": {{"rules": {{"{}": "r-x"}}}}}}}}"#,
        crate::world::OPEN,
        crate::world::own(),
    ));
    let world = world.attended();
    let held = start(&world, "RUN true; echo $?");
    let question = world.answer("allow-once");
    assert_eq!(question["argv"], serde_json::json!(["true"]), "{question}");
    let ended = held.end();
    assert_eq!(ended.stdout, "0\n", "{ended:?}");
}

#[test]
fn nothing_runs_after_a_no() {
    let world = world();
    let (_, ended) = answered(&world, "RUN touch made 2>&1", "deny");
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains("does not run outside the guard: denied by the operator"), "{ended:?}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn nothing_runs_without_an_answer() {
    let world =
        crate::world::with(r#""security": "full", "ask": "off", "askFallback": "full""#, crate::world::OPEN)
            .policy_text(|text| text.replace("100000", "300"));
    let ended = unasked(&world, "RUN touch made 2>&1");
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains("nobody answered in time"), "{ended:?}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn statuses_and_signals_come_back() {
    let world = world();
    for (command, status) in [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        let (_, ended) = answered(&world, &format!("RUN sh -c '{command}'; exit $?"), "allow-once");
        assert_eq!(ended.status, status, "{command}: {ended:?}");
    }
    assert_eq!(logged(&world, "session").last().expect("an end")["status"], 137);
}

#[test]
fn pipes_and_files_are_the_clients_own() {
    let world = world();
    let (_, ended) =
        answered(&world, "echo in | RUN sh -c 'cat; echo err >&2' 2>err | tr a-z A-Z; cat err", "allow-once");
    assert_eq!(ended.stdout, "IN\nerr\n", "{ended:?}");
    let (_, ended) = answered(&world, "echo text > in; RUN cat <in >out; cat out", "allow-once");
    assert_eq!(ended.stdout, "text\n", "{ended:?}");
}

#[test]
fn the_command_has_the_operators_environment_and_nothing_of_the_guards() {
    let world = world();
    let line = "export MINE=1 HOME=/elsewhere; cd /usr; RUN sh -c \
        'env; pwd -P; grep -E \"^(Seccomp|NoNewPrivs|SigBlk|SigIgn|CapBnd):\" /proc/self/status; ls /proc/$$/fd'";
    let (_, ended) = answered(&world, line, "allow-once");
    let own = std::fs::read_to_string("/proc/self/status").expect("a status");
    for name in ["Seccomp:", "NoNewPrivs:", "CapBnd:"] {
        let line = own.lines().find(|line| line.starts_with(name)).expect("a line");
        assert!(ended.stdout.contains(line), "{line}: {ended:?}");
    }
    for line in ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "\n/usr\n", "PWD=/usr\n"] {
        assert!(ended.stdout.contains(line), "{line}: {ended:?}");
    }
    assert!(ended.stdout.contains(&format!("HOME={}\n", world.home().display())), "{ended:?}");
    assert!(!ended.stdout.contains("MINE") && ended.stdout.ends_with("\n0\n1\n2\n"), "{ended:?}");
}

#[test]
fn signals_to_the_client_reach_the_command() {
    let world = world();
    for name in ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"] {
        let line = format!(
            "RUN sh -c 'trap \"echo got {name}; exit 9\" {name}; echo ready; while :; do sleep 0.05; done' & \
             while [ ! -e go ]; do sleep 0.05; done; kill -{name} $!; wait $!; exit $?"
        );
        let held = start(&world, &line);
        world.answer("allow-once");
        until("the command", || held.stdout() == "ready\n");
        world.write("work/go", "");
        let ended = held.end();
        assert_eq!((ended.status, &*ended.stdout), (9, &*format!("ready\ngot {name}\n")), "{ended:?}");
        std::fs::remove_file(world.work().join("go")).expect("to remove a file");
    }
}

#[test]
fn a_program_gains_its_owners_rights_outside() {
    if !is_root() {
        return guard_tests::skip("only root can make a set-user-ID program of another user's");
    }
    let world = world();
    let id = executable(&world, "bin/id", std::fs::read("/usr/bin/id").expect("id"));
    std::os::unix::fs::chown(&id, Some(65534), None).expect("to give a file away");
    std::fs::set_permissions(&id, std::os::unix::fs::PermissionsExt::from_mode(0o4755)).expect("a mode");
    assert_eq!(unasked(&world, &format!("{id} -u")).stdout, "0\n");
    let (_, ended) = answered(&world, &format!("RUN {id} -u"), "allow-once");
    assert_eq!(ended.stdout, "65534\n", "{ended:?}");
}
