//! Transcripts in documents, and the shell that runs them again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use snapbox::IntoData;

use crate::{Ended, ended};

/// A command of a transcript, with its documented output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its line in the document.
    pub line: usize,
    /// The command as typed, without the prompt.
    pub command: String,
    /// The output on both streams. `...` matches any number of lines, `[..]` anything within a line.
    pub output: String,
}

impl Step {
    /// Compares what a command printed with its documented output. Some things may differ from run to run:
    /// times, ids, hashes, and the process numbers of who asks.
    ///
    /// # Errors
    /// Returns the differences.
    pub fn compare(&self, output: &Ended) -> Result<(), String> {
        let (output, expected) = (unchanging(&output.stdout), unchanging(&self.output));
        let compare = |output: String, expected: String| {
            let assert = snapbox::Assert::new().normalize_paths(false);
            assert.try_eq(None, output.into_data(), expected.into_data())
        };
        let compared = compare(output.clone(), expected.clone())
            .or_else(|error| compare(apart(&output), apart(&expected)).map_err(|_| error));
        compared.map_err(|error| format!("line {}: {}\n{error}", self.line, self.command))
    }
}

/// Returns the commands of a document's `console` blocks: `$ ` begins one, `> ` continues it. Includes those
/// in the document's comments: preparations that are not worth reading.
#[must_use]
pub fn steps(markdown: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut fenced, mut inside) = (false, false);
    for (number, text) in markdown.lines().enumerate() {
        if text.starts_with("```") {
            fenced = !fenced;
            inside = fenced && text == "```console";
        } else if !fenced && (text == "<!--" || text == "-->") {
            inside = text == "<!--";
        } else if !inside {
        } else if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step { line: number + 1, command: command.to_owned(), output: String::new() });
        } else if let Some(step) = steps.last_mut() {
            match text.strip_prefix("> ").filter(|_| step.output.is_empty()) {
                Some(more) => step.command += &format!("\n{more}"),
                None => step.output += &format!("{text}\n"),
            }
        }
    }
    steps
}

/// Returns the commands of one part of the document: what is under `## TITLE`.
///
/// # Panics
/// When it has no such part.
#[must_use]
pub fn steps_under(markdown: &str, title: &str) -> Vec<Step> {
    let headings = markdown.lines().enumerate().filter(|(_, line)| line.starts_with("## "));
    let mut after = headings.skip_while(|(_, line)| line[3..] != *title).map(|(number, _)| number + 1);
    let first = after.next().unwrap_or_else(|| panic!("nothing is called {title:?}"));
    let end = after.next().unwrap_or(usize::MAX);
    steps(markdown).into_iter().filter(|step| (first..end).contains(&step.line)).collect()
}

/// A shell with a home of its own. Each command continues where the previous one left it.
#[derive(Debug)]
pub struct Shell {
    home: PathBuf,
    cwd: PathBuf,
    variables: Vec<(String, String)>,
    /// Names here, and the names that documents use for the same things.
    names: Vec<(String, String)>,
    /// Ids that were printed here, and the ids that documents have in their place.
    ids: Vec<(String, String)>,
}

impl Shell {
    /// Returns a shell in this home, a real path, with only these variables.
    #[must_use]
    pub fn new(home: &Path, variables: &[(&str, &str)]) -> Shell {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut shell = Shell {
            home: home.to_owned(),
            cwd: home.to_owned(),
            variables: variables.iter().map(own).collect(),
            names: Vec::new(),
            ids: Vec::new(),
        };
        shell.call(home.to_str().expect("a plain path"), "/home/u");
        shell
    }

    /// Sets the name that documents use for something named `here`.
    pub fn call(&mut self, here: &str, there: &str) {
        self.names.push((here.to_owned(), there.to_owned()));
    }

    /// Runs a command line. Its `stdout` has both streams, with the home written as `/home/u`.
    ///
    /// # Panics
    /// When there is no bash.
    pub fn run(&mut self, command: &str) -> Ended {
        const SCRIPT: &str = r#"trap 'pwd >"$2"' EXIT; exec 2>&1; eval "$1""#;
        let left = tempfile::NamedTempFile::new().expect("a file");
        let mut bash = Command::new("bash");
        bash.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        bash.env("HOME", &self.home).current_dir(&self.cwd).stdin(Stdio::null());
        let mut ended = ended(bash.args(["-c", SCRIPT, "bash", command]).arg(left.path()));
        let cwd = std::fs::read_to_string(left.path()).expect("a directory's name");
        if !cwd.is_empty() {
            self.cwd = cwd.trim_end().into();
        }
        for (here, there) in &self.names {
            ended.stdout = ended.stdout.replace(here, there);
        }
        ended
    }

    /// Runs a step and compares its output. If a later command contains a documented id, or the beginning of
    /// one, it gets the id that was printed here.
    ///
    /// # Errors
    /// Returns the differences from the documented output.
    pub fn replay(&mut self, step: &Step) -> Result<(), String> {
        let mut command = self.meant(&step.command);
        // Skips the home: commands write `~`.
        for (here, there) in self.names.iter().skip(1) {
            command = command.replace(there, here);
        }
        let output = self.run(&command);
        for there in step.output.lines() {
            let here = output.stdout.lines().find(|here| unchanging(here) == unchanging(there));
            for (here, there) in here.into_iter().flat_map(|here| ids(here).zip(ids(there))) {
                self.ids.push((here.to_owned(), there.to_owned()));
            }
        }
        step.compare(&output)
    }

    /// Returns the command with the ids that were printed here in place of the document's, which may be
    /// shortened.
    fn meant(&self, command: &str) -> String {
        let id = |found: &Captures<'_>| {
            let there = &found[0];
            let known = self
                .ids
                .iter()
                .rev()
                .find(|(here, known)| known.starts_with(there) && here.is_char_boundary(there.len()));
            known.map_or_else(|| there.to_owned(), |(here, _)| here[..there.len()].to_owned())
        };
        BEGINNING.replace_all(command, id).into_owned()
    }
}

/// Matches an id, a hash, or the first digits of one.
static ID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8,64}\b"));
/// Matches what may be the beginning of an id.
static BEGINNING: LazyLock<Regex> = LazyLock::new(|| regex(r"\b[0-9a-f][0-9a-f-]{3,63}\b"));
static TIME: LazyLock<Regex> = LazyLock::new(|| regex(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z"));
/// Matches the time left to answer.
static LEFT: LazyLock<Regex> = LazyLock::new(|| regex(r"\d+ s left"));
/// Matches the line about who asks, which contains process numbers.
static ASKED_BY: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^(\s*(?:asked by|command) .*)$"));
/// The directories of programs differ from machine to machine.
static PATH: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^(\s*with\s+PATH=).*$"));
static DIGITS: LazyLock<Regex> = LazyLock::new(|| regex(r"\d+"));

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("an expression")
}

/// Returns the ids in a text. A word of only letters is not an id.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    ID.find_iter(text).map(|id| id.as_str()).filter(|id| id.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Replaces everything in the text that differs from run to run.
fn unchanging(text: &str) -> String {
    let text = TIME.replace_all(text, "TIME");
    let text = LEFT.replace_all(&text, "N s left");
    let text = PATH.replace_all(&text, "${1}DIRECTORIES");
    let text =
        ASKED_BY.replace_all(&text, |line: &Captures<'_>| DIGITS.replace_all(&line[1], "N").into_owned());
    let is_id = |found: &Captures<'_>| {
        let word = &found[0];
        if word.bytes().any(|byte| byte.is_ascii_digit()) { "ID".to_owned() } else { word.to_owned() }
    };
    ID.replace_all(&text, is_id).into_owned()
}

/// Puts the command's own lines first, then the guard's. A thread of the guard writes its lines, and the
/// command does not wait for that.
fn apart(text: &str) -> String {
    let (guards, own): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("openclaw-guard: "));
    own.into_iter().chain(guards).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_console_blocks_are_commands() {
        let text = "$ no\n```sh\n$ no\n```\n```console\n$ a b\n> c\nd\n> e\n$ f\n```\n```\n$ no\n```\n<!--\n$ g\n-->\n$ no\n";
        let step = |line, command: &str, output: &str| Step {
            line,
            command: command.to_owned(),
            output: output.to_owned(),
        };
        assert_eq!(steps(text), [step(6, "a b\nc", "d\n> e\n"), step(10, "f", ""), step(16, "g", "")]);
    }

    #[test]
    fn a_part_ends_where_the_next_begins() {
        let text = "## A\n```console\n$ a\n```\n### A A\n```console\n$ aa\n```\n## B\n```console\n$ b\n```\n";
        let under = |title| steps_under(text, title).into_iter().map(|step| step.command).collect::<Vec<_>>();
        assert_eq!((under("A"), under("B")), (vec!["a".to_owned(), "aa".to_owned()], vec!["b".to_owned()]));
    }

    #[test]
    fn a_shell_goes_on_where_it_was() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path().canonicalize().expect("a real path");
        let mut shell = Shell::new(&home, &[("PATH", "/usr/bin:/bin")]);
        assert_eq!(shell.run("mkdir d && cd d && pwd").stdout, "/home/u/d\n");
        assert_eq!(shell.run("pwd; echo two >&2; false").stdout, "/home/u/d\ntwo\n");
        let step = |command: &str, output: &str| Step {
            line: 1,
            command: command.to_owned(),
            output: output.to_owned(),
        };
        assert_eq!(shell.replay(&step("seq 9; echo abc", "1\n...\n9\na[..]c\n")), Ok(()));
        assert!(shell.replay(&step("seq 9", "1\n2\n")).is_err());
        assert!(shell.replay(&step("echo b", "a\n")).is_err());
    }

    #[test]
    fn values_that_differ_between_runs_are_ignored() {
        let home = tempfile::tempdir().expect("a directory");
        let home = home.path().canonicalize().expect("a real path");
        let mut shell = Shell::new(&home, &[("PATH", "/usr/bin:/bin")]);
        shell.call("localhost:7", "localhost:4318");
        let step = |command: &str, output: &str| Step {
            line: 1,
            command: command.to_owned(),
            output: output.to_owned(),
        };
        let printed = "echo '2026-01-02 03:04:05Z, line 0f3e5d7a'; echo 'asked by sh 7 < sh 12'";
        let known = "2025-11-22 02:48:11Z, line 3f9a2c01\nasked by sh 3 < sh 400\n";
        assert_eq!(shell.replay(&step(printed, known)), Ok(()));
        assert_eq!(shell.replay(&step("echo 3f9a 3f9a2c01 > id; cat id | cut -c1-4", "0f3e\n")), Ok(()));
        assert_eq!(shell.run("cat id").stdout, "0f3e 0f3e5d7a\n");
        assert_eq!(shell.replay(&step("echo localhost:4318 | tee to", "localhost:4318\n")), Ok(()));
        assert_eq!(shell.run("cut -c11- to").stdout, "7\n");
        assert!(shell.replay(&step("echo 'asked by sh 7'", "asked by bash 7\n")).is_err());
        assert!(shell.replay(&step("echo 1204 lines", "1205 lines\n")).is_err());
        let (guards, own) = ("openclaw-guard: denied", "cat: refused");
        let both = format!("echo '{own}'; echo '{guards}'");
        assert_eq!(shell.replay(&step(&both, &format!("{guards}\n{own}\n"))), Ok(()));
        assert!(shell.replay(&step(&both, &format!("{own}\n"))).is_err());
    }
}
