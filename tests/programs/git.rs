//! git: locks, renames, hooks, packs.

use guard_tests::{Same, World};

/// Commits and packs are reproducible if names, dates and the number of threads are fixed.
const IDENTITY: &str = "
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
    git config --global init.defaultBranch main
    git config --global gc.auto 0
    git config --global pack.threads 1
    git config --global advice.detachedHead false
    git config --global protocol.file.allow always
    lines() { for i in \"$@\"; do echo $i; done; }
";
/// The index contains inode numbers and times.
const BUT: [&str; 1] = ["index"];

fn same(script: &str) -> Same {
    World::open().same_script(&format!("{IDENTITY}{script}"), &BUT)
}

#[test]
fn init_commit_log() {
    let same = same(
        "git init -q repo && cd repo
        echo one > a && mkdir -p d/e && echo two > d/e/b && ln -s a link && printf '#!/bin/sh\\necho hook ran\\n' > run
        chmod +x run && cp run .git/hooks/pre-commit
        git add -A && git commit -m first
        echo more >> a && git commit -am second
        git mv d/e/b c && git rm -q link && git commit -m third
        git log --stat --format='%H %s'
        git status --porcelain
        git fsck --full",
    );
    assert!(same.native.stdout.contains("third"), "{}", same.native.stdout);
    assert!(same.tree.contains_key("repo/c"));
}

#[test]
fn branches_merges_and_stashes() {
    let same = same(
        "git init -q repo && cd repo
        lines 1 2 3 4 5 6 > f && git add f && git commit -qm base
        git checkout -qb side && sed -i 's/^1$/one/' f && git commit -qam side
        git checkout -q main && sed -i 's/^6$/six/' f && git commit -qam main
        git merge -q -m merged side && cat f
        echo dirty >> f && git stash -q && git stash list && git stash pop && tail -1 f && git checkout -q .
        git checkout -qb other side && sed -i 's/^one$/uno/' f && git commit -qam other
        git checkout -q main && sed -i 's/^one$/eins/' f && git commit -qam eins && git merge other || git status --porcelain; cat f
        git checkout --theirs f && git add f && git commit -qm resolved && git branch -d side other
        git tag -a v1 -m v1 && git describe && git log --graph --format='%H %s' && git reflog --format=%gs",
    );
    assert!(same.native.stdout.contains("UU f"), "{}", same.native.stdout);
}

#[test]
fn rebases_and_picks() {
    let same = same(
        "git init -q repo && cd repo
        lines 1 2 3 4 5 > f && git add f && git commit -qm base && git branch topic
        for i in 1 3 5; do sed -i s/^$i'$/main/' f && git commit -qam main$i; done
        git checkout -q topic && for i in a b c; do echo $i > $i && git add $i && git commit -qm $i; done
        sed -i 's/^2$/two/' f && git commit -qam two
        git rebase main || git status --porcelain; echo resolved > f && git add f && GIT_EDITOR=true git rebase --continue
        GIT_SEQUENCE_EDITOR='sed -i -e 2s/pick/squash/ -e 3s/pick/drop/' GIT_EDITOR='sed -i 1s/.*/squashed/' git rebase -i main
        git log --format='%H %s' && ls && git cherry-pick --no-edit main~1 || git cherry-pick --abort
        git bisect start main main~3 && git bisect run sh -c 'test $(grep -c main f) -lt 2' | tail -3; git bisect log; git bisect reset 2>&1
        git format-patch -q -o ../patches main && git checkout -qb am main && git am -q ../patches/* && git diff topic --stat",
    );
    assert!(same.native.stdout.contains("squashed"), "{}", same.native.stdout);
}

#[test]
fn worktrees_and_submodules() {
    let same = same(
        "git init -q lib && cd lib && echo lib > l && git add l && git commit -qm lib && cd ..
        git init -q repo && cd repo && echo 1 > f && git add f && git commit -qm base
        git submodule --quiet add ../lib sub && git commit -qm sub && git submodule status
        git worktree add -q ../tree -b side && cd ../tree && echo 2 > f && git commit -qam side && git worktree list --porcelain | grep branch
        git submodule --quiet update --init && cat sub/l && cd ../repo && git worktree remove --force ../tree && git worktree prune -v
        git worktree add -q --lock ../locked side && git worktree remove ../locked 2>&1 || git worktree unlock ../locked; mv ../locked ../moved && git worktree repair ../moved
        git -C ../moved status --short && git clone -q --recurse-submodules $PWD ../copy && cat ../copy/sub/l && git sparse-checkout set --no-cone /f && ls",
    );
    assert!(same.tree.contains_key("copy/sub/l"));
}

#[test]
fn gc_and_clone() {
    let same = same(
        "git init -q repo && cd repo
        for i in $(seq 30); do echo $i > f$i; git add . && git commit -qm f$i; done; git pack-refs --all
        git gc -q --aggressive --prune=now && git count-objects -v | grep -v size && git repack -q -a -d --depth=5 && git prune-packed
        find .git/objects -type f | sort; git update-server-info; git multi-pack-index write; git commit-graph write --reachable && git fsck
        cd .. && git clone -q repo copy && cd copy && ls | wc -l && git log --format=%H
        cd .. && git clone -q --bare file://$PWD/repo bare.git && git -C bare.git rev-parse main && git clone -q --shared --no-checkout bare.git shared
        git -C copy push -q origin main:refs/heads/pushed && git -C repo branch
        echo new > copy/new && git -C copy add new && git -C copy commit -qm new && git -C copy push -q ../bare.git main
        git -C shared fetch -q && git -C shared log --format=%s -1 origin/main && git -C shared archive main | tar -tf - | wc -l
        git -C copy grep -c 1 | sort | head -3; git -C copy -c core.pager='tr a-z A-Z' --paginate log --format=%s -1; git -C copy blame -s new",
    );
    assert!(same.native.stdout.contains("pushed"));
    assert!(same.tree.contains_key("copy/f30"));
}

#[test]
fn hooks_filters_and_helpers() {
    let same = same(
        "git init -q --bare bare.git && git init -q repo && cd repo && git remote add origin ../bare.git
        for hook in pre-commit prepare-commit-msg commit-msg post-commit post-checkout post-merge pre-push pre-rebase; do
            printf '#!/bin/sh\\necho %s $# >&2\\n' $hook > .git/hooks/$hook; chmod +x .git/hooks/$hook; done
        for hook in pre-receive update post-receive; do printf '#!/bin/sh\\necho %s; cat\\n' $hook > ../bare.git/hooks/$hook; chmod +x ../bare.git/hooks/$hook; done
        git config filter.up.clean 'tr a-z A-Z' && git config filter.up.smudge 'tr A-Z a-z' && echo '*.up filter=up' > .gitattributes
        echo text > f.up && git add . && git commit -qm first 2>&1 && git show HEAD:f.up && git push -q origin main 2>&1 | sed 's/ *$//'
        git config alias.hi '!echo hi from $(basename $PWD)' && git hi && printf '#!/bin/sh\\necho \"$@\" | wc -w\\n' > ext && chmod +x ext
        echo more >> f.up && GIT_EXTERNAL_DIFF=./ext git diff && git checkout -q -b side 2>&1 && git notes add -m note && git log -1 --format=%N
        git credential-cache exit 2>/dev/null; printf 'url=https://u:p@h.invalid\\n\\n' | git -c credential.helper=store credential approve && cat ~/.git-credentials && stat -c %a ~/.git-credentials",
    );
    assert!(same.native.stdout.contains("POST-CHECKOUT") || same.native.stdout.contains("post-checkout"));
}

/// git's daemons: one keeps secrets and listens on a socket, one serves repositories.
#[test]
fn credentials_and_a_server() {
    let same = same(
        "git config --global credential.helper 'cache --timeout=60' && printf 'url=https://u:p@h.invalid\\n\\n' | git credential approve
        printf 'url=https://h.invalid\\n\\n' | git credential fill && stat -c '%F %a' ~/.cache/git/credential ~/.cache/git/credential/socket && git credential-cache exit
        git init -q repo && echo 1 > repo/f && git -C repo add f && git -C repo commit -qm first
        port=$((20000 + $$ % 10000)); git daemon --reuseaddr --base-path=. --export-all --listen=127.0.0.1 --port=$port --pid-file=pid 2>/dev/null & for i in $(seq 200); do git ls-remote -q git://127.0.0.1:$port/repo >/dev/null 2>&1 && break; sleep 0.05; done
        git clone -q git://127.0.0.1:$port/repo copy && git -C copy log --format=%H; git -C copy remote remove origin; rm -r copy/.git/logs; kill $(cat pid) && wait || rm -f pid; rm -f pid",
    );
    assert!(same.tree.contains_key("copy/f"));
}
