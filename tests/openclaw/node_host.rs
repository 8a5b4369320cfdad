//! The node host, called by a gateway of the test.

use std::time::Duration;

use guard_tests::until;
use serde_json::{Value, json};

use crate::node_gateway::{
    ASK, Admits, FULL, FakeGateway, NodeProcess, REQUEST, gone, processes, status, world,
};

fn log(world: &guard_tests::World) -> String {
    world.read("node.log").unwrap_or_default()
}

#[test]
fn it_connects_as_openclaws_node_does() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &["--commands", "system.run,system.which"]);
    let link = gateway.node();
    let connect = &link.connect;
    assert_eq!(
        (connect["role"].clone(), connect["scopes"].clone(), connect["caps"].clone()),
        (json!("node"), json!([]), json!(["system"]))
    );
    assert_eq!(connect["commands"], json!(["system.run", "system.which"]));
    let client = &connect["client"];
    for (key, value) in [
        ("id", "node-host"),
        ("mode", "node"),
        ("platform", "linux"),
        ("deviceFamily", "Linux"),
        ("displayName", "made-up"),
    ] {
        assert_eq!(client[key], value, "{client}");
    }
    assert!(client["instanceId"].is_string());
    assert_eq!((connect["minProtocol"].clone(), connect["maxProtocol"].clone()), (json!(3), json!(4)));
    let own = world.home().join(".openclaw/guard");
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(own.join("node.json")).expect("node.json"))
            .expect("JSON");
    assert_eq!((record["nodeId"].as_str(), record["version"].clone()), (Some(&*link.id()), json!(1)));
    assert!(!world.home().join(".openclaw/node.json").exists());
    assert!(
        !own.join("device.json").exists()
            || std::fs::read_to_string(own.join("device.json")).expect("a key")
                != std::fs::read_to_string(own.join("node-device.json")).expect("a key")
    );
    // The second step of the pairing is printed.
    until("the request is printed", || log(&world).contains(&format!("openclaw nodes approve {REQUEST}")));
    until("the status says so", || status(&world)["surface"]["requestId"] == REQUEST);
    assert_eq!(status(&world)["gateway"]["connected"], true);
    // The token of this role is kept, and is not the operator's.
    let key = std::fs::read_to_string(own.join("node-device.json")).expect("a key");
    assert!(key.contains("issued-for-node") && !key.contains("issued-for-operator"), "{key}");
    assert_eq!(node.end(), 0);
    assert_eq!(status(&world)["running"], false);
}

#[test]
fn commands_run_and_are_answered() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let which = link.call("system.which", &json!({"bins": ["sh", "no-such-program", "/bin/sh"]}));
    assert_eq!(which["payloadJSON"]["bins"].as_object().expect("bins").len(), 1, "{which}");
    let end = link.run(&["sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert_eq!(
        end,
        json!({"exitCode": 3, "timedOut": false, "success": false, "stdout": "out\n", "stderr": "err\n", "error": null})
    );
    let finished = link.heard("exec.finished")["payloadJSON"].clone();
    assert_eq!(
        (finished["runId"].as_str(), finished["output"].as_str(), finished["exitCode"].clone()),
        (Some("run-1"), Some("out\n\nerr"), json!(3))
    );
    assert_eq!(finished["command"], "sh -c \"echo out; echo err >&2; exit 3\"");
    let end = link.run(&["grep", "Seccomp:", "/proc/self/status"]);
    assert_eq!(end["stdout"], "Seccomp:\t2\n", "{end}");
    let end = link.run(&["sh", "-c", "kill -9 $$"]);
    assert_eq!((end["exitCode"].clone(), end["success"].clone()), (Value::Null, json!(false)));
    let result = link.call("system.run", &json!({"command": ["pwd"], "cwd": "/no/such"}));
    assert!(
        result["payloadJSON"]["error"]
            .as_str()
            .expect("an error")
            .starts_with("node exec working directory does not exist on the node host: /no/such"),
        "{result}"
    );
    let result = link.call(
        "system.run",
        &json!({"command": ["sh", "-c", "echo $LANG-$FOO"], "env": {"FOO": "1", "LANG": "C"}}),
    );
    assert_eq!(result["payloadJSON"]["stdout"], "C-\n");
    let result = link.call("system.run", &json!({"command": ["printenv", "FOO"], "env": {"FOO": "1"}}));
    assert_eq!(result["payloadJSON"]["stdout"], "1\n");
    assert_eq!(
        link.call("system.notify", &json!({}))["error"],
        json!({"code": "UNAVAILABLE", "message": "command not supported"})
    );
    until("the last run is in the status", || status(&world)["lastRun"]["exitCode"] == 0);
}

#[test]
fn a_secret_file_is_denied_and_the_denial_says_for_whom() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let secret = world.root().join("shut/secret").display().to_string();
    let end = link.run(&["cat", &secret]);
    assert_eq!((end["exitCode"].clone(), end["stdout"].clone()), (json!(1), json!("")));
    assert!(end["stderr"].as_str().expect("text").contains("Permission denied"), "{end}");
    let denied =
        || world.audit().into_iter().find(|line| line["verdict"] == "deny" && line["path"] == *secret);
    until("the denial is logged", || denied().is_some());
    let line = denied().expect("a line");
    for (key, value) in
        [("agent", "main"), ("sessionKey", "agent:main:main"), ("runId", "run-1"), ("nodeId", &link.id())]
    {
        assert_eq!(line[key], value, "{line}");
    }
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let mark = "7611.1";
    let line = format!("echo begun; setsid sleep {mark} >/dev/null 2>&1 </dev/null & sleep {mark}");
    let result = link.call("system.run", &json!({"command": ["sh", "-c", line], "timeoutMs": 15_000}));
    assert_eq!(
        result["payloadJSON"],
        json!({"exitCode": 124, "timedOut": true, "success": false, "stdout": "begun\n", "stderr": "", "error": null})
    );
    assert_eq!(processes(&format!("sleep {mark}")), Vec::<String>::new());
    // What a command leaves in the background ends with it, too.
    let end = link.run(&["sh", "-c", &format!("sleep {mark} >/dev/null 2>&1 & echo over")]);
    assert_eq!(end["stdout"], "over\n");
    assert_eq!(processes(&format!("sleep {mark}")), Vec::<String>::new());
}

#[test]
fn a_cancelled_run_ends_without_a_result() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let id = link.invoke("system.run", &json!({"command": ["sh", "-c", "sleep 7612.1 & sleep 7612.1"]}));
    until("it runs", || processes("sleep 7612.1").len() >= 2);
    let node = link.id();
    link.event("node.invoke.cancel", &json!({"invokeId": id, "nodeId": node}));
    gone("sleep 7612.1");
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    assert_eq!(link.has_result(&id), None);
    assert!(link.events.iter().all(|event| !event.to_string().contains("7612.1")), "{:?}", link.events);
}

#[test]
fn no_more_runs_than_max_running() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL).policy_text(|text| {
        text.replacen("\"version\": 1", "\"version\": 1, \"node\": {\"maxRunning\": 2}", 1)
    });
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let command = json!({"command": ["sh", "-c", "until [ -e go ]; do sleep 0.05; done"]});
    let running = [link.invoke("system.run", &command), link.invoke("system.run", &command)];
    until("two run", || {
        link.listen_for(Duration::from_millis(20));
        status(&world)["runs"] == 2
    });
    let busy = link.call("system.run", &command);
    let why = "busy: no more than 2 commands at a time; try again later";
    assert_eq!(busy["error"], json!({"code": "UNAVAILABLE", "message": why}));
    world.write("work/go", "");
    for id in running {
        assert_eq!(link.result(&id)["payloadJSON"]["exitCode"], 0);
    }
    assert_eq!(link.run(&["true"])["exitCode"], 0);
}

#[test]
fn the_same_key_is_one_run() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let command = json!({"command": ["sh", "-c", "echo once >> ran; until [ -e go ]; do sleep 0.05; done"]});
    let more = || json!({"timeoutMs": 60_000, "idempotencyKey": "k"});
    let ids = [0; 3].map(|_| link.invoke_with("system.run", &command, more()));
    until("it runs", || {
        link.listen_for(Duration::from_millis(20));
        world.read("work/ran").is_some()
    });
    world.write("work/go", "");
    for id in &ids {
        assert_eq!(link.result(id)["payloadJSON"]["exitCode"], 0);
    }
    assert_eq!(world.read("work/ran").expect("it ran"), "once\n");
    // Afterwards the key is free, as with OpenClaw.
    let again = link.invoke_with("system.run", &command, more());
    assert_eq!(link.result(&again)["ok"], true);
    assert_eq!(world.read("work/ran").expect("it ran"), "once\nonce\n");
}

#[test]
fn malformed_calls_are_refused_and_the_connection_stays() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let node = link.id();
    for text in [
        "{",
        "[]",
        "null",
        "\u{1}",
        "{\"type\": \"event\"}",
        "{\"type\": \"event\", \"event\": 1}",
        "{\"type\": \"res\", \"id\": 5}",
    ] {
        link.say_text(text);
    }
    for payload in [
        json!(null),
        json!([]),
        json!({"id": "x"}),
        json!({"nodeId": node}),
        json!({"id": "x", "nodeId": "another", "command": "system.run"}),
    ] {
        link.event("node.invoke.request", &payload);
        link.event("node.invoke.cancel", &payload);
    }
    link.event("node.invoke.request", &json!({"id": "typed", "nodeId": node, "command": 1}));
    assert_eq!(link.result("typed")["error"]["code"], "INVALID_REQUEST");
    for (params, message) in [
        (json!({"command": []}), "command required"),
        (json!({"command": "ls"}), "command required"),
        (
            json!({"command": ["true"], "env": {"LD_PRELOAD": "x", "PATH": "/x"}}),
            "SYSTEM_RUN_DENIED: environment override rejected (blocked override keys: LD_PRELOAD, PATH)",
        ),
        (json!({"command": ["true"], "approved": true}), "explicit approval requires matching systemRunPlan"),
        (
            json!({"command": ["true"], "rawCommand": "false"}),
            "INVALID_REQUEST: rawCommand does not match command",
        ),
    ] {
        assert_eq!(
            link.call("system.run", &params)["error"],
            json!({"code": "INVALID_REQUEST", "message": message})
        );
    }
    link.event(
        "node.invoke.request",
        &json!({"id": "broken", "nodeId": node, "command": "system.run", "paramsJSON": "{"}),
    );
    assert_eq!(
        link.result("broken")["error"]["message"],
        "Error: INVALID_REQUEST: paramsJSON malformed JSON"
    );
    // Almost 4 MiB, which is more than the kernel takes as arguments.
    let long = link.call("system.run", &json!({"command": ["echo", "x".repeat((4 << 20) - 4000)]}));
    assert_eq!(long["error"]["code"], "INVALID_REQUEST");
    assert_eq!(link.run(&["true"])["exitCode"], 0);
}

#[test]
fn output_is_cut_where_it_is_said_to_be() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let end = link.run(&["sh", "-c", "yes aaaaaaaaa | head -c 300000"]);
    let stdout = end["stdout"].as_str().expect("text");
    assert_eq!(stdout.len(), 200_000 + "\n... (truncated)".len());
    assert!(stdout.ends_with("\n... (truncated)") && end["stderr"] == "");
    let told = link.heard("exec.finished")["payloadJSON"]["output"].as_str().expect("text").to_owned();
    assert!(told.starts_with("... (truncated) ") && told.ends_with("... (truncated)"));
    assert_eq!(told.len(), 20_000 + "... (truncated) ".len());
}

#[test]
fn the_gateways_settings_only_tighten() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let got = link.call("system.execApprovals.get", &json!({}))["payloadJSON"].clone();
    assert_eq!(got["exists"], false);
    let set = |link: &mut crate::node_gateway::NodeLink, defaults: Value, hash: &Value| {
        link.call("system.execApprovals.set", &json!({"file": {"version": 1, "defaults": defaults, "agents": {"*": {"allowlist": [{"pattern": "/usr/**"}]}}}, "baseHash": hash}))
    };
    let first =
        set(&mut link, json!({"security": "full", "ask": "off"}), &Value::Null)["payloadJSON"].clone();
    // `wc` is in no allowlist of guard.json: neither the entry nor `full` lets it run.
    assert_eq!(link.run(&["wc", "/dev/null"])["message"], "SYSTEM_RUN_DENIED: approval required");
    assert_eq!(link.heard("exec.denied")["payloadJSON"]["reason"], "approval-required");
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    let wrong = set(&mut link, json!({}), &json!("bad"));
    assert!(
        wrong["error"]["message"]
            .as_str()
            .expect("text")
            .ends_with("exec approvals changed; reload and retry")
    );
    let none = set(&mut link, json!({}), &Value::Null);
    assert!(
        none["error"]["message"]
            .as_str()
            .expect("text")
            .ends_with("exec approvals base hash required; reload and retry")
    );
    let second = set(&mut link, json!({"security": "deny"}), &first["hash"]);
    assert_eq!(second["ok"], true, "{second}");
    let denied = link.run(&["true"]);
    assert_eq!(denied, json!({"code": "SYSTEM_RUN_DENIED", "message": "SYSTEM_RUN_DISABLED: security=deny"}));
    assert!(world.home().join(".openclaw/guard/node-approvals.json").exists());
    assert!(!world.home().join(".openclaw/exec-approvals.json").exists());
}

/// Prepares a run and returns the parameters of the approved one.
pub fn approved(link: &mut crate::node_gateway::NodeLink, argv: &[&str], cwd: &std::path::Path) -> Value {
    let prepared = link.call(
        "system.run.prepare",
        &json!({"command": argv, "cwd": cwd, "agentId": "main", "sessionKey": "agent:main:main"}),
    );
    assert_eq!(prepared["ok"], true, "{prepared}");
    let plan = &prepared["payloadJSON"]["plan"];
    json!({"command": plan["argv"], "rawCommand": plan["commandText"], "cwd": plan["cwd"], "agentId": "main", "sessionKey": "agent:main:main",
        "runId": "approved-1", "systemRunPlan": plan, "approved": true, "approvalDecision": "allow-once"})
}

#[test]
fn an_approval_is_for_one_run_of_what_was_prepared() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let program = world.write("bin/asked", std::fs::read("/bin/echo").expect("echo"));
    crate::world::mode(&program, 0o755);
    let program = program.display().to_string();
    let required = json!({"code": "SYSTEM_RUN_DENIED", "message": "SYSTEM_RUN_DENIED: approval required"});
    assert_eq!(link.run(&[&program, "x"]), required);
    assert_eq!(link.heard("exec.denied")["payloadJSON"]["reason"], "approval-required");
    let params = approved(&mut link, &[&program, "approved run"], &world.work());
    let end = link.call("system.run", &params);
    assert_eq!(end["payloadJSON"]["stdout"], "approved run\n", "{end}");
    assert_eq!(link.call("system.run", &params)["error"], required, "the approval is used up");
    let line = world.audit().into_iter().find(|line| line["verdict"] == "allow" && line["path"] == *program);
    let line = line.expect("the start is logged");
    assert!(line.to_string().contains("approved at OpenClaw's gateway"), "{line}");
}

#[test]
fn a_script_that_has_changed_is_not_the_approved_one() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let script = world.write("bin/tool", "#!/bin/sh\necho first\n");
    crate::world::mode(&script, 0o755);
    let name = script.display().to_string();
    let params = approved(&mut link, &[&name], &world.work());
    assert_eq!(link.call("system.run", &params)["payloadJSON"]["stdout"], "first\n");
    let params = approved(&mut link, &[&name], &world.work());
    world.write("bin/tool", "#!/bin/sh\necho second\n");
    let refused = link.call("system.run", &params);
    assert_eq!(
        refused["error"]["message"],
        "SYSTEM_RUN_DENIED: approval script operand changed before execution"
    );
}

#[test]
fn a_policy_that_has_changed_needs_another_approval() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let params = approved(&mut link, &["wc", "/dev/null"], &world.work());
    let policy = world.read("guard.json").expect("a policy");
    world.write("guard.json", policy.replace("\"on-miss\"", "\"always\""));
    let refused = link.call("system.run", &params);
    assert_eq!(
        refused["error"]["message"],
        "SYSTEM_RUN_DENIED: exec approval policy changed; request approval again"
    );
    world.write("guard.json", policy + "\n");
    let refused = link.call("system.run", &params);
    assert_eq!(refused["error"]["code"], "SYSTEM_RUN_DENIED", "{refused}");
}

#[test]
fn it_reconnects_and_its_runs_end_with_the_connection() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    link.invoke("system.run", &json!({"command": ["sleep", "7613.1"], "runId": "lost-1"}));
    until("it runs", || !processes("sleep 7613.1").is_empty());
    link.hang_up();
    gone("sleep 7613.1");
    let mut link = gateway.node();
    // The gateway hears of the run that it has lost.
    let told = link.heard("exec.finished")["payloadJSON"].clone();
    assert_eq!((told["runId"].as_str(), told["success"].clone()), (Some("lost-1"), json!(false)));
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    assert_eq!(link.connect["auth"]["token"], crate::node_gateway::TOKEN);
}

#[test]
fn a_device_that_is_not_paired_waits_for_a_human() {
    let gateway = FakeGateway::start();
    gateway.admit(Admits::Nobody);
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    until("the command is printed", || log(&world).contains(&format!("openclaw devices approve {REQUEST}")));
    std::thread::sleep(Duration::from_secs(2));
    assert!(gateway.tries() <= 2, "{} tries", gateway.tries());
    assert_eq!(log(&world).matches("openclaw devices approve").count(), 1, "{}", log(&world));
    gateway.admit(Admits::Nodes);
    let mut link = gateway.node();
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    assert_eq!(node.end(), 0);
}

#[test]
fn a_node_that_is_killed_leaves_no_tree() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    link.invoke("system.run", &json!({"command": ["sh", "-c", "setsid sleep 7614.1 & sleep 7614.1"]}));
    until("it runs", || processes("sleep 7614.1").len() >= 2);
    node.signal("-KILL");
    gone("sleep 7614.1");
}

#[test]
fn one_node_runs_for_a_state_directory() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let _link = gateway.node();
    let mut second = world.command();
    second.args(["node", "--display-name", "second"]);
    let ended = guard_tests::ended(&mut second);
    assert_eq!(ended.status, 125);
    assert!(ended.stderr.contains("a node runs already"), "{ended:?}");
}
