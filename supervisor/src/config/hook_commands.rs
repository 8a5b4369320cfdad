//! The scripts that a command in an agent's settings runs: a text of shell.

use std::path::{Path, PathBuf};

use guard_policy::analysis::script_operands;

/// What stands for the project's directory. Hooks start there, too.
const PROJECT: [&str; 10] = [
    "${CLAUDE_PROJECT_DIR:-.}",
    "${CLAUDE_PROJECT_DIR}",
    "$CLAUDE_PROJECT_DIR",
    "${GEMINI_PROJECT_DIR}",
    "$GEMINI_PROJECT_DIR",
    "${PWD}",
    "$PWD",
    "$(git rev-parse --show-toplevel)",
    "`git rev-parse --show-toplevel`",
    "$(pwd)",
];
/// What stands for the home.
const HOME: [&str; 2] = ["${HOME}", "$HOME"];
/// Words that stand before a command, of the shell and of programs that start another one.
const BEFORE: [&str; 23] = [
    "!", "{", "if", "then", "else", "elif", "do", "while", "until", "time", "exec", "command", "builtin",
    "env", "nohup", "nice", "ionice", "setsid", "stdbuf", "sudo", "timeout", "xargs", "doas",
];
/// How deep a text in a text is read (`bash -c "sh -c …"`).
const MAX_DEPTH: usize = 4;

/// Returns the files of the home or the project that a text has run: its programs, and the scripts of interpreters. What a
/// command reads or writes is not one.
pub fn scripts(text: &str, home: &Path, project: &Path) -> Vec<PathBuf> {
    let mut text = text.to_owned();
    for name in PROJECT {
        text = text.replace(name, ".");
    }
    for name in HOME {
        text = text.replace(name, "~");
    }
    let mut reader = CommandReader { home, project, directories: Vec::new(), found: Vec::new() };
    reader.read(&text, 0);
    reader.found
}

struct CommandReader<'p> {
    home: &'p Path,
    project: &'p Path,
    /// Where `cd` has gone.
    directories: Vec<PathBuf>,
    found: Vec<PathBuf>,
}

impl CommandReader<'_> {
    fn read(&mut self, text: &str, depth: usize) {
        for words in commands(text) {
            self.command(&words, depth);
        }
    }

    fn command(&mut self, words: &[String], depth: usize) {
        let mut words = words;
        let name = loop {
            let Some((first, rest)) = words.split_first() else { return };
            let name = first.rsplit('/').next().unwrap_or_default();
            if BEFORE.contains(&name) {
                let is_option = |word: &String| {
                    word.starts_with(['-', '+']) || word.starts_with(|c: char| c.is_ascii_digit())
                };
                words = &rest[rest.iter().take_while(|word| is_option(word)).count()..];
            } else if is_assignment(first) {
                words = rest;
            } else {
                break name;
            }
        };
        let (first, rest) = (&words[0], &words[1..]);
        match name {
            "cd" | "pushd" => self.directories.extend(rest.first().map(|to| self.project.join(to))),
            "." | "source" => rest.iter().take(1).for_each(|file| self.add(file)),
            _ if first.contains('/') => self.add(first),
            _ => {}
        }
        let argv: Vec<Vec<u8>> = words.iter().map(|word| word.clone().into_bytes()).collect();
        let program = format!("/usr/bin/{name}").into_bytes();
        let operands = script_operands(&program, &argv);
        let script = operands.script_path(&argv);
        let files = script.into_iter().chain(operands.others).filter_map(|file| String::from_utf8(file).ok());
        files.for_each(|file| self.add(&file));
        // `bash -c TEXT`, `env -S TEXT`, and what a program of the project's may do with its arguments.
        let texts = rest.iter().filter(|word| word.contains(char::is_whitespace));
        texts.filter(|_| depth < MAX_DEPTH).for_each(|text| self.read(text, depth + 1));
    }

    fn add(&mut self, word: &str) {
        if word.is_empty() || word.contains('*') {
            return;
        }
        let first = match word.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.project.join(word),
        };
        // What is not there yet may come where the project is.
        let others =
            self.directories.iter().map(|directory| directory.join(word)).filter(|path| path.exists());
        let is_of_user = |path: &PathBuf| path.starts_with(self.home) || path.starts_with(self.project);
        let places = [first].into_iter().chain(others);
        self.found.extend(places.filter(|path| is_of_user(path) && !path.is_dir()));
    }
}

fn is_assignment(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// Splits a text into the words of its commands, without the targets of redirections. Substitutions are commands, too.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut split = Split::default();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (split.quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => split.quote = None,
            (Some('\''), _) => split.push(letter),
            (_, '\\') => letters.next().into_iter().for_each(|letter| split.push(letter)),
            (_, '$') if letters.peek() == Some(&'(') => {
                letters.next();
                split.end_command();
                split.around.push(split.quote.take());
            }
            (_, '`') => {
                split.end_command();
                split.quote = None;
            }
            (Some(_), _) => split.push(letter),
            (None, '\'' | '"') => split.open(letter),
            (None, ')') => {
                split.end_command();
                split.quote = split.around.pop().flatten();
            }
            (None, '\n' | ';' | '|' | '(') => split.end_command(),
            (None, '&') if split.is_redirected && split.word.is_none() => {}
            (None, '&') => split.end_command(),
            (None, '>' | '<') => {
                // `2>` names a descriptor.
                if split.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
                    split.word = None;
                }
                split.end_word();
                split.is_redirected = true;
            }
            (None, blank) if blank.is_whitespace() => split.end_word(),
            (None, _) => split.push(letter),
        }
    }
    split.end_command();
    split.commands
}

#[derive(Default)]
struct Split {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    quote: Option<char>,
    /// The quotes around each substitution.
    around: Vec<Option<char>>,
    /// Whether the next word is the target of a redirection.
    is_redirected: bool,
}

impl Split {
    fn push(&mut self, letter: char) {
        self.word.get_or_insert_default().push(letter);
    }

    fn open(&mut self, quote: char) {
        self.word.get_or_insert_default();
        self.quote = Some(quote);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.is_redirected) {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_redirected = false;
        self.commands.push(std::mem::take(&mut self.words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let (home, project) = (Path::new("/nowhere/u"), Path::new("/nowhere/u/p"));
        let name = |path: PathBuf| {
            path.strip_prefix(project).unwrap_or(&path).display().to_string().replace("./", "")
        };
        scripts(text, home, project).into_iter().map(name).collect()
    }

    #[test]
    fn the_scripts_of_a_command_are_found_in_each_spelling() {
        for text in [
            "tools/x.py",
            "./tools/x.py --check src/main.rs",
            "python3 tools/x.py src/main.rs",
            "/usr/bin/python3 -u tools/x.py",
            "/usr/bin/env python3 \"$CLAUDE_PROJECT_DIR\"/tools/x.py",
            "\"${CLAUDE_PROJECT_DIR:-.}\"/tools/x.py",
            "/bin/bash -c \"./tools/x.py\"",
            "bash -c 'true && tools/x.py'",
            "PYTHONPATH=./lib python3 tools/x.py",
            "$PWD/tools/x.py",
            "\"$(git rev-parse --show-toplevel)\"/tools/x.py",
            "(tools/x.py)",
            "echo \"$(tools/x.py)\"",
            "true\ntools/x.py",
            "timeout 5 nice -n 3 tools/x.py 2>&1 | tee log/x",
            "if true; then tools/x.py; fi",
            ". tools/x.py",
            "cat a >> b; tools/x.py",
        ] {
            assert!(found(text).contains(&"tools/x.py".to_owned()), "{text}: {:?}", found(text));
        }
        assert_eq!(found("python3 hook.py"), ["hook.py"]);
        assert_eq!(found("\"$CLAUDE_PROJECT_DIR/my hooks/x.sh\""), ["my hooks/x.sh"]);
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("tools")).unwrap();
        std::fs::write(project.path().join("tools/x.py"), "").unwrap();
        let in_tools = scripts("cd tools && ./x.py", project.path(), project.path());
        assert!(in_tools.contains(&project.path().join("tools/x.py")));
        assert_eq!(found("~/bin/x; $HOME/y"), ["/nowhere/u/bin/x", "/nowhere/u/y"]);
    }

    #[test]
    fn what_a_command_reads_or_writes_is_no_script() {
        for text in [
            "date >> logs/hook.log",
            "date | tee -a logs/hook.log",
            "touch ./logs/x",
            "echo x > \"$CLAUDE_PROJECT_DIR\"/logs/last",
            "mkdir -p logs/new",
            "prettier --check src/main.ts",
            "/usr/bin/true",
            "jq -r .x < in/data.json",
            "",
            "'",
            "$(",
            ")))",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
