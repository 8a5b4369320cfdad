//! The gateway's own exec approvals, which the guard reads if guard.json has it connect as an administrator.

use std::time::Instant;

use guard_tests::World;
use guard_tests::gateway::{Client, Gateway, Release, gateway};
use serde_json::{Value, json};

use crate::world::{approver, path, world_with};

/// Returns a world whose guard connects as an administrator, with these routes.
fn world(gateway: &Gateway, routes: &str) -> World {
    let admin = |text: String| text.replace("\"tokenFile\"", "\"admin\": true, \"tokenFile\"");
    world_with(gateway, routes, 60_000).policy_text(admin)
}

/// No routes: nobody is asked.
const NOBODY: &str = "[]";
/// The operator answers with `approvals resolve`.
const OPERATOR: &str = r#"["cli"]"#;

/// A client that may change the gateway's store.
struct Admin(Client);

impl Admin {
    fn of(gateway: &Gateway) -> Admin {
        Admin(approver(gateway))
    }

    fn approvals(&self) -> Value {
        self.0.call("exec.approvals.get", json!({})).expect("the store")
    }

    fn set(&self, defaults: &Value, agents: &Value) {
        let Value::Object(mut approvals) = self.approvals() else { panic!("no object") };
        let (mut file, hash) = (approvals["file"].take(), approvals["hash"].take());
        (file["defaults"], file["agents"]) = (defaults.clone(), agents.clone());
        self.0.call("exec.approvals.set", json!({ "file": file, "baseHash": hash })).expect("to be taken");
    }

    /// Returns the allowlist entries of the agent `main`.
    fn entries(&self) -> Vec<Value> {
        self.approvals()["file"]["agents"]["main"]["allowlist"].as_array().cloned().unwrap_or_default()
    }
}

fn entry(pattern: &str) -> Value {
    json!({ "main": { "allowlist": [{ "pattern": pattern }] } })
}

fn what_it_says_governs(release: Release) {
    let Some(mut gateway) = gateway(release) else { return };
    let (admin, world) = (Admin::of(&gateway), world(&gateway, NOBODY));
    admin.set(&json!({}), &json!({}));
    let asked = path(&world, "bin/asked");
    assert_eq!(world.guarded(&["true"]).status, 0);
    assert_eq!(world.guarded(&[&asked, "x"]).status, 126);
    admin.set(&json!({}), &entry(&asked));
    let ended = world.guarded(&[&asked, "x"]);
    assert_eq!((ended.status, &*ended.stdout), (0, "x\n"), "{}", ended.stderr);
    admin.set(&json!({ "security": "deny" }), &entry(&asked));
    let is_denied = |why: &str| {
        let ended = world.guarded(&["true"]);
        assert_eq!(ended.status, 126, "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        ended.stderr
    };
    is_denied("gateway.defaults.security");

    // Killing the gateway changes nothing: its last settings count.
    gateway.end("-KILL");
    let stderr = is_denied("gateway.defaults.security");
    assert!(stderr.contains("the last ones from it stay in force"), "{stderr}");
    let other = self::world(&gateway, NOBODY);
    let ended = other.guarded(&["true"]);
    assert_eq!(ended.status, 126);
    assert!(ended.stderr.contains("exec approvals were never fetched"), "{}", ended.stderr);

    gateway.ensure();
    is_denied("gateway.defaults.security");
    Admin::of(&gateway).set(&json!({}), &json!({}));
    assert_eq!((world.guarded(&["true"]).status, other.guarded(&["true"]).status), (0, 0));
}

fn a_change_counts_before_somebody_is_asked(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (admin, world) = (Admin::of(&gateway), world(&gateway, OPERATOR));
    admin.set(&json!({}), &json!({}));
    let asked = path(&world, "bin/asked");
    let line = format!("{asked} one; until [ -e go ]; do sleep 0.1; done; {asked} two");
    let held = world.start(&["sh", "-c", &line]);
    world.answer("allow-once");
    admin.set(&json!({}), &entry(&asked));
    world.write("work/go", "");
    let ended = held.end();
    assert_eq!((ended.status, &*ended.stdout), (0, "one\ntwo\n"), "{}", ended.stderr);
}

fn always_is_saved_there(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (admin, world) = (Admin::of(&gateway), world(&gateway, OPERATOR));
    let other =
        json!({ "other": { "security": "allowlist", "allowlist": [{ "pattern": "/kept", "id": "kept" }] } });
    admin.set(&json!({ "askFallback": "deny" }), &other);
    let asked = path(&world, "bin/asked");
    let line = format!("{asked} one; {asked} one");
    let held = world.start(&["sh", "-c", &line]);
    world.answer("allow-always");
    let ended = held.end();
    assert_eq!((ended.status, &*ended.stdout), (0, "one\none\n"), "{}", ended.stderr);
    let entries = admin.entries();
    let [entry] = entries.as_slice() else { panic!("{entries:#?}") };
    assert_eq!((&entry["pattern"], &entry["source"]), (&json!(asked), &json!("allow-always")));
    let bound = entry["argPattern"].as_str().is_some_and(|text| text.starts_with("sha256:cwd-argv:v1:"));
    assert!(bound, "{entry}");
    let approvals = admin.approvals();
    assert_eq!(approvals["file"]["agents"]["other"]["allowlist"][0]["pattern"], "/kept");
    assert_eq!(approvals["file"]["defaults"]["askFallback"], "deny");
    for file in ["home/.openclaw/guard/approvals.json", "home/.openclaw/exec-approvals.json"] {
        assert_eq!(world.read(file), None, "{file}");
    }
    // Another guard has the entries from the start.
    let ended = world.start(&["sh", "-c", &line]).end();
    assert_eq!((ended.status, &*ended.stdout), (0, "one\none\n"), "{}", ended.stderr);
}

fn those_who_save_at_once_lose_nothing(release: Release) {
    const GUARDS: usize = 4;
    let Some(gateway) = gateway(release) else { return };
    let (admin, world) = (Admin::of(&gateway), world(&gateway, OPERATOR));
    admin.set(&json!({}), &json!({}));
    let asked = path(&world, "bin/asked");
    let held: Vec<_> = (0..GUARDS).map(|n| world.start(&[&*asked, &n.to_string()])).collect();
    let waiting = world.wait_for(GUARDS);
    let before = Instant::now();
    std::thread::scope(|scope| {
        for question in &waiting {
            scope.spawn(|| assert_eq!(world.resolve(question, "allow-always").status, 0));
        }
    });
    println!("{GUARDS} entries saved at once in {} ms ({})", before.elapsed().as_millis(), release.version());
    for held in held {
        let ended = held.end();
        assert_eq!(ended.status, 0, "{}", ended.stderr);
    }
    assert_eq!(admin.entries().len(), GUARDS, "{:#?}", admin.entries());
}

/// The guard's own connections do not count as approvers, although an administrator's could answer.
fn the_guard_itself_is_nobody_to_ask(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    // Nor does the connection of another guard, which reads the settings of this test.
    let (admin, world) = (Admin::of(&gateway), world(&gateway, OPERATOR));
    admin.set(&json!({}), &json!({}));
    drop(admin);
    let held = world.start(&[path(&world, "bin/asked")]);
    let waiting = world.wait_for(1);
    let asking_world = self::world(&gateway, r#"["gateway"]"#);
    let ended = asking_world
        .start(&["bash", "-c", &format!("{} run; echo $?", path(&asking_world, "bin/asked"))])
        .end();
    assert_eq!(ended.stdout, "126\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("nobody is connected to the gateway"), "{}", ended.stderr);
    assert_eq!(world.resolve(&waiting[0], "deny").status, 0);
    assert_eq!(held.end().status, 126);
}

for_each_release! {
    the_guard_itself_is_nobody_to_ask,
    what_it_says_governs,
    a_change_counts_before_somebody_is_asked,
    always_is_saved_there,
    those_who_save_at_once_lose_nothing,
}
