//! Who may change the files that the guard relies on.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use guard_tests::{World, copy_guard, guard, is_root, skip};

use super::found::{Found, open};

fn mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

/// Creates everything that a guard leaves behind, accessible to its owner alone.
fn write_private_files(world: &World) {
    for name in ["exec-approvals.json", "guard/approvals.json", "openclaw.json"] {
        mode(world.write(Path::new("home/.openclaw").join(name), "{\"version\": 1}"), 0o600);
    }
    for directory in ["home/.openclaw", "home/.openclaw/guard"] {
        mode(world.root().join(directory), 0o700);
    }
    mode(world.write("audit.jsonl", ""), 0o600);
    world.write("audit.jsonl.d/head", "");
    mode(world.root().join("audit.jsonl.d"), 0o700);
    mode(world.home(), 0o755);
}

#[test]
fn files_that_nobody_else_may_change_are_fine() {
    let world = open("");
    write_private_files(&world);
    mode(world.root().join("guard.json"), 0o644);
    let found = Found::of(&world);
    for name in
        ["guard.json", "state", "openclaw.json", "exec-approvals.json", "guard", "audit", "audit-files"]
    {
        found.must("ok", name, "(0", "");
    }
    found.must("ok", "way", "nobody else may write", "");
}

#[test]
fn a_record_of_runs_that_is_lost_is_a_warning() {
    let whole = "{\"path\":\"/work\",\"repository\":false}\n";
    for (text, expected) in
        [(whole, ""), ("", ""), (&whole[..20], "line 1"), (&[whole, "x\n", whole].concat(), "line 2")]
    {
        let world = open("");
        write_private_files(&world);
        mode(world.write("home/.openclaw/guard/workspaces.jsonl", text), 0o600);
        let found = Found::of(&world);
        match expected {
            "" => assert!(!found.is("warning", "record", ""), "{text}"),
            expected => {
                found.must("warning", "record", expected, "rm ");
            }
        }
    }
}

#[test]
fn files_that_everybody_may_write_are_a_problem() {
    let names = [
        ("guard.json", "guard.json"),
        ("state", "home/.openclaw"),
        ("openclaw.json", "home/.openclaw/openclaw.json"),
        ("exec-approvals.json", "home/.openclaw/exec-approvals.json"),
        ("guard", "home/.openclaw/guard"),
        ("approvals.json", "home/.openclaw/guard/approvals.json"),
        ("audit", "audit.jsonl"),
        ("audit-files", "audit.jsonl.d"),
        ("way", "home"),
    ];
    for (name, path) in names {
        let world = open("");
        write_private_files(&world);
        let path = world.root().join(path);
        mode(&path, if path.is_dir() { 0o777 } else { 0o666 });
        Found::of(&world).must("problem", name, "everybody may write", "chmod ");
        // In a sticky directory nobody can remove another's file.
        if path.is_dir() {
            mode(&path, 0o1777);
            assert!(!Found::of(&world).is("problem", name, ""), "{name}");
        }
    }
}

#[test]
fn files_with_private_content_that_others_may_read_are_reported() {
    let world = open("");
    write_private_files(&world);
    for (name, path) in [
        ("openclaw.json", "home/.openclaw/openclaw.json"),
        ("exec-approvals.json", "home/.openclaw/exec-approvals.json"),
        ("approvals.json", "home/.openclaw/guard/approvals.json"),
        ("audit", "audit.jsonl"),
    ] {
        mode(world.root().join(path), 0o604);
        let found = Found::of(&world);
        found.must("warning", name, "others may read", "chmod 600 ");
        mode(world.root().join(path), 0o600);
    }
    mode(world.root().join("home/.openclaw"), 0o755);
    Found::of(&world).must("warning", "state", "see what is in", "chmod 700 ");
    mode(world.write("home/.openclaw/guard/device.json", "{}"), 0o644);
    Found::of(&world).must("problem", "device.json", "not used", "chmod 600 ");
}

#[test]
fn fix_closes_what_is_this_users_own() {
    let world = open("");
    write_private_files(&world);
    let at = |path: &str| world.root().join(path);
    let modes = || {
        ["guard.json", "home/.openclaw", "home/.openclaw/openclaw.json", "audit.jsonl", "home"]
            .map(|path| fs::metadata(at(path)).expect("a file").permissions().mode() & 0o7777)
    };
    mode(at("guard.json"), 0o646);
    mode(at("home/.openclaw"), 0o757);
    mode(at("home/.openclaw/openclaw.json"), 0o604);
    mode(at("audit.jsonl"), 0o666);
    mode(at("home"), 0o757);
    let before = modes();
    Found::of(&world).must("problem", "guard.json", "everybody may write", "chmod ");
    assert_eq!(modes(), before, "without --fix nothing changes");
    let found = Found::with(&world, |command| {
        command.arg("--fix");
    });
    assert_eq!(modes(), [0o644, 0o700, 0o600, 0o600, 0o755]);
    found.must("ok", "mended", "0646 -> 0644", "").must("ok", "mended", "0757 -> 0700", "");
    found.must("ok", "guard.json", "(0644)", "").must("ok", "way", "nobody else may write", "");
    // What it would take a decision to mend stays.
    if is_root() {
        chown(at("guard.json"), Some(4242), None).expect("root gives files away");
        mode(at("guard.json"), 0o646);
        let found = Found::with(&world, |command| {
            command.arg("--fix");
        });
        assert_eq!(modes()[0], 0o646);
        found.must("problem", "guard.json", "belongs to", "chown");
    }
}

#[test]
fn a_token_that_others_may_read_is_a_problem() {
    let world = World::bare();
    let token = world.write("token", "a-very-secret-token\n");
    let approvals = format!(r#", "approvals": {{"gateway": {{"tokenFile": "{}"}}}}"#, token.display());
    let world = world.policy(&format!(r#"{{"version": 1{approvals}}}"#));
    mode(&token, 0o640);
    let found = Found::of(&world);
    found.must("problem", "token", "not used", "chmod 600 ");
    assert!(!found.raw.stdout.contains("a-very-secret-token"));
    mode(&token, 0o600);
    Found::of(&world).must("ok", "token", "(0600)", "");
}

#[test]
fn files_of_another_user_are_a_problem() {
    if !is_root() {
        return skip("only root gives files away");
    }
    const OTHER: u32 = 4242;
    let world = open("");
    write_private_files(&world);
    for (name, path) in [("guard.json", "guard.json"), ("audit", "audit.jsonl"), ("way", "")] {
        let path = world.root().join(path);
        chown(&path, Some(OTHER), None).expect("another owner");
        Found::of(&world).must("problem", name, "user 4242", "chown ");
        chown(&path, Some(0), None).expect("the owner");
    }
    // A group that may write is a warning.
    for (name, path) in [("audit", "audit.jsonl"), ("way", "")] {
        let path = world.root().join(path);
        chown(&path, None, Some(OTHER)).expect("another group");
        mode(&path, if path.is_dir() { 0o770 } else { 0o660 });
        Found::of(&world).must("warning", name, "the group 4242", "chmod g-w ");
        mode(&path, if path.is_dir() { 0o700 } else { 0o600 });
    }
    // The guard works for the home's owner, so another uid is no problem there.
    for path in ["home", "home/.openclaw", "home/.openclaw/exec-approvals.json"] {
        chown(world.root().join(path), Some(OTHER), None).expect("another owner");
    }
    assert!(!Found::of(&world).is("problem", "state", ""));
}

#[test]
fn a_link_on_the_way_is_none_that_the_tree_may_replace() {
    let world = open("");
    let real = world.write("real/guard.json", world.read("guard.json").expect("a policy"));
    symlink(world.root().join("real"), world.root().join("link")).expect("a link");
    let found = Found::with(&world, |command| {
        command.arg("--policy").arg(world.root().join("link/guard.json"));
    });
    // clap takes the last `--policy`: an alias of the shell may have given an earlier one.
    assert!(real.exists());
    found.must("ok", "guard.json", "", "");
    let mut command = std::process::Command::new(guard());
    command.args(["--unattended", "--policy"]).arg(world.root().join("link/guard.json"));
    command
        .arg("--audit")
        .arg(world.root().join("audit.jsonl"))
        .current_dir(world.work())
        .env("HOME", world.home());
    let ended = guard_tests::ended(command.args(["--", "ln", "-sfnT", "elsewhere", "../link"]));
    assert!(ended.status != 0 && ended.stderr.contains("denied write"), "{}", ended.stderr);
    assert_eq!(fs::read_link(world.root().join("link")).ok(), Some(world.root().join("real")));
    let found = Found::with(&world, |command| {
        command.arg("--policy").arg(&real);
    });
    assert!(!found.is("problem", "guard.json", ""), "{found:?}");
}

#[test]
fn a_guard_that_the_tree_may_write_is_a_problem() {
    let world = open("");
    let copy = world.root().join("bin/openclaw-guard");
    fs::create_dir(world.root().join("bin")).expect("a directory");
    if fs::hard_link(guard(), &copy).is_err() {
        copy_guard(&copy);
    }
    let found_by = |world: &World| {
        let mut command = world.command_of(&copy);
        Found::read(guard_tests::ended(command.args(["doctor", "--json"])))
    };
    found_by(&world).must("problem", "program", "which starts the next guard", "permissions.filesystem.deny");
    // The persistence rules protect it.
    let world = world.policy_text(|text| text.replace("\"persistence\": false", "\"persistence\": true"));
    found_by(&world).must("ok", "program", "", "");
}
