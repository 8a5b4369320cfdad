//! `sandbox prune`: what it removes, and what it never does.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_tests::{Ended, World, ended, guard, until};
use serde_json::Value;

fn world() -> World {
    let world = World::bare();
    let text =
        r#"{ agents: { defaults: { sandbox: { mode: "all", scope: "session" } }, list: [{ id: "main" }] } }"#;
    world.write("home/.openclaw/openclaw.json", text);
    world
}

fn sandboxed(world: &World, session: &str, line: &str) -> Command {
    let mut command = world.command();
    command.args(["sandbox", "run", "--backend", "guard", "--session-key", session, "--", "sh", "-c", line]);
    command
}

/// Makes the sandbox of a session, and returns its directory.
fn made(world: &World, session: &str, line: &str) -> PathBuf {
    let before = sandboxes(world);
    let ended = ended(&mut sandboxed(world, session, line));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    sandboxes(world).into_iter().find(|path| !before.contains(path)).expect("a new one")
}

fn sandboxes(world: &World) -> Vec<PathBuf> {
    let Ok(all) = fs::read_dir(world.home().join(".openclaw/guard/sandboxes")) else { return Vec::new() };
    all.map(|entry| entry.expect("one").path()).collect()
}

fn prune(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().args(["sandbox", "prune"]).args(arguments))
}

fn set_time(path: &Path, time: &str) {
    assert_eq!(ended(Command::new("touch").args(["-d", time]).arg(path)).status, 0);
}

#[test]
fn idle_and_old_scopes_are_removed() {
    let world = world();
    let nothing = prune(&world, &[]);
    assert_eq!((nothing.status, nothing.stdout.as_str()), (0, ""), "{}", nothing.stderr);
    let line = "mkdir -p a/b && echo x > a/b/c && ln -s a link";
    let [idle, old, new] =
        ["agent:main:1", "agent:main:2", "agent:main:3"].map(|key| made(&world, key, line));
    set_time(&idle.join("lock"), "2 days ago");
    let lock = fs::read_to_string(old.join("lock")).expect("a lock");
    let mut record: Value = serde_json::from_str(&lock).expect("JSON");
    record["createdAtMs"] = 1.into();
    fs::write(old.join("lock"), record.to_string()).expect("a lock");
    let expected = |verb: &str| {
        let mut paths = [&idle, &old];
        paths.sort();
        paths.map(|path| format!("{verb} {}\n", path.display())).concat()
    };
    let dry = prune(&world, &["--dry-run"]);
    assert_eq!((dry.status, dry.stdout), (0, expected("would remove")), "{}", dry.stderr);
    assert!(idle.join("files/a/b/c").exists() && old.exists());
    let kept = prune(&world, &["--idle", "3d", "--max-age", "99999d"]);
    assert_eq!((kept.status, kept.stdout.as_str()), (0, ""), "{}", kept.stderr);
    let done = prune(&world, &[]);
    assert_eq!((done.status, done.stdout), (0, expected("removed")), "{}", done.stderr);
    assert!(!idle.exists() && !old.exists() && new.join("files/a/b/c").exists());
    let json = prune(&world, &["--idle", "0s", "--json"]);
    let list: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!((&list[0]["removed"], &list[0]["inUse"]), (&true.into(), &false.into()), "{list}");
    assert!(
        list[0]["scope"].as_str().is_some_and(|scope| scope.starts_with("agent:main:3:workspace:")),
        "{list}"
    );
    assert!(sandboxes(&world).is_empty());
    // The next command has a new one.
    made(&world, "agent:main:1", "test ! -e a");
    let bad = prune(&world, &["--idle", "1w"]);
    assert!(bad.status == 125 && bad.stderr.contains("a number and s, m, h or d"), "{}", bad.stderr);
}

#[test]
fn one_in_use_is_kept() {
    let world = world();
    let held = world.start_command(sandboxed(&world, "agent:main:1", "echo started > x; sleep 600"));
    let mut own = PathBuf::new();
    until("a start", || {
        own = sandboxes(&world).pop().unwrap_or_default();
        own.join("files/x").exists()
    });
    set_time(&own.join("lock"), "30 days ago");
    for _ in 0..3 {
        let ended = prune(&world, &["--idle", "0s", "--max-age", "0s", "--json"]);
        let list: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        assert_eq!((&list[0]["inUse"], &list[0]["removed"]), (&true.into(), &false.into()), "{list}");
        assert!(own.join("files/x").exists());
    }
    drop(held);
    until("its end", || {
        prune(&world, &["--idle", "0s"]);
        !own.exists()
    });
}

/// Many start while others are removed: each has its directory, or says that it has none.
#[test]
fn nothing_is_removed_from_under_a_command() {
    let world = world();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..25 {
                prune(&world, &["--idle", "0s"]);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let line = "echo mine > x.$$ && sleep 0.05 && cat x.$$";
                    let ended = ended(&mut sandboxed(&world, "agent:main:1", line));
                    assert_eq!((ended.status, ended.stdout.as_str()), (0, "mine\n"), "{}", ended.stderr);
                }
            });
        }
    });
}

#[test]
fn no_link_is_followed() {
    let world = world();
    let outside = world.root().join("outside");
    world.write("outside/deep/kept", "kept");
    let own = made(
        &world,
        "agent:main:1",
        "mkdir -p closed/x && touch closed/x/y && chmod 0 closed/x && chmod 0 closed",
    );
    symlink(&outside, own.join("files/link")).expect("a link");
    symlink(&outside, own.join("link")).expect("a link");
    let all = own.parent().expect("a parent").to_owned();
    symlink(&outside, all.join("linked")).expect("a link");
    fs::create_dir(all.join("odd")).expect("a directory");
    symlink(outside.join("deep/kept"), all.join("odd/lock")).expect("a link");
    let ended = prune(&world, &["--idle", "0s", "--max-age", "0s"]);
    assert_eq!((ended.status, ended.stdout), (1, format!("removed {}\n", own.display())), "{}", ended.stderr);
    for name in ["linked", "odd"] {
        let line = format!("openclaw-guard: {} is left: ", all.join(name).display());
        assert!(ended.stderr.contains(&line), "{}", ended.stderr);
    }
    assert_eq!(world.read("outside/deep/kept").as_deref(), Some("kept"));
    // Nor is one in the place of all of them.
    fs::rename(&all, world.root().join("moved")).expect("to move it");
    fs::create_dir(outside.join("s")).expect("a directory");
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o700)).expect("a mode");
    symlink(&outside, &all).expect("a link");
    let refused = prune(&world, &["--idle", "0s"]);
    assert!(
        refused.status == 125 && refused.stderr.contains("no link is followed there"),
        "{}",
        refused.stderr
    );
    assert!(outside.join("s").exists());
}

#[test]
fn a_guarded_command_prunes_nothing() {
    let world = world();
    let own = made(&world, "agent:main:1", "true");
    let program = guard().display().to_string();
    let open = World::open();
    let inner = format!("HOME={} {program} sandbox prune --idle 0s", world.home().display());
    let ended = open.sh(&inner);
    assert!(ended.status == 125 && ended.stderr.contains("this runs inside a guard"), "{}", ended.stderr);
    assert!(own.exists());
}
