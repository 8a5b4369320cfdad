//! `extends`, the files of projects, and `openclaw-guard trust`: what each command says of them.

use guard_tests::{Ended, World, ended};
use serde_json::{Value, json};

const FILE: &str = "work/.openclaw/guard.json";
const PROJECT: &str = r#"{"version": 1, "permissions": {"filesystem": {
    "rules": {"~/data/**": "r--", "${workspace}/vendor/**": "r--"}, "deny": ["**/*.key"]}}}"#;

fn world() -> World {
    let world = World::bare();
    world.write("home/.openclaw/guard.json", r#"{"version": 1, "extends": "coding"}"#);
    world.write("home/data/x", "data");
    world.write(FILE, PROJECT);
    world
}

fn guard(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().args(arguments))
}

fn parsed(ran: &Ended) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", ran.stdout, ran.stderr))
}

#[test]
fn trust_shows_what_counts_from_then_on() {
    let world = world();
    assert_ne!(world.sh("cat ~/data/x").status, 0);
    let shown = guard(&world, &["trust", "--json"]);
    let file = world.root().join(FILE).display().to_string();
    let grant = json!({
        "key": format!("{file}: permissions.filesystem.rules[\"~/data/**\"]"),
        "pattern": format!("{}/data/**", world.home().display()),
        "bits": "r",
    });
    let value = parsed(&shown);
    assert_eq!((&value["path"], &value["grants"]), (&json!(file), &json!([grant])));
    assert_eq!(world.sh("cat ~/data/x").stdout, "data");
    assert_ne!(world.sh("echo > ~/data/x").status, 0);
    let listed = parsed(&guard(&world, &["trust", "--list", "--json"]));
    assert_eq!(listed, json!([{ "path": file, "sha256": value["sha256"], "state": "trusted" }]));
    world.write(FILE, PROJECT.replace("key", "pem"));
    assert!(guard(&world, &["trust", "--list"]).stdout.ends_with("  changed\n"));
    std::fs::remove_file(world.root().join(FILE)).expect("the file");
    assert!(guard(&world, &["trust", "--list"]).stdout.ends_with("  missing\n"));
    let none = guard(&world, &["trust"]);
    assert!(
        none.status == 125 && none.stderr.contains("there is no .openclaw/guard.json in"),
        "{}",
        none.stderr
    );
    let forgotten = guard(&world, &["trust", "--forget", &file, "--json"]);
    assert_eq!((forgotten.status, parsed(&forgotten)), (0, json!({ "path": file, "forgotten": true })));
    assert_eq!(guard(&world, &["trust", "--forget", &file]).status, 1);
    assert_eq!(guard(&world, &["trust", "--list"]).stdout, "");
}

#[test]
fn a_lost_record_trusts_nothing_and_is_named() {
    let world = world();
    world.write("home/.openclaw/guard/trusted.json", "{");
    let ran = world.sh("cat ~/data/x");
    assert!(
        ran.status != 0 && ran.stderr.contains("no project file is trusted until it is"),
        "{}",
        ran.stderr
    );
    assert_eq!(guard(&world, &["trust"]).status, 125);
    assert_eq!(world.read("home/.openclaw/guard/trusted.json").as_deref(), Some("{"));
}

#[test]
fn every_command_names_the_layer() {
    let world = world();
    let file = world.root().join(FILE).display().to_string();
    let by_template = "template coding: permissions.filesystem.rules";
    let by_project = format!("{file}: permissions.filesystem.");
    let checked = guard(&world, &["check", "--write", "main.c"]);
    assert!(checked.status == 0 && checked.stdout.contains(by_template), "{}", checked.stdout);
    let checked = parsed(&guard(&world, &["check", "--json", "--write", "vendor/x"]));
    assert_eq!((&checked["outcome"], &checked["because"]["source"]), (&json!("deny"), &json!("project")));
    let shown = guard(&world, &["policy", "show", "--effective"]).stdout;
    assert!(shown.contains("(template, template coding: exec.security)"), "{shown}");
    assert!(shown.contains(&format!("---  **/*.key  (project, {by_project}deny[\"**/*.key\"])")), "{shown}");
    assert_ne!(world.sh("echo > a.key").status, 0);
    let why = guard(&world, &["why", "--last"]).stdout;
    assert!(why.contains(&by_project) && why.contains(&format!("change {file} yourself")), "{why}");
    assert_ne!(world.sh("cat ~/.ssh/id_rsa").status, 0);
    // The file's own rule counts before the template's, and `allow` writes it there.
    assert_ne!(world.sh("echo x > ~/data/y").status, 0);
    let allowed = guard(&world, &["allow", "write", "~/data/y"]);
    assert_eq!(allowed.status, 1, "the project takes that away: {}", allowed.stdout);
    let allowed = guard(&world, &["allow", "write", "~/other/y"]);
    assert_eq!(allowed.status, 0, "{}", allowed.stderr);
    let text = world.read("home/.openclaw/guard.json").expect("a policy");
    assert!(text.contains("\"extends\": \"coding\"") && text.contains("~/other/y"), "{text}");
    let learned = guard(&world, &["learn", "-q", "--", "true"]);
    assert_eq!(learned.status, 0, "{}", learned.stderr);
    let doctor = guard(&world, &["doctor"]).stdout;
    assert!(doctor.contains("template coding: exec.ask"), "{doctor}");
}

#[test]
fn an_unknown_template_names_file_line_and_key() {
    let world = World::bare();
    let file =
        world.write("home/.openclaw/guard.json", "{\n  \"version\": 1,\n  \"extends\": \"codding\"\n}");
    for arguments in [&["--", "true"][..], &["policy", "validate"], &["check", "--read", "/etc/passwd"]] {
        let ran = guard(&world, arguments);
        let place =
            format!("{}:3:14: extends: \"codding\" is not one of coding, claude-code, ", file.display());
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.status != 0 && said.contains(&place), "{said}");
    }
}
