//! The history and the policy.

use serde_json::Value;

use crate::world::{path, world};

#[test]
fn the_history_has_answers_and_denials() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let read = |query: &str| page.get(&format!("/history{query}"), &session).json();
    assert_eq!(read("")["entries"], Value::Array(Vec::new()));
    let asked = path(&world, "bin/asked");
    let held = world.start(&[
        "bash",
        "-c",
        &format!("{asked} first; {asked} second $'\\e[2J'; cat /root/none /etc/shadow"),
    ]);
    for decision in ["allow-once", "deny"] {
        assert_eq!(page.choose(&session, decision).status, 200);
    }
    // Denies the questions about the files, where there are any.
    while world.pending().len() == 1 || !held.stderr().contains("denied") {
        if world.pending().len() == 1 {
            let _ = page.choose(&session, "deny");
        }
    }
    let _ = held.end();
    let all = read("");
    let entries = all["entries"].as_array().expect("a list");
    let text = all.to_string();
    assert!(
        entries.iter().any(|entry| entry["decision"] == "allow-once" && entry["path"] == asked),
        "{all:#}"
    );
    assert!(entries.iter().any(|entry| entry["event"] == "denied"), "{all:#}");
    assert!(text.contains("\\\\u{1B}[2J") && !text.contains("\\u001b"), "{text}");
    assert!(entries.windows(2).all(|two| two[0]["at"].as_u64() > two[1]["at"].as_u64()), "{all:#}");
    // Every word must match, in any case.
    let found = read("?search=SECOND%20deny");
    let found = found["entries"].as_array().expect("a list");
    assert!(
        !found.is_empty() && found.iter().all(|entry| entry["argv"].to_string().contains("second")),
        "{found:#?}"
    );
    assert_eq!(read("?search=first+nowhere")["entries"], Value::Array(Vec::new()));
    // Reads what is older than one line.
    let last = entries[0]["at"].as_u64().expect("a number");
    let before = read(&format!("?before={last}"));
    assert_eq!(before["entries"].as_array().map(Vec::len), Some(entries.len() - 1));
    assert_eq!(page.get("/history?before=-1", &session).status, 400);
}

#[test]
fn the_policy_is_the_one_in_force() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let policy = page.get("/policy", &session).json();
    assert_eq!(policy["agent"], "main");
    assert!(policy["file"].as_str().is_some_and(|file| file.ends_with("guard.json")), "{policy:#}");
    let text = policy.to_string();
    assert!(text.contains("exec.ask") && text.contains("on-miss") && text.contains("bin/free"), "{policy:#}");
    // An invalid policy is reported, and nothing breaks.
    world.write("guard.json", "{");
    let wrong = page.get("/policy", &session);
    assert_eq!(wrong.status, 500);
    assert!(wrong.json()["message"].as_str().is_some_and(|why| why.contains("guard.json")), "{wrong:?}");
}
