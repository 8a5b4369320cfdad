//! OpenClaw's own approvals next to the policy.

use guard_tests::{Ended, World, ended};

/// Only listed programs may start.
const STRICT: &str = r#"{"version": 1, "exec": {"security": "allowlist", "ask": "off", "carriers": [], "safeBins": []},
    "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rw-"}}}}"#;

/// Runs a command with this store in a state directory of the world.
fn run(world: &World, store: &str, argv: &[&str]) -> Ended {
    world.write("state/exec-approvals.json", store);
    ended(world.command().env("OPENCLAW_STATE_DIR", world.root().join("state")).arg("--").args(argv))
}

/// Returns the real path of a program, as entries name it.
fn program(name: &str) -> String {
    let paths =
        ["/usr/bin", "/bin"].map(|directory| std::path::Path::new(directory).join(name).canonicalize());
    paths.into_iter().flatten().next().expect("a program").to_str().expect("text").to_owned()
}

#[test]
fn an_entry_allows_what_it_names() {
    let world = World::bare().policy(STRICT);
    let id = program("id");
    let store = format!(
        r#"{{"version": 1, "agents": {{"main": {{"allowlist": [{{"pattern": "{id}", "argPattern": "^-u$"}}]}}}}}}"#
    );
    let allowed = run(&world, &store, &[&id, "-u"]);
    assert_eq!((allowed.status, allowed.guard_lines()), (0, vec![]), "{}", allowed.stderr);
    assert_eq!(run(&world, &store, &[&id, "-g"]).status, 126);
    assert_eq!(run(&world, &store, &[&program("uname")]).status, 126);
    assert_eq!(run(&world, r#"{"version": 1}"#, &[&id, "-u"]).status, 126);
    let audit = world.audit();
    let paths: Vec<&str> = audit.iter().filter_map(|line| line["because"]["path"].as_str()).collect();
    assert!(paths.contains(&"openclaw.agents.main.allowlist[0]"), "{paths:?}");
    let asked = ended(
        world
            .command()
            .env("OPENCLAW_STATE_DIR", world.root().join("state"))
            .args(["check", "--json", "--", &id]),
    );
    assert_eq!(asked.status, 1, "check reads the store too: {}", asked.stdout);
}

#[test]
fn deny_denies_everything() {
    for world in [World::open(), World::bare()] {
        assert_eq!(run(&world, r#"{"version": 1}"#, &["sh", "-c", "true"]).status, 0);
        for store in [
            r#"{"version": 1, "defaults": {"security": "deny"}}"#,
            r#"{"version": 1, "agents": {"*": {"security": "deny", "allowlist": ["*"]}}}"#,
            r#"{"version": 1, "agents": {"default": {"security": "deny"}}}"#,
        ] {
            let denied = run(&world, store, &["sh", "-c", "echo ran"]);
            assert_eq!((denied.status, &*denied.stdout), (126, ""), "{store}");
            let [line, ..] = denied.guard_lines()[..] else { panic!("{}", denied.stderr) };
            assert!(line.contains("(openclaw.") && line.ends_with(".security \"deny\")"), "{line}");
        }
        let other = r#"{"version": 1, "agents": {"other": {"security": "deny"}}}"#;
        assert_eq!(run(&world, other, &["sh", "-c", "true"]).status, 0);
    }
}

#[test]
fn a_broken_store_denies_and_says_where() {
    for world in [World::open(), World::bare()] {
        let file = world.root().join("state/exec-approvals.json");
        for (store, position) in [
            ("{\n  \"version\": 1,\n}", ":3:1: trailing comma"),
            ("", ":1:1: EOF while parsing a value"),
            ("{\"version\": 2}", ":1:13: version: must be 1"),
        ] {
            let denied = run(&world, store, &["sh", "-c", "echo ran"]);
            assert_eq!((denied.status, &*denied.stdout), (126, ""), "{store}");
            let [why, what, ..] = denied.guard_lines()[..] else { panic!("{}", denied.stderr) };
            assert!(why.starts_with(&format!("openclaw-guard: {}{position}", file.display())), "{why}");
            assert!(why.contains("no program may start until it is repaired or moved away"), "{why}");
            assert!(what.ends_with("(openclaw: exec-approvals.json cannot be read)"), "{what}");
            assert_eq!(world.read("state/exec-approvals.json").as_deref(), Some(store));
        }
    }
}

#[test]
fn the_tree_cannot_reach_it() {
    let world = World::open();
    let store = r#"{"version": 1, "socket": {"token": "t0k3n"}}"#;
    let line = "cat $OPENCLAW ../state/*; echo '{}' > ../state/exec-approvals.json; mv ../state ../gone; \
                rm -rf ../state; echo end";
    let ended = run(&world, store, &["sh", "-c", line]);
    assert_eq!(ended.stdout, "end\n", "{}", ended.stderr);
    assert_eq!(world.read("state/exec-approvals.json").as_deref(), Some(store));
}

#[test]
fn text_of_the_store_is_shown_without_control_characters() {
    let world = World::open();
    let store = "{\"version\": 1, \"agents\": {\"main\": {\"security\": \"\u{202e}\\u001b]0;x\\u0007\\u009b\"}, \"\\u001b[31m\": {\"ask\": 1}}}";
    let shown = run(&world, store, &["true"]);
    assert_eq!(shown.guard_lines().len(), 2, "{}", shown.stderr);
    assert!(!shown.stderr.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{:?}", shown.stderr);
}

#[test]
fn the_guard_creates_no_openclaw_store() {
    for database in [false, true] {
        let world = World::open();
        world.write("state/agents/x", "");
        if database {
            world.write("state/state/openclaw.sqlite", "");
        }
        let state = world.root().join("state");
        let ended = ended(world.command().env("OPENCLAW_STATE_DIR", &state).args(["--", "true"]));
        assert_eq!((ended.status, ended.guard_lines()), (0, vec![]));
        assert!(!state.join("exec-approvals.json").exists());
    }
}

#[test]
fn a_broken_store_is_a_warning_of_validate_alone() {
    let world = World::open();
    world.write("state/exec-approvals.json", "{");
    let policy = |arguments: &[&str]| {
        let state = world.root().join("state");
        ended(world.command().env("OPENCLAW_STATE_DIR", state).arg("policy").args(arguments))
    };
    let output = policy(&["validate"]);
    assert!(
        output.status == 0 && output.stdout.contains("exec-approvals.json:1:"),
        "{}{}",
        output.stdout,
        output.stderr
    );
    assert_eq!(policy(&["validate", "--strict"]).status, 1);
    // `policy test` ignores the approvals: its result is the same on every machine.
    assert_eq!(policy(&["test"]).status, 0);
}

/// Runs without the variable find their policy, their approvals and their tokens there.
#[test]
fn the_usual_state_directory_stays_closed_where_a_variable_names_another() {
    let world = World::open();
    world.write("state/openclaw.json", "{}");
    for file in
        ["guard.json", "openclaw.json", "exec-approvals.json", "guard/approvals.json", "credentials/token"]
    {
        world.write(format!("home/.openclaw/{file}"), "{}");
    }
    let script = "cd ~/.openclaw; for f in guard.json openclaw.json exec-approvals.json guard/approvals.json credentials/token; do
        cat $f && echo read; echo x > $f; rm -f $f; done; ln -s /etc other; mv ~/.openclaw ~/moved; mkdir new; true";
    let run = |world: &World| {
        let state = world.root().join("state");
        ended(world.command().env("OPENCLAW_STATE_DIR", state).args(["--", "sh", "-c", script]))
    };
    let closed = run(&world);
    assert_eq!(closed.stdout, "", "{}", closed.stderr);
    for file in
        ["guard.json", "openclaw.json", "exec-approvals.json", "guard/approvals.json", "credentials/token"]
    {
        assert_eq!(world.read(format!("home/.openclaw/{file}")).as_deref(), Some("{}"), "{file}");
    }
    // Nor is it made: the next run would find what the tree put there.
    let world = World::open();
    let ended = ended(world.command().env("OPENCLAW_STATE_DIR", world.root().join("state")).args([
        "--",
        "mkdir",
        "../home/.openclaw",
    ]));
    assert_ne!(ended.status, 0);
    // The guard itself records there which state directory the run had.
    let names = std::fs::read_dir(world.home().join(".openclaw")).into_iter().flatten().flatten();
    let others: Vec<_> = names.map(|name| name.file_name()).filter(|name| name != "guard").collect();
    assert!(others.is_empty(), "{others:?}");
}
