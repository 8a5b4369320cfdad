//! Sixty commands in a repository that was there, with a remote, a hook and tracked branches.

use crate::work::Day;

const PREPARE: &str = r#"
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
mkdir served; git init -q -b main seed; cd seed; printf 'a\n' > a; git add -A; git commit -qm one
git switch -qc feature; printf 'f\n' > f; git add -A; git commit -qm feature
git switch -qc old main; git switch -q main; printf 'b\n' > b; git add -A; git commit -qm two
cd ..; git clone -q --bare seed served/app.git; rm -rf seed; git clone -q git://127.0.0.1:PORT/app.git app; cd app
printf '#!/bin/sh\n./check.sh\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
printf '#!/bin/sh\ngrep -c . a > /dev/null\n' > check.sh; chmod +x check.sh; git add check.sh; git commit -qm check
git branch -q old origin/old
"#;

const COMMANDS: &str = r#"
    export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
    git status -sb
    git remote -v
    git fetch -q
    git fetch -q --all --prune
    git pull -q --ff-only
    git pull -q --rebase
    git branch -vv
    git log --oneline --graph --all
    git config user.name Agent
    git config user.email agent@example.org
    git config color.ui auto
    git config branch.main.description 'The trunk'
    git remote add upstream https://git.example.org/app.git
    git remote set-url upstream https://git.example.org/team/app.git
    git remote remove upstream
    git checkout -q --track origin/feature
    git checkout -q main
    git checkout -q -b work
    printf 'more\n' >> a
    git diff --stat
    git add a
    git commit -qm more
    git push -q -u origin work
    git status -sb
    printf 'again\n' >> a
    git commit -qam again
    git push -q
    git commit -q --amend -m 'again, better'
    git push -q --force-with-lease
    git checkout -q main
    git merge -q work
    git push -q
    git branch -q -d work
    git branch -q -d old
    git push -q origin --delete work
    git branch -q topic origin/feature
    git branch -q -m topic renamed
    git branch -q --set-upstream-to origin/main renamed
    git branch -q --unset-upstream renamed
    git rebase -q main renamed
    git checkout -q main
    git cherry-pick renamed
    git revert --no-edit HEAD
    git reset -q --hard HEAD~1
    git stash list
    printf 'draft\n' > draft
    git stash -q -u
    git stash pop -q
    rm draft
    git tag -a v1 -m v1
    git push -q --tags
    git describe --tags
    git bisect start HEAD HEAD~2
    git bisect reset
    git blame -s a
    git reflog -n 3
    git gc -q
    git fsck
    git submodule status
    git clean -fdq
    git ls-files
"#;

#[test]
fn an_existing_repository_asks_nothing() {
    Day::with_remote(PREPARE).run(COMMANDS).is(0, 0);
}
