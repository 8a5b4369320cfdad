//! Whole tools in the places of the map: they work where they may, and otherwise fail without a partial
//! effect.

use crate::map;

#[test]
fn git_works_where_it_may_write() {
    let world = map::world();
    let script = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
        git init -q . && echo x > x && git add . && git commit -qm one && git rev-list --count HEAD";
    for (directory, expected) in [
        ("home/documents", "1\n"),
        ("tmp-openclaw", "1\n"),
        ("home/workspace/bin", ""),
        ("home/.ssh", ""),
        ("home/other", ""),
    ] {
        let ended = world.guarded(&[
            "bash",
            "-c",
            &format!("mkdir -p {0}/repo && cd {0}/repo && {script}", world.root().join(directory).display()),
        ]);
        assert_eq!(ended.stdout, expected, "{directory}: {}", ended.stderr);
    }
}

#[test]
fn a_compiler_writes_where_it_may_and_runs_where_it_may() {
    let world = map::world();
    let script = "cd $1 && printf 'int main(void){return 7;}' > a.c && TMPDIR=$1 gcc a.c -o a && ./a";
    for (directory, status) in [("tmp-openclaw", 7), ("home/documents", 126)] {
        let ended =
            world.guarded(&["bash", "-c", script, "x", world.root().join(directory).to_str().expect("text")]);
        assert_eq!(ended.status, status, "{directory}: {}", ended.stderr);
        assert!(world.root().join(directory).join("a").exists(), "{directory}: it was built");
    }
}

#[test]
fn a_name_that_is_removed_and_made_again_is_judged_again() {
    let world = map::world();
    let ended = world.guarded(&[
        "bash",
        "-c",
        "cd ~/documents; for i in 1 2 3 4 5; do ln -sf ~/.ssh/file x; cat x; rm x; echo mine > x; cat x; rm x; mkdir x; ln -s ~/.ssh/file x/y; cat x/y; rm -r x; done",
    ]);
    assert_eq!(ended.stdout, "mine\n".repeat(5), "{}", ended.stderr);
}
