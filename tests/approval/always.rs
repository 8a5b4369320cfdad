//! `allow-always` ends the questions: in this guard, in others, and after a restart.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use guard_tests::{World, ended, has};
use serde_json::{Value, json};

use crate::shell::{Shell, events};

/// Returns a world that asks for every program except cat and cp, and for files outside of the workspace.
fn world() -> World {
    let world = World::bare()
        .policy(&format!(
            r#"{{"version": 1, "exec": {{"timeoutMs": 60000}}, "permissions": {{"filesystem": {{
                "rules": {{SYSTEM, "@/work/**": "rw-", "@/kept/**": "---", "@/bin/**": "r-?"}}, "deny": ["@/secret/**"]}}}},
                "agents": {{"main": {{"allowlist": [{{"pattern": "{}"}}, {{"pattern": "{}"}}]}}}}}}"#,
            program("cat"),
            program("cp")
        ))
        .attended();
    for name in ["data/a", "data/b", "data/deep/c", "other/d", "kept/e", "secret/f"] {
        world.write(name, format!("{name}\n"));
    }
    world
}

/// Returns a program's real path, as allowlist entries name it.
fn program(name: &str) -> String {
    guard_tests::program(name).canonicalize().expect("a real path").to_str().expect("text").to_owned()
}

fn own(world: &World) -> Value {
    let text = world.read("home/.openclaw/guard/approvals.json").expect("a store");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs a line that asks a question, answers it, and returns the line's output and the question.
fn answered(world: &World, shell: &mut Shell, line: &str, decision: &str) -> (String, Value) {
    shell.begin(line);
    let asked = world.answer(decision);
    (shell.end(), asked)
}

#[test]
fn a_program_is_not_asked_for_again() {
    let world = world();
    let uname = program("uname");
    // Both run before anything is saved.
    let (mut one, mut other) = (Shell::start(&world), Shell::start(&world));
    let (output, asked) = answered(&world, &mut one, "uname -s", "allow-always");
    assert_eq!(output, "Linux\n");
    let saves = &asked["always"]["saves"];
    assert_eq!((saves.as_array().map(Vec::len), saves[0]["pattern"].as_str()), (Some(1), Some(&*uname)));
    assert_eq!(asked["always"]["directory"], Value::Null);
    let entry = own(&world)["agents"]["main"]["allowlist"][0].clone();
    assert_eq!(
        [&entry["pattern"], &entry["argPattern"], &entry["source"]],
        [&json!(uname), &saves[0]["argPattern"], &json!("allow-always")]
    );
    assert!(!world.root().join("home/.openclaw/exec-approvals.json").exists());

    // It applies to the next call of every running guard, and to a new guard.
    assert_eq!(other.run("uname -s"), "Linux\n");
    assert_eq!(one.run("uname -s"), "Linux\n");
    assert_eq!(world.guarded(&["uname", "-s"]).stdout, "Linux\n");
    assert_eq!((events(&world, "requested"), events(&world, "granted")), (1, 0));
    // No guard reports a reload: the operator has just answered.
    let errors = world.read("stderr").expect("a file");
    assert!(!errors.contains("was read again"), "{errors}");
    let reasons: Vec<Value> = world.audit().into_iter().map(|line| line["because"]["path"].clone()).collect();
    assert!(reasons.contains(&json!("saved.agents.main.allowlist[0]")), "{reasons:?}");

    // Other arguments or another directory make another question.
    for line in ["uname -r", "cd /; uname -s"] {
        let (output, _) = answered(&world, &mut other, line, "deny");
        assert_eq!(output, "");
    }
    assert_eq!(events(&world, "requested"), 3);
}

/// Other contents would run unasked after one answer.
#[test]
fn a_program_that_the_tree_may_rewrite_is_not_saved() {
    let world = world().policy_text(|text| text.replace(r#"/work/**": "rw-""#, r#"/work/**": "rwx""#));
    for (name, text) in [("tool.sh", "#!/bin/sh\necho ran\n"), ("prog.tcl", "puts ran\n")] {
        world.write(format!("work/{name}"), text);
    }
    fs::copy(program("uname"), world.work().join("tool")).expect("a program");
    for name in ["tool", "tool.sh"] {
        let path = world.work().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("to make it a program");
    }
    let mut shell = Shell::start(&world);
    for line in ["./tool -s", "./tool.sh", "vim -S prog.tcl"] {
        if line.starts_with("vim") && !has(&["vim"]) {
            continue;
        }
        let (_, asked) = answered(&world, &mut shell, line, "deny");
        assert!(asked["always"]["never"].is_string(), "{line}: {}", asked["always"]);
    }
}

/// What the entry was for is no longer there.
#[test]
fn a_yes_to_write_a_program_ends_its_always() {
    let world = world().policy_text(|text| text.replace(r#"/bin/**": "r-?""#, r#"/bin/**": "r??""#));
    let tool = world.write("bin/tool", "#!/bin/sh\necho fine\n");
    crate::world::executable(&tool);
    let mut shell = Shell::start(&world);
    let line = tool.display().to_string();
    assert_eq!(answered(&world, &mut shell, &line, "allow-always").0, "fine\n");
    assert_eq!(shell.run(&line), "fine\n");
    world.write("work/evil", "#!/bin/sh\necho evil\n");
    assert_eq!(answered(&world, &mut shell, &format!("cat evil > {line}"), "allow-once").0, "");
    let (output, asked) = answered(&world, &mut shell, &line, "deny");
    assert_eq!(output, "");
    assert!(asked["always"]["never"].is_string(), "{}", asked["always"]);
}

/// What a program is given may be a program to it, unless it is known to read data only.
#[test]
fn a_program_that_may_run_a_file_of_the_tree_is_not_saved() {
    let world = world();
    let tool = world.write("bin/tool", fs::read("/bin/cat").expect("cat"));
    crate::world::executable(&tool);
    world.write("work/x", "x\n");
    // Links of the operator's: to a file of the tree's, and through a link that the tree may exchange.
    for (text, name) in [
        ("../work/x", "data/to"),
        ("../work/way", "data/through"),
        ("../data/a", "work/way"),
        ("a", "data/own"),
    ] {
        std::os::unix::fs::symlink(text, world.root().join(name)).expect("a link");
    }
    let mut shell = Shell::start(&world);
    let why = "the tree may write a file among its arguments, which may be a program to it";
    for (line, never) in [
        (format!("{} x", tool.display()), Some(why)),
        (format!("{} /dev/fd/../cwd/x", tool.display()), Some(why)),
        (format!("{} /proc/$$/cwd/x", tool.display()), Some(why)),
        (format!("{} ../data/to", tool.display()), Some(why)),
        (format!("{} ../data/through", tool.display()), Some(why)),
        (format!("{} ../data/own", tool.display()), None),
        (format!("{} ../data/a", tool.display()), None),
        ("head -n 1 x".to_owned(), None),
        ("wc x".to_owned(), None),
    ] {
        let (_, asked) = answered(&world, &mut shell, &line, "deny");
        assert_eq!(asked["always"]["never"].as_str(), never, "{line}: {asked}");
    }
}

#[test]
fn an_entry_goes_into_openclaws_store_where_there_is_one() {
    let world = world();
    let store = world.write("home/.openclaw/exec-approvals.json", r#"{"version": 1, "theirs": [1]}"#);
    let mut shell = Shell::start(&world);
    let (output, _) = answered(&world, &mut shell, "uname -s", "allow-always");
    assert_eq!(output, "Linux\n");
    let saved: Value = serde_json::from_str(&fs::read_to_string(store).unwrap()).unwrap();
    assert_eq!(saved["agents"]["main"]["allowlist"][0]["pattern"], json!(program("uname")));
    assert_eq!(saved["theirs"], json!([1]));
    assert_eq!(world.read("home/.openclaw/guard/approvals.json"), None);
    assert_eq!(shell.run("uname -s"), "Linux\n");
    assert_eq!(world.guarded(&["uname", "-s"]).stdout, "Linux\n");
    // OpenClaw's store has no rules for files, so this one goes to the guard's own.
    let read = format!("cat {}/data/a", world.root().display());
    assert_eq!(answered(&world, &mut shell, &read, "allow-always").0, "data/a\n");
    assert_eq!(own(&world)["agents"]["main"].get("allowlist"), None);
    assert_eq!(events(&world, "requested"), 2);
}

#[test]
fn a_script_is_saved_with_entry_and_bit() {
    let world = world();
    let script = world.write("bin/greet", "#!/bin/sh\necho ran \"$@\"\n").display().to_string();
    crate::world::executable(script.as_ref());
    let mut shell = Shell::start(&world);
    let line = format!("{script} 1");
    let (output, asked) = answered(&world, &mut shell, &line, "allow-always");
    assert_eq!(output, "ran 1\n");
    let saves = &asked["always"]["saves"];
    let shape = [&saves[0]["pattern"], &saves[1]["pattern"], &saves[1]["bits"], &saves[2]];
    assert_eq!(shape, [&json!(script), &json!(script), &json!("x"), &Value::Null]);
    assert_eq!(shell.run(&line), "ran 1\n");
    assert_eq!(world.guarded(&[&*script, "1"]).stdout, "ran 1\n");
    assert_eq!(events(&world, "requested"), 1);
    // The guard saves no interpreter, and so no script that needs one.
    let python = program("python3");
    let code = world.write("bin/count", format!("#!{python}\nprint('ran')\n"));
    crate::world::executable(&code);
    shell.begin(&code.display().to_string());
    let asked = world.wait_for(1).remove(0);
    let why = asked["always"]["never"].as_str();
    assert_eq!(why, Some("it runs code from a file that may change"), "{asked}");
    assert_eq!(world.resolve(&asked, "allow-always").status, 1);
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    assert_eq!(shell.end(), "");
}

#[test]
fn a_file_is_not_asked_for_again() {
    let world = world();
    let root = world.root().display().to_string();
    let (mut one, mut other) = (Shell::start(&world), Shell::start(&world));
    let (output, asked) = answered(&world, &mut one, &format!("cat {root}/data/a"), "allow-always");
    assert_eq!(output, "data/a\n");
    let rule = |pattern: &str, bits: &str| {
        let pattern = format!("{root}{pattern}");
        json!([{ "pattern": pattern, "bits": bits, "text": format!("\"{pattern}\" {bits}") }])
    };
    let expected = json!({ "saves": rule("/data/a", "r"), "directory": rule("/data/**", "r") });
    assert_eq!(asked["always"], expected);
    let rules = || own(&world)["agents"]["main"]["permissions"]["filesystem"]["rules"].clone();
    assert_eq!(rules(), json!({ format!("{root}/data/a"): "r" }));
    // The rule holds for every program and guard, also for a new guard. It grants only `r`, for this file.
    assert_eq!(other.run(&format!("cp {root}/data/a copy; cat copy")), "data/a\n");
    assert_eq!(world.guarded(&["cat", &format!("{root}/data/a")]).stdout, "data/a\n");
    assert_eq!(events(&world, "requested"), 1);
    assert_eq!(answered(&world, &mut other, &format!("cat {root}/data/b"), "deny").0, "");
    assert_eq!(answered(&world, &mut one, &format!("echo x > {root}/data/a; echo $?"), "deny").0, "1\n");

    let (output, _) =
        answered(&world, &mut one, &format!("cat {root}/data/deep/c"), "allow-always-directory");
    assert_eq!(output, "data/deep/c\n");
    let text = rules();
    assert_eq!(text, json!({ format!("{root}/data/a"): "r", format!("{root}/data/deep/**"): "r" }));
    world.write("data/deep/new", "new\n");
    assert_eq!(other.run(&format!("cat {root}/data/deep/new")), "new\n");
    // Denied files stay denied whatever is saved. Without the saved rule the guard asks again.
    let all = json!({ format!("{root}/**"): "rwx" });
    let store =
        json!({ "version": 1, "agents": { "main": { "permissions": { "filesystem": { "rules": all } } } } });
    world.write("home/.openclaw/guard/approvals.json", store.to_string());
    let tried = format!(
        "cat {root}/other/d; cat {root}/kept/e; cat {root}/secret/f; cat {root}/home/.openclaw/guard/approvals.json"
    );
    assert_eq!(world.guarded(&["sh", "-c", &tried]).stdout, "other/d\n");
    assert_eq!(one.run(&format!("cat {root}/other/d")), "other/d\n");
    fs::remove_file(world.root().join("home/.openclaw/guard/approvals.json")).unwrap();
    let mut new = Shell::start(&world);
    assert_eq!(answered(&world, &mut new, &format!("cat {root}/data/deep/c"), "deny").0, "");
}

#[test]
fn a_file_is_not_saved_where_it_cannot_be() {
    let world = world();
    let root = world.root().display().to_string();
    world.write("data/st*r", "star\n");
    world.write("home/in-home", "home\n");
    let mut shell = Shell::start(&world);
    shell.begin(&format!("cat '{root}/data/st*r'"));
    let asked = world.wait_for(1).remove(0);
    assert!(asked["always"]["never"].as_str().is_some_and(|why| why.contains("* or ?")), "{asked}");
    let refused = world.resolve(&asked, "allow-always");
    assert_eq!(refused.status, 1);
    assert!(
        refused.stderr.contains("allow-always is unavailable: its path contains * or ?"),
        "{}",
        refused.stderr
    );
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    assert_eq!(shell.end(), "star\n");
    // One answer does not open the home directory.
    shell.begin(&format!("cat {root}/home/in-home"));
    let asked = world.wait_for(1).remove(0);
    assert_eq!(asked["always"].get("directory"), None, "{asked}");
    let refused = world.resolve(&asked, "allow-always-directory");
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("allow-always-directory is unavailable"), "{}", refused.stderr);
    // An answer that cannot be saved allows this call, and the guard reports that.
    let store = world.write("home/.openclaw/guard/approvals.json", "no store");
    let unsaved = world.resolve(&asked, "allow-always");
    assert_eq!(unsaved.status, 0);
    assert!(unsaved.stderr.contains("allowed this time, but not saved"), "{}", unsaved.stderr);
    assert!(unsaved.stderr.contains("approvals.json:1:"), "{}", unsaved.stderr);
    assert_eq!(shell.end(), "home\n");
    assert_eq!(fs::read_to_string(store).unwrap(), "no store");
}

#[test]
fn policy_and_check_say_what_is_saved() {
    let world = world();
    let root = world.root().display().to_string();
    let file = format!("{root}/data/a");
    let mut shell = Shell::start(&world);
    answered(&world, &mut shell, &format!("cat {file}"), "allow-always");
    let checked = ended(world.command().args(["check", "--read", &file]));
    let expected = format!("allow read {file}\n  allowed always: \"{file}\" r (guard/approvals.json)\n");
    assert!(checked.stdout.starts_with(&expected), "{}", checked.stdout);
    let shown = ended(world.command().args(["policy", "show", "--effective"]));
    let line = format!("  r  {file}  (saved, saved.agents.main.permissions.filesystem.rules[\"{file}\"])");
    assert!(shown.stdout.lines().any(|shown| shown == line), "{}", shown.stdout);
    world.write("home/.openclaw/guard/approvals.json", "{\n  \"version\": 2\n}");
    let broken = world.guarded(&["cat", "/dev/null"]);
    assert!(broken.stderr.contains("approvals.json:2:"), "{}", broken.stderr);
    assert!(broken.stderr.contains("what was allowed \"always\" is not in force"), "{}", broken.stderr);
}

#[test]
fn what_is_forgotten_is_asked_about_again() {
    let world = world();
    let root = world.root().display().to_string();
    let approvals = |arguments: &[&str]| ended(world.command().arg("approvals").args(arguments));
    assert_eq!(approvals(&["saved"]).stdout, "no answers are saved\n");
    assert_eq!(approvals(&["saved", "--json"]).stdout, "[]\n");
    let mut one = Shell::start(&world);
    answered(&world, &mut one, "uname -s", "allow-always");
    answered(&world, &mut one, "cat ../data/a", "allow-always");
    // A guard that starts with the answer in force forgets it, too.
    let mut later = Shell::start(&world);
    assert_eq!(later.run("cat ../data/a; uname -s"), "data/a\nLinux\n");

    let listed = approvals(&["saved"]).stdout;
    let file = format!("{root}/data/a");
    assert!(listed.contains(&format!("main      r      {file}\n")), "{listed}");
    assert!(listed.contains(&format!("start  {}  (with the same arguments", program("uname"))), "{listed}");
    let json: Value = serde_json::from_str(&approvals(&["saved", "--json"]).stdout).expect("JSON");
    let id = json[0]["id"].as_str().expect("an id").to_owned();

    for (word, why) in [("", "no such answer"), ("nothing", "no such answer")] {
        let refused = approvals(&["forget", word]);
        assert_eq!(refused.status, 1);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    assert_eq!(approvals(&["forget"]).status, 125);
    // Nothing goes if one of them is not there.
    assert_eq!(approvals(&["forget", &file, "nothing"]).status, 1);
    let forgotten = approvals(&["forget", &file, &id[..6], &file]);
    assert_eq!(forgotten.status, 0, "{}", forgotten.stderr);
    assert_eq!(forgotten.stdout.matches("forgotten: ").count(), 2, "{}", forgotten.stdout);
    assert_eq!(approvals(&["saved"]).stdout, "no answers are saved\n");
    for shell in [&mut one, &mut later] {
        for line in ["uname -s", "cat ../data/a"] {
            // Until the guard has noticed.
            answered(&world, shell, &format!("while {line}; do :; done"), "deny");
        }
    }
}

#[test]
fn only_what_always_saved_is_forgotten_in_openclaws_store() {
    let world = world();
    let store = world.write(
        "home/.openclaw/exec-approvals.json",
        r#"{"version": 1, "agents": {"main": {"allowlist": [{"id": "1", "pattern": "/usr/bin/git"}]}}}"#,
    );
    let mut shell = Shell::start(&world);
    answered(&world, &mut shell, "uname -s", "allow-always");
    let forgotten = ended(world.command().args(["approvals", "forget", "--all"]));
    assert_eq!(forgotten.stdout.matches("forgotten: ").count(), 1, "{}", forgotten.stdout);
    let left: Value = serde_json::from_str(&fs::read_to_string(store).unwrap()).unwrap();
    assert_eq!(left["agents"]["main"]["allowlist"].as_array().map(Vec::len), Some(1));
    assert_eq!(left["agents"]["main"]["allowlist"][0]["pattern"], "/usr/bin/git");
}

/// The tree cannot reach the stores, whoever asks for it.
#[test]
fn a_guarded_command_forgets_nothing() {
    let text = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
        "permissions": {"filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#;
    let world = World::bare().policy(text);
    let saved = r#"{"version":1,"agents":{"main":{"permissions":{"filesystem":{"rules":{"/srv/a":"r"}}}}}}"#;
    world.write("home/.openclaw/guard/approvals.json", saved);
    let guard = guard_tests::guard().display().to_string();
    for arguments in [&["saved"][..], &["forget", "--all"]] {
        let ended = world.guarded(&[&[guard.as_str(), "approvals"], arguments].concat());
        assert_eq!(ended.status, 125, "{}", ended.stdout);
        assert!(!ended.stdout.contains("/srv/a"), "{}", ended.stdout);
    }
    assert_eq!(world.read("home/.openclaw/guard/approvals.json").as_deref(), Some(saved));
}

/// An answer that lets the tree write the file may hold for later, and what was written once is there still: a saved
/// answer would be for another program.
#[test]
fn a_program_that_an_answer_lets_the_tree_write_is_not_saved() {
    for decision in ["deny", "allow-once", "allow-session", "allow-directory-60m"] {
        let world = world().policy_text(|text| text.replace("\"r-?\"", "\"r?x\""));
        let program = world.write("bin/tool", fs::read(program("uname")).expect("a program"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
        let program = program.display().to_string();
        let mut shell = Shell::start(&world);
        answered(&world, &mut shell, &format!(": >> {program}"), decision);
        let (_, asked) = answered(&world, &mut shell, &format!("{program} -s"), "deny");
        let never = asked["always"]["never"].as_str().unwrap_or_default();
        assert_eq!(never.contains("the tree may write its file"), decision != "deny", "{decision}: {asked}");
    }
}

/// A guard records where its run may write before the run starts, and others know it at once.
#[test]
fn a_program_that_another_run_may_write_from_now_on_is_asked_for() {
    let world = world();
    let tool = world.write("bin/tool", fs::read(program("uname")).expect("a program"));
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let line = format!("{} -s", tool.display());
    let mut shell = Shell::start(&world);
    answered(&world, &mut shell, &line, "allow-always");
    assert_eq!(shell.run(&line), "Linux\n");
    let record = world.root().join("home/.openclaw/guard/workspaces.jsonl");
    let place = json!({"path": world.root().join("bin"), "repository": false});
    let mut record = fs::File::options().append(true).open(record).expect("the record");
    writeln!(record, "{place}").expect("a line");
    let other = world.write("bin/other", fs::read(program("echo")).expect("a program"));
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::rename(other, &tool).expect("its new file");
    let (output, asked) = answered(&world, &mut shell, &line, "deny");
    assert_eq!(output, "", "{asked}");
}

/// `git`, busybox and others act by the name that they are called by.
#[test]
fn an_always_is_for_the_name_that_the_program_was_called_by() {
    let world = world();
    let mut shell = Shell::start(&world);
    answered(&world, &mut shell, "uname -s", "allow-always");
    assert_eq!(shell.run("uname -s; /usr/bin/uname -s"), "Linux\nLinux\n");
    let (output, asked) = answered(&world, &mut shell, "(exec -a other uname -s)", "allow-always");
    assert_eq!((&*output, &asked["argv"][0]), ("Linux\n", &json!("other")), "{asked}");
    assert_eq!(shell.run("(exec -a other uname -s); uname -s"), "Linux\nLinux\n");
    answered(&world, &mut shell, "(exec -a third uname -s)", "deny");
}

/// An entry that names the program does not make a rule safe that would let it run whatever stands there.
#[test]
fn no_x_is_saved_where_the_tree_may_write() {
    let world = world().policy_text(|text| {
        text.replace("\"r-?\"", "\"rw?\"")
            .replace(r#""allowlist": ["#, r#""allowlist": [{"pattern": "@/bin/tool"}, "#)
    });
    let tool = world.write("bin/tool", fs::read(program("uname")).expect("a program"));
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut shell = Shell::start(&world);
    let (_, asked) = answered(&world, &mut shell, &format!("{} -s", tool.display()), "deny");
    let never = asked["always"]["never"].as_str().unwrap_or_default();
    assert!(never.contains("the tree may write its file"), "{asked}");
}
