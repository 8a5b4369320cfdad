//! Symbolic links that one run puts where the next one, a reload or another program looks: they change neither what a
//! directory's name grants, nor what is denied.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use guard_tests::{Ended, World, ended, exchange};

/// A world under the built-in policy, with a secret that this only asks about.
fn world() -> World {
    let world = World::bare();
    world.write("home/private/secret", "secret");
    world
}

/// Runs a line with a variable set.
fn run(world: &World, (name, value): (&str, &OsStr), directory: &Path, line: &str) -> Ended {
    ended(world.command().env(name, value).current_dir(directory).args(["--", "sh", "-c", line]))
}

/// Makes a link for which the tree has left the place: its own is refused, but others may make one.
fn redirect(link: &Path, target: &Path, refused: &Ended) {
    let lines = &refused.stderr;
    assert!(lines.contains("would lead your programs there") && !link.is_symlink(), "{lines}");
    assert!(!link.exists(), "the tree has removed what was there: {lines}");
    symlink(target, link).expect("a link");
}

const READ: &str = "cat ~/private/secret; echo new > ~/private/secret";

/// Whether a directory of the workspace that a variable names grants the secret after the tree replaced it by a link.
fn is_granted_by_link(variable: &str, directory: &str, others: &str) -> bool {
    let world = world();
    let named = world.work().join(directory);
    fs::create_dir_all(&named).expect("a directory");
    fs::write(named.parent().expect("a parent").join("pyvenv.cfg"), "").expect("a file");
    let value = format!("{}{others}", named.display());
    let set = (variable, OsStr::new(&value));
    let plant = format!("cat ~/private/secret; rmdir {directory} && ln -s ~/private {directory}");
    let planted = run(&world, set, &world.work(), &plant);
    assert!(!planted.stdout.contains("secret"), "{}", planted.stderr);
    redirect(&named, &world.home().join("private"), &planted);
    let read = [world.work(), world.root()].map(|from| run(&world, set, &from, READ).stdout);
    read.iter().any(|text| text.contains("secret")) || world.read("home/private/secret").unwrap() != "secret"
}

#[test]
fn a_directory_of_path_grants_nothing_where_it_became_a_link() {
    for directory in [".venv/bin", "node_modules/.bin", "tools/bin"] {
        // A directory that `PATH` names stays, unless packages are installed there: the earlier run had another `PATH`.
        assert!(!is_granted_by_link("PATH", directory, ":/usr/bin:/bin"), "{directory}");
    }
}

#[test]
fn a_directory_for_temporary_files_grants_nothing_where_it_became_a_link() {
    assert!(!is_granted_by_link("TMPDIR", "tmp", ""));
}

#[test]
fn directories_that_are_no_links_grant_what_they_did() {
    let world = World::bare();
    world.write("home/tools/bin/file", "read");
    symlink(world.home().join("tools"), world.home().join("link"))
        .expect("a link in the home is the operator's");
    for name in ["home/tools/bin", "home/link/bin"] {
        let path = format!("{}:/usr/bin:/bin", world.root().join(name).display());
        let read = run(&world, ("PATH", OsStr::new(&path)), &world.work(), "cat ~/tools/bin/file");
        assert_eq!(read.stdout, "read", "{name}: {}", read.stderr);
    }
}

#[test]
fn a_start_directory_grants_nothing_where_it_became_a_link() {
    let world = world();
    let named = world.work().join("sub");
    fs::create_dir(&named).expect("a directory");
    let shell = ("PWD", named.as_os_str());
    assert_eq!(run(&world, shell, &named, "echo x > file && cat file").stdout, "x\n");
    let planted =
        run(&world, ("PWD", world.work().as_os_str()), &world.work(), "rm -r sub; ln -s ~/private sub");
    redirect(&named, &world.home().join("private"), &planted);
    let read = run(&world, shell, &named, READ);
    assert_eq!(read.stdout, "", "{}", read.stderr);
    assert!(read.stderr.contains("that a guarded program may have made"), "{}", read.stderr);
    assert_eq!(world.read("home/private/secret").as_deref(), Some("secret"));
}

/// A policy that allows the workspace and denies this pattern, without persistence.
fn denying(pattern: &str) -> World {
    World::bare().policy(&format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"persistence": false,
            "filesystem": {{"rules": {{SYSTEM, "@/work/**": "rwx"}}, "deny": ["{pattern}"]}}}}}}"#
    ))
}

#[test]
fn a_link_on_the_way_to_what_is_denied_stays() {
    let attacks = [
        "ln -sfnT v0 cur",
        "rm cur; mkdir cur",
        "mv cur x; ln -s v0 cur",
        "ln -s v0 x; mv -T x cur",
        concat!("ln -s v0 x; ", exchange!(), " x cur"),
        "mv links x; mkdir links; ln -s ../v0 links/to",
    ];
    for (attack, pattern) in
        attacks.into_iter().flat_map(|a| [(a, "@/work/cur/file"), (a, "@/work/cur/*.key")])
    {
        let world = denying(pattern);
        for (name, text) in [("v1/file", "secret"), ("v1/a.key", "secret"), ("v0/file", "")] {
            world.write(Path::new("work").join(name), text);
        }
        fs::create_dir(world.work().join("links")).expect("a directory");
        symlink("../v1", world.work().join("links/to")).expect("a link");
        symlink("links/to", world.work().join("cur")).expect("a link");
        let read = if pattern.ends_with("key") { "cat v1/a.key" } else { "cat v1/file" };
        for line in [&format!("{read}; {attack}"), read] {
            let ended = world.sh(line);
            assert_eq!(ended.stdout, "", "{attack}: {}", ended.stderr);
        }
        assert!(world.sh("ln -s v0 other && rm other && cat v0/file && cat cur/../v0/file").status == 0);
    }
}

#[test]
fn a_link_on_the_way_to_the_policy_stays() {
    let world = world();
    let policy = |rules: &str| {
        format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}},
                "permissions": {{"persistence": false, "filesystem": {{"rules": {{"/usr/**": "r-x", {rules}}}}}}}}}"#
        )
    };
    world.write("work/v1/state/guard.json", policy(r#""~/**": "---", "/**": "rwx""#));
    world.write("evil.json", policy(r#""/**": "rwx""#));
    symlink("v1", world.work().join("cur")).expect("a link");
    symlink("../work/cur/state", world.home().join(".openclaw")).expect("a link");
    let plant =
        "cat ~/private/secret; mkdir -p v0/state; cp ../evil.json v0/state/guard.json; ln -sfnT v0 cur";
    for line in [plant, "cat ~/private/secret"] {
        let ended = world.sh(line);
        assert_eq!(ended.stdout, "", "{}", ended.stderr);
        assert!(ended.stderr.contains("denied"), "{}", ended.stderr);
    }
    assert!(world.read("work/v0/state/guard.json").is_some(), "the attack was made");
}

#[test]
fn what_is_denied_is_not_led_to_where_it_may_be_read() {
    let plants = [
        "ln -s ~/.cache/own ~/.cache/huggingface",
        "ln -s ~/.cache/own x; mv x ~/.cache/huggingface",
        concat!(
            "mkdir -p ~/.cache/huggingface; ln -s ~/.cache/own x
            ",
            exchange!(),
            " x \"$HOME/.cache/huggingface\""
        ),
    ];
    for plant in plants {
        let world = World::bare();
        fs::create_dir_all(world.home().join(".cache")).expect("a directory");
        // The tree waits until somebody outside has logged in.
        let mut command = world.command();
        let line = format!(
            "mkdir ~/.cache/own; {plant}
            touch ready; until [ -e done ]; do sleep 0.05; done; cat ~/.cache/own/token ~/.cache/huggingface/token"
        );
        let session = std::thread::scope(|scope| {
            let session = scope.spawn(|| ended(command.args(["--", "sh", "-c", &line])));
            guard_tests::until("the attack was made", || world.read("work/ready").is_some());
            let login = world.native(&[
                "sh",
                "-c",
                "mkdir -p ~/.cache/huggingface; echo secret > ~/.cache/huggingface/token",
            ]);
            assert_eq!(login.status, 0, "{}", login.stderr);
            world.write("work/done", "");
            session.join().expect("the session ends")
        });
        assert_eq!(session.stdout, "", "{plant}: {}", session.stderr);
    }
    // A directory with such a link in it is not moved there either.
    let world = denying("@/work/a/b/token");
    let moved = world.sh("mkdir -p d own; ln -s ../own d/b; mv -T d a; ls -l a; test ! -L a/b");
    assert_eq!(moved.status, 0, "{}", moved.stderr);
}

#[test]
fn a_rule_does_not_follow_a_link_of_the_trees_to_which_another_link_leads() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": false,
            "filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/data/**": "r--"}}}}"#,
    );
    world.write("private/file", "secret");
    world.write("work/v1/file", "open");
    symlink("v1", world.work().join("cur")).expect("a link");
    symlink("work/cur", world.root().join("data")).expect("a link");
    let first = world.sh("cat ../data/file; ln -sfnT ../private cur");
    assert_eq!((&*first.stdout, first.status), ("open", 0), "{}", first.stderr);
    let second = world.sh("cat ../data/file");
    assert_eq!(second.stdout, "", "{}", second.stderr);
}
