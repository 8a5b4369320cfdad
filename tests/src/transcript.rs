//! Transcripts in documents, and the shell in which they are run again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use snapbox::IntoData;

use crate::{Ended, ended};

/// A command of a transcript, with what it is said to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line in the document.
    pub line: usize,
    /// As it is typed, without the prompt.
    pub command: String,
    /// What comes, on both streams. `...` is any number of lines, `[..]` is anything in a line.
    pub output: String,
}

/// The commands of a document's `console` blocks: `$ ` begins one, `> ` goes on with it.
#[must_use]
pub fn steps(markdown: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, text) in markdown.lines().enumerate() {
        if text.starts_with("```") {
            inside = text == "```console";
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

/// A shell with a home of its own, which goes on where the last command left it.
#[derive(Debug)]
pub struct Shell {
    home: PathBuf,
    cwd: PathBuf,
    variables: Vec<(String, String)>,
}

impl Shell {
    /// In this home, a real path, with these variables and no others.
    #[must_use]
    pub fn new(home: &Path, variables: &[(&str, &str)]) -> Shell {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Shell { home: home.to_owned(), cwd: home.to_owned(), variables: variables.iter().map(own).collect() }
    }

    /// Runs a command line. Both streams are its `stdout`, in which the home is `/home/u`.
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
        ended.stdout = ended.stdout.replace(self.home.to_str().expect("a plain path"), "/home/u");
        ended
    }

    /// Runs a step.
    ///
    /// # Errors
    /// What differs from what it is said to print.
    pub fn replay(&mut self, step: &Step) -> Result<(), String> {
        let said = self.run(&step.command);
        let compared =
            snapbox::Assert::new().try_eq(None, said.stdout.into_data(), (&step.output).into_data());
        compared.map_err(|error| format!("line {}: {}\n{error}", step.line, step.command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_console_blocks_are_commands() {
        let text = "$ no\n```sh\n$ no\n```\n```console\n$ a b\n> c\nd\n> e\n$ f\n```\n```\n$ no\n```\n";
        let step = |line, command: &str, output: &str| Step {
            line,
            command: command.to_owned(),
            output: output.to_owned(),
        };
        assert_eq!(steps(text), [step(6, "a b\nc", "d\n> e\n"), step(10, "f", "")]);
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
}
