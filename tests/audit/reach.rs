//! The tree can reach neither the log nor the files beside it.

use std::fs;
use std::os::unix::fs::symlink;

use guard_tests::{TIERS, World, ended};

/// Everything that a program might do to the files of a log. Each attack that works prints a line.
const ATTACKS: &str = r#"
    for file in "$LOG" "$LOG".d/head "$LOG".d/000000000001.jsonl "$LOG".d/new "$LOG".d/denials.jsonl \
            "$LOG".d/denials.jsonl.d/head "$LOG".d/denials.jsonl.d/new; do
        cat "$file" && echo "read $file"
        (echo x >> "$file") && echo "appended $file"
        (: > "$file") && echo "emptied $file"
        rm "$file" && echo "removed $file"
        mv "$file" ./taken && echo "moved $file"
        ln "$file" ./linked && echo "linked $file"
        echo x > fresh; mv fresh "$file" && echo "replaced $file"
        truncate -s 0 "$file" && echo "cut $file"
        chmod 0666 "$file" && echo "opened $file"
    done
    ls "$LOG".d && echo listed
    mv "$LOG".d ./directory && echo moved
    rm -rf "$LOG".d; [ -d "$LOG".d ] || echo removed
"#;

fn attack(world: &World, mut command: std::process::Command, log: &str) -> String {
    let ended = ended(command.args(["--", "bash", "-c", ATTACKS]).env("LOG", log).current_dir(world.work()));
    ended.stdout
}

#[test]
fn the_tree_cannot_touch_the_log() {
    for tiers in TIERS {
        for mut world in [World::open(), World::floored()] {
            world.set_tiers(tiers);
            let world = world.policy_text(|text| text.replacen("{", r#"{"audit": {"maxBytes": 4096}, "#, 1));
            // Enough lines for the log to have an older file.
            world.sh("for i in 1 2 3 4 5 6 7 8 9; do /bin/true; done");
            assert!(world.root().join("audit.jsonl.d/000000000001.jsonl").exists());
            let log = world.root().join("audit.jsonl");
            assert_eq!(attack(&world, world.command(), log.to_str().expect("a plain path")), "", "{tiers}");
            let verified = ended(world.command().args(["audit", "verify"]));
            assert_eq!(verified.status, 0, "{tiers}: {verified:?}");
        }
    }
}

/// `audit.path` names the log, through a link, before the log exists.
#[test]
fn the_tree_cannot_touch_a_log_that_the_policy_names() {
    let world =
        World::open().policy_text(|text| text.replacen("{", r#"{"audit": {"path": "@/link/log"}, "#, 1));
    fs::create_dir(world.root().join("real")).expect("a directory");
    symlink("real", world.root().join("link")).expect("a link");
    let policy = world.root().join("guard.json");
    for log in ["real/log", "link/log"] {
        let mut command = std::process::Command::new(guard_tests::guard());
        command.arg("--policy").arg(&policy).arg("--unattended").env("HOME", world.home());
        let log = world.root().join(log);
        assert_eq!(attack(&world, command, log.to_str().expect("a plain path")), "");
    }
    assert!(world.read("real/log").is_some_and(|text| text.contains("\"exec\"")));
    assert!(world.root().join("real/log.d/head").exists());
    let mut command = std::process::Command::new(guard_tests::guard());
    command.arg("--policy").arg(&policy).args(["audit", "verify"]).env("HOME", world.home());
    assert_eq!(ended(&mut command).status, 0);
}
