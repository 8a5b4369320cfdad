//! `--help`, and the pages of the manual.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use guard_tests::{Ended, World, ended, guard, has};

/// Runs the guard as on a terminal of 100 columns.
fn run(words: &[&str]) -> Ended {
    ended(Command::new(guard()).env("COLUMNS", "100").args(words))
}

/// Returns the words of every command that `--help` lists, starting with the program itself.
fn commands() -> Vec<Vec<String>> {
    let mut found = vec![vec![]];
    let mut next = 0;
    while next < found.len() {
        let words: Vec<String> = found[next].clone();
        let arguments: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = run(&arguments);
        assert_eq!(help.status, 0, "{words:?}: {}", help.stderr);
        let listed = help.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in listed.take_while(|line| !line.is_empty()) {
            // Wrapped lines are indented more.
            let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
            if let Some(name) = name.and_then(|line| line.split(' ').next()).filter(|name| *name != "help") {
                found.push([&words[..], &[name.to_owned()]].concat());
            }
        }
        next += 1;
    }
    found
}

/// Writes the pages to a new directory of the world, and returns its path.
fn pages(world: &World) -> std::path::PathBuf {
    let directory = world.root().join("new/man1");
    let done = ended(world.command().arg("man").arg("--directory").arg(&directory));
    assert_eq!((done.status, &*done.stdout), (0, ""), "{}", done.stderr);
    directory
}

#[test]
fn help_fits_a_screen_and_a_summary_is_shorter() {
    let commands = commands();
    assert!(commands.len() > 25, "{commands:?}");
    for words in commands {
        let of = |option: &str| {
            let arguments: Vec<&str> = words.iter().map(String::as_str).chain([option]).collect();
            let help = run(&arguments);
            assert_eq!((help.status, &*help.stderr), (0, ""));
            help.stdout
        };
        let (long, short) = (of("--help"), of("-h"));
        assert!(long.lines().count() <= 60, "{words:?}: {} lines", long.lines().count());
        assert!(short.lines().count() <= long.lines().count(), "{words:?}");
        for global in ["--policy <FILE>", "--agent <NAME>", "--kill-on-exit", "--session-key <KEY>"] {
            // A subcommand's help names the program's, which lists them.
            assert_eq!(long.contains(global), words.is_empty(), "{words:?}: {global}");
            assert!(words.is_empty() || long.contains("`openclaw-guard --help`"), "{words:?}");
        }
        assert!(!short.contains("--kill-on-exit"), "{words:?}");
    }
}

#[test]
fn help_is_asked_for_in_several_ways() {
    let long = run(&["approvals", "resolve", "--help"]);
    assert_eq!(long.stdout, run(&["help", "approvals", "resolve"]).stdout);
    assert_eq!(long.stdout, run(&["approvals", "help", "resolve"]).stdout);
    assert_eq!(long.stdout, run(&["-q", "approvals", "resolve", "x", "--help"]).stdout);
    let short = run(&["approvals", "resolve", "-h"]);
    assert_ne!(long.stdout, short.stdout);
    assert_eq!(short.stdout, run(&["approvals", "resolve", "-h", "--help"]).stdout);
    // After `--` the option belongs to the command.
    let world = World::open();
    assert_eq!(world.guarded(&["printf", "%s", "--help"]).stdout, "--help");
}

#[test]
fn a_hidden_option_is_in_neither_the_help_nor_the_manual() {
    for words in [["bench", "--help"], ["man", "bench"]] {
        let shown = run(&words);
        assert!(shown.stdout.contains("rounds"), "{words:?}: {}", shown.stdout);
        assert!(!shown.stdout.replace('\\', "").contains("--calls"), "{words:?}: {}", shown.stdout);
    }
}

#[test]
fn each_command_has_a_page() {
    let world = World::bare();
    let directory = pages(&world);
    let written: BTreeSet<String> = fs::read_dir(&directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name"))
        .collect();
    let expected = commands().into_iter().map(|words| {
        let name = [&["openclaw-guard".to_owned()], &words[..]].concat().join("-");
        let page = run(&[&["man"], &*words.iter().map(String::as_str).collect::<Vec<_>>()].concat());
        assert_eq!(
            Some(page.stdout),
            fs::read_to_string(directory.join(format!("{name}.1"))).ok(),
            "{words:?}"
        );
        format!("{name}.1")
    });
    assert_eq!(written, expected.collect());
    assert_eq!(run(&["man", "approvals-resolve"]).stdout, run(&["man", "approvals", "resolve"]).stdout);
    assert_eq!(run(&["man", "openclaw-guard-check"]).stdout, run(&["man", "check"]).stdout);
    let none = run(&["man", "appro\u{1b}vals"]);
    assert_eq!(none.status, 125);
    // A hint follows where there is a program man.
    assert_eq!(
        none.stderr.lines().next(),
        Some(
            "openclaw-guard: there is no command appro\\u{1B}vals: `openclaw-guard --help` lists the commands"
        )
    );
}

#[test]
fn a_page_begins_with_its_title_and_says_how_the_command_ends() {
    let world = World::bare();
    let directory = pages(&world);
    for words in commands() {
        let name = [&["openclaw-guard".to_owned()], &words[..]].concat().join("-");
        let page = fs::read_to_string(directory.join(format!("{name}.1"))).expect("a page");
        assert!(page.starts_with(&format!(".TH {} 1 ", name.to_uppercase())), "{name}: {page}");
        assert!(page.is_ascii() && !page.contains("\n\n"), "{name}");
        let group = run(&[words.iter().map(String::as_str).collect::<Vec<_>>(), vec!["--help"]].concat());
        let is_group = group.stdout.contains(" <COMMAND>\n") && !words.is_empty();
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\"", "\"SEE ALSO\""] {
            assert!(page.contains(&format!("\n.SH {section}\n")), "{name}: {section}");
        }
        assert!(is_group || page.contains("\n.SH EXAMPLES\n"), "{name}: no examples");
        let (_, status) = page.split_once(".SH \"EXIT STATUS\"\n").expect("the section");
        assert!(
            is_group || status.split("\n.SH").next().is_some_and(|text| text.contains("125")),
            "{name}: {status}"
        );
    }
    let own = fs::read_to_string(directory.join("openclaw-guard.1")).expect("a page");
    let (_, status) = own.split_once(".SH \"EXIT STATUS\"\n").expect("the section");
    for end in
        ["125", "126", "127", "128 + n", "openclaw\\-guard check", "openclaw\\-guard approvals resolve"]
    {
        assert!(status.contains(&format!("\\fB{end}\\fR\n")), "{end}: {status}");
    }
    for known in
        ["~/.openclaw/guard.json", "~/.openclaw/guard/audit.jsonl", "OPENCLAW_STATE_DIR", "OC_EXEC_SECURITY"]
    {
        assert!(own.contains(&format!("\\fB{known}")), "{known}");
    }
}

/// Runs a program on each page, and returns the outputs that are not empty.
fn warnings(directory: &Path, mut command: impl FnMut(&Path) -> Command) -> Vec<String> {
    let pages = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let outputs = pages.map(|page| {
        let ended = ended(command(&page).env("LC_ALL", "C.UTF-8"));
        format!("{}{}", ended.stdout, ended.stderr)
    });
    outputs.filter(|output| !output.is_empty()).collect()
}

#[test]
fn formatters_accept_the_manual_pages() {
    let world = World::bare();
    let directory = pages(&world);
    let with = |program: &'static str, options: &'static [&'static str]| {
        move |page: &Path| {
            let mut command = Command::new(program);
            command.args(options).arg(page);
            command
        }
    };
    if has(&["mandoc"]) {
        assert_eq!(warnings(&directory, with("mandoc", &["-Tlint", "-Wwarning"])), [""; 0]);
    }
    if has(&["groff"]) {
        assert_eq!(warnings(&directory, with("groff", &["-ww", "-z", "-mandoc", "-Tutf8"])), [""; 0]);
    }
    if has(&["man"]) {
        let shown = ended(with("man", &["-l"])(&directory.join("openclaw-guard.1")).env("MANWIDTH", "80"));
        assert!(shown.stdout.contains("openclaw-guard [OPTIONS] [--] [CMD]...\n"), "{}", shown.stdout);
        let mut to_nothing = |page: &Path| {
            let mut command = Command::new("sh");
            command.args(["-c", "man --warnings -l \"$0\" >/dev/null"]).arg(page);
            command
        };
        assert_eq!(warnings(&directory, &mut to_nothing), [""; 0]);
    }
}

#[test]
fn pages_that_cannot_be_written_are_reported() {
    let world = World::bare();
    world.write("file", "");
    let done = ended(world.command().arg("man").arg("--directory").arg(world.root().join("file/below")));
    assert_eq!(done.status, 125);
    assert!(done.stderr.contains("file/below: Not a directory"), "{}", done.stderr);
}
