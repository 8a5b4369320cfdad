//! The lines that the guard prints for denials.

use guard_tests::{World, ended};

fn world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx", "@/locked/**": "---", "@/read/**": "r--"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret");
    world.write("locked/file", "locked");
    world.write("read/file", "read");
    world
}

#[test]
fn a_line_says_what_where_and_by_which_rule() {
    let world = world();
    let root = world.root().display().to_string();
    let expect = |script: &str, expected: &str| {
        let ended = world.sh(script);
        assert_eq!(ended.guard_lines(), [expected.replace('@', &root)], "{script}: {}", ended.stderr);
    };
    expect(
        "cat ~/secret/key",
        r#"openclaw-guard: denied read @/home/secret/key (permissions.filesystem.deny "~/secret/**")"#,
    );
    expect(
        "cat ../locked/file",
        r#"openclaw-guard: denied read @/locked/file (permissions.filesystem.rules "@/locked/**": "---")"#,
    );
    expect(
        "echo x > ../read/file",
        r#"openclaw-guard: denied write @/read/file (permissions.filesystem.rules "@/read/**": "r--")"#,
    );
    expect(
        "rm -f ../read/file",
        r#"openclaw-guard: denied write @/read/file (permissions.filesystem.rules "@/read/**": "r--")"#,
    );
    expect(
        "mkdir ../read/new",
        r#"openclaw-guard: denied write @/read/new (permissions.filesystem.rules "@/read/**": "r--")"#,
    );
    expect(
        "ls ../locked",
        r#"openclaw-guard: denied read @/locked (permissions.filesystem.rules "@/locked/**": "---")"#,
    );
    expect(
        "ln -s ~/secret/key link",
        r#"openclaw-guard: denied write @/home/secret/key (permissions.filesystem.deny "~/secret/**"; the symbolic link @/work/link would lead your programs there)"#,
    );
    std::os::unix::fs::symlink(world.home().join("secret/key"), world.work().join("link")).expect("a link");
    expect(
        "cat ./link",
        r#"openclaw-guard: denied read @/home/secret/key (permissions.filesystem.deny "~/secret/**")"#,
    );
    let ended = world.sh("cat /var/lib/dpkg/status");
    assert!(ended.stderr.contains(r#"(permissions.filesystem.default "---")"#), "{}", ended.stderr);
}

#[test]
fn quiet_paths_are_denied_and_logged_without_a_line() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx", "~/?**": "???"},
            "deny": ["~/.npmrc", "~/secret"], "quiet": ["~/.npmrc", "~/.viminfo"], "default": "---"}}}"#,
    );
    for name in [".npmrc", ".viminfo", "secret"] {
        world.write(format!("home/{name}"), "text");
    }
    let ended = world.sh("cat ~/secret; cat ~/.npmrc ~/.viminfo; echo x > ~/.viminfo; echo $?");
    let lines = ended.guard_lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("/home/secret"), "{lines:?}");
    assert_eq!(ended.stdout.trim(), "2");
    assert_eq!(ended.stderr.matches("Permission denied").count(), 4, "{}", ended.stderr);
    let quiet: Vec<_> = world.audit().into_iter().filter(|line| line["because"]["quiet"] == true).collect();
    assert_eq!(quiet.len(), 3, "{quiet:?}");
    // The last denial that had a line, not the last one of all.
    let why = guard_tests::ended(world.command().args(["why", "--last"])).stdout;
    assert!(why.contains("secret") && !why.contains(".viminfo"), "{why}");
}

#[test]
fn allowed_and_missing_files_print_no_line() {
    let world = world();
    let ended = world.sh("echo x > f; cat f ../read/file; cat none ~/secret/none ../locked/none; ls none; stat ~/secret/key; test -r ~/secret/key; cd ~/secret; readlink ~/secret/key");
    assert_eq!(ended.guard_lines(), Vec::<&str>::new(), "{}", ended.stderr);
}

#[test]
fn quiet_prints_nothing_and_still_denies() {
    let world = world();
    for option in ["-q", "--quiet"] {
        let ended = ended(world.command().args([option, "--", "sh", "-c", "cat ~/secret/key; echo $?"]));
        assert_eq!(ended.stdout, "1\n");
        assert_eq!(ended.guard_lines(), Vec::<&str>::new());
    }
    assert!(world.audit().iter().any(|line| line["verdict"] == "deny"), "the log has it");
}

#[test]
fn repeats_are_folded() {
    let world = world();
    let ended = world.sh("for i in 1 2 3 4 5 6 7; do cat ~/secret/key; done 2>&1 | grep -c Permission");
    assert_eq!(ended.stdout, "7\n");
    let lines = ended.guard_lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].ends_with("[6 more times]"), "{lines:?}");
    assert_eq!(
        guard_tests::calls(world.audit().iter().filter(|line| line["verdict"] == "deny")),
        7,
        "the log has each"
    );
}

/// A name must not act on the terminal, nor look like a line of the guard.
#[test]
fn names_are_escaped() {
    let world = world();
    for (name, shown) in [
        ("esc\x1b[31mred", r"esc\u{1B}[31mred"),
        ("line\nopenclaw-guard: allowed", r"line\u{A}openclaw-guard: allowed"),
        ("bell\x07\r\t", r"bell\u{7}\u{D}\u{9}"),
        ("right\u{202e}left", r"right\u{202E}left"),
        ("zero\u{200b}width", r"zero\u{200B}width"),
        ("c1\u{9b}31m", r"c1\u{9B}31m"),
        ("häuser 日本", "häuser 日本"),
    ] {
        let path = world.write(format!("locked/{name}"), "x");
        let ended =
            world.guarded(&["sh", "-c", "exec 2>/dev/null; : < \"$1\"", "x", path.to_str().expect("text")]);
        assert!(ended.stderr.contains(&format!("/locked/{shown} (")), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{:?}", ended.stderr);
        assert!(!ended.stderr.trim_end().chars().any(char::is_control), "{:?}", ended.stderr);
    }
    // Not UTF-8.
    let ended = world.sh("exec 2>/dev/null; cat \"$(printf '../locked/\\377\\376')\"; : > \"$(printf '../locked/\\377\\376')\"");
    assert!(ended.stderr.contains(r"/locked/\xFF\xFE ("), "{}", ended.stderr);
}

#[test]
fn a_denied_line_comes_before_the_programs_own_message() {
    let world = world();
    for _ in 0..20 {
        let ended = world.guarded(&["cat", world.home().join("secret/key").to_str().expect("text")]);
        let lines: Vec<_> = ended.stderr.lines().collect();
        assert!(lines[0].starts_with("openclaw-guard: denied"), "{lines:?}");
        assert!(lines[1].contains("Permission denied"), "{lines:?}");
    }
}
