//! What the service reads, writes and says.

use guard_tests::{ended, until};
use serde_json::json;

use crate::world::{Gate, outcome, world, write_config};

fn read(gate: &Gate, path: &str) -> String {
    gate.outcome("read", &json!({"path": path}))
}

#[test]
fn a_changed_policy_counts_from_the_next_call_on() {
    let gate = Gate::start();
    assert_eq!(read(&gate, "notes"), "allow");
    let text = gate.world.read("guard.json").expect("a policy");
    let notes = gate.world.work().join("notes").display().to_string();
    let stricter = text.replacen("\"deny\": [", &format!("\"deny\": [\"{notes}\", "), 1);
    gate.world.write("guard.json", &stricter);
    assert_eq!(read(&gate, "notes"), "deny");
    // An invalid one changes nothing, and is reported.
    gate.world.write("guard.json", "{");
    assert_eq!(read(&gate, "notes"), "deny");
    gate.world.write("guard.json", &text);
    assert_eq!(read(&gate, "notes"), "allow");
    let log = gate.world.read("gate.log").expect("a log");
    assert!(log.contains("is in force, from the next tool call on"), "{log}");
    let reloads: Vec<_> =
        gate.world.audit().into_iter().filter(|line| line["operation"] == "reload").collect();
    assert!(reloads.iter().any(|line| line["applied"] == false), "{reloads:#?}");

    // So does openclaw.json.
    write_config(&gate.world, &json!({"tools": {"deny": ["read"]}}));
    assert_eq!(read(&gate, "notes"), "deny");
    write_config(&gate.world, &json!({}));
    assert_eq!(read(&gate, "notes"), "allow");
    gate.world.write("home/.openclaw/openclaw.json", "{ broken");
    assert_eq!(read(&gate, "notes"), "allow");
}

#[test]
fn a_projects_file_counts_from_the_next_call_on() {
    let world = world();
    // Not the directory that the gate is started in.
    let project = world.work().join("project");
    world.write("work/project/notes", "notes\n");
    write_config(&world, &json!({"agents": {"defaults": {"workspace": project}}}));
    let gate = Gate::of(world, &[], &[]);
    assert_eq!(read(&gate, "notes"), "allow");
    let deny = json!({"version": 1, "permissions": {"filesystem": {"deny": [project.join("notes")]}}});
    let file = gate.world.write("work/project/.openclaw/guard.json", deny.to_string());
    assert_eq!(read(&gate, "notes"), "deny");
    std::fs::remove_file(file).expect("a file");
    assert_eq!(read(&gate, "notes"), "allow");
}

#[test]
fn what_is_behind_a_link_counts_from_the_next_call_on() {
    let world = world();
    let file = world.home().join(".openclaw/openclaw.json");
    let dotfiles = world.write("home/dotfiles.json", std::fs::read(&file).expect("a configuration"));
    std::fs::remove_file(&file).expect("a file");
    std::os::unix::fs::symlink(&dotfiles, &file).expect("a link");
    let gate = Gate::of(world, &[], &[]);
    assert_eq!(read(&gate, "notes"), "allow");
    write_config(&gate.world, &json!({"tools": {"deny": ["read"]}}));
    assert!(file.is_symlink());
    assert_eq!(read(&gate, "notes"), "deny");
}

#[test]
fn guard_json_takes_tools_away_and_gives_none() {
    let world = world();
    write_config(&world, &json!({"tools": {"deny": ["web_fetch"]}}));
    let world = world.policy_text(|text| {
        text.replacen(
            "\"version\": 1",
            "\"version\": 1, \"tools\": {\"allow\": [\"group:fs\", \"web_fetch\"], \"deny\": [\"Edit\"]}",
            1,
        )
    });
    let gate = Gate::of(world, &[], &[]);
    assert_eq!(read(&gate, "notes"), "allow");
    let edit = json!({"path": "notes", "edits": [{"oldText": "a", "newText": "b"}]});
    let answer = gate.ask("edit", &edit);
    assert_eq!(answer["because"]["path"], "guard.json tools", "{answer}");
    assert_eq!(gate.outcome("session_status", &json!({})), "deny");
    let answer = gate.ask("web_fetch", &json!({"url": "https://example.com/"}));
    assert_eq!((outcome(&answer), &answer["because"]["source"]), ("deny".to_owned(), &json!("openclaw")));
    let shown = ended(gate.world.command().args(["policy", "show", "--effective"]));
    assert!(shown.stdout.contains("group:fs, web_fetch"), "{shown:?}");
    let bad = world_with_tools(r#"{"allow": "read", "x": 1}"#);
    let validated = ended(bad.command().args(["policy", "validate"]));
    assert_eq!(validated.status, 1, "{validated:?}");
    assert!(
        validated.stdout.contains("tools.allow") || validated.stderr.contains("tools.allow"),
        "{validated:?}"
    );
}

fn world_with_tools(tools: &str) -> guard_tests::World {
    world().policy_text(|text| {
        text.replacen("\"version\": 1", &format!("\"version\": 1, \"tools\": {tools}"), 1)
    })
}

#[test]
fn every_call_has_a_line_of_the_one_log() {
    let gate = Gate::start();
    let home = gate.world.home().display().to_string();
    let secret = format!("{home}/.ssh/id_rsa");
    let who =
        json!({"agentId": "main", "sessionKey": "agent:main:main", "runId": "run-7", "toolCallId": "call-1"});
    assert_eq!(outcome(&gate.ask_as("read", &json!({"path": secret}), &who)), "deny");
    assert_eq!(read(&gate, "notes"), "allow");
    assert_eq!(
        gate.outcome("web_fetch", &json!({"url": "http://10.0.0.1/?token=sk-abcdefghijklmnop1234"})),
        "deny"
    );
    let lines = gate.world.audit();
    let line = lines.iter().find(|line| line["toolCallId"] == "call-1").expect("a line");
    assert_eq!(line["operation"], "tool");
    assert_eq!(
        (&line["tool"], &line["verdict"], &line["tier"]),
        (&json!("read"), &json!("deny"), &json!("gate"))
    );
    assert_eq!((&line["agent"], &line["runId"]), (&json!("main"), &json!("run-7")));
    assert_eq!((&line["sessionKey"], &line["path"]), (&json!("agent:main:main"), &json!(secret)));
    assert_eq!(line["pid"], std::process::id());
    assert!(lines.iter().any(|line| line["operation"] == "tool" && line["verdict"] == "allow"));
    let verified = ended(gate.world.command().args(["audit", "verify"]));
    assert_eq!(verified.status, 0, "{verified:?}");
    let tail = ended(gate.world.command().args(["audit", "tail", "--denied"]));
    assert!(tail.stdout.contains(&format!("deny  tool {secret}")), "{tail:?}");

    // `why` explains a tool's call as it does a program's.
    let id = ended(gate.world.command().args(["audit", "tail", "--denied", "--json"])).stdout;
    let first: serde_json::Value = serde_json::from_str(id.lines().next().expect("a line")).expect("JSON");
    let why = ended(gate.world.command().args(["why", first["id"].as_str().expect("an id")]));
    assert_eq!(why.status, 0, "{why:?}");
    assert!(why.stdout.contains("DENIED") && why.stdout.contains(".ssh"), "{why:?}");
    assert_eq!(read(&gate, &gate.world.root().join("else/file").display().to_string()), "ask");
    let why = ended(gate.world.command().args(["why", "--last"]));
    assert!(why.stdout.contains("else/file"), "{why:?}");
}

#[test]
fn asking_is_left_to_openclaw() {
    let gate = Gate::start();
    let path = gate.world.root().join("else/file").display().to_string();
    let answer = gate.ask("read", &json!({"path": path}));
    assert_eq!(outcome(&answer), "ask");
    let approval = &answer["approval"];
    assert_eq!(approval["allowedDecisions"], json!(["allow-once", "deny"]));
    assert_eq!(approval["timeoutMs"], 120_000);
    let text = |name: &str| approval[name].as_str().expect("a text").to_owned();
    assert!(text("title").chars().count() <= 80 && text("description").chars().count() <= 512);
    assert!(text("description").contains("else/file"), "{answer}");
    let long = format!("{}/else/{}", gate.world.root().display(), "é".repeat(2000));
    let approval = &gate.ask("write", &json!({"path": long, "content": ""}))["approval"];
    assert_eq!(approval["title"].as_str().expect("a title").chars().count(), 80);
}

#[test]
fn unattended_and_observing_are_options_here_too() {
    let gate = Gate::of(world(), &["--unattended"], &[]);
    let path = gate.world.root().join("else/file").display().to_string();
    assert_eq!(read(&gate, &path), "deny");
    assert_eq!(gate.outcome("exec", &json!({"command": "cat x"})), "deny");
    drop(gate);
    let gate = Gate::of(world(), &["--observe"], &[]);
    assert_eq!(read(&gate, "~/.ssh/id_rsa"), "allow");
    let lines = gate.world.audit();
    assert!(lines.iter().any(|line| line["operation"] == "tool" && line["verdict"] == "deny"), "{lines:#?}");
    drop(gate);
    let gate = Gate::of(world(), &[], &["--wrapped"]);
    assert_eq!(gate.outcome("exec", &json!({"command": "cat x"})), "allow");
    let refused = ended(gate.world.command().args(["--agent", "main", "gate", "serve"]));
    assert!(refused.status == 125 && refused.stderr.contains("leave out --agent"), "{refused:?}");
}

#[test]
fn a_log_that_cannot_be_written_denies_where_the_policy_says_so() {
    let world = world().policy_text(|text| {
        text.replacen("\"version\": 1", "\"version\": 1, \"audit\": {\"onError\": \"deny\"}", 1)
    });
    let gate = Gate::of(world, &["--audit", "/dev/full"], &[]);
    let answer = gate.ask("read", &json!({"path": "notes"}));
    assert_eq!(outcome(&answer), "deny", "{answer}");
    assert!(answer["text"].as_str().expect("a text").contains("audit log"), "{answer}");
}

#[test]
fn a_gate_that_was_killed_leaves_nothing_in_the_way() {
    let mut gate = Gate::start();
    gate.kill();
    assert!(std::os::unix::net::UnixStream::connect(gate.socket()).is_err());
    gate.restart();
    assert_eq!(read(&gate, "notes"), "allow");
    until("it is the new one", || std::path::Path::new(&format!("/proc/{}", gate.pid())).exists());
}

#[test]
fn an_invalid_policy_at_the_start_serves_nothing() {
    let world = world();
    world.write("guard.json", "{");
    let served = ended(world.command().args(["gate", "serve"]));
    assert_eq!(served.status, 125, "{served:?}");
    assert!(served.stderr.contains("guard.json"), "{served:?}");
}

#[test]
fn the_socket_is_the_operators_alone() {
    use std::os::unix::fs::PermissionsExt;
    let gate = Gate::start();
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&gate.socket()), 0o600);
    assert_eq!(mode(gate.socket().parent().expect("a directory")), 0o700);
}
