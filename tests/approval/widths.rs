//! One question for one intent: how often a human is asked.

use guard_tests::{World, has, program_text};

use crate::world::executable;

/// Everything in `asked` is asked about.
const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "on-miss", "timeoutMs": 100000},
    "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/asked/**": "???"},
        "deny": ["@/asked/denied/**", "@/denied/**"], "default": "---"}}}"#;

fn world() -> World {
    let world = World::bare().policy(POLICY).attended();
    world.write("asked/notes.txt", "notes\n");
    world.write("asked/denied/file", "secret\n");
    world
}

#[test]
fn vim_looks_at_a_file_and_changes_it() {
    if !has(&["vim"]) {
        return;
    }
    let world = world();
    let argv = ["vim", "-es", "-i", "NONE", "-c", "normal Omore", "-c", "wq", "../asked/notes.txt"];
    let (asked, ended) = world.start(&argv).answer_all(|_| "allow-directory-command");
    assert_eq!(world.read("asked/notes.txt").as_deref(), Some("more\nnotes\n"), "{}", ended.stderr);
    assert!(asked.len() <= 2, "{asked:#?}");
}

#[test]
fn git_adds_a_worktree() {
    if !has(&["git"]) {
        return;
    }
    let world = world();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
        git.current_dir(world.work()).env("HOME", world.home()).env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.output().expect("git").status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    for name in ["a", "b", "c/d"] {
        world.write(format!("work/{name}"), name);
    }
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "x"]);
    let line = ["bash", "-c", "git worktree add ../asked/wt; true"];
    let (asked, ended) = world.start(&line).answer_all(|_| "allow-directory-command");
    assert_eq!(world.read("asked/wt/c/d").as_deref(), Some("c/d"), "{}", ended.stderr);
    assert!(asked.len() <= 2, "{asked:#?}");
}

#[test]
fn an_editor_saves() {
    let world = world();
    let text = "import os, sys
d = sys.argv[1]
with open(d + '/new', 'w') as new: new.write('saved')
os.chmod(d + '/new', 0o600)
os.rename(d + '/notes.txt', d + '/notes.txt~')
os.rename(d + '/new', d + '/notes.txt')
os.unlink(d + '/notes.txt~')";
    let argv = [&*program_text("python3"), "-I", "-B", "-c", text, "../asked"];
    let (asked, ended) = world.start(&argv).answer_all(|_| "allow-directory-command");
    assert_eq!(world.read("asked/notes.txt").as_deref(), Some("saved"), "{}", ended.stderr);
    assert_eq!(asked.len(), 1, "{asked:#?}");
}

#[test]
fn a_no_for_a_command_ends_its_retries() {
    let world = world();
    let line = "bash -c 'for i in 1 2 3 4 5; do cat ../asked/$i ../asked/notes.txt; sleep .1; done'; true";
    for n in 1..6 {
        world.write(format!("asked/{n}"), "x");
    }
    let (asked, ended) = world.start(&["bash", "-c", line]).answer_all(|_| "deny-directory-command");
    assert_eq!((asked.len(), &*ended.stdout), (1, ""), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("an earlier answer denies it (deny-directory-command)"),
        "{}",
        ended.stderr
    );
}

/// Whether somebody is asked although the answer cannot matter.
fn is_needless(world: &World, text: &str) {
    let text = format!("import os, sys\nR = '{}'\n{text}", world.root().display());
    let argv = [&*program_text("python3"), "-I", "-B", "-c", &text];
    let (asked, ended) = world.start(&argv).answer_all(|_| "allow-once");
    assert!(asked.is_empty(), "{text}: {asked:#?}");
    assert_ne!(ended.status, 0, "{text}");
    assert!(ended.stderr.contains("Permission denied"), "{text}: {}", ended.stderr);
}

#[test]
fn a_denial_of_one_path_asks_nobody_about_the_other() {
    let world = world();
    world.write("work/file", "own");
    for text in [
        "os.rename(R + '/asked/notes.txt', R + '/asked/denied/new')",
        "os.rename(R + '/asked/denied/file', R + '/asked/new')",
        "os.rename(R + '/asked/notes.txt', R + '/denied/new')",
        "os.link(R + '/asked/notes.txt', R + '/asked/denied/new')",
        // A link on the way to what is denied.
        "os.symlink('/tmp', R + '/denied')",
    ] {
        std::fs::create_dir_all(world.root().join("denied")).expect("a directory");
        if text.starts_with("os.symlink") {
            std::fs::remove_dir(world.root().join("denied")).expect("to remove it");
        }
        is_needless(&world, text);
    }
}

#[test]
fn a_denied_interpreter_asks_nobody_about_the_script() {
    let world = world();
    std::fs::create_dir_all(world.root().join("denied")).expect("a directory");
    std::fs::copy("/bin/sh", world.root().join("denied/sh")).expect("a shell");
    executable(&world.root().join("denied/sh"));
    let script = world.write("asked/script", format!("#!{}/denied/sh\n", world.root().display()));
    executable(&script);
    is_needless(&world, "os.execv(R + '/asked/script', ['script'])");
}
