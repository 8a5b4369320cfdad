//! The node host and real gateways, driven by the official command line.

use std::process::Stdio;

use guard_tests::gateway::{Client, Gateway, Login, Release, gateway};
use guard_tests::model::{Model, Step as Turn, set_in_openclaw};
use guard_tests::{World, ended, is_foreign};
use serde_json::{Value, json};

use crate::node_gateway::{ASK, FULL, NodeProcess, status, world_at};
use crate::world::eventually;

for_each_release! {
    paired_by_the_official_commands, approved_at_the_gateway, away_for_a_while, removed_and_rejected, a_turn_of_an_agent
}

/// Runs `openclaw …` and parses its output.
fn cli(gateway: &Gateway, arguments: &[&str]) -> (i32, String) {
    let output = ended(gateway.openclaw().args(arguments).stdin(Stdio::null()));
    (output.status, format!("{}{}", output.stdout, output.stderr))
}

/// Starts a node, and approves it as its messages say.
fn paired(gateway: &Gateway, world: &World) -> NodeProcess {
    let node = NodeProcess::start(world, &[]);
    eventually("it says what to do", || {
        let said = world.read("node.log").is_some_and(|log| log.contains("is connected"));
        said || status(world)["surface"]["state"] == "approved"
    });
    eventually("the status has it", || status(world)["gateway"]["connected"] == true);
    if status(world)["surface"]["state"] == "pending" {
        let request = status(world)["surface"]["requestId"].as_str().expect("a request").to_owned();
        let log = world.read("node.log").expect("a log");
        assert!(log.contains(&format!("openclaw nodes approve {request}")), "{log}");
        let (code, text) = cli(gateway, &["nodes", "approve", &request]);
        assert_eq!(code, 0, "{text}");
        eventually("its commands are approved", || status(world)["surface"]["state"] == "approved");
    }
    node
}

/// Calls a command on the node as an operator; `payload`, or the refusal.
fn invoke(operator: &Client, node: &str, command: &str, params: &Value) -> Result<Value, Value> {
    let params = json!({"nodeId": node, "command": command, "params": params, "timeoutMs": 60_000, "idempotencyKey": Client::nonce()});
    let answer = operator.call("node.invoke", params).map_err(|refused| refused.0)?;
    Ok(match answer["payloadJSON"].as_str() {
        Some(text) => serde_json::from_str(text).expect("JSON"),
        None => answer["payload"].clone(),
    })
}

fn operator(gateway: &Gateway) -> Client {
    let login = Login {
        scopes: vec![
            "operator.admin",
            "operator.approvals",
            "operator.read",
            "operator.write",
            "operator.pairing",
        ],
        ..Login::approver(gateway.token())
    };
    Client::connect(gateway.port(), &login).expect("to be let in")
}

fn node_id(world: &World) -> String {
    status(world)["node"]["nodeId"].as_str().expect("an id").to_owned()
}

fn paired_by_the_official_commands(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let world = world_at(gateway.port(), gateway.token(), FULL);
    let node = paired(&gateway, &world);
    let (code, text) = cli(&gateway, &["nodes", "status", "--json"]);
    assert!(code == 0 && text.contains(&node_id(&world)), "{code} {text}");
    let operator = operator(&gateway);
    let secret = world.root().join("shut/secret").display().to_string();
    let results = [
        invoke(
            &operator,
            &node_id(&world),
            "system.run",
            &json!({"command": ["sh", "-c", "echo out; exit 3"], "sessionKey": "agent:main:main", "agentId": "main", "runId": "real-1"}),
        ),
        invoke(
            &operator,
            &node_id(&world),
            "system.run",
            &json!({"command": ["cat", secret], "sessionKey": "agent:main:main", "agentId": "main", "runId": "real-2"}),
        ),
    ];
    let [ran, denied] = results.map(|result| result.expect("a result"));
    assert_eq!((ran["exitCode"].clone(), ran["stdout"].clone()), (json!(3), json!("out\n")), "{ran}");
    assert_eq!(denied["exitCode"], 1, "{denied}");
    assert!(denied["stderr"].as_str().expect("text").contains("Permission denied"), "{denied}");
    eventually("the denial is logged", || {
        world
            .audit()
            .iter()
            .any(|line| line["verdict"] == "deny" && line["path"] == *secret && line["runId"] == "real-2")
    });
    // The command line leaves system.run to the agent's own tool.
    let which = [
        "nodes",
        "invoke",
        "--node",
        &node_id(&world),
        "--command",
        "system.which",
        "--params",
        r#"{"bins":["sh"]}"#,
    ];
    let (code, text) = cli(&gateway, &which);
    assert!(code == 0 && text.contains("/sh"), "{code} {text}");
    assert_eq!(node.end(), 0);
}

fn approved_at_the_gateway(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let world = world_at(gateway.port(), gateway.token(), ASK);
    let _node = paired(&gateway, &world);
    let (operator, node) = (operator(&gateway), node_id(&world));
    // Whoever asks is not counted among those who can answer.
    let approver = crate::world::approver(&gateway);
    let script = world.write("bin/tool", "#!/bin/sh\necho approved run\n");
    crate::world::mode(&script, 0o755);
    let name = script.display().to_string();
    let prepare = || {
        let params = json!({"command": [name], "cwd": world.work(), "agentId": "main", "sessionKey": "agent:main:main"});
        let mut plan =
            invoke(&operator, &node, "system.run.prepare", &params).expect("a plan")["plan"].clone();
        if release == Release::Older {
            // That gateway's own tool leaves it out, and its requests may not have it.
            plan.as_object_mut().expect("a plan").remove("policySnapshot").expect("a snapshot");
        }
        plan
    };
    let ask = |plan: &Value| {
        let id = Client::nonce();
        let asked = json!({"id": id, "command": plan["commandText"], "commandArgv": plan["argv"], "systemRunPlan": plan, "cwd": plan["cwd"], "nodeId": node,
            "host": "node", "security": "allowlist", "ask": "on-miss", "agentId": "main", "sessionKey": "agent:main:main", "twoPhase": true, "timeoutMs": 60_000});
        operator.call("exec.approval.request", asked).expect("to be taken");
        let answer = json!({"id": id, "decision": "allow-once"});
        approver.call("exec.approval.resolve", answer).expect("to answer");
        id
    };
    let run = |plan: &Value, approval: &str| {
        let params = json!({"command": plan["argv"], "rawCommand": plan["commandText"], "cwd": plan["cwd"], "agentId": "main", "sessionKey": "agent:main:main",
            "systemRunPlan": plan, "runId": approval, "approved": true, "approvalDecision": "allow-once"});
        invoke(&operator, &node, "system.run", &params)
    };
    let unapproved = invoke(
        &operator,
        &node,
        "system.run",
        &json!({"command": [name], "cwd": world.work(), "agentId": "main", "sessionKey": "agent:main:main"}),
    );
    assert!(unapproved.expect_err("a refusal").to_string().contains("approval required"));
    let plan = prepare();
    let approval = ask(&plan);
    assert_eq!(run(&plan, &approval).expect("a result")["stdout"], "approved run\n");
    let again = run(&plan, &approval).expect_err("a refusal").to_string();
    assert!(again.contains("APPROVAL_REQUIRED") || again.contains("approval required"), "{again}");
    let plan = prepare();
    let approval = ask(&plan);
    world.write("bin/tool", "#!/bin/sh\necho another\n");
    let changed = run(&plan, &approval).expect_err("a refusal").to_string();
    assert!(changed.contains("approval script operand changed before execution"), "{changed}");
}

fn away_for_a_while(release: Release) {
    let Some(mut gateway) = gateway(release) else { return };
    let world = world_at(gateway.port(), gateway.token(), FULL);
    let _node = paired(&gateway, &world);
    gateway.end("-KILL");
    eventually("it has noticed", || status(&world)["gateway"]["connected"] == false);
    gateway.ensure();
    eventually("it is back", || status(&world)["gateway"]["connected"] == true);
    let result =
        invoke(&operator(&gateway), &node_id(&world), "system.run", &json!({"command": ["echo", "back"]}));
    assert_eq!(result.expect("a result")["stdout"], "back\n");
}

fn removed_and_rejected(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let world = world_at(gateway.port(), gateway.token(), FULL);
    let _node = paired(&gateway, &world);
    let operator = operator(&gateway);
    let state = || status(&world)["surface"]["state"].as_str().unwrap_or_default().to_owned();
    operator.call("node.pair.remove", json!({"nodeId": node_id(&world)})).expect("to remove it");
    // This host's own device is paired again by itself, and its commands wait again.
    eventually("it waits again", || state() == "pending");
    let request = status(&world)["surface"]["requestId"].as_str().expect("a request").to_owned();
    operator.call("node.pair.reject", json!({"requestId": request})).expect("to reject it");
    eventually("the rejection is found", || state() == "rejected");
    let refused = invoke(&operator, &node_id(&world), "system.run", &json!({"command": ["true"]}));
    assert!(refused.is_err(), "{refused:?}");
}

/// The agent's exec tool calls the node: the model gets what the commands printed in the guard, one of them after a human's yes
/// at the gateway.
fn a_turn_of_an_agent(release: Release) {
    if !is_foreign() {
        return drop(gateway(release));
    }
    let mut gateway = Gateway::new(release);
    // A login shell reads /etc/profile, which starts `id`.
    let world = world_at(gateway.port(), gateway.token(), ASK).policy_text(|text| {
        let text = text.replace(
            r#"{"pattern": "/usr/bin/true"}"#,
            r#"{"pattern": "/usr/bin/id"}, {"pattern": "/usr/bin/grep"}"#,
        );
        text.replace(r#""filesystem": {"#, r#""filesystem": {"deny": ["@/shut"], "#)
    });
    let tool = world.write("bin/tool", "#!/bin/sh\necho by the tool: $1\n");
    crate::world::mode(&tool, 0o755);
    let exec = |command: String| Turn::Call("exec", json!({"command": command}));
    let model = Model::start(vec![
        exec("grep Seccomp: /proc/self/status".to_owned()),
        exec(format!("cat {}", world.root().join("shut/secret").display())),
        exec(format!("{} once", tool.display())),
        Turn::Quotes,
    ]);
    // The older release asks by its own settings alone, about everything, and goes on meanwhile.
    let (security, asked) = match release {
        Release::Current => ("full", &["bin/tool"][..]),
        Release::Older => ("allowlist", &["/proc/self/status", "shut/secret", "bin/tool"][..]),
    };
    gateway.configure(|config| {
        set_in_openclaw(config, &model.url());
        config["agents"]["defaults"]["workspace"] = json!(world.work());
        config["tools"] =
            json!({"exec": {"host": "node", "node": "made-up", "security": security, "ask": "on-miss"}});
    });
    gateway.ensure();
    let _node = paired(&gateway, &world);
    let approver = crate::world::approver(&gateway);
    let mut turn = gateway.openclaw();
    turn.args(["agent", "--agent", "main", "--session-id", "one", "--message", "go"]).stdin(Stdio::null());
    let turn = std::thread::spawn(move || ended(&mut turn));
    for command in asked {
        let card = approver.card(command);
        assert_eq!(card["request"]["host"], "node", "{card:#}");
        approver.resolve(&card, "allow-once").expect("to answer");
    }
    let turn = turn.join().expect("a turn");
    // The older release reports with single spaces.
    let heard = || model.heard().replace(r"\t", " ");
    for output in ["by the tool: once", "Seccomp: 2", "Permission denied"] {
        eventually(&format!("the model gets `{output}`"), || heard().contains(output));
    }
    assert!(!model.heard().contains("made up and secret"), "{turn:?}");
    // Nobody was asked twice about one command.
    assert_eq!(approver.pending(), Vec::<Value>::new());
    let audit = world.audit();
    let tools: Vec<&Value> =
        audit.iter().filter(|line| line["path"] == *tool.display().to_string()).collect();
    assert!(tools.iter().any(|line| line["verdict"] == "allow"), "{tools:#?}");
    assert!(
        tools.iter().all(|line| line["operation"] == "exec" && line["nodeId"] == node_id(&world)),
        "{tools:#?}"
    );
}
