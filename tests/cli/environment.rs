//! What a guarded command inherits.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use guard_tests::{Ended, World, ended};

/// Runs `env -0` under the guard; returns its entries and the result.
fn env(command: &mut Command, options: &[&str]) -> (Vec<String>, Ended) {
    let ended = ended(command.args(options).args(["--", "env", "-0"]));
    let env = ended.stdout.split('\0').filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    (env, ended)
}

fn has(env: &[String], entry: &str) -> bool {
    env.iter().any(|one| one == entry)
}

#[test]
fn variables_that_load_code_are_not_inherited() {
    let world = World::open();
    let script = world.write("work/startup", "echo owned");
    let run = |options: &[&str]| {
        let mut command = world.command();
        command
            .env("BASH_ENV", &script)
            .env("LD_BIND_NOW", "")
            .env("ld_x", "1")
            .env("FOO", "bar")
            .env("SHELL", "/bin/sh");
        ended(command.args(options).args(["--", "bash", "-c", "env; echo end"]))
    };
    let natively = ended(world.native_command().env("BASH_ENV", &script).args(["bash", "-c", "echo end"]));
    assert_eq!(natively.stdout, "owned\nend\n");
    let ended = run(&[]);
    assert!(ended.stdout.contains("FOO=bar\n") && ended.stdout.ends_with("end\n"), "{}", ended.stdout);
    for absent in ["owned", "BASH_ENV", "LD_BIND_NOW", "ld_x", "SHELL="] {
        assert!(!ended.stdout.contains(absent), "{absent}: {}", ended.stdout);
    }
    // The guard does not report variables that every login sets.
    let [line] = ended.guard_lines()[..] else { panic!("{}", ended.stderr) };
    assert!(line.starts_with("openclaw-guard: 3 variables are not inherited: "), "{line}");
    for name in ["BASH_ENV", "LD_BIND_NOW", "ld_x"] {
        assert!(line.contains(name), "{line}");
    }
    assert!(!ended.stderr.contains("startup"), "a value is shown: {}", ended.stderr);

    assert_eq!(run(&["-q"]).guard_lines(), Vec::<&str>::new());
    let reasons = run(&["-v"]);
    let lines: Vec<_> =
        reasons.guard_lines().into_iter().filter(|line| line.contains("not inherited")).collect();
    assert!(
        lines.len() >= 4 && lines.iter().all(|line| line.contains(": ") && !line.contains("startup")),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.contains("not inherited: SHELL: it makes")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("not inherited: ld_x: it makes")), "{lines:?}");
}

#[test]
fn every_command_gets_openclaws_marker_variable() {
    let world = World::open();
    let (plain, ended) = env(&mut world.command(), &[]);
    assert!(has(&plain, "OPENCLAW_CLI=1"), "{plain:?}");
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
    let (marked, ended) = env(world.command().env("OPENCLAW_CLI", "7"), &[]);
    let marks: Vec<_> = marked.iter().filter(|entry| entry.starts_with("OPENCLAW_CLI")).collect();
    assert_eq!(marks, ["OPENCLAW_CLI=1"]);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
}

#[test]
fn names_and_values_need_not_be_text() {
    let world = World::open();
    let mut command = world.command();
    command
        .env(OsStr::from_bytes(b"K\xff"), OsStr::from_bytes(b"\xfe"))
        .env(OsStr::from_bytes(b"LD_\x1b[31m\xff"), "x");
    let (env, ended) = env(&mut command, &[]);
    // The harness reads invalid UTF-8 as U+FFFD.
    assert!(has(&env, "K\u{fffd}=\u{fffd}"), "{env:?}");
    let line = ended.guard_lines()[0];
    assert!(line.contains(r"LD_\u{1B}[31m\xFF") && !ended.stderr.contains('\u{1b}'), "{line}");
}

#[test]
fn the_sandbox_environment_holds_secrets_back() {
    let world = World::bare();
    let policy = |word: &str| {
        let text = format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off", "environment": "{word}"}}, "permissions": {{"filesystem": {{"rules": {{"/**": "rwx"}}}}}}}}"#
        );
        world.write("policy.json", text);
        let mut command = world.command();
        command.args(["--policy", world.root().join("policy.json").to_str().expect("text")]);
        command.env("MY_TOKEN", "abc").env("FOO", "bar").env("LC_ALL", "C").env("LONG", "A".repeat(80));
        env(&mut command, &[])
    };
    let (host, ended) = policy("host");
    assert!(has(&host, "MY_TOKEN=abc") && has(&host, "FOO=bar"), "{host:?}{}", ended.stderr);
    let (sandbox, ended) = policy("sandbox");
    assert!(!has(&sandbox, "MY_TOKEN=abc") && has(&sandbox, "FOO=bar"), "{sandbox:?}");
    assert!(
        ended.stderr.contains("LONG: Value looks like base64-encoded credential data"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("MY_TOKEN"), "{}", ended.stderr);
    let (strict, _) = policy("strict");
    let mut names: Vec<_> = strict.iter().filter_map(|entry| entry.split('=').next()).collect();
    names.retain(|name| !["LANG", "TERM", "USER", "TZ"].contains(name) && !name.starts_with("LC_"));
    names.sort_unstable();
    assert_eq!(names, ["HOME", "OPENCLAW_CLI", "PATH"]);
}

fn with_tools(exec: &str) -> World {
    let world = World::bare().policy(&format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off", {exec}}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "@/tools/**": "r-x", "~/tools/**": "r-x", "@/work/**": "rwx"}}}}}}}}"#
    ));
    for (directory, text) in [("tools", "one"), ("home/tools", "two"), ("work/bin", "three")] {
        let tool = world.write(format!("{directory}/guard-tool"), format!("#!/bin/sh\necho {text}\n"));
        std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    world
}

#[test]
fn directories_are_put_before_path() {
    let world = with_tools(r#""pathPrepend": ["@/tools", "~/tools"]"#);
    let ended = ended(world.command().args(["--", "guard-tool"]));
    assert_eq!((ended.stdout.as_str(), ended.status), ("one\n", 0), "{}", ended.stderr);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
    assert_eq!(
        world.sh("guard-tool; rm -f nothing; command -v guard-tool").stdout.lines().next(),
        Some("one")
    );
    let shown = guard_tests::ended(world.command().args(["check", "--", "guard-tool"]));
    assert!(
        shown.stdout.starts_with(&format!("allow exec {}/tools/guard-tool", world.root().display())),
        "{}",
        shown.stdout
    );
    let home = with_tools(r#""pathPrepend": ["~/tools/"]"#);
    assert_eq!(home.sh("guard-tool").stdout, "two\n");
    assert_eq!(with_tools(r#""pathPrepend": []"#).guarded(&["guard-tool"]).status, 127);
}

#[test]
fn a_directory_in_which_the_tree_writes_is_warned_of() {
    let world = with_tools(r#""pathPrepend": ["@/work/bin"]"#);
    let ended = world.guarded(&["guard-tool"]);
    assert_eq!(ended.stdout, "three\n");
    let [line] = ended.guard_lines()[..] else { panic!("{}", ended.stderr) };
    assert!(line.contains("exec.pathPrepend") && line.contains("work/bin"), "{line}");
}

#[test]
fn mistakes_are_reported_with_line_and_column() {
    for wrong in ["\"bin\"", "\"/a:/b\"", "7"] {
        let world = World::bare().policy(&format!(
            "{{\"version\": 1,\n \"exec\": {{\"security\": \"full\", \"pathPrepend\": [\"/a\", {wrong}]}}}}"
        ));
        let ended = world.guarded(&["true"]);
        assert_eq!(ended.status, 125);
        assert!(ended.stderr.contains("guard.json:2:53: exec.pathPrepend[1]"), "{}", ended.stderr);
    }
    let world = World::bare().policy(r#"{"version": 1, "exec": {"environment": "sandbx"}}"#);
    let ended = world.guarded(&["true"]);
    assert_eq!(ended.status, 125);
    assert!(ended.stderr.contains("did you mean \"sandbox\"?"), "{}", ended.stderr);
}
