//! Compares the parser of git's configuration with git itself, and checks what the comparison of two configurations
//! must hold for all of them.
use std::process::Command;

use guard_policy::git_config::parse;
use guard_policy::{Document, Host, Outcome, Overrides, OwnGitParts, Policy, Request, decide};
use proptest::prelude::*;

/// Returns `git config --list -z` of a file with this text; `None` if git refuses it.
fn git(text: &[u8]) -> Option<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("config");
    std::fs::write(&file, text).unwrap();
    let done = Command::new("git").args(["config", "-z", "--list", "-f"]).arg(&file).output().ok()?;
    done.status.success().then_some(done.stdout)
}

fn ours(text: &[u8]) -> Option<Vec<u8>> {
    let entries = parse(text).ok()?;
    let line = |name: Vec<u8>, value: Option<Vec<u8>>| match value {
        Some(value) => [&name[..], b"\n", &value, b"\0"].concat(),
        None => [&name[..], b"\0"].concat(),
    };
    Some(entries.into_iter().flat_map(|entry| line(entry.name, entry.value)).collect())
}

/// What ours accepts, git reads in the same way. Ours may refuse more.
fn agree(text: &[u8]) {
    if let Some(read) = ours(text) {
        let read = Some(read.iter().map(|byte| char::from(*byte)).collect::<String>());
        let expected = git(text).map(|read| read.iter().map(|byte| char::from(*byte)).collect());
        assert_eq!(read, expected, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn texts_of_every_kind_are_read_as_git_reads_them() {
    for text in [
        "",
        "[core]\n\tbare = false\n",
        "\u{feff}[core]\na=b",
        "[Core]Bare\n[a \"B\\\"c\\\\\"]x=y",
        "[a.B.c]\nx = 1\n[a \"\"]\ny\n[a  \t\"z\"]\nx\n",
        "[a]\r\nx = y\r\n z=\\\r\n w\r\n",
        "[a]\nx = a  b\t c  # d\ny = \"a  \" b ; c\nz = a\\\n  b\nw=\"a\\\nb\"\n",
        "[a]\nx=\\t\\n\\b\\\\\\\"\ny=a\\",
        "[a] ; c\n# [b]\n;x=y \\\nx=y",
        "[a]x=\"\"\"\" \ny= \"\" x \"\" \n",
        "[a]\nx-y-1 = 2\nx\t=\t3\t\n[a-b.c]d=e",
    ] {
        assert!(ours(text.as_bytes()).is_some(), "{text:?}");
        agree(text.as_bytes());
    }
}

#[test]
fn what_git_refuses_and_what_programs_read_differently_is_refused() {
    for text in [
        "[a",
        "[a]\nx y\n",
        "[a]\nx = \"y\n",
        "[a]\nx = \\q\n",
        "[a]\n1 = 2\n",
        "[a b]\nx\n",
        "[a \"b]\nx\n",
        "[a \"b\nc\"]\nx\n",
        "[a \"b\" ]\nx\n",
        "[a\n\"b\"]\nx",
        "[a_b]\nx\n",
        "[a]\nx_y = 1\n",
        "[a]\nx # y\n",
        "=",
        "x = y\n",
        "[]\nx\n",
        "[.a]\nx\n",
        "[ a]\nx\n",
        "[a]\nx = \0\n",
        "[a]\nx = a\rb\n",
        "[a]\rx = y\n",
        "\u{feff}\u{feff}[a]\n",
        "[a]\nx = y\n]\n",
    ] {
        assert_eq!(ours(text.as_bytes()), None, "{text:?}");
    }
}

fn policy() -> Policy {
    let document = Document::parse("guard.json", r#"{"version": 1}"#).unwrap();
    Policy::compile(&document, "main", &Host::bare(b"/home/u", b"/home/u"), &Overrides::default()).unwrap()
}

fn outcome(old: &[u8], new: &[u8]) -> Outcome {
    decide(&policy(), &Request::GitConfig { path: b"/w/.git/config", old, new, own: OwnGitParts::default() })
        .outcome
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "[core]",
            "[remote \"o\"]",
            "[a \"b\\\\c\"]",
            "[x.y]",
            "\n",
            "\r\n",
            "\t",
            " ",
            "=",
            "\"",
            "\\",
            "#",
            ";",
            "]",
            "[",
            "url",
            "hooksPath",
            "bare",
            "true",
            "https://h/r",
            "\\\n",
            "\\t",
            "\\\"",
            "\u{feff}",
            "-",
            ".",
            "é",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,4}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_read_as_git_reads_it(pieces in prop::collection::vec(piece(), 0..24), head in any::<bool>()) {
        let text = if head { format!("[s]\n{}", pieces.concat()) } else { pieces.concat() };
        agree(text.as_bytes());
    }
}

proptest! {
    #[test]
    fn nothing_panics_and_what_stays_the_same_passes(pieces in prop::collection::vec(piece(), 0..24), other in prop::collection::vec(piece(), 0..24)) {
        let (one, other) = (format!("[s]\n{}", pieces.concat()), other.concat());
        if parse(one.as_bytes()).is_ok() {
            prop_assert_eq!(outcome(one.as_bytes(), one.as_bytes()), Outcome::Allow);
        }
        // If a change passes, every entry of a key that runs something is there before and afterwards, in this order.
        if outcome(one.as_bytes(), other.as_bytes()) == Outcome::Allow {
            let hooks = |text: &str| {
                let entries = parse(text.as_bytes()).unwrap();
                entries.into_iter().filter(|entry| !matches!(entry.section(), b"remote" | b"core") || entry.key() == b"hookspath").collect::<Vec<_>>()
            };
            prop_assert_eq!(hooks(&one), hooks(&other));
        }
    }

    #[test]
    fn a_key_that_is_not_in_the_table_is_never_added(section in "[a-z]{1,8}", key in "[a-z]{1,8}", value in "[ -~]{0,12}", subsection in prop::option::of("[a-zA-Z/.]{0,6}")) {
        prop_assume!(!matches!(section.as_str(), "user" | "color" | "column" | "advice"));
        let head = subsection.map_or(section.clone(), |name| format!("{section} \"{name}\""));
        let text = format!("[{head}]\n\t{key} = {value}\n");
        // The keys that pass have longer names, or are those above.
        prop_assume!(!["url", "fetch", "prune", "remote", "merge", "rebase", "active", "update", "branch", "ff", "stat", "date", "sort", "short", "bare", "eol", "abbrev"].contains(&key.as_str()));
        prop_assert_ne!(outcome(b"", text.as_bytes()), Outcome::Allow, "{}", text);
    }
}
