//! `coding`: building and testing a project.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use guard_tests::{World, has, is_long_form, program_text, python_environment, toolchain};

use crate::session::Session;

/// The committer that git needs: no configuration exists here.
const WHO: &str = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
    export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z\n";

/// Commits, branches and merges, with a conflict.
const GIT: &str = "echo one > a; git add a; git commit -qm one; git switch -qc side; echo side > a; git commit -qam side
    git switch -q -; echo main > a; echo b > b; git add b; git commit -qam main; git merge side || echo conflict
    git checkout --ours a 2>&1; git add a; git commit -qm merged; git log --oneline --graph; git branch; git tag v1
    echo more >> b; git diff --stat; git stash -q; git stash pop | tail -2; git worktree add -q ../work/tree v1
    git worktree list | wc -l; git gc -q; git fsck 2>&1; git blame -s a; git grep -n main; git status --short\n";

#[test]
fn git_in_a_new_repository() {
    let script = format!("{WHO} git init -q -b main . ; {GIT}");
    let ended = Session::same("coding", |_| {}, &script);
    assert!(ended.stdout.contains("conflict\n") && ended.stdout.contains("merged\n"), "{}", ended.stdout);
}

#[test]
fn git_in_one_that_was_there() {
    let prepare = |world: &World| {
        let made = world.native(&["git", "init", "-q", "-b", "main", "."]);
        assert_eq!(made.status, 0, "{}", made.stderr);
    };
    Session::same("coding", prepare, &format!("{WHO} {GIT}"));
}

#[test]
fn cargo_makes_builds_and_tests() {
    let Some(rust) = toolchain() else { return };
    let script = r#"export CARGO_NET_OFFLINE=true CARGO_TERM_QUIET=true
        cargo new --vcs git app 2>&1; cargo new --vcs none --lib app/part 2>&1; cd app
        echo 'part = { path = "part" }' >> Cargo.toml
        printf '/// ```\n/// assert_eq!(part::twice(2), 4);\n/// ```\npub fn twice(n: u64) -> u64 { n * 2 }\n#[test]\nfn two() { assert_eq!(twice(1), 2); }\n' > part/src/lib.rs
        printf 'fn main() { println!("cargo:rustc-env=MADE=by a script"); }\n' > build.rs
        printf 'fn main() { println!("{} {}", part::twice(21), env!("MADE")); }\n' > src/main.rs
        cargo build; cargo run; cargo test -p part | grep -c 'test result: ok. 1 passed'; cargo check; cargo build --release; target/release/app; cargo clean"#;
    let ended = Session::same_with("coding", Some(&format!("{rust}/bin")), |_| {}, script);
    // The unit test and the documentation test.
    assert!(ended.stdout.contains("42 by a script\n2\n42 by a script\n"), "{}", ended.stdout);
}

#[test]
fn npm_installs_and_runs() {
    if !has(&["node", "npm"]) {
        return;
    }
    let script = r#"export npm_config_update_notifier=false npm_config_offline=true npm_config_audit=false npm_config_fund=false
        mkdir lib app; cd lib; npm init -y > /dev/null; echo 'module.exports = () => "from lib"' > index.js
        printf '#!/usr/bin/env node\nconsole.log(require("lib")())\n' > cli.js; npm pkg set bin.lib=cli.js scripts.postinstall='echo ran > ran'; npm pack --silent
        cd ../app; npm init -y > /dev/null; npm install --silent ../lib/lib-1.0.0.tgz; ls -A node_modules node_modules/lib
        npm pkg set scripts.go='echo $npm_package_name; lib' scripts.test='node --test'; npm run -s go; npx lib; node -p 'require("lib")()'
        printf 'require("node:test")("one", () => {});\n' > one.test.js; npm test 2>&1 | grep -E 'pass 1'"#;
    let ended = Session::same("coding", |_| {}, script);
    assert_eq!(ended.stdout.matches("from lib\n").count(), 3, "{}", ended.stdout);
}

#[test]
fn pip_builds_and_installs() {
    let Some(script) = python_environment() else { return };
    let script = format!(
        "{script} pip list --format=freeze; pip uninstall -q -y hello; pip wheel -q --no-index -w out .; ls out"
    );
    let ended = Session::same("coding", World::python_package, &script);
    assert!(ended.stdout.starts_with("hello from hello\n"), "{}", ended.stdout);
}

/// Installs from the registry, under the guard.
#[test]
fn pytest_from_the_registry() {
    if !is_long_form() {
        return;
    }
    let Some(script) = python_environment() else { return };
    let script = format!(
        "{script} pip install -q pytest; pytest -q | sed 's/ in .*//'; python -m pytest -q --co | head -1"
    );
    let ended = Session::same("coding", World::python_package, &script);
    assert!(ended.stdout.contains("1 passed"), "{}", ended.stdout);
}

#[test]
fn make_and_a_compiler() {
    let prepare = |world: &World| {
        world.write(
            "work/main.c",
            "#include <stdio.h>\n#include \"made.h\"\nint main(void) { puts(MADE); return 0; }\n",
        );
        world.write("work/gen.sh", "#!/bin/sh\necho \"#define MADE \\\"$1\\\"\"\n");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(world.work().join("gen.sh"), mode).expect("a mode");
        world.write(
            "work/Makefile",
            "CFLAGS = -O1 -Wall\nall: check\nmain: main.o\nmain.o: main.c made.h\nmade.h: gen.sh\n\t./gen.sh 'by make' > $@\n\
             check: main\n\t./main | grep -q 'by make'\n\tinstall -D main out/bin/main\nclean:\n\trm -rf main *.o made.h out\n",
        );
    };
    let ended = Session::same(
        "coding",
        prepare,
        "make -j4 2>&1 | sort; out/bin/main; touch gen.sh; make -s; make clean; ls",
    );
    assert!(ended.stdout.contains("by make\n"), "{}", ended.stdout);
}

/// Python's own parallel work, which needs /dev/shm; a shell that works in temporary directories.
#[test]
fn temporary_files_and_pipes() {
    let python = program_text("python3");
    let script = format!(
        "t=$(mktemp -d); printf '#!/bin/sh\\necho ran\\n' > $t/x; chmod +x $t/x; $t/x; rm -r $t; cat <<< here; diff <(echo a) <(echo a) && echo same
        {python} -c 'import multiprocessing as m; print(sum(m.Pool(2).map(abs, range(-9, 0))))'; seq 3 | tee >(cat > kept) | wc -l; ls ..  > /dev/null; df . > /dev/null
        ps -o comm= -p $$; find / -maxdepth 1 -name etc; getent passwd root | cut -d: -f1; date -u -d @0; nproc > /dev/null; free > /dev/null; uptime > /dev/null"
    );
    Session::same("coding", |_| {}, &script);
}

#[test]
fn nothing_outside_is_changed_and_no_secret_read() {
    let session = Session::new("coding");
    let world = &session.world;
    for (path, text) in [
        ("home/.ssh/id_rsa", "secret\n"),
        ("home/.aws/credentials", "secret\n"),
        ("home/.npmrc", "secret\n"),
        ("home/.bashrc", "# mine\n"),
        ("home/other/README", "another project\n"),
        ("home/notes", "mine\n"),
        ("work/.git/HEAD", "ref: refs/heads/main\n"),
        ("work/.git/config", "[core]\n"),
        ("work/.git/objects/x", ""),
        ("work/.git/refs/x", ""),
    ] {
        world.write(path, text);
    }
    let ended = session.refused(
        r#"
try write sh -c 'echo x > ~/x'
try change sh -c 'echo x >> ~/notes'
try remove rm -f ~/notes
try move mv ~/notes here
try link ln ~/notes here
try bashrc sh -c 'echo x >> ~/.bashrc'
try profile sh -c 'echo x > ~/.profile'
try bin sh -c 'mkdir -p ~/.local/bin && echo x > ~/.local/bin/ls'
try autostart mkdir -p ~/.config/autostart
try key cat ~/.ssh/id_rsa
try keys ls ~/.ssh
try authorized sh -c 'echo x >> ~/.ssh/authorized_keys'
try cloud cat ~/.aws/credentials
try registry cat ~/.npmrc
try state ls ~/.openclaw
try policy sh -c 'echo x >> ~/.openclaw/guard.json'
try other cat ~/other/README
try others sh -c 'echo x > ~/other/x'
try hook sh -c 'mkdir -p .git/hooks && echo x > .git/hooks/pre-commit'
try configuration git config core.pager evil
try system sh -c 'echo x > /usr/local/bin/guard-test-x'
try etc sh -c 'echo x > /etc/guard-test-x'
try host sh -c 'echo x > /srv/guard-test-x'
try shadow cat /etc/shadow"#,
    );
    assert!(ended.stderr.contains("permissions.filesystem.deny \"~/.ssh\""), "{}", ended.stderr);
    for (path, text) in
        [("home/notes", "mine\n"), ("home/.bashrc", "# mine\n"), ("work/.git/config", "[core]\n")]
    {
        assert_eq!(world.read(path).as_deref(), Some(text), "{path}");
    }
    for path in ["home/x", "home/.profile", "home/.local", "home/.config", "home/other/x", "work/here"] {
        assert!(!world.root().join(path).exists(), "{path}");
    }
}

/// With somebody to answer, work goes on without a question; access outside is asked about and can be
/// granted.
#[test]
fn access_outside_the_project_is_asked_about() {
    let session = Session::attended("coding");
    let world = &session.world;
    world.write("home/other/README", "another project\n");
    world.write("home/.ssh/id_rsa", "secret\n");
    let script = "git init -q . && echo built > built && cat ~/other/README; echo x > ~/new; cat ~/.ssh/id_rsa; echo end";
    let mut command = session.command();
    command.args(["--", "bash", "-c", script]);
    let held = world.start_command(command);
    let read = world.answer("allow-once");
    assert_eq!(read["operation"], "read", "{read}");
    let write = world.answer("deny");
    assert_eq!(write["operation"], "write", "{write}");
    let ended = held.end();
    assert_eq!(ended.stdout, "another project\nend\n", "{}", ended.stderr);
    assert!(world.read("work/built").is_some() && !world.home().join("new").exists());
    // No answer could open a secret, so nobody was asked.
    assert!(ended.stderr.contains("permissions.filesystem.deny \"~/.ssh\""), "{}", ended.stderr);
}
