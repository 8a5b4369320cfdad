//! The node under strain: many calls, calls given up, a guard that is killed, a gateway that does not listen, a node that is
//! removed, a full disk.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use guard_tests::{World, descendants, guard, has, skip, until};
use serde_json::{Value, json};

use crate::node_gateway::{
    ASK, Admits, FULL, FakeGateway, Lists, NodeLink, NodeProcess, gone, processes, status, world, world_at,
};
use crate::node_pairing::{printed, resolve, surface_is};

/// A world of a node that runs so many commands at once.
fn wide(gateway: &FakeGateway, most: usize) -> World {
    world(gateway, FULL).policy_text(|text| {
        text.replacen("\"version\": 1", &format!("\"version\": 1, \"node\": {{\"maxRunning\": {most}}}"), 1)
    })
}

/// The most memory that a process has had, in MiB.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") >> 10
}

fn sh(line: &str) -> Value {
    json!({"command": ["sh", "-c", line]})
}

/// Nothing more comes for these calls.
fn no_second_answers(link: &mut NodeLink, ids: &[String]) {
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    let again: Vec<_> = ids.iter().filter(|id| link.has_result(id).is_some()).collect();
    assert_eq!(again, Vec::<&String>::new());
}

#[test]
fn forty_side_by_side_get_their_own_output() {
    let gateway = FakeGateway::start();
    let world = wide(&gateway, 40);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let line = |at| {
        format!(
            "echo out-{at}; : > at-{at}; until [ -e go ]; do sleep 0.5; done; echo err-{at} >&2; exit {at}"
        )
    };
    let ids: Vec<String> = (1..=40).map(|at| link.invoke("system.run", &sh(&line(at)))).collect();
    until("all run", || {
        link.listen_for(Duration::from_millis(20));
        (1..=40).all(|at| world.work().join(format!("at-{at}")).exists())
    });
    world.write("work/go", "");
    for (at, id) in (1..).zip(&ids) {
        let end = link.result(id)["payloadJSON"].clone();
        assert_eq!(
            (end["stdout"].clone(), end["stderr"].clone(), end["exitCode"].clone()),
            (json!(format!("out-{at}\n")), json!(format!("err-{at}\n")), json!(at))
        );
    }
    no_second_answers(&mut link, &ids);
    until("nothing runs any more", || status(&world)["runs"] == 0);
}

#[test]
fn a_burst_of_a_thousand_is_answered_and_bounded() {
    let gateway = FakeGateway::start();
    let world = wide(&gateway, 4);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let mut ids = Vec::new();
    let mut most = 0;
    for at in 0..1000 {
        ids.push(link.invoke("system.run", &sh("echo x >> ran")));
        if at % 50 == 0 {
            link.listen_for(Duration::from_millis(1));
            most = most.max(descendants(node.child.id()).len());
        }
    }
    let reasons = [
        "busy: no more than 4 commands at a time; try again later",
        "busy: no more than 256 calls at a time; try again later",
    ];
    let mut ran = 0;
    for (at, id) in ids.iter().enumerate() {
        let result = link.result(id);
        match result["payloadJSON"]["exitCode"].as_i64() {
            Some(0) => ran += 1,
            _ => assert!(reasons.iter().any(|why| result["error"]["message"] == *why), "{result}"),
        }
        if at % 50 == 0 {
            most = most.max(descendants(node.child.id()).len());
        }
    }
    assert!(ran >= 4, "{ran} ran");
    assert_eq!(world.read("work/ran").unwrap_or_default().lines().count(), ran);
    // The node, and for each command the guard's processes and the command's own.
    assert!(most <= 1 + 4 * 6, "{most} processes");
    assert!(peak(node.child.id()) < 256, "{} MiB", peak(node.child.id()));
    no_second_answers(&mut link, &ids);
}

#[test]
fn a_gateway_that_does_not_listen_fills_no_memory() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let before = peak(node.child.id());
    // 200 MiB, and none of the answers is read.
    let fill = "x".repeat(1 << 20);
    for at in 0..200 {
        let params = format!("{{\\\"bins\\\":[\\\"sh\\\"],\\\"fill\\\":\\\"{fill}\\\"}}");
        let payload = format!(
            r#"{{"id":"fill-{at}","nodeId":"{}","command":"system.which","paramsJSON":"{params}"}}"#,
            link.id()
        );
        link.say_if_there(&format!(
            r#"{{"type":"event","event":"node.invoke.request","payload":{payload}}}"#
        ));
    }
    let grown = peak(node.child.id()) - before;
    assert!(grown < 100, "{grown} MiB more");
    assert_eq!(link.run(&["true"])["exitCode"], 0);
}

#[test]
fn the_guard_of_a_run_is_killed() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    // The front, the supervisor and the reaper. If all are killed at once, the kernel ends the command alone.
    let mark = "7621.1";
    let tree = format!("setsid sleep {mark} & sleep {mark}");
    for (killed, line, count) in [
        (vec![1], &tree, 2),
        (vec![2], &tree, 2),
        (vec![3], &tree, 2),
        (vec![1, 2], &tree, 2),
        (vec![2, 3], &tree, 2),
        (vec![1, 2, 3], &format!("exec sleep {mark}"), 1),
    ] {
        let id = link.invoke("system.run", &sh(line));
        until("it runs", || processes(&format!("sleep {mark}")).len() >= count);
        let family = descendants(node.child.id());
        let pids: Vec<String> = killed.iter().map(|&at| family[at].to_string()).collect();
        for signal in ["-STOP", "-KILL"] {
            assert!(Command::new("kill").arg(signal).args(&pids).status().expect("kill").success());
        }
        let end = link.result(&id)["payloadJSON"].clone();
        assert_eq!(end["success"], false, "{killed:?}: {end}");
        let why = format!("{}{}", end["error"], end["stderr"]);
        assert!(why.contains("openclaw-guard: "), "{killed:?}: {end}");
        gone(&format!("sleep {mark}"));
        assert_eq!(link.run(&["echo", "on"])["stdout"], "on\n");
    }
    // A command that is killed is not its guard.
    assert_eq!(link.run(&["sh", "-c", "kill -9 $$"])["error"], Value::Null);
}

/// A node with approved commands, one of which runs.
fn running(gateway: &FakeGateway, mark: &str) -> (World, NodeProcess, NodeLink) {
    gateway.list(Lists::Approved);
    let world = world(gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    until("they are approved", || surface_is(&world, "approved"));
    link.invoke("system.run", &sh(&format!("setsid sleep {mark} & sleep {mark}")));
    until("it runs", || processes(&format!("sleep {mark}")).len() >= 2);
    gateway.admit(Admits::Nobody);
    (world, node, link)
}

fn is_removed(world: &World) {
    until("the status says so", || surface_is(world, "removed"));
    until("it says what to do", || printed(world, "openclaw devices approve") == 1);
    let status = status(world);
    assert_eq!(
        (status["gateway"]["connected"].clone(), status["runs"].clone()),
        (json!(false), json!(0)),
        "{status}"
    );
}

#[test]
fn a_removed_node_runs_nothing() {
    let gateway = FakeGateway::start();
    let (world, _node, mut link) = running(&gateway, "7622.1");
    resolve(&mut link, "", "removed");
    gone("sleep 7622.1");
    // The node does not wait for the gateway to hang up, and answers nothing more.
    let node = link.id();
    for at in 0..10 {
        let call = json!({"type": "event", "event": "node.invoke.request", "payload": {"id": format!("late-{at}"),
            "nodeId": node, "command": "system.run", "paramsJSON": sh("echo x > late").to_string()}});
        link.say_if_there(&call.to_string());
    }
    is_removed(&world);
    assert_eq!(printed(&world, "the gateway has removed this node"), 1);
    assert_eq!(world.read("work/late"), None);
    gateway.admit(Admits::Nodes);
    let mut link = gateway.node();
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    until("the status is up to date", || surface_is(&world, "approved"));
}

#[test]
fn a_removed_node_that_is_only_hung_up_on_runs_nothing() {
    let gateway = FakeGateway::start();
    let (world, _node, link) = running(&gateway, "7623.1");
    link.hang_up();
    gone("sleep 7623.1");
    is_removed(&world);
}

#[test]
fn a_call_that_is_given_up_at_once_leaves_nothing() {
    let gateway = FakeGateway::start();
    let world = wide(&gateway, 64);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let node = link.id();
    let mut ids = Vec::new();
    for _ in 0..40 {
        let id = link.invoke("system.run", &sh("echo x >> begun; exec sleep 7624.1"));
        link.event("node.invoke.cancel", &json!({"invokeId": id, "nodeId": node}));
        ids.push(id);
    }
    // The cancellation of a call that comes later is none.
    link.event("node.invoke.cancel", &json!({"invokeId": "call-41", "nodeId": node}));
    assert_eq!(link.run(&["echo", "after"])["stdout"], "after\n");
    gone("sleep 7624.1");
    until("nothing runs any more", || {
        link.listen_for(Duration::from_millis(20));
        status(&world)["runs"] == 0
    });
    no_second_answers(&mut link, &ids);
    assert_eq!(world.read("work/begun"), None, "none of them has begun");
}

#[test]
fn a_call_that_repeats_one_that_was_given_up_is_answered() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let key = json!({"idempotencyKey": "one"});
    let first = link.invoke_with("system.run", &sh("exec sleep 7627.1"), key.clone());
    until("it runs", || processes("sleep 7627.1").iter().any(|line| line.starts_with("sleep")));
    let node = link.id();
    link.event("node.invoke.cancel", &json!({"invokeId": first, "nodeId": node}));
    let again = link.invoke_with("system.run", &sh("echo on"), key);
    assert_eq!(link.result(&again)["payloadJSON"]["stdout"], "on\n");
    gone("sleep 7627.1");
}

#[test]
fn a_connection_that_is_lost_at_once_leaves_nothing() {
    let gateway = FakeGateway::start();
    let world = wide(&gateway, 64);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    for _ in 0..40 {
        link.invoke("system.run", &sh("exec sleep 7625.1"));
    }
    link.hang_up();
    let mut link = gateway.node();
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    gone("sleep 7625.1");
    until("nothing runs any more", || {
        link.listen_for(Duration::from_millis(20));
        status(&world)["runs"] == 0
    });
    assert_eq!(processes("sleep 7625.1"), Vec::<String>::new());
}

#[test]
fn a_run_that_has_not_ended_yet_does_not_take_the_next_connections_calls() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    let first = link.invoke("system.run", &sh("exec sleep 7626.1"));
    // The shell has become it, and nothing of the guard starts any more.
    until("it runs", || processes("sleep 7626.1").iter().any(|line| line.starts_with("sleep")));
    let guard: Vec<String> = descendants(node.child.id()).iter().skip(1).map(ToString::to_string).collect();
    let signal =
        |signal: &str| Command::new("kill").arg(signal).args(&guard).status().expect("kill").success();
    assert!(signal("-STOP"));
    link.hang_up();
    // It has the same id, as a call that is repeated may.
    let mut link = gateway.node();
    let second = link.invoke("system.run", &json!({"command": ["echo", "on"]}));
    assert_eq!(first, second);
    assert_eq!(link.result(&second)["payloadJSON"]["stdout"], "on\n");
    // The first that goes on may end the others before it is their turn.
    let _ = signal("-CONT");
    gone("sleep 7626.1");
    no_second_answers(&mut link, &[second]);
}

#[test]
fn what_comes_out_of_order_is_told_apart() {
    let gateway = FakeGateway::start();
    // The decision comes before the answer to the node's own question.
    gateway.list(Lists::Silence);
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    until("it looks", || gateway.looks() == 1);
    resolve(&mut link, "another", "approved");
    until("the event counts", || surface_is(&world, "approved"));
    // The gateway confirms the last answer first.
    link.defer();
    let ids: Vec<String> = (0..8).map(|at| link.invoke("system.run", &sh(&format!("echo {at}")))).collect();
    let ends: BTreeSet<String> =
        ids.iter().map(|id| link.result(id)["payloadJSON"]["stdout"].to_string()).collect();
    assert_eq!(ends.len(), 8, "{ends:?}");
    link.confirm_backwards();
    no_second_answers(&mut link, &ids);
    until("nothing runs any more", || {
        link.listen_for(Duration::from_millis(20));
        status(&world)["runs"] == 0
    });
}

#[test]
fn the_decision_about_an_earlier_request_is_not_that_about_this_one() {
    let gateway = FakeGateway::start();
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let mut link = gateway.node();
    until("it waits", || surface_is(&world, "pending"));
    for decision in ["rejected", "approved"] {
        resolve(&mut link, "an-earlier-request", decision);
        assert_eq!(link.run(&["true"])["exitCode"], 0);
        assert!(surface_is(&world, "pending"), "{decision}");
    }
    gateway.list(Lists::Approved);
    until("the approval is found", || surface_is(&world, "approved"));
}

/// Runs a node whose state directory is a disk of its own. Files in `work/` say what happens to it.
const DISK: &str = r#"
    mkdir -p "$HOME/.openclaw"
    mount -t tmpfs -o size=512k,mode=0700 none "$HOME/.openclaw" || exit 77
    : > mounted
    setpriv --pdeathsig KILL -- "$GUARD" --policy "$POLICY" --audit "$HOME/.openclaw/guard/audit.jsonl" \
        node --display-name made-up --cwd "$PWD" &
    while sleep 0.05; do
        if [ -e fill ]; then cat /dev/zero > "$HOME/.openclaw/fill" 2> /dev/null; rm fill; fi
        if [ -e free ]; then rm "$HOME/.openclaw/fill"; rm free; fi
        if [ -e ask ]; then "$GUARD" node status --json > "$HOME/status"; mv "$HOME/status" status; rm ask; fi
    done
"#;

/// Has the disk's script do something, and waits until it is done.
fn have(world: &World, what: &str) {
    let file = world.write(format!("work/{what}"), "");
    until(what, || !file.exists());
}

#[test]
fn a_full_disk_approves_nothing() {
    if !has(&["unshare", "mount", "setpriv"]) {
        return;
    }
    let gateway = FakeGateway::start();
    let world = world_at(gateway.port, crate::node_gateway::TOKEN, ASK);
    let script = world.write("bin/tool", "#!/bin/sh\necho ran >> ran\n");
    crate::world::mode(&script, 0o755);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "bash", "-c", DISK]).current_dir(world.work());
    command.env("HOME", world.home()).env("GUARD", guard()).env("POLICY", world.root().join("guard.json"));
    let mut node = NodeProcess::spawn(&world, command);
    until("the disk is there, or cannot be", || {
        world.work().join("mounted").exists() || node.child.try_wait().expect("a status").is_some()
    });
    if !world.work().join("mounted").exists() {
        return skip("no disk can be mounted in a user namespace");
    }
    let mut link = gateway.node();
    let name = script.display().to_string();
    let set = |link: &mut NodeLink, hash: &Value| {
        let file = json!({"version": 1, "defaults": {"security": "allowlist"}});
        link.call("system.execApprovals.set", &json!({"file": file, "baseHash": hash}))
    };
    assert_eq!(link.call("system.execApprovals.get", &json!({}))["payloadJSON"]["exists"], false);
    let first = crate::node_host::approved(&mut link, &[&name], &world.work());
    have(&world, "fill");
    // What cannot be recorded is not set.
    let refused = set(&mut link, &Value::Null)["error"]["message"].as_str().expect("a refusal").to_owned();
    assert!(refused.contains("No space left on device") && refused.contains("make room"), "{refused}");
    assert_eq!(link.call("system.execApprovals.get", &json!({}))["payloadJSON"]["exists"], false);
    // Nor does an approved command start.
    let result = link.call("system.run", &first);
    assert_ne!(result["payloadJSON"]["exitCode"], 0, "{result}");
    assert!(result.to_string().contains("make room"), "{result}");
    assert_eq!(world.read("work/ran"), None);
    until("the node says that its status is old", || printed(&world, "is out of date") == 1);
    assert!(world.read("node.log").expect("a log").contains("make room"));
    have(&world, "free");
    assert_eq!(set(&mut link, &Value::Null)["ok"], true);
    let again = crate::node_host::approved(&mut link, &[&name], &world.work());
    let result = link.call("system.run", &again);
    assert_eq!(result["payloadJSON"]["exitCode"], 0, "{result}");
    assert_eq!(world.read("work/ran").as_deref(), Some("ran\n"));
    have(&world, "ask");
    let status: Value = serde_json::from_str(&world.read("work/status").expect("a status")).expect("JSON");
    assert_eq!(status["lastRun"]["exitCode"], 0, "{status}");
    assert_eq!(printed(&world, "is out of date"), 1);
}
