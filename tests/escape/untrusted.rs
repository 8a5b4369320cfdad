//! `--untrusted-environment`: who starts a guard for an agent lets the agent choose directory and variables, and these
//! say nothing about the guard.

use std::process::Command;

use guard_tests::{Ended, World, ended};

fn run(world: &World, is_untrusted: bool, configure: impl Fn(&mut Command)) -> Ended {
    let mut command = world.command();
    // Without HOME, it would be the one of the password entry.
    command.arg("--home").arg(world.home());
    if is_untrusted {
        command.arg("--untrusted-environment");
    }
    configure(&mut command);
    ended(&mut command)
}

#[test]
fn a_policy_is_not_found_by_a_variable() {
    let world = World::bare();
    world.write("home/.ssh/id_rsa", "secret");
    world.write(
        "evil/guard.json",
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"persistence": false, "filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#,
    );
    let read = |is_untrusted| {
        run(&world, is_untrusted, |command| {
            command.env("OPENCLAW_STATE_DIR", world.root().join("evil"));
            command.args(["--", "cat", "../home/.ssh/id_rsa"]);
        })
    };
    let trusted = read(false);
    assert_eq!(trusted.stdout, "secret", "an operator's variable names the policy: {}", trusted.stderr);
    let untrusted = read(true);
    assert_eq!(untrusted.stdout, "");
    assert!(untrusted.stderr.contains("denied read"), "{}", untrusted.stderr);
}

#[test]
fn neither_the_directory_nor_a_variable_grants_anything() {
    let world = World::bare();
    world.write("home/private/file", "");
    let rules = |is_untrusted| {
        run(&world, is_untrusted, |command| {
            command.env("TMPDIR", world.root().join("home/private")).args(["policy", "show", "--effective"]);
        })
        .stdout
    };
    let is_granted = |rules: &str, name: &str| {
        let path = world.root().join(name);
        ["rwx", "rw?"].iter().any(|rights| rules.contains(&format!("{rights}  {}/**", path.display())))
    };
    let (trusted, untrusted) = (rules(false), rules(true));
    for name in ["work", "home/private"] {
        assert!(is_granted(&trusted, name), "{name}: {trusted}");
        assert!(!is_granted(&untrusted, name), "{name}: {untrusted}");
    }
}

#[test]
fn the_command_has_its_variables_and_none_of_the_guards_descriptors() {
    let world = World::open();
    let list = |is_untrusted| {
        run(&world, is_untrusted, |command| {
            command.env("OWN", "a=b").env("EMPTY", "");
            let script = "echo $OWN-${EMPTY-unset}; ls /proc/self/fd; env | sort | grep -v ^_=";
            command.args(["--", "sh", "-c", script]);
        })
    };
    let (trusted, untrusted) = (list(false), list(true));
    assert!(trusted.stdout.starts_with("a=b-\n"), "{}", trusted.stderr);
    assert_eq!(trusted.stdout, untrusted.stdout, "{}", untrusted.stderr);
}
