//! What an operator looks up about the machine is no question under `coding`, nor under the built-in policy.

use std::fs;

use guard_tests::{World, has, is_root};

use crate::session::Session;

/// Commands that only read. Their output changes from moment to moment.
const COMMANDS: [&str; 19] = [
    "ps aux",
    "ps -ef",
    "pgrep sh",
    "top -b -n 1",
    "uptime",
    "free",
    "df",
    "last -n 2",
    "dmesg",
    "journalctl --no-pager -n 3",
    "ls -l /var/log",
    "dpkg -l",
    "dpkg -S /bin/sh",
    "apt list --installed",
    "apt-cache policy bash",
    "man -w ls",
    "man ls",
    "fc-list",
    "lsblk",
];

/// Returns the commands that this machine has, as a script that prints whether each succeeds.
fn script() -> String {
    let is_here = |command: &&&str| {
        let program = command.split(' ').next().unwrap_or_default();
        // As root, apt writes its caches anew.
        has(&[program]) && !(is_root() && program.starts_with("apt"))
    };
    let commands = COMMANDS.iter().filter(is_here);
    let lines: Vec<String> = commands
        .map(|command| format!("{command} > /dev/null 2>&1 && echo {command} || echo no {command}\n"))
        .collect();
    assert!(lines.len() > 5, "{lines:?}");
    lines.concat()
}

/// Makes the directory of its settings, which top would make.
fn prepare(world: &World) {
    fs::create_dir_all(world.home().join(".config/procps")).expect("a directory");
}

#[test]
fn coding_asks_nothing() {
    Session::same("coding", prepare, &script());
}

#[test]
fn the_built_in_policy_asks_nothing() {
    let world = World::bare();
    prepare(&world);
    let expected = world.native(&["sh", "-c", &script()]);
    let ended = world.sh(&script());
    assert_eq!(ended.stdout, expected.stdout, "{}", ended.stderr);
    assert_eq!(world.denied(), [""; 0], "{ended:?}");
}

/// Python tries this for its own modules at every start.
#[test]
fn what_the_kernel_refuses_anyway_is_no_line() {
    if is_root() {
        return;
    }
    let world = World::bare();
    let script =
        "for way in 'mkdir /usr/share/new' 'touch /usr/share/new' 'touch /etc/passwd'; do $way 2>&1; done
        (: > ~/.bashrc) 2>/dev/null; true";
    let expected = world.native(&["sh", "-c", script]);
    let ended = world.sh(script);
    assert_eq!(ended.stdout, expected.stdout);
    // The kernel would allow this one.
    let lines = ended.guard_lines();
    assert!(lines.len() == 1 && lines[0].contains("/.bashrc"), "{ended:?}");
}
