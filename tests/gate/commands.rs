//! `gate install`, `status` and `remove`, `doctor`, and `tools` where there is a gate.

use std::os::unix::fs::PermissionsExt;

use guard_tests::{Ended, World, ended, until};
use serde_json::Value;

use crate::world::{Gate, world};

fn gate(world: &World, action: &[&str]) -> Ended {
    // No openclaw of the machine is used.
    ended(world.command().arg("gate").args(action).env("PATH", "/usr/bin:/bin"))
}

fn status(world: &World) -> Value {
    serde_json::from_str(&gate(world, &["status", "--json"]).stdout).expect("JSON")
}

/// What OpenClaw's `plugins install` writes.
fn loaded(world: &World) {
    let entry = serde_json::json!({"plugins": {"entries": {"openclaw-guard-gate": {"enabled": true}}}});
    crate::world::write_config(world, &entry);
}

/// A stand-in for OpenClaw's command, which writes its arguments to a file.
fn fake_openclaw(world: &World, ends: &str) -> String {
    let script = format!("#!/bin/sh\necho \"$@\" >>{}/openclaw.args\n{ends}\n", world.root().display());
    let path = world.write("fake/openclaw", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    format!("{}:/usr/bin:/bin", path.parent().expect("a directory").display())
}

#[test]
fn the_plugin_is_installed_compared_and_removed() {
    let gate_world = Gate::start();
    let world = &gate_world.world;
    assert_eq!(status(world)["plugin"], "absent");
    loaded(world);
    let installed = gate(world, &["install"]);
    assert_eq!(installed.status, 0, "{installed:?}");
    assert!(installed.stdout.contains("openclaw plugins install --link"), "{installed:?}");
    let script = world.home().join(".openclaw/guard/plugin/index.js");
    assert_eq!(std::fs::metadata(&script).expect("the plugin").permissions().mode() & 0o777, 0o600);
    let found = status(world);
    assert_eq!((&found["plugin"], &found["answers"]), (&"as-installed".into(), &true.into()), "{found}");
    assert_eq!(gate(world, &["status"]).status, 0);

    // A change on the disk is reported by status, doctor and the service.
    let text = std::fs::read_to_string(&script).expect("the plugin");
    std::fs::write(&script, text.replace("return block", "return undefined; block")).expect("to write");
    assert_eq!(status(world)["plugin"], "changed");
    let shown = gate(world, &["status"]);
    assert!(shown.status == 1 && shown.stdout.contains("index.js is another one"), "{shown:?}");
    let doctor = ended(world.command().arg("doctor"));
    assert!(doctor.stdout.contains("index.js is another one"), "{doctor:?}");
    gate_world.outcome("ls", &serde_json::json!({}));
    until("the service says so", || {
        world.read("gate.log").is_some_and(|log| log.contains("index.js is another one"))
    });
    assert_eq!(gate(world, &["install"]).status, 0);
    assert_eq!(status(world)["plugin"], "as-installed");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o666)).expect("a mode");
    assert_eq!(status(world)["plugin"], "changed");
    let removed = gate(world, &["remove"]);
    assert!(removed.status == 0 && removed.stdout.contains("openclaw plugins uninstall"), "{removed:?}");
    assert_eq!(status(world)["plugin"], "absent");
}

#[test]
fn openclaw_itself_links_the_plugin() {
    let world = world();
    let path = fake_openclaw(&world, "exit 0");
    let run = |action: &str, path: &str| ended(world.command().args(["gate", action]).env("PATH", path));
    let installed = run("install", &path);
    assert_eq!(installed.status, 0, "{installed:?}");
    assert!(installed.stdout.contains("OpenClaw has linked it"), "{installed:?}");
    let directory = world.home().join(".openclaw/guard/plugin");
    let said = world.read("openclaw.args").expect("its arguments");
    let plain = format!("plugins install --link {}\n", directory.display());
    assert_eq!(said, plain);
    // Newer releases want the operator's consent.
    let asks = "case \"$*\" in *--accept-capabilities) ;; *) echo rerun with --force >&2; exit 1;; esac";
    let path = fake_openclaw(&world, asks);
    let installed = run("install", &path);
    assert!(installed.status == 0 && installed.stdout.contains("OpenClaw has linked it"), "{installed:?}");
    let said = world.read("openclaw.args").expect("its arguments");
    assert!(said.ends_with(" --force --accept-capabilities\n"), "{said}");
    let path = fake_openclaw(&world, "echo no such plugin >&2; exit 3");
    let refused = run("remove", &path);
    assert!(refused.status == 125 && refused.stderr.contains("status 3): no such plugin"), "{refused:?}");
}

#[test]
fn a_gate_that_is_gone_is_named() {
    let mut served = Gate::start();
    assert_eq!(gate(&served.world, &["install"]).status, 0);
    served.kill();
    let shown = gate(&served.world, &["status"]);
    assert!(shown.status == 1 && shown.stdout.contains("does not answer"), "{shown:?}");
    let doctor = ended(served.world.command().arg("doctor"));
    assert!(doctor.stdout.contains("every tool call is blocked"), "{doctor:?}");
}

#[test]
fn doctor_names_the_traps_of_tool_policy() {
    let world = world();
    let doctor = |config: Value| {
        crate::world::write_config(&world, &config);
        ended(world.command().args(["doctor", "tools"])).stdout
    };
    let both = doctor(serde_json::json!({"tools": {"allow": ["read"], "alsoAllow": ["write"]}}));
    assert!(both.contains("alsoAllow"), "{both}");
    let unknown = doctor(serde_json::json!({"tools": {"profile": "codng"}}));
    assert!(unknown.contains("unknown profile"), "{unknown}");
    let plugins = doctor(serde_json::json!({"tools": {"allow": ["my_tool"]}}));
    assert!(plugins.contains("my_tool"), "{plugins}");
    let plain = doctor(serde_json::json!({}));
    assert!(plain.contains("sub-agents may use exec"), "{plain}");
    assert!(plain.contains("nobody holds read"), "{plain}");
}

#[test]
fn tools_explain_says_what_the_gate_holds() {
    let world = world();
    let holder = |tool: &str| {
        let output = ended(world.command().args(["tools", "check", tool, "--json"]));
        serde_json::from_str::<Value>(&output.stdout).expect("JSON")["heldBy"].clone()
    };
    assert_eq!(holder("read"), "nobody");
    loaded(&world);
    assert_eq!(holder("read"), "nobody");
    assert_eq!(gate(&world, &["install"]).status, 0);
    assert_eq!(holder("read"), "gate");
}
