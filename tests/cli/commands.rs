//! Commands as text: `check --batch` and `check -- 'string'` give OpenClaw's answers, with stub programs.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use guard_tests::{Ended, World, ended, ended_with_input};
use serde_json::{Value, json};

/// The OpenClaw release whose answers the guard must give.
const NEWEST: &str = "2026.9.6";

const STUBS: &str = "awk busybox curl dash doas docker fd fish flock gawk git gog jq ksh lua make mytool node npm npx \
    perl php pnpm prettier python3 rg ruby sqlite3 ssh sudo toybox tsc vitest wget xargs2 yarn zsh";
const SYSTEM: &str = "[ bash cat chrt cut echo env find head id ls nice printf pwd rm setsid sh sort stdbuf tail taskset \
    test time timeout touch tr true uniq wc whoami xargs";

fn data() -> Value {
    serde_json::from_str(include_str!("../../policy/tests/data/shell-allowlist.json")).expect("JSON")
}

/// Returns a world with the cases' stubs: it has its own `/oracle` and `/usr/bin`, and uses no real program.
fn world(ask: &str) -> World {
    let patterns: Vec<_> = data()["context"]["allowlist"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| json!({ "pattern": format!("@{}", entry["pattern"].as_str().expect("text")) }))
        .collect();
    let policy = json!({
        "version": 1,
        "exec": { "security": "allowlist", "ask": ask, "safeBinTrustedDirs": ["@/usr/bin"] },
        "permissions": { "filesystem": { "rules": { "/**": "r-x" } } },
        "agents": { "main": { "allowlist": patterns } },
    });
    let world = World::bare().policy(&policy.to_string());
    let stub = |path: String| {
        let path = world.write(path, "#!/bin/sh\nexit 1\n");
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a program");
    };
    STUBS.split_whitespace().for_each(|name| stub(format!("oracle/bin/{name}")));
    SYSTEM.split_whitespace().for_each(|name| stub(format!("usr/bin/{name}")));
    stub("oracle/work/scripts/save.sh".to_owned());
    symlink("rg", world.root().join("oracle/bin/rg-link")).expect("a link");
    world
}

fn path(world: &World) -> String {
    let root = world.root();
    format!("{0}/oracle/bin:{0}/usr/bin", root.display())
}

/// Returns the comparable parts of an answer. Digests differ, since the directories do.
fn comparable(answer: &Value) -> Value {
    let segments = answer["segments"].as_array().expect("segments");
    let of = |segment: &Value| json!([segment["argv"], segment["by"], segment["match"], segment["resolved"]]);
    let entries = answer["allowAlways"].as_array().expect("entries");
    let pattern = |entry: &Value| {
        let bound =
            entry["argPattern"].as_str().is_some_and(|digest| digest.starts_with("sha256:cwd-argv:v1:"));
        json!([entry["pattern"], bound])
    };
    json!({
        "analysisOk": answer["analysisOk"],
        "allowlistSatisfied": answer["allowlistSatisfied"],
        "reason": answer["reason"],
        "segments": segments.iter().map(of).collect::<Vec<_>>(),
        "allowAlways": entries.iter().map(pattern).collect::<Vec<_>>(),
    })
}

#[test]
fn a_batch_of_commands_is_answered_as_openclaw_does() {
    let world = world("on-miss");
    let data = data();
    let cases = data["cases"].as_array().expect("cases");
    let cwd = world.root().join("oracle/work");
    let lines: Vec<_> = cases
        .iter()
        .map(|case| {
            json!({ "op": "command", "command": case["command"], "cwd": cwd, "path": path(&world) })
                .to_string()
        })
        .collect();
    let ended = ended_with_input(world.command().args(["check", "--batch"]), lines.join("\n").as_bytes());
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let root = world.root().display().to_string();
    let mut agreed = 0;
    for (line, case) in ended.stdout.lines().zip(cases) {
        let line = line.replace(&format!("{root}/home"), "/root").replace(&root, "");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(comparable(&answer), comparable(&case[NEWEST]), "{}", case["command"]);
        let outcome = if answer["allowlistSatisfied"] == true { "allow" } else { "ask" };
        assert_eq!(answer["outcome"], outcome, "{}", case["command"]);
        agreed += 1;
    }
    println!("commands in a batch: {agreed} of {}", cases.len());
    assert_eq!(agreed, cases.len());
}

fn check(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().env("PATH", path(world)).arg("check").args(arguments))
}

#[test]
fn one_argument_is_read_as_a_command_line() {
    let (silent, world) = (world("off"), world("on-miss"));
    for (text, status) in [
        ("ls -la | rg x", 0),
        ("bash -c 'ls && whoami'", 0),
        ("ls; rm x", 2),
        ("ls > x", 2),
        ("ls 'unterminated", 2),
        ("  ", 2),
        ("sudo ls", 2),
    ] {
        let ended = check(&world, &["--", text]);
        assert_eq!(ended.status, status, "{text}: {}{}", ended.stdout, ended.stderr);
        let unasked = check(&silent, &["--", text]);
        assert_eq!(unasked.status, i32::from(status == 2), "{text}: {}", unasked.stdout);
        assert_eq!(check(&world, &["--exec-security", "deny", "--", text]).status, 1, "{text}");
        let json: Value = serde_json::from_str(&check(&world, &["--json", "--", text]).stdout).expect("JSON");
        assert_eq!(json["allowlistSatisfied"], status == 0, "{text}");
    }
    // A single word is a program's name or path, even if no program has that name.
    assert!(check(&world, &["--", "ls"]).stdout.starts_with("allow exec /"));
    assert_eq!(check(&world, &["--", "no-such-command"]).status, 125);
    assert_eq!(check(&world, &["--", "ls", "-la | rg x"]).status, 0);
}

#[test]
fn the_answer_names_each_part_and_what_always_saves() {
    let world = world("on-miss");
    let output = check(&world, &["--", "ls -la | rg 'a b' && sudo x"]).stdout;
    for part in
        ["allow ls -la", "allow rg 'a b'", "ask sudo x", "allowlist", "command-carrier", "would count once"]
    {
        assert!(output.contains(part), "{part}: {output}");
    }
    let saved = check(&world, &["--", "mytool --json | tr a b"]).stdout;
    assert!(saved.contains("/oracle/bin/mytool sha256:cwd-argv:v1:"), "{saved}");
    let hidden = check(&world, &["--", "ls \u{1b}[31m\u{202e}"]).stdout;
    assert!(!hidden.contains('\u{1b}') && !hidden.contains('\u{202e}'), "{hidden:?}");
}

#[test]
fn a_rule_of_the_map_denies_a_listed_program() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss"},
            "permissions": {"filesystem": {"rules": {"/**": "r-x", "@/bin/tool": "r--"}}},
            "agents": {"main": {"allowlist": [{"pattern": "@/bin/*"}]}}}"#,
    );
    for name in ["bin/tool", "bin/other"] {
        fs::set_permissions(world.write(name, "#!/bin/sh\n"), Permissions::from_mode(0o755))
            .expect("a program");
    }
    let bin = world.root().join("bin");
    let check = |text: &str| ended(world.command().env("PATH", &bin).args(["check", "--", text])).status;
    assert_eq!(check("other x; other y"), 0);
    assert_eq!(check("other x; tool y"), 1);
}
