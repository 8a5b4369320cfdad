//! The plugin itself, in node, with a stub of OpenClaw's plugin API.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;

use guard_tests::{World, ended, has, sources};
use serde_json::{Value, json};

use crate::world::{Gate, socket, world};

/// Calls the plugin's hook with each event, and returns its results. Null is undefined: the call goes on.
fn hook(world: &World, calls: &[Value]) -> Vec<Value> {
    let plugin = world.home().join(".openclaw/guard/plugin/index.js");
    let mut node = Command::new("node");
    // An argument could not hold the longest of them.
    let calls = world.write("calls.json", json!(calls).to_string());
    node.arg(sources().join("gate/stub.mjs")).arg(plugin).arg(calls).stdin(Stdio::null());
    let output = ended(&mut node);
    assert_eq!(output.status, 0, "{output:?}");
    output.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn call(tool: &str, params: Value) -> Value {
    json!({"event": {"toolName": tool, "params": params, "runId": "r", "toolCallId": "c"},
        "ctx": {"agentId": "main", "sessionKey": "agent:main:main", "requester": {"senderIsOwner": true}}})
}

fn installed() -> World {
    let world = world();
    let output = ended(world.command().args(["gate", "install"]).env("PATH", "/usr/bin:/bin"));
    assert_eq!(output.status, 0, "{output:?}");
    world
}

#[test]
fn the_plugin_blocks_what_is_denied_and_asks_what_is_asked() {
    if !has(&["node"]) {
        return;
    }
    let gate = Gate::of(installed(), &[], &[]);
    let asked = gate.world.root().join("else/file").display().to_string();
    let results = hook(
        &gate.world,
        &[
            call("read", json!({"path": "notes"})),
            call("read", json!({"path": "~/.ssh/id_rsa"})),
            call("read", json!({"path": asked})),
            call("write", json!({"path": "new", "content": "x".repeat(5 << 20)})),
            json!({"event": {"toolName": "read"}, "ctx": {}}),
            json!({"event": {}}),
        ],
    );
    assert_eq!(results[0], Value::Null);
    let reason = |result: &Value| result["blockReason"].as_str().unwrap_or_default().to_owned();
    assert_eq!(results[1]["block"], true);
    assert!(reason(&results[1]).starts_with("openclaw-guard: denied read "), "{:?}", results[1]);
    assert_eq!(results[2]["requireApproval"]["allowedDecisions"], json!(["allow-once", "deny"]));
    assert_eq!(results[3]["block"], true);
    assert!(reason(&results[3]).contains("4 MiB"), "{:?}", results[3]);
    assert!(results[4..].iter().all(|result| result["block"] == true), "{results:#?}");
}

#[test]
fn silence_and_wrong_answers_block() {
    if !has(&["node"]) {
        return;
    }
    let world = installed();
    let read = || call("read", json!({"path": "notes"}));
    let nobody = hook(&world, &[read()]);
    assert_eq!(nobody[0]["block"], true);
    assert!(nobody[0]["blockReason"].as_str().expect("a reason").contains("does not answer"), "{nobody:?}");

    // A service that answers wrongly.
    let path = socket(&world);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    let listener = UnixListener::bind(&path).expect("a socket");
    let wrong: Vec<Vec<u8>> = [
        "\n",
        "allow\n",
        "null\n",
        "[]\n",
        "{}\n",
        "{\"outcome\":\"allow\"}\n",
        "{\"v\":2,\"outcome\":\"allow\"}\n",
        "{\"v\":1,\"outcome\":\"ALLOW\"}\n",
        "{\"v\":1,\"outcome\":[\"allow\"]}\n",
        "{\"v\":1,\"outcome\":true}\n",
        "{\"v\":1,\"outcome\":\"ask\"}\n",
        "{\"v\":1,\"outcome\":\"allow\"",
        "",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([vec![b'x'; 100 << 10]])
    .collect();
    let calls: Vec<_> = wrong.iter().map(|_| read()).chain([read(), read()]).collect();
    let server = thread::spawn(move || {
        let mut held = Vec::new();
        for text in wrong {
            let (mut stream, _) = listener.accept().expect("the plugin");
            let mut line = String::new();
            BufReader::new(stream.try_clone().expect("a stream")).read_line(&mut line).expect("a question");
            let _ = stream.write_all(&text);
        }
        // One that says nothing, and one that says nothing but a byte now and then.
        held.push(listener.accept().expect("the plugin").0);
        let (mut slow, _) = listener.accept().expect("the plugin");
        while slow.write_all(b" ").is_ok() {
            thread::sleep(std::time::Duration::from_millis(300));
        }
        drop(held);
    });
    let results = hook(&world, &calls);
    assert_eq!(results.len(), calls.len());
    for (at, result) in results.iter().enumerate() {
        assert_eq!(result["block"], true, "{at}: {result}");
    }
    server.join().expect("the service");
}
