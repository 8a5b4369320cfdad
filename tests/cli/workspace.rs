//! One policy for every project: `${workspace}` in each command that reads or writes a policy.

use std::fs;
use std::process::Command;

use guard_tests::{Ended, World, ended};
use serde_json::Value;

const POLICY: &str = r#"{
  "version": 1,
  "exec": { "security": "full", "ask": "off" },
  "permissions": {
    "filesystem": {
      "rules": {
        SYSTEM,
        "${workspace}/**": "rwx", // every project
        "${workspace}/vendor/**": "r--",
        "${above}": "r--"
      },
      "deny": ["${workspace}/private"]
    }
  },
  "examples": [
    { "op": "write", "path": "${workspace}/x", "outcome": "allow" },
    { "op": "write", "path": "${workspace}/vendor/x", "outcome": "deny" },
    { "op": "read", "path": "${workspace}/private", "outcome": "deny" }
  ]
}
"#;

/// Two projects in the home: `one`, a repository, and `two`.
fn world() -> World {
    let world = World::bare();
    world.write("home/.openclaw/guard.json", POLICY.replace("SYSTEM", guard_tests::SYSTEM));
    projects(&world);
    world
}

fn projects(world: &World) {
    for name in ["one/.git", "one/src", "one/vendor", "two"] {
        fs::create_dir_all(world.home().join(name)).expect("directories");
    }
}

fn command(world: &World, directory: &str, words: &[&str]) -> Command {
    let mut command = world.command();
    command.current_dir(world.home().join(directory)).args(words);
    command
}

fn give(world: &World, directory: &str, words: &[&str]) -> Ended {
    ended(&mut command(world, directory, words))
}

fn policy(world: &World) -> String {
    world.read("home/.openclaw/guard.json").expect("a policy")
}

#[test]
fn init_in_a_second_project_has_nothing_to_do() {
    let world = World::bare();
    projects(&world);
    let first = give(&world, "one/src", &["init"]);
    assert_eq!(first.status, 0, "{}", first.stderr);
    let text = policy(&world);
    let second = give(&world, "two", &["init"]);
    assert_eq!((second.status, second.stderr.as_str()), (0, ""));
    let line = format!(
        "nothing to do: {} serves every project, here {}\n",
        world.home().join(".openclaw/guard.json").display(),
        world.home().join("two").display()
    );
    assert!(second.stdout.starts_with(&line), "{}", second.stdout);
    assert_eq!(give(&world, "two", &["-q", "init"]).stdout, "");
    let home = give(&world, "", &["init"]);
    assert!(home.status == 0 && home.stdout.contains("but this directory is not one"), "{}", home.stdout);
    // Who asks for another one is not told that nothing is to be done.
    for words in [&["init", "--template", "scratch"][..], &["init", "--workspace", "."]] {
        let refused = give(&world, "two", words);
        assert!(refused.status == 125 && refused.stderr.contains("exists already: "), "{}", refused.stderr);
    }
    assert_eq!(policy(&world), text);
    // Both are worked in, each by itself.
    for (directory, own, other) in [("one/src", "../x", "../../two/x"), ("two", "x", "../one/y")] {
        let script = format!("echo x > {own}; ls .. > list; echo x > {other}");
        let ran = give(&world, directory, &["--", "sh", "-c", &script]);
        let at = |name: &str| world.home().join(directory).join(name).exists();
        assert!(at(own) && at("list") && !at(other), "{directory}: {}", ran.stderr);
    }
    // A policy for one project says so.
    let forced = give(&world, "one", &["init", "--force", "--workspace", "."]);
    assert!(forced.stdout.contains(&format!("  in     {}\n", world.home().join("one").display())));
    assert!(policy(&world).contains("\"~/one/**\": \"rwx\"") && !policy(&world).contains("${"));
    let refused = give(&world, "two", &["init"]);
    assert!(
        refused.status == 125 && refused.stderr.contains("exists already, for the directories that it names"),
        "{}",
        refused.stderr
    );
    // One with a mistake serves nobody.
    world.write("home/.openclaw/guard.json", text.replace("\"version\": 1,", "\"version\": 1, \"x\": 1,"));
    assert_eq!(give(&world, "two", &["init"]).status, 125);
}

#[test]
fn a_template_without_a_workspace_has_none() {
    let world = World::bare();
    assert_eq!(give(&world, "", &["init", "--template", "read-only"]).status, 0);
    assert_eq!(give(&world, "", &["init"]).status, 125);
    assert_eq!(
        give(&world, "", &["init", "--template", "openclaw", "--force", "--workspace", "../work"]).status,
        0
    );
    assert!(!policy(&world).contains("\"${"), "OpenClaw's agents choose where they start");
}

#[test]
fn every_command_says_what_it_is_here() {
    let world = world();
    let (one, two) = (world.home().join("one"), world.home().join("two"));
    let check = |directory: &str, path: &str| give(&world, directory, &["check", "--write", path]);
    assert_eq!(check("one/src", "../x").status, 0);
    assert_eq!(check("two", "../one/x").status, 1);
    assert_eq!(check("one/src", "../vendor/x").status, 1);
    let denied = check("one/src", "../private/x");
    let here = format!("(here {}/private)", one.display());
    assert!(denied.status == 1 && denied.stdout.contains(&here), "{}", denied.stdout);
    // By its name, and as it is written in a question.
    let mut batch = command(&world, "one/src", &["check", "--batch"]);
    let file = world.write("batch", r#"{"op": "write", "path": "${workspace}/x"}"#);
    let answer = ended(batch.stdin(fs::File::open(file).expect("a file")));
    assert!(
        answer.stdout.contains("\"allow\"") && answer.stdout.contains("${workspace}/**"),
        "{}",
        answer.stdout
    );
    for (directory, top) in [("one/src", &one), ("two", &two)] {
        let shown = give(&world, directory, &["policy", "show", "--effective"]).stdout;
        let value = shown.lines().find(|line| line.contains("  ${workspace} ")).unwrap_or_default();
        assert!(value.contains(&*top.to_string_lossy()), "{shown}");
        assert!(
            shown.contains(&format!(
                "rwx  {}/**  (global, permissions.filesystem.rules[\"${{workspace}}/**\"]",
                top.display()
            )),
            "{shown}"
        );
        assert!(shown.contains(&format!("r--  {}  (global", world.home().display())), "{shown}");
        let tiers = give(&world, directory, &["policy", "show", "--tiers"]);
        assert!(
            tiers.status == 0 && tiers.stdout.contains(&format!("{}", top.display())),
            "{}",
            tiers.stdout
        );
        let tested = give(&world, directory, &["policy", "test"]);
        assert_eq!(
            (tested.status, tested.stdout.as_str()),
            (0, "3 of 3 examples hold\n"),
            "{}",
            tested.stderr
        );
        assert_eq!(give(&world, directory, &["policy", "validate", "--strict"]).status, 0);
    }
    // Where nothing may be one, the examples are still about one.
    let home = give(&world, "", &["policy", "show", "--effective"]).stdout;
    assert!(home.contains("${workspace}") && home.contains("nothing"), "{home}");
    assert_eq!(give(&world, "", &["policy", "test"]).status, 0);
    assert_eq!(give(&world, "", &["check", "--write", "x"]).status, 1);
    // why names the rule as it is written, with its place in the file.
    give(&world, "one/src", &["--", "sh", "-c", "echo x > ../vendor/x"]);
    let why = give(&world, "one/src", &["why", "--last"]).stdout;
    assert!(
        why.contains("guard.json:")
            && why.contains("permissions.filesystem.rules[\"${workspace}/vendor/**\"]"),
        "{why}"
    );
}

#[test]
fn allow_and_deny_keep_the_placeholders() {
    let world = world();
    let edit = |directory: &str, words: &[&str]| {
        let edited = give(&world, directory, words);
        assert_eq!(edited.status, 0, "{words:?}: {}{}", edited.stdout, edited.stderr);
        edited
    };
    // The same files by their path: the rule that is there is changed, and says that it is for all.
    let changed = edit("one/src", &["allow", "write", "../vendor"]);
    assert!(
        policy(&world).contains("\"${workspace}/vendor/**\": \"rw-\"") && !policy(&world).contains("~/one")
    );
    assert!(changed.stderr.contains("holds in every project"), "{}", changed.stderr);
    assert_eq!(give(&world, "one", &["check", "--write", "vendor/x"]).status, 0);
    // A file of this project alone.
    let own = edit("one/src", &["deny", "write", "../own.txt"]);
    assert!(
        policy(&world).contains("\"~/one/own.txt\": \"r-x\"") && !own.stderr.contains("every project"),
        "{}",
        own.stdout
    );
    // The placeholder, as it is typed.
    edit("one", &["deny", "write", "${workspace}/vendor/"]);
    edit("one", &["deny", "all", "${workspace}/keys/*"]);
    edit("two", &["allow", "write", "--remove-deny", "${workspace}/private"]);
    let text = policy(&world);
    for kept in [
        "\"${workspace}/**\": \"rwx\", // every project",
        "\"${workspace}/vendor/**\": \"r--\"",
        "\"${above}\": \"r--\"",
        "\"${workspace}/keys/*\"",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    assert!(!text.contains("deny\": [\"${workspace}/private\""), "{text}");
    let json: Value = serde_json::from_str(
        &give(&world, "one", &["allow", "read", "--json", "--dry-run", "${workspace}/keys2"]).stdout,
    )
    .expect("JSON");
    assert!(json["written"] == false, "{json}");
    // Where there is no workspace, nothing is known of one.
    let none = give(&world, "", &["allow", "write", "${workspace}/x"]);
    assert!(none.status == 125 && none.stderr.contains("no workspace here"), "{}", none.stderr);
    let wrong = give(&world, "one", &["allow", "write", "${workspace}x/y"]);
    assert!(wrong.status != 0 || !policy(&world).contains("\"${workspace}x"), "{}", wrong.stderr);
}

#[test]
fn learn_adds_what_the_placeholders_do_not_cover() {
    let world = world();
    let file = world.home().join(".openclaw/guard.json");
    let target = file.to_str().expect("text");
    world.write("home/other", "");
    let learned = give(
        &world,
        "one/src",
        &["learn", "--yes", "-o", target, "--", "sh", "-c", "echo x > ../y; cat ~/other"],
    );
    assert_eq!(learned.status, 0, "{}{}", learned.stdout, learned.stderr);
    let text = policy(&world);
    assert!(
        text.contains("\"${workspace}/**\": \"rwx\", // every project") && text.contains("\"~/other\""),
        "{text}"
    );
    assert!(!text.contains("\"~/one"), "the workspace was granted already: {text}");
}

#[test]
fn a_problem_is_reported_where_it_is() {
    let world = World::bare();
    for (pattern, why) in [
        ("${workspace}x/**", "expanded only alone or before /"),
        ("${home}/x", "the only placeholders are ${workspace}"),
        ("${workspace}/../x", "real paths have no"),
        ("${above}/x", "the only placeholders"),
    ] {
        let text = format!(
            "{{\"version\": 1,\n\"permissions\": {{\"filesystem\": {{\"rules\": {{\"{pattern}\": \"r--\"}}}}}}}}"
        );
        world.write("home/.openclaw/guard.json", text);
        let refused = give(&world, "", &["policy", "validate"]);
        let place = format!("guard.json:2:42: permissions.filesystem.rules[\"{pattern}\"]: ");
        assert!(
            refused.status == 1 && refused.stdout.contains(&place) && refused.stdout.contains(why),
            "{}",
            refused.stdout
        );
    }
}
