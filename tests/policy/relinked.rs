//! Links that the operator makes or turns while a guarded tree runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use guard_tests::{World, ended, until};

use crate::reload::{Shell, denying};

/// Puts another link in the place of what is at a path, in one step.
fn relink(shell: &Shell, target: &str, path: &str) {
    let new = shell.world.root().join("new-link");
    symlink(target, &new).expect("a link");
    fs::rename(new, shell.world.root().join(path)).expect("a rename");
}

/// Moves what is at a path, and leaves a link to it, as the operator does with `mv` and `ln -s`.
fn move_behind_link(shell: &Shell, path: &str, to: &str) {
    let at = |path: &str| shell.world.root().join(path);
    fs::rename(at(path), at(to)).expect("a rename");
    symlink(at(to), at(path)).expect("a link");
}

/// Waits until the tree can no longer read a file in its directory.
fn closes(shell: &mut Shell, file: &str) {
    until("it is denied", || shell.run(&format!("cat {file}")).is_empty());
}

/// A world whose policy denies one name in the workspace, with files to read.
fn denied(name: &str, files: &[&str]) -> World {
    let world = World::bare();
    files.iter().for_each(|file| drop(world.write(file, "told\n")));
    let text = denying(&world, name);
    world.policy(&text)
}

#[test]
fn a_denial_follows_a_link_that_is_turned() {
    let world = denied("current/secret", &["work/releases/1/secret", "work/releases/2/secret"]);
    symlink("releases/1", world.work().join("current")).expect("a link");
    let mut shell = Shell::start(world);
    assert_eq!(shell.run("cat current/secret releases/1/secret"), "");
    relink(&shell, "releases/2", "work/current");
    closes(&mut shell, "current/secret");
    assert_eq!(shell.run("cat releases/2/secret"), "");
    let (applied, _) = shell.change(1);
    assert!(applied && shell.errors().contains("work/current leads elsewhere now"), "{}", shell.errors());
    // It is compiled once for each change.
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(shell.changes().len(), 1);
    assert_eq!(shell.end().0, 0);
}

#[test]
fn a_denial_follows_what_moves_behind_a_link() {
    for (name, file, from, to) in [
        ("vault", "work/vault/key", "work/vault", "work/vault-2026"),
        ("conf/secret", "work/conf/secret", "work/conf", "work/conf.v1"),
        ("secret", "work/secret", "work/secret", "work/dotfiles"),
    ] {
        let mut shell = Shell::start(denied(name, &[file]));
        let file = file.strip_prefix("work/").expect("in the workspace");
        assert_eq!(shell.run(&format!("cat {file}")), "");
        move_behind_link(&shell, from, to);
        closes(&mut shell, file);
        assert_eq!(shell.run(&format!("echo more >> {file} && echo wrote")), "", "{name}");
        shell.end();
    }
}

/// Neither by a reload: what a link led to when it was removed stays denied.
#[test]
fn a_denial_stays_where_a_removed_link_led() {
    let world = denied("current/secret", &["work/releases/1/secret"]);
    symlink("releases/1", world.work().join("current")).expect("a link");
    let mut shell = Shell::start(world);
    assert_eq!(shell.run("cat releases/1/secret"), "");
    fs::remove_file(shell.world.work().join("current")).expect("a link");
    for count in 1..3 {
        shell.hang_up();
        shell.change(count);
        assert_eq!(shell.run("cat releases/1/secret"), "", "{}", shell.errors());
    }
    // Something else in its place ends that.
    fs::create_dir(shell.world.work().join("current")).expect("a directory");
    until("it is readable", || shell.run("cat releases/1/secret") == "told\n");
    shell.end();
}

/// Nothing would show where a link in the directory leads.
#[test]
fn the_tree_shuts_no_directory_on_the_way_to_what_is_denied() {
    let world = denied("conf/deep/secret", &["work/conf/deep/secret"]);
    let mut shell = Shell::start(world);
    for directory in ["conf", "conf/deep"] {
        for mode in ["000", "600", "300"] {
            let shut = shell.run(&format!("chmod {mode} {directory} || stat -c %a {directory}"));
            assert_eq!(shut, "755\n", "{}", shell.errors());
        }
        let by_descriptor = format!(
            "/usr/bin/python3 -c 'import os; os.fchmod(os.open(\"{directory}\", os.O_RDONLY), 0)'; stat -c %a {directory}"
        );
        assert_eq!(shell.run(&by_descriptor), "755\n", "{}", shell.errors());
        let opened = shell.run(&format!("chmod 700 {directory} && chmod 755 {directory} && echo changed"));
        assert_eq!(opened, "changed\n", "{}", shell.errors());
    }
    let own = "mkdir -p own/deep && chmod 000 own/deep && chmod 600 own && chmod -R u+rwX own && rm -r own && echo changed";
    assert_eq!(shell.run(own), "changed\n", "{}", shell.errors());
    shell.end();
}

/// Nor does it make one there, however its mode comes about.
#[test]
fn no_directory_on_the_way_to_what_is_denied_is_made_shut() {
    let world = denied("conf/secret", &["work/real/secret"]);
    let mut shell = Shell::start(world);
    let made = "mkdir -m 0 conf; mkdir -m 300 conf; (umask 777; mkdir conf); ls -d conf";
    assert_eq!(shell.run(made), "", "{}", shell.errors());
    let list = "/usr/bin/python3 -c 'import os, struct; os.setxattr(\".\", \"system.posix_acl_default\", struct.pack(\"<I\", 2) + b\"\".join(struct.pack(\"<HHI\", tag, 0, 2**32-1) for tag in (1, 4, 32)))' || echo refused";
    assert_eq!(shell.run(list), "refused\n", "{}", shell.errors());
    let fine = "mkdir -m 700 conf && mkdir -m 0 other && rmdir other && echo made";
    assert_eq!(shell.run(fine), "made\n", "{}", shell.errors());
    shell.end();
}

/// Nothing was there when the run began.
#[test]
fn a_shut_directory_of_the_trees_keeps_no_policy_from_coming_into_force() {
    let world = World::bare();
    world.write("work/plain", "told\n");
    let with = |denied: &str| {
        let work = world.work().display().to_string();
        let rules = format!("\"{work}/later/deep/**\": \"rw-\", \"{work}/linked/**\": \"rw-\"}}, \"deny\"");
        denying(&world, denied).replace("}, \"deny\"", &format!(", {rules}"))
    };
    let (before, after) = (with("none"), with("plain"));
    let world = world.policy(&before);
    let mut shell = Shell::start(world);
    let shut = "mkdir -m 0 later && mkdir own && ln -s own/deep linked && chmod 000 own && cat plain";
    assert_eq!(shell.run(shut), "told\n", "{}", shell.errors());
    shell.world.write("guard.json", after);
    until("it is in force", || shell.run("cat plain").is_empty());
    assert!(shell.changes().iter().all(|change| change["applied"] == true), "{}", shell.errors());
    assert_eq!(shell.run("rmdir later own && echo gone"), "gone\n", "{}", shell.errors());
    shell.end();
}

/// What was not looked up before may lead anywhere.
#[test]
fn a_policy_does_not_follow_into_a_directory_that_was_shut() {
    if guard_tests::is_root() {
        guard_tests::skip("a mode keeps root from nothing");
        return;
    }
    let world = denied("current/secret", &["work/releases/1/secret", "work/d2/secret"]);
    symlink("releases/1", world.work().join("current")).expect("a link");
    let mut shell = Shell::start(world);
    let d2 = shell.world.work().join("d2");
    fs::set_permissions(&d2, fs::Permissions::from_mode(0o000)).expect("a mode");
    relink(&shell, "d2", "work/current");
    let (applied, text) = shell.change(1);
    assert!(!applied && text.contains("work/d2, which is yours"), "{text}");
    // The denial of before stays.
    assert_eq!(shell.run("cat releases/1/secret"), "", "{}", shell.errors());
    fs::set_permissions(&d2, fs::Permissions::from_mode(0o755)).expect("a mode");
    closes(&mut shell, "d2/secret");
    shell.end();
}

/// An earlier run, or the operator, may have taken the permission away.
#[test]
fn a_directory_that_was_shut_keeps_no_policy_from_coming_into_force() {
    if guard_tests::is_root() {
        guard_tests::skip("a mode keeps root from nothing");
        return;
    }
    let world = denied("conf/secret", &["work/vault/secret", "work/conf/other", "work/plain"]);
    symlink("../vault/secret", world.work().join("conf/secret")).expect("a link");
    let mut shell = Shell::start(world);
    assert_eq!(shell.run("cat vault/secret; cat plain"), "told\n");
    let conf = shell.world.work().join("conf");
    let mode = |mode| fs::set_permissions(&conf, fs::Permissions::from_mode(mode)).expect("a mode");
    mode(0o600);
    let more = format!("\"deny\": [\"{}\", ", shell.world.work().join("plain").display());
    shell.world.write("guard.json", denying(&shell.world, "conf/secret").replace("\"deny\": [", &more));
    assert!(shell.change(1).0);
    assert!(shell.errors().contains("work/conf cannot be searched"), "{}", shell.errors());
    assert_eq!(shell.run("cat vault/secret; cat plain"), "", "{}", shell.errors());
    mode(0o755);
    // What it is after that counts.
    relink(&shell, "../plain", "work/conf/secret");
    until("it is readable", || shell.run("cat vault/secret") == "told\n");
    shell.end();
}

/// Nothing was at the path when the tree started.
#[test]
fn a_denial_follows_a_link_in_a_directory_that_comes_later() {
    let mut shell = Shell::start(denied("later/vault/key", &["work/elsewhere/key"]));
    assert_eq!(shell.run("cat elsewhere/key"), "told\n");
    fs::create_dir(shell.world.work().join("later")).expect("a directory");
    std::thread::sleep(Duration::from_millis(2500));
    relink(&shell, "../elsewhere", "work/later/vault");
    closes(&mut shell, "later/vault/key");
    shell.end();
}

#[test]
fn a_program_that_may_not_start_is_the_one_behind_the_link() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"persistence": false, "filesystem": {
            "rules": {"/**": "rwx", "@/tools/current/danger": "---"}, "default": "rwx"}}}"#,
    );
    for version in ["1", "2"] {
        let directory = world.root().join("tools").join(version);
        fs::create_dir_all(&directory).expect("a directory");
        fs::copy("/bin/echo", directory.join("danger")).expect("a program");
    }
    symlink("1", world.root().join("tools/current")).expect("a link");
    let mut shell = Shell::start(world);
    assert_eq!(shell.run("../tools/current/danger ran"), "");
    relink(&shell, "2", "tools/current");
    until("it is denied", || shell.run("../tools/current/danger ran").is_empty());
    shell.end();
}

#[test]
fn a_directory_of_path_is_protected_where_its_link_leads() {
    let world = World::open().with_persistence(true);
    for version in ["v1", "v2"] {
        fs::create_dir_all(world.root().join(version).join("bin")).expect("a directory");
    }
    symlink("v1", world.root().join("now")).expect("a link");
    let mut command = world.command();
    let path = std::env::var("PATH").expect("a path");
    command.env("PATH", format!("{}:{path}", world.root().join("now/bin").display()));
    let mut shell = Shell::of(world, command);
    let plant = "echo x > ../now/bin/tool && rm ../now/bin/tool && echo planted";
    assert_eq!(shell.run(plant), "");
    relink(&shell, "v2", "now");
    until("it is protected", || shell.run(plant).is_empty());
    shell.end();
}

/// The tree writes the policy by the name that was denied to it, as soon as that leads to where it may write.
fn takes_over(shell: &mut Shell, name: &str) {
    let own = denying(&shell.world, "other");
    shell.world.write("work/own.json", own);
    for _ in 0..25 {
        assert_eq!(shell.run(&format!("cat own.json > {name}; cat secret")), "", "{}", shell.errors());
        std::thread::sleep(Duration::from_millis(100));
    }
    shell.hang_up();
    until("it is told", || shell.errors().contains("a symbolic link leads to it now"));
    assert_eq!(shell.run("cat secret"), "", "{}", shell.errors());
    // By now, the file is denied where it is.
    let wrote = shell.run(&format!("cat own.json > {name} && echo wrote; cat {name}"));
    assert_eq!(wrote, "", "{}", shell.errors());
}

#[test]
fn the_policy_is_not_read_through_a_link_made_since_the_start() {
    for (from, to, name) in [
        ("policies", "work/policies", "../policies/guard.json"),
        ("policies/guard.json", "work/guard.json", "../policies/guard.json"),
    ] {
        let world = World::bare();
        world.write("work/secret", "told\n");
        let policy = world.write("policies/guard.json", denying(&world, "secret"));
        let mut command = world.command();
        command.arg("--policy").arg(policy);
        let mut shell = Shell::of(world, command);
        assert_eq!(shell.run("cat secret"), "");
        move_behind_link(&shell, from, to);
        takes_over(&mut shell, name);
        // What is a plain file again counts again.
        let at = |path: &str| shell.world.root().join(path);
        fs::remove_file(at(from)).expect("a link");
        fs::rename(at(to), at(from)).expect("a rename");
        shell.world.write("policies/guard.json", denying(&shell.world, "other"));
        until("it is read again", || shell.run("cat secret") == "told\n");
        shell.end();
    }
}

/// A link that takes the place of a policy which was not there is not the policy's, and is told of.
#[test]
fn a_link_to_a_first_policy_waits_for_the_next_start() {
    let world = World::bare();
    world.write("home/.openclaw/guard/none", "");
    let shell = Shell::start(world);
    let text = denying(&shell.world, "secret");
    let file = shell.world.write("work/guard.json", text);
    symlink(file, shell.world.home().join(".openclaw/guard.json")).expect("a link");
    until("it is told", || shell.errors().contains("a symbolic link leads to it now"));
    let (applied, said) = shell.change(1);
    assert!(!applied && said.contains("only the next start follows"), "{said}");
    shell.end();
}

#[test]
fn where_the_kernel_decides_a_denial_cannot_follow_and_a_line_says_so() {
    let mut world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr"]}, "permissions": {"base": false,
            "persistence": false, "filesystem": {"rules": {"/usr/**": "r-x", "/etc/**": "r--", "/dev/null": "rw-",
            "@/work/**": "rw-"}, "deny": ["@/secret"], "default": "---"}}}"#,
    );
    world.set_tiers("broker,floored,kernel");
    let shown = ended(world.command().args(["policy", "show", "--tiers", "--json"])).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    if shown["classes"]["read"]["exact"] != true {
        guard_tests::skip("this kernel leaves no reads to Landlock");
        return;
    }
    world.write("secret", "told\n");
    let shell = Shell::start(world);
    move_behind_link(&shell, "secret", "work/dotfiles");
    let (applied, said) = shell.change(1);
    assert!(!applied && said.contains("/secret leads elsewhere now, and the policy cannot follow"), "{said}");
    assert!(said.contains("the kernel already grants"), "{said}");
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(shell.changes().len(), 1, "it is not tried again and again");
    shell.end();
}

/// `git init` makes a directory in which the policy looks for links. The built-in policy lets programs in /tmp be read only
/// in part, so that the floor does not have it as a whole.
#[test]
fn directories_of_ordinary_work_need_no_message() {
    let mut shell = Shell::start(World::bare());
    assert_eq!(shell.run("git init -q . && mkdir -p bin node_modules/.bin && echo made"), "made\n");
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(shell.run("git status --porcelain && echo works"), "works\n");
    assert_eq!(shell.changes(), Vec::<serde_json::Value>::new(), "{}", shell.errors());
    assert!(!shell.errors().contains("leads elsewhere"), "{}", shell.errors());
    shell.end();
}
