//! Where a proposal goes: a new file, one that exists, standard output.

use std::os::unix::fs::PermissionsExt;

use guard_tests::{Screen, ended};
use serde_json::Value;

use crate::session::Session;

const OURS: &str = r#"{
  // what we allow
  "version": 1,
  "exec": { "ask": "off" },
  "permissions": {
    "filesystem": {
      "rules": {
        "/usr/**": "r-x", // the system
        "/srv/**": "r--",
        "@/work/locked/**": "r--"
      }
    }
  },
  "agents": { "main": { "allowlist": [{ "pattern": "/usr/bin/make" }] } }
}
"#;

const SCRIPT: &str = "mkdir -p locked; echo x > made; echo x > locked/x; cat made";

fn session() -> Session {
    let session = Session::new(None);
    let root = session.world.root();
    session.world.write("guard.json", OURS.replace('@', root.to_str().expect("a plain path")));
    session
}

#[test]
fn a_new_file_is_its_owners_alone() {
    let session = Session::new(None);
    let ended = session.learn("normal", SCRIPT);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let mode = session.world.root().join("guard.json").metadata().expect("a policy").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn learn_extends_an_existing_policy_and_keeps_its_comments() {
    let session = session();
    let before = session.world.read("guard.json").expect("a policy");
    let output = session.world.root().join("guard.json");
    let learn = |yes: bool| {
        let mut command = session.command();
        command.args(["learn", "-o"]).arg(&output).args(if yes { &["--yes"][..] } else { &[] });
        // setsid gives it a session without a terminal.
        let mut apart = std::process::Command::new("setsid");
        apart
            .arg("-w")
            .arg(command.get_program())
            .args(command.get_args())
            .args(["--", "bash", "-c", SCRIPT]);
        apart.current_dir(session.world.work()).env("HOME", session.world.home());
        ended(&mut apart)
    };
    let shown = learn(false);
    assert_eq!(shown.status, 1, "{}", shown.stderr);
    assert_eq!(session.world.read("guard.json").as_ref(), Some(&before));
    assert!(shown.stderr.contains("\n+") && shown.stderr.contains("--yes"), "{}", shown.stderr);

    let added = learn(true);
    assert_eq!(added.status, 0, "{}", added.stderr);
    let after = session.world.read("guard.json").expect("a policy");
    for line in before.lines().filter(|line| line.contains("//") || line.contains("locked")) {
        assert!(after.contains(line.trim_end_matches(',')), "{line}\n{after}");
    }
    assert_ne!(after, before);
    let refused = added.stderr.split("still denied by the policy:").nth(1);
    assert!(refused.is_some_and(|list| list.contains("/work/locked/x (written): ")), "{}", added.stderr);
    assert!(added.stderr.contains("permissions.filesystem.rules \"/srv/**\": \"r--\""), "{}", added.stderr);
    // What the operator's policy denies stays denied.
    let again = session.again("echo y > made; cat made; echo y > locked/x");
    assert_eq!((again.stdout.as_str(), again.status), ("y\n", 1), "{}\n{after}", again.stderr);
    let needless = learn(true);
    assert!(needless.stderr.contains("needs no change"), "{}", needless.stderr);
}

#[test]
fn without_a_file_it_is_on_standard_output() {
    let session = Session::new(None);
    let ended =
        ended(session.command().args(["learn", "-q", "--", "bash", "-c", "cat ~/other/README > /dev/null"]));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stdout.starts_with("{\n  \"version\": 1,"), "{}", ended.stdout);
}

/// Otherwise the command could redirect its own policy, for instance into OpenClaw's directory.
#[test]
fn the_command_does_not_choose_where_it_is_written() {
    for (before, script) in [
        ("mkdir out", "rmdir out && ln -s ../home/.config out"),
        ("mkdir out", "rmdir out && mkdir out"),
        (
            "mkdir -p a/real && ln -s a/real out",
            "rmdir a/real a && ln -s ../home/.config a && mkdir -p a/real",
        ),
    ] {
        let session = Session::new(None);
        session.world.write("home/.config/theirs", "x");
        let mut prepare = std::process::Command::new("sh");
        assert_eq!(ended(prepare.args(["-c", before]).current_dir(session.world.work())).status, 0);
        let ended =
            ended(session.command().args(["learn", "-o", "out/guard.json", "--", "bash", "-ec", script]));
        assert_eq!(ended.status, 125, "{script}: {}", ended.stderr);
        assert!(ended.stderr.contains("has replaced a directory on its path"), "{}", ended.stderr);
        let config = session.world.home().join(".config");
        assert!(!config.join("guard.json").exists() && !config.join("real/guard.json").exists(), "{script}");
        assert!(!session.world.work().join("out/guard.json").exists(), "{script}");
    }
}

#[test]
fn the_command_does_not_replace_a_link_to_where_it_is_written() {
    for script in ["rm out && ln -s ../home/.config out", "ln -s ../home/.config x && mv -T x out"] {
        let session = Session::new(None);
        session.world.write("home/.config/theirs", "x");
        std::fs::create_dir(session.world.work().join("real")).expect("a directory");
        std::os::unix::fs::symlink("real", session.world.work().join("out")).expect("a link");
        let ended =
            ended(session.command().args(["learn", "-o", "out/guard.json", "--", "bash", "-ec", script]));
        assert_eq!(ended.status, 1, "{script}: {}", ended.stderr);
        assert!(session.world.work().join("real/guard.json").exists(), "{}", ended.stderr);
        assert!(!session.world.home().join(".config/guard.json").exists(), "{script}");
    }
}

#[test]
fn learn_prints_json_for_programs() {
    let session = Session::new(None);
    let script = "cat ~/.ssh/id_rsa > /dev/null; exit 3";
    let ended = ended(session.command().args(["learn", "-q", "--json", "--", "bash", "-c", script]));
    assert_eq!(ended.status, 3, "{}", ended.stderr);
    let json: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!(json["status"], 3);
    let secret = session.world.home().join(".ssh/id_rsa");
    let left = json["leftOut"].as_array().expect("a list");
    assert!(
        left.iter().any(|left| left["path"] == secret.to_str().unwrap() && left["why"] == "holds secrets"),
        "{json}"
    );
    assert!(json["policy"].as_str().is_some_and(|policy| policy.contains("\"allowlist\"")));
}

#[test]
fn a_wrong_target_is_reported_before_anything_runs() {
    let session = Session::new(None);
    session.world.write("wrong.json", "{ \"version\": 1, \"exce\": {} }\n");
    for (file, message) in [("wrong.json", "exce"), ("none/guard.json", "the directory does not exist")] {
        let output = session.world.root().join(file);
        let ended = ended(session.command().args(["learn", "-o"]).arg(output).args(["--", "touch", "ran"]));
        assert_eq!(ended.status, 125, "{}", ended.stderr);
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
        assert!(!session.world.work().join("ran").exists());
    }
}

/// `learn` reads the answer from the terminal, whatever standard input is. An empty answer is no.
#[test]
fn a_yes_on_the_terminal_is_enough() {
    for (keys, status) in [("y\n", 0), ("\n", 1), ("no\n", 1)] {
        let session = session();
        let mut command = session.command();
        command.args(["learn", "-o"]).arg(session.output());
        command.args(["--", "bash", "-c", "cat ~/other/README > /dev/null"]);
        let mut screen = Screen::start(&command);
        screen.expect("[y/N]");
        screen.keys(keys);
        let (ended, text) = screen.end();
        assert_eq!(ended, status, "{text}");
        let policy = session.world.read("guard.json").expect("a policy");
        assert_eq!(policy.contains("~/other/README"), status == 0, "{policy}");
    }
}

/// Control-C ends the command, and `learn` proposes what it has seen by then.
#[test]
fn a_session_that_is_interrupted_is_learned_from() {
    let session = Session::new(None);
    let mut command = session.command();
    command.args(["learn", "-o"]).arg(session.output());
    // A shell goes on after an interrupt while it waits for a command that then ends well: none is waited for.
    command.args(["--", "bash", "-c", "cat ~/other/README; echo read $((2 * 21)); exec sleep 1000"]);
    let mut screen = Screen::start(&command);
    screen.expect("read 42");
    screen.keys("\x03");
    let (ended, text) = screen.end();
    assert_eq!(ended, 128 + 2, "{text}");
    assert!(
        session.world.read("guard.json").is_some_and(|policy| policy.contains("~/other/README")),
        "{text}"
    );
}
