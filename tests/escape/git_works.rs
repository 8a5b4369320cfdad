//! What git does in a repository of the operator's, with its configuration protected.

use guard_tests::{Ended, World, ended};

use crate::planted::operator;

/// A world with a bare repository, and a clone of it in `work/project`.
fn world(made: fn() -> World) -> World {
    let world = made().with_persistence(true);
    let made = native(&world, "cd \"$W/work\"; git init -q --bare ../bare.git; git -C ../bare.git symbolic-ref HEAD refs/heads/main; git init -q project; cd project
        git commit -q --allow-empty -m x; git remote add origin ../../bare.git; git remote add away https://h.invalid/r; git push -q origin HEAD:refs/heads/main HEAD:refs/heads/next
        git fetch -q; git branch -q -M main");
    assert_eq!(made.status, 0, "{}", made.stderr);
    world
}

fn native(world: &World, line: &str) -> Ended {
    let mut command = world.native_command();
    ended(operator(world, &mut command).args(["sh", "-c", &format!("set -e; {line}")]))
}

fn guarded(world: &World, line: &str) -> Ended {
    let mut command = world.command();
    ended(operator(world, &mut command).args(["--", "sh", "-c", &format!("set -e; cd project; {line}")]))
}

fn key(world: &World, name: &str) -> String {
    native(world, &format!("git -C \"$W/work/project\" config --get-all {name} || true")).stdout
}

#[test]
fn keys_that_run_nothing_are_set_and_removed() {
    for made in [World::open, World::floored] {
        let world = world(made);
        let script = "git config user.name 'A. U. Thor'; git config user.email a@example.org
            git config core.autocrlf input; git config pull.rebase true; git config init.defaultBranch trunk
            git config --unset user.email; git config --replace-all user.name u
            git remote add up https://github.com/u/r.git; git remote add ssh git@github.com:u/r.git; git remote remove ssh
            git remote add gone https://h/r; git remote rename gone kept; git remote remove kept
            git push -q -u origin main; git checkout -q --track origin/next; git branch -q --track topic main
            git branch -q -m topic renamed; git branch -q -D renamed; git checkout -q main; git branch -q -d next; echo done";
        let done = guarded(&world, script);
        assert_eq!((done.stdout.as_str(), done.status), ("done\n", 0), "{}", done.stderr);
        assert_eq!(done.guard_lines(), [""; 0]);
        assert_eq!(key(&world, "user.name"), "u\n");
        assert_eq!(key(&world, "user.email"), "");
        assert_eq!(key(&world, "branch.main.merge"), "refs/heads/main\n");
        assert_eq!(key(&world, "branch.next.merge"), "");
        assert_eq!(key(&world, "remote.up.url"), "https://github.com/u/r.git\n");
        assert_eq!(key(&world, "remote.ssh.url"), "");
        let text = world.audit_text();
        assert!(text.contains("remote.up.fetch, remote.up.url") || text.contains("remote.up.url"), "{text}");
    }
}

#[test]
fn keys_that_run_something_are_refused_with_their_reason() {
    let world = world(World::open);
    for (line, said) in [
        ("git config core.hooksPath .husky/_", "added core.hooksPath: git runs the hooks in that directory"),
        ("git config alias.x '!evil'", "added alias.x: an alias runs any program"),
        ("git config no.such x", "added no.such: it is not among the keys that are known to run nothing"),
        ("git remote add local ../x", "added remote.local.url: it is a path of this machine"),
        ("git config --unset remote.origin.url", "removed remote.origin.url: it is a path of this machine"),
        (
            "git remote add x https://h/r; git remote remove away",
            "removed remote.away.url: git would take the name of the remote for a path",
        ),
    ] {
        let done = guarded(&world, line);
        assert!(done.stderr.contains(said) && done.status != 0, "{line}: {}", done.stderr);
        assert!(done.stderr.contains("make this change yourself, outside the guard"), "{}", done.stderr);
        assert!(!world.root().join("work/project/.git/config.lock").exists(), "git removes its lock");
    }
}

/// A submodule of another host, here by a program that stands for ssh.
#[test]
fn a_submodule_is_added() {
    let world = world(World::open);
    world.write("work/ssh", "#!/bin/sh\nshift\ncase $1 in *@*|*.invalid) shift;; esac\nexec sh -c \"$*\"\n");
    let line = r#"chmod +x ../ssh; GIT_SSH_VARIANT=simple GIT_SSH="$W/work/ssh" git submodule add -q "ssh://h.invalid$W/bare.git" sub
        git commit -q -m s; cd sub; git config user.name u; git log --oneline | wc -l"#;
    let done = guarded(&world, line);
    assert_eq!((done.stdout.trim(), done.status), ("1", 0), "{}", done.stderr);
    assert_eq!(key(&world, "submodule.sub.active"), "true\n");
    let module = native(&world, "git -C \"$W/work/project/sub\" config core.worktree");
    assert_eq!(module.stdout, "../../../sub\n", "{}", module.stderr);
}

/// The operator's own lock keeps the tree's git out, as it keeps out any other.
#[test]
fn a_lock_of_the_operators_is_respected() {
    let world = world(World::open);
    world.write("work/project/.git/config.lock", "");
    let done = guarded(&world, "git config user.name u");
    assert!(done.stderr.contains("File exists") && done.status != 0, "{}", done.stderr);
    assert!(world.root().join("work/project/.git/config.lock").exists());
}
