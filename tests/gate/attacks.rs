//! Attacks on the gate. Each is aimed at a made-up secret in the test's own home.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::thread;

use guard_tests::{ended, guard};
use serde_json::{Value, json};

use crate::world::{Gate, answer, outcome, world, write_config};

/// What no call may reach.
const SECRET: &str = ".ssh/id_rsa";

#[test]
fn no_spelling_of_a_path_reaches_a_secret() {
    let gate = Gate::start();
    let home = gate.world.home().display().to_string();
    let root = gate.world.root().display().to_string();
    symlink(gate.world.home().join(SECRET), gate.world.work().join("link")).expect("a link");
    symlink(gate.world.home(), gate.world.work().join("up")).expect("a link");
    symlink("../home/.ssh", gate.world.work().join("relative")).expect("a link");
    symlink(gate.world.home().join(".ssh/new"), gate.world.work().join("dangling")).expect("a link");
    symlink("loop", gate.world.work().join("loop")).expect("a link");
    for path in [
        format!("{home}/{SECRET}"),
        format!("~/{SECRET}"),
        format!("../home/{SECRET}"),
        "link".to_owned(),
        "./link".to_owned(),
        "up/.ssh/id_rsa".to_owned(),
        "relative/id_rsa".to_owned(),
        "dangling".to_owned(),
        "loop/../../home/.ssh/id_rsa".to_owned(),
        format!("file://{home}/{SECRET}"),
        format!("FILE://{home}/{SECRET}"),
        format!("file:{home}/{SECRET}"),
        format!("file://localhost{home}/{SECRET}"),
        format!("file://{home}/%2Essh/id%5Frsa"),
        format!("@{home}/{SECRET}"),
        format!("@@{home}/{SECRET}"),
        format!("@~/{SECRET}"),
        format!(" {home}/{SECRET}"),
        format!("{home}/{SECRET}\n"),
        format!("\u{a0}{home}/{SECRET}"),
        format!("{home}/{SECRET}</arg_value>>"),
        format!("{home}/{SECRET}\0"),
        format!("{home}/{SECRET}\0.txt"),
        format!("{home}//.ssh/.//id_rsa/"),
        format!("{root}/work/../home/{SECRET}"),
        format!("/proc/self/root{home}/{SECRET}"),
        format!("/proc/self/cwd/../home/{SECRET}"),
        format!("/proc/{}/root{home}/{SECRET}", std::process::id()),
        "/proc/self/environ".to_owned(),
        "/dev/fd/0".to_owned(),
        format!("{home}/.openclaw/openclaw.json"),
    ] {
        for (tool, params) in [
            ("read", json!({"path": &path})),
            ("READ", json!({"path": &path})),
            (" read ", json!({"path": &path})),
            ("write", json!({"path": &path, "content": "x"})),
            ("edit", json!({"path": &path, "edits": [{"oldText": "a", "newText": "b"}]})),
            ("ls", json!({"path": &path})),
        ] {
            assert_eq!(gate.outcome(tool, &params), "deny", "{tool} {path:?}");
        }
    }
    for path in ["notes", "./notes", "~/../work/notes", "@notes"] {
        assert_eq!(gate.outcome("read", &json!({"path": path})), "allow", "{path}");
    }
    assert_eq!(gate.outcome("write", &json!({"path": "new", "content": SECRET})), "allow");
    assert_eq!(gate.outcome("read", &json!({"path": format!("{root}/else/file")})), "ask");
}

#[test]
fn no_field_hides_a_path() {
    let gate = Gate::start();
    let secret = gate.world.home().join(SECRET).display().to_string();
    for params in [
        json!({"path": "notes", "file_path": &secret}),
        json!({"path": "notes", "filePath": &secret}),
        json!({"path": "notes", "file": {"path": &secret}}),
        json!({"path": "notes", "paths": ["notes", &secret]}),
        json!({"file_path": &secret}),
        json!({"path": [&secret]}),
        json!({"path": {"toString": &secret}}),
        json!({"path": null}),
        json!({}),
        json!({"PATH": &secret}),
    ] {
        assert_eq!(gate.outcome("read", &params), "deny", "{params}");
    }
    // OpenClaw's own hints count, too.
    let patch = json!({"input": "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"});
    assert_eq!(gate.outcome("apply_patch", &patch), "allow");
    assert_eq!(outcome(&gate.ask_as("apply_patch", &patch, &json!({"derivedPaths": [&secret]}))), "deny");
}

/// What runs in a repository is known by what lies around it, as for programs.
#[test]
fn nothing_that_runs_in_a_bare_repository_is_written() {
    let kept = |is_kept: bool| {
        let world = world().with_persistence(is_kept);
        let made =
            world.native(&["sh", "-c", "git init -q --bare x.git && mkdir -p half/objects half/hooks"]);
        assert_eq!(made.status, 0, "{}", made.stderr);
        Gate::of(world, &[], &[])
    };
    let (gate, open) = (kept(true), kept(false));
    for path in [
        "x.git/hooks/post-receive",
        "x.git/config",
        "x.git/.git/HEAD",
        "half/HEAD",
        "half/refs/heads/x",
        "r/.git/config",
    ] {
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch");
        for (tool, params) in [
            ("write", json!({"path": path, "content": "x"})),
            ("edit", json!({"path": path, "edits": [{"oldText": "a", "newText": "b"}]})),
            ("apply_patch", json!({"input": patch})),
        ] {
            assert_eq!(gate.outcome(tool, &params), "deny", "{tool} {path}");
            assert_eq!(open.outcome(tool, &params), "allow", "{tool} {path}");
        }
        assert_eq!(gate.outcome("read", &json!({"path": path})), "allow", "{path}");
    }
    assert_eq!(gate.outcome("write", &json!({"path": "x.git/description", "content": "x"})), "allow");
    assert_eq!(gate.outcome("write", &json!({"path": "new/hooks/x", "content": "x"})), "allow");
}

#[test]
fn one_bad_path_of_a_patch_denies_it() {
    let gate = Gate::start();
    let secret = gate.world.home().join(SECRET).display().to_string();
    let patch = |lines: &[&str]| json!({"input": lines.join("\n")});
    let good = ["*** Begin Patch", "*** Add File: a", "+x", "*** Delete File: notes", "*** End Patch"];
    assert_eq!(gate.outcome("apply_patch", &patch(&good)), "allow");
    let bad = |line: &str| {
        patch(&["*** Begin Patch", "*** Add File: a", "+x", line, "*** Add File: b", "+y", "*** End Patch"])
    };
    for line in [
        format!("*** Delete File: {secret}"),
        format!("  *** Delete File: {secret}  "),
        format!("*** Update File: a\n*** Move to: {secret}\n@@\n-x\n+y"),
        format!("*** Update File: a\n\n\n*** Move to: {secret}\n@@\n-x\n+y"),
        format!("*** Add File: @{secret}\n+x"),
        "*** Add File: private/x\n+x".to_owned(),
        "*** Rename File: a".to_owned(),
        format!("*** Delete File: a\r*** Delete File: {secret}"),
    ] {
        assert_eq!(gate.outcome("apply_patch", &bad(&line)), "deny", "{line:?}");
    }
    for input in [json!("no patch"), json!(null), json!(7), json!(""), json!(["*** Begin Patch"])] {
        assert_eq!(gate.outcome("apply_patch", &json!({"input": input})), "deny");
    }
}

#[test]
fn only_public_hosts_are_fetched() {
    let gate = Gate::start();
    for url in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://2852039166/",
        "http://0251.0376.0251.0376/",
        "http://0xa9.254.169.254/",
        "http://metadata.google.internal/",
        "http://localhost:18789/",
        "http://127.1/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "http://user:password@example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "http://",
        "",
    ] {
        assert_eq!(gate.outcome("web_fetch", &json!({"url": url})), "deny", "{url}");
        let action = json!({"action": "navigate", "request": {"targetUrl": url}});
        assert_eq!(gate.outcome("browser", &action), "deny", "{url}");
    }
    assert_eq!(gate.outcome("web_fetch", &json!({"url": "https://example.com/"})), "allow");
    assert_eq!(gate.outcome("web_search", &json!({"query": "how to reach 10.0.0.1"})), "allow");
}

#[test]
fn a_command_is_judged_by_its_text() {
    let gate = Gate::start();
    assert_eq!(gate.outcome("exec", &json!({"command": "ls -la"})), "allow");
    assert_eq!(gate.outcome("bash", &json!({"command": "ls -la"})), "allow");
    for command in ["cat ~/.ssh/id_rsa", "ls; cat x", "ls $(cat x)", "ls && ./run"] {
        assert_eq!(gate.outcome("exec", &json!({"command": command})), "ask", "{command}");
    }
    // Neither a host nor a mode that the model names takes a command out of the gate.
    for more in [json!({"host": "node"}), json!({"host": "sandbox"}), json!({"elevated": true})] {
        let mut params = json!({"command": "cat x"});
        for (name, value) in more.as_object().expect("fields") {
            params[name] = value.clone();
        }
        assert_eq!(gate.outcome("exec", &params), "ask", "{params}");
    }
    assert_eq!(gate.outcome("exec", &json!({"command": ["ls"]})), "deny");
    assert_eq!(gate.outcome("exec", &json!({"code": "read('/etc/passwd')"})), "deny");
}

#[test]
fn nobody_can_pass_for_another() {
    let gate = Gate::start();
    let read = json!({"path": "notes"});
    let forged = json!({"agentId": "main", "sessionKey": "agent:other:main"});
    let answer = gate.ask_as("read", &read, &forged);
    assert_eq!(outcome(&answer), "deny", "{answer}");
    // Only whoever is known to be the owner is the owner.
    for requester in [json!({}), json!({"senderIsOwner": false}), json!({"senderId": "owner"}), Value::Null] {
        let answer = gate.ask_as("gateway", &json!({"action": "restart"}), &json!({"requester": requester}));
        assert_eq!(outcome(&answer), "deny", "{answer}");
    }
    assert_eq!(gate.outcome("gateway", &json!({"action": "config.get"})), "allow");
    // A sub-agent lacks what no sub-agent has, and `POST /tools/invoke` what is not offered there.
    let sub = json!({"sessionKey": "agent:main:subagent:1"});
    assert_eq!(outcome(&gate.ask_as("gateway", &json!({}), &sub)), "deny");
    assert_eq!(
        outcome(&gate.ask_as("exec", &json!({"command": "ls"}), &json!({"toolCallId": "http-1"}))),
        "deny"
    );
    for name in ["main\n", &"a".repeat(600), "\u{1b}[2J"] {
        let answer = gate.ask_as("read", &read, &json!({"sessionKey": name}));
        assert_eq!(outcome(&answer), "deny");
        assert!(!answer.to_string().contains("\\u001b"), "{answer}");
    }
    // A session that begins elsewhere would make its relative paths mean something else.
    let home = gate.world.home().display().to_string();
    assert_eq!(gate.outcome("sessions_spawn", &json!({"task": "x", "cwd": home})), "deny");
    assert_eq!(gate.outcome("sessions_spawn", &json!({"task": "x"})), "allow");
}

#[test]
fn a_question_that_cannot_be_read_is_denied() {
    let gate = Gate::start();
    let deep =
        format!(r#"{{"v":1,"tool":"read","params":{{"path":{}"x"{}}}}}"#, "[".repeat(5000), "]".repeat(5000));
    for line in [
        "",
        "{}",
        "null",
        "GET / HTTP/1.1",
        "{\"v\":1,\"tool\":\"read\",\"params\":\"x\"}",
        "{\"v\":1,\"tool\":7,\"params\":{}}",
        "{\"v\":2,\"tool\":\"ls\",\"params\":{}}",
        "{\"v\":1,\"tool\":\"\",\"params\":{}}",
        "{\"v\":1,\"tool\":\"ls\",\"tool\":\"read\",\"params\":{}}",
        "{\"v\":1,\"tool\":\"ls\",\"params\":{},\"outcome\":\"allow\"}",
        "{\"v\":1,\"tool\":\"ls\",\"params\":{}",
        &deep,
    ] {
        let answer = gate.send(line.as_bytes()).expect("an answer");
        assert_eq!(outcome(&answer), "deny", "{line:.60}: {answer}");
    }
    let invalid = gate.send(b"{\"v\":1,\"tool\":\"ls\",\"params\":{\"path\":\"\xff\"}}").expect("an answer");
    assert_eq!(outcome(&invalid), "deny");
    assert_eq!(gate.outcome("ls", &json!({})), "allow");
}

#[test]
fn ten_megabytes_are_refused_and_four_are_read() {
    let gate = Gate::start();
    let long = json!({"v": 1, "tool": "write", "params": {"path": "big", "content": "x".repeat(10 << 20)}});
    // The gate stops reading: what is left in the socket may cut the answer off.
    if let Some(answer) = gate.send(long.to_string().as_bytes()) {
        assert_eq!(outcome(&answer), "deny", "{answer}");
    }
    assert_eq!(gate.outcome("write", &json!({"path": "big", "content": "x".repeat(3 << 20)})), "allow");
    assert_eq!(gate.outcome("read", &json!({"path": "x".repeat(1 << 20)})), "deny");
    let many: Vec<_> = (0..100_000).map(|n| n.to_string()).collect();
    assert_eq!(gate.outcome("read", &json!({"path": "notes", "also": many})), "deny");
    assert_eq!(gate.outcome("read", &json!({"path": "@".repeat(1 << 20)})), "deny");
}

#[test]
fn a_slow_peer_holds_up_nobody() {
    let gate = Gate::start();
    let mut slow: Vec<_> = (0..8).map(|_| gate.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"{\"v\":1,").expect("to write");
    }
    assert_eq!(gate.outcome("ls", &json!({})), "allow");
    // The gate gives each of them up, and answers nothing.
    for stream in slow {
        assert_eq!(answer(stream), None);
    }
    assert_eq!(gate.outcome("ls", &json!({})), "allow");
}

#[test]
fn many_calls_at_once_get_their_own_answers() {
    let gate = Gate::start();
    let home = gate.world.home().display().to_string();
    thread::scope(|scope| {
        for worker in 0..16 {
            let (gate, home) = (&gate, &home);
            scope.spawn(move || {
                for round in 0..8 {
                    let id = format!("call-{worker}-{round}");
                    let (path, expected) = match (worker + round) % 2 {
                        0 => (format!("{home}/{SECRET}"), "deny"),
                        _ => ("notes".to_owned(), "allow"),
                    };
                    let answer = gate.ask_as("read", &json!({"path": path}), &json!({"toolCallId": id}));
                    assert_eq!(outcome(&answer), expected, "{answer}");
                }
            });
        }
    });
    let lines = gate.world.audit();
    let mut ids: Vec<_> = lines.iter().filter_map(|line| line["toolCallId"].as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 16 * 8, "each call has its line");
}

#[test]
fn more_calls_than_places_are_refused() {
    let gate = Gate::start();
    let idle: Vec<_> = (0..80).map(|_| gate.connect()).collect();
    let answers: Vec<_> = idle
        .into_iter()
        .map(|mut stream| {
            let _ = stream.write_all(b"{\"v\":1,\"tool\":\"ls\",\"params\":{}}\n");
            answer(stream).map(|answer| outcome(&answer))
        })
        .collect();
    // Whoever got an answer got a right one; nobody was let through for want of a place.
    assert!(answers.iter().flatten().all(|one| one == "allow" || one == "deny"), "{answers:?}");
    assert!(answers.iter().flatten().any(|one| one == "allow"), "{answers:?}");
}

/// A process of a guarded tree can ask about nothing: the socket is denied to it, and a guard that connects for its tree is
/// turned away.
#[test]
fn a_guarded_tree_gets_no_answer() {
    let gate = Gate::start();
    let world = guard_tests::World::open();
    let script = r#"
import socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(60)
try:
    peer.connect(sys.argv[1])
    peer.sendall(b'{"v":1,"tool":"ls","params":{}}\n')
    print("answer:", peer.recv(9999))
except OSError as error:
    print("none:", error)
"#;
    let script = world.write("work/ask.py", script);
    let socket = gate.socket();
    let output = world.guarded(&["/usr/bin/python3".as_ref(), script.as_os_str(), socket.as_os_str()]);
    assert!(!output.stdout.contains("outcome"), "{output:?}");
    // The same program outside gets one.
    let outside = ended(std::process::Command::new("/usr/bin/python3").arg(&script).arg(&socket));
    assert!(outside.stdout.contains("\"outcome\":\"allow\""), "{outside:?}");
}

#[test]
fn one_gate_serves_at_a_time_and_none_inside_a_guard() {
    let gate = Gate::start();
    let second = ended(gate.world.command().args(["gate", "serve"]));
    assert_eq!(second.status, 125, "{second:?}");
    assert!(second.stderr.contains("the gate runs already"), "{second:?}");
    assert_eq!(gate.outcome("ls", &json!({})), "allow");
    let world = guard_tests::World::open();
    let inside = world.guarded(&[guard().as_os_str(), "gate".as_ref(), "serve".as_ref()]);
    assert_eq!(inside.status, 125, "{inside:?}");
}

#[test]
fn a_rule_that_swaps_a_link_between_two_calls_is_seen() {
    let gate = Gate::start();
    let link = gate.world.work().join("moving");
    for round in 0..20 {
        let (target, expected) = match round % 2 {
            0 => (gate.world.work().join("notes"), "allow"),
            _ => (gate.world.home().join(SECRET), "deny"),
        };
        let _ = std::fs::remove_file(&link);
        symlink(target, &link).expect("a link");
        assert_eq!(gate.outcome("read", &json!({"path": "moving"})), expected, "round {round}");
    }
}

#[test]
fn what_openclaw_does_not_allow_is_denied() {
    let world = world();
    write_config(&world, &json!({"tools": {"deny": ["write", "group:web"]}}));
    let gate = Gate::of(world, &[], &[]);
    assert_eq!(gate.outcome("write", &json!({"path": "a", "content": ""})), "deny");
    assert_eq!(gate.outcome("web_fetch", &json!({"url": "https://example.com/"})), "deny");
    assert_eq!(gate.outcome("read", &json!({"path": "notes"})), "allow");
}

/// The bound of `tools.read.maxSizeBytes` holds for what a tool reads, by whatever name.
#[test]
fn a_large_file_is_not_read() {
    let world = world().policy_text(|text| {
        text.replacen("\"version\": 1", "\"version\": 1, \"tools\": {\"read\": {\"maxSizeBytes\": 6}}", 1)
    });
    world.write("work/large", "1234567");
    world.write("else/large", "1234567");
    symlink("large", world.work().join("short")).expect("a link");
    let gate = Gate::of(world, &[], &[]);
    let edit = |path: &str| json!({"path": path, "edits": [{"oldText": "a", "newText": "b"}]});
    for path in ["large", "./large", "short", "~/../work/large", "@large", "../else/large"] {
        assert_eq!(gate.outcome("read", &json!({"path": path})), "deny", "{path}");
        assert_eq!(gate.outcome("edit", &edit(path)), "deny", "{path}");
    }
    let told = gate.ask("read", &json!({"path": "short"})).to_string();
    assert!(told.contains("tools.read.maxSizeBytes 6: the file has 7 bytes"), "{told}");
    assert_eq!(gate.outcome("write", &json!({"path": "large", "content": "x"})), "allow");
    assert_eq!(gate.outcome("read", &json!({"path": "notes"})), "allow");
    assert_eq!(gate.outcome("ls", &json!({"path": "."})), "allow");
    // The size counts at the time of the call.
    gate.world.write("work/notes", "1234567");
    assert_eq!(gate.outcome("read", &json!({"path": "notes"})), "deny");
}
