//! Nothing that would run outside the guard is left behind, whatever way it takes.
//!
//! The policy of these tests allows everything else. The tests read each place afterwards to see whether
//! something was left behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use guard_tests::{World, behind, copy_guard, ended, guard, program, search_path, skip};

const WAYS: &str = include_str!("ways.pl");

const ALL: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions":
    {"persistence": PERSISTENCE, "filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#;

fn world(persistence: &str) -> World {
    let world = World::bare().policy(&ALL.replace("PERSISTENCE", persistence));
    world.write("scratch/evil", "evil\n");
    world
}

/// Returns the guard's command; the operator's PATH also contains `tools`.
fn command(world: &World, guard: &Path) -> Command {
    let tools = world.root().join("tools");
    let path = search_path();
    let mut paths = vec![tools];
    paths.extend(std::env::split_paths(&path));
    let mut command = world.command_of(guard);
    command.arg("-q").env("PATH", std::env::join_paths(paths).expect("a PATH")).env_remove("ZDOTDIR");
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "GIT_CONFIG_GLOBAL"] {
        command.env_remove(name);
    }
    command
}

fn attack(world: &World, guard: &Path, paths: &[PathBuf]) {
    attack_from(&world.work(), world, guard, paths);
}

fn attack_from(start: &Path, world: &World, guard: &Path, paths: &[PathBuf]) {
    let mut command = command(world, guard);
    command.current_dir(start).env("SCRATCH", world.root().join("scratch"));
    let renameat2 = guard_tests::number!(renameat2).to_string();
    command.args(["--", "perl", "-e", WAYS, &renameat2]).arg(world.root()).args(paths);
    let ended = ended(&mut command);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
}

fn run_git(directory: &Path, words: &str) {
    let done = Command::new("git")
        .args(["-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "protocol.file.allow=always"])
        .args(words.split(' '))
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output();
    let done = done.expect("git");
    assert!(done.status.success(), "git {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Creates what the operator has: parent directories, a repository.
fn furnish(world: &World) {
    run_git(&world.work(), "init -q");
    for directory in ["tools", "home/.config/other", "home/.local/share", "home/.ssh", "work/src"] {
        fs::create_dir_all(world.root().join(directory)).expect("a directory");
    }
}

/// Places by their set. The operator already has some of them.
const PLACES: [(&str, &[&str]); 12] = [
    ("shell", &["home/.bashrc", "home/.config/fish/config.fish", "home/.zshenv"]),
    (
        "login",
        &["home/.xprofile", "home/.config/environment.d/x.conf", "home/.config/plasma-workspace/env/x.sh"],
    ),
    ("ssh", &["home/.ssh/authorized_keys", "home/.ssh/rc", "home/.ssh/config.d/x"]),
    (
        "autostart",
        &[
            "home/.config/autostart/x.desktop",
            "home/.local/share/applications/x.desktop",
            "home/.local/share/dbus-1/services/x",
        ],
    ),
    (
        "systemd",
        &[
            "home/.config/systemd/user/x.service",
            "home/.local/share/systemd/user/x.timer",
            "home/.config/systemd/user/default.target.wants/x",
        ],
    ),
    ("cron", &["home/.crontab", "home/.config/cron/x", "home/.config/crontab"]),
    (
        "git",
        &[
            "home/.gitconfig",
            "home/.config/git/config",
            "work/.git/hooks/post-commit",
            "work/.git/info/attributes",
            "work/.git/config.worktree",
            "work/.git/commondir",
        ],
    ),
    ("direnv", &["work/.envrc", "home/.config/direnv/direnvrc", "home/.local/share/direnv/allow/x"]),
    ("editors", &["work/.vscode/tasks.json", "home/.vimrc", "home/.config/nvim/init.lua"]),
    ("packages", &["home/.npmrc", "home/.config/pip/pip.conf", "home/.cargo/config.toml"]),
    ("path", &["tools/ls", "home/.local/bin/ls", "home/bin/ls"]),
    ("agents", &["work/.claude/settings.json", "work/.mcp.json", "home/.claude/hooks/x.sh"]),
];

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Tries all ways to each of the places: once where nothing is there and once where something is.
fn holds(set: &str, names: &[&str]) {
    for is_there in [false, true] {
        let world = world("true");
        furnish(&world);
        let paths: Vec<PathBuf> = names.iter().map(|path| world.root().join(path)).collect();
        for path in paths.iter().filter(|_| is_there) {
            world.write(path, "mine\n");
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).expect("a mode");
        }
        attack(&world, &guard(), &paths);
        for path in &paths {
            let mine = is_there.then(|| "mine\n".to_owned());
            assert_eq!(read(path), mine, "{set}: {}", path.display());
            if is_there {
                let mode = fs::metadata(path).expect("a file").permissions().mode();
                assert_eq!(mode & 0o777, 0o644, "{set}: {}", path.display());
            }
        }
    }
    // With the set off one of the ways reaches the place, so the attack itself works.
    let off = world(&format!(r#"{{"{set}": false}}"#));
    furnish(&off);
    let path = off.root().join(names[0]);
    attack(&off, &guard(), std::slice::from_ref(&path));
    assert_eq!(read(&path).as_deref(), Some("evil\n"), "{set} is off: {}", path.display());
}

macro_rules! places {
    ($($set:ident),*) => {$(
        #[test]
        fn $set() {
            let set = stringify!($set);
            let (_, places) = PLACES.iter().find(|(name, _)| *name == set).expect("a set");
            holds(set, places);
        }
    )*};
}

places!(shell, login, ssh, autostart, systemd, cron, git, direnv, editors, packages, path, agents);

/// Returns what `check` reports for a write, with the reason.
fn check(world: &World, path: &str) -> String {
    let mut command = command(world, &guard());
    ended(command.args(["check", "--json", "--write"]).arg(path)).stdout
}

#[test]
fn files_that_the_system_runs_are_protected_too() {
    let world = world("true");
    for (set, paths) in [
        ("preload", &["/etc/ld.so.preload", "/etc/ld.so.conf.d/x.conf", "/etc/ld.so.conf"][..]),
        ("cron", &["/etc/crontab", "/etc/cron.d/x", "/var/spool/cron/crontabs/root"]),
        ("systemd", &["/etc/systemd/system/x.service", "/etc/init.d/x", "/run/systemd/system/x"]),
        ("shell", &["/etc/profile", "/etc/profile.d/x.sh", "/etc/environment"]),
        ("path", &["/usr/bin/x", "/usr/local/bin/x", "/usr/sbin/x"]),
    ] {
        for path in paths {
            let output = check(&world, path);
            assert!(output.contains(r#""outcome":"deny""#), "{path}: {output}");
            assert!(
                output.contains(&format!(r#""path":"permissions.persistence.{set}""#)),
                "{path}: {output}"
            );
        }
    }
    for path in ["/usr/share/x", "/etc/x", "/var/spool/x"] {
        assert!(check(&world, path).contains(r#""outcome":"allow""#), "{path}");
    }
}

#[test]
fn the_guards_own_program_stays() {
    for (persistence, expected) in [("true", None), (r#"{"guard": false}"#, Some("evil\n"))] {
        let world = world(persistence);
        let own = world.write("bin/openclaw-guard", "");
        copy_guard(&own);
        let size = fs::metadata(&own).expect("a file").len();
        attack(&world, &own, std::slice::from_ref(&own));
        match expected {
            Some(text) => assert_eq!(read(&own).as_deref(), Some(text)),
            None => assert_eq!(fs::metadata(&own).expect("a file").len(), size),
        }
    }
}

#[test]
fn links_on_the_way_are_protected_with_their_targets() {
    let attacked = |prepare: &dyn Fn(&World), path: &str, aims: &[&str]| {
        let world = world("true");
        furnish(&world);
        prepare(&world);
        let aims: Vec<PathBuf> = aims.iter().map(|aim| world.root().join(aim)).collect();
        attack(&world, &guard(), &aims);
        read(&world.root().join(path))
    };
    // ~/.bashrc leads to dotfiles/now/bashrc, and from there through a second link to dotfiles/v1/bashrc.
    let dotfiles = |world: &World| {
        world.write("home/dotfiles/v1/bashrc", "mine\n");
        symlink("v1", world.home().join("dotfiles/now")).expect("a link");
        symlink("dotfiles/now/bashrc", world.home().join(".bashrc")).expect("a link");
    };
    let aims = ["home/.bashrc", "home/dotfiles/now", "home/dotfiles/now/bashrc", "home/dotfiles/v1/bashrc"];
    assert_eq!(attacked(&dotfiles, "home/.bashrc", &aims).as_deref(), Some("mine\n"));
    // A link to a file that does not exist yet, and a directory that is a link.
    let dangling = |world: &World| symlink("dotfiles/zshrc", world.home().join(".zshrc")).expect("a link");
    assert_eq!(attacked(&dangling, "home/.zshrc", &["home/.zshrc", "home/dotfiles/zshrc"]), None);
    let moved = |world: &World| {
        fs::rename(world.home().join(".config"), world.home().join("cfg")).expect("to move it");
        symlink("cfg", world.home().join(".config")).expect("a link");
    };
    let aims = ["home/.config/fish/config.fish", "home/cfg/fish/config.fish"];
    assert_eq!(attacked(&moved, aims[0], &aims), None);
}

#[test]
fn configuration_elsewhere_is_kept_too() {
    let world = world("true");
    furnish(&world);
    let config = world.root().join("elsewhere");
    fs::create_dir(&config).expect("a directory");
    let mut command = command(&world, &guard());
    command.env("XDG_CONFIG_HOME", &config).env("ZDOTDIR", world.root().join("zsh"));
    let line = "mkdir -p ../elsewhere/fish ../elsewhere/other ../zsh; echo x > ../elsewhere/fish/config.fish; \
        echo x > ../zsh/.zshrc; echo x > ../elsewhere/other/x; echo x > ../zsh/x";
    ended(command.args(["--", "sh", "-c", line]));
    assert!(world.read("elsewhere/other/x").is_some() && world.read("zsh/x").is_some());
    assert!(world.read("elsewhere/fish/config.fish").is_none() && world.read("zsh/.zshrc").is_none());
}

#[test]
fn the_configuration_of_worktrees_and_submodules_is_protected() {
    // To git these are all one repository, wherever the guard starts.
    for start in ["work/tree", "work/main/sub"] {
        let world = world("true");
        let work = world.work();
        let [lib, main] = ["lib", "main"].map(|name| work.join(name));
        for top in [&lib, &main] {
            fs::create_dir(top).expect("a directory");
            run_git(top, "init -q");
            fs::write(top.join("f"), "f").expect("a file");
            run_git(top, "add f");
            run_git(top, "commit -qm first");
        }
        run_git(&main, "submodule --quiet add ../lib sub");
        run_git(&main, "commit -qm sub");
        run_git(&main, "worktree add -q ../tree -b side");
        let files: Vec<PathBuf> = [
            "main/.git/config",
            "main/.git/hooks/post-commit",
            "main/.git/worktrees/tree/commondir",
            "main/.git/modules/sub/config",
            "main/sub/.git",
            "tree/.git",
        ]
        .map(|file| work.join(file))
        .into();
        let before: Vec<_> = files.iter().map(|file| read(file)).collect();
        attack_from(&world.root().join(start), &world, &guard(), &files);
        for (file, before) in files.iter().zip(&before) {
            assert_eq!(&read(file), before, "from {start}: {}", file.display());
        }
    }
}

#[test]
fn a_work_tree_that_the_tree_cannot_remove_stays_known() {
    let world = world("true");
    furnish(&world);
    world.write("work/f", "1\n");
    let work = world.work();
    for line in ["add f", "commit -qm first", "worktree add -q ../theirs"] {
        run_git(&work, line);
    }
    // git stops at the first file that stays, and the file system chooses the order.
    let line = "git worktree remove --force ../theirs; rm -rf ../theirs .git/worktrees/theirs";
    let ended = ended(command(&world, &guard()).args(["--", "sh", "-c", line]));
    assert_ne!(ended.status, 0, "its .git may not go: {ended:?}");
    let theirs = world.root().join("theirs");
    run_git(&work, "worktree prune");
    run_git(&theirs, "reset -q --hard");
    run_git(&work, "worktree remove ../theirs");
    assert!(!theirs.exists());
}

#[test]
fn hooks_and_includes_that_git_names_are_protected() {
    let world = world("true");
    furnish(&world);
    run_git(&world.work(), "config core.hooksPath .hooks");
    run_git(&world.work(), "config include.path ../shared/config");
    let paths = ["work/.hooks/pre-commit", "work/shared/config"].map(|path| world.root().join(path));
    attack(&world, &guard(), &paths);
    assert_eq!(paths.map(|path| read(&path)), [None, None]);
}

#[test]
fn ordinary_work_goes_on() {
    let world = world("true");
    furnish(&world);
    world.write("work/f", "1\n");
    let line = "set -e; export GIT_AUTHOR_NAME=u GIT_AUTHOR_EMAIL=u@x GIT_COMMITTER_NAME=u GIT_COMMITTER_EMAIL=u@x
        git add f; git commit -qm first; git checkout -qb side; echo 2 >> f; git stash -q; git stash pop -q
        git commit -qam second; git tag v1; git gc -q; git worktree add -q ../tree; git fsck
        git clone -q . ../copy; cd ../copy; git config core.pager cat; git remote add other ../work; git fetch -q other
        echo 'exit 0' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git commit -qm empty --allow-empty
        git init -q ../new; cd ../new; git config a.b c
        mkdir -p ~/.config/mine ~/.local/share/mine; echo x > ~/.config/mine/x; mv ~/.config/mine ~/.config/yours
        mkdir ../work/src/deep; mv ../work/src ../work/sources; rm -r ../work/sources; ln -s /nowhere ../work/link
        echo done";
    let ended = ended(command(&world, &guard()).args(["--", "sh", "-c", line]));
    assert!(ended.status == 0 && ended.stdout.ends_with("done\n"), "{ended:?}");
    assert_eq!(world.audit().iter().filter(|line| line["outcome"] == "deny").count(), 0);
}

/// ramfs does not record when a file was made, as NFS before Linux 6.16.
#[test]
fn a_repository_is_made_where_births_are_not_recorded() {
    let world = world("true");
    let work = world.work();
    let mounted = |command: &Command| {
        let line = r#"mount -t ramfs ramfs "$0" && cd "$0" && git init -q theirs && exec "$@""#;
        let at = work.to_str().expect("a plain path");
        let namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", line, at];
        ended(&mut behind(&namespace, command))
    };
    if mounted(&Command::new("true")).status != 0 {
        return skip("this user may not mount a ramfs in a namespace of its own");
    }
    let line = "git init -q own && git -C own config core.bare false && echo hook > own/.git/hooks/pre-commit && echo made
        echo hook > theirs/.git/hooks/pre-commit || echo denied
        rm -rf own; mv theirs/.git own 2>&1 || echo stays";
    let ended = mounted(command(&world, &guard()).args(["--", "sh", "-c", line]));
    assert_eq!(ended.stdout.lines().next(), Some("made"), "{ended:?}");
    assert!(ended.stdout.contains("denied\n") && ended.stdout.ends_with("stays\n"), "{ended:?}");
}

#[test]
fn a_virtual_environment_of_the_workspace_can_be_filled() {
    let world = world("true");
    let made =
        Command::new(program("python3")).args(["-m", "venv", "venv"]).current_dir(world.work()).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return skip("python3 -m venv");
    }
    // The virtual environment is active, as an operator has it.
    let bin = world.work().join("venv/bin");
    let path = format!("{}:{}", bin.display(), search_path().display());
    world.write("work/p/run", "#!/bin/sh\necho hi\n");
    let line = "mkdir -p node_modules/.bin && echo x > node_modules/.bin/x && cp p/run venv/bin/run && chmod +x venv/bin/run && run";
    let ended = ended(command(&world, &guard()).env("PATH", path).args(["--", "sh", "-c", line]));
    assert_eq!(ended.stdout, "hi\n", "{}", ended.stderr);
}

#[test]
fn a_denial_says_what_would_allow_it_and_is_final() {
    let world = World::bare().attended().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss"}, "permissions":
            {"persistence": "deny", "filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "~/.zshrc": "rw-"}, "default": "???"}}}"#,
    );
    run_git(&world.work(), "init -q");
    let before = world.read("work/.git/config");
    let line = "echo x > ~/.bashrc; echo x > ~/.zshrc; git config a.b c; git remote add o ../o";
    let ended = world.sh(line);
    let denied = |path: PathBuf, set: &str, when: &str| {
        format!(
            "openclaw-guard: denied write {} (builtin persistence \"{set}\": runs outside the guard {when}; \
             \"permissions\": {{\"persistence\": {{\"{set}\": false}}}} allows it)",
            path.display()
        )
    };
    let lines = ended.guard_lines();
    for (path, set, when) in [
        (world.home().join(".bashrc"), "shell", "in the next shell"),
        (world.home().join(".zshrc"), "shell", "in the next shell"),
    ] {
        let expected = denied(path, set, when);
        assert!(lines.contains(&&*expected), "{expected}\n{lines:#?}");
    }
    // git makes a lock first, and its content is judged when it becomes the configuration.
    let expected = format!(
        "openclaw-guard: denied write {} (builtin persistence \"git\": added a.b: it is not among the keys that are known to \
         run nothing; make this change yourself, outside the guard)",
        world.work().join(".git/config").display()
    );
    assert!(lines.contains(&&*expected), "{expected}\n{lines:#?}");
    assert_eq!(world.read("work/.git/config"), before);
    assert!(world.read("home/.bashrc").is_none() && world.read("home/.zshrc").is_none());
}

#[test]
fn the_built_in_policy_has_it_and_show_lists_it() {
    let bare = World::bare();
    run_git(&bare.work(), "init -q");
    let ended = bare.sh("echo x > .git/hooks/pre-commit; echo x > .envrc; echo x > file");
    assert!(
        ended.stderr.contains("(builtin persistence \"git\": runs outside the guard when git is used next)")
    );
    assert!(bare.read("work/file").is_some() && bare.read("work/.envrc").is_none());
    assert!(bare.read("work/.git/hooks/pre-commit").is_none());

    let world = world(r#"{"ssh": false, "path": true}"#);
    let shown = guard_tests::ended(command(&world, &guard()).args(["policy", "show", "--effective"])).stdout;
    let home = world.home();
    let has = |line: &str| shown.lines().any(|other| other.trim() == line);
    assert!(has(&format!("{}/.bashrc  shell  (builtin, permissions.persistence.shell)", home.display())));
    assert!(has("ssh  off  (global, permissions.persistence.ssh)"), "{shown}");
    assert!(!shown.contains("authorized_keys"));
}

/// What ordinary values of git's configuration only read, or share with other programs, stays open.
#[test]
fn ordinary_values_of_git_close_nothing() {
    let world = world("true");
    furnish(&world);
    for (key, value) in [
        ("alias.x", "!git fetch 2>/dev/null"),
        ("core.hooksPath", "/dev/null"),
        ("core.attributesFile", "/dev/null"),
        ("core.sshCommand", "ssh -F /dev/null -o UserKnownHostsFile=/dev/null"),
        ("filter.p.clean", "if [ -f package.json ]; then cat; fi"),
        ("merge.lock.driver", "cargo update && cp Cargo.lock %A"),
        ("difftool.tex.cmd", "latexdiff $LOCAL $REMOTE > /tmp/diff-$$.tex"),
        ("core.editor", "emacsclient --socket-name=/tmp/emacs$UID/server"),
    ] {
        let set = Command::new("git").args(["config", key, value]).current_dir(world.work()).status();
        assert!(set.is_ok_and(|status| status.success()), "{key}");
    }
    for file in ["package.json", "Cargo.lock"] {
        world.write(format!("work/{file}"), "old\n");
    }
    let line = "for file in /dev/null package.json Cargo.lock; do echo new > $file || exit 1; done; git status >/dev/null && \
                rm $(mktemp -p /tmp) && echo done";
    let ended = ended(world.command().args(["--", "sh", "-c", line]));
    assert_eq!((&*ended.stdout, ended.status), ("done\n", 0), "{}", ended.stderr);
}

/// PATH may name the workspace itself, which is then no place for the operator's programs alone.
#[test]
fn the_work_stays_writable_where_path_leads_to_it() {
    let world = world("true");
    fs::create_dir(world.work().join("bin")).expect("a directory");
    symlink(world.work(), world.root().join("link")).expect("a link");
    let path = search_path();
    for more in ["", ".", "bin/..", &world.root().join("link").display().to_string()] {
        let mut command = world.command();
        command.env("PATH", format!("{}:{more}", path.display())).current_dir(world.work());
        let ended = ended(command.args(["--", "sh", "-c", "echo hi > new && cat new && rm new"]));
        assert_eq!((&*ended.stdout, ended.status), ("hi\n", 0), "{more:?}: {}", ended.stderr);
    }
}

/// cron and login shells take the home of the password entry, whatever HOME is.
#[test]
fn the_home_of_the_password_entry_is_a_home() {
    let entry = ended(Command::new("sh").args(["-c", "getent passwd $(id -u) | cut -d: -f6"])).stdout;
    let home = entry.trim_end();
    if !home.starts_with('/') || home == "/" {
        return guard_tests::skip("this user has no home");
    }
    let verdict = |persistence: &str, name: &str| {
        let world = world(persistence);
        let path = format!("{home}/{name}");
        ended(command(&world, &guard_tests::guard()).args(["check", "--write", &path])).stdout
    };
    let kept = verdict("true", ".bashrc");
    assert!(kept.starts_with("deny write") && kept.contains("persistence \"shell\""), "{kept}");
    assert!(verdict("false", ".bashrc").starts_with("allow write"));
    assert!(verdict("true", "notes").starts_with("allow write"));
}
