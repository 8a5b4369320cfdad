//! What looks like a place from which nothing runs, and is one: links and directories inside a repository, a repository
//! inside another, files that the operator's git puts into a directory of the tree's, and places by name.

use std::process::Command;

use guard_tests::{World, ended, exchange, status_of, until};

use crate::planted::{Planted, comes_to_nothing, each_comes_to_nothing, leaked, one_run, operator};

/// Has git run the mark's program where it looks for changes, by the configuration at `$1`.
const CONF: &str = r#"conf() { printf '[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = touch \\"$MARK\\"; false\n' > "$1"; }; "#;
/// A hook of a repository that is pushed to.
const RECEIVE: &str = r##"receive() { mkdir -p "$1"; printf '#!/bin/sh\ntouch "$MARK"\n' > "$1/post-receive"; chmod +x "$1/post-receive"; }; "##;

/// One run in `work` that begins with [`CONF`] and [`RECEIVE`].
fn planted(before: &'static str, attack: &str, after: &'static str) -> Planted {
    one_run(before, format!("{CONF}{RECEIVE}{attack}"), after)
}

#[test]
fn a_link_in_a_git_directory_leads_nowhere() {
    let commit = "cd project && git commit -q --allow-empty -m x";
    let status = "cd project && git status";
    let project = "git init -q project; rm -rf project/.git/hooks project/.git/info project/.git/config";
    let filter = r#"git config --global filter.f.clean 'touch "$MARK"; cat'; git init -q project; rm -rf project/.git/info
        echo x > project/f"#;
    for (before, attack, after) in [
        (project, "hook evil; ln -s ../../evil project/.git/hooks", commit),
        (project, "conf evil; ln -s ../../evil project/.git/config", status),
        (
            filter,
            "mkdir evil; echo '* filter=f' > evil/attributes; ln -s ../../evil project/.git/info",
            "cd project; git add f",
        ),
        ("mkdir project", "git init -q e; conf e/.git/config; ln -s ../e/.git project/.git", status),
        (
            "mkdir project",
            "git init -q e; conf e/.git/config; echo 'gitdir: ../e/.git' > project/.git",
            status,
        ),
        (
            "mkdir project",
            "git init -q e; conf e/.git/config; echo 'gitdir: ../e/.git' > g; ln g project/.git",
            status,
        ),
        ("mkdir project", "git init -q e; conf e/.git/config; mv e/.git project/.git", status),
        (
            "git init -q project",
            "cp -r project/.git evil; conf evil/config; echo ../../evil > project/.git/commondir",
            status,
        ),
    ] {
        each_comes_to_nothing(&planted(before, attack, after));
    }
}

/// git takes a directory with the name of a submodule for the one that it would make.
#[test]
fn nothing_is_put_where_a_submodule_will_be() {
    let clone = "git init -q other; git -C other commit -q --allow-empty -m x; git init -q up; cd up
        git -c protocol.file.allow=always submodule add -q ../other sub; git commit -q -m x; cd ..; git clone -q up project";
    let update = "cd project; git -c protocol.file.allow=always submodule update --init; git -C sub status; git status";
    for attack in [
        "git init -q --bare evil; conf evil/config; mkdir project/.git/modules; ln -s ../../../evil project/.git/modules/sub",
        "git init -q --bare evil; conf evil/config; mkdir project/.git/modules; mv evil project/.git/modules/sub",
        "mkdir m; git init -q --bare m/sub; conf m/sub/config; mv m project/.git/modules",
        "mkdir m; git init -q --bare m/sub; conf m/sub/config; ln -s ../../m project/.git/modules",
    ] {
        comes_to_nothing(&planted(clone, attack, update));
    }
}

/// git looks for a `.git` in the directory that it is given, also if that is a repository itself.
#[test]
fn a_repository_in_a_repository_does_not_stand_for_it() {
    let bare =
        "git init -q --bare x.git; git clone -q x.git clone; cd clone; git commit -q --allow-empty -m x";
    let push = "cd clone; git push -q origin HEAD";
    let project = "git init -q project; git init -q clone; git -C clone commit -q --allow-empty -m x";
    for (before, attack, after) in [
        (bare, "git init -q --bare x.git/.git; receive x.git/.git/hooks", push),
        (bare, "git init -q --bare e; receive e/hooks; mv e x.git/.git", push),
        (bare, "git init -q --bare e; receive e/hooks; ln -s ../e x.git/.git", push),
        (
            project,
            "git init -q --bare project/.git/.git; receive project/.git/.git/hooks",
            "cd clone; git push -q ../project/.git HEAD:refs/heads/new",
        ),
        (
            project,
            "git init -q --bare project/.git/.git; conf project/.git/.git/config",
            "cd project/.git; git --work-tree=.. status",
        ),
    ] {
        comes_to_nothing(&planted(before, attack, after));
    }
}

#[test]
fn the_places_of_a_work_tree_are_not_the_trees() {
    let worktree = "git init -q project; git -C project commit -q --allow-empty -m x; git -C project config extensions.worktreeConfig true
        git -C project worktree add -q ../wt HEAD";
    let evil = "cp -r project/.git evil; conf evil/config";
    for attack in [
        "echo 'gitdir: ../evil' > wt/.git",
        r#"echo "$W/work/evil" > e; mv e project/.git/worktrees/wt/commondir"#,
        r#"cp -r project/.git/worktrees/wt n; echo "$W/work/evil" > n/commondir; rm -rf project/.git/worktrees/wt; mv n project/.git/worktrees/wt"#,
        r#"cp -r project/.git/worktrees/wt n; echo "$W/work/evil" > n/commondir; rm -rf project/.git/worktrees/wt; ln -s ../../../n project/.git/worktrees/wt"#,
        r#"cp -r project/.git/worktrees n; echo "$W/work/evil" > n/wt/commondir; rm -rf project/.git/worktrees; mv n project/.git/worktrees"#,
        "conf project/.git/worktrees/wt/config.worktree",
    ] {
        each_comes_to_nothing(&planted(worktree, &format!("{evil}; {attack}"), "cd wt; git status"));
    }
}

/// What the operator's git puts there while the run goes on is the operator's.
#[test]
fn a_work_tree_in_a_directory_of_the_trees_stays_the_operators() {
    for attack in [
        "echo 'gitdir: ../evil' > wt/.git",
        "echo 'gitdir: ../evil' > g; mv g wt/.git",
        "rm wt/.git; echo 'gitdir: ../evil' > wt/.git",
        "mv wt away; mkdir wt; echo 'gitdir: ../evil' > wt/.git",
        concat!("mkdir new; echo 'gitdir: ../evil' > new/.git; ", exchange!(), " wt new"),
    ] {
        let runs_it = |is_kept: bool| {
            let world = World::open().with_persistence(is_kept);
            let native = |line: &str| {
                let mut command = world.native_command();
                ended(operator(&world, &mut command).args(["sh", "-c", line]))
            };
            native("git init -q project; git -C project commit -q --allow-empty -m x");
            let line = format!(
                "{CONF}cp -r project/.git evil; conf evil/config; mkdir wt; touch ready
                until [ -e go ]; do sleep 0.05; done; {attack}"
            );
            let mut command = world.command();
            let mut run = spawned(operator(&world, &mut command).args(["--", "sh", "-c", &line]));
            until("the directory is made", || world.work().join("ready").exists());
            let added = native("git -C project worktree add -q -f ../wt HEAD && touch go");
            assert_eq!(added.status, 0, "{}", added.stderr);
            status_of(&mut run);
            assert!(!world.root().join("mark").exists(), "the mark is the operator's to make");
            native("cd wt; git status");
            world.root().join("mark").exists()
        };
        assert!(runs_it(false), "it does not work where nothing is kept: {attack}");
        assert!(!runs_it(true), "the operator ran what the tree left: {attack}");
    }
}

fn spawned(command: &mut Command) -> std::process::Child {
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the guard")
}

#[test]
fn configurations_of_other_tools_in_a_git_directory_are_protected() {
    for name in ["arc", "branchless", "sl"] {
        for attack in [
            format!("echo > one/.git/{name}/config; mkdir -p two/.git/{name}; echo > two/.git/{name}/config"),
            format!("mkdir e; echo > e/config; ln -s ../../e two/.git/{name}"),
        ] {
            let after = format!(
                "[ ! -e one/.git/{name}/config ] && [ ! -e two/.git/{name}/config ] || touch \"$MARK\""
            );
            let before = format!("git init -q one; git init -q two; mkdir one/.git/{name}");
            each_comes_to_nothing(&planted(leaked(before), &attack, leaked(after)));
        }
    }
}

#[test]
fn what_runs_where_a_program_starts_is_protected_in_every_directory() {
    for name in [
        ".Renviron",
        ".RData",
        "irb.rc",
        "$irbrc",
        ".byebugrc",
        "jupyter_server_config.py",
        "jupyter_config.json",
        "node-compile-cache/v22-x64-1/0",
        "v8-compile-cache-1000/11.3/x.BLOB",
        "jiti/openclaw/2026.7.35/mark/x.cjs",
        ".jupytext.py",
        "gtags.conf",
        ".tmux-sessionizer",
        ".terraform-version",
        ".opentofu-version",
        ".lua-version",
        "rust-toolchain.toml",
        "rust-toolchain",
        ".lazygit.yml",
        ".obsidian/plugins/x/main.js",
        "startup.m",
        ".run/x.run.xml",
        ".mc.menu",
        ".west/config",
        ".mrconfig",
        ".gemini/hooks/x",
        ".agents/skills/x/SKILL.md",
        ".opencode.json",
        ".github/mcp.json",
        ".nvmrc",
        ".java-version",
        ".sdkmanrc",
        ".perl-version",
        ".phpbrewrc",
        ".ctags.d/x.ctags",
        ".jedi/project.json",
        ".valgrindrc",
        ".gvimrc",
        ".lsp/config.edn",
        ".joyride/scripts/x.cljs",
        ".prototools",
        ".shadowenv.d/a.lisp",
        ".cursor/worktrees.json",
        ".agents/hooks.json",
        ".kiro/agents/x.json",
        ".github/lsp.json",
        ".github/extensions/x/extension.mjs",
        ".roo/tools/x.ts",
        ".vibe/tools/x.py",
        ".openhands/setup.sh",
        ".gitlab/duo/mcp.json",
        ".mux/init",
        ".claude/workflows/x.js",
        ".lite_project.lua",
        "x.code-workspace",
        "conductor.json",
        ".superset/config.json",
        ".emdash.json",
        "buildServer.json",
        ".neoconf.json",
        ".nlsp-settings/x.json",
        ".merlin",
        ".ropeproject/config.py",
        "scilab.ini",
    ] {
        let attack = format!("f='deep/{name}'; mkdir -p \"$(dirname \"$f\")\"; echo evil > \"$f\"");
        let after = format!("[ ! -e 'deep/{name}' ] || touch \"$MARK\"");
        each_comes_to_nothing(&planted("mkdir -p deep", &attack, leaked(after)));
    }
}

#[test]
fn a_home_is_a_directory_like_others() {
    for name in
        [".idea/x", ".rvmrc", ".junie/mcp/mcp.json", "crush.json", ".nvim.lua", ".github/hooks/x.json"]
    {
        let attack = format!("cd; mkdir -p \"$(dirname '{name}')\"; echo evil > '{name}'");
        let after = format!("[ ! -e ~/'{name}' ] || touch \"$MARK\"");
        each_comes_to_nothing(&planted(":", &attack, leaked(after)));
    }
}

/// Work trees of the tree's own, in a repository of the operator's, work as without a guard; so do copies of others.
#[test]
fn work_trees_of_the_trees_own_work() {
    let script = r#"set -e; git -C project worktree add -q -b own ../own HEAD; cd own; git commit -q --allow-empty -m y; cd ..
        mv own moved; git -C project worktree repair ../moved 2> /dev/null; git -C moved status --short
        git -C project worktree remove --force ../moved; cp -a theirs copy; touch copy/.git; git -C copy log --oneline | wc -l
        rm -rf copy; mkdir d; echo "gitdir: $W/work/project/.git/worktrees/theirs" > d/g; mv d/g d/.git; rm -r d
        mkdir e; git -C project worktree prune; git -C project gc -q; echo done"#;
    for made in [World::open, World::floored] {
        let world = made().with_persistence(true);
        let mut command = world.native_command();
        let before = "git init -q project; git -C project commit -q --allow-empty -m x; git -C project worktree add -q ../theirs HEAD";
        ended(operator(&world, &mut command).args(["sh", "-c", before]));
        let mut command = world.command();
        let ended = ended(operator(&world, &mut command).args(["--", "sh", "-c", script]));
        assert_eq!((ended.stdout.as_str(), ended.status), ("1\ndone\n", 0), "{}", ended.stderr);
        assert_eq!(ended.guard_lines(), [""; 0]);
    }
}
