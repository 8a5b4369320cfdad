//! The node host beside OpenClaw's own: the same calls to both, by a gateway of the test. Where they differ, docs/compatibility.md
//! has a row.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use guard_tests::gateway::{Gateway, Release};
use guard_tests::{is_foreign, skip, sources};
use serde_json::{Value, json};

use crate::node_gateway::{FULL, FakeGateway, NodeLink, NodeProcess, TOKEN, world};
use crate::setup::Running;

/// OpenClaw's own node host, in a home of its own.
fn official(home: &Gateway, port: u16, cwd: &Path) -> Child {
    let mut command = home.openclaw();
    command.args([
        "node",
        "run",
        "--host",
        "127.0.0.1",
        "--port",
        &port.to_string(),
        "--display-name",
        "official",
    ]);
    command.env("OPENCLAW_GATEWAY_TOKEN", TOKEN).env_remove("OPENCLAW_GATEWAY_PORT").current_dir(cwd);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a node")
}

/// The calls that are answered otherwise, each with the beginning of its row in docs/compatibility.md.
const DIFFERENT: [(&str, &str); 8] = [
    ("no object of variables", "parameters of a wrong type"),
    ("numbers", "parameters of a wrong type"),
    ("a list", "parameters of a wrong type"),
    ("not found", "a command that cannot start"),
    ("a directory", "a command that cannot start"),
    ("a plan of a shell", "a plan for shell code that starts several programs"),
    ("settings", "the file that `system.execApprovals.get` names"),
    ("setting without a hash", "the file that `system.execApprovals.get` names"),
];

/// A call: its name, the command, and the parameters as text.
type Call = (&'static str, &'static str, String);

fn run(name: &'static str, params: Value) -> Call {
    (name, "system.run", params.to_string())
}

/// The calls. `cwd` is a directory that both may write.
fn calls(cwd: &Path) -> Vec<Call> {
    let cwd = cwd.display().to_string();
    let sh = |line: &str| json!(["sh", "-c", line]);
    let plan = |argv: Value| json!({"command": argv, "cwd": cwd, "agentId": "main", "sessionKey": "agent:main:main"});
    let with = |name, argv: Value, more: Value| {
        let mut params = json!({"command": argv, "cwd": cwd, "runId": "run-1", "sessionKey": "agent:main:main", "agentId": "main"});
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        run(name, params)
    };
    let which = |name, params: &str| (name, "system.which", params.to_owned());
    let prepare = |name, params: Value| (name, "system.run.prepare", params.to_string());
    let none = json!({});
    vec![
        which("which", r#"{"bins": ["sh", "no-such-program", "printenv"]}"#),
        which("which with a slash", r#"{"bins": ["/bin/sh", "../sh"]}"#),
        which("which nothing", r#"{"bins": []}"#),
        which("which without bins", "{}"),
        which("which of a word", r#"{"bins": "sh"}"#),
        with("output", json!(["echo", "out"]), none.clone()),
        with("an exit status", sh("exit 3"), none.clone()),
        with("errors", sh("echo err >&2"), none.clone()),
        with("both", sh("echo out; sleep 0.1; echo err >&2; exit 1"), none.clone()),
        with("killed", sh("kill -9 $$"), none.clone()),
        with("terminated", sh("kill -15 $$"), none.clone()),
        with("where", json!(["pwd"]), none.clone()),
        with("nowhere", json!(["pwd"]), json!({"cwd": "/no/such/directory"})),
        with("in a file", json!(["pwd"]), json!({"cwd": "/etc/passwd"})),
        with("relative", json!(["pwd"]), json!({"cwd": "."})),
        with("a variable", json!(["printenv", "FOO"]), json!({"env": {"FOO": "1"}})),
        with(
            "a blocked variable",
            json!(["printenv", "PATH"]),
            json!({"env": {"PATH": "/x", "LD_PRELOAD": "/y"}}),
        ),
        with("node's variable", json!(["printenv"]), json!({"env": {"NODE_OPTIONS": "-r x"}})),
        with("no object of variables", json!(["echo", "x"]), json!({"env": "FOO=1"})),
        with("the empty command", json!([]), none.clone()),
        with("a word as a command", json!("echo x"), none.clone()),
        with("numbers", json!(["echo", 1, true]), none.clone()),
        run("no command", json!({})),
        with("as written", sh("echo x"), json!({"rawCommand": "sh -c \"echo x\""})),
        with("as the shell gets it", sh("echo x"), json!({"rawCommand": "echo x"})),
        with("written otherwise", sh("echo x"), json!({"rawCommand": "echo y"})),
        with("too slow", sh("echo begun; sleep 20"), json!({"timeoutMs": 1500})),
        with("much", sh("head -c 300000 /dev/zero | tr '\\0' x"), none.clone()),
        with(
            "much, and errors",
            sh("echo err >&2; sleep 0.1; head -c 300000 /dev/zero | tr '\\0' x"),
            none.clone(),
        ),
        with("no text", sh("printf 'a\\377b'"), none.clone()),
        with("two bytes apart", sh("printf '\\303'; sleep 0.2; printf '\\244'"), none.clone()),
        with("no input", json!(["cat"]), none.clone()),
        with(
            "words with spaces",
            json!(["printf", "%s|", "a b", "", "c\"d", "e'f", "$g", "h\ni", "j\\k"]),
            none.clone(),
        ),
        with("quietly", json!(["echo", "x"]), json!({"suppressNotifyOnExit": true})),
        run("without names", json!({"command": ["echo", "x"], "cwd": cwd})),
        with(
            "approved without a plan",
            json!(["echo", "x"]),
            json!({"approved": true, "approvalDecision": "allow-once"}),
        ),
        with(
            "approved with another plan",
            json!(["echo", "x"]),
            json!({"approved": true, "approvalDecision": "allow-once",
            "systemRunPlan": {"argv": ["echo", "y"], "cwd": cwd, "commandText": "echo y", "agentId": "main", "sessionKey": "agent:main:main"}}),
        ),
        with("not found", json!(["no-such-program"]), none.clone()),
        with("a directory", json!(["/usr"]), none),
        prepare("a plan", plan(json!(["echo", "a b"]))),
        prepare("a plan of a shell", plan(sh("echo x | cat"))),
        prepare("a plan of a script", plan(json!(["sh", "./script"]))),
        prepare("a plan of nothing", plan(json!([]))),
        prepare("a plan for nobody", json!({"command": ["echo", "x"]})),
        ("malformed", "system.run", "{\"command\": [".to_owned()),
        ("a list", "system.run", "[1]".to_owned()),
        ("unknown", "system.notify.now", "{}".to_owned()),
        ("settings", "system.execApprovals.get", "{}".to_owned()),
        ("setting without a hash", "system.execApprovals.set", r#"{"file": {"version": 1}}"#.to_owned()),
        (
            "setting with another hash",
            "system.execApprovals.set",
            r#"{"file": {"version": 1}, "baseHash": "0"}"#.to_owned(),
        ),
        ("setting nothing", "system.execApprovals.set", "{}".to_owned()),
    ]
}

/// What a node answers to a call, and the events that it sends for it: without ids and times.
fn answered(link: &mut NodeLink, (_, command, params): &Call) -> Value {
    link.events.clear();
    let id = link.invoke_with(command, &json!({}), json!({"paramsJSON": params, "timeoutMs": 60_000}));
    let mut result = link.result(&id);
    link.listen_for(Duration::from_millis(100));
    for key in ["id", "nodeId"] {
        result.as_object_mut().expect("an object").remove(key);
    }
    let events = link
        .events
        .iter()
        .filter(|event| event["event"].as_str().is_some_and(|name| name.starts_with("exec.")));
    let events: Vec<Value> = events
        .map(|event| {
            let mut payload: Value =
                serde_json::from_str(event["payloadJSON"].as_str().unwrap_or("null")).expect("JSON");
            if payload["runId"] != "run-1" {
                payload["runId"] = json!("made up");
            }
            json!([event["event"], payload])
        })
        .collect();
    json!({"result": result, "events": events})
}

#[test]
fn the_same_calls_to_both() {
    if !is_foreign() {
        return skip("OpenClaw's gateways are left to make test-full");
    }
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    world.write("work/script", "echo script\n");
    let home = Gateway::new(Release::Current);
    let _official = Running(official(&home, gateway.port, &world.work()));
    let mut theirs = gateway.node();
    let _node = NodeProcess::start(&world, &[]);
    let mut ours = gateway.node();
    let calls = calls(&world.work());
    let table =
        std::fs::read_to_string(sources().join("../docs/compatibility.md")).expect("docs/compatibility.md");
    let mut differ = Vec::new();
    for call in &calls {
        let (theirs, ours) = (answered(&mut theirs, call), answered(&mut ours, call));
        match DIFFERENT.iter().find(|(name, _)| *name == call.0) {
            Some((name, row)) => {
                assert!(table.contains(&format!("\n| {row}")), "{row}");
                assert_ne!(theirs, ours, "{name}: the row is out of date");
            }
            None if theirs == ours => {}
            None => differ.push(format!("{}:\n  OpenClaw's {theirs}\n  ours       {ours}", call.0)),
        }
    }
    assert!(differ.is_empty(), "{} of {} differ\n{}", differ.len(), calls.len(), differ.join("\n"));
}
