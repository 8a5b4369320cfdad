//! What people type without having read the manual.

use guard_tests::{Ended, Screen, World, ended};

fn give(world: &World, words: &[&str]) -> Ended {
    ended(world.command().args(words))
}

#[test]
fn a_command_runs_without_a_separator() {
    let world = World::open();
    let ended = give(&world, &["-q", "sh", "-c", "echo ran \"$@\"; exit 7", "--", "--observe", "-q"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (7, "ran --observe -q\n"), "{}", ended.stderr);
    let none = give(&world, &["-q", "no-such-command-here", "x"]);
    assert_eq!(none.status, 127, "{}", none.stderr);
}

#[test]
fn a_subcommand_wins_over_a_program_and_says_how_to_run_it() {
    let world = World::open();
    let path = world.root().join("bin");
    let program = world.write("bin/man", "#!/bin/sh\necho the program\n");
    std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program");
    let run = |words: &[&str]| {
        ended(world.command().args(words).env("PATH", format!("{}:/usr/bin:/bin", path.display())))
    };
    let taken = run(&["man", "no-such-page"]);
    assert_eq!((taken.status, taken.stdout.as_str()), (125, ""), "{}", taken.stderr);
    assert!(taken.stderr.contains("to run the program man, give -- before it"), "{}", taken.stderr);
    assert_eq!(run(&["-q", "--", "man"]).stdout, "the program\n");
    std::fs::copy(path.join("man"), path.join("init")).expect("a program");
    let init = run(&["init", "--no-such-option"]);
    assert!(init.status == 125 && !init.stderr.contains("give -- before it"), "{}", init.stderr);
}

#[test]
fn a_misspelt_subcommand_is_not_run() {
    let world = World::open();
    let ended = give(&world, &["polciy", "show"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (125, ""));
    assert!(ended.stderr.contains("'policy'"), "{}", ended.stderr);
    assert!(world.audit().is_empty());
}

#[test]
fn no_command_is_a_shell_on_a_terminal_and_an_error_elsewhere() {
    let world = World::open();
    for words in [&[][..], &["--"]] {
        let ended = give(&world, words);
        assert_eq!(ended.status, 125, "{}", ended.stderr);
        assert!(ended.stderr.contains("there is no command"), "{}", ended.stderr);
    }
    let mut command = world.command();
    command.arg("-q").env("SHELL", "/bin/sh").env("PS1", "IN> ").env("TERM", "dumb");
    let mut screen = Screen::start(&command);
    screen.expect("IN>");
    screen.keys("grep Seccomp: /proc/self/status; exit 3\n");
    screen.expect("2");
    let (status, shown) = screen.end();
    assert_eq!(status, 3, "{shown}");
    let mut command = world.command();
    command.args(["-q", "--"]);
    let (status, shown) = Screen::start(&command).end();
    assert_eq!(status, 125, "{shown}");
}

#[test]
fn a_question_needs_no_separator_and_the_last_denial_no_option() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"ask": "off", "security": "full"},
            "permissions": {"filesystem": {"rules": {SYSTEM}, "deny": ["~/.ssh/**"], "default": "r-x"}}}"#,
    );
    world.write("home/.ssh/key", "key");
    assert_eq!(
        give(&world, &["check", "ls", "-l"]).stdout,
        give(&world, &["check", "--", "ls", "-l"]).stdout
    );
    assert_eq!(give(&world, &["check", "ls", "-l"]).status, 0);
    assert!(give(&world, &["why"]).stderr.contains("there is no audit log"));
    assert_eq!(world.sh("cat ~/.ssh/key").status, 1);
    let bare = give(&world, &["why"]);
    assert!(bare.status == 0 && bare.stdout.contains(".ssh/key"), "{}{}", bare.stdout, bare.stderr);
    assert_eq!(bare.stdout, give(&world, &["why", "--last"]).stdout);
}

#[test]
fn the_version_is_a_subcommand_too() {
    let world = World::bare();
    assert_eq!(give(&world, &["version"]).stdout, give(&world, &["--version"]).stdout);
    assert!(give(&world, &["version"]).stdout.starts_with("openclaw-guard "));
}

#[test]
fn the_help_of_a_subcommand_has_its_own_options_only() {
    let world = World::bare();
    for help in ["-h", "--help"] {
        let shown = give(&world, &["check", help]).stdout;
        assert!(shown.contains("--read") && !shown.contains("--unattended"), "{shown}");
        assert!(shown.contains("openclaw-guard --help"), "{shown}");
        assert!(give(&world, &[help]).stdout.contains("--unattended"));
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let world = World::open();
    for words in [
        "check --read /etc/passwd",
        "check --batch",
        "check -- 'ls; ls'",
        "doctor",
        "policy show --effective",
    ] {
        let mut command = std::process::Command::new("bash");
        let guard = guard_tests::words(&world.command());
        // The reader is gone before anything is written.
        let line = format!("(sleep 1; echo '{{\"op\":\"read\",\"path\":\"/x\"}}' | {guard} {words}) | true");
        let ended = ended(command.args(["-c", &line]).env("HOME", world.home()).current_dir(world.work()));
        assert_eq!(ended.stderr, "", "{words}");
    }
}

#[test]
fn a_plain_locale_gets_plain_signs() {
    let world = World::bare();
    for words in [&["doctor"][..], &["doctor", "--help"], &["doctor", "-h"]] {
        let shown = |locale: &str| ended(world.command().args(words).env("LC_ALL", locale)).stdout;
        assert!(shown("C.UTF-8").contains('✓'), "{words:?}");
        let plain = shown("C");
        assert!(plain.is_ascii() && plain.contains('+'), "{words:?}: {plain}");
    }
}
