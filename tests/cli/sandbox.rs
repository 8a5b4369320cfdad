//! Nodes and sandboxes: `check --batch` gives OpenClaw's own answers (policy/tests/data/README.md), and `sandbox`.

use std::os::unix::fs::symlink;

use guard_tests::{Ended, World, ended, ended_with_input};
use serde_json::{Value, json};

macro_rules! data {
    ($file:literal) => {
        include_str!(concat!("../../policy/tests/data/", $file))
    };
}

/// How the guard's own sentences begin (docs/compatibility.md, "Sandboxes").
const STRICTER: &str = "Stricter than OpenClaw: ";

/// Asks one question for each case, with another home.
fn answers(world: &World, home: &str, questions: &[Value]) -> Vec<Value> {
    let lines: Vec<_> = questions.iter().map(Value::to_string).collect();
    let mut command = world.command();
    command.args(["--home", home, "check", "--batch"]).env("HOME", home);
    let ended = ended_with_input(&mut command, lines.join("\n").as_bytes());
    assert_eq!(ended.status, 0, "{}{}", ended.stdout, ended.stderr);
    let answers: Vec<_> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), questions.len(), "{}", ended.stderr);
    answers
}

/// Returns whether an answer has all fields that are expected.
fn has(answer: &Value, expected: &Value) -> bool {
    expected.as_object().expect("fields").iter().all(|(field, value)| answer.get(field) == Some(value))
}

#[test]
fn names_of_nodes() {
    let data: Value = serde_json::from_str(data!("node-match.json")).expect("a fixture");
    let cases = data["cases"].as_array().expect("cases");
    let question =
        |case: &Value| json!({ "op": "node-match", "nodes": data["nodes"], "query": case["query"] });
    let questions: Vec<_> = cases.iter().map(question).collect();
    for (case, answer) in cases.iter().zip(answers(&World::bare(), "/nonexistent/u", &questions)) {
        assert_eq!(answer, case["expect"], "{case}");
    }
    println!("node-match in a batch: {0} of {0}", cases.len());
}

#[test]
fn binds_of_containers() {
    let world = World::bare();
    // The answers say that /tmp covers the home.
    let directory = tempfile::tempdir_in("/tmp").expect("a directory");
    let at = |name: &str| directory.path().join(name).display().to_string();
    let (home, root) = (at("home"), at("root"));
    let here = |text: &str| text.replace("@HOME@", &home).replace("@ROOT@", &root);
    let data: Value = serde_json::from_str(&here(data!("sandbox-binds.json"))).expect("a fixture");
    for directory in data["setup"]["directories"].as_array().expect("directories") {
        std::fs::create_dir_all(directory.as_str().expect("a path")).expect("a directory");
    }
    std::fs::create_dir_all(at("root/links")).expect("a directory");
    for (link, target) in data["setup"]["links"].as_object().expect("links") {
        symlink(target.as_str().expect("a path"), link).expect("a link");
    }
    let cases = data["cases"].as_array().expect("cases");
    let question = |case: &Value| json!({ "op": "sandbox-binds", "config": case["config"] });
    let questions: Vec<_> = cases.iter().map(question).collect();
    let mut stricter = Vec::new();
    for (case, answer) in cases.iter().zip(answers(&world, &home, &questions)) {
        if answer["error"].as_str().is_some_and(|error| error.starts_with(STRICTER)) {
            assert_eq!(
                (&case["expect"]["allowed"], &answer["reason"]["stricter"]),
                (&json!(true), &json!(true))
            );
            stricter.push(case["config"]["binds"][0].as_str().expect("a bind").to_owned());
            continue;
        }
        assert!(has(&answer, &case["expect"]), "{case}: {answer}");
        assert_eq!(answer.get("error").is_some(), case["expect"].get("error").is_some(), "{case}: {answer}");
    }
    let named = [
        "/etc/../home:/mnt/x",
        "/home:/mnt/x",
        "@HOME@/.openclaw:/mnt/x",
        "@HOME@/.kube:/mnt/x",
        "@HOME@/.bashrc:/mnt/x",
        "@ROOT@/links/loop1:/mnt/x",
        "/srv/data:/",
        "/srv/data:/proc",
    ];
    assert_eq!(stricter, named.map(here));
    println!("sandbox-binds in a batch: {} of {}, {} stricter", cases.len(), cases.len(), stricter.len());
}

#[test]
fn settings_and_arguments_of_containers() {
    let data: Value = serde_json::from_str(data!("sandbox-docker.json")).expect("a fixture");
    let cases = data["cases"].as_array().expect("cases");
    let question =
        |case: &Value| json!({ "op": "sandbox-docker", "config": case["config"], "agent": case["agent"] });
    let questions: Vec<_> = cases.iter().map(question).collect();
    let mut stricter = Vec::new();
    for (case, answer) in cases.iter().zip(answers(&World::bare(), "/nonexistent/u", &questions)) {
        assert_eq!(answer["resolved"], case["resolved"], "{case}");
        if answer["error"].as_str().is_some_and(|error| error.starts_with(STRICTER)) {
            stricter.push(case["name"].as_str().expect("a name"));
            continue;
        }
        for field in ["argv", "env", "error"] {
            assert_eq!(answer.get(field), case.get(field), "{field}: {case}");
        }
    }
    assert_eq!(stricter, ["docker binds relative"]);
    println!("sandbox-docker in a batch: {} of {}, {} stricter", cases.len(), cases.len(), stricter.len());
}

#[test]
fn questions_about_nodes_and_sandboxes_are_read_strictly() {
    for bad in [
        r#"{"op":"node-match","query":"x"}"#,
        r#"{"op":"node-match","nodes":[{"displayName":"x"}],"query":"x"}"#,
        r#"{"op":"node-match","nodes":{},"query":"x"}"#,
        r#"{"op":"sandbox-binds"}"#,
        r#"{"op":"sandbox-binds","config":{"binds":"/etc:/x"}}"#,
        r#"{"op":"sandbox-binds","config":{"network":["host"]}}"#,
        r#"{"op":"sandbox-binds","config":{},"binds":[]}"#,
        r#"{"op":"sandbox-docker","config":{}}"#,
    ] {
        let world = World::bare();
        let ended = ended_with_input(world.command().args(["check", "--batch"]), bad.as_bytes());
        assert_eq!(ended.status, 125, "{bad}: {}", ended.stdout);
        assert!(ended.stdout.starts_with(r#"{"outcome":"deny""#), "{bad}: {}", ended.stdout);
    }
    let bad = json!({ "op": "sandbox-docker", "agent": "main",
        "config": { "agents": { "defaults": { "sandbox": { "docker": { "network": 5 } } } } } });
    let answer = &answers(&World::bare(), "/nonexistent/u", &[bad])[0];
    let error = answer["error"].as_str().expect("an error");
    assert!(error.starts_with("agents.defaults.sandbox.docker.network: "), "{error}");
}

/// A world whose openclaw.json has this text; `HOME` stands for the home.
fn with_settings(text: &str) -> World {
    let world = World::bare();
    let home = world.home().canonicalize().expect("a real path").display().to_string();
    world.write("home/.openclaw/openclaw.json", text.replace("HOME", &home));
    world
}

fn sandbox(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().arg("sandbox").args(arguments))
}

fn as_json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}{}", ended.stdout, ended.stderr))
}

const SETTINGS: &str = r#"{
    // Comments are read.
    agents: {
        defaults: { sandbox: { mode: "non-main", docker: { env: { TOKEN: "very secret", B: "1" } } } },
        list: [
            { id: "main", default: true },
            { id: "work", sandbox: { mode: "all", scope: "session", workspaceAccess: "rw",
                docker: { binds: ["HOME/.openclaw/workspace-work/x:/x:ro"], ulimits: { nproc: 5, as: "1:2" } } } },
        ],
    },
}"#;

#[test]
fn a_session_is_explained() {
    let world = with_settings(SETTINGS);
    let home = world.home().canonicalize().expect("a real path").display().to_string();
    let main = as_json(&sandbox(&world, &["explain", "--json"]));
    assert_eq!(main["sandbox"]["sessionIsSandboxed"], false, "{main}");
    assert_eq!(main["sessionKey"], "agent:main:main");
    assert_eq!(main["sandbox"]["effectiveHostWorkspaceRoot"], format!("{home}/.openclaw/workspace"));
    let other = as_json(&sandbox(&world, &["explain", "--json", "--session-key", "agent:main:cron:1"]));
    assert_eq!(other["sandbox"]["sessionIsSandboxed"], true, "{other}");
    let root = other["sandbox"]["effectiveHostWorkspaceRoot"].as_str().expect("a path");
    assert!(root.starts_with(&format!("{home}/.openclaw/sandboxes/workspace-")), "{root}");
    let work = as_json(&sandbox(&world, &["explain", "--json", "--agent", "Work"]));
    assert_eq!(work["sandbox"]["scope"], "session", "{work}");
    let mounts = work["sandbox"]["workspaceMounts"].as_array().expect("mounts");
    let workspace = format!("{home}/.openclaw/workspace-work");
    assert_eq!(
        mounts[..],
        [
            json!({ "hostRoot": workspace, "containerRoot": "/workspace", "writable": true, "source": "workspace" }),
            json!({ "hostRoot": format!("{workspace}/x"), "containerRoot": "/x", "writable": false, "source": "bind" }),
        ]
    );
    assert!(work.get("refused").is_none(), "{work}");
    let text = sandbox(&world, &["explain"]).stdout;
    assert!(text.contains("sandboxed  no: mode is non-main"), "{text}");
    assert!(!text.contains("secret") && !other.to_string().contains("secret"));
}

#[test]
fn settings_are_checked() {
    let world = with_settings(SETTINGS);
    let fine = sandbox(&world, &["check"]);
    assert_eq!((fine.status, fine.stderr.as_str()), (0, ""), "{}", fine.stdout);
    assert_eq!(fine.stdout, "agent main (mode non-main): fine\nagent work (mode all): fine\n");
    for (docker, says) in [
        (r#""network": "host""#, "Sandbox security: network mode \"host\" is blocked."),
        (r#""binds": ["/etc:/x"]"#, "targets blocked path \"/etc\""),
        (r#""binds": ["HOME/link:/x"]"#, "Stricter than OpenClaw: bind mount"),
        (r#""binds": ["/srv/data:/x"]"#, "is outside allowed roots"),
        (r#""seccompProfile": "unconfined""#, "seccomp profile \"unconfined\" is blocked"),
        (r#""env": { "A-B": "x" }"#, "Invalid container environment variable name \"A-B\""),
        (r#""memoryMb": 512"#, "agents.defaults.sandbox.docker.memoryMb: OpenClaw does not know this key"),
    ] {
        let external = r#""dangerouslyAllowExternalBindSources": true,"#;
        let external = if docker.contains("/srv") { "" } else { external };
        let text = format!(
            r#"{{"agents": {{"defaults": {{"sandbox": {{"docker": {{ {external} {docker} }}}}}}}}}}"#
        );
        let world = with_settings(&text);
        symlink("/run/docker.sock.later", world.home().join("link")).expect("a link");
        let ended = sandbox(&world, &["check"]);
        assert_eq!(ended.status, 1, "{docker}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(says), "{docker}: {}", ended.stdout);
        let reports = as_json(&sandbox(&world, &["check", "--json"]));
        assert_eq!(reports[0]["allowed"], false, "{reports}");
        assert!(reports[0]["problems"][0]["text"].as_str().expect("a text").contains(says), "{reports}");
        if !docker.contains("memoryMb") {
            let args = sandbox(&world, &["args"]);
            assert_eq!((args.status, args.stdout.as_str()), (1, ""), "{docker}");
            assert!(args.stderr.contains(says), "{}", args.stderr);
        }
    }
    let warned = format!(
        r#"{{"agents": {{"defaults": {{"sandbox": {{"docker": {{"env": {{"K": "{}"}}}}}}}}}}}}"#,
        "a".repeat(80)
    );
    let warned = sandbox(&with_settings(&warned), &["check"]);
    assert_eq!(warned.status, 0);
    assert!(warned.stdout.contains("warning: the variable K: Value looks like base64"), "{}", warned.stdout);
    assert!(!warned.stdout.contains("aaaa"), "{}", warned.stdout);
}

#[test]
fn arguments_are_printed_without_the_values_of_variables() {
    let world = with_settings(SETTINGS);
    let home = world.home().canonicalize().expect("a real path").display().to_string();
    let ended = sandbox(&world, &["args", "--agent", "work"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines[..2], ["create", "--name"]);
    let workspace = format!("{home}/.openclaw/workspace-work");
    let end = format!(
        "--ulimit nproc=5 --ulimit as=1:2 --workdir /workspace -v {workspace}:/workspace:z -v {workspace}/x:/x:ro \
         --env-file ENV_FILE openclaw-sandbox:bookworm-slim sleep infinity"
    );
    assert!(lines.join(" ").ends_with(&end), "{lines:#?}");
    assert!(!ended.stdout.contains("secret"));
    let main = sandbox(&world, &["args", "--json"]);
    assert!(main.stderr.contains("this session runs without a sandbox"), "{}", main.stderr);
    let main = as_json(&main);
    assert_eq!(main["env"], json!(["TOKEN", "B", "OPENCLAW_CLI"]));
    assert_eq!(main["program"], "docker");
}

#[test]
fn bad_settings_are_named() {
    for (text, says) in [
        (
            r#"{"agents": {"defaults": {"sandbox": {"mode": "maybe"}}}}"#,
            "agents.defaults.sandbox.mode: unknown variant `maybe`",
        ),
        (
            r#"{"agents": {"defaults": {"sandbox": {"docker": {"binds": {}}}}}}"#,
            "agents.defaults.sandbox.docker.binds: ",
        ),
        (r#"{"agents": {"$include": "other.json"}}"#, "other.json: No such file"),
        (
            r#"{"agents": {"defaults": {"sandbox": {"docker": {"binds": ["${DATA}:/x"]}}}}}"#,
            "agents.defaults.sandbox.docker.binds[0]: it holds a variable",
        ),
        ("{", "openclaw.json cannot be read: "),
        ("[]", "openclaw.json cannot be read: it is no object"),
    ] {
        let world = with_settings(text);
        for command in ["explain", "check", "args"] {
            let ended = sandbox(&world, &[command]);
            assert_eq!((ended.status, ended.stdout.as_str()), (125, ""), "{text}: {}", ended.stderr);
            assert!(ended.stderr.contains(says), "{text}: {}", ended.stderr);
        }
    }
    let world = World::bare();
    let ended = sandbox(&world, &["check", "nothing.json"]);
    assert_eq!(ended.status, 125);
    assert!(
        ended.stderr.contains("there is no nothing.json: give the path of OpenClaw's configuration"),
        "{}",
        ended.stderr
    );
    let world = with_settings(r#"{"agents": {"list": [{"id": "a"}, {"id": "b"}]}}"#);
    let ended = sandbox(&world, &["explain"]);
    assert!(ended.status == 125 && ended.stderr.contains("has no explicit owner"), "{}", ended.stderr);
    let ended = sandbox(&world, &["check", "--agent", "c"]);
    assert!(ended.status == 125 && ended.stderr.contains("there is no agent \"c\""), "{}", ended.stderr);
    // Names of any length, with anything in them, become a container's name.
    let long = format!("agent:a:{}", "/\u{1b}[31m".repeat(2_000));
    let world = with_settings(
        r#"{"agents": {"list": [{"id": "a", "sandbox": {"mode": "all", "scope": "session"}}]}}"#,
    );
    let ended = sandbox(&world, &["explain", "--session-key", &long]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
    let container = ended.stdout.lines().find_map(|line| line.trim().strip_prefix("container"));
    assert!(container.is_some_and(|name| name.trim().len() <= 63), "{}", ended.stdout);
}
