//! Files of a repository by which the operator's git writes to paths, reads them, or runs lines: the index, links, lists of an
//! operation that is not finished. None of them is a configuration or a hook.

use guard_tests::{World, ended};

use crate::planted::{Planted, comes_to_nothing, each_comes_to_nothing, leaked, operator};

/// For attacks in Python: makes an index with a hook among its files.
const INDEX: &str = r##"
import os, struct, subprocess
def blob(text, kind=b"blob"):
    run = ["git", "hash-object", "-w", "--stdin"]
    return bytes.fromhex(subprocess.run(run, input=text, capture_output=True, check=True).stdout.decode().strip())
hook = blob(b'#!/bin/sh\ntouch "$MARK"\n')
plain = blob(b"x\n")
def entry(path, mode, name):
    entry = bytes(24) + struct.pack(">IIII", mode, 0, 0, 0) + name + struct.pack(">H", min(len(path), 4095)) + path
    return entry + bytes(8 - len(entry) % 8)
def index(*entries, after=b""):
    content = b"DIRC" + struct.pack(">II", 2, len(entries)) + b"".join(entries) + after
    return content + bytes(20)
evil = index(entry(b".git/hooks/pre-commit", 0o100755, hook), entry(b"a", 0o100644, plain))
good = index(entry(b"a", 0o100644, plain))
def put(path, content):
    with open(path, "wb") as file: file.write(content)
def make(content, path=".git/index.lock"):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(fd, content)
    return fd
"##;

const REPOSITORY: &str = "git init -q -b main project; cd project; echo x > a; git add a; git commit -q -m x";
/// git writes the files of its index, and then runs the hook that was among them.
const CHECKOUT: &str =
    "cd project && { git checkout -q . || git checkout-index -f -a; git commit -q --allow-empty -m x; }";

/// One attack with an index.
fn by_index(attack: &str) {
    let line = format!("cat > ../attack.py <<'END'\n{INDEX}{attack}\nEND\npython3 ../attack.py");
    let runs: Vec<(&'static str, &'static str)> = vec![("work/project", Box::leak(line.into_boxed_str()))];
    let runs = Box::leak(runs.into_boxed_slice());
    each_comes_to_nothing(&Planted { before: REPOSITORY, runs, after: CHECKOUT });
}

#[test]
fn an_index_does_not_name_what_is_outside_of_the_work_tree() {
    by_index("put('.git/index', evil)");
    by_index("make(evil); os.rename('.git/index.lock', '.git/index')");
    by_index("put('x', evil); os.rename('x', '.git/index')");
    by_index("put('.git/index.x', evil); os.rename('.git/index.x', '.git/index')");
    by_index("os.unlink('.git/index'); put('.git/index', evil)");
}

#[test]
fn what_is_put_in_place_is_the_index_that_was_judged() {
    by_index(
        "fd = make(good); os.rename('.git/index.lock', '.git/index'); os.ftruncate(fd, 0); os.pwrite(fd, evil, 0)",
    );
    by_index("fd = make(good); os.rename('.git/index.lock', '.git/index'); put(f'/proc/self/fd/{fd}', evil)");
    by_index(
        "make(good); put('x', evil); os.rename('x', '.git/index.lock'); os.rename('.git/index.lock', '.git/index')",
    );
}

/// An index that names one file where names of objects have 20 bytes, and another one where they have 32: what stands in a
/// directory around the repository does not say which.
#[test]
fn an_index_is_judged_in_the_format_of_its_repository() {
    let attack = r#"
put("../config", b"[extensions]\n\tobjectformat = sha256\n")
path = b"../escaped A" + b"b" * 65
content = b"DIRC" + struct.pack(">II", 2, 1) + entry(path, 0o100644, plain)
make(content + b"ABCD" + struct.pack(">I", 4) + bytes(24)); os.rename(".git/index.lock", ".git/index")"#;
    let line = leaked(format!("cat > ../attack.py <<'END'\n{INDEX}{attack}\nEND\npython3 ../attack.py"));
    // The git directories of work trees lie in a directory called so.
    for top in ["project", "sub/worktrees"] {
        let made = format!(
            "mkdir -p {top}; cd {top}; git init -q -b main; echo x > a; git add a; git commit -q -m x"
        );
        let runs = Box::leak(Box::new([(leaked(format!("work/{top}")), line)]));
        let after = format!("cd {top}; git checkout -q . ; ls ../escaped* && touch \"$MARK\"");
        each_comes_to_nothing(&Planted { before: leaked(made), runs, after: leaked(after) });
    }
}

#[test]
fn a_link_in_a_git_directory_leads_nowhere() {
    for run in [
        "ln -sf ../hooks-of-mine .git/COMMIT_EDITMSG; cd .git && ln -sf hooks/pre-commit COMMIT_EDITMSG",
        "mkdir x; ln -s ../hooks/pre-commit x/COMMIT_EDITMSG; mv x/COMMIT_EDITMSG .git/COMMIT_EDITMSG; ln -s hooks/pre-commit y; mv y .git/COMMIT_EDITMSG",
        "ln -s hooks/pre-commit y; ln -P y .git/COMMIT_EDITMSG",
    ] {
        let line = format!("printf '#!/bin/sh\\ntouch \"$MARK\"\\n' > .git/MERGE_MSG; {run}");
        let runs: Vec<(&'static str, &'static str)> =
            vec![("work/project", Box::leak(line.into_boxed_str()))];
        let runs = Box::leak(runs.into_boxed_slice());
        // git writes its message through the link, over a hook that can be run.
        let before = "git init -q -b main project; printf '#!/bin/sh\\n' > project/.git/hooks/pre-commit; chmod +x project/.git/hooks/pre-commit";
        let after = "cd project; GIT_EDITOR=true git commit -q --cleanup=verbatim --allow-empty; git commit -q --allow-empty -m x";
        each_comes_to_nothing(&Planted { before, runs, after });
    }
}

#[test]
fn a_directory_with_a_link_is_not_moved_into_a_git_directory() {
    comes_to_nothing(&Planted {
        before: "git init -q -b main project; printf '#!/bin/sh\\n' > project/.git/hooks/post-commit; chmod +x project/.git/hooks/post-commit; rm -rf project/.git/rr-cache",
        runs: &[(
            "work/project",
            "mkdir logs; ln -s ../hooks/post-commit logs/HEAD; rm -rf .git/logs; mv logs .git/logs",
        )],
        // The reflog is written through the link: its line is no script, so what counts is that the hook changed.
        after: "cd project; git commit -q --allow-empty -m x; test \"$(wc -c < .git/hooks/post-commit)\" -gt 20 && touch \"$MARK\"",
    });
}

#[test]
fn conflicts_that_are_remembered_lie_in_the_work_tree() {
    let id = "00000000000000000000000000000000000000aa";
    let line = format!(
        "mkdir -p .git/rr-cache/{id}; echo x > .git/rr-cache/{id}/preimage; printf '{id}\\t../secret\\0' > .git/MERGE_RR
        printf '{id}\\t../secret\\0' > .git/MERGE_RR.lock; mv .git/MERGE_RR.lock .git/MERGE_RR"
    );
    let runs: Vec<(&'static str, &'static str)> = vec![("work/project", Box::leak(line.into_boxed_str()))];
    comes_to_nothing(&Planted {
        before: "git init -q -b main project; echo secret > secret; cd project; git commit -q --allow-empty -m x",
        runs: Box::leak(runs.into_boxed_slice()),
        after: "cd project; git commit -q --allow-empty -m y; grep -q secret .git/rr-cache/*/postimage && touch \"$MARK\"",
    });
}

#[test]
fn what_git_does_next_is_not_the_trees_to_say() {
    // An operation of the operator's goes on with a line of the tree's.
    comes_to_nothing(&Planted {
        before: "git init -q -b main project; cd project; for i in 1 2 3; do echo $i > a; git add a; git commit -q -m $i; done
            GIT_SEQUENCE_EDITOR='sed -i \"1s/pick/edit/\"' git rebase -q -i HEAD~2 2>/dev/null || true",
        runs: &[("work/project", "echo 'exec touch \"$MARK\"' >> .git/rebase-merge/git-rebase-todo")],
        after: "cd project; GIT_EDITOR=true git rebase --continue",
    });
    comes_to_nothing(&Planted {
        before: "git init -q -b main project; cd project; echo x > a; git add a; git commit -q -m x",
        runs: &[(
            "work/project",
            "o=$(printf x2 | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tevil\\n' $o | git mktree)
             b=$(git commit-tree -p HEAD -m idx HEAD^{tree}); w=$(git commit-tree -p HEAD -p $b -m wip $t); echo $w > .git/MERGE_AUTOSTASH",
        )],
        after: "cd project; git commit -q --allow-empty -m y; test -e evil && touch \"$MARK\"",
    });
}

#[test]
fn other_repositories_are_not_read_for_the_tree() {
    comes_to_nothing(&Planted {
        before: "git init -q -b main private; cd private; echo secret > s; git add s; git commit -q -m s; git rev-parse HEAD > ../name; cd ..; git init -q -b main project",
        runs: &[(
            "work/project",
            "mkdir -p .git/objects/info; echo ../../../private/.git/objects > .git/objects/info/alternates",
        )],
        after: "cd project; git cat-file -e $(cat ../name) && touch \"$MARK\"",
    });
}

#[test]
fn submodules_of_a_work_tree_are_the_operators() {
    comes_to_nothing(&Planted {
        before: "git init -q -b main sub; git -C sub commit -q --allow-empty -m s; git init -q -b main project; cd project
            git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -q -m i; git worktree add -q ../wt",
        runs: &[(
            "work/project",
            "m=.git/worktrees/wt/modules/sub; mkdir -p .git/worktrees/wt/modules; git init -q --bare $m; git -C $m remote add origin $W/work/sub
             printf '[core]\\n\\tbare = false\\n\\tworktree = ../../../../../../wt/sub\\n\\tfsmonitor = touch %s; false\\n' \"$MARK\" >> $m/config",
        )],
        after: "cd wt; git -c protocol.file.allow=always submodule --quiet update --init; git -C sub status",
    });
}

/// A move is judged by what has the name before: a link must not take its place meanwhile.
#[test]
fn a_link_does_not_take_the_place_of_a_file_that_is_moved() {
    const RACE: &str = r#"
import os, signal, stat
os.mkdir("own"); target = ".git/SQUASH_MSG"
child = os.fork()
while child == 0:
    try:
        if stat.S_ISREG(os.lstat("own/a").st_mode): os.unlink("own/a"); os.symlink("../hooks/pre-commit", "own/a")
    except OSError: pass
moved = won = 0
for i in range(2000):
    open("own/t", "w").close(); os.rename("own/t", "own/a")
    try: os.rename("own/a", target); moved += 1
    except OSError: continue
    won += os.path.islink(target); os.unlink(target)
os.kill(child, signal.SIGKILL); print("moved" if moved else "none", won)"#;
    for made in [World::open, World::floored] {
        let world = made().with_persistence(true);
        let mut command = world.native_command();
        assert_eq!(ended(operator(&world, &mut command).args(["git", "init", "-q", "."])).status, 0);
        let ended = world.guarded(&["python3", "-c", RACE]);
        assert_eq!((ended.stdout.as_str(), ended.status), ("moved 0\n", 0), "{}", ended.stderr);
    }
}

/// What git does with all of these in a repository of the operator's.
#[test]
fn git_works_as_before() {
    for made in [World::open, World::floored] {
        let world = made().with_persistence(true);
        let native = |line: &str| {
            let mut command = world.native_command();
            ended(operator(&world, &mut command).args(["sh", "-c", &format!("set -e; {line}")]))
        };
        let made = native(&format!(
            "cd \"$W/work\"; {REPOSITORY}; git config rerere.enabled true; git branch -q other"
        ));
        assert_eq!(made.status, 0, "{}", made.stderr);
        let script = "set -e; cd project
            echo y >> a; git add a; git commit -q -m y; git mv a b; git commit -q -m mv; git stash -q || true; echo z >> b; git stash -q; git stash pop -q
            git commit -q -a -m z; git commit -q --amend --no-edit; git checkout -q other; echo o >> a; git commit -q -a -m o
            git merge -q main > /dev/null 2>&1 || { git checkout -q --theirs . || true; git add -A; git commit -q -m merged; }
            git checkout -q main; git cherry-pick other~1 > /dev/null 2>&1 || git cherry-pick --abort
            git rebase -q other > /dev/null 2>&1 || git rebase --abort
            for i in r s; do echo $i > $i; git add $i; git commit -q -m $i; done; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/reword/' GIT_EDITOR=true git rebase -q -i HEAD~2 > /dev/null 2>&1
            git tag -a -m t t; git notes add -m n; git bisect start > /dev/null; git bisect reset > /dev/null 2>&1
            git worktree add -q ../tree2 -b wt; (cd ../tree2; echo w > w; git add w; git commit -q -m w); git worktree remove ../tree2
            git gc -q; git fsck > /dev/null 2>&1; git reset -q --hard HEAD~1; git clean -q -f; git update-index --refresh; git status --short; git sparse-checkout list > /dev/null 2>&1 || true
            echo done";
        let mut command = world.command();
        let done = ended(operator(&world, &mut command).args(["--", "sh", "-c", script]));
        assert_eq!((done.stdout.as_str(), done.status), ("done\n", 0), "{}", done.stderr);
        assert_eq!(done.guard_lines(), [""; 0]);
        // The operator's git finds its own work tree unchanged.
        let after = native(
            "cd \"$W/work/project\"; git status --short; git fsck --no-progress 2>&1 | grep -v dangling || true",
        );
        assert_eq!((after.stdout.as_str(), after.status), ("", 0), "{}", after.stderr);
    }
}
