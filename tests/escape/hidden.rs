//! What keeps the guard from reading what git reads: a lease on a configuration, a mode for a moment. And git directories that
//! only a file names.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use guard_tests::{World, ended};

use crate::planted::{Planted, each_comes_to_nothing, leaked, one_run};

/// Puts a hook into a directory while a lease keeps others from reading a file (fcntl(2), F_SETLEASE).
const LEASE: &str = r##"lease() { python3 -c '
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open(sys.argv[1])
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
os.makedirs(sys.argv[2], exist_ok=True)
path = sys.argv[2] + "/pre-commit"
with open(path, "w") as hook: print("#!/bin/sh", "touch \"$MARK\"", sep="\n", file=hook)
os.chmod(path, 0o755)' "$@"; }; "##;

/// One run in `work`.
fn planted(before: &'static str, attack: &str, after: &'static str) -> Planted {
    one_run(before, format!("{LEASE}{attack}"), after)
}

const COMMIT: &str = "cd g/repo && git commit -q --allow-empty -m x";

#[test]
fn a_lease_hides_no_configuration() {
    let named = r#"mkdir g; git init -q g/repo; git -C g/repo config core.hooksPath "$W/work/g/hooks""#;
    each_comes_to_nothing(&planted(named, "lease g/repo/.git/config g/hooks", COMMIT));
    let included = r#"mkdir g; git init -q g/repo; git -C g/repo config include.path "$W/work/g/conf"
        git config -f g/conf core.hooksPath "$W/work/g/hooks""#;
    each_comes_to_nothing(&planted(included, "lease g/conf g/hooks", COMMIT));
    let of_user = r#"mkdir g; git init -q g/repo; git config --global core.hooksPath "$W/work/g/hooks""#;
    each_comes_to_nothing(&planted(of_user, "lease ~/.gitconfig g/hooks", COMMIT));
    let tree = r#"mkdir -p g far/a/b; git init -q far/a/b/main; git -C far/a/b/main commit -q --allow-empty -m x
        git -C far/a/b/main worktree add -q "$W/work/g/repo"; git -C far/a/b/main config core.hooksPath "$W/work/g/hooks""#;
    for file in ["g/repo/.git", "far/a/b/main/.git/worktrees/repo/commondir", "far/a/b/main/.git/config"] {
        each_comes_to_nothing(&planted(tree, &format!("lease {file} g/hooks"), COMMIT));
    }
}

#[test]
fn a_start_names_the_file_that_a_lease_holds() {
    let world = World::bare();
    let file = world.write("home/.gitconfig", "");
    let holding = "import fcntl, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = open(sys.argv[1])
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('held', flush=True)
sys.stdin.read()";
    let mut holder = Command::new("/usr/bin/python3")
        .args(["-c", holding])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut line = String::new();
    let output = holder.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let held = ended(world.command().args(["--", "true"]));
    drop(holder.stdin.take());
    holder.wait().expect("its end");
    assert_eq!((&*line, held.status), ("held\n", 125), "{}", held.stderr);
    let message = format!("the guard cannot read {} now (", file.display());
    assert!(held.stderr.contains(&message) && held.stderr.contains("try again"), "{}", held.stderr);
    assert_eq!(ended(world.command().args(["--", "true"])).status, 0);
}

#[test]
fn a_mode_hides_nothing_for_a_moment() {
    let links = "mkdir -p g/shared; git init -q g/repo; rm -rf g/repo/.git/hooks; ln -s ../../shared g/repo/.git/hooks";
    let named = r#"mkdir -p g/cfg g/shared; git init -q g/repo; git -C g/repo config core.hooksPath "$W/work/g/cfg/hooks"
        ln -s ../shared g/cfg/hooks"#;
    for (before, shut) in [(links, "g/repo"), (links, "g/repo/.git"), (named, "g/cfg"), (named, "g/repo")] {
        for mode in ["600", "000"] {
            let attack = format!("chmod {mode} {shut}; hook g/shared; chmod 755 {shut}");
            each_comes_to_nothing(&planted(before, &attack, COMMIT));
        }
    }
    // By a descriptor of the directory below: the path is shut on the way.
    let by_descriptor = |shut: &str| {
        format!(
            r##"cd g/shared; chmod 600 {shut}; printf '#!/bin/sh\ntouch "$MARK"\n' > pre-commit; chmod +x pre-commit; chmod 755 {shut}"##
        )
    };
    each_comes_to_nothing(&planted(links, &by_descriptor("\"$W/work/g\""), COMMIT));
}

/// A search that met a shut directory above is no search: it must not count when the directory is open again.
#[test]
fn a_search_behind_a_shut_directory_is_not_kept() {
    const SHUT: &str = r#"python3 - <<'END'
import os
directory = os.open("g/a/repo", os.O_PATH)
open("g/x", "w")
os.chmod("g", 0)
try: os.open("tools/pre-commit", os.O_WRONLY, dir_fd=directory)
except OSError: pass
os.chmod("g", 0o755)
with open("g/a/repo/tools/pre-commit", "a") as hook: hook.write('touch "$MARK"\n')
END"#;
    let before = r#"mkdir -p g/a; git init -q g/a/repo; mkdir g/a/repo/tools; printf '#!/bin/sh\n' > g/a/repo/tools/pre-commit
        chmod +x g/a/repo/tools/pre-commit; git -C g/a/repo config core.hooksPath tools"#;
    each_comes_to_nothing(&planted(before, SHUT, "cd g/a/repo && git commit -q --allow-empty -m x"));
}

/// Whoever cannot list a directory does not find the repositories in it, nor what only a pattern names.
#[test]
fn a_directory_that_cannot_be_listed_hides_no_repository() {
    let named =
        r#"mkdir -p g/hooks; git init -q g/repo; git -C g/repo config core.hooksPath "$W/work/g/hooks""#;
    for mode in ["300", "100"] {
        let attack = format!("chmod {mode} g; sleep 0.2; hook g/hooks; chmod 755 g");
        each_comes_to_nothing(&planted(named, &attack, COMMIT));
    }
}

/// A directory that the tree has shut itself is no reason to let nothing be written beside it.
#[test]
fn shut_directories_of_the_trees_are_in_nobodys_way() {
    let world = World::open().with_persistence(true);
    let script = "mkdir shut; chmod 000 shut; echo x > file; mkdir -p a/b; chmod 600 a; cat file; chmod 755 a shut; rm -r a shut";
    let ended = world.guarded(&["sh", "-c", script]);
    assert_eq!((ended.status, &*ended.stdout), (0, "x\n"), "{}", ended.stderr);
}

#[test]
fn what_a_work_tree_of_another_repository_names_is_protected() {
    let far = "mkdir -p g far/a/b; git init -q far/a/b/main; git -C far/a/b/main commit -q --allow-empty -m x
        git -C far/a/b/main worktree add -q \"$W/work/g/repo\"";
    let named = leaked(format!("{far}; git -C far/a/b/main config core.hooksPath \"$W/work/g/hooks\""));
    each_comes_to_nothing(&planted(named, "hook g/hooks", COMMIT));
    let of_tree = leaked(format!(
        "{far}; git -C far/a/b/main config extensions.worktreeConfig true
        git -C g/repo config --worktree core.hooksPath \"$W/work/g/hooks\""
    ));
    each_comes_to_nothing(&planted(of_tree, "hook g/hooks", COMMIT));
    let relative = leaked(format!("{far}; git -C far/a/b/main config core.hooksPath hk"));
    each_comes_to_nothing(&planted(relative, "hook g/repo/hk", COMMIT));
    let of_user = leaked(format!("{far}; git config --global core.hooksPath hk"));
    each_comes_to_nothing(&planted(of_user, "hook g/repo/hk", COMMIT));
    let link = leaked(format!(
        "{far}; mkdir g/shared; rm -rf far/a/b/main/.git/hooks; ln -s \"$W/work/g/shared\" far/a/b/main/.git/hooks"
    ));
    each_comes_to_nothing(&planted(link, "hook g/shared", COMMIT));
    let apart = "mkdir -p g far/a; git init -q --separate-git-dir far/a/data g/repo; git -C g/repo config core.hooksPath \"$W/work/g/hooks\"";
    each_comes_to_nothing(&planted(apart, "hook g/hooks", COMMIT));
}

/// Google's `repo` makes such work trees.
#[test]
fn what_a_repository_behind_a_link_names_is_protected() {
    let far = "\"$W/work/g/hooks\"";
    for (place, set, hooks) in [("g/repo", far, "g/hooks"), ("g/h/repo", "hk", "g/h/repo/hk")] {
        let before = leaked(format!(
            "mkdir -p {place} far; git init -q --separate-git-dir far/data {place}; rm {place}/.git
            ln -s \"$W/work/far/data\" {place}/.git; git -C {place} config core.hooksPath {set}"
        ));
        let after = leaked(format!("cd {place} && git commit -q --allow-empty -m x"));
        each_comes_to_nothing(&planted(before, &format!("hook {hooks}"), after));
    }
}

/// Hooks are often links to scripts in the work tree, wherever git looks for the hooks.
#[test]
fn a_link_among_the_hooks_that_a_repository_names_leads_to_no_script_of_the_trees() {
    let repository = "mkdir -p g/h/scripts g/h/hk; cd g/h; git init -q repo; mkdir repo/scripts repo/hk";
    for (set, link) in [
        ("git -C repo config core.hooksPath hk", "ln -s ../scripts/pre-commit repo/hk/pre-commit"),
        (
            "git -C repo config core.hooksPath hl; ln -s hk repo/hl",
            "ln -s ../scripts/pre-commit repo/hk/pre-commit",
        ),
        (
            "rm -rf repo/.git/hooks; ln -s ../hk repo/.git/hooks",
            "ln -s ../scripts/pre-commit repo/hk/pre-commit",
        ),
        ("git -C repo config core.hooksPath \"$PWD/hk\"", "ln -s ../repo/scripts/pre-commit hk/pre-commit"),
        ("git config --global core.hooksPath \"$PWD/hk\"", "ln -s ../repo/scripts/pre-commit hk/pre-commit"),
    ] {
        let before = leaked(format!("{repository}; {set}; {link}"));
        let after = "cd g/h/repo && git commit -q --allow-empty -m x";
        each_comes_to_nothing(&planted(before, "hook g/h/repo/scripts", after));
    }
}

/// A git directory with another name than `.git` names its work tree, and the work tree's hooks are relative to that.
#[test]
fn a_work_tree_that_only_its_git_directory_names_keeps_its_hooks() {
    let before = "mkdir -p g/tree; git init -q --bare g/dots.git; git -C g/dots.git config core.bare false
        git -C g/dots.git config core.worktree ../tree; git --git-dir g/dots.git config core.hooksPath hk";
    let after = "git --git-dir g/dots.git commit -q --allow-empty -m x";
    each_comes_to_nothing(&planted(before, "hook g/tree/hk", after));
}

/// git looks for what an included configuration names in the work tree. The tree names another one for the git directory, in a
/// place that git does not read.
#[test]
fn another_work_tree_hides_nothing_that_an_included_configuration_names() {
    let before = "mkdir -p g/tree; git init -q --bare g/dots.git; git -C g/dots.git config core.bare false
        git -C g/dots.git config core.worktree ../tree; git --git-dir g/dots.git config include.path common
        git config -f g/dots.git/common core.hooksPath hk";
    const OTHER: &str = r#"mkdir -p g/dots.git/worktrees/x; printf '[core]\n\tworktree = /\n' > g/dots.git/worktrees/x/config.worktree"#;
    const RUNS: &[(&str, &str)] = &[("work", OTHER), ("work", "hook g/tree/hk")];
    let after = "git --git-dir g/dots.git commit -q --allow-empty -m x";
    each_comes_to_nothing(&Planted { before, runs: RUNS, after });
    // The operator's own configurations name two.
    let two = "git --git-dir g/dots.git config extensions.worktreeConfig true; mkdir g/a
        git config -f g/dots.git/config core.worktree ../a; git config -f g/dots.git/config.worktree core.worktree ../tree";
    let before = leaked(format!("{before}; {two}"));
    each_comes_to_nothing(&planted(before, "hook g/tree/hk", after));
    // A linked work tree names another one, in which the configuration of both counts.
    let before =
        "git init -q m; git -C m commit -q --allow-empty -m x; git -C m worktree add -q ../lw; mkdir other
        git -C m config core.hooksPath hk; git -C m config extensions.worktreeConfig true
        git -C lw config --worktree core.worktree $W/work/other";
    each_comes_to_nothing(&planted(before, "hook other/hk", "cd lw && git commit -q --allow-empty -m x"));
}

/// What a configuration names is found however it is spelled: with bytes that are not text, and as a shell takes a command
/// apart.
#[test]
fn each_spelling_of_a_name_is_understood() {
    let bytes =
        r#"mkdir g; git init -q g/repo; git -C g/repo config core.hooksPath "$W/work/g/$(printf 'B\374ro')""#;
    each_comes_to_nothing(&planted(bytes, r#"hook "g/$(printf 'B\374ro')""#, COMMIT));
    for (command, place) in [
        ("'\"my tools/pre-commit\"'", "'g/repo/my tools'"),
        ("'$PWD/tools/pre-commit'", "g/repo/tools"),
        ("'sh pre-commit'", "g/repo"),
        ("'f(){ cd tools && ./pre-commit; }; f'", "g/repo/tools"),
        ("'D=tools; $D/pre-commit'", "g/repo/tools"),
        ("'tools/pre-commit$(true)'", "g/repo/tools"),
    ] {
        let before =
            leaked(format!("mkdir g; git init -q g/repo; git -C g/repo config core.fsmonitor {command}"));
        each_comes_to_nothing(&planted(before, &format!("hook {place}"), "cd g/repo && git status >&2"));
    }
}

#[test]
fn what_a_submodule_names_is_protected() {
    let made = "mkdir g; git init -q main; git -C main commit -q --allow-empty -m x; git init -q g/repo
        git -C g/repo -c protocol.file.allow=always submodule add -q \"$W/work/main\" sub; git -C g/repo commit -q -m x";
    for (set, place) in [("\"$W/work/g/s\"", "g/s"), ("hk", "g/repo/sub/hk")] {
        let before = leaked(format!("{made}; git -C g/repo/sub config core.hooksPath {set}"));
        let after = "cd g/repo/sub && git commit -q --allow-empty -m y";
        each_comes_to_nothing(&planted(before, &format!("hook {place}"), after));
    }
}
