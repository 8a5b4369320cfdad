//! Completions, tested in the shells that they are for.

use std::process::Command;

use guard_tests::{Screen, World, ended, guard, has};

/// Writes the script for a shell to the world's home, and returns its path.
fn script(world: &World, shell: &str, path: &str) -> String {
    let made = ended(Command::new(guard()).args(["completions", shell]));
    assert_eq!((made.status, &*made.stderr), (0, ""));
    world.write(world.home().join(path), &made.stdout).into_os_string().into_string().expect("a plain path")
}

/// What is typed after the program's name, with an unfinished last word, and a completion that the shell must
/// offer. After `--` these are the user's programs.
const LINES: &[(&str, &str)] = &[
    ("che", "check"),
    ("check --rea", "--read"),
    ("--agen", "--agent"),
    ("approvals res", "resolve"),
    ("--agent ci allow wri", "write"),
    ("init --template co", "coding"),
    ("-- base6", "base64"),
    ("-q -- setpri", "setpriv"),
];

/// The same for a word that is no option's value: clap_complete gives fish no completions for it.
const WORD: (&str, &str) = ("completions fi", "fish");

#[test]
fn bash_completes() {
    let world = World::bare();
    let script = script(&world, "bash", "script");
    for (line, expected) in LINES.iter().chain([&WORD]) {
        let words: Vec<&str> = ["openclaw-guard"].into_iter().chain(line.split(' ')).collect();
        let asked = ended(Command::new("bash").args(["--norc", "-c"]).args([
            r#"source "$0" && [[ $(complete -p openclaw-guard) == *' -F _openclaw__guard '* ]] || exit 2
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
            _openclaw__guard openclaw-guard "${!#}" "${@: -2:1}"
            printf '%s\n' "${COMPREPLY[@]}""#,
            &script,
        ]).args(&words));
        assert_eq!((asked.status, &*asked.stderr), (0, ""), "{line}");
        assert!(asked.stdout.lines().any(|word| word == *expected), "{line}: {}", asked.stdout);
    }
}

#[test]
fn zsh_completes() {
    if !has(&["zsh"]) {
        return;
    }
    let world = World::bare();
    script(&world, "zsh", "functions/_openclaw-guard");
    let mut shell = Command::new("zsh");
    shell.args(["-f", "-i"]).current_dir(world.home()).env("HOME", world.home()).env("TERM", "dumb");
    let mut screen = Screen::start(&shell);
    screen.keys("fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D; bindkey '^I' list-choices; PS1='ready> '\n");
    screen.expect("ready> ");
    for (line, expected) in LINES.iter().chain([&WORD]) {
        screen.keys(&format!("openclaw-guard {line}"));
        screen.expect(line);
        // The shell inserts the completion, or lists it among others.
        screen.keys("\t");
        screen.expect(expected);
        screen.keys("\x15\n");
        screen.expect("ready> ");
    }
    screen.keys("exit\n");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn fish_completes() {
    if !has(&["fish"]) {
        return;
    }
    let world = World::bare();
    let script = script(&world, "fish", "script");
    for (line, expected) in LINES {
        let asked = ended(
            Command::new("fish")
                .env("HOME", world.home())
                .env("XDG_CONFIG_HOME", world.home())
                .env("XDG_DATA_HOME", world.home())
                .args([
                    "--no-config",
                    "-c",
                    "source $argv[1]; complete -C \"openclaw-guard $argv[2]\"",
                    &script,
                    line,
                ]),
        );
        assert_eq!(asked.status, 0, "{line}: {}", asked.stderr);
        let words: Vec<&str> = asked.stdout.lines().filter_map(|line| line.split('\t').next()).collect();
        assert!(words.contains(expected), "{line}: {words:?}");
    }
}

#[test]
fn other_shells_are_named_as_unknown() {
    let refused = ended(Command::new(guard()).args(["completions", "csh"]));
    assert_eq!(refused.status, 125);
    assert!(refused.stderr.contains("bash, zsh, fish"), "{}", refused.stderr);
}
