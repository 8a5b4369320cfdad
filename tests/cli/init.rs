//! `openclaw-guard init`: what it writes, and what it leaves alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use guard_tests::{Ended, World, ended, ended_with_input};
use serde_json::{Value, json};

fn init(world: &World, arguments: &[&str]) -> Ended {
    ended(world.command().arg("init").args(arguments))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o7777
}

#[test]
fn init_writes_a_policy_that_holds() {
    let world = World::bare();
    let written = init(&world, &[]);
    assert_eq!((written.status, written.stderr.as_str()), (0, ""));
    let file = world.home().join(".openclaw/guard.json");
    assert_eq!((mode(&file), mode(&world.home().join(".openclaw"))), (0o600, 0o700));
    let lines: Vec<&str> = written.stdout.lines().collect();
    assert_eq!(lines[0], format!("{}: coding, build and test one project", file.display()));
    let place = "the project that it is started in (${workspace})";
    assert_eq!(lines[1], format!("  in     {place}, here {}", world.work().display()));
    for (line, word) in lines[2..5].iter().zip(["  runs ", "  writes ", "  asks "]) {
        assert!(line.starts_with(word), "{line}");
    }
    // The next steps that it prints work.
    let next: Vec<&str> = lines[6..].iter().map(|line| line.trim()).collect();
    assert!(
        next[0].starts_with("openclaw-guard -- bash ")
            && next[1].starts_with("openclaw-guard policy show --effective ")
    );
    assert!(next[2].starts_with("openclaw-guard learn -o "), "{}", next[2]);
    let ran = world.sh("echo x > here && cat here");
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "x\n"));
    assert_ne!(world.sh("echo x > ~/there").status, 0);
    assert_eq!(ended(world.command().args(["policy", "validate", "--strict"])).status, 0);
    assert_eq!(init(&World::bare(), &["-q"]).stdout, "");
}

#[test]
fn a_policy_that_is_there_is_left_alone() {
    let world = World::bare();
    let file = world.write("home/.openclaw/guard.json", "{\"version\": 1} // mine\n");
    let refused = init(&world, &[]);
    assert_eq!((refused.status, refused.stdout.as_str()), (125, ""));
    for word in [
        file.to_str().expect("text"),
        "openclaw-guard allow",
        "openclaw-guard learn",
        "--force",
        "guard.json.old",
    ] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    assert_eq!(world.read("home/.openclaw/guard.json").as_deref(), Some("{\"version\": 1} // mine\n"));
    for (times, old) in ["guard.json.old", "guard.json.old.1", "guard.json.old.2"].into_iter().enumerate() {
        let before = world.read("home/.openclaw/guard.json");
        let forced = init(&world, &["--force"]);
        assert_eq!(forced.status, 0, "{}", forced.stderr);
        assert!(forced.stdout.contains(&format!("/{old}\n")), "{times}: {}", forced.stdout);
        assert_eq!(world.read(Path::new("home/.openclaw").join(old)), before);
        assert_eq!(mode(&world.home().join(".openclaw").join(old)), 0o600);
    }
}

#[test]
fn a_policy_may_lie_elsewhere() {
    let world = World::bare();
    let file = world.root().join("mine.json");
    let named = |arguments: &[&str]| {
        let mut command = world.command();
        ended(command.arg("--policy").arg(&file).arg("init").args(arguments))
    };
    let written = named(&["--template", "coding"]);
    assert_eq!(written.status, 0, "{}", written.stderr);
    assert!(
        written.stdout.contains(&format!("openclaw-guard --policy {} -- bash", file.display())),
        "{}",
        written.stdout
    );
    assert!(mode(&file) == 0o600 && !world.home().join(".openclaw").exists());
    assert_eq!(named(&["--template", "coding"]).status, 0);
    assert_eq!(named(&["--template", "scratch"]).status, 125);
    // A link stays a link, and a dangling one is refused.
    fs::remove_file(&file).expect("a file");
    symlink(world.root().join("real.json"), &file).expect("a link");
    let dangling = named(&["--force"]);
    assert!(dangling.status == 125 && dangling.stderr.contains("real.json"), "{}", dangling.stderr);
    world.write("real.json", "{}");
    assert_eq!(named(&["--force"]).status, 0);
    assert!(file.is_symlink() && world.read("real.json").is_some_and(|text| text.contains("coding")));
    assert_eq!(world.read("mine.json.old").as_deref(), Some("{}"));
    // init creates no directory for its file.
    let mut command = world.command();
    let nowhere = ended(command.arg("--policy").arg(world.root().join("no/guard.json")).arg("init"));
    assert!(nowhere.status == 125 && nowhere.stderr.contains("no/guard.json"), "{}", nowhere.stderr);
    // A path that is no plain file is refused.
    let fifo = world.root().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let mut command = world.command();
    let odd = ended(command.arg("--policy").arg(&fifo).args(["init", "--force"]));
    assert!(odd.status == 125 && odd.stderr.contains("not a regular file"), "{}", odd.stderr);
}

#[test]
fn init_print_writes_no_file() {
    let world = World::bare();
    let printed = init(&world, &["--print"]);
    assert!(printed.status == 0 && !world.home().join(".openclaw").exists(), "{}", printed.stderr);
    assert!(
        printed.stdout.starts_with("// coding: ") && printed.stdout.contains("\"${workspace}/**\": \"rwx\"")
    );
    assert_eq!(init(&world, &[]).status, 0);
    assert_eq!(world.read("home/.openclaw/guard.json"), Some(printed.stdout));
    assert_eq!(init(&world, &["--print"]).status, 0, "one that is there is no matter");
}

#[test]
fn templates_are_listed() {
    let world = World::bare();
    let listed = init(&world, &["--list"]);
    let json: Value = serde_json::from_str(&init(&world, &["--list", "--json"]).stdout).expect("JSON");
    let json = json.as_array().expect("a list");
    assert_eq!(listed.stdout.lines().count(), json.len());
    for (line, template) in listed.stdout.lines().zip(json) {
        let name = template["name"].as_str().expect("a name");
        assert!(
            line.starts_with(name) && line.ends_with(template["title"].as_str().expect("a title")),
            "{line}"
        );
        assert_eq!(template["allows"].as_array().map(Vec::len), Some(3), "{name}");
    }
    let unknown = init(&world, &["--template", "codin"]);
    assert!(unknown.status == 125 && unknown.stderr.contains("'coding'"), "{}", unknown.stderr);
}

#[test]
fn init_refuses_the_home_as_workspace() {
    let world = World::bare();
    for directory in ["../home", "..", "/", "/tmp/.."] {
        let refused = init(&world, &["--workspace", directory]);
        assert!(
            refused.status == 125 && refused.stderr.contains("--workspace DIR"),
            "{directory}: {}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("is your home directory or contains it"),
            "{directory}: {}",
            refused.stderr
        );
    }
    // Also through a link.
    symlink(world.home(), world.work().join("link")).expect("a link");
    assert_eq!(init(&world, &["--workspace", "link"]).status, 125);
    for (directory, why) in
        [("/usr", "/usr/**"), ("../home/.openclaw", "always denied"), ("../home/.ssh", "~/.ssh")]
    {
        world.write("home/.openclaw/x", "");
        world.write("home/.ssh/x", "");
        let refused = init(&world, &["--workspace", directory]);
        assert!(refused.status == 125 && refused.stderr.contains(why), "{directory}: {}", refused.stderr);
        assert!(refused.stderr.contains("--workspace DIR"), "{}", refused.stderr);
    }
    // OpenClaw's default workspace is in its state directory: the message names the setting to change.
    world.write("home/.openclaw/workspace/x", "");
    let refused = init(&world, &["--template", "openclaw", "--workspace", "../home/.openclaw/workspace"]);
    assert!(refused.stderr.contains("agents.defaults.workspace in openclaw.json"), "{}", refused.stderr);
    for (directory, why) in [("none", "No such file"), ("file", "not a directory")] {
        world.write("work/file", "");
        let refused = init(&world, &["--workspace", directory]);
        assert!(refused.status == 125 && refused.stderr.contains(why), "{directory}: {}", refused.stderr);
    }
    // The template that names the current directory.
    let mut command = world.command();
    let refused = ended(command.current_dir(world.home()).args(["init", "--template", "openclaw"]));
    assert!(refused.status == 125 && refused.stderr.contains("your home directory"), "{}", refused.stderr);
    assert!(!world.home().join(".openclaw/guard.json").exists());
    // One that names none may be written anywhere.
    let mut command = world.command();
    let written = ended(command.current_dir(world.home()).arg("init"));
    assert_eq!(written.status, 0, "{}", written.stderr);
    assert!(
        written.stdout.contains("  in     the project that it is started in (${workspace})\n"),
        "{}",
        written.stdout
    );
}

#[test]
fn odd_names_are_written_as_they_are_or_refused() {
    let world = World::bare();
    for name in
        ["a b", "a\"b\\", "\u{202e}x", "line\nbreak\u{1b}[31m", "{a: 1}", "a, \"b", "${workspace}", "ä"]
    {
        let workspace = world.work().join(name);
        fs::create_dir_all(&workspace).expect("a directory");
        for named in [&["init", "--force"][..], &["init", "--force", "--workspace", "."]] {
            let printed = ended(world.command().current_dir(&workspace).args(named));
            assert_eq!(printed.status, 0, "{name:?}: {}", printed.stderr);
            let odd = |text: &str| text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}');
            let text = world.read("home/.openclaw/guard.json").expect("a policy");
            assert!(!odd(&text) && !odd(&printed.stdout), "{name:?}");
            let mut command = world.command();
            let ran =
                ended(command.current_dir(&workspace).args(["--", "sh", "-c", "echo x > here && cat here"]));
            assert_eq!((ran.status, ran.stdout.as_str()), (0, "x\n"), "{name:?}: {}", ran.stderr);
        }
    }
    for name in [&b"a*b"[..], b"a?b", b"\xff"] {
        let workspace = world.work().join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir_all(&workspace).expect("a directory");
        let mut command = world.command();
        let refused = ended(command.current_dir(&workspace).args(["init", "--print", "--workspace", "."]));
        assert_eq!((refused.status, refused.stdout.as_str()), (125, ""), "{name:?}");
        assert!(refused.stderr.contains("no rule can name"), "{}", refused.stderr);
        // `${workspace}` is any name, and a template without a rule for the workspace accepts it, too.
        assert_eq!(ended(world.command().current_dir(&workspace).args(["init", "--print"])).status, 0);
        let mut command = world.command();
        let other =
            ended(command.current_dir(&workspace).args(["init", "--print", "--template", "read-only"]));
        assert_eq!(other.status, 0, "{}", other.stderr);
    }
}

/// The name of the file may contain shell syntax.
#[test]
fn the_suggested_commands_can_be_pasted() {
    let world = World::bare();
    let written = ended(world.command().args(["--policy", "./a $(touch ran)\u{1b}.json", "init"]));
    assert_eq!(written.status, 0, "{}", written.stderr);
    assert!(!written.stdout.contains('\u{1b}'));
    let named: Vec<&str> =
        written.stdout.lines().filter(|line| line.starts_with("  openclaw-guard")).collect();
    assert_eq!(named.len(), 3);
    for line in named {
        assert!(line.contains("'./a $(touch ran)\\u{1B}.json'"), "{line}");
    }
}

#[test]
fn neither_work_nor_temporary_files_are_where_secrets_are() {
    let world = World::bare();
    fs::create_dir(world.home().join(".config")).expect("a directory");
    for directory in [world.home().join(".config"), "/etc".into(), "/run".into()] {
        let refused = ended(world.command().args(["init", "--print", "--workspace"]).arg(&directory));
        assert_eq!((refused.status, refused.stdout.as_str()), (125, ""), "{directory:?}");
        assert!(refused.stderr.contains("contains secrets"), "{}", refused.stderr);
        let printed = ended(world.command().args(["init", "--print"]).env("TMPDIR", &directory));
        assert_eq!(printed.status, 0, "{}", printed.stderr);
        let name = directory.file_name().expect("a name").to_str().expect("text");
        assert!(!printed.stdout.contains(&format!("/{name}/**\": \"rwx")), "{}", printed.stdout);
    }
    for directory in ["/", "/usr"] {
        let printed = ended(world.command().args(["init", "--print"]).env("TMPDIR", directory));
        assert_eq!(printed.status, 0, "{}", printed.stderr);
        assert!(!printed.stdout.contains(&format!("\"{}/**\": \"rwx", directory.trim_end_matches('/'))));
    }
}

#[test]
fn a_short_policy_extends_the_template() {
    let world = World::bare();
    let written = init(&world, &["--short", "--template", "claude-code"]);
    assert_eq!((written.status, written.stderr.as_str()), (0, ""));
    let text = world.read("home/.openclaw/guard.json").expect("a policy");
    assert!(text.lines().count() < 12 && text.contains("\"extends\": \"claude-code\""), "{text}");
    assert_eq!(ended(world.command().args(["policy", "validate", "--strict"])).status, 0);
    assert_eq!(world.sh("echo x > here && mkdir -p ~/.claude && echo x > ~/.claude/x").status, 0);
    assert_ne!(world.sh("echo x > ~/there").status, 0);
    let refused = init(&World::bare(), &["--short", "--template", "openclaw"]);
    assert!(refused.status == 125 && refused.stderr.contains("--short"), "{}", refused.stderr);
}

#[test]
fn the_same_template_has_nothing_to_do_in_the_next_project() {
    for short in [&["--short"][..], &[]] {
        let world = World::bare();
        assert_eq!(init(&world, short).status, 0);
        let text = world.read("home/.openclaw/guard.json");
        for arguments in [&[][..], &["--template", "coding"]] {
            let again = init(&world, &[short, arguments].concat());
            assert!(again.status == 0 && again.stdout.starts_with("nothing to do: "), "{}", again.stderr);
        }
        // Another template is another policy.
        assert_eq!(init(&world, &["--template", "scratch"]).status, 125);
        assert_eq!(world.read("home/.openclaw/guard.json"), text);
    }
}

/// Leaves out the rules for files and directories of other tests, and for what is gone by now: a home that is in `/tmp` has
/// `/tmp` come apart.
fn leave_out_others(world: &World) {
    let is_kept = |line: &&str| {
        let pattern = line.trim_start().strip_prefix('"').and_then(|line| line.split_once('"'));
        let path = pattern.map(|(pattern, _)| Path::new(pattern.strip_suffix("/**").unwrap_or(pattern)));
        path.is_none_or(|path| {
            let is_others = path.starts_with("/tmp") && !path.starts_with(world.root());
            let is_gone = path.is_absolute() && !path.to_string_lossy().contains('*') && !path.exists();
            !is_others && !is_gone
        })
    };
    let text = world.read("home/.openclaw/guard.json").expect("a policy");
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    world.write("home/.openclaw/guard.json", kept.join("\n"));
}

/// Which classes of calls the kernel decides about under the policy in force, and why not about reads.
fn exact_classes(world: &World) -> (Vec<String>, String) {
    let shown = ended(world.command().args(["policy", "show", "--tiers", "--json"]));
    let plan: Value = serde_json::from_str(&shown.stdout).expect(&shown.stderr);
    let classes = plan["classes"].as_object().expect("classes").iter();
    let exact = classes.filter(|(_, class)| class["exact"] == true).map(|(name, _)| name.clone());
    (exact.collect(), plan["classes"]["read"]["because"].to_string())
}

#[test]
fn a_fast_policy_leaves_reads_to_the_kernel() {
    let world = World::bare();
    world.write("home/.gitconfig", "[user]\n\tname = fast\n");
    world.write("home/.cache/tool/x", "cached\n");
    world.write("home/.cache/huggingface/token", "secret\n");
    world.write("home/.ssh/id_rsa", "secret\n");
    world.write("home/notes", "private\n");
    world.write("work/in", "work\n");
    let written = init(&world, &["--fast"]);
    assert_eq!((written.status, written.stderr.as_str()), (0, ""));
    for told in ["nobody is told", "in parts   ~/.cache/**: 1 part", "left out   ", "--force"] {
        assert!(written.stdout.contains(told), "{told}: {}", written.stdout);
    }
    leave_out_others(&world);
    let (exact, why_not) = exact_classes(&world);
    assert_eq!(exact, ["list", "read"], "{why_not}");
    assert_eq!(ended(world.command().args(["policy", "validate", "--strict"])).status, 0);
    assert_eq!(ended(world.command().args(["policy", "test"])).status, 0);

    let work = world
        .sh("cat in ~/.gitconfig ~/.cache/tool/x && ls . /usr/bin > /dev/null && echo y > out && cat out");
    assert_eq!((work.status, work.stderr.as_str()), (0, ""), "{}", work.stdout);
    for closed in ["~/.ssh/id_rsa", "~/notes", "~/.cache/huggingface/token", "/proc/self/environ"] {
        let read = world.sh(&format!("cat {closed}"));
        assert_eq!((read.status, read.stdout.as_str()), (1, ""), "{closed}");
        // The kernel's own answer, and no line of the guard's.
        assert!(
            read.stderr.contains("Permission denied") && read.stderr.lines().count() == 1,
            "{}",
            read.stderr
        );
    }
    assert_ne!(world.sh("echo x > ~/there").status, 0);
    // It names what this machine has, so it is written for no project but by force.
    assert_eq!(init(&world, &["--fast"]).status, 125);
    assert_eq!(init(&world, &["--fast", "--force"]).status, 0);
}

/// Some reads and writes, each with whether the policy in force allows it.
fn allowed(world: &World) -> BTreeMap<String, bool> {
    let paths = [
        "~/.cache/a/x",
        "~/.cache/huggingface/token",
        "~/.ssh/id_rsa",
        "~/.cargo/config.toml",
        "~/notes",
        "/etc/passwd",
        "/etc/shadow",
        "/usr/bin/env",
        "~/../work/in",
        "~/.cache/b",
        "/proc/self/environ",
        "/dev/null",
    ];
    let questions =
        paths.iter().flat_map(|path| ["read", "write"].map(|op| json!({"op": op, "path": path}).to_string()));
    let questions: Vec<String> = questions.collect();
    let answers =
        ended_with_input(world.command().args(["check", "--batch"]), questions.join("\n").as_bytes());
    let answers = answers.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let answers: Vec<bool> = answers.map(|answer| answer["outcome"] == "allow").collect();
    assert_eq!(answers.len(), questions.len());
    questions.into_iter().zip(answers).collect()
}

#[test]
fn a_fast_policy_grants_no_more_than_its_template() {
    for template in guard_policy::Template::ALL {
        let worlds = [World::bare(), World::bare()];
        let name = template.as_str();
        let [fast, slow] = [&["--template", name, "--fast"][..], &["--template", name]].map(|arguments| {
            let world = &worlds[usize::from(arguments.len() == 2)];
            for file in
                [".cache/a/x", ".cache/huggingface/token", ".ssh/id_rsa", ".cargo/config.toml", "notes"]
            {
                world.write(Path::new("home").join(file), "x");
            }
            (init(world, arguments), world)
        });
        assert_eq!(slow.0.status, 0, "{name}: {}", slow.0.stderr);
        if fast.0.status != 0 {
            assert!(fast.0.stderr.contains("leave out --fast"), "{name}: {}", fast.0.stderr);
            continue;
        }
        leave_out_others(fast.1);
        let (exact, why_not) = exact_classes(fast.1);
        assert!(
            ["list", "read"].iter().all(|class| exact.iter().any(|one| one == class)),
            "{name}: {exact:?}, not reads because {why_not}"
        );
        let [fast, slow] = [fast.1, slow.1].map(allowed);
        for (question, is_allowed) in &fast {
            assert!(!is_allowed || slow[question], "{name}: {question}");
        }
    }
}
