//! A gateway that wants more than the policy gives, and runs that want more than the gateway gave.

use std::path::Path;
use std::time::Duration;

use guard_tests::{World, until};
use serde_json::{Value, json};

use crate::node_gateway::{ASK, FULL, FakeGateway, NodeLink, NodeProcess, TOKEN, gone, processes, world};

/// The refusal of what nobody has approved.
pub fn required() -> Value {
    json!({"code": "SYSTEM_RUN_DENIED", "message": "SYSTEM_RUN_DENIED: approval required"})
}

pub fn asked(world: &World) -> String {
    let program = world.write("bin/asked", std::fs::read("/bin/echo").expect("echo"));
    crate::world::mode(&program, 0o755);
    program.display().to_string()
}

pub fn plan(link: &mut NodeLink, argv: &[&str], cwd: &Path) -> Value {
    let prepared = link.call(
        "system.run.prepare",
        &json!({"command": argv, "cwd": cwd, "agentId": "main", "sessionKey": "s"}),
    );
    assert_eq!(prepared["ok"], true, "{prepared}");
    prepared["payloadJSON"]["plan"].clone()
}

pub fn run_of(plan: &Value) -> Value {
    json!({"command": plan["argv"], "cwd": plan["cwd"], "agentId": plan["agentId"], "sessionKey": plan["sessionKey"],
        "systemRunPlan": plan, "approved": true, "approvalDecision": "allow-once"})
}

#[test]
fn a_gateway_makes_up_no_approval() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let program = asked(&world);
    let real = plan(&mut link, &[&program, "one"], &world.work());
    let mut refused = |what: &str, params: &Value| {
        let result = link.call("system.run", params);
        assert_eq!(result["ok"], false, "{what}: {result}");
        result["error"]["message"].as_str().expect("text").to_owned()
    };
    let without = |key: &str| {
        let mut params = run_of(&real);
        params.as_object_mut().expect("an object").remove(key);
        params
    };
    let with = |pointer: &str, value: Value| {
        let mut params = run_of(&real);
        *params.pointer_mut(pointer).expect(pointer) = value;
        params
    };
    refused("no plan", &without("systemRunPlan"));
    refused("another argument", &with("/command/1", json!("two")));
    refused("another program", &with("/command/0", json!("/usr/bin/id")));
    refused("another directory", &with("/cwd", json!("/")));
    refused("another agent", &with("/agentId", json!("root")));
    refused("another session", &with("/sessionKey", json!("t")));
    refused("no snapshot", &with("/systemRunPlan/policySnapshot", Value::Null));
    refused("a looser snapshot", &with("/systemRunPlan/policySnapshot/security", json!("full")));
    refused("another digest", &with("/systemRunPlan/mutableFileOperand/sha256", json!("0".repeat(64))));
    refused("no digest", &with("/systemRunPlan/mutableFileOperand", Value::Null));
    // Both the call and its plan, so that they match, and nothing of it was prepared.
    let mut invented = real.clone();
    invented["argv"] = json!([program, "invented"]);
    invented["commandText"] = json!(format!("{program} invented"));
    assert_eq!(refused("an invented plan", &run_of(&invented)), required()["message"]);
    let mut variables = run_of(&real);
    variables["env"] = json!({"FOO": "1"});
    assert_eq!(refused("variables that were not prepared", &variables), required()["message"]);
    refused(
        "a review",
        &json!({"command": real["argv"], "cwd": real["cwd"], "agentId": "main", "sessionKey": "s", "systemRunPlan": real, "approvalSource": "auto-review"}),
    );
    refused(
        "a fallback",
        &json!({"command": real["argv"], "cwd": real["cwd"], "agentId": "main", "sessionKey": "s", "systemRunPlan": real, "approvalSource": "ask-fallback"}),
    );
    refused("looser modes", &json!({"command": [program], "security": "full", "ask": "off"}));
    assert_eq!(
        link.call("system.run", &json!({"command": ["true"], "security": "deny"}))["error"]["message"],
        "SYSTEM_RUN_DISABLED: security=deny"
    );
    assert!(world.audit().iter().all(|line| line["path"] != *program || line["verdict"] != "allow"));
}

#[test]
fn an_older_gateway_returns_the_plan_without_its_snapshot() {
    let gateway = FakeGateway::start();
    gateway.become_old();
    let world = world(&gateway, ASK);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let program = asked(&world);
    let mut prepared = |word: &str| {
        let mut plan = plan(&mut link, &[&program, word], &world.work());
        plan.as_object_mut().expect("an object").remove("policySnapshot").expect("one");
        plan
    };
    let [first, second, mut invented] = [prepared("first"), prepared("second"), prepared("third")];
    invented["argv"][1] = json!("invented");
    invented["commandText"] = json!(format!("{program} invented"));
    let mut run = |plan: &Value, env: Value| {
        let mut params = run_of(plan);
        params["env"] = env;
        let result = link.call("system.run", &params);
        result["payloadJSON"]["stdout"].as_str().map(str::to_owned).ok_or(result["error"]["message"].clone())
    };
    let unprepared = Err(json!("delayed approval requires a prepared policy snapshot"));
    assert_eq!(run(&first, Value::Null), Ok("first\n".to_owned()));
    assert_eq!(run(&first, Value::Null), unprepared, "it has run");
    assert_eq!(run(&invented, Value::Null), unprepared);
    assert_eq!(run(&second, json!({"FOO": "1"})), unprepared, "with variables that were not prepared");
    world.write("bin/asked", std::fs::read("/bin/cat").expect("cat"));
    assert!(run(&second, Value::Null).is_err(), "the program has changed");
}

/// A world whose login shells may start what /etc/profile starts.
fn with_profile(gateway: &FakeGateway) -> World {
    world(gateway, ASK).policy_text(|text| {
        text.replace(
            r#"{"pattern": "/usr/bin/true"}"#,
            r#"{"pattern": "/usr/bin/true"}, {"pattern": "/usr/bin/id"}"#,
        )
    })
}

/// Prepares the shell by which a gateway starts a command, and returns the parameters of the approved run.
fn approved_code(link: &mut NodeLink, code: &str, cwd: &Path) -> Value {
    let params = json!({"command": ["/bin/sh", "-lc", code], "rawCommand": code, "cwd": cwd, "agentId": "main", "sessionKey": "s"});
    let prepared = link.call("system.run.prepare", &params);
    assert_eq!(prepared["ok"], true, "{prepared}");
    let mut params = run_of(&prepared["payloadJSON"]["plan"]);
    params["rawCommand"] = params["systemRunPlan"]["commandText"].clone();
    params
}

#[test]
fn the_code_of_a_gateways_shell_is_judged_and_approved() {
    let gateway = FakeGateway::start();
    let world = with_profile(&gateway);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let program = asked(&world);
    // What the policy lets run needs nobody's yes.
    let allowed = json!({"command": ["/bin/sh", "-lc", "cat /dev/null"], "rawCommand": "cat /dev/null"});
    assert_eq!(link.call("system.run", &allowed)["payloadJSON"]["exitCode"], 0);
    let plan = link.call("system.run.prepare", &allowed)["payloadJSON"].clone();
    assert_eq!(plan["execPolicy"], json!({"security": "full", "ask": "off"}), "{plan}");
    assert_eq!(plan["plan"]["argv"], allowed["command"]);
    let unread = json!({"command": ["/bin/sh", "-lc", "cat /dev/null"]});
    assert_eq!(link.call("system.run", &unread)["error"], required(), "the text was shown to nobody");
    // A yes to the code is one to its program.
    let code = format!("{program} one 'and two'");
    let asked = json!({"command": ["/bin/sh", "-lc", code], "rawCommand": code, "cwd": world.work()});
    assert_eq!(link.call("system.run", &asked)["error"], required());
    let params = approved_code(&mut link, &code, &world.work());
    assert_eq!(link.call("system.run", &params)["payloadJSON"]["stdout"], "one and two\n");
    assert_eq!(link.call("system.run", &params)["error"], required(), "it has run");
}

#[test]
fn the_approval_of_code_covers_nothing_else() {
    let gateway = FakeGateway::start();
    let world = with_profile(&gateway);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let program = asked(&world);
    world.write("work/input", "made up\n");
    world.write("work/evil", "echo evil\n");
    for code in [
        format!("{program} one; {program} one"),
        format!("{program} one && true"),
        format!("FOO=1 {program} one"),
        format!("export FOO=1; {program} one"),
        format!("{program} \"$HOME\""),
        format!("{program} one <input"),
        format!("true | {program} one"),
        format!("env {program} one"),
        format!("cd / && {program} one"),
        format!("$(echo {program}) one"),
        format!("sh -c '{program} one'"),
        format!("FOO=1; {program} one"),
        format!("unset HOME; {program} one"),
        format!("A=$'\\' . ./evil #'\n{program} one"),
        format!("A=1\r# a comment; . ./evil\n{program} one"),
        format!("{program} one $'\\'; . ./evil #'"),
    ] {
        let mut params = approved_code(&mut link, &code, &world.work());
        // The guard asks about the program, and nobody answers.
        params["timeoutMs"] = json!(2500);
        let end = link.call("system.run", &params)["payloadJSON"].clone();
        // What the shell does by itself was approved with it.
        assert!(!end["stdout"].as_str().is_some_and(|text| text.contains("one")), "{code}: {end}");
    }
    let params = approved_code(&mut link, &format!("{program} one"), &world.work());
    world.write("bin/asked", std::fs::read("/bin/cat").expect("cat"));
    let changed = link.call("system.run", &params);
    let message = "SYSTEM_RUN_DENIED: approval script operand changed before execution";
    assert_eq!(changed["error"]["message"], message, "{changed}");
}

#[test]
fn code_that_the_shell_reads_otherwise_is_not_run_unasked() {
    let gateway = FakeGateway::start();
    let world = with_profile(&gateway);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    world.write("work/evil", "echo evil\n");
    world.write("work/ -lc", "echo evil\n");
    for code in [
        "cat /dev/null $'\\'; . ./evil; cat /dev/null #'",
        "A=$'\\' . ./evil #'\ncat /dev/null",
        "cat /dev/null\r#; . ./evil",
        "cat /dev/null\u{b}#; . ./evil",
        "[ x > made ]",
        "LD_PRELOAD=./evil; cat /dev/null",
    ] {
        let params = json!({"command": ["/bin/sh", "-lc", code], "rawCommand": code, "cwd": world.work()});
        assert_eq!(link.call("system.run", &params)["error"], required(), "{code:?}");
        let plan = link.call("system.run.prepare", &params)["payloadJSON"].clone();
        assert_eq!(plan["execPolicy"]["security"], "allowlist", "{code:?}: {plan}");
    }
    for command in [
        json!(["sh", " -lc", "cat /dev/null"]),
        json!(["./sh", "-lc", "cat /dev/null"]),
        json!(["/bin/sh", "-lc", "cat /dev/null", "x"]),
    ] {
        let params = json!({"command": command, "rawCommand": "cat /dev/null", "cwd": world.work()});
        // Or the text is not that of the command.
        assert_eq!(link.call("system.run", &params)["ok"], false, "{command}");
    }
    let shown =
        json!({"command": ["/bin/sh", "-lc", "echo evil", "cat /dev/null"], "rawCommand": "cat /dev/null"});
    let refused = link.call("system.run.prepare", &shown);
    assert_eq!(
        refused["error"]["message"], "INVALID_REQUEST: rawCommand does not match command",
        "{refused}"
    );
    assert_eq!(world.read("work/made"), None);
}

#[test]
fn a_plan_waits_for_nothing_and_says_nothing_of_secrets() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK)
        .policy_text(|text| text.replace(r#""filesystem": {"#, r#""filesystem": {"deny": ["@/shut"], "#));
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let fifo = world.work().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    crate::world::mode(&world.write("work/script", format!("#!{}\n", fifo.display())), 0o755);
    crate::world::mode(&fifo, 0o755);
    let large = world.write("work/large", "");
    std::fs::File::options()
        .write(true)
        .open(&large)
        .and_then(|file| file.set_len(4 << 40))
        .expect("a sparse file");
    crate::world::mode(&large, 0o755);
    let secret = world.root().join("shut/secret");
    let unbindable = "SYSTEM_RUN_DENIED: approval cannot safely bind this command";
    for argv in [json!(["./script"]), json!(["./large"]), json!(["sh", secret])] {
        // More of them than there are threads.
        for _ in 0..30 {
            let params = json!({"command": argv, "cwd": world.work()});
            let refused = link.call("system.run.prepare", &params);
            assert_eq!(refused["error"]["message"], unbindable, "{argv}: {refused}");
        }
    }
    assert_eq!(link.run(&["true"])["exitCode"], 0);
}

#[test]
fn a_loader_that_the_run_may_write_is_no_part_of_an_approval() {
    if !guard_tests::has(&["cc"]) {
        return;
    }
    let gateway = FakeGateway::start();
    let world = world(&gateway, ASK);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let loader = std::fs::read_to_string("/proc/self/maps").expect("maps");
    let loader = loader
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains("/ld-linux"));
    let Some(loader) = loader else { return guard_tests::skip("this test has no loader") };
    std::fs::copy(loader, world.work().join("ld")).expect("a loader");
    world.write("main.c", "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n");
    let program = world.work().join("program");
    let mut cc = std::process::Command::new("cc");
    cc.arg("-o").arg(&program).arg(world.root().join("main.c"));
    cc.arg(format!("-Wl,--dynamic-linker={}", world.work().join("ld").display()));
    assert!(cc.status().expect("cc").success());
    let mut params = run_of(&plan(&mut link, &[program.to_str().expect("text")], &world.work()));
    // The guard asks about it, and nobody answers.
    params["timeoutMs"] = json!(2500);
    let end = link.call("system.run", &params)["payloadJSON"].clone();
    assert_eq!((&end["success"], &end["stdout"]), (&json!(false), &json!("")), "{end}");
}

#[test]
fn a_gateway_names_whatever_it_wants() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    // Words that look like the guard's own options are arguments and names.
    for (params, stdout) in [
        (json!({"command": ["echo", "--observe", "--policy=/x"]}), "--observe --policy=/x\n"),
        (json!({"command": ["echo", "a"], "agentId": "--observe"}), "a\n"),
        (json!({"command": ["echo", "b"], "agentId": "../../x"}), "b\n"),
        (json!({"command": ["echo", "c"], "sessionKey": "--policy=/x", "runId": "--observe"}), "c\n"),
        (json!({"command": ["echo", "d"], "runId": "x\n{\"verdict\":\"allow\"}\u{1b}[31m"}), "d\n"),
    ] {
        let result = link.call("system.run", &params);
        assert_eq!(result["payloadJSON"]["stdout"], stdout, "{params}: {result}");
    }
    let secret = world.root().join("shut/secret").display().to_string();
    for agent in ["--observe", "*", "main"] {
        let result = link.call("system.run", &json!({"command": ["cat", secret], "agentId": agent}));
        assert_eq!(
            (result["payloadJSON"]["exitCode"].clone(), result["payloadJSON"]["stdout"].clone()),
            (json!(1), json!("")),
            "{agent}"
        );
    }
    assert_ne!(link.call("system.run", &json!({"command": ["--observe"]}))["payloadJSON"]["exitCode"], 0);
    for name in [
        "LD_PRELOAD",
        "LD_AUDIT",
        "PATH",
        "path",
        "BASH_ENV",
        "OPENCLAW_STATE_DIR",
        "GIT_SSH_COMMAND",
        "A-B",
        "A=B",
        "",
    ] {
        let result = link.call("system.run", &json!({"command": ["true"], "env": {name: "/x"}}));
        assert_eq!(result["error"]["code"], "INVALID_REQUEST", "{name}: {result}");
    }
    for cwd in ["..", "../shut", "/proc/self/fd", "node.log", "\u{0}"] {
        let result = link.call("system.run", &json!({"command": ["cat", "secret"], "cwd": cwd}));
        assert_ne!(result["payloadJSON"]["exitCode"], 0, "{cwd}: {result}");
    }
    for command in [
        "system.notify",
        "fs.read",
        "screen.snapshot",
        "camera.snap",
        "system.run ",
        "SYSTEM.RUN",
        "",
        "mcp.tools.call.v1",
        "node.invoke.cancel",
    ] {
        assert_eq!(
            link.call(command, &json!({"command": ["true"]}))["error"]["message"],
            "command not supported",
            "{command}"
        );
    }
    assert_eq!(world.read("shut/secret").expect("a file"), "made up and secret\n");
}

#[test]
fn a_gateway_that_sends_too_much_gets_its_answers() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let mut ids = Vec::new();
    for at in 0..1000 {
        ids.push(link.invoke("system.which", &json!({"bins": ["sh", at.to_string()]})));
        if at % 16 == 0 {
            link.listen_for(Duration::from_millis(1));
        }
    }
    for id in &ids {
        let result = link.result(id);
        let why = "busy: no more than 256 calls at a time; try again later";
        assert!(result["ok"] == true || result["error"]["message"] == why, "{result}");
    }
    // The same call twice is answered once, and a second result is not sent.
    let node = link.id();
    let payload = json!({"id": "twice", "nodeId": node, "command": "system.run", "paramsJSON": "{\"command\":[\"sh\",\"-c\",\"echo x >> twice; sleep 0.3\"]}"});
    link.event("node.invoke.request", &payload);
    link.event("node.invoke.request", &payload);
    assert_eq!(link.result("twice")["ok"], true);
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    assert_eq!(
        (link.has_result("twice"), world.read("work/twice").expect("it ran")),
        (None, "x\n".to_owned())
    );
    for id in ["nobody", "twice", ""] {
        link.event("node.invoke.cancel", &json!({"invokeId": id, "nodeId": node}));
    }
    // Answers to nothing, and out of order.
    for id in 0..50 {
        link.say(
            &json!({"type": "res", "id": id.to_string(), "ok": id % 2 == 0, "payload": {"ignored": true}}),
        );
    }
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    // A message that is too long ends the connection, and the next one is as good as the first.
    // The node hangs up before it has read it to its end.
    let long = "x".repeat(5 << 20);
    link.say_if_there(&json!({"type": "event", "event": "x", "payload": long}).to_string());
    let mut link = gateway.node();
    assert_eq!(link.run(&["true"])["exitCode"], 0);
}

/// Attacks of a run: each line of its output is `NAME: held`, or says what was got.
const RUN: &str = r#"
state=$1; node=$2; port=$3; token=$4
held() { echo "$1: held"; }
got() { echo "$1: GOT"; }
try() { name=$1; shift; if "$@" >/dev/null 2>&1; then got "$name"; else held "$name"; fi; }
try token cat "$token"
try device-key cat "$state/guard/node-device.json"
try node-record cat "$state/guard/node.json"
try settings sh -c "echo '{}' > $state/guard/node-approvals.json"
try new-settings sh -c "echo '{}' > $state/guard/node-approvals.json.new"
try lock sh -c ": > $state/guard/node.lock"
try policy sh -c ": >> $5"
try store sh -c "mkdir -p $state && echo '{}' > $state/exec-approvals.json"
try official-node sh -c "echo '{}' > $state/node.json"
try node-memory cat "/proc/$node/mem"
try node-environment cat "/proc/$node/environ"
try node-descriptors ls "/proc/$node/fd"
try kill-node kill -9 "$node"
try stop-node kill -STOP "$node"
try port python3 -c "import socket; socket.create_connection(('127.0.0.1', $port), 2)"
p=$PPID
while [ "${p:-1}" -gt 1 ] && [ "$p" != "$node" ]; do
    try guard-memory cat "/proc/$p/mem"
    try guard-kill kill -9 "$p"
    p=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$p/status" 2>/dev/null)
done
fds=$(python3 -c "
import os
print(' '.join(sorted(f for f in os.listdir('/proc/self/fd') if int(f) > 2 and os.path.exists('/proc/self/fd/' + f))))")
[ -z "$fds" ] && held descriptors || got "descriptors $fds"
variables=$(env | grep -c "OPENCLAW_GATEWAY\|approval\|lifeline")
[ "$variables" = 0 ] && held variables || got variables
arguments=$(tr '\0' ' ' < /proc/self/cmdline | grep -c approval-fd)
[ "$arguments" = 0 ] && held arguments || got arguments
echo '{"type":"req","id":"1","method":"node.event","params":{"event":"exec.finished"}}'
setsid sh -c 'exec >/dev/null 2>&1 </dev/null; sleep 7615.1' &
(setsid sh -c 'exec >/dev/null 2>&1 </dev/null; trap "" TERM HUP; sleep 7615.1' &) &
echo over
"#;

#[test]
fn a_run_gets_nothing_of_the_node() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    world.write("work/attacks", RUN);
    let state = world.home().join(".openclaw").display().to_string();
    let (pid, port) = (node.child.id().to_string(), gateway.port.to_string());
    let [token, policy] = ["token", "guard.json"].map(|name| world.root().join(name).display().to_string());
    let before = world.read("guard.json");
    let end = link.run(&["sh", "attacks", &state, &pid, &port, &token, &policy]);
    let stdout = end["stdout"].as_str().expect("text");
    assert!(stdout.ends_with("over\n"), "{end}");
    assert!(!stdout.contains("GOT"), "{stdout}");
    assert!(stdout.matches(": held").count() >= 20, "{stdout}");
    assert_eq!(processes("sleep 7615.1"), Vec::<String>::new(), "nothing outlives the run");
    assert!(!stdout.contains(TOKEN));
    // What it printed was output, and no event.
    let finished = link.events.iter().filter(|event| event["event"] == "exec.finished").count();
    assert_eq!(finished, 1, "{:?}", link.events);
    assert_eq!(world.read("guard.json"), before);
    assert_eq!(link.run(&["true"])["exitCode"], 0);
}

#[test]
fn a_run_that_floods_is_cut_and_ends() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    // More than may be in memory, and then silence until the time is over.
    let line = "yes | head -c 400M & yes | head -c 400M >&2; sleep 60";
    let flood = link.call("system.run", &json!({"command": ["sh", "-c", line], "timeoutMs": 15_000}));
    let end = &flood["payloadJSON"];
    assert_eq!(end["exitCode"], 124);
    let kept = end["stdout"].as_str().expect("text").len() + end["stderr"].as_str().expect("text").len();
    assert_eq!(kept, 200_000 + "\n... (truncated)".len());
    let memory = std::fs::read_to_string(format!("/proc/{}/status", node.child.id())).expect("its status");
    let peak = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < 200_000, "{peak} kB");
    // It closes its output and goes on: the time still counts.
    let closed = link.call(
        "system.run",
        &json!({"command": ["sh", "-c", "exec >&- 2>&-; sleep 7616.1"], "timeoutMs": 1000}),
    );
    assert_eq!(closed["payloadJSON"]["exitCode"], 124);
    gone("sleep 7616.1");
}

#[test]
fn one_run_gets_nothing_of_another() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let first = link.invoke("system.run", &json!({"command": ["sh", "-c", "echo $$ > first; until [ -e go ]; do sleep 0.05; done; echo kept"], "runId": "first"}));
    until("it runs", || {
        link.listen_for(Duration::from_millis(20));
        world.read("work/first").is_some_and(|pid| pid.ends_with('\n'))
    });
    let pid = world.read("work/first").expect("a pid").trim().to_owned();
    let attack = format!(
        "for what in mem environ fd/1 root cwd; do cat /proc/{pid}/$what && echo GOT $what; done; echo forged > /proc/{pid}/fd/1 && echo GOT output; kill -9 {pid} && echo GOT kill; echo over"
    );
    let end = link.run(&["sh", "-c", &attack]);
    assert_eq!(end["stdout"], "over\n", "{end}");
    world.write("work/go", "");
    assert_eq!(link.result(&first)["payloadJSON"]["stdout"], "kept\n");
}
