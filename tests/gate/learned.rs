//! `learn --calls`: a policy from what the gate has seen.

use guard_tests::{World, ended};
use serde_json::{Value, json};

use crate::world::{Gate, world};

/// A patch of these new files, in the workspace.
fn patch(files: [&str; 2]) -> Value {
    let files = files.map(|file| format!("*** Add File: {file}\n+text\n"));
    json!({"input": format!("*** Begin Patch\n{}*** End Patch", files.concat())})
}

/// A world whose policy allows nothing that it need not.
fn strict() -> World {
    let world = world();
    world.write("guard.json", r#"{"version": 1, "exec": {"ask": "off"}}"#);
    world.write("work/project/notes", "notes\n");
    world.write("home/elsewhere", "text\n");
    world
}

#[test]
fn what_an_observing_gate_has_seen_becomes_a_policy() {
    let mut gate = Gate::of(strict(), &["--observe"], &[]);
    let calls = [
        ("read", json!({"path": "project/notes"})),
        ("apply_patch", patch(["project/one", "else/two"])),
        ("web_fetch", json!({"url": "https://example.com/a?token=sk-abcdefghijklmnop1234"})),
    ];
    let refused = [
        ("read", json!({"path": "~/.ssh/id_rsa"})),
        ("write", json!({"path": "~/elsewhere", "content": "x"})),
        // A rule for the root alone would open all that is below it.
        ("ls", json!({"path": "/"})),
        ("read", json!({"path": "/proc/thread-self/root/etc/hostname"})),
        ("web_fetch", json!({"url": "http://169.254.169.254/latest"})),
    ];
    for (tool, params) in calls.iter().chain(&refused) {
        assert_eq!(gate.outcome(tool, params), "allow", "{tool} {params}");
    }
    assert_eq!(gate.outcome("exec", &json!({"command": "make"})), "allow");
    let other = json!({"agentId": "other", "sessionKey": "agent:other:main"});
    gate.ask_as("read", &json!({"path": "/etc/hostname"}), &other);
    let world = &gate.world;
    let mut learn = world.command();
    learn.args(["learn", "--calls", "--json", "-o"]).arg(world.root().join("new.json"));
    let learned = ended(&mut learn);
    assert_eq!(learned.status, 0, "{learned:?}");
    let said: Value = serde_json::from_str(&learned.stdout).expect("JSON");
    assert!(!learned.stdout.contains("/etc/hostname"), "another agent's: {learned:?}");
    assert_eq!(said["hosts"]["allowedDomains"], json!(["example.com"]), "{said}");
    let left: Vec<_> = said["leftOut"].as_array().expect("a list").iter().map(|left| &left["path"]).collect();
    let at_home = |name: &str| json!(world.home().join(name).display().to_string());
    assert!(left.contains(&&at_home(".ssh/id_rsa")) && left.contains(&&at_home("elsewhere")), "{left:?}");

    let text = world.read("new.json").expect("the policy");
    world.write("guard.json", text);
    gate.restart();
    for (tool, params) in &calls {
        assert_eq!(gate.outcome(tool, params), "allow", "{tool} {params}");
    }
    for (tool, params) in refused.iter().chain(&[("read", json!({"path": "/etc/hostname"}))]) {
        assert_eq!(gate.outcome(tool, params), "deny", "{tool} {params}");
    }
}

#[test]
fn calls_that_a_policy_decided_about_teach_nothing() {
    let gate = Gate::of(strict(), &[], &[]);
    assert_eq!(gate.outcome("read", &json!({"path": "/root/x"})), "deny");
    let refused = ended(gate.world.command().args(["learn", "--calls"]));
    assert!(refused.status == 125 && refused.stderr.contains("--observe gate serve"), "{refused:?}");
    let both = ended(gate.world.command().args(["learn", "--calls", "--", "true"]));
    assert!(both.status == 125 && both.stderr.contains("cannot be used with"), "{both:?}");
}
