//! Programs that start others: the guard asks once, about the program that really runs, during its execve.

use guard_tests::{Ended, Screen, World};
use serde_json::Value;

use crate::world::{executable, path, world};

const EXEC: [&str; 2] = ["59", "322"];

/// Returns the number of the system call that the asking process is in.
fn system_call(asked: &Value) -> String {
    let pid = &asked["askedBy"][0]["pid"];
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).expect("a process that waits");
    call.split(' ').next().unwrap_or_default().to_owned()
}

/// Runs a command that must ask for `bin/asked` alone, once with each of these argv.
fn asks(world: &World, argv: &[&str], expected: &[&str]) -> Ended {
    let held = world.start(argv);
    for expected in expected {
        let asked = world.wait_for(1).remove(0);
        let line: Vec<_> = asked["argv"].as_array().expect("argv").iter().filter_map(Value::as_str).collect();
        assert_eq!(line[1..].join(" "), *expected, "{argv:?}");
        assert_eq!(asked["resolvedPath"], path(world, "bin/asked"), "{argv:?}");
        assert_eq!(asked["operation"], "exec");
        assert!(EXEC.contains(&&*system_call(&asked)), "{argv:?}: {}", system_call(&asked));
        assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    }
    held.end()
}

#[test]
fn each_tool_asks_for_what_really_runs() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let lines: [(&str, &[&str]); 6] = [
        ("ASKED one two", &["one two"]),
        ("ASKED $(ASKED inner)", &["inner", "inner"]),
        ("find . -maxdepth 0 -exec ASKED {} ;", &["."]),
        ("env -S 'ASKED a b'", &["a b"]),
        ("exec -a innocent ASKED x", &["x"]),
        ("cp ASKED copy; ln -s ASKED link; ./link z", &["z"]),
    ];
    for (line, expected) in lines {
        let line =
            line.replace("ASKED", &asked).replace(';', if line.starts_with("find") { "\\;" } else { ";" });
        let ended = asks(&world, &["bash", "-c", &line], expected);
        let last = expected.last().expect("one");
        assert_eq!((ended.status, ended.stdout.trim_end()), (0, *last), "{line}: {}", ended.stderr);
        assert_eq!(world.pending(), Vec::<Value>::new());
    }
}

#[test]
fn a_renamed_copy_is_asked_for_as_what_it_is() {
    let world = world();
    let line = format!("cp {} ./cat; ./cat x", path(&world, "bin/asked"));
    let held = world.start(&["bash", "-c", &line]);
    let asked = world.answer("allow-once");
    assert_eq!(asked["resolvedPath"], path(&world, "work/cat"));
    assert_eq!(held.end().stdout, "x\n");
}

#[test]
fn a_real_curl() {
    let world = World::bare().attended().policy(
        r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss", "carriers": ["bash"]},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}, "default": "---"}}}"#,
    );
    if !std::path::Path::new("/usr/bin/curl").exists() {
        return guard_tests::skip("curl is not installed");
    }
    let url = format!("file://{}", world.write("work/page", "a page").display());
    let held = world.start(&["bash", "-c", &format!("curl -s {url}; echo; curl -s {url}")]);
    let first = world.answer("allow-once");
    assert_eq!(first["resolvedPath"], "/usr/bin/curl");
    assert_eq!(first["argv"], serde_json::json!(["curl", "-s", url]));
    let second = world.answer("deny");
    assert_ne!(first["id"], second["id"]);
    let ended = held.end();
    assert_eq!(ended.stdout, "a page\n");
    assert!(ended.stderr.contains("denied exec /usr/bin/curl"), "{}", ended.stderr);
}

#[test]
fn sixteen_jobs_of_make_are_one_card() {
    let world = world();
    let targets: Vec<String> = (1..=16).map(|number| format!("t{number}")).collect();
    let asked = path(&world, "bin/asked");
    // `; true` makes make use a shell: for a program it would call vfork(2), and sleep until that has begun.
    world.write("work/Makefile", format!("all: {}\nt%:\n\t@{asked} $@; true\n", targets.join(" ")));
    // The tests may run below make(1), whose variables have a nested make print directory names.
    let held = world.start(&["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-j16"]);
    let pending = world.wait_for(16);
    let card = &pending[0]["card"];
    assert!(pending.iter().all(|asked| asked["card"] == *card), "{pending:#?}");
    let revision = pending.iter().filter_map(|asked| asked["revision"].as_u64()).max().expect("a revision");
    let id = pending[3]["id"].as_str().expect("an id");
    let output = world.approvals(&["resolve", id, "allow-once", "--revision", &revision.to_string()]);
    assert_eq!(output.status, 0, "{output:?}");
    let ended = held.end();
    let mut lines: Vec<&str> = ended.stdout.lines().collect();
    lines.sort_unstable();
    let mut all: Vec<&str> = targets.iter().map(String::as_str).collect();
    all.sort_unstable();
    assert_eq!(lines, all, "{}", ended.stderr);
}

#[test]
fn xargs_in_parallel_asks_for_each_argument_once() {
    let world = world();
    let line = format!("printf '%s\\n' 1 2 3 4 5 6 7 8 | xargs -P8 -n1 {}", path(&world, "bin/asked"));
    let held = world.start(&["bash", "-c", &line]);
    // xargs waits for each program to begin before it starts the next.
    for _ in 0..8 {
        let asked = world.wait_for(1).remove(0);
        assert!(EXEC.contains(&&*system_call(&asked)));
        assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    }
    let ended = held.end();
    let mut lines: Vec<&str> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1", "2", "3", "4", "5", "6", "7", "8"]);
}

#[test]
fn a_python_subprocess() {
    let world = world();
    let code = format!(
        "import subprocess; print(subprocess.run(['{}', 'p'], check=True).returncode)",
        path(&world, "bin/asked")
    );
    let ended = asks(&world, &["/usr/bin/python3", "-c", &code], &["p"]);
    assert_eq!(ended.stdout, "p\n0\n", "{}", ended.stderr);
}

#[test]
fn a_pager_configured_in_git_is_asked_about() {
    let world = world().policy_text(|text| text.replace(r#"["cli", "terminal", "socket"]"#, r#"["cli"]"#));
    let asked = path(&world, "bin/asked");
    let native = world.native(&[
        "sh",
        "-c",
        "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first",
    ]);
    assert_eq!(native.status, 0, "{native:?}");
    let mut command = world.command();
    command.args(["--", "git", "-c", &format!("core.pager={asked} paged"), "log"]);
    let mut screen = Screen::start(&command);
    let question = world.wait_for(1).remove(0);
    assert_eq!(question["resolvedPath"], asked);
    // The prompt is not available here, so the guard prints a line.
    screen.expect("waits for approval");
    assert!(EXEC.contains(&&*system_call(&question)));
    assert_eq!(world.resolve(&question, "allow-once").status, 0);
    screen.expect("paged");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn a_script_is_asked_for_with_its_interpreter() {
    let world = world();
    let held = world.start(&[path(&world, "bin/tool"), "x".to_owned()]);
    let asked = world.answer("allow-once");
    assert_eq!(asked["script"]["path"], path(&world, "bin/tool"));
    assert!(asked["resolvedPath"].as_str().is_some_and(|path| path.ends_with("sh")), "{asked}");
    assert_eq!(held.end().stdout, "tool x\n");
}

#[test]
fn a_script_by_way_of_env() {
    let world = world();
    executable(&world.write("bin/tool", "#!/usr/bin/env -S bash -e\necho by env \"$@\"\n"));
    let held = world.start(&[path(&world, "bin/tool"), "x".to_owned()]);
    let asked = world.answer("allow-once");
    assert_eq!(asked["script"]["path"], path(&world, "bin/tool"));
    assert_eq!(held.end().stdout, "by env x\n");
}

#[test]
fn variables_that_change_the_program_are_reported() {
    let world = world();
    let line = format!("A=b LD_PRELOAD=./evil.so TAR_OPTIONS=-P {} x", path(&world, "bin/asked"));
    let held = world.start(&["bash", "-c", &line]);
    let asked = world.wait_for(1).remove(0);
    let mut variables: Vec<_> = asked["environment"].as_array().expect("a list").iter().collect();
    variables.sort_by_key(|variable| variable.as_str());
    assert_eq!(variables, ["LD_PRELOAD=./evil.so", "TAR_OPTIONS=-P"]);
    let listed = world.approvals(&["list"]).stdout;
    assert!(listed.contains("LD_PRELOAD=./evil.so") && !listed.contains("A=b"), "{listed}");
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    drop(held.end());
}
