//! git may change keys that run nothing. The tree must not get anything else into a configuration that is the operator's:
//! not by its content, not by the lock that it may make, not by what it still holds of that lock.

use crate::planted::{Planted, each_comes_to_nothing};

/// For attacks in Python. The configuration and the lock of the repository, what is there, and what must not get there.
const PRELUDE: &str = r#"
import ctypes, mmap, os
config, lock = ".git/config", ".git/config.lock"
old = open(config, "rb").read() if os.path.exists(config) else b""
evil = b'[core]\n\tfsmonitor = "touch \\"$MARK\\"; false"\n'
good = b'[user]\n\tname = somebody with a name that is long enough to be written over by something else entirely\n'
def put(path, content):
    with open(path, "wb") as file: file.write(content)
def make(content, path=lock):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    os.write(fd, content)
    return fd
def attempt(*ways):
    for way in ways:
        try: way()
        except OSError: pass
def exchange(one, other):
    ctypes.CDLL(None).renameat2(-100, one.encode(), -100, other.encode(), 2)
"#;

const STATUS: &str = "cd project && git status";

/// One attack in a repository of the operator's.
fn by(attack: &str) {
    by_in("git init -q project", attack, STATUS);
}

fn by_in(before: &'static str, attack: &str, after: &'static str) {
    let line = format!("cat > ../attack.py <<'END'\n{PRELUDE}{attack}\nEND\npython3 ../attack.py");
    let runs: Vec<(&'static str, &'static str)> = vec![("work/project", Box::leak(line.into_boxed_str()))];
    each_comes_to_nothing(&Planted { before, runs: Box::leak(runs.into_boxed_slice()), after });
}

#[test]
fn by_git_itself() {
    for command in [
        r#"git config core.fsmonitor "$EVIL""#,
        r#"git config --file .git/config core.fsmonitor "$EVIL""#,
        r#"git config --add CORE.FSMonitor "$EVIL""#,
        r#"git -c core.hooksPath=/none config --local core.fsmonitor "$EVIL""#,
        r#"GIT_CONFIG=.git/config git config core.fsmonitor "$EVIL""#,
        r#"GIT_DIR=$PWD/.git git config core.fsmonitor "$EVIL""#,
        r#"cd .git && git config core.fsmonitor "$EVIL""#,
        r#"git config --file .git/x core.fsmonitor "$EVIL"; git config include.path x"#,
        r#"git config core.x y; git config --rename-section core other; git config --file .git/config core.fsmonitor "$EVIL""#,
    ] {
        let line = format!("EVIL='touch \"$MARK\"; false'; {command}");
        let runs: Vec<(&'static str, &'static str)> =
            vec![("work/project", Box::leak(line.into_boxed_str()))];
        let runs = Box::leak(runs.into_boxed_slice());
        each_comes_to_nothing(&Planted { before: "git init -q project", runs, after: STATUS });
    }
}

#[test]
fn by_a_descriptor_that_is_kept() {
    by("fd = make(old + good); os.rename(lock, config); os.pwrite(fd, evil + b'#', len(old))");
}

#[test]
fn by_a_mapping_that_is_kept() {
    by(r#"fd = make(old + good)
memory = mmap.mmap(fd, len(old + good)); os.close(fd)
os.rename(lock, config); memory[len(old):len(old + evil) + 1] = evil + b'#'"#);
}

#[test]
fn by_another_name_of_the_lock() {
    by(r#"fd = make(old + good); os.close(fd)
attempt(lambda: os.link(lock, "x"), lambda: os.link(lock, ".git/x"))
os.rename(lock, config)
attempt(lambda: put("x", old + evil), lambda: put(".git/x", old + evil))"#);
}

#[test]
fn by_a_descriptor_of_proc() {
    by(r#"fd = make(old + good); os.rename(lock, config)
put(f"/proc/self/fd/{fd}", old + evil)"#);
}

#[test]
fn by_another_file_than_the_lock() {
    by("put('x', old + evil); os.rename('x', config)");
    by("put('.git/x.lock', old + evil); os.rename('.git/x.lock', config)");
    by("put('x', old + evil); os.rename('x', lock); os.rename(lock, config)");
    by("put('x', old + evil); os.link('x', lock); os.rename(lock, config)");
}

#[test]
fn by_another_file_in_place_of_the_own_lock() {
    by("make(old + good); put('x', old + evil); os.rename('x', lock); os.rename(lock, config)");
    by("make(old + good); put('x', old + evil); exchange('x', lock); os.rename(lock, config)");
    by(
        "make(old + good); os.rename(lock, '.git/y'); put('x', old + evil); os.rename('x', lock); os.rename(lock, config)",
    );
}

#[test]
fn by_an_exchange() {
    by("make(old + evil); exchange(lock, config)");
    by("put('.git/x', old + evil); exchange('.git/x', config)");
}

#[test]
fn by_a_link_as_the_lock() {
    by("put('x', old + good); os.symlink('../x', lock); os.rename(lock, config); put('x', old + evil)");
    by(
        "os.symlink('../x', lock); fd = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644); os.write(fd, old + evil); os.rename(lock, config)",
    );
}

#[test]
fn by_another_directory_in_place_of_the_repositorys() {
    by(r#"os.mkdir("new"); make(old + evil, "new/config.lock"); os.rename("new/config.lock", "new/config")
import shutil
for name in os.listdir(".git"):
    if name != "config":
        (shutil.copytree if os.path.isdir(".git/" + name) else shutil.copy)(".git/" + name, "new/" + name)
attempt(lambda: os.rename(".git", "away"), lambda: os.rename("new", ".git"), lambda: os.symlink("new", ".git"))"#);
}

#[test]
fn by_the_lock_of_another_repository() {
    let two = "git init -q project; git init -q other";
    by_in(
        two,
        "make(old + evil, '../other/.git/config.lock'); os.rename('../other/.git/config.lock', config)",
        STATUS,
    );
    // One that the tree made, where all is its own.
    by(r#"os.makedirs("own/.git"); make(old + evil, "own/.git/config.lock")
os.rename("own/.git/config.lock", config)"#);
    by(r#"os.makedirs("own/.git"); make(old + evil, "own/.git/config.lock")
os.rename("own/.git/config.lock", lock); os.rename(lock, config)"#);
}

#[test]
fn by_the_lock_of_a_git_at_work() {
    // git has made its lock, and is about to rename it.
    let before = "git init -q project; cp project/.git/config project/.git/config.lock";
    let after = "cd project; mv -f .git/config.lock .git/config; git status";
    for way in [
        "put(lock, old + evil)",
        "open(lock, 'ab').write(evil)",
        "os.truncate(lock, 0); put(lock, old + evil)",
        "os.unlink(lock); make(old + evil)",
        "os.rename(lock, 'away'); make(old + evil)",
        "put('x', old + evil); os.rename('x', lock)",
        "put('x', old + evil); exchange('x', lock)",
        "os.link(lock, 'x'); put('x', old + evil)",
        "os.rename(lock, config); put(config, old + evil); make(old + evil)",
    ] {
        by_in(before, way, after);
    }
}

#[test]
fn by_a_lock_that_is_left_for_a_later_session() {
    // What the tree left is nobody's to rename, also for the next tree.
    let line = |attack: &str| -> &'static str {
        Box::leak(
            format!("cat > ../attack.py <<'END'\n{PRELUDE}{attack}\nEND\npython3 ../attack.py")
                .into_boxed_str(),
        )
    };
    let runs = vec![
        ("work/project", line("make(old + good)")),
        ("work/project", line("put(lock, old + evil); os.rename(lock, config)")),
    ];
    each_comes_to_nothing(&Planted {
        before: "git init -q project",
        runs: Box::leak(runs.into_boxed_slice()),
        after: STATUS,
    });
}

#[test]
fn by_a_spelling_that_hides_the_key() {
    for text in [
        r##"[CoRe]\n\tFSMonitor = "touch \\"$MARK\\"; false"\n"##,
        r##"[core] fsmonitor = "touch \\"$MARK\\"; false"\n"##,
        r##"[branch "a]"] [core] fsmonitor = "touch \\"$MARK\\"; false"\n"##,
        r##"[core]\r\n\tfsmonitor = "touch \\"$MARK\\"; false"\r\n"##,
        r##"[core]\n\tfsmonitor = "touch \\\n\\"$MARK\\"; false"\n"##,
        r##"[user]\n\tname = a \\\\\n[core]\n\tfsmonitor="touch \\"$MARK\\"; false"#\n"##,
        r##"; [user] \\\n[core]\n\tfsmonitor = "touch \\"$MARK\\"; false"\n"##,
        r##"[include]\n\tpath = ../evil\n"##,
        r##"[INCLUDE]\n\tPath = .."/ev"il\n"##,
        r##"[includeIf "g\\itdir:**"]\n\tpath = ../evil\n"##,
        r##"[includeIf "onbranch:**"]\n\tpath = ../evil\n"##,
        r##"[IncludeIf\t"gitdir/i:**/.GIT"]\n\tpath = ../evil ; "\n"##,
    ] {
        by(&format!("put('evil', evil); make(old + b'{text}'); os.rename(lock, config)"));
    }
    by(r#"make(b"\xef\xbb\xbf" + old + evil); os.rename(lock, config)"#);
    by("make(evil + old); os.rename(lock, config)");
    by("make(old + b'[user]\\n\\tname = x\\n' + evil); os.rename(lock, config)");
}

#[test]
fn by_the_configuration_of_a_work_tree() {
    let before = "git init -q project; git -C project config core.repositoryFormatVersion 1
        git -C project config extensions.worktreeConfig true";
    by_in(
        before,
        "make(evil, '.git/config.worktree.lock'); os.rename('.git/config.worktree.lock', '.git/config.worktree')",
        STATUS,
    );
    by_in(
        before,
        "make(evil, '.git/config.lock'); os.rename('.git/config.lock', '.git/config.worktree')",
        STATUS,
    );
    by_in(before, r#"os.system("git config --worktree core.fsmonitor 'touch \"$MARK\"; false'")"#, STATUS);
}

#[test]
fn by_the_configuration_of_a_submodule() {
    let before =
        "git init -q other; git -C other commit -q --allow-empty -m x; git init -q project; cd project
        git -c protocol.file.allow=always submodule add -q ../other sub; git commit -q -m x";
    by_in(before, r#"os.system("git -C sub config core.fsmonitor 'touch \"$MARK\"; false'")"#, STATUS);
    by_in(
        before,
        r#"config, lock = ".git/modules/sub/config", ".git/modules/sub/config.lock"
old = open(config, "rb").read(); fd = make(old + good, lock); os.rename(lock, config); os.pwrite(fd, evil + b'#', len(old))"#,
        STATUS,
    );
}

#[test]
fn by_a_hook_in_a_submodule_that_is_prepared() {
    let before = "git init -q other; git -C other commit -q --allow-empty -m x; git init -q up; cd up
        git -c protocol.file.allow=always submodule add -q ../other sub; git commit -q -m x; cd ..; git clone -q up project";
    let after = "cd project; git -c protocol.file.allow=always submodule update --init || true; git -C sub checkout -q -b x || true";
    for way in [
        r#"put(hooks + "/post-checkout", hook); os.chmod(hooks + "/post-checkout", 0o755)"#,
        r#"put(hooks + "/post-checkout.sample", hook); os.chmod(hooks + "/post-checkout.sample", 0o755)
os.rename(hooks + "/post-checkout.sample", hooks + "/post-checkout")"#,
        r#"put("x", hook); os.chmod("x", 0o755); os.symlink(os.path.abspath("x"), hooks + "/post-checkout")"#,
        r#"put(hooks + "/x.sample", hook); os.chmod(hooks + "/x.sample", 0o755)
os.link(hooks + "/x.sample", hooks + "/post-checkout")"#,
        r#"os.rmdir(hooks); os.mkdir("x"); put("x/post-checkout", hook); os.chmod("x/post-checkout", 0o755)
os.rename("x", hooks)"#,
        r#"os.rmdir(hooks); os.mkdir("x"); put("x/post-checkout", hook); os.chmod("x/post-checkout", 0o755)
os.symlink(os.path.abspath("x"), hooks)"#,
    ] {
        let prepare = r#"os.system("mkdir -p .git/modules; git init -q --separate-git-dir=.git/modules/sub x1; rm -rf x1; git --git-dir=.git/modules/sub fetch -q ../other 'refs/heads/*:refs/remotes/o/*'; rm -rf .git/modules/sub/hooks; mkdir -p .git/modules/sub/hooks")
hooks = ".git/modules/sub/hooks"; hook = b'#!/bin/sh\ntouch "$MARK"\n'
"#;
        by_in(before, &format!("{prepare}{way}"), after);
    }
}

#[test]
fn by_a_remote_that_is_a_directory_of_the_trees() {
    let before = "git init -q project; git -C project commit -q --allow-empty -m x; git -C project remote add origin https://h.invalid/r
        git -C project config push.default current; git -C project config branch.$(git -C project branch --show-current).remote origin";
    // ssh to this machine, without a server.
    let after = r#"printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' > ssh; chmod +x ssh; export GIT_SSH_VARIANT=simple GIT_SSH=$PWD/ssh
        cd project; timeout 20 git push -q || true; timeout 20 git pull -q || true"#;
    let evil = r#"os.system("git init -q --bare evil")
put("evil/hooks/pre-receive", b'#!/bin/sh\ntouch "$MARK"\n'); os.chmod("evil/hooks/pre-receive", 0o755)
run = lambda line: os.system(line)
branch = os.popen("git branch --show-current").read().strip()
"#;
    for way in [
        r#"run("git remote set-url origin ./evil")"#,
        r#"run("git remote set-url --push origin $PWD/evil")"#,
        r#"run("git remote set-url origin file://$PWD/evil")"#,
        r#"run("git remote set-url origin ssh://localhost$PWD/evil")"#,
        r#"run("git remote set-url origin git@LOCALHOST.:$PWD/evil")"#,
        r#"run("git remote set-url origin 127.1:$PWD/evil")"#,
        r#"run("git remote set-url origin ssh://0x7f000001$PWD/evil")"#,
        r#"run(f"git remote set-url origin {os.uname().nodename}:$PWD/evil")"#,
        r#"run(f"git remote set-url origin {os.uname().nodename.split('.')[0].upper()}.local:$PWD/evil")"#,
        r#"run(f"git config branch.{branch}.remote evil")"#,
        r#"run(f"git config branch.{branch}.pushRemote ./evil")"#,
        r#"run("git config remote.pushDefault evil")"#,
        r#"os.rename("evil", "origin"); run("git config --unset remote.origin.url; git config --unset remote.origin.fetch")"#,
        r#"run("git config url.$PWD/evil.insteadOf https://h.invalid/r")"#,
        r#"run("git remote set-url origin \"ext::touch $MARK\"; git config protocol.ext.allow always")"#,
        r#"run("git config remote.origin.receivepack 'touch $MARK; false'; git remote set-url origin evil")"#,
    ] {
        by_in(before, &format!("{evil}{way}"), after);
    }
}

/// The operator keeps copies of other hosts' repositories in a directory, and git takes a URL for a path there.
#[test]
fn by_a_remote_that_leads_out_of_the_operators_directory_of_copies() {
    let before = r#"mkdir -p mirror/h.invalid; git init -q --bare mirror/h.invalid/r; git init -q project
        git -C project commit -q --allow-empty -m x; git -C project remote add origin https://h.invalid/r
        git config --global "url.$W/work/mirror/.insteadOf" https://
        git config --global --add "url.file://$W/work/mirror/.insteadOf" ssh://"#;
    let evil = r#"os.system("git init -q --bare evil")
put("evil/hooks/pre-receive", b'#!/bin/sh\ntouch "$MARK"\n'); os.chmod("evil/hooks/pre-receive", 0o755)
"#;
    for url in ["https://h.invalid/../../project/evil", "ssh://h.invalid/%2e%2E/../project/evil"] {
        by_in(
            before,
            &format!("{evil}os.system('git remote set-url origin {url}')"),
            "cd project; git push -q origin HEAD",
        );
    }
}

/// The operator types the name of a remote that is gone, and git takes it for a path.
#[test]
fn by_a_remote_that_is_removed() {
    let before = "git init -q project; git -C project commit -q --allow-empty -m x
        for name in origin other; do git -C project remote add $name https://h.invalid/r; done";
    let evil = r#"os.system("git init -q --bare NAME")
put("NAME/hooks/pre-receive", b'#!/bin/sh\ntouch "$MARK"\n'); os.chmod("NAME/hooks/pre-receive", 0o755)
"#;
    for (name, way) in [
        ("origin", "git remote remove origin"),
        ("other", "git remote rename other away"),
        ("other", "git config --unset remote.other.url"),
        ("other", "git config --rename-section remote.other remote.x"),
        ("other", "git remote add x git@h:x; git remote remove x; git remote remove other"),
        // Only what the tree itself has added.
        ("other", "git remote set-url other git@h:x; git remote remove other"),
        ("other", "git remote add --fetch other git@h:x; git remote remove other"),
    ] {
        let attack = format!("{}os.system(\"{way}\")", evil.replace("NAME", name));
        let after = format!("cd project; timeout 20 git push -q {name} HEAD:main || true");
        by_in(before, &attack, Box::leak(after.into_boxed_str()));
    }
}

/// With another work tree, a submodule of the operator's has other hooks, and its files are written elsewhere.
#[test]
fn by_the_work_tree_of_a_submodule() {
    let before =
        "git init -q other; git -C other commit -q --allow-empty -m x; git init -q project; cd project
        git -c protocol.file.allow=always submodule add -q ../other sub; git commit -q -m x
        git -C sub config core.hooksPath .own; mkdir sub/.own";
    let evil = r#"os.makedirs("evil/.own"); put("evil/.own/pre-commit", b'#!/bin/sh\ntouch "$MARK"\n')
os.chmod("evil/.own/pre-commit", 0o755)
run = lambda line: os.system("git config --file .git/modules/sub/config " + line)
"#;
    let after = "cd project/sub && git commit -q --allow-empty -m x";
    for way in [
        r#"run("core.worktree ../../../evil")"#,
        r#"run("--unset core.worktree"); run("core.worktree ../../../evil")"#,
        r#"run("--add core.worktree ../../../evil")"#,
        r#"os.symlink("evil", "link"); run("core.worktree ../../../link")"#,
    ] {
        by_in(before, &format!("{evil}{way}"), after);
    }
    // A file of the submodule's becomes one of the operator's.
    let written = r#"os.system("cd sub && git config user.name u && git config user.email e && echo 'touch \"$MARK\"' > .marks && git add .marks && git commit -q -m x")
os.symlink(os.path.abspath("../../home"), "link"); os.system("git config --file .git/modules/sub/config core.worktree ../../../link")
"#;
    by_in(before, written, "(cd project/sub; git reset -q --hard); if [ -e ~/.marks ]; then . ~/.marks; fi");
}

#[test]
fn by_hiding_hooks_from_the_next_session() {
    let hidden = r#"[branch \"a]\"] [core] hooksPath = .own\n"#;
    let line = format!(
        "cat > ../attack.py <<'END'\n{PRELUDE}make(old.replace(b'\\thookspath = .own\\n', b'') + b\"{hidden}\"); os.rename(lock, config)\nEND\npython3 ../attack.py"
    );
    let runs: Vec<(&'static str, &'static str)> =
        vec![("work/project", Box::leak(line.into_boxed_str())), ("work/project", "hook .own")];
    each_comes_to_nothing(&Planted {
        before: "git init -q project; git -C project config core.hookspath .own; mkdir project/.own",
        runs: Box::leak(runs.into_boxed_slice()),
        after: "cd project && git commit -q --allow-empty -m x",
    });
}
