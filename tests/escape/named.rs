//! Files that run outside because something names them: a variable of the operator, the settings of an agent, `--policy` in
//! another run; and what tools start from places that are open for builds.

use std::fs;
use std::os::unix::fs::symlink;

use guard_tests::{Ended, World, ended, has};

/// Allows everything in the world but what is protected; `persistence` may be taken away.
const OPEN: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": true,
    "filesystem": {"rules": {SYSTEM, "@": "rwx", "@/**": "rwx"}, "default": "---"}}}"#;

fn world(is_kept: bool) -> World {
    World::bare().policy(&OPEN.replace("true", &is_kept.to_string()))
}

/// Runs a line under the guard with this variable, in which `@/` is the world's directory.
fn with(world: &World, variable: (&str, &str), line: &str) -> Ended {
    let root = format!("{}/", world.root().display());
    let mut command = world.command();
    command.env(variable.0, variable.1.replace("@/", &root));
    ended(command.args(["--", "sh", "-c", &line.replace("@/", &root)]))
}

#[test]
fn files_that_variables_name_are_protected() {
    for (name, value, file) in [
        ("BASH_ENV", "@/work/env.sh", "work/env.sh"),
        ("ENV", "$HOME/x/env.sh", "home/x/env.sh"),
        ("PYTHONSTARTUP", "@/work/start.py", "work/start.py"),
        ("INPUTRC", "@/work/keys", "work/keys"),
        ("npm_config_userconfig", "@/work/npmrc", "work/npmrc"),
        ("VIMINIT", "source @/work/vimrc", "work/vimrc"),
        ("LESSOPEN", "|@/work/lesspipe %s", "work/lesspipe"),
        ("EDITOR", "@/work/tools/ed --wait", "work/tools/ed"),
        ("GIT_EDITOR", "@/work/tools/ed", "work/tools/ed"),
        ("MANPAGER", "sh -c '@/work/pager'", "work/pager"),
        ("RUSTC_WRAPPER", "@/work/wrap", "work/wrap"),
        ("NODE_OPTIONS", "--require=@/work/a.js", "work/a.js"),
        ("GIT_SSH_COMMAND", "ssh -F @/work/ssh", "work/ssh"),
        ("CARGO_HOME", "@/work/cargo", "work/cargo/config.toml"),
        ("CARGO_HOME", "@/work/cargo", "work/cargo/bin/rustc"),
        ("COREPACK_HOME", "@/work/corepack", "work/corepack/v1/yarn/1.22.22/bin/yarn.js"),
        ("GOPATH", "@/work/go", "work/go/pkg/mod/golang.org/toolchain@v1/bin/go"),
        ("CLAUDE_CONFIG_DIR", "@/work/claude", "work/claude/settings.json"),
        ("XDG_CONFIG_HOME", "@/work/config", "work/config/fish/config.fish"),
        ("ZDOTDIR", "@/work/zsh", "work/zsh/.zshrc"),
        ("GIT_CONFIG_GLOBAL", "@/work/gitconfig", "work/gitconfig"),
    ] {
        let path = format!("@/{file}");
        let attacks = || {
            [
                format!("mkdir -p $(dirname {path}); echo evil > {path}"),
                format!("echo evil > @/work/x; mkdir -p $(dirname {path}); mv @/work/x {path}"),
                format!("mkdir -p $(dirname {path}); ln -s @/work/y {path}"),
            ]
        };
        let tried = |is_kept| {
            let look = format!("[ -e {path} ] || [ -L {path} ] && echo made; rm -f {path}");
            let done = with(
                &world(is_kept),
                (name, value),
                &attacks().map(|attack| format!("{attack}\n{look}\n")).concat(),
            );
            (done.stdout.lines().count(), done.stderr)
        };
        assert_eq!(tried(false).0, attacks().len(), "{name}: each works where nothing is kept");
        let (made, said) = tried(true);
        assert_eq!(made, 0, "{name}={value}: {said}");
    }
}

/// The operator's shell runs the file.
#[test]
fn what_bash_env_names_does_not_run_what_the_tree_wrote() {
    for is_kept in [false, true] {
        let world = world(is_kept);
        world.write("work/env.sh", "true\n");
        with(&world, ("BASH_ENV", "@/work/env.sh"), "echo 'touch @/mark' > @/work/env.sh");
        let mut shell = world.native_command();
        shell.env("BASH_ENV", world.work().join("env.sh"));
        ended(shell.args(["bash", "-c", "true"]));
        assert_eq!(world.root().join("mark").exists(), !is_kept);
    }
}

/// Where nothing is named, work goes on: a name without a path, a device, the system's programs.
#[test]
fn variables_that_name_nothing_of_the_works_change_nothing() {
    for (name, value) in [
        ("ENV", "production"),
        ("EDITOR", "vim"),
        ("PAGER", "/usr/bin/less -R"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("npm_config_userconfig", "/dev/null"),
    ] {
        let world = world(true);
        let done = with(&world, (name, value), "echo x > production; echo x > vim; echo x > /dev/null");
        assert!(done.status == 0 && !done.stderr.contains("denied"), "{name}={value}: {}", done.stderr);
    }
}

#[test]
fn what_tools_start_from_places_for_builds_is_not_the_trees() {
    for file in [
        "home/.gem/ruby/3.3.0/plugins/x_plugin.rb",
        "home/.local/share/gem/ruby/3.3.0/gems/json-9/lib/json.rb",
        "home/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.99.0.linux-amd64/bin/go",
        "home/.stack/hooks/ghc-install.sh",
        "home/.stack/programs/x86_64-linux/ghc-9/bin/ghc",
        "work/.direnv/flake-profile-a5d5b61aa8a61b7d9d765e1daf971a9a578f1cfa.rc",
        "work/.direnv/bin/nix-direnv-reload",
        "home/.cache/opencode/node_modules/x/index.js",
        "home/.cache/node/corepack/v1/yarn/1.22.22/bin/yarn.js",
        "home/.cache/typescript/5.9/.npmrc",
        "home/.cache/JetBrains/IdeaIC2025.2/plugins/action.script",
        "home/.cache/zellij/0.43.1/12345",
        "home/.cache/zsh-smartcache/eval-x",
        "home/.cache/fsh/current_theme.zsh",
        "home/.cache/pre-commit/repoab12/py_env-python3/bin/black",
        "home/.cache/prek/hooks/x/bin/black",
        "home/.cache/cursor-compile-cache/v24-x64/1a2b",
        "home/.cache/copilot/pkg/linux-x64/1/app.js",
        "home/.cache/codex-runtimes/x/bin/node",
    ] {
        for attack in [
            format!("mkdir -p $(dirname @/{file}); echo evil > @/{file}"),
            format!(
                "mkdir -p $(dirname $(dirname @/{file})) n; echo evil > n/$(basename {file}); mv n $(dirname @/{file})"
            ),
        ] {
            let is_there = |is_kept| {
                let world = world(is_kept);
                with(&world, ("X", ""), &attack);
                world.root().join(file).exists()
            };
            assert!(is_there(false), "{attack}: it does not work where nothing is kept");
            assert!(!is_there(true), "{attack}");
        }
    }
    // What builds fetch beside it stays theirs.
    let world = world(true);
    // So does what pre-commit writes in each run.
    let done = with(
        &world,
        ("X", ""),
        "mkdir -p ~/.cache/pre-commit; cd ~/.cache/pre-commit; echo x > db.db; echo x > patch1",
    );
    assert_eq!((done.status, done.guard_lines()), (0, vec![]), "{}", done.stderr);
    let line = "for d in go/pkg/mod/golang.org/x/text@v1 .stack/snapshots .gem/specs; do mkdir -p ~/$d; echo x > ~/$d/f; done
        mkdir -p .direnv/python-3.12/bin; echo x > .direnv/python-3.12/bin/f; ln -s f .direnv/python-3.12/bin/g
        mkdir -p new .cache/autocomplete v8-compile-cache-lib v8-compile-cache v8-compile-cache-2.4.0; echo x > new/rust-toolchain.toml
        for d in .cache/autocomplete v8-compile-cache-lib v8-compile-cache v8-compile-cache-2.4.0; do echo x > $d/f; done; rm new/rust-toolchain.toml";
    let done = with(&world, ("X", ""), line);
    assert_eq!((done.status, done.guard_lines()), (0, vec![]), "{}", done.stderr);
}

/// The names of the programs are not known, so only what lies below such a directory is protected.
#[test]
fn completions_in_caches_are_not_written() {
    for file in
        ["bash_setup", "zsh_setup", "zsh_setup.zwc", "functions/bash/heroku.bash", "functions/zsh/_heroku"]
    {
        let path = format!("@/home/.cache/heroku/autocomplete/{file}");
        for attack in [
            format!("mkdir -p $(dirname {path}); echo evil > {path}"),
            format!("mkdir -p $(dirname {path}); echo evil > x; mv x {path}"),
            format!("mkdir -p $(dirname {path}); echo evil > x; ln -s $PWD/x {path}"),
        ] {
            let is_there = |is_kept| {
                let world = world(is_kept);
                with(&world, ("X", ""), &attack);
                let file = world.home().join(".cache/heroku/autocomplete").join(file);
                file.symlink_metadata().is_ok()
            };
            assert!(is_there(false), "{attack}: it does not work where nothing is kept");
            assert!(!is_there(true), "{attack}");
        }
    }
}

/// What corepack has fetched before runs, although it may keep no bytecode and fetch nothing.
#[test]
fn corepack_runs_the_version_that_is_there() {
    if !has(&["corepack", "node"]) {
        return;
    }
    let world = world(true);
    let there = "home/.cache/node/corepack/v1/yarn/1.22.22";
    let bin = r#"{"locator": {"name": "yarn", "reference": "1.22.22"}, "bin": {"yarn": "./bin/yarn.js"}, "hash": "sha1.0"}"#;
    world.write(format!("{there}/.corepack"), bin);
    world.write(format!("{there}/bin/yarn.js"), "console.log('yarn', process.argv[2])");
    world.write("work/package.json", r#"{"packageManager": "yarn@1.22.22"}"#);
    for variable in [("X", ""), ("COREPACK_HOME", "@/home/.cache/node/corepack")] {
        let done = with(
            &world,
            variable,
            "corepack yarn hello; echo evil > ~/.cache/node/corepack/lastKnownGood.json",
        );
        assert_eq!(done.stdout, "yarn hello\n", "{}", done.stderr);
        assert!(!world.home().join(".cache/node/corepack/lastKnownGood.json").exists());
    }
}

/// The profile of an agent opens its directory; what its settings name there is not opened.
#[test]
fn what_settings_of_agents_name_is_not_the_trees() {
    for (profile, settings, text, file) in [
        ("claude-code", ".claude/settings.json", "", ".claude/statusline.js"),
        ("claude-code", ".claude/settings.json", "", ".claude/statusline"),
        ("claude-code", ".claude/settings.json", "", ".claude/helper.py"),
        ("claude-code", ".claude/settings.json", "", ".claude/chrome/chrome-native-host"),
        ("claude-code", ".claude/settings.json", "", ".claude/local/claude"),
        (
            "claude-code",
            ".claude/settings.json",
            r#"{"statusLine": {"type": "command", "command": "~/.claude/line"}}"#,
            ".claude/line",
        ),
        ("codex", ".codex/config.toml", "", ".codex/notify.py"),
        ("codex", ".codex/config.toml", "notify = [\"@/home/.codex/notify\"]", ".codex/notify"),
        ("gemini-cli", ".gemini/settings.json", "", ".gemini/mcp-server-enablement.json"),
        (
            "gemini-cli",
            ".gemini/settings.json",
            r#"{"mcpServers": {"x": {"command": "node", "args": ["@/home/.gemini/servers/x"]}}}"#,
            ".gemini/servers/x",
        ),
        ("gemini-cli", ".gemini/settings.json", "", ".gemini/tmp/bin/rg"),
        ("gemini-cli", ".gemini/settings.json", "", ".gemini/extensions/x/gemini-extension.json"),
        ("opencode", ".config/opencode/opencode.json", "", ".config/opencode/plugin/x.ts"),
        ("opencode", ".config/opencode/opencode.json", "", ".local/share/opencode/bin/x"),
        ("aider", ".aider.conf.yml", "", ".aider/lint.sh"),
    ] {
        let world = World::bare();
        world.write(format!("home/{settings}"), text.replace('@', &world.root().display().to_string()));
        world.write(format!("home/{}/kept/f", file.split('/').next().expect("a directory")), "x");
        let line =
            format!("mkdir -p ~/$(dirname {file}); echo x > ~/{file}; echo x > ~/.y; mv ~/.y ~/{file}");
        let done = ended(world.command().args(["--profile", profile, "--", "sh", "-c", &line]));
        assert!(!world.home().join(file).exists(), "{profile}: {file}: {}", done.stderr);
    }
    // What agents keep there, also in links, stays theirs.
    let world = World::bare();
    world.write("home/.claude/settings.json", "{}");
    let line = "cd ~/.claude; mkdir -p debug projects/p; echo x > debug/1.txt; ln -s 1.txt debug/latest; echo x > history.jsonl
        echo x > projects/p/s.jsonl; echo x > stats-cache.json; echo x > .update.lock; rm debug/latest .update.lock";
    let done = ended(world.command().args(["--quiet", "--profile", "claude-code", "--", "sh", "-ec", line]));
    assert_eq!((done.status, done.guard_lines()), (0, vec![]), "{}", done.stderr);
}

#[test]
fn secrets_in_places_for_builds_are_not_read() {
    let ticket = tempfile::Builder::new().prefix("krb5cc_").tempfile_in("/tmp").expect("a file");
    fs::write(&ticket, "SECRET").expect("a ticket");
    let own = tempfile::Builder::new().prefix("guard-named-").tempfile_in("/tmp").expect("a file");
    fs::write(&own, "SECRET").expect("a ticket");
    let world = World::bare();
    for file in [".cache/cliphist/db", ".cache/greenclip.history", ".cache/keyring-1A/x", ".cache/plain"] {
        world.write(format!("home/{file}"), if file.ends_with("plain") { "READ" } else { "SECRET" });
    }
    let read = |path: &str, variable: (&str, &str)| {
        let mut command = world.command();
        command.env(variable.0, variable.1);
        ended(command.args(["--", "sh", "-c", &format!("cat {path}; cp {path} copy; cat copy; rm -f copy")]))
            .stdout
    };
    for path in [
        "~/.cache/cliphist/db",
        "~/.cache/greenclip.history",
        "~/.cache/keyring-1A/x",
        &ticket.path().display().to_string(),
    ] {
        assert_eq!(read(path, ("X", "")), "", "{path}");
    }
    let path = own.path().display().to_string();
    for value in [format!("FILE:{path}"), path.clone()] {
        assert_eq!(read(&path, ("KRB5CCNAME", &value)), "", "{value}");
    }
    assert_eq!(read(&path, ("KRB5CCNAME", "KEYRING:persistent:0")), "SECRETSECRET");
    assert_eq!(read("~/.cache/plain", ("X", "")), "READREAD");
}

/// One run has a policy in the workspace, the next one has another.
#[test]
fn a_policy_of_another_run_is_not_the_trees() {
    let policy = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": false,
        "filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#;
    for attack in [
        "echo '{}' > mine.json",
        "echo '{}' > x; mv x mine.json",
        "rm mine.json; echo '{}' > mine.json",
        "rm mine.json; ln -s x mine.json",
        "mkdir x; echo '{}' > x/mine.json; mv ../work ../old; mv x ../work",
        "echo '{}' > ../link.json",
        "rm ../link.json; echo '{}' > ../link.json",
    ] {
        let world = World::bare();
        let mine = world.write("work/mine.json", policy);
        let link = world.root().join("link.json");
        symlink(&mine, &link).expect("a link");
        let other = world.write("other.json", policy);
        let run = |policy: &std::path::Path, line: &str| {
            let mut command = world.command();
            ended(command.arg("--policy").arg(policy).args(["--", "sh", "-c", line]))
        };
        assert_eq!(run(&other, "echo x > ../y").status, 0);
        assert_eq!(run(&link, "true").status, 0);
        let done = run(&other, attack);
        assert_eq!(fs::read_to_string(&mine).expect("the policy"), policy, "{attack}: {}", done.stderr);
        assert_eq!(fs::read_link(&link).expect("the link"), mine, "{attack}: {}", done.stderr);
        let mut shown = world.command();
        let shown = ended(shown.arg("--policy").arg(&other).args(["policy", "show", "--effective"]));
        assert!(shown.stdout.contains("work/mine.json"), "{}", shown.stdout);
    }
}
