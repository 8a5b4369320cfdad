//! Git directories whose name is not `.git`: bare repositories, those with work trees beside them or inside, and those of
//! submodules. What is not git's own there, and what an operation left there, is the operator's; ordinary work with git goes on.

use guard_tests::{Ended, World, ended};

use crate::planted::{Planted, comes_to_nothing, each_comes_to_nothing, leaked, one_run, operator};

/// A bare clone in `.bare` with a work tree beside it.
const BARE: &str = "git init -q -b main up; cd up; for n in 1 2 3; do echo $n > f; git add f; git commit -q -m $n; done; cd ..
    git clone -q --bare up .bare; git --git-dir=.bare worktree add -q wt main";
/// A repository with a submodule, and with one in that.
const NESTED: &str =
    "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
    git init -q -b main inner; git -C inner commit -q --allow-empty -m x
    git init -q -b main outer; cd outer; git submodule add -q ../inner in; git commit -q -m x; cd ..
    git init -q -b main project; cd project; git submodule add -q ../outer out; git commit -q -m x
    git submodule update -q --init --recursive; cd ..";

fn planted(before: &'static str, attack: String, after: String) -> Planted {
    one_run(before, attack, leaked(after))
}

/// The operator's programs read these names there.
#[test]
fn what_is_not_gits_own_is_protected_in_git_directories_of_any_name() {
    for (before, directory) in [
        ("git init -q --bare repo.git", "repo.git"),
        (BARE, ".bare"),
        (BARE, ".bare/worktrees/wt"),
        (NESTED, "project/.git/modules/out"),
        (NESTED, "project/.git/modules/out/modules/in"),
    ] {
        let mut lines = String::new();
        for name in ["MERGE_AUTOSTASH", "lazygit.yml", "remotes/evil", "sl/config"] {
            let path = format!("{directory}/{name}");
            for attack in [
                format!("mkdir -p $(dirname {path}); echo x > {path}"),
                format!("echo x > x; mkdir -p $(dirname {path}); mv x {path}"),
                format!("echo x > x; mkdir -p $(dirname {path}); ln x {path}"),
            ] {
                lines += &format!("{attack}\n[ ! -e {path} ] || echo made; rm -f {path} x\n");
            }
        }
        for (made, is_kept, count) in [(World::open as fn() -> World, false, 12), (World::floored, true, 0)] {
            let tried = world(made, before, is_kept).sh(&lines);
            assert_eq!(
                tried.stdout.lines().count(),
                count,
                "{directory}: {}\n{}",
                tried.stdout,
                tried.stderr
            );
        }
    }
}

/// As in `.git`: what is moved to where git, or a tool beside it, looks.
#[test]
fn nothing_is_moved_into_a_git_directory_of_another_name() {
    for (attack, path) in [
        ("mkdir n; echo x > n/config; mv n .bare/sl", ".bare/sl/config"),
        ("mkdir .bare/n; echo x > .bare/n/config; mv .bare/n .bare/sl", ".bare/sl/config"),
        ("rm -rf .bare/info; mkdir n; echo x > n/attributes; mv n .bare/info", ".bare/info/attributes"),
    ] {
        let after = format!("[ ! -e {path} ] || touch \"$MARK\"");
        each_comes_to_nothing(&planted(BARE, attack.to_owned(), after));
    }
}

/// git runs the lines of the list when the operation goes on.
#[test]
fn an_unfinished_operation_is_the_operators_in_a_work_tree_of_a_bare_repository() {
    let before = leaked(format!(
        "{BARE}; cd wt; GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~2 2>/dev/null"
    ));
    let list = ".bare/worktrees/wt/rebase-merge/git-rebase-todo";
    let line = "exec touch \"$MARK\"";
    for attack in [
        format!("echo '{line}' >> {list}"),
        format!("{{ echo '{line}'; cat {list}; }} > l; mv l {list}"),
        format!(
            "d=$(dirname {list}); cp -r $d new; echo '{line}' >> new/git-rebase-todo; mv $d away; mv new $d"
        ),
    ] {
        comes_to_nothing(&planted(
            before,
            attack,
            "cd wt; GIT_EDITOR=true git rebase --continue; GIT_EDITOR=true git rebase --continue".to_owned(),
        ));
    }
}

/// A key that runs something, by git itself and by hand, in the configuration that the work trees share.
#[test]
fn keys_that_run_something_are_refused_in_a_bare_repository() {
    for attack in [
        r#"git -C wt config core.fsmonitor 'touch "$MARK"; false'"#,
        r#"printf '[core]\n\tfsmonitor = touch \\"$MARK\\"; false\n' >> .bare/config"#,
        r#"cp .bare/config x; printf '[core]\n\tfsmonitor = touch \\"$MARK\\"; false\n' >> x; mv x .bare/config"#,
    ] {
        each_comes_to_nothing(&planted(BARE, attack.to_owned(), "cd wt; git status".to_owned()));
    }
}

/// An index is judged there as in `.git`.
#[test]
fn an_index_names_only_files_of_the_work_tree_of_a_bare_repository() {
    let attack = r#"cat > attack.py <<'END'
import os, struct, subprocess
run = ["git", "--git-dir=.bare", "hash-object", "-w", "--stdin"]
blob = bytes.fromhex(subprocess.run(run, input=b"x\n", capture_output=True, check=True).stdout.decode().strip())
name = b"../escaped"
entry = bytes(24) + struct.pack(">IIII", 0o100644, 0, 0, 0) + blob + struct.pack(">H", len(name)) + name
content = b"DIRC" + struct.pack(">II", 2, 1) + entry + bytes(8 - len(entry) % 8) + bytes(20)
fd = os.open(".bare/worktrees/wt/index.lock", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
os.write(fd, content)
os.rename(".bare/worktrees/wt/index.lock", ".bare/worktrees/wt/index")
END
python3 attack.py"#;
    let after = "grep -q escaped .bare/worktrees/wt/index && touch \"$MARK\"";
    comes_to_nothing(&planted(BARE, attack.to_owned(), after.to_owned()));
}

fn world(made: fn() -> World, before: &str, is_kept: bool) -> World {
    let world = made().with_persistence(is_kept);
    let mut command = world.native_command();
    let line = format!("exec 2>&1; set -e; cd \"$W/work\"; {before}");
    let made = ended(operator(&world, &mut command).args(["sh", "-c", &line]));
    assert_eq!(made.status, 0, "{}", made.stdout);
    world
}

/// Runs lines that git's users know, in `work`. They must end well, and the guard says nothing.
fn goes_on(world: &World, line: &str) -> Ended {
    let mut command = world.command();
    let done = ended(operator(world, &mut command).args(["--", "sh", "-c", &format!("set -e; {line}")]));
    assert_eq!((done.status, done.guard_lines()), (0, vec![]), "{line}: {}", done.stderr);
    done
}

/// Nobody has read that configuration before, and the directory would be the tree's own.
#[test]
fn a_missing_directory_that_a_bare_repository_names_is_not_made() {
    let before = "mkdir -p deep/in; git init -q --bare deep/in/r.git; git init -q p; git -C p commit -q --allow-empty -m x";
    let planted = |key: &'static str, attack: &'static str| Planted {
        before: Box::leak(format!("{before}; git -C deep/in/r.git config {key}").into_boxed_str()),
        runs: Box::leak(Box::new([("work", attack)])),
        after: "git -C p push -q ../deep/in/r.git HEAD",
    };
    const HOOKS: &str = "core.hooksPath h";
    comes_to_nothing(&planted(
        HOOKS,
        "hook deep/in/r.git/h; mv deep/in/r.git/h/pre-commit deep/in/r.git/h/post-update",
    ));
    for attack in [
        "hook new; mv new/pre-commit new/post-update; mv new deep/in/r.git/h",
        "hook new; mkdir deep/in/r.git/h; ln new/pre-commit deep/in/r.git/h/post-update",
    ] {
        each_comes_to_nothing(&planted(HOOKS, attack));
    }
    each_comes_to_nothing(&planted(
        "include.path more/x",
        "cd deep/in/r.git; mkdir more; hook more/h; mv more/h/pre-commit more/h/post-update
        printf '[core]\\n\\thooksPath = %s/more/h\\n' \"$PWD\" > more/x",
    ));
}

#[test]
fn work_in_the_work_trees_of_a_bare_repository_goes_on() {
    for made in [World::open, World::floored] {
        let world = world(made, BARE, true);
        let line = "cd wt; echo 4 >> f; git add f; git commit -q -m 4; git config user.name u; git stash -q; git status -s
            git checkout -q -b topic; git rebase -q HEAD~1; git gc -q; git reset -q --hard HEAD~1
            git worktree add -q ../two; cd ../two; echo 5 > g; ln -s g h; git add .; git commit -q -m 5
            git worktree add -q ../.bare/in; cd ../.bare/in; mkdir d; echo 6 > d/MERGE_AUTOSTASH; ln -s d e; git add .; git commit -q -m 6
            cd ..; git worktree remove in; git worktree prune; git branch -q -D in; git log --oneline two | wc -l";
        assert_eq!(goes_on(&world, line).stdout.trim(), "4");
    }
}

#[test]
fn work_in_a_work_tree_inside_of_a_bare_repository_goes_on() {
    for made in [World::open, World::floored] {
        let before = "git init -q -b main up; cd up; echo 1 > f; git add f; git commit -q -m 1; cd ..
            git clone -q --bare up repo.git; git -C repo.git worktree add -q main; git -C repo.git worktree add -q a/b -b x";
        let world = world(made, before, true);
        let line = "cd repo.git/main; echo 2 >> f; mkdir -p node_modules/.bin; ln -s ../x node_modules/.bin/x; git add f; git commit -q -m 2
            cd ../a/b; echo 3 > lazygit.cfg; git add .; git commit -q -m 3; cd ../..; git worktree add -q a/c; echo 4 > a/c/g
            git fetch -q; git log --oneline x | wc -l";
        assert_eq!(goes_on(&world, line).stdout.trim(), "2");
    }
}

#[test]
fn work_in_submodules_goes_on() {
    for made in [World::open, World::floored] {
        let world = world(made, NESTED, true);
        let line = "cd project/out/in; echo 1 > f; git add f; git commit -q -m 1; git stash list; git checkout -q -b topic
            cd ..; git add in; git commit -q -m 2; git rebase -q HEAD~1; cd ..; git add out; git commit -q -m 3
            git submodule status --recursive | wc -l";
        assert_eq!(goes_on(&world, line).stdout.trim(), "2");
    }
}

/// Clones with their submodules, and an update of those of the operator's. All come from another host, for which a program
/// stands that plays ssh.
#[test]
fn submodules_are_cloned_and_updated() {
    for made in [World::open, World::floored] {
        let before = format!(
            "{NESTED}; printf '#!/bin/sh\\nshift\\ncase $1 in *@*|*.invalid) shift;; esac\\nexec sh -c \"$*\"\\n' > ssh; chmod +x ssh
            for r in outer project; do sed -i \"s|\\.\\./inner|ssh://h.invalid$W/work/inner|; s|\\.\\./outer|ssh://h.invalid$W/work/outer|\" $r/.gitmodules
            git -C $r commit -q -a -m s; done; git -C project/out pull -q origin main; git -C project commit -q -a -m t"
        );
        let world = world(made, &before, true);
        let line = r#"export GIT_SSH_VARIANT=simple GIT_SSH="$W/work/ssh"
            git clone -q --recurse-submodules project copy; git -C copy submodule status --recursive | wc -l
            git clone -q project second; cd second; git submodule update -q --init --recursive; git submodule status --recursive | wc -l
            cd ../project; git -C out checkout -q HEAD~1; git submodule update -q --recursive"#;
        assert_eq!(goes_on(&world, line).stdout.split_whitespace().collect::<Vec<_>>(), ["2", "2"]);
    }
}
