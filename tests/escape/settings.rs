//! The settings of agents and editors: what they have started, and what they only look at.

use guard_tests::{Ended, World};

use crate::runs::{self, made};

/// Runs a line under the guard, in a directory below the world's.
fn run(world: &World, directory: &str, line: &str) -> Ended {
    runs::run(world, directory, &[], &[], line)
}

/// Each with what the tree does.
#[test]
fn what_settings_only_look_at_stays_the_work() {
    const EDIT: &str = "echo x >> src/main.py";
    const PACKAGES: &str = "mkdir -p node_modules/.bin node_modules/p; echo x > node_modules/p/p.js; \
        ln -sf ../p/p.js node_modules/.bin/p";
    let hook =
        |command: &str| format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{"command": "{command}"}}]}}]}}}}"#);
    for (command, line) in [
        ("node_modules/.bin/p --check .", PACKAGES),
        ("source .venv/bin/activate && pytest", "mkdir -p .venv/bin; echo x > .venv/bin/activate"),
        ("npm run lint -- src/main.py", EDIT),
        ("python -m pytest src/main.py", EDIT),
        ("uv run --frozen ruff check src/main.py", EDIT),
        ("git diff --stat -- src/main.py; cp src/main.py /tmp/x; sha256sum src/main.py", EDIT),
        ("[ $f = src/main.py ] && make", EDIT),
        ("node --check src/main.py; bash -n src/main.py", EDIT),
    ] {
        let world = made("mkdir -p .claude src; echo : > src/main.py");
        world.write("work/.claude/settings.json", hook(command));
        let done = run(&world, "work", &format!("set -e; {line}; echo done > end"));
        assert!(world.read("work/end").is_some(), "{command}: {}", done.stderr);
    }
    let tasks = r#"{"tasks": [{"label": "a", "command": "./tools/x.sh", "dependsOn": "b",
        "runOptions": {"runOn": "folderOpen"}},
        {"label": "b", "command": "./tools/y.sh"}, {"label": "c", "command": "python3 src/main.py"}]}"#;
    let world =
        made("mkdir -p .vscode src tools; for f in src/main.py tools/x.sh tools/y.sh; do echo : > $f; done");
    world.write("work/.vscode/tasks.json", tasks);
    let done = run(&world, "work", "for f in src/main.py tools/x.sh tools/y.sh; do echo x >> $f; done");
    for (file, expected) in [("src/main.py", ":\nx\n"), ("tools/x.sh", ":\n"), ("tools/y.sh", ":\n")] {
        assert_eq!(world.read(format!("work/{file}")).as_deref(), Some(expected), "{file}: {}", done.stderr);
    }
}

/// In a repository beside the project, with a command of such a length.
#[test]
fn settings_that_cannot_be_read_close_their_repository_alone() {
    let world = made("mkdir -p a b/.git; echo : > a/f");
    world.write(
        "work/b/.mcp.json",
        format!(r#"{{"mcpServers": {{"x": {{"command": "{}"}}}}}}"#, "$(".repeat(300_000)),
    );
    let done = run(&world, "work/a", "echo x >> f; echo y > new; echo z > ../b/new");
    assert_eq!(world.read("work/a/f").as_deref(), Some(":\nx\n"), "{}", done.stderr);
    assert!(world.read("work/a/new").is_some(), "{}", done.stderr);
    let done = run(&world, "work", "echo z > b/new");
    assert!(world.read("work/b/new").is_none(), "{}", done.stderr);
    assert!(done.stderr.contains("b/.mcp.json is too long, or a command in it is"), "{}", done.stderr);
}

#[test]
fn a_long_state_of_claude_keeps_nothing_from_starting() {
    let world = made("mkdir -p tools; echo : > tools/x.sh");
    let project = world.root().join("work");
    let servers = r#"{"x": {"command": "bash", "args": ["./tools/x.sh"]}}"#;
    let state = format!(
        r#"{{"history": "{}", "projects": {{"{}": {{"mcpServers": {servers}}}}}}}"#,
        "x".repeat(17 << 20),
        project.display()
    );
    world.write("home/.claude.json", &state);
    let done = run(&world, "work", "echo x >> tools/x.sh; echo x > tools/y");
    assert_eq!(world.read("work/tools/x.sh").as_deref(), Some(":\n"), "{}", done.stderr);
    assert!(world.read("work/tools/y").is_some(), "{}", done.stderr);
}

#[test]
fn each_place_of_settings_is_read() {
    const SERVER: &str = r#"{"mcpServers": {"x": {"command": "bash", "args": ["./tools/x.sh"]}}}"#;
    const HOOK: &str = r#"{"hooks": {"Stop": [{"hooks": [{"command": "./tools/x.sh"}]}]}}"#;
    for (settings, text) in [
        (".devcontainer/devcontainer.json", r#"{"initializeCommand": "bash tools/x.sh"}"#),
        (".zed/settings.json", r#"{"lsp": {"x": {"binary": {"path": "./tools/x.sh", "arguments": []}}}}"#),
        (".aider.conf.yml", "notifications-command: ./tools/x.sh"),
        (".openhands/hooks.json", HOOK),
        (".augment/settings.json", HOOK),
        (".vibe/hooks.toml", "[[hooks]]\ncommand = \"./tools/x.sh\""),
        (".agents/mcp_config.json", SERVER),
        ("kilo.json", r#"{"mcp": {"x": {"command": ["./tools/x.sh"]}}}"#),
        (".cursor/environment.json", r#"{"install": "./tools/x.sh"}"#),
        (".claude/agents/a/x.md", "---\nhooks:\n  Stop:\n    - command: ./tools/x.sh\n---\n"),
        (".opencode/command/x.md", "!`./tools/x.sh`"),
        (".continue/config.yaml", "x: &c ./tools/x.sh\nmcpServers:\n- command: *c\n"),
        (".continue/config.yaml", "mcpServers: [{name: a, command: ./tools/x.sh}]\n"),
        (".continue/config.yaml", "mcpServers:\n- \"\\x63ommand\": ./tools/x.sh\n"),
        (".aider.conf.yml", "? notifications-command\n: \".\\x2ftools/x.sh\"\n"),
        (".claude/agents/a.md", "---\nx: &c ./tools/x.sh\nhooks: {Stop: [{command: *c}]}\n---\n"),
        (".devcontainer/devcontainer.json", r#"{"initializeCommand": {"name": "./tools/x.sh"}}"#),
        ("crush.json", r#"{"mcp": {"a": {"COMMAND": "./tools/x.sh"}}}"#),
        (
            ".vscode/tasks.json",
            r#"{"tasks": [{"label": "\ud800", "command": "./tools/x.sh", "runOptions": {"runOn": "folder\u004fpen"}}]}"#,
        ),
        (
            ".vscode/tasks.json",
            r#"{"linux": {"tasks": [{"command": "./tools/x.sh", "runOptions": {"runOn": "folderOpen"}}]}}"#,
        ),
    ] {
        let world = made(&format!("mkdir -p tools $(dirname {settings}); echo : > tools/x.sh"));
        world.write(format!("work/{settings}"), text);
        let done = run(&world, "work", "echo x >> tools/x.sh");
        assert_eq!(world.read("work/tools/x.sh").as_deref(), Some(":\n"), "{settings}: {}", done.stderr);
    }
}

#[test]
fn a_command_is_read_in_its_directory() {
    for (settings, text, file) in [
        (
            ".gemini/settings.json",
            r#"{"mcpServers": {"x": {"command": "node", "args": ["s.js"], "cwd": "./mcp"}}}"#,
            "mcp/s.js",
        ),
        (
            ".codex/config.toml",
            "[mcp_servers.x]\ncommand = \"node\"\nargs = [\"s.js\"]\ncwd = \"mcp\"",
            "mcp/s.js",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"x": {"command": "uv", "args": ["--directory", "mcp", "run", "s.py"]}}}"#,
            "mcp/s.py",
        ),
        (".mcp.json", r#"{"mcpServers": {"x": {"command": "node", "args": ["./mcp"]}}}"#, "mcp/index.js"),
        (
            ".mcp.json",
            r#"{"mcpServers": {"x": {"command": "node", "args": ["mcp/server"]}}}"#,
            "mcp/server.js",
        ),
        (".mcp.json", r#"{"mcpServers": {"x": {"command": "python3", "args": ["mcp"]}}}"#, "mcp/__main__.py"),
        (
            ".cursor/hooks.json",
            r#"{"hooks": {"stop": [{"command": "cd mcp && cd sub && node s.js"}]}}"#,
            "mcp/sub/s.js",
        ),
        (".cursor/hooks.json", r#"{"hooks": {"stop": [{"command": "env -C mcp ./x.sh"}]}}"#, "mcp/x.sh"),
    ] {
        let world = made(&format!("mkdir -p mcp/sub $(dirname {settings})"));
        world.write(format!("work/{settings}"), text);
        let done = run(&world, "work", &format!("echo x > {file}; echo x > mcp/other"));
        assert!(world.read(format!("work/{file}")).is_none(), "{settings}: {text}: {}", done.stderr);
        assert!(world.read("work/mcp/other").is_some(), "{settings}: {text}: {}", done.stderr);
    }
}

/// What one run leaves in a repository of the workspace is read at each write of the next one.
#[test]
fn settings_that_nest_deeply_end_no_guard() {
    let world = made("");
    for text in ["[".repeat(500) + &"]".repeat(500), "[".repeat(60_000), "{\"a\":".repeat(500)] {
        world.write("work/pkg/.mcp.json", format!("{{\"a\": {text}}}"));
        let next = run(&world, "work", "mkdir -p pkg/.git; echo x > file; echo y > pkg/file; cat file");
        assert_eq!((next.status, next.stdout.as_str()), (0, "x\n"), "{}", next.stderr);
        assert!(!next.stderr.contains("was killed"), "{}", next.stderr);
    }
}

/// TOML has another parser, which bounds neither inline tables with keys of many parts nor their number.
#[test]
fn settings_of_toml_end_no_guard_and_keep_none_waiting() {
    let world = made("git init -q");
    let bomb =
        (0..20).fold("\"x.sh\"".to_owned(), |inner, _| format!("{{{} = {inner}}}", ["a"; 20].join(".")));
    let many: String = (0..8000).map(|i| format!("k{i}.{} = 'x.sh'\n", ["a"; 30].join("."))).collect();
    // The text of a long string ends with a quote of its own, and no other string begins there.
    let hidden = format!("a = [\"\"\"x\"\"\"\", {bomb}]\n");
    for text in [format!("a = {bomb}\n"), hidden, "[".repeat(60_000), many] {
        for repository in ["one", "two", "three", "four"] {
            world.write(format!("work/{repository}/.codex/config.toml"), &text);
            std::fs::create_dir_all(world.root().join(format!("work/{repository}/.git")))
                .expect("a directory");
        }
        let next = run(&world, "work", "echo x > file; cat file");
        assert_eq!((next.status, next.stdout.as_str()), (0, "x\n"), "{}", next.stderr);
    }
    // What is beyond the bound closes its own project.
    let next = run(&world, "work", "echo y > one/new || echo no");
    assert_eq!(next.stdout, "no\n", "{}", next.stderr);
}

/// Packages ship what a project protects. Whoever installs them removes them, too.
#[test]
fn packages_are_removed_with_what_they_ship() {
    let world = made(
        "mkdir -p node_modules/x/.vscode node_modules/x/.claude .venv/lib/python3/site-packages/y; git init -q
         for name in .vscode/settings.json .claude/settings.json .nvmrc .mcp.json .envrc; do echo x > node_modules/x/$name; done
         echo x > .venv/lib/python3/site-packages/y/.envrc; echo x > .nvmrc",
    );
    let next = run(&world, "work", "rm -rf node_modules .venv; rm -f .nvmrc; ls -A");
    assert_eq!(next.stdout, ".git\n.nvmrc\n", "{}", next.stderr);
    // What is moved out of them could be the tree's. mv(1) copies it, into a directory that the tree has made then.
    let world =
        made("mkdir -p node_modules/x/.vscode sub; echo x > node_modules/x/.vscode/tasks.json; git init -q");
    let rename = "python3 -c 'import os; os.rename(\"node_modules/x\", \"sub/x\")'";
    let next = run(&world, "work", &format!("mv node_modules/x/.vscode .; {rename}; ls -A sub"));
    assert_eq!(next.stdout, "", "{}", next.stderr);
    assert!(next.stderr.contains("Invalid cross-device link"), "{}", next.stderr);
    assert!(!world.root().join("work/.vscode").exists(), "{}", next.stderr);
}

/// A directory of the operator's that was among packages meanwhile brings nothing back that could not be made in it.
#[test]
fn a_directory_brings_nothing_out_of_packages() {
    for (made_there, file) in [
        ("ln -s src node_modules/app/.claude", ".claude/settings.json"),
        ("ln -s src node_modules/app/.cursor", ".cursor/settings.json"),
        (
            "mkdir node_modules/app/.claude; echo x > node_modules/app/.claude/settings.json",
            ".claude/settings.json",
        ),
        (
            "mkdir -p node_modules/app/.kiro/settings; echo x > node_modules/app/.kiro/settings/mcp.json",
            ".kiro/settings/mcp.json",
        ),
        (
            "mkdir node_modules/app/src/.claude; echo x > node_modules/app/src/.claude/settings.json",
            "src/.claude/settings.json",
        ),
    ] {
        let world = made("mkdir -p app/src node_modules; echo x > app/src/f; git init -q");
        let line = format!(
            "echo x > app/src/settings.json; mv -T app node_modules/app; {made_there}; test -d node_modules/app/src || exit 3
            python3 -c 'import os; os.rename(\"node_modules/app\", \"app\")'"
        );
        let done = run(&world, "work", &line);
        assert!(done.stderr.contains("Invalid cross-device link"), "{made_there}: {}", done.stderr);
        assert!(!world.work().join("app").join(file).exists(), "{made_there}: {}", done.stderr);
    }
    // What is ordinary comes back, and so does what the tree has made.
    let world = made("mkdir -p app/src node_modules; git init -q");
    let line = "echo x > app/src/f; mv -T app node_modules/app; mkdir -p node_modules/new/.claude
        echo x > node_modules/new/.claude/settings.json; ln -s src/f node_modules/app/link
        python3 -c 'import os; os.rename(\"node_modules/app\", \"app\"); os.rename(\"node_modules/new\", \"new\")'
        cat app/link new/.claude/settings.json";
    let done = run(&world, "work", line);
    assert_eq!((done.status, &*done.stdout), (0, "x\nx\n"), "{}", done.stderr);
}

/// The guard has listed the directory, and a name is made in it before the move.
#[test]
fn nothing_is_made_in_a_directory_while_it_leaves_packages() {
    const MOVED: &str = r#"
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("app/src/big", exist_ok=True)
for number in range(2000): open(f"app/src/big/{number}", "w").close()
for name in [".envrc", ".mcp.json"] * 5:
    os.rename("app", "node_modules/app")
    listed = libc.inotify_init1(0)
    libc.inotify_add_watch(listed, b"node_modules/app/src/big", 0x20)
    def moves():
        try: os.rename("node_modules/app", "app")
        except OSError: pass
    mover = threading.Thread(target=moves)
    mover.start()
    os.read(listed, 4096)
    try: open(f"node_modules/app/{name}", "w").close()
    except OSError: pass
    mover.join()
    if os.path.exists(f"app/{name}"): print("made", name, flush=True)
    if os.path.exists("node_modules/app"):
        if os.path.exists(f"node_modules/app/{name}"): os.unlink(f"node_modules/app/{name}")
        os.rename("node_modules/app", "app")
    os.close(listed)
print("end")
"#;
    let world = made("mkdir -p app/src node_modules; git init -q");
    world.write("attack.py", MOVED);
    let done = run(&world, "work", "python3 ../attack.py");
    assert_eq!((done.status, &*done.stdout), (0, "end\n"), "{}", done.stderr);
}

/// What OpenClaw's gateway loads at its start, wherever openclaw.json says that it is.
#[test]
fn what_openclaws_gateway_loads_is_protected() {
    let world = made(
        "mkdir -p clawd/hooks/mine lib/extra/h plug tools ~/.openclaw
        for f in clawd/hooks/mine/handler.ts lib/extra/h/handler.ts plug/index.ts tools/server.js; do echo : > $f; done",
    );
    let work = world.work().display().to_string();
    world.write(
        "home/.openclaw/openclaw.json",
        format!(
            "{{agents: {{defaults: {{workspace: '{work}/clawd'}}}}, plugins: {{load: {{paths: ['{work}/plug']}}}},
            mcp: {{servers: {{own: {{command: 'node', args: ['{work}/tools/server.js']}}}}}},
            hooks: {{internal: {{entries: {{mine: {{enabled: true}}}}, load: {{extraDirs: ['{work}/lib/extra']}}}}}}}}"
        ),
    );
    let files = [
        "clawd/hooks/mine/handler.ts",
        "clawd/hooks/new/handler.ts",
        "lib/extra/h/handler.ts",
        "lib/extra/new.ts",
        "plug/index.ts",
        "tools/server.js",
    ];
    let before = files.map(|file| world.read(format!("work/{file}")));
    let line = files.map(|file| format!("mkdir -p $(dirname {file}); echo x >> {file}; cp /bin/true {file}"));
    let done = run(&world, "work", &line.join("\n"));
    assert_eq!(files.map(|file| world.read(format!("work/{file}"))), before, "{}", done.stderr);
    // The rest of the workspace is the agent's.
    let done = run(
        &world,
        "work",
        "set -e; echo x > clawd/MEMORY.md; mkdir clawd/src; echo x > clawd/src/hooks; echo done > end",
    );
    assert!(world.read("work/end").is_some(), "{}", done.stderr);
}

/// The configuration may include files, and name directories by variables of its own.
#[test]
fn what_openclaw_includes_and_names_by_variables_is_protected() {
    let world = made(
        "mkdir -p conf/.git/objects conf/.git/refs own/hooks state plugins beside
        echo 'ref: refs/heads/main' > conf/.git/HEAD
        for f in own/hooks/handler.ts state/handler.ts beside/index.ts server.js; do echo : > $f; done
        ln -s ../beside plugins/linked",
    );
    let work = world.work().display().to_string();
    world.write("home/.openclaw/.env", format!("STATE_ROOT={work}/state\n"));
    world.write(
        "work/conf/openclaw.json",
        format!(
            "{{env: {{vars: {{OWN_ROOT: '{work}/own'}}}}, hooks: {{$include: './hooks.json5'}},
            plugins: {{load: {{paths: ['{work}/plugins']}}}}, gateway: {{p\\u006frt: NaN}}}}"
        ),
    );
    world.write(
        "work/conf/hooks.json5",
        "{internal: {load: {extraDirs: ['${OWN_ROOT}/hooks', '${STATE_ROOT}']}}, mcp: {$include: './later.json5'}}",
    );
    let files = [
        "conf/hooks.json5",
        "conf/later.json5",
        "own/hooks/handler.ts",
        "state/handler.ts",
        "plugins/linked/index.ts",
        "beside/index.ts",
    ];
    let before = files.map(|file| world.read(format!("work/{file}")));
    let script = files.map(|file| format!("echo x >> {file}; cp /bin/true {file}")).join("\n")
        + "\ncat conf/hooks.json5; echo done > own/end";
    let mut command = world.command();
    command.env("OPENCLAW_CONFIG_PATH", world.work().join("conf/openclaw.json"));
    let done = guard_tests::ended(command.args(["-q", "--", "sh", "-c", &script]));
    assert_eq!(files.map(|file| world.read(format!("work/{file}"))), before, "{}", done.stderr);
    // What is included may hold tokens, as the configuration does.
    assert!(!done.stdout.contains("OWN_ROOT"), "{}", done.stdout);
    assert!(world.read("work/own/end").is_some(), "{}", done.stderr);
}
