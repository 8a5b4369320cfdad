//! Settings, and docker's arguments.

use guard_openclaw::sandbox::{
    BindCheck, BlockedPaths, ContainerArgs, ContainerIdentity, HostDisk, SandboxMode, SandboxSession,
    SandboxSettings, check,
};
use serde_json::{Value, json};

use crate::common::data;

/// OpenClaw's answer to this bind, which the guard refuses (docs/compatibility.md, "Sandboxes").
const STRICTER: [&str; 1] = ["docker binds relative"];
/// What the recorded containers are called.
const IDENTITY: ContainerIdentity<'_> =
    ContainerIdentity { name: "NAME", scope_key: "agent:main", created_at_ms: 0 };

#[test]
fn answers_of_openclaw() {
    let data = data("sandbox-docker.json");
    let binds = BindCheck::new(BlockedPaths::new(["/home/u"], None, &HostDisk), &HostDisk);
    let cases = data["cases"].as_array().unwrap();
    let mut stricter = Vec::new();
    for case in cases {
        let settings = SandboxSettings::for_agent(&case["config"], case["agent"].as_str().unwrap()).unwrap();
        assert_eq!(json!(settings), case["resolved"], "{case}");
        let docker = &settings.docker;
        let list = docker.binds.clone().unwrap_or_default();
        match check(&binds, &list, &docker.bind_rules(Vec::new()), &docker.isolation()) {
            Ok(()) => {
                let args = ContainerArgs::new(docker, &IDENTITY);
                assert_eq!(json!(args.argv), case["argv"], "{case}");
                assert_eq!(json!(args.env), case["env"], "{case}");
            }
            Err(refused) if refused.to_string().starts_with("Stricter than OpenClaw: ") => {
                assert!(case.get("error").is_none(), "{case}");
                stricter.push(case["name"].as_str().unwrap());
            }
            Err(refused) => assert_eq!(refused.to_string(), case["error"], "{case}"),
        }
    }
    assert_eq!(stricter, STRICTER);
    println!("sandbox-docker: {0} of {0}, {1} stricter", cases.len(), stricter.len());
}

fn settings(sandbox: &Value) -> Result<SandboxSettings, String> {
    let config = json!({ "agents": { "defaults": { "sandbox": sandbox } } });
    SandboxSettings::for_agent(&config, "main").map_err(|error| error.to_string())
}

/// What the recorded answers do not have: computed by the same functions of OpenClaw 2026.9.6.
#[test]
fn more_settings() {
    let docker = json!({
        "user": "1000:1000", "pidsLimit": 1.5, "cpus": 0.5, "memory": 1e21, "memorySwap": " ", "gpus": " all ",
        "extraHosts": ["a:1.2.3.4", ""], "capDrop": [], "tmpfs": [], "network": "", "seccompProfile": "",
        "ulimits": { "nproc": 10, "core": "0", "as": { "hard": 5 }, "x": {}, "nofile": -1, "y": " " },
        "env": { " A ": "1", "B\n": "2", "": "3" },
    });
    let settings = settings(&json!({ "docker": docker, "perSession": false, "backend": " " })).unwrap();
    assert_eq!((json!(settings.scope), &settings.backend[..]), (json!("shared"), "docker"));
    let args = ContainerArgs::new(&settings.docker, &IDENTITY);
    let options = [
        "--read-only",
        "--user",
        "1000:1000",
        "--security-opt",
        "no-new-privileges",
        "--add-host",
        "a:1.2.3.4",
        "--pids-limit",
        "1.5",
        "--memory",
        "1e+21",
        "--cpus",
        "0.5",
        "--gpus",
        "all",
        "--ulimit",
        "nproc=10",
        "--ulimit",
        "core=0",
        "--ulimit",
        "as=5",
        "--ulimit",
        "nofile=0",
    ];
    assert_eq!(args.argv[14..], options);
    assert_eq!(json!(args.env), json!({ "A": "1", "B": "2", "OPENCLAW_CLI": "1" }));
}

#[test]
fn values_that_cannot_be_used_are_named() {
    for (sandbox, says) in [
        (json!({ "mode": "sometimes" }), "agents.defaults.sandbox.mode: unknown variant"),
        (json!({ "docker": { "network": 5 } }), "agents.defaults.sandbox.docker.network: invalid type"),
        (json!({ "docker": { "binds": "/a:/b" } }), "agents.defaults.sandbox.docker.binds: invalid type"),
        (json!({ "docker": { "env": { "A": 1 } } }), "agents.defaults.sandbox.docker.env: invalid type"),
        (json!({ "docker": [] }), "agents.defaults.sandbox.docker: it is no object"),
        (json!("all"), "agents.defaults.sandbox: it is no object"),
        (
            json!({ "ssh": { "workspaceRoot": "x" } }),
            "Sandbox SSH workspaceRoot must be an absolute POSIX path: x",
        ),
    ] {
        let said = settings(&sandbox).unwrap_err();
        assert!(said.contains(says), "{said}");
    }
    // An agent's value does not hide a wrong one of the defaults.
    let config = json!({ "agents": { "defaults": { "sandbox": { "docker": { "network": 5 } } },
        "entries": { "main": { "sandbox": { "docker": { "network": "none" } } } } } });
    assert!(SandboxSettings::for_agent(&config, "main").is_err());
    let config = json!({ "agents": { "list": [{ "id": "a" }, { "id": "b", "sandbox": { "scope": 1 } }] } });
    let said = SandboxSettings::for_agent(&config, "B").unwrap_err().to_string();
    assert!(said.starts_with("agents.list[1].sandbox.scope: "), "{said}");
}

#[test]
fn variables_that_a_file_cannot_hold() {
    let problem = |name: &str, value: &str| {
        let settings = settings(&json!({ "docker": { "env": { name: value } } })).unwrap();
        let problem = ContainerArgs::new(&settings.docker, &IDENTITY).variable_problem();
        problem.map(|problem| problem.to_string())
    };
    assert_eq!(problem("A_1", "x y"), None);
    assert!(problem("1A", "x").unwrap().starts_with("Invalid container environment variable name \"1A\""));
    assert!(problem("A-B", "x").is_some());
    let said = problem("SECRET", "hidden\nvalue").unwrap();
    assert!(said.contains("SECRET must have a single-line value") && !said.contains("hidden"), "{said}");
    let long = settings(
        &json!({ "docker": { "env": { "A": "x ".repeat(20_000), "B": "a".repeat(80), "C": "a\0" } } }),
    );
    let args = ContainerArgs::new(&long.unwrap().docker, &IDENTITY);
    assert_eq!(args.suspicious.len(), 2);
    assert_eq!(args.dropped, ["C"]);
}

/// OpenClaw's answers for seven sessions under each mode.
#[test]
fn sessions_in_a_sandbox() {
    let data = data("sandbox-docker.json");
    let config = json!({ "agents": { "list": [{ "id": "main" }, { "id": "work" }] } });
    let rows = data["modes"].as_array().unwrap();
    for row in rows {
        let mode: SandboxMode = serde_json::from_value(row["mode"].clone()).unwrap();
        match SandboxSession::new(&config, row["sessionKey"].as_str(), None) {
            Ok(session) => assert_eq!(session.is_sandboxed(mode), row["sandboxed"] == true, "{row}"),
            Err(error) => assert_eq!(error.to_string(), row["error"], "{row}"),
        }
    }
    println!("modes and sessions: {0} of {0}", rows.len());
    // OpenClaw's loader ignores this key.
    let named = json!({ "session": { "mainKey": "home" } });
    let session = |config: &Value, key| SandboxSession::new(config, key, None).unwrap();
    for key in [None, Some("main"), Some(" Main "), Some("agent:main:main")] {
        assert!(session(&named, key).is_main, "{key:?}");
    }
    assert!(!session(&named, Some("home")).is_main);
    assert!(session(&json!({ "session": { "scope": "global" } }), Some("agent:main:main")).is_main);
}
