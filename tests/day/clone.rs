//! Eighty-three commands in a fresh clone.

use crate::work::Day;

/// Makes the repository that is cloned: a C program with a Makefile, a Python package with tests, a Node package.
const ORIGIN: &str = r#"
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
git init -q -b main seed; cd seed; mkdir src pkg
printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' > src/main.c
printf 'all: hello\nhello: src/main.c\n\tcc -o $@ $<\ntest: hello\n\t./hello | grep hello\nclean:\n\trm -f hello\n' > Makefile
printf 'def twice(n):\n    return 2 * n\n' > pkg/__init__.py
printf 'import unittest, pkg\nclass T(unittest.TestCase):\n    def test_twice(self): self.assertEqual(pkg.twice(2), 4)\n' > test_pkg.py
printf '{ "name": "seed", "version": "1.0.0", "scripts": { "test": "node test.js" } }\n' > package.json
printf 'require("fs").writeFileSync("out.txt", "x"); console.log("ok");\n' > test.js
printf '# Seed\nA project.\n' > README.md; printf 'hello\nout.txt\n__pycache__/\nbuild/\n' > .gitignore
git add -A; git commit -qm first; echo more >> README.md; git commit -qam second; git tag v1
cd ..; git clone -q --bare seed origin.git; rm -rf seed; git clone -q origin.git app
mkdir .ssh other; echo "a key" > .ssh/id_rsa; echo "of another project" > other/notes
"#;

const COMMANDS: &str = r#"
    export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
    ls -la
    git status
    git log --oneline
    git remote -v
    git branch -a
    git show --stat HEAD
    git config user.name Agent
    git config user.email agent@example.org
    cat README.md
    head -n 1 Makefile
    tail -n 1 Makefile
    wc -l src/main.c
    find . -name '*.py' -not -path './.git/*'
    grep -rn twice pkg
    git grep -n hello
    make
    ./hello
    make test
    make clean
    cc -Wall -O2 -o hello src/main.c
    ldd hello
    file hello
    nm hello
    python3 -c 'import pkg; print(pkg.twice(21))'
    python3 -m unittest -q
    python3 -m venv --without-pip env
    ./env/bin/python -c 'print(1)'
    rm -rf env
    node -e 'console.log(1)'
    node test.js
    npm test --silent
    npm pkg get name
    git checkout -q -b work
    sed -i s/hello/world/ src/main.c
    git diff
    git diff --stat
    git add src/main.c
    git commit -qm world
    git stash list
    echo x > notes.txt
    git stash -q -u
    git stash pop -q
    cp notes.txt copy.txt
    mv copy.txt moved.txt
    rm moved.txt
    mkdir -p build/deep
    touch build/deep/a
    chmod +x build/deep/a
    ln -s deep/a build/link
    readlink build/link
    realpath build/link
    tar -czf build/all.tgz src pkg
    tar -tzf build/all.tgz
    gzip -k -f notes.txt
    gunzip -c notes.txt.gz
    sha256sum notes.txt
    sort Makefile
    uniq notes.txt
    cut -d: -f1 Makefile
    awk '{print NR, $0}' README.md
    tr a-z A-Z < README.md
    diff README.md Makefile || :
    xargs -n1 echo < notes.txt
    printf '%s\n' a b c
    env
    date
    id
    uname -a
    hostname || :
    whoami
    pwd
    du -sh .
    df .
    ps
    sleep 0.1
    timeout 5 true
    git worktree add -q ../app2 main
    git -C ../app2 status --short
    git worktree remove ../app2
    git tag v2
    cat ~/other/notes
    cat ~/.ssh/id_rsa || :
"#;

/// One question is about another project's notes; six are about a worktree beside the clone, which three commands make,
/// look at and remove, and one more if the directory is listed so that its removal begins in a subdirectory. The line is
/// about a key, for which nobody is asked.
#[test]
fn a_fresh_clone_asks_about_what_is_elsewhere() {
    let cost = Day::prepared(ORIGIN).run(COMMANDS);
    let is_below = |question: &String| question.contains("/app2/src/") || question.contains("/app2/pkg/");
    cost.is(7 + usize::from(cost.questions.iter().any(is_below)), 1);
}
