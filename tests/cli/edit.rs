//! `allow` and `deny` change guard.json as little as possible, and only if that helps.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_tests::{Ended, SYSTEM, World, ended};
use serde_json::Value;

const POLICY: &str = r#"{
  "version": 1,
  // nobody is asked
  "exec": { "ask": "off" },
  "permissions": {
    "filesystem": {
      "rules": {
        SYSTEM, // the system
        "@/work/**": "rwx" // the work
      },
      "deny": [
        // keys
        "~/.ssh", // all of them
        "~/x/secret"
      ]
    }
  },
  "agents": {
    "main": {
      "allowlist": [
        { "pattern": "/usr/bin/cat" } // reads
      ]
    }
  }
}
"#;

fn fill(world: &World, text: &str) -> String {
    text.replace("SYSTEM", SYSTEM).replace('@', world.root().to_str().expect("a plain path"))
}

/// Returns a world with that policy in its own state directory.
fn world() -> World {
    let world = World::bare();
    world.write("home/.openclaw/guard.json", fill(&world, POLICY));
    for file in ["home/x/a", "home/x/secret", "home/.ssh/id_rsa"] {
        world.write(file, "text");
    }
    world
}

fn path(world: &World) -> PathBuf {
    world.home().join(".openclaw/guard.json")
}

fn policy(world: &World) -> String {
    world.read("home/.openclaw/guard.json").expect("a policy")
}

fn give(world: &World, words: &[&str]) -> Ended {
    ended(world.command().args(words))
}

fn status(world: &World, words: &[&str]) -> i32 {
    let ended = give(world, words);
    println!("{words:?}: {}\n{}{}", ended.status, ended.stdout, ended.stderr);
    ended.status
}

#[test]
fn a_change_works_and_the_comments_stay() {
    let world = world();
    assert_eq!(world.sh("cat ~/x/a").status, 1);
    let allowed = give(&world, &["allow", "write", "~/x/**"]);
    assert_eq!((allowed.status, allowed.stderr.as_str()), (0, ""), "{}", allowed.stdout);
    let rest = policy(&world)
        .replace("\"rwx\", // the work\n        \"~/x/**\": \"rw-\"\n", "\"rwx\" // the work\n");
    assert_eq!(rest, fill(&world, POLICY), "nothing else has changed");
    assert!(allowed.stdout.contains("\n+        \"~/x/**\": \"rw-\"\n"), "{}", allowed.stdout);
    assert!(allowed.stdout.ends_with("in force, also for running guards, from their next call on\n"));
    assert_eq!(world.sh("cat ~/x/a && echo more > ~/x/b").stdout, "text");
    assert_eq!(world.read("home/x/b").as_deref(), Some("more\n"));
    // A second run changes nothing.
    let text = policy(&world);
    let again = give(&world, &["allow", "read", "~/x/**"]);
    assert!(again.stdout.starts_with("nothing to change: guard.json says so already\n"), "{}", again.stdout);
    assert!(
        again.stdout.contains("guard.json:10:9: permissions.filesystem.rules \"~/x/**\": \"rw-\""),
        "{}",
        again.stdout
    );
    assert_eq!((again.status, policy(&world)), (0, text));
}

#[test]
fn words_are_patterns_as_an_operator_means_them() {
    let world = world();
    symlink(world.home().join("x"), world.work().join("link")).expect("a link");
    let x = world.home().join("x").display().to_string();
    for word in ["~/x", "~/x/", "~/x/**", &x, "../home/x", "link", "./link/../x/", "link/**"] {
        world.write("home/.openclaw/guard.json", fill(&world, POLICY));
        let ended = give(&world, &["allow", "read", word, "--json", "--follow-links"]);
        let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let key = &answer["changes"][0]["key"];
        assert_eq!(key, "permissions.filesystem.rules[\"~/x/**\"]", "{word}: {}", ended.stdout);
        assert_eq!((&answer["changes"][0]["is"], &answer["written"]), (&"r--".into(), &true.into()));
    }
    // A plain path stays the pattern of one file, even if that file does not exist yet.
    world.write("home/.openclaw/guard.json", fill(&world, POLICY));
    for (word, pattern) in [("~/x/a", "~/x/a"), ("new", "@/work/new"), ("~/x/*.txt", "~/x/*.txt")] {
        let ended = give(&world, &["deny", "write", word, "--json", "--dry-run"]);
        let answer: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let key = format!("permissions.filesystem.rules[\"{}\"]", fill(&world, pattern));
        assert_eq!(
            (&answer["changes"][0]["key"], &answer["written"]),
            (&key.into(), &false.into()),
            "{word}"
        );
    }
}

#[test]
fn an_existing_rule_keeps_its_spelling_and_its_other_bits() {
    let world = world();
    let rules = "\"~/x/\": \"--x\", // mine\n        \"@/work/**\"";
    world.write("home/.openclaw/guard.json", fill(&world, &POLICY.replace("\"@/work/**\"", rules)));
    assert_eq!(status(&world, &["allow", "write", "~/x/**"]), 0);
    assert!(policy(&world).contains("\"~/x/\": \"rwx\", // mine\n"), "{}", policy(&world));
    assert_eq!(status(&world, &["deny", "write", "~/x"]), 0);
    assert!(policy(&world).contains("\"~/x/\": \"r-x\", // mine\n"), "{}", policy(&world));
}

#[test]
fn a_program_gets_all_that_its_start_needs() {
    let world = world();
    let tool = world.write("home/tools/hello", "#!/usr/bin/perl\nprint \"hello @ARGV\\n\";\n");
    std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).expect("a mode");
    let tool = tool.display().to_string();
    assert_eq!(world.guarded(&[&tool, "you"]).status, 126);
    assert_eq!(status(&world, &["allow", "exec", &tool]), 0);
    let text = policy(&world);
    assert!(
        text.contains("\"~/tools/hello\": \"r-x\"") && text.contains("{ \"pattern\": \"~/tools/hello\" }"),
        "{text}"
    );
    let ended = world.guarded(&[&tool, "you"]);
    assert_eq!(ended.stdout, "hello you\n", "{}", ended.stderr);
    // Its interpreter may run this script only.
    assert_eq!(world.guarded(&["perl", "-e", "print 1"]).status, 126);
    world.write("work/other.pl", "print 1");
    assert_eq!(world.guarded(&["perl", "other.pl"]).status, 126);
    // `allow run` allows a command with exactly these arguments.
    assert_eq!(status(&world, &["allow", "run", "--", "perl", "-e", "print 1"]), 0);
    assert_eq!(world.guarded(&["perl", "-e", "print 1"]).stdout, "1");
    assert_eq!(world.guarded(&["perl", "-e", "print 2"]).status, 126);
    assert_eq!(world.guarded(&["perl", "-e", "print", "1"]).status, 126);
    // `--agent` allows it for another agent.
    assert_eq!(status(&world, &["--agent", "ci", "allow", "exec", "rev"]), 0);
    assert!(policy(&world).contains("\"ci\": {"), "{}", policy(&world));
    assert_eq!(status(&world, &["check", "--", "rev"]), 1);
    assert_eq!(status(&world, &["--agent", "ci", "check", "--", "rev"]), 0);
}

#[test]
fn a_change_that_would_not_help_is_not_written() {
    let world = world();
    for (words, message) in [
        (&["allow", "read", "~/x/secret"][..], "guard.json:14:9: permissions.filesystem.deny \"~/x/secret\""),
        (&["allow", "read", "~/.ssh/id_rsa"], "guard.json:13:9: permissions.filesystem.deny \"~/.ssh\""),
        (&["allow", "write", "~/.bashrc"], "builtin persistence \"shell\""),
        (&["allow", "read", "~/.openclaw/guard.json"], "builtin deny"),
        (&["allow", "write", "~/.openclaw/.guard.json.new"], "builtin deny"),
        (&["--exec-security", "deny", "allow", "exec", "rev"], "exec.security"),
    ] {
        let ended = give(&world, words);
        assert_eq!((ended.status, ended.stdout.as_str()), (1, ""), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("openclaw-guard: nothing was written: "), "{}", ended.stderr);
        assert!(ended.stderr.contains(message), "{words:?}: {}", ended.stderr);
        assert_eq!(policy(&world), fill(&world, POLICY), "{words:?}");
        let json = give(&world, &[words, &["--json"]].concat());
        let answer: Value = serde_json::from_str(&json.stdout).expect("JSON");
        assert!(answer["written"] == false && answer["kept"]["outcome"] == "deny", "{}", json.stdout);
        assert!(
            answer["kept"]["place"].as_str().is_some_and(|location| location.contains(message)),
            "{}",
            json.stdout
        );
    }
    // The more specific rule takes precedence.
    let rules = "\"~/x/a\": \"---\",\n        \"@/work/**\"";
    world.write("home/.openclaw/guard.json", fill(&world, &POLICY.replace("\"@/work/**\"", rules)));
    let ended = give(&world, &["--agent", "main", "allow", "read", "~/x/?"]);
    assert_eq!(ended.status, 0, "a sample of it is allowed: {}", ended.stderr);
}

#[test]
fn a_denial_is_lifted_on_request() {
    let world = world();
    assert_eq!(status(&world, &["allow", "read", "~/x/secret", "--remove-deny"]), 0);
    let text = policy(&world);
    assert!(text.contains("\"~/.ssh\" // all of them\n") && !text.contains("\"~/x/secret\"\n"), "{text}");
    assert!(text.contains("\"~/x/secret\": \"r--\"") && text.contains("// keys\n"), "{text}");
    assert_eq!(world.sh("cat ~/x/secret").stdout, "text");
}

#[test]
fn a_pattern_that_covers_too_much_needs_force() {
    let world = world();
    for word in ["/", "/**", "~", "~/", "~/**", "~/*", "**", "..", "../home"] {
        let ended = give(&world, &["allow", "write", word]);
        assert_eq!(ended.status, 125, "{word}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("is too wide"), "{word}: {}", ended.stderr);
        assert_eq!(policy(&world), fill(&world, POLICY), "{word}");
    }
    assert_eq!(status(&world, &["allow", "read", "~/**", "--force"]), 0);
    assert!(policy(&world).contains("\"~/**\": \"r--\""));
    for words in
        [&["allow", "read", ""][..], &["allow", "read", "~u/x"], &["allow", "exec", "no-such-program"]]
    {
        let ended = give(&world, words);
        assert_eq!(ended.status, 125, "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("openclaw-guard: "), "{}", ended.stderr);
    }
}

#[test]
fn denials_hold_in_an_allowed_directory() {
    let world = world();
    assert_eq!(status(&world, &["allow", "read", "~/x/**"]), 0);
    world.write("home/x/mail", "text");
    assert_eq!(status(&world, &["deny", "read", "~/x/mail"]), 0);
    assert_eq!(world.sh("cat ~/x/mail").status, 1);
    // The longest pattern counts, and this one is shorter.
    let ended = give(&world, &["deny", "read", "~/x/a"]);
    assert!(
        ended.status == 1 && ended.stderr.contains("the longest pattern, so it counts"),
        "{}",
        ended.stderr
    );
    assert_eq!(status(&world, &["deny", "exec", "cat"]), 0);
    assert!(policy(&world).contains("cat\": \"r--\""), "{}", policy(&world));
    assert_eq!(world.sh("cat ~/x/b").status, 126);
    assert_eq!(status(&world, &["deny", "all", "**/.env", "~/x"]), 0);
    assert!(
        policy(&world).contains("\"~/x/secret\",\n        \"**/.env\",\n        \"~/x/**\"\n"),
        "{}",
        policy(&world)
    );
    let again = give(&world, &["deny", "all", "**/.env"]);
    assert!(again.stdout.starts_with("nothing to change"), "{}", again.stdout);
    // A later rule may grant what nothing grants yet, so the denial is written.
    assert_eq!(status(&world, &["deny", "exec", "rev"]), 0);
    assert!(policy(&world).contains("rev\": \"r--\""), "{}", policy(&world));
}

#[test]
fn without_a_policy_the_next_step_is_named() {
    let world = World::bare();
    let ended = give(&world, &["allow", "write", "~/x/**"]);
    assert_eq!(ended.status, 125);
    assert!(
        ended.stderr.contains("guard.json: create one first (`openclaw-guard init`)"),
        "{}",
        ended.stderr
    );
    world
        .write("home/.openclaw/guard.json", "{\n  \"version\": 1,\n  \"exec\": { \"securty\": \"full\" }\n}");
    let ended = give(&world, &["allow", "write", "~/x/**"]);
    assert!(ended.stderr.contains("guard.json:3:13: exec.securty: unknown key"), "{}", ended.stderr);
    assert_eq!(ended.status, 125);
}

#[test]
fn mode_and_link_stay() {
    let world = world();
    let real = world.root().join("dotfiles.json");
    std::fs::rename(path(&world), &real).expect("a move");
    std::fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).expect("a mode");
    symlink(&real, path(&world)).expect("a link");
    assert_eq!(status(&world, &["allow", "read", "~/x/**"]), 0);
    assert_eq!(std::fs::read_link(path(&world)).expect("a link"), real);
    assert_eq!(std::fs::metadata(&real).expect("a policy").permissions().mode() & 0o777, 0o640);
    assert!(policy(&world).contains("\"~/x/**\": \"r--\""));
}

/// The tree can write neither its policy nor the new file that would replace it, so `allow` fails inside it.
#[test]
fn the_tree_cannot_widen_its_own_policy() {
    let world = World::bare();
    let open = r#"{ "version": 1, "exec": { "security": "full", "ask": "off" }, "permissions": { "filesystem": { "default": "rwx" }, "persistence": false } }"#;
    let policy = world.write("work/mine.json", open);
    let guard = guard_tests::guard();
    let line = format!(
        "{} --policy mine.json allow write ~/x/; echo $?; echo x > .mine.json.new; echo {{}} > mine.json; ls -A",
        guard.display()
    );
    let ended = ended(world.command().arg("--policy").arg(&policy).args(["--", "sh", "-c", &line]));
    assert!(ended.stdout.starts_with("125\n"), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(world.read("work/mine.json").as_deref(), Some(open));
    assert!(!world.work().join(".mine.json.new").exists(), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("denied write") && ended.stderr.contains(".mine.json.new"),
        "{}",
        ended.stderr
    );
}

/// A rule is for a real path. Where a guarded program may have made a link on the way to it, the operator says so.
#[test]
fn a_link_of_the_trees_is_followed_only_if_the_operator_says_so() {
    let world = world();
    std::fs::create_dir(world.root().join("far")).expect("a directory");
    symlink("../far", world.work().join("out")).expect("a link");
    symlink("../work/out", world.home().join("own")).expect("a link");
    let before = policy(&world);
    let far = world.root().join("far").display().to_string();
    for (action, path) in [("write", "out/"), ("read", "out/x"), ("write", "~/own/x/**")] {
        let given = give(&world, &["allow", action, path]);
        assert_eq!((given.status, policy(&world)), (125, before.clone()), "{}", given.stderr);
        for part in [&*far, "work/out, which a guarded program may have made", "--follow-links"] {
            assert!(given.stderr.contains(part), "{part}: {}", given.stderr);
        }
    }
    assert_eq!(give(&world, &["allow", "write", "out/", "--dry-run"]).status, 0);
    assert_eq!(give(&world, &["deny", "write", "out/"]).status, 0, "to deny more gives the tree nothing");
    std::fs::write(path(&world), &before).expect("a policy");
    // A link of the operator's, where no guarded program writes.
    symlink("x", world.home().join("y")).expect("a link");
    assert_eq!(give(&world, &["allow", "write", "~/y/"]).status, 0);
    let given = give(&world, &["allow", "write", "out/", "--follow-links"]);
    assert_eq!(given.status, 0, "{}", given.stderr);
    assert!(policy(&world).contains(&format!("{far}/**")), "{}", policy(&world));
}

/// What the guard judges is what it writes the rule for, while a program exchanges a directory and a link.
#[test]
fn a_link_that_takes_turns_with_a_directory_is_not_followed_unseen() {
    let world = world();
    std::fs::create_dir(world.root().join("far")).expect("a directory");
    std::fs::create_dir(world.work().join("out")).expect("a directory");
    symlink("../far", world.work().join("other")).expect("a link");
    let before = policy(&world);
    let far = world.root().join("far").display().to_string();
    let is_over = AtomicBool::new(false);
    let (mut followed, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        // Also where an assertion fails.
        let _end = End(&is_over);
        scope.spawn(|| {
            let [one, two] = ["out", "other"].map(|name| world.work().join(name));
            while !is_over.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &one, rustix::fs::CWD, &two, flags)
                    .expect("to exchange");
                std::thread::yield_now();
            }
        });
        for _ in 0..guard_tests::rounds(60, 2000) {
            let given = give(&world, &["allow", "write", "out/x"]);
            let text = policy(&world);
            assert!(!text.contains(&far), "{}\n{text}", given.stderr);
            followed += usize::from(given.status == 0);
            refused += usize::from(given.stderr.contains("which a guarded program may have made"));
            std::fs::write(path(&world), &before).expect("a policy");
        }
    });
    println!("{followed} times the directory, {refused} refused");
}

/// Ends a thread that looks at this.
struct End<'f>(&'f AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn two_changes_at_once_both_count() {
    let world = world();
    let start = |pattern: &str| {
        let mut command = world.command();
        command.args(["allow", "read", pattern]).stdout(std::process::Stdio::null());
        command.spawn().expect("a child")
    };
    let patterns: Vec<String> = (0..6).map(|i| format!("~/d{i}/**")).collect();
    let children: Vec<_> = patterns.iter().map(|pattern| start(pattern)).collect();
    for mut child in children {
        assert!(child.wait().expect("a child").success());
    }
    let text = policy(&world);
    assert!(patterns.iter().all(|pattern| text.contains(&format!("\"{pattern}\": \"r--\""))), "{text}");
}

#[test]
fn a_running_guard_applies_the_change() {
    let world = world();
    let guard = guard_tests::guard();
    let line = "cat ~/x/a; while test ! -e done; do sleep 0.05; done; i=0; until cat ~/x/a 2>/dev/null; do sleep 0.05; done";
    let mut command = world.command();
    // The allowlist has no entry for sleep.
    assert_eq!(status(&world, &["allow", "exec", "sleep"]), 0);
    command.args(["-q", "--", "sh", "-c", line]).stdout(std::process::Stdio::piped());
    let child = command.spawn().expect("a child");
    assert!(guard.exists());
    assert_eq!(status(&world, &["allow", "read", "~/x/**"]), 0);
    world.write("work/done", "");
    let output = child.wait_with_output().expect("a child");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("text"));
}
