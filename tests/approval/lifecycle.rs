//! `Exec running`, `Exec finished`, `Exec denied`: in the audit log, and to subscribers.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use guard_tests::{World, until};
use serde_json::Value;

use crate::world::{executable, path, world, world_with};

/// Returns the audit log's `Exec …` texts, with `ID` for the id.
fn exec_texts(world: &World) -> Vec<String> {
    let text =
        |line: &Value| line["text"].as_str().filter(|text| text.starts_with("Exec ")).map(str::to_owned);
    let of = |line: Value| {
        let (text, id) = (text(&line)?, line["id"].as_str()?.to_owned());
        Some(text.replace(&id, "ID"))
    };
    world.audit().into_iter().filter_map(of).collect()
}

#[test]
fn a_program_is_told_of_until_its_end() {
    let world =
        world().policy_text(|text| text.replace("\"timeoutMs\"", "\"runningNoticeMs\": 4000, \"timeoutMs\""));
    executable(&world.write("bin/slow", "#!/bin/sh\nuntil [ -e told ]; do sleep 0.1; done; exit 3\n"));
    let (slow, asked) = (path(&world, "bin/slow"), path(&world, "bin/asked"));
    let line = format!("{slow}; {asked} 'a b'; {slow} & wait $!; until [ -e over ]; do sleep 0.1; done");
    let held = world.start(&["bash", "-c", &line]);
    world.answer("allow-once");
    until("it runs", || exec_texts(&world).len() == 1);
    let marker = world.write("work/told", "");
    let second = world.wait_for(1).remove(0);
    std::fs::remove_file(marker).expect("a file");
    assert_eq!(world.resolve(&second, "allow-once").status, 0);
    let third = world.answer("allow-once");
    until("it runs", || exec_texts(&world).len() == 4);
    let killed = std::process::Command::new("kill").arg(third["askedBy"][0]["pid"].to_string()).status();
    assert!(killed.is_ok_and(|status| status.success()));
    until("its end is told", || exec_texts(&world).len() == 5);
    world.write("work/over", "");
    assert_eq!(held.end().status, 0);
    let slow = format!("/bin/sh {slow}");
    assert_eq!(
        exec_texts(&world),
        [
            format!("Exec running (guard id=ID): {slow}"),
            format!("Exec finished (guard id=ID, code 3): {slow}"),
            format!("Exec finished (guard id=ID, code 0): {asked} 'a b'"),
            format!("Exec running (guard id=ID): {slow}"),
            format!("Exec finished (guard id=ID, signal 15): {slow}"),
        ]
    );
}

#[test]
fn a_program_that_may_not_start_is_reported() {
    let asked = |world: &World| path(world, "bin/asked");
    let denied = |world: &World, reason: &str| {
        assert_eq!(exec_texts(world), [format!("Exec denied (guard id=ID, {reason}): {} x", asked(world))]);
    };
    let world = world();
    let held = world.start(&[asked(&world), "x".to_owned()]);
    world.answer("deny");
    drop(held.end());
    denied(&world, "user-denied");

    let world = world_with(100, "");
    drop(world.start(&[asked(&world), "x".to_owned()]).end());
    denied(&world, "approval-timeout");

    let world = world_with(100_000, r#", "approvals": {"routes": []}"#);
    drop(world.start(&[asked(&world), "x".to_owned()]).end());
    denied(&world, "no-approval-route");
}

#[test]
fn a_subscriber_hears_of_it() {
    let world = world();
    let line = format!("{} x; until [ -e over ]; do sleep 0.1; done", path(&world, "bin/asked"));
    let held = world.start(&["bash", "-c", &line]);
    let asked = world.wait_for(1).remove(0);
    let socket = format!(".openclaw/guard/run/{}.sock", asked["guard"]);
    let mut peer = UnixStream::connect(world.home().join(socket)).expect("the guard's socket");
    peer.write_all(b"{\"version\": 1, \"method\": \"subscribe\"}\n").expect("to ask");
    let mut lines = BufReader::new(peer)
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
    assert_eq!(lines.next().expect("what waits")["approvals"][0]["id"], asked["id"]);
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    let event = lines.find(|line| line["type"] == "told").expect("to be told");
    assert_eq!((&event["going"], &event["id"]), (&"finished".into(), &asked["id"]));
    world.write("work/over", "");
    assert_eq!(held.end().stdout, "x\n");
}
