//! A project's own file, `.openclaw/guard.json`: the guarded tree must neither get rid of what it takes away, nor give
//! itself anything by one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use guard_tests::{Ended, World, ended, is_root, until};

/// The operator's policy: the project may be written, one directory of it is asked for, `private` is denied.
const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss"},
    "permissions": {"persistence": {"agents": true}, "filesystem": {
    "rules": {SYSTEM, "${workspace}/**": "rwx", "@/work/**": "rwx", "@/work/asked/**": "???"}, "deny": ["@/work/private"]}}}"#;
/// What a project takes away, and what one tries to give.
const TAKES: &str =
    r#"{"version": 1, "permissions": {"filesystem": {"rules": {"${workspace}/vendor/**": "r--"}}}}"#;
const GIVES: &str = r#"{"version": 1, "exec": {"security": "full"}, "permissions": {"filesystem":
    {"rules": {"/**": "rwx", "~/**": "rwx", "${workspace}/asked/**": "rwx", "${workspace}/private/**": "rwx"}}}}"#;
const FILE: &str = "work/.openclaw/guard.json";

fn world() -> World {
    let world = World::bare().policy(POLICY);
    for name in ["vendor", "asked", "private", "sub"] {
        fs::create_dir(world.work().join(name)).expect("a directory");
    }
    world
}

fn at(world: &World, directory: &str, script: &str) -> Ended {
    let mut command = world.command();
    command.current_dir(world.root().join(directory)).args(["--", "sh", "-c", script]);
    let ran = ended(&mut command);
    println!("{directory}: {script}\n{}", ran.stderr);
    ran
}

/// Whether a run that starts in this directory can write a file below the world.
fn writes(world: &World, directory: &str, path: &str) -> bool {
    let file = world.root().join(path);
    at(world, directory, &format!("echo x > '{}'", file.display()));
    fs::remove_file(&file).is_ok()
}

fn trust(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().arg("trust").args(arguments))
}

/// Ways to get rid of the file, or to have another in its place.
const CHANGES: [&str; 16] = [
    "echo '{\"version\": 1}' > .openclaw/guard.json",
    "echo ' ' >> .openclaw/guard.json",
    "truncate -s 0 .openclaw/guard.json",
    "rm -f .openclaw/guard.json",
    "rm -rf .openclaw",
    "mv .openclaw/guard.json .openclaw/other",
    "echo '{\"version\": 1}' > own; mv own .openclaw/guard.json",
    "echo '{\"version\": 1}' > own; ln -f own .openclaw/guard.json",
    "ln -sf ../own .openclaw/guard.json",
    "ln .openclaw/guard.json name && echo '{\"version\": 1}' > name",
    "mv .openclaw away",
    "mkdir own; mv -T own .openclaw; mv --exchange own .openclaw",
    "mv ../work ../away",
    "mkdir ../new; mv sub ../new; cd ..; mv work old; mv new work",
    "python3 -c 'import os; os.rename(\".openclaw\", \"sub/x\")'; cp /dev/null .openclaw/guard.json",
    "chmod 000 .openclaw/guard.json; chmod 000 .openclaw",
];

#[test]
fn what_it_takes_away_stays_away() {
    for change in CHANGES {
        // Also where the operator protects nothing else.
        for kept in ["true", "false"] {
            let world = world().policy_text(|text| text.replace("{\"agents\": true}", kept));
            assert!(writes(&world, "work", "work/vendor/x"), "the file alone takes it away");
            world.write(FILE, TAKES);
            at(&world, "work", change);
            assert_eq!(world.read(FILE).as_deref(), Some(TAKES), "{change}");
            assert!(!writes(&world, "work", "work/vendor/x"), "{change}");
            assert!(writes(&world, "work", "work/sub/x"), "the rest of the work goes on");
        }
    }
}

/// Ways to make one where there is none.
const PLANTS: [&str; 8] = [
    "mkdir .openclaw; cp given .openclaw/guard.json",
    "mkdir new; cp given new/guard.json; mv new .openclaw",
    "mkdir new; cp given new/guard.json; ln -s new .openclaw",
    "mkdir .openclaw; ln -s ../given .openclaw/guard.json",
    "mkdir .openclaw; ln given .openclaw/guard.json",
    "mkdir -p sub/.openclaw; cp given sub/.openclaw/guard.json",
    "mkdir .openclaw; mkfifo .openclaw/guard.json",
    "mkdir .openclaw; python3 -c 'import os; os.open(\".openclaw/guard.json\", os.O_CREAT | os.O_WRONLY)'",
];

fn is_planted(world: &World) -> bool {
    [FILE, "work/sub/.openclaw/guard.json"]
        .iter()
        .any(|file| world.root().join(file).symlink_metadata().is_ok())
}

#[test]
fn none_can_be_made() {
    for plant in PLANTS {
        let world = world();
        world.write("work/given", GIVES);
        at(&world, "work", plant);
        assert!(!is_planted(&world), "{plant}");
        // It does where nothing is protected: and then it gives nothing.
        let world = world.policy_text(|text| text.replace("\"agents\": true", "\"agents\": false"));
        at(&world, "work", plant);
        assert!(is_planted(&world), "{plant}");
        for start in ["work", "work/sub"] {
            assert!(!writes(&world, start, "work/asked/x") && !writes(&world, start, "home/x"), "{plant}");
        }
    }
}

#[test]
fn what_nobody_trusted_gives_nothing() {
    let world = world();
    world.write(FILE, GIVES);
    world.write("work/sub/.openclaw/guard.json", GIVES);
    for start in ["work", "work/sub"] {
        for path in ["work/asked/x", "work/private/x", "home/x", "home/.openclaw/x"] {
            assert!(!writes(&world, start, path), "{start} {path}");
        }
        let line = "what it allows is ignored, because you have not trusted it";
        let todo = "run `openclaw-guard trust`";
        let said = at(&world, start, "true").stderr;
        assert!(said.contains(line) && said.contains(todo), "{said}");
    }
}

#[test]
fn trust_counts_for_these_contents_and_against_no_denial() {
    let world = world();
    world.write(FILE, GIVES);
    let trusted = trust(&world, &[]);
    assert_eq!(trusted.status, 0, "{}", trusted.stderr);
    assert!(trusted.stdout.contains("asked/**"), "{}", trusted.stdout);
    assert!(writes(&world, "work", "work/asked/x"), "as the operator trusted it");
    for path in ["work/private/x", "home/.openclaw/x", "home/.bashrc"] {
        assert!(!writes(&world, "work", path), "{path}");
    }
    // The operator pulls a new state of the project.
    world.write(FILE, GIVES.replace("{\"version\": 1", "{ \"version\": 1"));
    assert!(!writes(&world, "work", "work/asked/x"));
    let said = at(&world, "work", "true").stderr;
    assert!(said.contains("it has changed since you trusted it"), "{said}");
    // The same contents at another path are not what was trusted.
    world.write("work/sub/.openclaw/guard.json", GIVES);
    fs::remove_dir_all(world.work().join(".openclaw")).expect("the file");
    assert!(!writes(&world, "work/sub", "work/asked/x"));
    // And what takes away holds, changed or not.
    world.write(FILE, TAKES);
    assert!(!writes(&world, "work", "work/vendor/x"));
}

#[test]
fn trust_is_taken_back() {
    let world = world();
    world.write(FILE, GIVES);
    assert_eq!(trust(&world, &["."]).status, 0);
    let listed = trust(&world, &["--list"]).stdout;
    assert!(listed.contains("work/.openclaw/guard.json  trusted"), "{listed}");
    assert_eq!(trust(&world, &["--forget", "."]).status, 0);
    assert_eq!(trust(&world, &["--forget", ".openclaw/guard.json"]).status, 1);
    assert!(!writes(&world, "work", "work/asked/x"));
}

#[test]
fn the_tree_trusts_nothing() {
    let world = world().policy_text(|text| text.replace("\"rules\": {", "\"rules\": {\"/**\": \"rwx\", "));
    world.write(FILE, GIVES);
    let guard = guard_tests::guard();
    let script = format!(
        "'{guard}' trust; env -u X '{guard}' trust .; cd ~/.openclaw/guard && cp ~/given trusted.json
        mkdir -p ~/.openclaw/guard; cp ~/given ~/.openclaw/guard/trusted.json; ls ~/.openclaw/guard",
        guard = guard.display()
    );
    let record = format!(
        "{{\"version\": 1, \"files\": [{{\"path\": \"{}\", \"sha256\": \"{}\"}}]}}",
        world.root().join(FILE).display(),
        "0".repeat(64)
    );
    world.write("home/given", record);
    let ran = at(&world, "work", &script);
    assert!(ran.stderr.contains("trust works only outside a guard"), "{}", ran.stderr);
    assert_eq!(world.read("home/.openclaw/guard/trusted.json"), None);
    assert!(!writes(&world, "work", "work/asked/x"));
    // Nor does it change what the operator trusts.
    assert_eq!(trust(&world, &[]).status, 0);
    let before = world.read("home/.openclaw/guard/trusted.json").expect("a record");
    at(&world, "work", &script);
    assert_eq!(world.read("home/.openclaw/guard/trusted.json"), Some(before));
}

#[test]
fn another_top_loosens_nothing() {
    for (before, run) in [
        ("mkdir .git", "mkdir sub/.git"),
        ("mkdir .git", "git init -q sub"),
        ("mkdir .git", "rm -rf .git; mv .git away"),
        ("mkdir .git sub/.git", "rmdir .git"),
        (":", "mkdir sub/.git; mkdir sub/.openclaw"),
    ] {
        let world = world();
        world.write(FILE, TAKES);
        assert_eq!(world.native(&["sh", "-c", before]).status, 0);
        at(&world, "work", run);
        for start in ["work", "work/sub"] {
            assert!(!writes(&world, start, "work/vendor/x"), "{run} {start}");
        }
    }
}

/// A run moves a part of the project to where no project is, and the operator's shell follows a link there.
#[test]
fn a_part_that_was_moved_out_is_of_the_project() {
    let elsewhere = POLICY.replace("\"@/work/**\"", "\"@/out/**\": \"rwx\", \"@/work/**\"");
    for (file, is_trusted) in [(TAKES, false), (GIVES, true)] {
        let world = World::bare().policy(&elsewhere);
        for name in ["work/vendor", "work/asked", "work/sub", "out"] {
            fs::create_dir(world.root().join(name)).expect("a directory");
        }
        world.write(FILE, file);
        if is_trusted {
            assert_eq!(trust(&world, &["."]).status, 0);
            assert!(writes(&world, "work", "work/asked/x"), "it gives");
        }
        at(&world, "work", "mv sub ../out/sub && ln -s ../out/sub sub");
        let sub = world.work().join("sub");
        assert!(sub.is_symlink());
        let names = ["work/vendor/x", "work/asked/x", "out/x"];
        let line = names.map(|name| format!("echo x > '{}'", world.root().join(name).display())).join("; ");
        let mut command = world.command();
        let ran = ended(command.current_dir(&sub).env("PWD", &sub).args(["--", "sh", "-c", &line]));
        let written = names.map(|name| world.root().join(name).exists());
        assert_eq!(written, [is_trusted, false, true], "{}", ran.stderr);
    }
}

#[test]
fn a_directory_that_the_tree_made_brings_no_trust() {
    let world = world();
    world.write("work/given", GIVES);
    // As a clone does: what lies in a new directory is the tree's until the end of its session.
    at(
        &world,
        "work",
        "mkdir -p new/.openclaw; cp given new/.openclaw/guard.json; ln new/.openclaw/guard.json other",
    );
    let file = "work/new/.openclaw/guard.json";
    assert_eq!(world.read(file).as_deref(), Some(GIVES), "a clone can be made");
    for path in ["work/asked/x", "home/x"] {
        assert!(!writes(&world, "work/new", path), "{path}");
    }
    if world.work().join("other").exists() {
        let refused = trust(&world, &["new"]);
        assert!(refused.status == 125 && refused.stderr.contains("another name"), "{}", refused.stderr);
    }
    at(&world, "work", "echo '{\"version\": 1}' > new/.openclaw/guard.json");
    assert_eq!(world.read(file).as_deref(), Some(GIVES), "in the next session it is protected");
}

/// A file that cannot be judged: what it takes away is not known, and nothing starts.
fn is_refused(world: &World, why: &str) {
    let ran = at(world, "work/sub", "echo x > own");
    assert_eq!(ran.status, 125, "{}", ran.stderr);
    assert!(ran.stderr.contains(why) && ran.stderr.contains(".openclaw/guard.json"), "{}", ran.stderr);
    assert!(!world.work().join("sub/own").exists());
    let refused = trust(world, &[]);
    assert!(refused.status == 125 && refused.stderr.contains(why), "{}", refused.stderr);
}

#[test]
fn a_file_that_cannot_be_judged_stops_the_start() {
    let made = |make: &dyn Fn(&World, &Path), why: &str| {
        let world = world();
        fs::create_dir(world.work().join(".openclaw")).expect("a directory");
        make(&world, &world.root().join(FILE));
        is_refused(&world, why);
    };
    let write = |text: &'static str| move |_: &World, file: &Path| fs::write(file, text).expect("a file");
    made(&write(""), "the file is empty");
    made(&write("{\"version\": 1,"), "guard.json:1:");
    made(&write("{\"version\": 1, \"extends\": \"coding\"}"), "a project file cannot have this key");
    made(&write("{\"version\": 1, \"extends\": \"/etc/guard.json\"}"), "extends");
    made(
        &write("{\"version\": 1, \"permissions\": {\"persistence\": false}}"),
        "a project file cannot have this key",
    );
    made(&|_, file| fs::write(file, b"{\"version\": 1} // \xff").expect("a file"), "not UTF-8");
    made(
        &|_, file| fs::File::create(file).and_then(|file| file.set_len(1 << 30)).expect("a large file"),
        "larger than 1 MiB",
    );
    made(&|_, file| fs::create_dir(file).expect("a directory"), "not a regular file");
    made(
        &|_, file| {
            nix::unistd::mkfifo(file, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
        },
        "not a regular file",
    );
    made(&|_, file| symlink("/dev/zero", file).expect("a link"), "symbolic link");
    made(
        &|world, file| {
            let elsewhere = world.write("home/project.json", TAKES);
            symlink(elsewhere, file).expect("a link");
        },
        "symbolic link",
    );
    made(
        &|world, file| {
            world.write("home/elsewhere/guard.json", TAKES);
            let directory = file.parent().expect("a directory");
            fs::remove_dir(directory).expect("an empty directory");
            symlink(world.home().join("elsewhere"), directory).expect("a link");
        },
        "symbolic link",
    );
}

#[test]
fn what_others_can_write_cannot_be_trusted_and_takes_away() {
    for (name, mode) in [("guard.json", 0o666), ("guard.json", 0o620), ("", 0o777)] {
        let world = world();
        world.write(FILE, TAKES.replace("\"r--\"", "\"r--\", \"${workspace}/asked/**\": \"rwx\""));
        let file = world.work().join(".openclaw").join(name);
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("a mode");
        let refused = trust(&world, &[]);
        assert!(refused.status == 125 && refused.stderr.contains("chmod go-w"), "{}", refused.stderr);
        assert!(!writes(&world, "work", "work/vendor/x") && !writes(&world, "work", "work/asked/x"));
        let said = at(&world, "work", "true").stderr;
        assert!(said.contains("lets others write"), "{said}");
    }
}

#[test]
fn a_file_of_another_user_cannot_be_trusted_and_takes_away() {
    if !is_root() {
        return guard_tests::skip("only root can make a file of another user");
    }
    let world = world();
    let file = world.write(FILE, TAKES.replace("\"r--\"", "\"r--\", \"${workspace}/asked/**\": \"rwx\""));
    assert_eq!(trust(&world, &[]).status, 0);
    assert!(writes(&world, "work", "work/asked/x"));
    chown(&file, Some(1000), Some(1000)).expect("another owner");
    let refused = trust(&world, &[]);
    assert!(refused.status == 125 && refused.stderr.contains("another user"), "{}", refused.stderr);
    assert!(!writes(&world, "work", "work/vendor/x") && !writes(&world, "work", "work/asked/x"));
}

#[test]
fn the_policy_of_another_user_above_the_start_is_no_projects() {
    if !is_root() {
        return guard_tests::skip("only root can make a directory of another user");
    }
    let world = world();
    let file = world.write(FILE, r#"{"version": 1, "permissions": {"base": false}}"#);
    let ran = at(&world, "work/sub", "true");
    assert!(
        ran.status == 125 && ran.stderr.contains("a project file cannot have this key"),
        "{}",
        ran.stderr
    );
    chown(world.work(), Some(1000), Some(1000)).expect("another owner");
    assert!(writes(&world, "work/sub", "work/sub/x"));
    assert!(
        at(&world, "work/sub", "true").stderr.contains("left out, because its directory is another user's")
    );
    // One that can be used takes away there, too.
    fs::write(file, TAKES).expect("a file");
    assert!(!writes(&world, "work/sub", "work/vendor/x"));
}

#[test]
fn an_agent_that_chooses_the_start_directory_gets_nothing_by_it() {
    let world = world();
    world.write(
        "work/sub/.openclaw/guard.json",
        GIVES.replace("${workspace}", &world.work().display().to_string()),
    );
    world.write(FILE, TAKES);
    let run = |start: &str, arguments: &[&str], path: &str| {
        let file = world.root().join(path);
        let mut command = world.command();
        command.arg("--home").arg(world.home()).args(arguments).current_dir(world.root().join(start));
        // A variable says nothing of the home, in which a project's file would be the operator's own.
        command.env("HOME", world.work());
        println!(
            "{}",
            ended(command.args(["--", "sh", "-c", &format!("echo x > '{}'", file.display())])).stderr
        );
        fs::remove_file(&file).is_ok()
    };
    assert_eq!(trust(&world, &["sub"]).status, 0);
    assert!(run("work/sub", &[], "work/asked/x"), "the operator's own choice counts");
    assert!(!run("work/sub", &["--untrusted-environment"], "work/asked/x"));
    assert!(run("work/sub", &["--untrusted-environment"], "work/sub/x"), "the operator's rules do");
    assert!(!run("work/sub", &["--untrusted-environment"], "work/vendor/x"), "what takes away does");
}

#[test]
fn a_running_guard_keeps_what_it_read() {
    let world = world();
    world.write(FILE, TAKES);
    // The operator removes the file, and the policy is read again: the run goes on as it began.
    let script = format!(
        "touch sub/ready; while [ ! -e sub/go ]; do sleep 0.05; done; echo x > vendor/x; echo x > {}",
        world.root().join("work/sub/done").display()
    );
    let mut command = world.command();
    let mut child = command.args(["--", "sh", "-c", &script]).spawn().expect("a guard");
    until("the run has begun", || world.work().join("sub/ready").exists());
    fs::remove_dir_all(world.work().join(".openclaw")).expect("the file");
    let text = world.read("guard.json").expect("a policy");
    world.write("guard.json", format!("{text}\n"));
    until("the policy was read again", || world.audit_text().contains("\"reload\""));
    world.write("work/sub/go", "");
    guard_tests::status_of(&mut child);
    assert!(world.work().join("sub/done").exists() && !world.work().join("vendor/x").exists());
}

#[test]
fn a_name_that_another_run_links_to_trust_loses_it() {
    // Trusted while it had one name; then somebody links it where the tree may write.
    let world = world();
    world.write(FILE, GIVES);
    assert_eq!(trust(&world, &[]).status, 0);
    fs::hard_link(world.root().join(FILE), world.work().join("sub/name")).expect("a link");
    assert!(!writes(&world, "work", "work/asked/x"));
    fs::remove_file(world.work().join("sub/name")).expect("the link");
    assert!(writes(&world, "work", "work/asked/x"));
}
