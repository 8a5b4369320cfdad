//! OpenClaw's own answers about its permission map (tests/data/README.md): `check` and a live run give the
//! same ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use guard_tests::{World, ended_with_input};
use serde_json::{Value, json};

const ORACLE: &str = include_str!("../data/rwx-permission-map.json");
/// The oracle's home. `HOME` replaces it with one that no machine has, because `check` reads what is in it.
const THEIR_HOME: &str = "/home/u";
const HOME: &str = "/nonexistent/u";

fn oracle() -> Value {
    serde_json::from_str(&ORACLE.replace(THEIR_HOME, HOME)).expect("the oracle")
}

/// Returns the oracle's policy as a guard.json. The oracle has no base.
fn document(policy: &Value, more: &[(&str, &str)]) -> String {
    let mut filesystem = policy.clone();
    for (pattern, permission) in more {
        filesystem["rules"][pattern] = json!(permission);
    }
    json!({"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": filesystem, "base": !more.is_empty()}})
        .to_string()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// Returns whether the guard's own rule denies the path to the tree under every policy. The oracle has no
/// such rule.
fn is_ours(path: &str) -> bool {
    path.strip_prefix(HOME).is_some_and(|path| path == "/.openclaw" || path.starts_with("/.openclaw/"))
}

#[test]
fn check_agrees_case_by_case() {
    let oracle = oracle();
    let mut by_policy: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for case in oracle["cases"].as_array().expect("cases") {
        by_policy.entry(text(&case["policy"])).or_default().push(case);
    }
    let mut count = 0;
    for (name, cases) in by_policy {
        let world = World::bare();
        let policy = world.write("policy.json", document(&oracle["policies"][name], &[]));
        let questions: String = cases
            .iter()
            .map(|case| format!("{}\n", json!({"op": case["op"], "path": case["path"]})))
            .collect();
        let mut command = world.command();
        command.arg("--policy").arg(policy).args(["--home", HOME, "check", "--batch"]);
        let ended = ended_with_input(&mut command, questions.as_bytes());
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let answers: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(answers.len(), cases.len());
        for (case, answer) in cases.iter().zip(&answers) {
            let expected = if is_ours(text(&case["path"])) { "deny" } else { text(&case["verdict"]) };
            assert_eq!(answer["outcome"], expected, "{case} because {}", answer["because"]);
            count += 1;
        }
    }
    assert!(count > 50, "{count} cases");
}

/// Maps paths below the home and /tmp into the world. Returns None for all others.
fn live_path(world: &World, path: &str) -> Option<String> {
    let root = world.root().display().to_string();
    if path == HOME || path.starts_with(&format!("{HOME}/")) || path.starts_with("/tmp/") {
        return Some(format!("{root}{path}"));
    }
    None
}

/// Makes a directory for a path with another case below it, and a program for every other path.
fn make(world: &World, paths: &[&str]) {
    for path in paths {
        let Some(live) = live_path(world, path) else { continue };
        let is_directory = paths.iter().any(|other| other.starts_with(&format!("{path}/")));
        let live = Path::new(&live);
        if is_directory {
            fs::create_dir_all(live).expect("a directory");
        } else if !live.exists() {
            fs::create_dir_all(live.parent().expect("a directory")).expect("directories");
            fs::write(live, fs::read("/bin/true").expect("true")).expect("a file");
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(live, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }
}

const TRY: &str = r#"
import errno, os, sys
for line in sys.stdin:
    op, path = line.rstrip("\n").split(" ", 1)
    directory = os.path.isdir(path)
    try:
        if op == "read": os.listdir(path) if directory else open(path, "rb").read(1)
        elif op == "write" and directory: os.chmod(path, os.stat(path).st_mode)
        elif op == "write": open(path, "ab").close()
        elif directory: print("none"); continue
        elif os.posix_spawn(path, [path], {}) and os.wait()[1]: print("odd"); continue
        print("allow")
    except OSError as e: print("deny" if e.errno == errno.EACCES else errno.errorcode[e.errno])
"#;

#[test]
fn a_live_run_agrees_case_by_case() {
    let oracle = oracle();
    let mut count = 0;
    for (name, policy) in oracle["policies"].as_object().expect("policies") {
        let cases: Vec<&Value> = oracle["cases"]
            .as_array()
            .expect("cases")
            .iter()
            .filter(|case| case["policy"] == **name)
            .collect();
        let world = World::bare();
        let root = world.root().display().to_string();
        make(&world, &cases.iter().map(|case| text(&case["path"])).collect::<Vec<_>>());
        world.write("try.py", TRY);
        // Patterns move with the paths; the other rules are what a program needs to run at all.
        let moved = serde_json::to_string(policy)
            .expect("JSON")
            .replace("\"/tmp/", &format!("\"{root}/tmp/"))
            .replace("\"~/", &format!("\"{root}{HOME}/"));
        let moved: Value = serde_json::from_str(&moved).expect("JSON");
        let system = [
            ("/usr/**", "r-x"),
            ("/bin/**", "r-x"),
            ("/lib/**", "r-x"),
            ("/lib64/**", "r-x"),
            ("/etc/**", "r--"),
            ("/proc/**", "r--"),
            ("/dev/null", "rw-"),
        ];
        let tried = format!("{root}/try.py");
        let more: Vec<_> = system.into_iter().chain([(tried.as_str(), "r--")]).collect();
        let file = world.write("policy.json", document(&moved, &more));
        let asked: Vec<(&&Value, String)> = cases
            .iter()
            .filter_map(|case| Some((case, live_path(&world, text(&case["path"]))?)))
            .filter(|(_, path)| Path::new(path).exists())
            .collect();
        let input: String =
            asked.iter().map(|(case, path)| format!("{} {path}\n", text(&case["op"]))).collect();
        let mut command = world.command();
        command.arg("--policy").arg(file).arg("--home").arg(format!("{root}{HOME}")).args([
            "--",
            "/usr/bin/python3",
            "-S",
            "-B",
            &tried,
        ]);
        let ended = ended_with_input(&mut command, input.as_bytes());
        assert_eq!(ended.status, 0, "{name}: {}", ended.stderr);
        assert_eq!(ended.stdout.lines().count(), asked.len(), "{name}: {}", ended.stderr);
        for ((case, path), result) in asked.iter().zip(ended.stdout.lines()) {
            let expected = if is_ours(text(&case["path"])) { "deny" } else { text(&case["verdict"]) };
            if result != "none" {
                assert_eq!(result, expected, "{case} at {path}\n{}", ended.stderr);
                count += 1;
            }
        }
    }
    assert!(count > 25, "{count} cases");
}
