//! `check --batch` gives the answers of OpenClaw's own code (policy/tests/data/README.md).

use guard_tests::{World, ended_with_input};
use serde_json::{Value, json};

/// The OpenClaw release whose answers the guard must give.
const NEWEST: &str = "2026.9.6";

macro_rules! data {
    ($file:literal) => {
        include_str!(concat!("../../policy/tests/data/", $file))
    };
}

/// The fixtures' home. The tests replace it by one that no machine has, since the guard would read its files.
const THEIR_HOME: &str = "/home/u";
const HOME: &str = "/nonexistent/u";

fn parsed(text: &str) -> Value {
    serde_json::from_str(&text.replace(THEIR_HOME, HOME)).expect("a fixture")
}

fn cases(fixture: &Value) -> &[Value] {
    fixture["cases"].as_array().expect("cases")
}

/// Returns the answers to questions, each a line of JSON.
fn answers(questions: &[String]) -> Vec<Value> {
    let world = World::bare();
    let mut command = world.command();
    let ended =
        ended_with_input(command.args(["--home", HOME, "check", "--batch"]), questions.join("\n").as_bytes());
    assert_eq!(ended.status, 0, "{}{}", ended.stdout, ended.stderr);
    let answers: Vec<Value> = ended.stdout.lines().map(parsed).collect();
    assert_eq!(answers.len(), questions.len(), "{}", ended.stderr);
    answers
}

/// Asks a question for each case; each answer must be the expected one.
fn agree(
    name: &str,
    cases: &[Value],
    question: impl Fn(&Value) -> Value,
    agrees: impl Fn(&Value, &Value) -> bool,
) {
    let questions: Vec<_> = cases.iter().map(|case| question(case).to_string()).collect();
    let mut agreed = 0;
    for (case, answer) in cases.iter().zip(answers(&questions)) {
        assert!(agrees(case, &answer), "{name}: {case}: {answer}");
        agreed += 1;
    }
    println!("{name}: {agreed} of {}", cases.len());
}

#[test]
fn environments() {
    for (release, text) in [
        ("2026.4.14", data!("2026.4.14/host-env-sanitize-samples.json")),
        ("2026.7.35", data!("2026.7.35/host-env-sanitize-samples.json")),
        ("2026.9.6", data!("2026.9.6/host-env-sanitize-samples.json")),
    ] {
        let question = |case: &Value| {
            let overrides = &case["overrides"];
            json!({ "op": "env", "base": case["baseEnv"], "overrides": overrides })
        };
        let name = format!("{release}/host-env-sanitize-samples");
        agree(&name, cases(&parsed(text)), question, |case, answer| {
            let expected = &case["result"];
            answer["env"] == expected["env"]
                && answer["rejectedBlocked"] == expected["rejectedOverrideBlockedKeys"]
                && answer["rejectedInvalid"] == expected["rejectedOverrideInvalidKeys"]
        });
    }
}

#[test]
fn hashes_of_variables() {
    let question = |case: &Value| {
        // One case has no `env` map.
        let env = Some(&case["env"]).filter(|env| env.is_object());
        json!({ "op": "env-binding", "env": env })
    };
    let fixture = parsed(data!("approval-env-binding.json"));
    agree("approval-env-binding", cases(&fixture), question, |case, answer| *answer == case[NEWEST]);
}

#[test]
fn bindings() {
    let fixture = parsed(data!("2026.4.12-beta.1/system-run-approval-binding-contract.json"));
    let question = |case: &Value| {
        let mut actual = case["invoke"]["binding"].clone();
        actual["argv"] = case["invoke"]["argv"].clone();
        json!({ "op": "binding", "approved": case["request"]["binding"], "actual": actual })
    };
    agree("system-run-approval-binding-contract", cases(&fixture), question, |case, answer| {
        answer["ok"] == case["expected"]["ok"] && answer["details"]["code"] == case["expected"]["code"]
    });
}

/// The contract has only answers, with words for hashes, so this test makes up commands that lead to them.
#[test]
fn mismatches() {
    let fixture = parsed(data!("2026.4.12-beta.1/system-run-approval-mismatch-contract.json"));
    let question = |case: &Value| {
        let (approved, actual) = match case["match"]["code"].as_str() {
            Some("APPROVAL_REQUEST_MISMATCH") => (json!({ "argv": ["a"] }), json!({ "argv": ["b"] })),
            Some("APPROVAL_ENV_BINDING_MISSING") => {
                (json!({ "argv": ["a"] }), json!({ "argv": ["a"], "env": { "GIT_EXTERNAL_DIFF": "x" } }))
            }
            _ => {
                let of = |value: &str| json!({ "argv": ["a"], "env": { "SAFE_A": value } });
                (of("1"), of("2"))
            }
        };
        json!({ "op": "binding", "runId": case["runId"], "approved": approved, "actual": actual })
    };
    agree("system-run-approval-mismatch-contract", cases(&fixture), question, |case, answer| {
        let mut answer = answer.clone();
        for hash in ["expectedEnvHash", "actualEnvHash"] {
            let details = answer["details"].as_object_mut().expect("details");
            if let Some(value) = details.get_mut(hash) {
                assert_eq!(value.as_str().map(str::len), Some(64), "{value}");
                *value = case["expected"]["details"][hash].clone();
            }
        }
        answer == case["expected"]
    });
}

#[test]
fn displays() {
    // A Rust string cannot hold a lone surrogate, so the question has its JSON escape.
    const SURROGATE: (&str, &str) = (r"\ud800", "<a lone surrogate>");
    let fixture = parsed(&data!("approval-display-sanitize.json").replace(SURROGATE.0, SURROGATE.1));
    let questions: Vec<_> = cases(&fixture)
        .iter()
        .map(|case| {
            json!({ "op": "display", "text": case["input"] }).to_string().replace(SURROGATE.1, SURROGATE.0)
        })
        .collect();
    assert_eq!(questions.iter().filter(|question| question.contains(SURROGATE.0)).count(), 1);
    for (case, answer) in cases(&fixture).iter().zip(answers(&questions)) {
        assert_eq!(answer["text"], case[NEWEST], "{case}");
    }
    println!("approval-display-sanitize: {0} of {0}", questions.len());
}

#[test]
fn allowlist_patterns() {
    let fixture = parsed(data!("allowlist-pattern-match.json"));
    let question =
        |case: &Value| json!({ "op": "allowlist", "pattern": case["pattern"], "target": case["target"] });
    agree("allowlist-pattern-match", cases(&fixture), question, |case, answer| {
        answer["match"] == case[NEWEST]
    });
}

#[test]
fn argument_patterns() {
    let fixture = parsed(data!("exec-arg-pattern-native-parity.json"));
    let question = |case: &Value| json!({ "op": "arg-pattern", "pattern": case["pattern"], "argument": case["argument"] });
    agree("exec-arg-pattern-native-parity", cases(&fixture), question, |case, answer| {
        answer["match"] == case["accept"]
    });
}

#[test]
fn hashes_of_arguments() {
    let fixture = parsed(data!("cwd-argv-hash.json"));
    let question = |case: &Value| json!({ "op": "cwd-argv", "argv": case["argv"], "cwd": case["cwd"] });
    agree("cwd-argv-hash", cases(&fixture), question, |case, answer| {
        answer["argPattern"] == case["argPattern"]
    });
}

/// OpenClaw refuses jq entirely since 2026.7. The guard applies its profile, as 2026.4 did (docs/policy.md).
#[test]
fn safe_bins() {
    let fixture = parsed(data!("safe-bin-argv.json"));
    let question = |case: &Value| json!({ "op": "safe-bin", "bin": case["bin"], "args": case["args"] });
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for case in cases(&fixture) {
        if case["bin"] == "jq" { ours.push(case.clone()) } else { theirs.push(case.clone()) }
    }
    agree("safe-bin-argv but for jq", &theirs, question, |case, answer| answer["safe"] == case[NEWEST]);
    agree("safe-bin-argv of jq, as 2026.4", &ours, question, |case, answer| {
        let words: Vec<_> =
            case["args"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
        let allowed =
            words.iter().any(|word| [".foo", "input"].contains(word)) || words.first() == Some(&"--arg");
        answer["safe"] == false || allowed
    });
}

/// Hosts that are blocked here and not by OpenClaw: docs/compatibility.md, "Hosts of the Web".
const STRICTER_HOSTS: [&str; 6] =
    ["168.63.129.16", "2001:10::1", "5f00::1", "①②⑦.⓪.⓪.①", "１２７.０.０.１", "127。0。0。1"];

#[test]
fn hosts_of_the_web() {
    let fixture = parsed(data!("ssrf.json"));
    let question = |case: &Value| {
        let mut question = case.as_object().expect("a case").clone();
        question.remove("expect");
        question.insert("op".to_owned(), json!("ssrf"));
        Value::from(question)
    };
    let stricter = json!({ "blockedHostname": false, "privateIp": true, "blocked": true });
    agree("ssrf", cases(&fixture), question, |case, answer| {
        let is_stricter = case["host"].as_str().is_some_and(|host| STRICTER_HOSTS.contains(&host));
        *answer == if is_stricter { stricter.clone() } else { case["expect"].clone() }
    });
}

/// The question needs nothing but a case's `config` and `context`.
#[test]
fn tools() {
    let fixture = parsed(data!("tool-policy.json"));
    let question =
        |case: &Value| json!({ "op": "tools", "config": case["config"], "context": case["context"] });
    agree("tool-policy", cases(&fixture), question, |case, answer| *answer == case["expect"]);
}

#[test]
fn tools_of_another_release_and_other_plugins() {
    let question = |more: Value| {
        let mut question =
            json!({ "op": "tools", "config": { "tools": { "allow": ["image", "my_tool", "x"] } } });
        question.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        question.to_string()
    };
    let answers = answers(&[
        question(json!({ "release": "2026.4.14", "plugins": { "x_tool": "X" } })),
        question(json!({ "plugins": {} })),
        question(json!({ "context": { "surface": "http" } })),
    ]);
    assert_eq!(answers[0]["allowed"], json!(["image", "x_tool"]));
    assert_eq!(answers[1]["allowed"], json!([]));
    let warning = answers[1]["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("unknown entries (image, my_tool, x)"), "{warning}");
    assert_eq!(answers[2]["steps"][2]["step"], "gateway http tools");
}

#[test]
fn questions_are_read_strictly() {
    for bad in [
        r#"{"op":"env"}"#,
        r#"{"op":"env","base":{"A":1}}"#,
        r#"{"op":"env","base":{},"more":1}"#,
        r#"{"op":"env","base":{},"interpreter":"perl"}"#,
        r#"{"op":"env-binding","env":[]}"#,
        r#"{"op":"binding","actual":{}}"#,
        r#"{"op":"binding","approved":{"argv":["a"]}}"#,
        r#"{"op":"display","text":1}"#,
        r#"{"op":"display","text":"a","text":"b"}"#,
        r#"{"op":"cwd-argv","argv":["a"]}"#,
        r#"{"op":"safe-bin","bin":"tr"}"#,
        r#"{"op":"tools"}"#,
        r#"{"op":"tools","config":{},"more":1}"#,
        r#"{"op":"tools","config":{},"context":{"owner":true}}"#,
        r#"{"op":"tools","config":{},"release":"2027.1.1"}"#,
        r#"{"op":"tools","config":{"tools":{"deny":"exec"}}}"#,
        r#"{"op":"tools","config":{},"context":{"agent":"a","sessionKey":"agent:b:main"}}"#,
        r#"{"op":"allowlist","pattern":"a","target":"\ud800"}"#,
        r#"{"op":"ssrf","host":"a"}"#,
        r#"{"op":"ssrf","kind":"name","host":"a"}"#,
        r#"{"op":"ssrf","kind":"host"}"#,
        r#"{"op":"ssrf","kind":"host","host":"a","host":"b"}"#,
        r#"{"op":"ssrf","kind":"host","host":"a","url":"http://a"}"#,
        r#"{"op":"ssrf","kind":"host","host":"a","policy":{"allowPrivate":true}}"#,
        r#"{"op":"ssrf","kind":"host","host":"a","policy":{"allowPrivateNetwork":"false"}}"#,
        r#"{"op":"ssrf","kind":"resolve","host":"a"}"#,
        r#"{"op":"ssrf","kind":"resolve","host":"a","resolvesTo":["10.0.0.1"]}"#,
        r#"{"op":"ssrf","kind":"url","host":"a","resolvesTo":[]}"#,
    ] {
        let world = World::bare();
        let ended = ended_with_input(world.command().args(["check", "--batch"]), bad.as_bytes());
        assert_eq!(ended.status, 125, "{bad}: {}", ended.stdout);
        assert_eq!(parsed(&ended.stdout)["outcome"], "deny", "{bad}");
    }
}

#[test]
fn a_shell_gets_fewer_overrides() {
    let question = |interpreter: &str| {
        json!({ "op": "env", "base": { "LD_X": "secret" }, "overrides": { "FOO": "1", "TERM": "x" }, "interpreter": interpreter })
            .to_string()
    };
    let answers = answers(&[question("none"), question("shell")]);
    assert_eq!(answers[0]["env"], json!({ "FOO": "1", "TERM": "x", "OPENCLAW_CLI": "1" }));
    assert_eq!(answers[1]["env"], json!({ "TERM": "x", "OPENCLAW_CLI": "1" }));
    let reason = &answers[0]["dropped"]["LD_X"];
    assert_eq!((&reason["source"], &reason["path"]), (&json!("builtin"), &json!("builtin.environment")));
    assert!(!answers[0].to_string().contains("secret"));
}
