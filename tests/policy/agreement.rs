//! `check` and a live run agree under generated policies, for every file and every operation.

use std::fs;

use guard_tests::{World, ended_with_input, is_soak};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

/// Tries each operation that it reads, and prints the outcome.
const TRY: &str = r#"
import errno, os, sys
for line in sys.stdin:
    op, path = line.rstrip("\n").split(" ", 1)
    try:
        if op == "exec":
            os.posix_spawn(path, [path], {}); os.wait()
        else:
            os.close(os.open(path, os.O_RDONLY if op == "read" else os.O_WRONLY | os.O_APPEND))
        print("allow")
    except OSError as e: print("deny" if e.errno == errno.EACCES else errno.errorcode[e.errno])
"#;

/// A pattern over the tree d1..d3/f1..f3, below T.
fn pattern() -> impl Strategy<Value = String> {
    let directory = prop_oneof![
        "d[1-3]",
        Just("*".to_owned()),
        Just("d*".to_owned()),
        Just("**".to_owned()),
        Just("[d]1".to_owned()),
        Just("{d1,d2}".to_owned())
    ];
    let file = prop_oneof![
        "f[1-3]",
        Just("*".to_owned()),
        Just("**".to_owned()),
        Just("f*".to_owned()),
        Just("*2".to_owned()),
        Just("".to_owned())
    ];
    let deep = prop_oneof![Just(""), Just("sub/"), Just("*/"), Just("**/")];
    prop_oneof![
        4 => (directory, deep, file).prop_map(|(directory, deep, file)| format!("T/{directory}/{deep}{file}").trim_end_matches('/').to_owned()),
        1 => Just("T/**".to_owned()),
        1 => Just("**/f1".to_owned()),
        1 => Just("T".to_owned()),
    ]
}

fn permission() -> impl Strategy<Value = String> {
    "[r-][w-][x-]"
}

fn policy() -> impl Strategy<Value = Value> {
    (
        prop::collection::btree_map(pattern(), permission(), 0..5),
        prop::collection::vec(pattern(), 0..2),
        permission(),
    )
        .prop_map(|(rules, deny, default)| json!({"rules": rules, "deny": deny, "default": default}))
}

fn files(world: &World) -> Vec<String> {
    let mut files = Vec::new();
    for directory in ["d1", "d2", "d3", "d1/sub", "d2/sub"] {
        for file in ["f1", "f2", "f3"] {
            // Each file has different content: a copy of a denied program is denied, which a question about
            // paths cannot know.
            let content = format!("#!/bin/true\n# {directory}/{file}\n");
            let path = world.write(format!("t/{directory}/{file}"), content);
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
            files.push(path.to_str().expect("text").to_owned());
        }
    }
    files
}

/// Returns the generated policy, plus the rules that a program needs to run.
fn document(world: &World, generated: &Value) -> String {
    let root = world.root().display().to_string();
    let text = generated.to_string().replace("\"T", &format!("\"{root}/t"));
    let mut filesystem: Value = serde_json::from_str(&text).expect("JSON");
    for (pattern, permission) in [
        ("/usr/**", "r-x"),
        ("/bin/**", "r-x"),
        ("/lib/**", "r-x"),
        ("/lib64/**", "r-x"),
        ("/etc/**", "r--"),
        ("/proc/**", "r--"),
    ] {
        filesystem["rules"][pattern] = json!(permission);
    }
    filesystem["rules"][format!("{root}/try.py")] = json!("r--");
    json!({"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/"]}, "permissions": {"filesystem": filesystem}}).to_string()
}

fn agree(world: &World, files: &[String], generated: &Value) -> Result<(), TestCaseError> {
    let policy = world.write("policy.json", document(world, generated));
    let questions: Vec<(&str, &String)> = ["read", "write", "exec"]
        .into_iter()
        .flat_map(|op| files.iter().map(move |file| (op, file)))
        .collect();
    let batch: String =
        questions.iter().map(|(op, path)| format!("{}\n", json!({"op": op, "path": path}))).collect();
    let mut check = world.command();
    check.arg("--policy").arg(&policy).args(["check", "--batch"]);
    let checked = ended_with_input(&mut check, batch.as_bytes());
    prop_assert_eq!(checked.status, 0, "{}", checked.stderr);
    let lines: String = questions.iter().map(|(op, path)| format!("{op} {path}\n")).collect();
    let mut live = world.command();
    live.arg("--policy")
        .arg(&policy)
        .args(["--", "/usr/bin/python3", "-S", "-B"])
        .arg(world.root().join("try.py"));
    let lived = ended_with_input(&mut live, lines.as_bytes());
    prop_assert_eq!(lived.stdout.lines().count(), questions.len(), "{}", lived.stderr);
    for ((answer, result), (op, path)) in checked.stdout.lines().zip(lived.stdout.lines()).zip(questions) {
        let answer: Value = serde_json::from_str(answer).expect("JSON");
        // A script that may be run but not read starts, and fails when its interpreter opens it.
        prop_assert_eq!(
            result,
            answer["outcome"].as_str().expect("text"),
            "{} {} because {}; the guard says: {}",
            op,
            path,
            answer["because"],
            lived.stderr
        );
    }
    Ok(())
}

#[test]
fn check_says_what_happens() {
    let world = World::bare();
    let files = files(&world);
    world.write("try.py", TRY);
    let cases = if is_soak() { 400 } else { 40 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    TestRunner::new(config)
        .run(&policy(), |generated| agree(&world, &files, &generated))
        .unwrap_or_else(|error| panic!("{error}"));
}

/// A run may write by a pattern what a later rule closes. Other runs count that as written by the tree, and so does the
/// run itself: `check` says so before anything is recorded.
#[test]
fn check_counts_what_the_run_itself_may_write() {
    let world = World::bare();
    let files = files(&world);
    world.write("try.py", TRY);
    let generated =
        json!({"rules": {"**/f1": "-wx", "T/*/**": "--x", "T/d1/f2": "r-x"}, "deny": [], "default": "r--"});
    agree(&world, &files, &generated).unwrap_or_else(|error| panic!("{error}"));
}

/// The comparison can detect a difference: two different policies give different outcomes.
#[test]
fn the_comparison_can_fail() {
    let world = World::bare();
    let files = files(&world);
    world.write("try.py", TRY);
    let outcomes = |permission: &str| {
        let policy = world.write(
            "policy.json",
            document(&world, &json!({"rules": {"T/**": permission}, "deny": [], "default": "---"})),
        );
        let lines: String = files.iter().map(|path| format!("read {path}\n")).collect();
        let mut live = world.command();
        live.arg("--policy")
            .arg(&policy)
            .args(["-q", "--", "/usr/bin/python3", "-S", "-B"])
            .arg(world.root().join("try.py"));
        ended_with_input(&mut live, lines.as_bytes()).stdout
    };
    assert_eq!(outcomes("r--"), "allow\n".repeat(files.len()));
    assert_eq!(outcomes("-w-"), "deny\n".repeat(files.len()));
}
