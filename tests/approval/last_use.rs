//! When a saved entry was used last, as OpenClaw's Control UI and `approvals saved` show it.

use std::fs;
use std::path::Path;

use guard_tests::{World, ended};
use serde_json::{Value, json};

const OPENCLAW: &str = "home/.openclaw/exec-approvals.json";
const OWN: &str = "home/.openclaw/guard/approvals.json";

fn program(name: &str) -> String {
    guard_tests::program(name).canonicalize().expect("a real path").to_str().expect("text").to_owned()
}

/// A world in which only saved entries let programs start.
fn world() -> World {
    World::bare().policy(
        r#"{"version": 1, "exec": {"ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rw-", "@/bin/**": "r--"}}}}"#,
    )
}

fn allowlist(world: &World, store: impl AsRef<Path>) -> Value {
    let text = world.read(store).expect("a store");
    serde_json::from_str::<Value>(&text).expect("JSON")["agents"]["main"]["allowlist"].clone()
}

#[test]
fn each_store_is_told_what_was_used() {
    let world = world();
    let (uname, id) = (program("uname"), program("id"));
    let entries = json!([
        {"id": "1", "pattern": uname, "lastUsedAt": 5, "lastUsedCommand": "before", "theirs": true},
        {"id": "2", "pattern": uname, "argPattern": "^-r$", "lastUsedAt": 6},
        {"id": "3", "pattern": program("env"), "lastUsedAt": 7},
    ]);
    world.write(OPENCLAW, json!({"version": 1, "agents": {"main": {"allowlist": entries}}}).to_string());
    let own = json!([{"id": "4", "pattern": id}]);
    world.write(OWN, json!({"version": 1, "agents": {"main": {"allowlist": own}}}).to_string());

    assert_eq!(world.guarded(&["uname", "-s"]).stdout, "Linux\n");
    let after = allowlist(&world, OPENCLAW);
    let at = after[0]["lastUsedAt"].as_u64().expect("a time");
    assert!(at > 1_700_000_000_000, "{after}");
    assert_eq!(after[0]["lastUsedCommand"], "uname -s");
    assert_eq!(after[0]["lastResolvedPath"], json!(uname));
    assert_eq!(after[0]["theirs"], true);
    assert_eq!((&after[1], &after[2]), (&entries[1], &entries[2]));
    assert_eq!(allowlist(&world, OWN), own);

    assert_eq!(world.guarded(&["id", "-u"]).status, 0);
    let used = allowlist(&world, OWN)[0].clone();
    assert_eq!((&used["lastUsedCommand"], &used["lastResolvedPath"]), (&json!("id -u"), &json!(id)));
    let listed = ended(world.command().args(["approvals", "saved"])).stdout;
    assert!(listed.contains("(last used 20"), "{listed}");
    let listed = ended(world.command().args(["approvals", "saved", "--json"])).stdout;
    assert_eq!(serde_json::from_str::<Value>(&listed).expect("JSON")[0]["lastUsedAt"], used["lastUsedAt"]);
}

/// A script of a hundred commands writes the store once.
#[test]
fn a_second_use_within_a_minute_writes_nothing() {
    let world = world();
    let entries = json!([{"id": "1", "pattern": program("uname")}]);
    let store =
        world.write(OPENCLAW, json!({"version": 1, "agents": {"main": {"allowlist": entries}}}).to_string());
    assert_eq!(world.guarded(&["uname"]).status, 0);
    let before = fs::metadata(&store).expect("a store").modified().expect("a time");
    assert_eq!(world.guarded(&["uname", "-m"]).status, 0);
    assert_eq!(fs::metadata(&store).expect("a store").modified().expect("a time"), before);
    assert_eq!(allowlist(&world, OPENCLAW)[0]["lastUsedCommand"], "uname");
}

/// What did not start by an entry leaves it alone: a denied program, and what only observing lets through.
#[test]
fn what_is_denied_or_observed_is_no_use() {
    let world = world();
    let entries = json!([{"id": "1", "pattern": program("uname"), "argPattern": "^-r$"}]);
    let text = json!({"version": 1, "agents": {"main": {"allowlist": entries}}}).to_string();
    world.write(OPENCLAW, &text);
    assert_eq!(world.guarded(&["uname", "-s"]).status, 126);
    for arguments in [&["--observe", "--", "uname", "-r"], &["--observe", "--", "uname", "-s"]] {
        assert_eq!(ended(world.command().args(arguments)).status, 0);
    }
    assert_eq!(world.read(OPENCLAW), Some(text));
}

/// OpenClaw keeps no command line beside a hash of the arguments, and the guard's log shows no secret either.
#[test]
fn arguments_are_not_written_beside_their_hash_and_secrets_are_masked() {
    let world = world();
    let uname = program("uname");
    let hash = guard_policy::cwd_argv_pattern(
        world.work().canonicalize().expect("a path").as_os_str().as_encoded_bytes(),
        &[b"-m".to_vec()],
    );
    let entries = json!([
        {"id": "1", "pattern": uname, "argPattern": hash, "source": "allow-always",
         "lastUsedCommand": "uname -m", "lastUsedAt": 5},
        {"id": "2", "pattern": program("echo")},
    ]);
    world.write(OPENCLAW, json!({"version": 1, "agents": {"main": {"allowlist": entries}}}).to_string());
    assert_eq!(world.guarded(&["uname", "-m"]).status, 0);
    let bound = allowlist(&world, OPENCLAW)[0].clone();
    assert!(bound["lastUsedAt"].as_u64().expect("a time") > 5, "{bound}");
    assert_eq!((&bound["lastResolvedPath"], bound.get("lastUsedCommand")), (&json!(uname), None));
    assert_eq!(world.guarded(&["echo", "--token=abcdefgh12345678"]).status, 0);
    let free = allowlist(&world, OPENCLAW)[1].clone();
    assert!(!free["lastUsedCommand"].as_str().expect("a command").contains("abcdefgh"), "{free}");
}
