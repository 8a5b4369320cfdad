//! The profile of an agent opens its own files to the command that the operator starts, and to nothing that takes its name.
//! Nothing in it opens what would run outside of the guard.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use guard_tests::{Ended, World, ended, is_root};

/// Does what its argument says, as an agent does what a model says.
const AGENT: &str = "#!/bin/sh\neval \"$1\"\n";
const TOKEN: &str = "TOPSECRET-token";

/// Makes a world without a policy, with an agent among the operator's programs and what agents keep in a home.
fn world() -> World {
    let world = World::bare();
    for (name, text) in [
        ("home/.claude/.credentials.json", TOKEN),
        ("home/.claude.json", "{}"),
        ("home/.claude/settings.json", "{}"),
        ("home/.codex/auth.json", "TOPSECRET-codex"),
        ("home/.ssh/id_rsa", "TOPSECRET-key"),
        ("home/.openclaw/openclaw.json", "{}"),
        ("home/other/notes", "notes"),
    ] {
        world.write(name, text);
    }
    program(&world, "home/.local/bin/claude");
    world
}

fn program(world: &World, name: &str) {
    let path = world.write(name, AGENT);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Starts a command where `PATH` begins with these directories of the world.
fn started(world: &World, path: &[&str], configure: impl Fn(&mut Command), argv: &[&str]) -> Ended {
    let own = path.iter().map(|name| format!("{}/", world.root().display()) + name + ":").collect::<String>();
    let mut command = world.command();
    command.env("PATH", own + "/usr/bin:/bin");
    configure(&mut command);
    ended(command.arg("--").args(argv))
}

const USUAL: [&str; 1] = ["home/.local/bin"];
const READS: &str = "cat ~/.claude/.credentials.json";

fn reads(world: &World, path: &[&str], command: &str) -> bool {
    let done = started(world, path, |_| {}, &[command, READS]);
    println!("{}", done.stderr);
    done.stdout.contains(TOKEN)
}

#[test]
fn the_operators_program_has_its_own_files() {
    let world = world();
    assert!(reads(&world, &USUAL, "claude"));
    let done = started(
        &world,
        &USUAL,
        |_| {},
        &[
            "claude",
            "echo a > ~/.claude.json.tmp && mv ~/.claude.json.tmp ~/.claude.json && mkdir ~/.claude.json.lock",
        ],
    );
    assert_eq!(
        (done.status, world.read("home/.claude.json").as_deref()),
        (0, Some("a\n")),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("profile claude-code: ") && done.stderr.contains("--profile none"));
}

#[test]
fn a_program_of_the_workspace_has_nothing_by_its_name() {
    let world = world();
    program(&world, "work/claude");
    program(&world, "work/node_modules/.bin/claude");
    assert!(!reads(&world, &[], "./claude"));
    assert!(!reads(&world, &["work/node_modules/.bin"], "claude"));
    // Nor does the operator's own, once another can come before it.
    assert!(!reads(&world, &["work/bin", "home/.local/bin"], "claude"));
}

#[test]
fn a_link_to_a_program_of_the_workspace_has_nothing_by_its_name() {
    let world = world();
    program(&world, "work/agent");
    let link = world.home().join(".local/bin/claude");
    fs::remove_file(&link).expect("the agent");
    symlink(world.work().join("agent"), link).expect("a link");
    assert!(!reads(&world, &USUAL, "claude"));
}

#[test]
fn a_program_of_an_earlier_run_has_nothing_by_its_name() {
    let world = world();
    let code = world.home().join("code");
    fs::create_dir_all(&code).expect("a directory");
    let at_code = |command: &mut Command| {
        command.current_dir(&code).env("PWD", &code);
    };
    let plant =
        format!("mkdir bin && printf '{}' > bin/claude && chmod 755 bin/claude", AGENT.replace('\n', "\\n"));
    let planted = started(&world, &[], at_code, &["sh", "-c", &plant]);
    assert_eq!(planted.status, 0, "{}", planted.stderr);
    // The next run begins elsewhere, where the first directory is no workspace.
    assert!(!reads(&world, &["home/code/bin"], "claude"));
    let done = started(&world, &["home/code/bin"], |_| {}, &["claude", "true"]);
    assert!(done.stderr.contains("profile claude-code is left out"), "{}", done.stderr);
}

/// Where a run could write is not all recorded: only places of programs count.
#[test]
fn a_program_that_is_not_installed_has_nothing_by_its_name() {
    let world = world();
    program(&world, "home/tools/claude");
    assert!(!reads(&world, &["home/tools"], "claude"));
    symlink(world.home().join(".local/bin/claude"), world.write("home/links/x", "").with_file_name("claude"))
        .expect("a link");
    assert!(!reads(&world, &["home/links"], "claude"));
}

#[test]
fn each_link_on_the_way_to_the_program_counts() {
    let world = world();
    let bin = world.home().join(".local/bin");
    fs::rename(bin.join("claude"), bin.join("agent")).expect("a name");
    symlink(bin.join("agent"), world.work().join("current")).expect("a link");
    symlink(world.work().join("current"), bin.join("claude")).expect("a link");
    assert!(!reads(&world, &USUAL, "claude"));
}

#[test]
fn the_program_that_starts_is_the_one_that_counts() {
    let policy = r#"{"version": 1, "exec": {"security": "full", "ask": "off", "pathPrepend": ["@/work/bin"]},
        "permissions": {"filesystem": {"rules": {SYSTEM, "~/.local/bin/**": "r-x", "@/work/**": "rwx"}}}}"#;
    let prepended = world().policy(policy);
    program(&prepended, "work/bin/claude");
    assert!(!reads(&prepended, &USUAL, "claude"));
    // Here the first is refused, and execvp(3) tries the next.
    let refused =
        world().policy(&policy.replace(r#", "pathPrepend": ["@/work/bin"]"#, "").replace("r-x", "r--"));
    program(&refused, "work/bin/claude");
    assert!(!reads(&refused, &["home/.local/bin", "work/bin"], "claude"));
}

#[test]
fn the_command_counts_and_not_what_it_starts() {
    let world = world();
    for argv in [["sh", "-c", "claude \"cat ~/.claude/.credentials.json\""], ["env", "claude", READS]] {
        let done = started(&world, &USUAL, |_| {}, &argv);
        assert!(!done.stdout.contains(TOKEN), "{argv:?}");
    }
    let done = started(&world, &USUAL, |_| {}, &["claude", "true"]);
    assert_eq!(done.status, 0, "{}", done.stderr);
    let next = started(&world, &USUAL, |_| {}, &["sh", "-c", READS]);
    assert!(!next.stdout.contains(TOKEN), "the next run");
}

#[test]
fn who_starts_a_guard_for_an_agent_gives_it_no_profile() {
    let world = world();
    let untrusted = |command: &mut Command| {
        command.arg("--untrusted-environment").env("OPENCLAW_HOME", world.home());
    };
    let done = started(&world, &USUAL, untrusted, &["claude", READS]);
    assert!(!done.stdout.contains(TOKEN), "{}", done.stderr);
}

#[test]
fn what_would_run_outside_is_refused() {
    let world = world();
    let before = world.read("home/.claude/settings.json");
    for attack in [
        "echo x > ~/.claude/settings.json",
        "echo x > ~/.claude/x; mv ~/.claude/x ~/.claude/settings.json",
        "echo x > ~/.claude/x; ln -f ~/.claude/x ~/.claude/settings.json",
        "ln -sfn ~/.claude/x ~/.claude/settings.json",
        "rm -f ~/.claude/settings.json",
        "mkdir ~/.claude/hooks && echo x > ~/.claude/hooks/x",
        "mkdir ~/.claude/x && mkdir ~/.claude/x/plugins && mv ~/.claude/x/plugins ~/.claude/plugins",
        "mv ~/.claude ~/claude && mkdir ~/.claude && echo x > ~/.claude/settings.json",
        "mkdir ~/.claude/commands; echo x > ~/.claude/CLAUDE.md",
        "echo x > ~/.local/bin/claude",
        "mkdir -p ~/.local/share/claude/versions && echo x > ~/.local/share/claude/versions/1",
    ] {
        let done = started(&world, &USUAL, |_| {}, &["claude", attack]);
        println!("{attack}: {}", done.stderr);
        assert_eq!(world.read("home/.claude/settings.json"), before, "{attack}");
        for planted in ["hooks", "plugins", "commands", "CLAUDE.md"] {
            assert!(!world.home().join(".claude").join(planted).exists(), "{attack}");
        }
        assert_eq!(world.read("home/.local/bin/claude").as_deref(), Some(AGENT), "{attack}");
        assert!(!world.home().join(".local/share/claude").exists(), "{attack}");
    }
}

/// Variables, agents and plugins that an agent takes from its directory at the next start.
#[test]
fn what_an_agent_reads_at_its_start_is_refused() {
    let world = world();
    for (profile, directory, files) in [
        ("claude-code", ".claude", &["remote-settings.json", "workflows/x.js"][..]),
        (
            "codex",
            ".codex",
            &[
                ".env",
                "work.config.toml",
                "environments.toml",
                "AGENTS.override.md",
                "agents/x.toml",
                "plugins/cache/x",
                "automations/x/automation.toml",
            ],
        ),
        (
            "gemini-cli",
            ".gemini",
            &[
                ".env",
                "agents/x.md",
                "skills/x/SKILL.md",
                "hooks/x",
                "trusted_hooks.json",
                "config/hooks.json",
                "config/mcp_config.json",
                "config/plugins/x/plugin.json",
                "antigravity-cli/settings.json",
                "antigravity-cli/hooks.json",
                "antigravity-cli/mcp_config.json",
                "antigravity-cli/plugins/x/plugin.json",
            ],
        ),
        ("aider", ".aider", &["oauth-keys.env"]),
    ] {
        for file in files.iter().chain(&["kept/file"]) {
            let line = format!("cd; mkdir -p {directory}/$(dirname {file}); echo x > {directory}/{file}");
            let ways = [line.clone(), format!("{line}2; mv {directory}/{file}2 {directory}/{file}")];
            for line in ways {
                let done = ended(world.command().args(["--profile", profile, "--", "sh", "-c", &line]));
                let is_there = world.home().join(directory).join(file).exists();
                assert_eq!(is_there, *file == "kept/file", "{line}: {}", done.stderr);
            }
        }
    }
}

#[test]
fn nothing_else_is_opened() {
    let world = world();
    for attack in [
        "cat ~/.codex/auth.json",
        "cat ~/.ssh/id_rsa",
        "ln -s ../.ssh/id_rsa ~/.claude/key; cat ~/.claude/key",
        "rm ~/.claude.json; ln -s .ssh/id_rsa ~/.claude.json; cat ~/.claude.json",
        "ln ~/.ssh/id_rsa ~/.claude/key && cat ~/.claude/key",
        "mv ~/.ssh ~/.claude/ssh && cat ~/.claude/ssh/id_rsa",
        "cat ~/.claude/../.ssh/id_rsa",
        "cat ~/.openclaw/openclaw.json ~/other/notes",
    ] {
        let done = started(&world, &USUAL, |_| {}, &["claude", attack]);
        assert!(done.stdout.is_empty(), "{attack}: {}", done.stdout);
    }
}

#[test]
fn a_denial_of_the_operators_stands() {
    let rules = r#""rules": {SYSTEM, "~/.local/bin/**": "r-x", "@/work/**": "rw-"}"#;
    let policy = |deny: &str| {
        format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"filesystem": {{
            {rules}, "deny": [{deny}]}}}}}}"#
        )
    };
    let denied = world().policy(&policy(r#""~/.claude""#));
    let done = started(&denied, &USUAL, |_| {}, &["claude", READS]);
    assert!(!done.stdout.contains(TOKEN), "{}", done.stderr);
    assert!(done.stderr.contains("~/.claude stays denied by the policy"), "{}", done.stderr);

    let token = world().policy(&policy(r#""~/.claude/.credentials.json""#));
    assert!(!reads(&token, &USUAL, "claude"));
    let done = started(&token, &USUAL, |_| {}, &["claude", "cat ~/.claude.json"]);
    assert_eq!(done.stdout, "{}", "{}", done.stderr);
    let open = world().policy(&policy(""));
    let done = started(&open, &USUAL, |_| {}, &["claude", READS]);
    assert!(done.stdout.contains(TOKEN), "without a denial: {}", done.stderr);
    assert!(!done.stderr.contains("stays denied"), "{}", done.stderr);
}

#[test]
fn the_command_line_decides() {
    let world = world();
    let with = |name: &'static str, argv: &[&str]| {
        let named = |command: &mut Command| {
            command.args(["--profile", name]);
        };
        started(&world, &USUAL, named, argv)
    };
    assert!(!with("none", &["claude", READS]).stdout.contains(TOKEN));
    assert!(!with("codex", &["claude", READS]).stdout.contains(TOKEN));
    assert!(with("codex", &["sh", "-c", "cat ~/.codex/auth.json"]).stdout.contains("TOPSECRET-codex"));
    assert!(with("claude-code", &["sh", "-c", READS]).stdout.contains(TOKEN));
    let unknown = with("nobody", &["true"]);
    assert!(unknown.status == 125 && unknown.stderr.contains("one of claude-code, codex"), "{unknown:?}");
}

/// Another user's program is not the operator's.
#[test]
fn a_program_that_anybody_may_replace_is_started_as_before() {
    if !is_root() {
        return;
    }
    let world = world();
    let directory = Path::new("/tmp").join(format!("guard-profile-{}", std::process::id()));
    fs::create_dir(&directory).expect("a directory");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).expect("a mode");
    fs::copy(world.home().join(".local/bin/claude"), directory.join("claude")).expect("a copy");
    let path = |command: &mut Command| {
        command.env("PATH", format!("{}:/usr/bin:/bin", directory.display()));
    };
    let done = started(&world, &[], path, &["claude", READS]);
    fs::remove_dir_all(&directory).expect("its end");
    assert!(!done.stdout.contains(TOKEN), "{}", done.stderr);
}

/// A learning session denies the guard's own files alone, whatever the command's profile withholds.
#[test]
fn what_an_agent_starts_is_learned() {
    let world = world();
    world.write("home/.claude/hook.sh", "#!/bin/sh\necho ran\n");
    fs::set_permissions(world.home().join(".claude/hook.sh"), fs::Permissions::from_mode(0o755))
        .expect("a mode");
    let mut command = world.command();
    command.env("PATH", format!("{}/.local/bin:/usr/bin:/bin", world.home().display()));
    let output = world.root().join("learned.json");
    command.args(["learn", "--yes", "-o"]).arg(output).args(["--", "claude", "~/.claude/hook.sh"]);
    let done = ended(&mut command);
    assert!(done.status == 0 && done.stdout.contains("ran\n"), "{} {}", done.stdout, done.stderr);
}
