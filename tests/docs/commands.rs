//! Every command has a test: what a document shows is replayed (`replay`), or is in the table here.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use guard_tests::{Step, ended, sources, steps};

use crate::documents::{Document, documents};
use crate::replay::REPLAYED;

/// A command that cannot be replayed with the others, and the file that runs it.
struct Elsewhere {
    /// The document that shows it; empty for any.
    document: &'static str,
    /// The beginning of the command, as the document has it; empty for all of its commands.
    command: &'static str,
    /// The file that runs it.
    file: &'static str,
    /// Text that shows that this file runs it.
    there: &'static str,
}

const fn elsewhere(
    document: &'static str,
    command: &'static str,
    file: &'static str,
    there: &'static str,
) -> Elsewhere {
    Elsewhere { document, command, file, there }
}

const ELSEWHERE: &[Elsewhere] = &[
    // The gate runs this.
    elsewhere("README.md", "make test", ".ci/run", "exec make test"),
    elsewhere("docs/tour.md", "", "tests/tour/main.rs", "docs/tour.md"),
    elsewhere(
        "docs/learn.md",
        "openclaw-guard learn --calls",
        "tests/gate/learned.rs",
        "\"learn\", \"--calls\"",
    ),
    elsewhere("", "openclaw-guard --observe gate serve", "tests/gate/learned.rs", "\"--observe\""),
    elsewhere(
        "docs/learn.md",
        "openclaw-guard --policy guard.json gate serve",
        "tests/gate/world.rs",
        "\"gate\", \"serve\"",
    ),
    elsewhere("docs/approvals.md", "#!/bin/sh", "tests/docs/examples.rs", "notify-send"),
    elsewhere("docs/openclaw.md", "", "tests/openclaw/agent.rs", "\"OpenClaw\""),
    elsewhere(
        "docs/openclaw.md",
        "openclaw-guard -- claude",
        "tests/templates/document.rs",
        "\"Claude Code\"",
    ),
    elsewhere("docs/openclaw.md", "openclaw-guard -- codex", "tests/templates/document.rs", "\"Codex\""),
    elsewhere("", "openclaw-guard -- codex --no-daemon", "tests/day/agents.rs", "\"--no-daemon\""),
    // OpenClaw's own commands for a node, of which those tests run what pairs one.
    elsewhere("docs/node.md", "openclaw ", "tests/openclaw/node_host.rs", "openclaw nodes approve"),
    elsewhere(
        "docs/compatibility.md",
        "openclaw node run",
        "tests/openclaw/node_host.rs",
        "openclaw nodes approve",
    ),
    elsewhere("docs/machines.md", "scripts/machines", "Makefile", "scripts/machines run"),
    elsewhere("", "openclaw-guard run-outside", "tests/elevated/runs.rs", "RUN make install"),
    elsewhere("docs/elevated.md", "make install", "tests/elevated/runs.rs", "RUN make install"),
    // With real gateways.
    elsewhere(
        "docs/gateway.md",
        "openclaw config set gateway.mode local",
        "tests/openclaw/setup.rs",
        "docs/gateway.md",
    ),
    elsewhere(
        "docs/gateway.md",
        "openclaw approvals pending",
        "tests/src/gateway/official.rs",
        "\"pending\", \"--json\"",
    ),
    elsewhere(
        "docs/gateway.md",
        "openclaw approvals resolve",
        "tests/openclaw/answers.rs",
        "&[\"resolve\", ",
    ),
    elsewhere("docs/node.md", "openclaw-guard node", "tests/openclaw/node_host.rs", "NodeProcess::start"),
    elsewhere("", "openclaw-guard doctor gateway", "tests/openclaw/setup.rs", "contains(\"doctor\")"),
    // Some of them with a stand-in for openclaw; tests/openclaw/gate.rs runs them with the real one.
    elsewhere("docs/gate.md", "", "tests/gate/plugin.rs", "\"install\""),
    // With real agents.
    elsewhere(
        "docs/templates.md",
        "openclaw-guard -- claude",
        "tests/templates/agents.rs",
        "[\"--\", \"claude\"",
    ),
    elsewhere(
        "docs/templates.md",
        "openclaw-guard -- codex",
        "tests/templates/agents.rs",
        "[\"--\", \"codex\"",
    ),
    elsewhere(
        "docs/templates.md",
        "openclaw-guard -- aider",
        "tests/templates/agents.rs",
        "session(\"aider\"",
    ),
    elsewhere(
        "docs/templates.md",
        "openclaw agent exec",
        "tests/templates/agents.rs",
        "[\"agent\", \"exec\"",
    ),
    // These need a terminal, or run until somebody ends them.
    elsewhere("", "openclaw-guard approvals watch", "tests/approval/watch.rs", "[\"approvals\", \"watch\"]"),
    elsewhere("docs/policy.md", "openclaw-guard -v", "tests/escape/faults.rs", "command.arg(\"-v\")"),
    elsewhere("", "openclaw-guard bench", "tests/cli/bench.rs", "[\"bench\", "),
    elsewhere("", "openclaw-guard approvals serve", "tests/src/served.rs", "\"serve\""),
    // In a clean Debian, without systemctl: the script runs the unit's command itself.
    elsewhere("docs/install.md", "", "scripts/test-package", "docs/install.md"),
    elsewhere("README.md", "cargo install", "scripts/test-package", "cargo install"),
    elsewhere("docs/decisions.md", "cargo install", "scripts/test-full", "cargo install"),
    // On a quiet machine, for half an hour: no test, but the target is there.
    elsewhere("docs/benchmarks.md", "make bench-report", "scripts/bench-report", "guard-bench tables"),
    elsewhere("docs/benchmarks.md", "make bench-check", "scripts/bench-check", "guard-bench instructions"),
    elsewhere("docs/benchmarks.md", "make bench ", "Makefile", "cargo bench --locked -p guard-bench"),
    elsewhere(
        "docs/benchmarks.md",
        "scripts/bench-report --quick",
        "scripts/bench-report",
        "guard-bench tables",
    ),
    elsewhere(
        "docs/benchmarks.md",
        "cargo run --release -p guard-bench",
        "scripts/bench-check",
        "overhead --quick --only",
    ),
];

/// Returns whether the table has this command.
pub fn is_elsewhere(document: &str, command: &str) -> bool {
    let of = |one: &&Elsewhere| one.document.is_empty() || one.document == document;
    ELSEWHERE.iter().filter(of).any(|one| command.starts_with(one.command))
}

/// The first words of the project's commands.
const PROGRAMS: [&str; 4] = ["openclaw-guard", "openclaw", "make", "cargo"];

fn is_command(text: &str) -> bool {
    let first = text.split(' ').next().unwrap_or_default();
    text.contains(' ') && (PROGRAMS.contains(&first) || first.starts_with("scripts/"))
}

/// Returns the commands in code blocks that nothing runs.
fn left_out(document: &Document) -> Vec<String> {
    let mut left = Vec::new();
    let is_replayed = REPLAYED.contains(&document.name.as_str());
    let mut report =
        |line: usize, text: &str, why: &str| left.push(format!("{}:{line}: {text}: {why}", document.name));
    for block in document.blocks() {
        let first = block.text.lines().next().unwrap_or_default();
        match block.language.as_str() {
            "console" if !first.starts_with("$ ") => report(block.line, first, "begins without a command"),
            "sh" | "bash" | "shell" if !is_elsewhere(&document.name, first) => {
                report(block.line, first, "is not run")
            }
            "console" | "sh" | "bash" | "shell" => {}
            _ => {
                for line in block.text.lines().filter(|line| line.starts_with("$ ")) {
                    report(block.line, line, "stands in no console block");
                }
            }
        }
    }
    for Step { line, command, .. } in steps(&document.text) {
        if !is_replayed && !is_elsewhere(&document.name, &command) {
            report(line, &command, "is not replayed");
        }
    }
    for (line, text) in document.indented() {
        let is_shown = text.starts_with("$ ") || is_command(text) && !text.contains("  ");
        if is_shown && !is_elsewhere(&document.name, text) {
            report(line, text, "is set in, and not run");
        }
    }
    left
}

#[test]
fn every_command_in_a_block_is_run() {
    let left: Vec<String> = documents().iter().flat_map(left_out).collect();
    assert!(left.is_empty(), "{}", left.join("\n"));
}

#[test]
fn a_command_that_nothing_runs_is_found() {
    let found = |text: &str| {
        let document = Document { name: "docs/new.md".to_owned(), text: text.to_owned() };
        left_out(&document).len()
    };
    assert_eq!(found("```console\n$ true\n```\n"), 1);
    assert_eq!(found("```sh\ntrue\n```\n"), 1);
    assert_eq!(found("```\n$ true\n```\n"), 1);
    assert_eq!(found("    $ true\n"), 1);
    assert_eq!(found("    openclaw-guard policy show\n"), 1);
    assert_eq!(found("```json\n{}\n```\nno command\n"), 0);
}

#[test]
fn commands_run_elsewhere_are_in_the_file_named() {
    for Elsewhere { document: name, command, file, there } in ELSEWHERE {
        let named = |document: &Document| {
            (name.is_empty() || document.name == *name) && document.text.contains(command)
        };
        assert!(documents().iter().any(named), "{name:?} has no longer {command:?}");
        // Where a command is said to be one of another project, its words say so in the file.
        if command.starts_with("make ") && !there.contains(command) {
            assert!(is_made(&command.split_whitespace().collect::<Vec<_>>()), "there is no {command}");
        }
        let path = sources().join("..").join(file);
        // The copy of the repository for another user does not have its own script.
        if *file == ".ci/run" && !path.exists() {
            continue;
        }
        // This file contains the text anyway, in its table.
        assert!(!file.ends_with("commands.rs"), "{file}");
        let runs = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(runs.contains(there), "{file} has no longer {there:?}, of {name}: {command:?}");
    }
}

/// Returns whether a word is a placeholder: `ID`, `CMD`, `PATTERN…`, `/home/u/…`.
fn stands_for_others(word: &str) -> bool {
    let letters = word.trim_matches(['[', ']', '\'', '"', '.']);
    word.contains('…')
        || !letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Returns whether a command that is run has these words in a row.
fn has(command: &[&str], words: &[&str]) -> bool {
    command
        .windows(words.len())
        .any(|window| window.iter().zip(words).all(|(one, other)| one == other || stands_for_others(other)))
}

/// Returns whether the Makefile has this target and accepts what it is given.
fn is_made(words: &[&str]) -> bool {
    let words = words.iter().map(|word| word.trim_matches('\'')).filter(|word| !word.contains('…'));
    let dry = ended(Command::new("make").args(["-n", "-C"]).arg(sources().join("..")).args(words.skip(1)));
    dry.status == 0
}

#[test]
fn every_command_in_a_sentence_is_run_somewhere() {
    let all = documents();
    let mut run: Vec<String> =
        all.iter().flat_map(|document| steps(&document.text)).map(|step| step.command).collect();
    let scripts = all.iter().flat_map(Document::blocks).filter(|block| block.language == "sh");
    run.extend(scripts.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()));
    let run: Vec<Vec<&str>> = run.iter().map(|command| command.split_whitespace().collect()).collect();
    let mut targets = HashSet::new();
    let mut left = Vec::new();
    for document in &all {
        for (line, text) in document.inline().into_iter().filter(|(_, text)| is_command(text)) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let is_run = run.iter().any(|command| has(command, &words))
                || is_elsewhere(&document.name, &text)
                || words[0] == "make" && (targets.contains(&text) || is_made(&words));
            if words[0] == "make" && is_run {
                targets.insert(text.clone());
            }
            if !is_run {
                left.push(format!("{}:{line}: {text}", document.name));
            }
        }
    }
    assert!(left.is_empty(), "nothing runs\n{}", left.join("\n"));
}
