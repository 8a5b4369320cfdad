//! git: locks, renames, hooks, packs.

use guard_tests::World;

/// Commits come out the same when author, committer and dates are given.
const IDENTITY: &str = "
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
    git config --global init.defaultBranch main
    git config --global gc.auto 0
";
/// The index holds inode numbers and times.
const BUT: [&str; 1] = ["index"];

#[test]
fn init_commit_log() {
    let script = format!(
        "{IDENTITY}
        git init -q repo && cd repo
        echo one > a && mkdir -p d/e && echo two > d/e/b && ln -s a link && printf '#!/bin/sh\\necho hook ran\\n' > run
        chmod +x run && cp run .git/hooks/pre-commit
        git add -A && git commit -m first
        echo more >> a && git commit -am second
        git mv d/e/b c && git rm -q link && git commit -m third
        git log --stat --format='%H %s'
        git status --porcelain
        git fsck --full"
    );
    let same = World::open().same_script(&script, &BUT);
    assert!(same.native.stdout.contains("third"), "{}", same.native.stdout);
    assert!(same.tree.contains_key("repo/c"));
}

#[test]
fn branches_merges_and_stashes() {
    let script = format!(
        "{IDENTITY}
        git init -q repo && cd repo
        for i in 1 2 3 4 5 6; do echo $i; done > f && git add f && git commit -qm base
        git checkout -qb side && sed -i 's/^1$/one/' f && git commit -qam side
        git checkout -q main && sed -i 's/^6$/six/' f && git commit -qam main
        git merge -q -m merged side && cat f
        echo dirty >> f && git stash -q && git stash pop -q && tail -1 f
        git checkout -q . && git rebase -q side~0 2>/dev/null || true
        git tag -a v1 -m v1 && git describe
        git worktree add -q ../tree side && cat ../tree/f
        git log --graph --format=%s"
    );
    let same = World::open().same_script(&script, &["index", "logs", "worktrees", "ORIG_HEAD"]);
    assert!(same.native.stdout.contains("six"));
}

#[test]
fn gc_and_clone() {
    let script = format!(
        "{IDENTITY}
        git init -q repo && cd repo
        for i in $(seq 30); do echo $i > f$i; done; git add . && git commit -qm many
        git gc -q --prune=now
        find .git/objects -type f | sed 's/pack-[0-9a-f]*/pack/' | sort
        cd .. && git clone -q repo copy && cd copy && ls | wc -l && git log --format=%H
        cd .. && git clone -q --bare file://$PWD/repo bare.git && git -C bare.git rev-parse main
        git -C copy push -q origin main:refs/heads/pushed && git -C repo branch"
    );
    let same = World::open().same_script(&script, &["index", "logs", "pack", "info"]);
    assert!(same.native.stdout.contains("pushed"));
    assert!(same.tree.contains_key("copy/f30"));
}
