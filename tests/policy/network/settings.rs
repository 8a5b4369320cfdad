//! `deny` and `ports`, and the commands that report them.

use guard_tests::{World, ended, ended_with_input};
use serde_json::{Value, json};

use super::{Listener, check, natively, tried, world};

#[test]
fn a_denial_and_what_it_does_not_cover() {
    let listener = Listener::everywhere();
    let port = listener.port;
    let world = world(&format!(r#"{{"deny": ["127.0.0.0/30:{port}", "[::1]:{port}"]}}"#));
    let hosts = [
        "127.0.0.1",
        "127.0.0.3",
        "127.0.0.4",
        "0.0.0.0",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:127.0.0.5",
    ];
    let tries = hosts.map(|host| format!("tcp {host} {port}"));
    let (results, ended) = tried(&world, None, &tries);
    assert_eq!(
        results,
        ["EACCES", "EACCES", "ok", "EACCES", "EACCES", "EACCES", "EACCES", "ok"],
        "{}",
        ended.stderr
    );
    let line = format!(
        "openclaw-guard: denied connect 127.0.0.3:{port} (network.connect.deny \"127.0.0.0/30:{port}\")"
    );
    assert!(ended.guard_lines().contains(&line.as_str()), "{}", ended.stderr);
    assert_eq!(natively(&world, &tries), ["ok"; 8]);
}

#[test]
fn only_the_ports_that_are_named() {
    let (open, shut) = (Listener::everywhere(), Listener::everywhere());
    let world = world(&format!(r#"{{"ports": [{}]}}"#, open.port));
    let tries = [&open, &shut].map(|listener| format!("tcp 127.0.0.1 {}", listener.port));
    for tiers in guard_tests::TIERS {
        let mut world_of = world.command();
        world_of.args(["--tiers", tiers, "--", "python3", "-S", "-c", super::TRY]);
        let output = ended(world_of.args(&tries));
        assert_eq!(output.stdout, "ok\nEACCES\n", "{tiers}: {}", output.stderr);
        let line = format!("denied connect 127.0.0.1:{} (network.connect.ports [{}])", shut.port, open.port);
        assert!(output.stderr.contains(&line), "{}", output.stderr);
    }
    assert_eq!((shut.reached(), open.reached()), (0, 4));
}

/// `check --batch` reports what happens.
#[test]
fn check_says_what_happens() {
    let listener = Listener::everywhere();
    let port = listener.port;
    let world = world(&format!(r#"{{"deny": ["127.0.0.2", "[::1]:{port}"], "ports": [{port}]}}"#));
    let mut questions = Vec::new();
    for op in ["connect", "bind"] {
        for transport in ["tcp", "udp"] {
            for host in ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::ffff:127.0.0.2", "::ffff:127.0.0.3"] {
                for port in [port, 18789] {
                    questions.push((op, transport, host, port));
                }
            }
        }
    }
    let batch: String = questions
        .iter()
        .map(|(op, transport, host, port)| {
            let address = super::shown(host, *port).expect("an address");
            format!("{}\n", json!({"op": op, "address": address, "transport": transport}))
        })
        .collect();
    let mut command = world.command();
    let checked = ended_with_input(command.args(["check", "--batch"]), batch.as_bytes());
    assert_eq!(checked.status, 0, "{}", checked.stderr);
    let tries: Vec<String> = questions
        .iter()
        .map(|(op, transport, host, port)| {
            format!("{transport}{} {host} {port}", op.trim_start_matches("connect"))
        })
        .collect();
    let (results, ended) = tried(&world, None, &tries);
    assert_eq!(results.len(), questions.len(), "{}", ended.stderr);
    for ((answer, result), question) in checked.stdout.lines().zip(&results).zip(&questions) {
        let answer: Value = serde_json::from_str(answer).expect("JSON");
        assert_eq!(answer["outcome"] == "deny", result == "EACCES", "{question:?}: {answer} {result}");
    }
    let mut wrong = world.command();
    let questions = b"{\"op\":\"connect\",\"address\":\"localhost:1\"}\n{\"op\":\"connect\",\"address\":\"1.2.3.4:5\",\"transport\":\"sctp\"}\n";
    let output = ended_with_input(wrong.args(["check", "--batch"]), questions);
    assert_eq!((output.status, output.stdout.matches("\"deny\"").count()), (125, 2), "{output:?}");
    assert_eq!(guard_tests::ended(check(&world, 1).args(["--connect", "nonsense"])).status, 125);
}

#[test]
fn the_floor_counts_ports_where_they_are_asked_for() {
    let world = world(r#"{"ports": [443]}"#);
    let output = ended(world.command().args(["--require-floor", "--", "true"]));
    let abi_is_full = ended(World::open().command().args(["--require-floor", "--", "true"])).status == 0;
    // A kernel that supports the whole floor supports this part of it.
    assert_eq!(output.status == 0, abi_is_full, "{}", output.stderr);
}

#[test]
fn show_and_test_know_the_network_rules() {
    let world = World::bare().policy(
        r#"{"version": 1, "network": {"connect": {"deny": ["10.0.0.0/8"], "ports": [443]}}, "examples": [
            {"op": "connect", "address": "10.1.1.1:443", "outcome": "deny"},
            {"op": "connect", "address": "9.9.9.9:443", "outcome": "allow"},
            {"op": "bind", "address": "127.0.0.1:18789", "outcome": "deny"}]}"#,
    );
    let tested = ended(world.command().args(["policy", "test"]));
    assert!(tested.stdout.contains("3 of 3 examples hold"), "{tested:?}");
    let shown = ended(world.command().args(["policy", "show", "--effective"]));
    for line in [
        "network.connect.deny  10.0.0.0/8:*  (global)",
        "network.connect.ports 443  (global)",
        "network.connect.gateway deny  (default)  port 18789",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
}
