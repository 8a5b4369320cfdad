//! What one run arranges, and a later one would use: modes that hide what the start looks up, names that fill its bounds,
//! links in the places that a policy names, second names of files that are protected later, and the files of other runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use guard_tests::{Ended, World, ended};

use crate::planted::operator;

/// Runs a line under the guard, in a directory below the world's, with these variables and arguments.
pub fn run(
    world: &World,
    directory: &str,
    variables: &[(&str, &str)],
    arguments: &[&str],
    line: &str,
) -> Ended {
    let mut command = world.command();
    operator(world, &mut command).current_dir(world.root().join(directory));
    command.envs(variables.iter().copied());
    ended(command.args(arguments).args(["--", "sh", "-c", line]))
}

/// Runs a line of the operator's, in `work`.
fn native(world: &World, line: &str) -> Ended {
    let mut command = world.native_command();
    ended(operator(world, &mut command).args(["sh", "-c", &format!("set -e; {line}")]))
}

/// A policy that lets system programs run, and no more.
const NAMED: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules":
    {"/usr/**": "r-x", "/bin/**": "r-x", "/lib/**": "r-x", "/lib64/**": "r-x", "/etc/**": "r--"}}}}"#;

/// A world in which the operator has run a line in `work`.
pub fn made(before: &str) -> World {
    let world = World::bare();
    let done = native(&world, before);
    assert_eq!(done.status, 0, "{}", done.stderr);
    world
}

const DOTFILES: &str = "mkdir -p dot/v1; echo : > dot/v1/bashrc; ln -s v1 dot/current; ln -s ../work/dot/current/bashrc ~/.bashrc";

#[test]
fn a_directory_that_was_shut_hides_nothing_that_is_protected() {
    for (before, shut, kept, line) in [
        (DOTFILES, "chmod 000 dot", "work/dot/v1/bashrc", "chmod 755 dot; echo x >> dot/v1/bashrc"),
        (DOTFILES, "chmod 600 dot", "work/dot/v1/bashrc", "chmod 755 dot; echo x >> dot/v1/bashrc"),
        (
            "mkdir -p dot/v1; echo : > dot/v1/x.vim; ln -s ../work/dot/v1 ~/.vim",
            "chmod 000 dot",
            "work/dot/v1/x.vim",
            "chmod 755 dot; echo x >> dot/v1/x.vim",
        ),
        (
            "mkdir inc; echo : > inc/hooks; printf '[core]\\n\\thooksPath = %s/inc/hooks\\n' \"$PWD\" > inc/config
             printf '[include]\\n\\tpath = %s/inc/config\\n' \"$PWD\" > ~/.gitconfig",
            "chmod 000 inc",
            "work/inc/hooks",
            "chmod 755 inc; echo x >> inc/hooks",
        ),
        (
            "git init -q proj; mkdir -p proj/tools/hooks; echo : > proj/tools/hooks/x; git -C proj config core.hooksPath tools/hooks",
            "chmod 000 proj",
            "work/proj/tools/hooks/x",
            "chmod 755 proj; echo x >> proj/tools/hooks/x",
        ),
    ] {
        let world = made(before);
        let before = world.read(kept).expect("the file");
        // What leads to a protected place stays open; the operator's own hand shuts it.
        let directory = shut.rsplit(' ').next().expect("a name");
        let refused = run(&world, "work", &[], &[], &format!("! {shut} && ls {directory}/. > /dev/null"));
        assert_eq!(refused.status, 0, "{shut}: {}", refused.stderr);
        let stays_open = directory == "proj";
        if !stays_open {
            native(&world, shut);
        }
        let next = run(&world, "work", &[], &[], line);
        native(&world, "chmod -R u+rwX .");
        assert_eq!(world.read(kept).as_deref(), Some(&*before), "{shut}, {line}: {}", next.stderr);
        // root's lookups do not depend on the mode.
        let is_root = rustix::process::geteuid().is_root();
        let is_refused = next.stderr.contains("which is yours, so it cannot tell whether");
        let is_held = is_root || stays_open || is_refused && next.status == 125;
        assert!(is_held, "{}: {}", next.status, next.stderr);
        assert_eq!(run(&world, "work", &[], &[], "true").status, 0, "it starts again afterwards");
    }
}

#[test]
fn a_secret_behind_a_directory_that_was_shut_is_not_read() {
    let world = made(
        "mkdir -p dot/current ~/.openclaw; echo TOPSECRET > dot/current/openclaw.json
        ln -s ../../work/dot/current/openclaw.json ~/.openclaw/openclaw.json",
    );
    run(&world, "work", &[], &[], "chmod 000 dot");
    let read = run(&world, "work", &[], &[], "chmod 755 dot; cat dot/current/openclaw.json");
    assert!(!read.stdout.contains("TOPSECRET"), "{}", read.stderr);
}

#[test]
fn a_former_policy_that_is_hidden_or_gone_is_remembered() {
    let open = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": false,
        "filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#;
    for (hide, make) in [
        ("chmod 000 pol", "chmod 755 pol; cp open pol/p.json"),
        ("true", "cp open pol/p.json"),
        ("true", "mkdir new; cp open new/p.json; mv pol old; mv new pol"),
    ] {
        let world = made("mkdir pol");
        world.write("work/open", open);
        let policy = world.write("work/pol/p.json", NAMED);
        let named = ["--policy", policy.to_str().expect("text")];
        assert_eq!(run(&world, "work", &[], &named, "true").status, 0);
        run(&world, "work", &[], &[], hide);
        if hide == "true" {
            fs::remove_file(&policy).expect("the operator removes it");
        }
        let line = run(&world, "work", &[], &[], make);
        native(&world, "chmod -R u+rwX .");
        assert_ne!(world.read("work/pol/p.json").as_deref(), Some(open), "{make}: {}", line.stderr);
    }
}

/// A run that is there already learns of the policy of a run that starts later.
#[test]
fn a_run_leaves_the_policy_of_a_later_one_alone() {
    let world = World::bare();
    let policy = world.write("work/p.json", NAMED);
    let mut first = world.command();
    let line = "echo > ready; until [ -e go ]; do sleep .05; done; n=0
        while echo x >> p.json; do n=$((n + 1)); [ $n -lt 1200 ] || exit 7; sleep .05; done";
    let first = first.args(["--", "bash", "-c", line]).spawn().expect("the guard");
    guard_tests::until("the first run is there", || world.read("work/ready").is_some());
    let named = ["--policy", policy.to_str().expect("text")];
    assert_eq!(run(&world, "work", &[], &named, "true").status, 0);
    world.write("work/go", "");
    let ended = first.wait_with_output().expect("its end");
    assert_ne!(ended.status.code(), Some(7), "it may write the policy for a minute");
}

#[test]
fn no_bound_of_the_start_is_used_up() {
    let hooked = "git init -q proj; mkdir -p proj/tools/hooks; echo : > proj/tools/hooks/x; git -C proj config core.hooksPath tools/hooks";
    let included = "mkdir -p inc/hooks; echo : > inc/hooks/x; printf '[core]\\n\\thooksPath = %s/inc/hooks\\n' \"$PWD\" > inc/config
        printf '[include]\\n\\tpath = %s/inc/config\\n' \"$PWD\" > ~/.gitconfig";
    for (before, fill, kept) in [
        (
            included,
            "git init -q zz; for i in $(seq 90); do printf '[include]\\n\\tpath = /nonexistent/%s\\n' $i >> zz/.git/config; done",
            "inc/hooks/x",
        ),
        (hooked, "seq 3000 | sed 's/^/0/' | xargs mkdir", "proj/tools/hooks/x"),
        (hooked, "seq 5000 | sed 's/^/0/' | xargs touch", "proj/tools/hooks/x"),
        (hooked, "chmod 333 .", "proj/tools/hooks/x"),
    ] {
        let world = made(before);
        run(&world, "work", &[], &[], fill);
        let next = run(&world, "work", &[], &[], &format!("chmod 755 .; echo x >> {kept}"));
        native(&world, "chmod u+rwX .");
        assert_eq!(world.read(format!("work/{kept}")).as_deref(), Some(":\n"), "{fill}: {}", next.stderr);
    }
}

#[test]
fn what_an_agent_starts_is_found_among_many_names() {
    let world = made("mkdir -p ~/.claude/z; echo : > ~/.claude/z/hook");
    world.write(
        "home/.claude/settings.json",
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "~/.claude/z/hook"}]}]}}"#,
    );
    let fill = r#"python3 -c 'import json, os
home = os.environ["HOME"]
json.dump({"mcpServers": {str(i): {"command": f"{home}/.claude/a/{i:04}"} for i in range(900)}}, open(home + "/.claude.json", "w"))'"#;
    let profile = ["--profile", "claude-code"];
    let filled = run(&world, "work", &[], &profile, fill);
    assert!(world.read("home/.claude.json").is_some(), "{}", filled.stderr);
    let next = run(&world, "work", &[], &profile, "echo x >> ~/.claude/z/hook");
    assert_eq!(world.read("home/.claude/z/hook").as_deref(), Some(":\n"), "{}", next.stderr);
}

/// A script of the project that the settings there have an agent run by itself.
#[test]
fn a_script_that_a_projects_settings_name_is_not_the_trees() {
    let world =
        made("mkdir -p .claude/scripts tools; echo : > .claude/scripts/check.sh; echo : > tools/line.py");
    world.write(
        "work/.claude/settings.json",
        r#"{"statusLine": {"command": "python3 tools/line.py"},
            "hooks": {"Stop": [{"hooks": [{"command": "\"$CLAUDE_PROJECT_DIR\"/.claude/scripts/check.sh"}]}]}}"#,
    );
    let done = run(
        &world,
        "work",
        &[],
        &[],
        "echo x >> tools/line.py; echo x >> .claude/scripts/check.sh; echo y > tools/other",
    );
    for kept in ["work/.claude/scripts/check.sh", "work/tools/line.py"] {
        assert_eq!(world.read(kept).as_deref(), Some(":\n"), "{kept}: {}", done.stderr);
    }
    assert!(world.read("work/tools/other").is_some(), "{}", done.stderr);
}

/// Those of other agents and of editors, in each of their formats; and only what they start.
#[test]
fn what_other_settings_of_a_project_start_is_not_the_trees() {
    for (settings, text) in [
        (".mcp.json", r#"{"mcpServers": {"x": {"command": "bash", "args": ["./tools/x.sh"]}}}"#),
        (".cursor/hooks.json", r#"{"hooks": {"stop": [{"command": "npx tsx tools/x.sh"}]}}"#),
        (".codex/config.toml", "notify = [\"bash\", \"tools/x.sh\"]"),
        (".github/hooks/x.json", r#"{"hooks": {"sessionStart": [{"bash": "sh < tools/x.sh"}]}}"#),
        ("opencode.jsonc", "{// c\n\"mcp\": {\"x\": {\"command\": [\"bash\", \"./tools/x.sh\"]}}}"),
        (".claude/agents/x.md", "---\nhooks:\n  Stop:\n    - command: ./tools/x.sh\n---\nSee tools/other.sh"),
        (".aider.conf.yml", "lint-cmd: ./tools/x.sh"),
        (
            ".vscode/tasks.json",
            r#"{"tasks": [{"command": "./tools/x.sh", "runOptions": {"runOn": "folderOpen"}}]}"#,
        ),
        (
            ".claude/settings.json",
            r#"{"env": {"BASH_ENV": "./tools/x.sh"}, "permissions": {"allow": ["Edit(tools/other.sh)"]}}"#,
        ),
    ] {
        let before =
            format!("mkdir -p tools $(dirname {settings}); echo : > tools/x.sh; echo : > tools/other.sh");
        let world = made(&before);
        world.write(format!("work/{settings}"), text);
        let done = run(&world, "work", &[], &[], "echo x >> tools/x.sh; echo x >> tools/other.sh");
        assert_eq!(world.read("work/tools/x.sh").as_deref(), Some(":\n"), "{settings}: {}", done.stderr);
        assert_eq!(
            world.read("work/tools/other.sh").as_deref(),
            Some(":\nx\n"),
            "{settings}: {}",
            done.stderr
        );
    }
}

/// Settings of the home that change while the run is there.
#[test]
fn a_script_that_the_settings_of_the_home_name_meanwhile_is_not_the_trees() {
    let world = made("mkdir -p ~/p/tools ~/.claude; echo : > ~/p/tools/line.sh");
    let line = "touch up; for i in $(seq 100); do [ -e go ] && break; sleep 0.1; done; echo x >> tools/line.sh; echo y > tools/other";
    let done = std::thread::scope(|scope| {
        let done = scope.spawn(|| run(&world, "home/p", &[], &[], line));
        while world.read("home/p/up").is_none() && !done.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        world.write("home/.claude/settings.json", r#"{"statusLine": {"command": "~/p/tools/line.sh"}}"#);
        // What was looked up before counts for a second.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        world.write("home/p/go", "");
        done.join().expect("the run")
    });
    assert_eq!(world.read("home/p/tools/line.sh").as_deref(), Some(":\n"), "{}", done.stderr);
    assert!(world.read("home/p/tools/other").is_some(), "{}", done.stderr);
}

/// Wherever the run starts.
#[test]
fn a_script_that_the_settings_of_a_project_below_name_is_not_the_trees() {
    let world = made("mkdir -p a/p/.claude a/p/tools a/p/new; echo : > a/p/tools/line.py");
    let settings =
        r#"{"statusLine": {"command": "python3 tools/line.py"}, "apiKeyHelper": "./tools/key.sh"}"#;
    world.write("work/a/p/.claude/settings.json", settings);
    for (directory, project) in [("work", "a/p"), ("work/a", "p"), ("work/a/p/new", "..")] {
        let line = format!(
            "cd {project}; echo x >> tools/line.py; echo x > tools/key.sh; mv tools old; rm tools/line.py; echo y > tools/other"
        );
        let open = world.write(
            "work/open.json",
            NAMED.replacen("{\"/usr", &format!("{{\"{}/**\": \"rwx\", \"/usr", world.work().display()), 1),
        );
        let named = ["--policy", open.to_str().expect("text")];
        let done = run(&world, directory, &[], &named, &line);
        assert_eq!(
            world.read("work/a/p/tools/line.py").as_deref(),
            Some(":\n"),
            "{directory}: {}",
            done.stderr
        );
        assert!(world.read("work/a/p/tools/key.sh").is_none(), "{directory}: {}", done.stderr);
        assert!(world.read("work/a/p/tools/other").is_some(), "{directory}: {}", done.stderr);
        fs::remove_file(world.work().join("a/p/tools/other")).expect("to remove it");
    }
    // A link of the operator's on the way stays.
    fs::create_dir(world.work().join("real")).expect("a directory");
    world.write("work/real/line.py", ":\n");
    fs::remove_dir_all(world.work().join("a/p/tools")).expect("to remove it");
    symlink("../../real", world.work().join("a/p/tools")).expect("a link");
    let open = world.work().join("open.json");
    let named = ["--policy", open.to_str().expect("text")];
    let done = run(&world, "work", &[], &named, "cd a/p; rm tools; mkdir tools; ln -sfn ../../q tools");
    let led = fs::read_link(world.work().join("a/p/tools")).expect("the link");
    assert_eq!(led, Path::new("../../real"), "{}", done.stderr);
    // In a project of the tree's own, its settings and scripts are the tree's.
    let done = run(
        &world,
        "work",
        &[],
        &[],
        "mkdir -p q/.claude q/tools; echo y > q/tools/line.py; echo x >> q/tools/line.py",
    );
    assert_eq!(world.read("work/q/tools/line.py").as_deref(), Some("y\nx\n"), "{}", done.stderr);
}

/// A place that a run may replace by a link, as a whole.
#[test]
fn a_link_in_the_place_of_what_a_policy_names_grants_nothing() {
    let notes = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": false,
        "filesystem": {"rules": {SYSTEM, "~/notes/**": "rw-", "@/work/**": "rwx"}, "default": "---"}}}"#;
    for is_temporary in [true, false] {
        let world = if is_temporary { World::bare() } else { World::bare().policy(notes) };
        let named = world.home().join(if is_temporary { "tmp" } else { "notes" });
        fs::create_dir(&named).expect("a directory");
        world.write("home/private/secret", "TOPSECRET");
        let path = named.to_str().expect("text").to_owned();
        let variables = [if is_temporary { ("TMPDIR", &*path) } else { ("X", "") }];
        // The link itself is refused where it would lead there, so the operator's own hand stands for what is not.
        run(&world, "work", &variables, &[], &format!("rmdir {path}"));
        let _ = fs::remove_dir(&named);
        symlink("private", &named).expect("a link");
        let (start, pwd) =
            if is_temporary { ("work", world.work()) } else { ("home/private", named.clone()) };
        let variables = [variables[0], ("PWD", pwd.to_str().expect("text"))];
        let read = run(&world, start, &variables, &[], &format!("cat {path}/secret; echo x > {path}/new"));
        assert!(
            !read.stdout.contains("TOPSECRET") && world.read("home/private/new").is_none(),
            "{}",
            read.stderr
        );
    }
}

/// A rule does not follow a link that a run under another policy may have made.
#[test]
fn a_rule_does_not_follow_a_link_of_an_earlier_run() {
    let world = made("mkdir -p shop/docs ../else; echo TOPSECRET > ../else/secret");
    run(&world, "work", &[], &[], "rmdir shop/docs");
    let _ = fs::remove_dir(world.work().join("shop/docs"));
    symlink("../../else", world.work().join("shop/docs")).expect("a link");
    let world = world.policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": false,
            "filesystem": {"rules": {SYSTEM, "@/work/shop/docs/**": "r-x"}, "default": "---"}}}"#,
    );
    let read = run(&world, "home", &[], &[], "cat ../else/secret ../work/shop/docs/secret");
    assert!(!read.stdout.contains("TOPSECRET"), "{}", read.stderr);
}

#[test]
fn a_second_name_does_not_outlive_the_directory() {
    for (attack, name) in [
        (
            "git init -q --bare n/x; git -C n/x config core.bare false; ln n/x/config notes.txt; mv n/x n/.git",
            "n/.git/config",
        ),
        (
            "mkdir -p d hh; echo : > hh/pre-commit; ln hh/pre-commit notes.txt; git init -q d; rm -rf d/.git/hooks; mv hh d/.git/hooks",
            "d/.git/hooks/pre-commit",
        ),
        (
            "mkdir -p v/a; echo : > v/a/tasks.json; ln v/a/tasks.json notes.txt; mv v/a v/.vscode",
            "v/.vscode/tasks.json",
        ),
        ("git init -q --bare n; ln n/config notes.txt", "n/config"),
    ] {
        let world = World::bare();
        run(&world, "work", &[], &[], attack);
        let before = world.read(format!("work/{name}"));
        run(&world, "work", &[], &[], "echo x >> notes.txt");
        assert_eq!(world.read(format!("work/{name}")), before, "{attack}");
    }
}

#[test]
fn the_log_of_another_run_is_not_the_trees() {
    for attack in [
        "rm -rf log.jsonl log.jsonl.d",
        "echo > log.jsonl",
        "rm -r log.jsonl.d/*; cat log.jsonl",
        "mv log.jsonl.d away",
    ] {
        let world = World::bare();
        let log = world.work().join("log.jsonl");
        let named = |arguments: &[&str]| {
            let mut command = std::process::Command::new(guard_tests::guard());
            command.current_dir(world.work()).env("HOME", world.home()).stdin(std::process::Stdio::null());
            ended(command.arg("--unattended").arg("--audit").arg(&log).args(arguments))
        };
        let first = named(&["--", "sh", "-c", "cat /etc/shadow; true"]);
        assert_eq!(first.status, 0, "{}", first.stderr);
        let before = fs::read(&log).expect("the log");
        let next = run(&world, "work", &[], &[], attack);
        assert_eq!(fs::read(&log).expect("the log"), before, "{attack}: {}", next.stderr);
        assert!(!next.stdout.contains("shadow"), "{attack}");
        let verified = named(&["audit", "verify"]);
        assert_eq!(verified.status, 0, "{attack}: {}{}", verified.stdout, verified.stderr);
    }
}

#[test]
fn a_log_with_a_second_name_and_a_fifo_of_an_earlier_run_are_refused() {
    for prepare in ["touch log.jsonl; ln log.jsonl q", "mkfifo log.jsonl"] {
        let world = World::bare();
        assert_eq!(run(&world, "work", &[], &[], prepare).status, 0);
        let log = world.work().join("log.jsonl");
        let mut command = std::process::Command::new(guard_tests::guard());
        command.current_dir(world.work()).env("HOME", world.home()).stdin(std::process::Stdio::null());
        let next = ended(command.arg("--unattended").arg("--audit").arg(&log).args(["--", "true"]));
        assert_eq!(next.status, 125, "{prepare}: {}", next.stderr);
    }
}

/// The next run does not have the variable that named it.
#[test]
fn a_state_directory_of_another_run_is_not_the_trees() {
    let world = World::bare();
    let state = world.work().join(".state");
    let variable = [("OPENCLAW_STATE_DIR", state.to_str().expect("text"))];
    assert_eq!(run(&world, "work", &variable, &[], "true").status, 0);
    let next = run(&world, "work", &[], &[], "mkdir -p .state; echo '{}' > .state/guard.json; ls -a .state");
    assert!(world.read("work/.state/guard.json").is_none(), "{}", next.stderr);
}

/// Nor does it have the variable that named OpenClaw's configuration, or the policy that names the file with the token.
#[test]
fn the_tokens_of_another_run_are_not_read() {
    let world = made("echo CONFIGURED > openclaw.json; echo TOKEN > token");
    let at = |name: &str| world.work().join(name).display().to_string();
    let config = [("OPENCLAW_CONFIG_PATH", &*at("openclaw.json"))];
    let gateway = format!(
        r#""approvals": {{"gateway": {{"url": "ws://127.0.0.1:1", "tokenFile": "{}"}}}}"#,
        at("token")
    );
    let policy =
        world.write("work/policy.json", NAMED.replacen("\"exec\"", &format!("{gateway}, \"exec\""), 1));
    let named = ["--policy", policy.to_str().expect("text")];
    let first = run(&world, "work", &config, &named, "true");
    assert_eq!(first.status, 0, "{}", first.stderr);
    world.write("work/openclaw.json.clobbered.1", "COPIED");
    world.write("work/plain", "plain\n");
    let next = run(
        &world,
        "work",
        &[],
        &[],
        "cat openclaw.json token openclaw.json.clobbered.1 plain; echo x > token; echo x > openclaw.json",
    );
    assert_eq!(next.stdout, "plain\n", "{}", next.stderr);
    assert_eq!(world.read("work/token").as_deref(), Some("TOKEN\n"));
    assert_eq!(world.read("work/openclaw.json").as_deref(), Some("CONFIGURED\n"));
    // One that is made later, and one by its name in the home.
    world.write("home/late/.keep", "");
    for (named, file) in
        [(at("late.json"), "work/late.json"), ("~/late/config.json".to_owned(), "home/late/config.json")]
    {
        let first = run(&world, "work", &[("OPENCLAW_CONFIG_PATH", &named)], &[], "true");
        assert_eq!(first.status, 0, "{}", first.stderr);
        let path = world.write(file, "LATE");
        let next = run(&world, "work", &[], &[], &format!("cat {}", path.display()));
        assert_eq!(next.stdout, "", "{named}: {}", next.stderr);
    }
}

/// A `.git` of an earlier run makes the directory around the work no workspace of the operator's.
#[test]
fn a_repository_of_a_run_makes_no_environment_the_works() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions":
            {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}, "default": "---"}}}"#,
    );
    for name in ["work/env/bin/tool", "work/env/pyvenv.cfg", "work/sub/x"] {
        world.write(name, "");
    }
    let path = format!("{}:/usr/bin:/bin", world.work().join("env/bin").display());
    let variables = [("PATH", &*path)];
    run(&world, "work/sub", &variables, &[], "git init -q ..");
    let next = run(&world, "work/sub", &variables, &[], "echo x > ../env/bin/ls");
    assert!(world.read("work/env/bin/ls").is_none(), "{}", next.stderr);
}

/// Repositories of the operator's that lie deeper than where the run starts, or elsewhere.
#[test]
fn what_a_configuration_names_is_protected_wherever_the_repository_is() {
    let before = "mkdir -p a/r/hk a/r/tools; cd a/r; git init -q; git config core.hooksPath hk; git config include.path ../inc.cfg
        git config core.fsmonitor tools/fsm; : > inc.cfg; echo : > hk/pre-commit; echo : > tools/fsm; cd ../..; cp -r a/r ../elsewhere";
    let world = made(before).policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions":
            {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/elsewhere/**": "rwx"}, "default": "---"}}}"#,
    );
    for top in ["a/r", "../elsewhere"] {
        let line = format!(
            "cd {top}; echo x >> hk/pre-commit; echo x >> inc.cfg; echo x >> tools/fsm; mkdir t; echo x > t/fsm; mv t tools2
             mv tools away; rm -r hk; echo fine > plain"
        );
        let done = run(&world, "work", &[], &[], &line);
        let top = Path::new("work").join(top);
        for (kept, content) in
            [("hk/pre-commit", ":\n"), ("inc.cfg", ""), ("tools/fsm", ":\n"), ("plain", "fine\n")]
        {
            assert_eq!(world.read(top.join(kept)).as_deref(), Some(content), "{kept}: {}", done.stderr);
        }
    }
}

/// OpenClaw leaves copies beside its configuration when it changes.
#[test]
fn a_copy_of_openclaws_configuration_that_is_made_meanwhile_is_not_read() {
    let world = made("echo '{}' > openclaw.json");
    let config = world.work().join("openclaw.json");
    let variable = [("OPENCLAW_CONFIG_PATH", config.to_str().expect("text"))];
    let mut command = world.command();
    operator(&world, &mut command).envs(variable);
    let line = "echo > ready; until [ -e go ]; do sleep .05; done; cat openclaw.json.* plain.json";
    let run = command
        .args(["--", "sh", "-c", line])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the guard");
    guard_tests::until("it runs", || world.read("work/ready").is_some());
    for name in ["openclaw.json.clobbered.1", "openclaw.json.4711.x.tmp", "openclaw.json.bak.5"] {
        world.write(format!("work/{name}"), "TOPSECRET");
    }
    world.write("work/plain.json", "plain");
    world.write("work/go", "");
    let text = String::from_utf8(run.wait_with_output().expect("its end").stdout).expect("text");
    assert_eq!(text, "plain");
}

/// The other projects may be read, and their programs started.
const OTHERS: &str = r#", "@/home/code/**": "r-x""#;

/// A policy for each project, in which somebody is asked about the rest.
fn asking_world(exec: &str, rule: &str) -> World {
    let rules = format!(r#""rules": {{SYSTEM, "${{workspace}}/**": "rwx"{rule}}}, "default": "???""#);
    let world = World::bare()
        .policy(&format!(
            r#"{{"version": 1, "exec": {{{exec}"timeoutMs": 60000}}, "permissions": {{"filesystem": {{{rules}}}}},
                "agents": {{"main": {{"allowlist": [{{"pattern": "{}"}}]}}}}}}"#,
            guard_tests::program("sleep").canonicalize().expect("a path").display()
        ))
        .attended();
    for name in ["a/src", "b"] {
        fs::create_dir_all(world.home().join("code").join(name)).expect("directories");
    }
    world
}

fn executable(file: &Path) {
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Starts a run below `home/code`.
fn start<'w>(world: &'w World, directory: &str, argv: &[&str]) -> guard_tests::Held<'w> {
    start_with(world, directory, &[], argv)
}

/// The same, with these variables.
fn start_with<'w>(
    world: &'w World,
    directory: &str,
    variables: &[(&str, &str)],
    argv: &[&str],
) -> guard_tests::Held<'w> {
    let mut command = world.command();
    let directory = world.home().join("code").join(directory);
    command.current_dir(&directory).env("PWD", &directory).envs(variables.iter().copied());
    command.arg("--").args(argv);
    world.start_command(command)
}

#[test]
fn a_repository_that_an_answer_lets_a_run_make_chooses_no_workspace() {
    let world = asking_world(r#""security": "full", "#, "");
    let (asked, ended) = start(&world, "a", &["mkdir", "../.git"]).answer_all(|_| "allow-once");
    assert!(!asked.is_empty() && world.home().join("code/.git").exists(), "{}", ended.stderr);
    let write = ["sh", "-c", "echo x > ../../b/x; echo x > own"];
    let (asked, next) = start(&world, "a/src", &write).answer_all(|_| "deny");
    assert_eq!((asked.len(), world.read("home/code/b/x")), (1, None), "{}", next.stderr);
    assert!(world.read("home/code/a/src/own").is_some(), "{}", next.stderr);
}

/// An answer that was saved for a program is for what was there.
#[test]
fn an_answer_does_not_start_what_another_run_has_written() {
    for argv in [["../b/tool", "x"], ["../tools/unknown", "../b/tool"]] {
        let world = asking_world("", OTHERS);
        executable(&world.write("home/code/b/tool", "#!/bin/sh\necho fine\n"));
        executable(&world.write("home/code/tools/unknown", "#!/bin/sh\n. \"$1\"\n"));
        let (asked, ended) = start(&world, "a", &argv).answer_all(|_| "allow-always");
        assert_eq!((asked.len(), &*ended.stdout), (1, "fine\n"), "{argv:?}: {}", ended.stderr);
        let again = start(&world, "a", &argv).end();
        assert_eq!(again.stdout, "fine\n", "{argv:?}: {}", again.stderr);
        let evil = "printf '#!/bin/sh\necho evil\n' > tool";
        let (_, changed) = start(&world, "b", &["sh", "-c", evil]).answer_all(|_| "deny");
        assert!(
            world.read("home/code/b/tool").is_some_and(|text| text.contains("evil")),
            "{}",
            changed.stderr
        );
        let (asked, next) = start(&world, "a", &argv).answer_all(|_| "deny");
        assert_eq!((asked.len(), &*next.stdout), (1, ""), "{argv:?}: {}", next.stderr);
    }
}

/// A run that is there already learns of it.
#[test]
fn an_answer_does_not_start_what_a_run_beside_it_may_write() {
    let world = asking_world("", OTHERS);
    executable(&world.write("home/code/b/tool", "#!/bin/sh\necho fine\n"));
    let line = "../b/tool; until [ -e go ]; do sleep .05; done; n=0
        while ../b/tool; do n=$((n + 1)); [ $n -lt 1200 ] || exit 7; sleep .05; done";
    let first = start(&world, "a", &["sh", "-c", line]);
    world.answer("allow-always");
    guard_tests::until("the first run is there", || first.stdout().contains("fine"));
    assert_eq!(start(&world, "b", &["true"]).answer_all(|_| "allow-once").1.status, 0);
    world.write("home/code/a/go", "");
    let (asked, ended) = first.answer_all(|_| "deny");
    assert!(!asked.is_empty() && ended.status != 7, "it starts for a minute: {}", ended.stderr);
}

/// Neither a link on the way to another run's policy, nor the name that its next text has first, is the tree's.
#[test]
fn the_way_to_another_runs_policy_is_not_the_trees() {
    let open = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": false,
        "filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#;
    for attack in
        ["ln -sf ../open q.json", "rm q.json", "mv q.json away", "echo x > .real.json.new", "mv pol away"]
    {
        let world = made("mkdir pol; ln -s q.json pol/p.json; ln -s real.json pol/q.json");
        world.write("work/open", open);
        world.write("work/pol/real.json", NAMED);
        let policy = world.work().join("pol/p.json");
        let named = ["--policy", policy.to_str().expect("text")];
        assert_eq!(run(&world, "work", &[], &named, "true").status, 0);
        let line = format!("cd pol; {attack}; cd ..; {attack}");
        let next = run(&world, "work", &[], &[], &line);
        assert_eq!(world.read("work/pol/p.json").as_deref(), Some(NAMED), "{attack}: {}", next.stderr);
        assert!(world.read("work/pol/.real.json.new").is_none(), "{attack}: {}", next.stderr);
    }
}

/// An "always" for a directory counts from the moment on in which it is saved.
#[test]
fn what_an_always_lets_a_run_write_is_recorded() {
    let world = asking_world(r#""security": "full", "#, "");
    let line = "echo 1 > ../b/one; echo 2 > ../b/two";
    let (asked, ended) = start(&world, "a", &["sh", "-c", line]).answer_all(|_| "allow-always-directory");
    assert_eq!((asked.len(), world.read("home/code/b/two")), (1, Some("2\n".to_owned())), "{}", ended.stderr);
    let record = world.read("home/.openclaw/guard/workspaces.jsonl").expect("a record");
    let directory = world.home().join("code/b");
    assert!(
        record.lines().any(|line| line.contains(&format!("{:?}", directory.display().to_string()))),
        "{record}"
    );
}

/// A directory of PATH is protected from writes, but each run has a PATH of its own.
#[test]
fn an_answer_does_not_start_what_another_run_has_written_in_a_directory_of_path() {
    let world = asking_world("", OTHERS);
    executable(&world.write("home/code/b/bin/tool", "#!/bin/sh\necho fine\n"));
    let path = format!("{}:/usr/bin:/bin", world.home().join("code/b/bin").display());
    let tool = || start_with(&world, "a", &[("PATH", &*path)], &["../b/bin/tool"]);
    let (asked, ended) = tool().answer_all(|_| "allow-always");
    assert_eq!((asked.len(), &*ended.stdout), (1, "fine\n"), "{}", ended.stderr);
    let evil = "printf '#!/bin/sh\necho evil\n' > bin/tool";
    let (_, changed) = start(&world, "b", &["sh", "-c", evil]).answer_all(|_| "deny");
    assert!(
        world.read("home/code/b/bin/tool").is_some_and(|text| text.contains("evil")),
        "{}",
        changed.stderr
    );
    let (asked, next) = tool().answer_all(|_| "deny");
    assert_eq!((asked.len(), &*next.stdout), (1, ""), "{}", next.stderr);
}

/// Dotfiles keep the state directory elsewhere.
#[test]
fn a_state_directory_that_is_a_link_is_no_projects() {
    let world = World::bare();
    let policy = world.home().join(".openclaw");
    let _ = fs::create_dir_all(&policy);
    fs::rename(&policy, world.home().join("dotfiles")).expect("to move it");
    symlink("dotfiles", &policy).expect("a link");
    world.write("home/dotfiles/guard.json", NAMED);
    fs::create_dir_all(world.home().join("code")).expect("a directory");
    let mut command = std::process::Command::new(guard_tests::guard());
    command
        .current_dir(world.home().join("code"))
        .env("HOME", world.home())
        .stdin(std::process::Stdio::null());
    let started = ended(command.args(["--unattended", "-q", "--", "/bin/true"]));
    assert_eq!(started.status, 0, "{}", started.stderr);
}

/// The link is the operator's, and what it leads to is another run's.
#[test]
fn an_answer_does_not_start_what_a_link_of_the_operators_leads_to() {
    let world = asking_world("", OTHERS);
    executable(&world.write("home/code/b/script", "echo fine\n"));
    symlink("b/script", world.home().join("code/link")).expect("a link");
    executable(&world.write("home/code/tool", "#!/bin/sh\n. \"$1\"\n"));
    let argv = ["../tool", "../b/script"];
    let linked = ["../tool", "../link"];
    // The kernel follows the link first.
    fs::create_dir_all(world.home().join("code/b/sub")).expect("a directory");
    symlink("b/sub", world.home().join("code/ds")).expect("a link");
    let above = ["../tool", "../ds/../script"];
    for argv in [argv, linked, above] {
        let (asked, ended) = start(&world, "a", &argv).answer_all(|_| "allow-always");
        assert_eq!((asked.len(), &*ended.stdout), (1, "fine\n"), "{argv:?}: {}", ended.stderr);
        assert_eq!(start(&world, "a", &argv).end().stdout, "fine\n", "{argv:?}");
    }
    let (_, changed) = start(&world, "b", &["sh", "-c", "echo echo evil > script"]).answer_all(|_| "deny");
    assert_eq!(world.read("home/code/b/script").as_deref(), Some("echo evil\n"), "{}", changed.stderr);
    for argv in [argv, linked, above] {
        let (asked, next) = start(&world, "a", &argv).answer_all(|_| "deny");
        assert_eq!((asked.len(), &*next.stdout), (1, ""), "{argv:?}: {}", next.stderr);
    }
}

/// Without a guard.json, the directories of PATH are listed when a run starts.
#[test]
fn the_built_in_policy_starts_nothing_that_another_run_has_written() {
    let world = World::bare();
    for name in ["a", "b/bin"] {
        fs::create_dir_all(world.home().join("code").join(name)).expect("directories");
    }
    executable(&world.write("home/code/b/bin/tool", "#!/bin/sh\necho fine\n"));
    let path = format!("{}:/usr/bin:/bin", world.home().join("code/b/bin").display());
    let tool = || start_with(&world, "a", &[("PATH", &*path)], &["tool"]);
    let first = tool().end();
    assert_eq!(first.stdout, "fine\n", "{}", first.stderr);
    let evil = "printf '#!/bin/sh\necho evil\n' > bin/tool";
    let changed = start(&world, "b", &["sh", "-c", evil]).end();
    assert!(
        world.read("home/code/b/bin/tool").is_some_and(|text| text.contains("evil")),
        "{}",
        changed.stderr
    );
    let next = tool().end();
    assert!(
        next.stdout.is_empty() && next.stderr.contains("denied exec"),
        "{}: {}",
        next.stdout,
        next.stderr
    );
}

/// The rule names no directory that a record could have.
#[test]
fn an_answer_does_not_start_what_a_rule_with_a_wildcard_has_opened() {
    let world = asking_world("", r#", "@/home/coda/**": "r-x", "@/home/cooda/**": "r-x""#);
    for tool in ["home/coda/tool", "home/cooda/tool"] {
        executable(&world.write(tool, "#!/bin/sh\necho fine\n"));
    }
    let tool = || start(&world, "a", &["../../coda/tool"]);
    let (asked, ended) = tool().answer_all(|_| "allow-always");
    assert_eq!((asked.len(), &*ended.stdout), (1, "fine\n"), "{}", ended.stderr);
    assert_eq!(tool().end().stdout, "fine\n");
    let open = NAMED.replacen("{\"/usr", "{\"~/co?a/**\": \"rwx\", \"/usr", 1);
    let mut other = std::process::Command::new(guard_tests::guard());
    other.current_dir(world.home()).env("HOME", world.home()).stdin(std::process::Stdio::null());
    other.arg("--policy").arg(world.write("work/open.json", &open));
    let changed = guard_tests::ended(other.args([
        "--unattended",
        "--",
        "sh",
        "-c",
        "echo '#!/bin/sh\necho evil' > coda/tool",
    ]));
    assert_eq!(world.read("home/coda/tool").as_deref(), Some("#!/bin/sh\necho evil\n"), "{}", changed.stderr);
    let (asked, next) = tool().answer_all(|_| "deny");
    assert_eq!((asked.len(), &*next.stdout), (1, ""), "{}", next.stderr);
    // What the pattern does not name is nobody's.
    let other = || start(&world, "a", &["../../cooda/tool"]);
    let (asked, ended) = other().answer_all(|_| "allow-always");
    assert_eq!((asked.len(), &*ended.stdout), (1, "fine\n"), "{}", ended.stderr);
    assert_eq!(other().end().stdout, "fine\n");
}
