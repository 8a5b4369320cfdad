//! `openclaw-guard policy`, as an operator meets it.

use guard_tests::{Ended, World, ended, ended_with_input};
use serde_json::Value;

fn policy(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().arg("policy").args(arguments))
}

/// Runs `policy validate` on a text from standard input.
fn validated(text: &str, arguments: &[&str]) -> Ended {
    let world = World::bare();
    ended_with_input(world.command().args(["policy", "validate", "-"]).args(arguments), text.as_bytes())
}

/// A text and its problems: line, column, key, and a part of the message.
type Broken = (&'static str, &'static [(usize, usize, &'static str, &'static str)]);

const BROKEN: &[Broken] = &[
    ("", &[(1, 1, "", "is empty")]),
    ("{", &[(1, 1, "", "Unterminated object")]),
    ("[]", &[(1, 1, "", "must be an object")]),
    ("{}", &[(1, 1, "version", "is missing")]),
    ("{\n  \"version\": \"1\" }", &[(2, 14, "version", "must be 1")]),
    ("{\"version\": 1,\n\n  \"version\": 1}", &[(3, 3, "version", "occurs twice")]),
    ("{\"version\": 1, 'exec': {}}", &[(1, 16, "", "")]),
    (
        "{ // a comment\n \"version\": 1,\n \"exec\": {\n\t\"securty\": \"full\" } }",
        &[(4, 2, "exec.securty", "did you mean \"security\"?")],
    ),
    (
        "{\"version\": 1, \"exec\": {\"ask\": \"on-mis\", \"timeoutMs\": 0,\n \"carriers\": [\"sh\", \"a/b\"]}}",
        &[
            (1, 32, "exec.ask", "did you mean \"on-miss\"?"),
            (1, 55, "exec.timeoutMs", "milliseconds"),
            (2, 21, "exec.carriers[1]", "without a path"),
        ],
    ),
    (
        "{\"version\": 1, \"permissions\": {\"filesystem\": {\n \"rules\": {\"ä/\": \"r--\",\n \"~/x\": \"rx\"},\n \"deny\": [\"/a/../b\"]}}}",
        &[
            (2, 12, "permissions.filesystem.rules[\"ä/\"]", "must start with"),
            (3, 9, "permissions.filesystem.rules[\"~/x\"]", "not a permission"),
            (4, 11, "permissions.filesystem.deny[0]", "\"..\""),
        ],
    ),
    (
        "{\"version\": 1, \"agents\": {\"a b\": {\"allowlist\": [{\"patern\": \"x\"}, {\"id\": 1}]}}}",
        &[
            (1, 50, "agents[\"a b\"].allowlist[0].patern", "did you mean \"pattern\"?"),
            (1, 66, "agents[\"a b\"].allowlist[1]", "no \"pattern\""),
        ],
    ),
    ("{\"version\": 1, \"allowlist\": []}", &[(1, 16, "allowlist", "belongs to an agent")]),
    (
        "{\"version\": 1, \"examples\": [{\"op\": \"read\", \"outcome\": \"alow\"},\n{\"op\": \"read\"}]}",
        &[(1, 55, "examples[0].outcome", "did you mean \"allow\"?"), (2, 1, "examples[1]", "needs both")],
    ),
    (
        "{\"version\": 1, \"agents\": {\"m\": {\"allowlist\": [{\"pattern\": \"x\", \"match\": \"y\"}]}}}",
        &[(1, 73, "agents.m.allowlist[0].match", "list of strings")],
    ),
];

#[test]
fn every_mistake_has_its_line_column_and_key() {
    let mut found = 0;
    for (text, problems) in BROKEN {
        let output = validated(text, &[]);
        assert_eq!(output.status, 1, "{text}: {}{}", output.stdout, output.stderr);
        let lines: Vec<&str> = output.stdout.lines().collect();
        assert_eq!(lines.len(), problems.len() + 1, "{text}: {}", output.stdout);
        for ((line, column, key, part), line_text) in problems.iter().zip(&lines) {
            let colon = if key.is_empty() { "" } else { ": " };
            let start = format!("<stdin>:{line}:{column}: {key}{colon}");
            assert!(
                line_text.starts_with(&start) && line_text.contains(part),
                "{text}: {line_text}\nshould be {start}… {part}"
            );
        }
        let errors =
            if problems.len() == 1 { "1 error".to_owned() } else { format!("{} errors", problems.len()) };
        assert_eq!(lines[problems.len()], format!("<stdin>: {errors}"));
        let json: Value = serde_json::from_str(&validated(text, &["--json"]).stdout).expect("JSON");
        for ((line, column, key, _), error) in problems.iter().zip(json["errors"].as_array().expect("a list"))
        {
            assert_eq!(
                (&error["line"], &error["column"]),
                (&Value::from(*line), &Value::from(*column)),
                "{text}"
            );
            assert_eq!(error["key"].as_str().unwrap_or(""), *key, "{text}");
        }
        found += 1;
    }
    println!("broken documents: {found} of {}", BROKEN.len());
}

#[test]
fn warnings_have_positions_and_do_not_refuse_the_policy() {
    let world = World::bare();
    std::os::unix::fs::symlink("work", world.root().join("link")).expect("a link");
    let text = r#"{ "version": 1, "$schema": "./guard.schema.json",
  "exec": { "security": "allowlist", "ask": "off", "safeBins": ["cut", "awk", "python3"],
    "safeBinProfiles": { "python3": {} } },
  "permissions": { "filesystem": {
    "rules": { SYSTEM, "@/**": "rw-",
      "@/link/**": "rwx",
      "@/home/.ssh/config": "r--" },
    "deny": ["~/.ssh/**"] } },
  "agents": { "other": { "allowlist": [
    { "pattern": " " },
    { "pattern": "/usr/bin/no-such-program" },
    { "pattern": "/usr/bin/env", "match": ["/usr/bin/env x"], "not_match": ["/usr/bin/env y"] } ] } },
  "examples": [ { "op": "read", "path": "@/x", "outcome": "deny" } ] }"#;
    let world = world.policy(text);
    let output = policy(&world, &["validate"]);
    assert_eq!(output.status, 0, "{}{}", output.stdout, output.stderr);
    let file = world.root().join("guard.json").display().to_string();
    let expected = [
        ("2:52: warning: exec.safeBins: \"awk\"", "never safe"),
        ("2:52: warning: exec.safeBins: \"python3\"", "not safe"),
        ("6:7: warning: permissions.filesystem.rules[", "symbolic link that the guarded tree may replace"),
        ("7:7: warning: permissions.filesystem.rules[", "has no effect"),
        ("10:5: warning: agents.other.allowlist[0]", "matches nothing"),
        ("11:5: warning: agents.other.allowlist[1]", "no file /usr/bin/no-such-program"),
        ("12:77: warning: agents.other.allowlist[2].not_match[0]", "matches it, but must not"),
        ("13:17: warning: examples[0]", "expected deny, got allow"),
    ];
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines.len(), expected.len() + 1, "{}", output.stdout);
    for (line, (start, part)) in lines.iter().zip(expected) {
        assert!(
            line.starts_with(&format!("{file}:{start}")) && line.contains(part),
            "{line}\nshould be {start}… {part}"
        );
    }
    assert_eq!(lines[8], format!("{file}: fine, with 8 warnings"));
    assert_eq!(policy(&world, &["validate", "--strict"]).status, 1);
    let json = policy(&world, &["validate", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(8));
    assert_eq!(json["warnings"][4]["line"], 10);
    assert_eq!(json["warnings"][4]["key"], "agents.other.allowlist[0]");
    // The guard starts nevertheless.
    assert_eq!(world.sh("true").status, 0);
}

#[test]
fn a_policy_without_mistakes_is_fine() {
    let world = World::open();
    let output = policy(&world, &["validate", "--strict"]);
    assert_eq!(output.status, 0);
    assert!(output.stdout.ends_with("guard.json: fine\n"), "{}", output.stdout);
    let bare = World::bare();
    assert_eq!(policy(&bare, &["validate"]).stdout, "the built-in policy: fine\n");
    assert_eq!(policy(&bare, &["test"]).stdout, "0 of 0 examples hold\n");
    assert_eq!(policy(&bare, &["validate", "none.json"]).status, 125);
    let binary = bare.write("binary", b"\xff\xfe");
    assert_eq!(policy(&bare, &["validate", binary.to_str().expect("text")]).status, 125);
}

#[test]
fn a_file_cannot_write_to_the_terminal() {
    let text = "{\"version\": 1, \"\\u001b]0;x\\u0007\\n\": 1, \"\u{202e}\": 2}";
    let output = validated(text, &[]);
    assert_eq!((output.status, output.stdout.lines().count()), (1, 3), "{}", output.stdout);
    let started = World::bare().policy(text).sh("true");
    assert_eq!((started.status, started.stderr.lines().count()), (125, 2), "{}", started.stderr);
    for text in [output.stdout, started.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn examples_that_do_not_hold_are_named() {
    let world = World::bare();
    let good = r#"{ "version": 1, "exec": { "security": "allowlist", "ask": "off" },
  "permissions": { "filesystem": { "rules": { "/usr/**": "r-x", "~/**": "rw-" }, "deny": ["~/.ssh/**"] } },
  "agents": { "main": { "allowlist": [
    { "pattern": "/usr/bin/git", "match": ["/usr/bin/git 'a b'"], "not_match": ["/usr/bin/gitk", "/opt/git x"] },
    { "pattern": "make", "match": ["/usr/bin/make -k"], "not_match": ["/usr/bin/cmake"] } ] },
    "other": {} },
  "examples": [
    { "op": "read", "path": "~/.ssh/id_rsa", "outcome": "deny" },
    { "op": "write", "path": "~/a/../notes", "outcome": "allow" },
    { "op": "exec", "argv": ["git", "status"], "resolved": "/usr/bin/git", "outcome": "allow" },
    { "op": "exec", "argv": ["git", "status"], "resolved": "/usr/bin/git", "agent": "other", "outcome": "deny" } ] }"#;
    let file = world.write("good.json", good);
    let output = policy(&world, &["test", file.to_str().expect("text")]);
    assert_eq!((output.status, output.stdout.as_str()), (0, "9 of 9 examples hold\n"), "{}", output.stderr);

    let wrong = good
        .replace("\"outcome\": \"deny\" },\n", "\"outcome\": \"ask\" },\n")
        .replace("/usr/bin/git 'a b'", "git x")
        .replace("/opt/git x", "/usr/bin/git x")
        .replace("/usr/bin/make -k", "/usr/bin/make 'x");
    let file = world.write("wrong.json", wrong);
    let file = file.to_str().expect("text");
    let output = policy(&world, &["test", file]);
    let lines: Vec<&str> = output.stdout.lines().collect();
    let expected = [
        ("8:5: examples[0]: read ~/.ssh/id_rsa: expected ask, got deny", "permissions.filesystem.deny"),
        ("4:44: agents.main.allowlist[0].match[0]", "absolute path"),
        ("4:85: agents.main.allowlist[0].not_match[1]: /usr/bin/git x", "matches it, but must not"),
        ("5:36: agents.main.allowlist[1].match[0]", "quote"),
    ];
    assert_eq!((output.status, lines.len()), (1, expected.len() + 1), "{}", output.stdout);
    for (line, (start, part)) in lines.iter().zip(expected) {
        assert!(
            line.starts_with(&format!("{file}:{start}")) && line.contains(part),
            "{line}\nshould be {start}… {part}"
        );
    }
    assert_eq!(lines[4], "5 of 9 examples hold");
    let json: Value = serde_json::from_str(&policy(&world, &["test", "--json", file]).stdout).expect("JSON");
    assert_eq!((&json["examples"], &json["hold"]), (&Value::from(9), &Value::from(5)));
    assert_eq!(json["failures"][0]["line"], 8);
}

#[test]
fn settings_are_shown_with_their_sources() {
    let world = World::bare();
    std::os::unix::fs::symlink("work", world.root().join("link")).expect("a link");
    let world = world.policy(
        r#"{ "version": 1, "exec": { "mode": "allowlist", "timeoutMs": 5, "safeBins": ["cut"], "carriers": ["sh"] },
  "permissions": { "filesystem": { "rules": { "@/link/**": "r--", "@/work/?/**": "rw-" }, "deny": ["~/.ssh"] } },
  "agents": {
    "*": { "exec": { "askFallback": "allowlist" }, "allowlist": [{ "pattern": "/usr/bin/git" }, { "pattern": " " }] },
    "ci": { "exec": { "ask": "always" }, "permissions": { "filesystem": { "default": "--?" } } } } }"#,
    );
    let root = world.root().display().to_string();
    let show = |arguments: &[&str]| {
        let output = policy(&world, &[&["show", "--effective"], arguments].concat());
        assert_eq!(output.status, 0, "{}", output.stderr);
        output.stdout
    };
    let text = show(&["--agent", "ci"]);
    for line in [
        format!("agent ci, {root}/guard.json"),
        "  exec.security         allowlist  (global, exec.mode)".to_owned(),
        "  exec.ask              always  (agent, agents.ci.exec.ask)".to_owned(),
        "  exec.askFallback      allowlist  (agent, agents[\"*\"].exec.askFallback)".to_owned(),
        "  exec.timeoutMs        5  (global)".to_owned(),
        "  exec.allowPtrace      false  (default)".to_owned(),
        "  sh  carrier  (global, exec.carriers)".to_owned(),
        "  /usr/bin/git  entry  (agent, agents[\"*\"].allowlist[0])".to_owned(),
        "  \"\"  inactive entry  (agent, agents[\"*\"].allowlist[1])  a blank pattern matches nothing"
            .to_owned(),
        format!("  {root}/home/.ssh/**  (global, permissions.filesystem.deny[\"~/.ssh\"])"),
        format!("  r--  {root}/link/**  (global, permissions.filesystem.rules[\"{root}/link/**\"])"),
        format!("  r--  {root}/work/**  (global, permissions.filesystem.rules[\"{root}/link/**\"])"),
        format!("  rw-  {root}/work/?/**  (global, permissions.filesystem.rules[\"{root}/work/?/**\"])"),
        "  ??? **  (agent, agents.ci.permissions.filesystem.default)".replace("? **", "?  **"),
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\nis not in\n{text}");
    }
    let cut =
        text.lines().find(|line| line.starts_with("  cut  safe bin  (global, exec.safeBins)")).expect("cut");
    assert!(cut.contains("/usr/bin/cut"), "{cut}");
    let json: Value = serde_json::from_str(&show(&["--json"])).expect("JSON");
    assert_eq!(json["agent"], "main");
    let settings = json["settings"].as_array().expect("a list");
    let ask = settings.iter().find(|setting| setting["name"] == "exec.ask").expect("an ask");
    assert_eq!((&ask["value"], &ask["source"]), (&Value::from("off"), &Value::from("global")));
    // The longest pattern is first, which is the order of precedence.
    let lengths = settings.iter().filter(|setting| setting["section"] == "rules");
    let lengths: Vec<_> = lengths.map(|rule| rule["name"].as_str().map(str::len)).collect();
    assert!(lengths.len() == 3 && lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
    // The command line is a source, too.
    let tightened = ended(world.command().args(["--exec-security", "deny", "policy", "show", "--effective"]));
    assert!(tightened.stdout.contains("exec.security         deny  (operator)"), "{}", tightened.stdout);
    assert!(show(&[]).contains("exec.security         allowlist  (global, exec.mode)"));
}

/// Returns what `policy show --tiers` prints, as text and as JSON.
fn tiers(world: &World) -> (String, Value) {
    let output = policy(world, &["show", "--tiers"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let json = policy(world, &["show", "--tiers", "--json"]);
    (output.stdout, serde_json::from_str(&json.stdout).expect("JSON"))
}

#[test]
fn tiers_are_shown_with_the_reason_for_each() {
    let world = World::bare().policy(
        r#"{ "version": 1, "exec": { "ask": "off", "roots": ["/usr"] },
  "permissions": { "base": false, "persistence": false, "filesystem": { "rules": {
    "/usr/**": "r-x", "/dev/null": "rw-", "@/work/**": "rw-", "@/lent/**": "r--", "@/link/**": "r--" },
    "deny": ["@/work/secret"] } } }"#,
    );
    let root = world.root().display().to_string();
    for path in ["work/secret/key", "work/src/main.rs", "work/\u{1b}[31m/x", "lent/x"] {
        world.write(path.replace("\\u{1b}", "\u{1b}"), "");
    }
    std::os::unix::fs::symlink("lent", world.root().join("link")).expect("a link");
    let (text, json) = tiers(&world);
    for line in [
        "  r   /usr/".to_owned(),
        "  rw  /dev/null".to_owned(),
        format!("  r   {root}/lent/"),
        format!("  rw  {root}/work/src/"),
        format!("  rw  {root}/work/\\u{{1B}}[31m/"),
        format!(
            "  write    not exact, because permissions.filesystem.rules[\"{root}/work/**\"] has exceptions, and \
             new files may appear beside them"
        ),
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\nis not in\n{text}");
    }
    let link = format!("permissions.filesystem.rules[\"{root}/link/**\"]");
    assert_eq!(json["classes"]["read"]["exact"], false);
    let because = |class: &str| json["classes"][class]["because"].as_str().unwrap_or_default().to_owned();
    assert!(because("read").contains("exceptions") || because("read").starts_with(&link), "{json}");
    let hierarchies = json["hierarchies"].as_array().expect("a list");
    let paths: Vec<_> = hierarchies.iter().filter_map(|hierarchy| hierarchy["path"].as_str()).collect();
    assert!(!paths.iter().any(|path| path.ends_with("link") || path.ends_with("secret")), "{paths:?}");
    let null = hierarchies.iter().find(|hierarchy| hierarchy["path"] == "/dev/null").expect("a device");
    assert_eq!((&null["access"], &null["kind"]), (&Value::from("rw"), &Value::from("file")));
    assert_eq!(json["isCut"], false);

    // A policy without the exceptions.
    let world = World::bare().policy(
        r#"{ "version": 1, "exec": { "ask": "off", "roots": ["/usr"] },
  "permissions": { "base": false, "persistence": false,
    "filesystem": { "rules": { "/usr/**": "r-x", "@/work/**": "rw-" } } } }"#,
    );
    let (text, json) = tiers(&world);
    for class in ["read", "list", "write"] {
        assert_eq!(json["classes"][class]["exact"], true, "{text}");
        assert!(text.contains(&format!("  {class:<8} exact\n")), "{text}");
    }
    assert_eq!(policy(&world, &["show", "--tiers", "--effective"]).status, 125);

    // The built-in policy leaves places to the kernel, too.
    let (text, json) = tiers(&World::bare());
    assert!(
        text.starts_with("agent main, the built-in policy\n") && text.contains("  r   /usr/\n"),
        "{text}"
    );
    let hierarchies = json["hierarchies"].as_array().expect("a list");
    let paths: Vec<_> = hierarchies.iter().filter_map(|hierarchy| hierarchy["path"].as_str()).collect();
    for apart in ["/proc", "/sys", "/dev/pts", "/dev/tty"] {
        assert!(!paths.iter().any(|path| std::path::Path::new(path).starts_with(apart)), "{text}");
    }
    assert!(
        json["classes"]["read"]["because"].as_str().is_some_and(|why| why.contains("exec.ask")),
        "{json}"
    );
}

#[test]
fn openclaws_own_store_is_a_source_too() {
    let world = World::bare().policy(r#"{"version": 1, "exec": {"security": "full", "ask": "off"}}"#);
    world.write(
        "home/.openclaw/exec-approvals.json",
        r#"{"version": 1, "defaults": {"security": "allowlist"}, "agents": {"main": {"allowlist": [
            {"pattern": "/usr/bin/id"}, {"pattern": "=command:0123456789abcdef"}]}}}"#,
    );
    let text = policy(&world, &["show", "--effective"]).stdout;
    assert!(text.contains("exec.security         allowlist  (openclaw, "), "{text}");
    assert!(text.contains("  /usr/bin/id  entry  (openclaw, openclaw.agents.main.allowlist[0])"), "{text}");
    let output = policy(&world, &["validate"]);
    assert!(
        output.status == 0 && output.stdout.contains("openclaw.agents.main.allowlist[1] matches nothing"),
        "{output:?}"
    );
}

#[test]
fn a_document_is_shown_without_secrets() {
    let world = World::bare().policy(
        r#"{ // mine
            "version": 1, "agents": { "main": { "allowlist": [
                { "pattern": "/usr/bin/id", "source": { "url": "wss://x", "token": "t0p" } }
            ] } } }"#,
    );
    let output = policy(&world, &["show"]);
    let json: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(json["agents"]["main"]["allowlist"][0]["source"]["url"], "wss://x");
    assert!(
        !output.stdout.contains("t0p") && !policy(&world, &["show", "--effective"]).stdout.contains("t0p")
    );
    let bare = World::bare();
    assert!(policy(&bare, &["show"]).stdout.contains("the built-in policy"));
    let text = policy(&bare, &["show", "--effective"]).stdout;
    let deny = "(builtin, builtin.deny[\"~/.ssh\"])";
    assert!(text.starts_with("agent main, the built-in policy\n") && text.contains(deny), "{text}");
    let wrong = World::bare().policy("{\"version\": 2}");
    assert_eq!(policy(&wrong, &["show"]).status, 125);
}

#[test]
fn the_schema_is_printed() {
    let output = policy(&World::bare(), &["schema"]);
    let schema: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["version"]["const"], 1);
}

#[test]
fn every_action_explains_itself() {
    let world = World::bare();
    for action in ["schema", "validate", "show", "test"] {
        let output = policy(&world, &[action, "--help"]);
        assert!(
            output.status == 0 && output.stdout.contains("Exit status: 0"),
            "{action}: {}",
            output.stdout
        );
    }
    assert_eq!(policy(&world, &[]).status, 125);
}
