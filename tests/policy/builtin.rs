//! The policy without a guard.json.

use guard_tests::World;

fn world() -> World {
    let world = World::bare();
    world.write("home/.ssh/id_rsa", "PRIVATE KEY");
    world
}

#[test]
fn the_first_command_of_the_readme_works() {
    let world = world();
    let ended = world.guarded(&["bash", "-c", "echo hi; cat ~/.ssh/id_rsa"]);
    assert_eq!(ended.stdout, "hi\n");
    assert_ne!(ended.status, 0);
    let key = world.home().join(".ssh/id_rsa");
    let [line] = ended.guard_lines()[..] else { panic!("one line: {}", ended.stderr) };
    assert!(line.starts_with(&format!("openclaw-guard: denied read {} (", key.display())), "{line}");
    assert!(line.ends_with(')'), "{line}");
    assert!(ended.stderr.contains("id_rsa: Permission denied"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("PRIVATE"));
}

#[test]
fn a_missing_secret_is_missing_and_not_denied() {
    let world = World::bare();
    let ended = world.guarded(&["bash", "-c", "echo hi; cat ~/.ssh/id_rsa"]);
    assert_eq!(ended.stdout, "hi\n");
    assert!(ended.stderr.contains("id_rsa: No such file or directory"), "{}", ended.stderr);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
}

#[test]
fn secrets_are_out_of_reach_by_every_way() {
    let world = world();
    for (path, content) in [
        (".aws/credentials", "AWS"),
        (".gnupg/secring", "GPG"),
        (".openclaw/openclaw.json", "TOKEN"),
        (".netrc", "NETRC"),
    ] {
        world.write(format!("home/{path}"), content);
    }
    let script = "
        for f in .ssh/id_rsa .aws/credentials .gnupg/secring .openclaw/openclaw.json .netrc; do
            cat ~/$f; cat < ~/$f; head -c9 ~/$f; cp ~/$f copy; ln ~/$f hard; mv ~/$f moved; ln -sf ~/$f soft; cat soft; dd if=$HOME/$f
            (cd ~/${f%/*} 2>/dev/null && cat ${f##*/}); cat /proc/self/root$HOME/$f; cat ~/./../home/$f; tar cf - ~/$f 2>/dev/null | strings
            sed -n p ~/$f; perl -pe 1 ~/$f; grep . ~/$f; while read l; do echo $l; done < ~/$f
        done; ls ~/.ssh";
    let ended = world.guarded(&["bash", "-c", script]);
    for secret in ["PRIVATE", "AWS", "GPG", "TOKEN", "NETRC", "id_rsa\n"] {
        assert!(!ended.stdout.contains(secret), "{secret}: {}", ended.stdout);
    }
    for left in ["copy", "hard", "moved"] {
        let text = world.read(format!("work/{left}")).unwrap_or_default();
        assert_eq!(text, "", "{left}");
    }
    assert_eq!(world.read("home/.ssh/id_rsa").as_deref(), Some("PRIVATE KEY"));
    assert!(world.read("home/.netrc").is_some());
}

#[test]
fn ordinary_work_needs_nothing() {
    let world = world();
    let ended = world.guarded(&[
        "bash",
        "-c",
        "set -e
        echo 'int main(void) { return 0; }' > a.c; gcc a.c -o a; ./a; printf 'all: a\\n\\t./a\\na: a.c\\n\\tcc -o a a.c\\n' > Makefile; touch a.c; make -s
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        git init -q . && git add -A && git commit -qm one && git log --oneline | wc -l
        /usr/bin/python3 -c 'import json, tempfile, subprocess; print(subprocess.check_output([\"true\"]), tempfile.TemporaryFile())' > /dev/null
        perl -e 'print \"perl\\n\"'; t=$(mktemp); echo t > $t; cat $t; rm $t; find . -name a.c; tar cf t.tar a.c; sed -i s/0/1/ a.c; mkdir -p d/e && mv a.c d/e && rm -r d
        date > /dev/null; id > /dev/null; ls / /usr > /dev/null; df . > /dev/null; echo done",
    ]);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(ended.stdout.ends_with("done\n"), "{}", ended.stdout);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
}

#[test]
fn the_workspace_is_free_and_the_rest_is_not() {
    let world = world();
    world.write("home/notes", "notes");
    let ended = world.guarded(&["bash", "-c", "echo w > file; cat file; printf '#!/bin/sh\\necho ran\\n' > s; chmod +x s; ./s; cat ~/notes; echo x > ~/new; echo x > /etc/new-by-guard-test; rm ~/notes"]);
    assert_eq!(ended.stdout, "w\nran\n");
    assert_eq!(world.read("home/notes").as_deref(), Some("notes"));
    assert!(world.read("home/new").is_none());
    assert!(!std::path::Path::new("/etc/new-by-guard-test").exists());
}

#[test]
fn looking_at_processes_is_ordinary_too() {
    let ended = world().guarded(&["sh", "-c", "ps ax > /dev/null; pgrep nothing-of-that-name"]);
    assert_eq!(ended.guard_lines(), Vec::<&str>::new());
}
