//! The scripts that a command in an agent's settings runs: a text of shell.

use std::path::{Path, PathBuf};

use guard_policy::analysis::script_operands;

use super::command_keys::NamedCommand;
use super::mentioned_scripts::{self, without_substitutions};
use super::shell_words::{BEFORE, is_assignment};

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
const HOME: [&str; 4] = ["${HOME}", "$HOME", "${env:HOME}", "${userHome}"];
/// How deep a text in a text is read (`bash -c "sh -c …"`).
const MAX_DEPTH: usize = 4;

/// Returns the files of the home or the project that a command has run: its programs and the scripts of interpreters, also
/// where they are missing, and each further word that names a script. Other files that a command reads or writes are none.
pub fn scripts(command: &NamedCommand, home: &Path, project: &Path) -> Vec<PathBuf> {
    let mut reader = CommandReader { home, project, directories: Vec::new(), found: Vec::new() };
    let words = match command {
        NamedCommand::Text(text) => {
            let text = with_places(text);
            reader.read(&text, 0);
            // A substitution before a path most often stands for the project.
            reader.read(&without_substitutions(&text).0, 0);
            text
        }
        NamedCommand::Argv(words) => {
            let words: Vec<String> =
                words.iter().map(|word| without_substitutions(&with_places(word)).0).collect();
            reader.command(&words, 0);
            words.join(" ")
        }
        NamedCommand::Words(text) | NamedCommand::Loaded(text) | NamedCommand::Place(text) => {
            with_places(text)
        }
    };
    let directories = std::mem::take(&mut reader.directories);
    let around = [project.to_owned()].into_iter().chain(directories).collect::<Vec<_>>();
    let named = mentioned_scripts::in_text(&words, home, &around);
    let is_meant = |path: &PathBuf| match command {
        NamedCommand::Loaded(_) => path.is_file(),
        // A directory around the project holds the work, and so may one that a home names.
        NamedCommand::Place(_) => path.exists() && project != home && !project.starts_with(path),
        _ => mentioned_scripts::is_script(path),
    };
    let named = named.into_iter().filter(|path| reader.is_of_user(path) && is_meant(path));
    // With a slash at its end, a directory stands for what is in it.
    let whole = |path: PathBuf| if path.is_dir() { path.join("") } else { path };
    let named: Vec<_> = named.map(whole).collect();
    let mut found = [reader.found, named].concat();
    found.sort();
    found.dedup();
    found
}

fn with_places(text: &str) -> String {
    let text = PROJECT.iter().fold(text.to_owned(), |text, name| text.replace(name, "."));
    HOME.iter().fold(text, |text, name| text.replace(name, "~"))
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
        if word.is_empty() || word.contains(['*', '$']) {
            return;
        }
        let first = match word.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.project.join(word),
        };
        // What is not there yet may come where the project is.
        let others =
            self.directories.iter().map(|directory| directory.join(word)).filter(|path| path.exists());
        let places = [first].into_iter().chain(others);
        let found: Vec<_> = places.filter(|path| self.is_of_user(path) && !path.is_dir()).collect();
        self.found.extend(found);
    }

    fn is_of_user(&self, path: &Path) -> bool {
        path.starts_with(self.home) || path.starts_with(self.project)
    }
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
        scripts(&NamedCommand::Text(text.to_owned()), home, project).into_iter().map(name).collect()
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
        let command = NamedCommand::Text("cd tools && ./x.py".to_owned());
        let in_tools = scripts(&command, project.path(), project.path());
        assert!(in_tools.contains(&project.path().join("tools/x.py")));
        assert_eq!(found("~/bin/x; $HOME/y"), ["/nowhere/u/bin/x", "/nowhere/u/y"]);
    }

    /// The files that a command has run in a project with some files.
    fn found_of(command: &NamedCommand) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path();
        for name in ["tools", "src", "logs", "plugins/p"] {
            std::fs::create_dir_all(project.join(name)).unwrap();
        }
        for name in ["tools/x.sh", "root.js", "src/main.ts", "logs/x.log", "notes.md", "plugins/p/hooks.json"]
        {
            std::fs::write(project.join(name), "").unwrap();
        }
        let name =
            |path: PathBuf| path.strip_prefix(project).unwrap().display().to_string().replace("./", "");
        let mut found: Vec<_> =
            scripts(command, Path::new("/nowhere"), project).into_iter().map(name).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn a_word_that_names_a_script_is_one_in_each_spelling() {
        for text in [
            "npx tsx tools/x.sh",
            "uv run --script ./tools/x.sh",
            "poetry run python tools/x.sh",
            "sudo -u me tools/x.sh",
            "flock -n /tmp/l -c tools/x.sh",
            "nix develop -c tools/x.sh",
            "\"$(git rev-parse --show-toplevel 2>/dev/null)\"/tools/x.sh",
            "ROOT=$(git rev-parse --show-toplevel); \"$ROOT/tools/x.sh\"",
            "D=\"$CLAUDE_PROJECT_DIR\"; bash $D/tools/x.sh",
            "\"${CLAUDE_PROJECT_DIR:-$(pwd)}\"/tools/x.sh",
            "${CLAUDE_PROJECT_DIR:?}/tools/x.sh",
            "cd \"$(git rev-parse --show-toplevel)/tools\" && bash x.sh",
            "sh < tools/x.sh",
            "cat tools/x.sh | sh",
            "eval \"$(cat tools/x.sh)\"",
            "for f in tools/x.sh; do bash $f; done",
            "trap 'tools/x.sh' EXIT",
            "python3 -c \"exec(open('tools/x.sh').read())\"",
            "docker run -v ./tools/x.sh:/x y",
        ] {
            let found = found_of(&NamedCommand::Text(text.to_owned()));
            assert!(found.contains(&"tools/x.sh".to_owned()), "{text}: {found:?}");
        }
        let argv = |words: &[&str]| {
            found_of(&NamedCommand::Argv(words.iter().map(|&word| word.to_owned()).collect()))
        };
        assert_eq!(argv(&["node", "root.js"]), ["root.js"]);
        assert_eq!(argv(&["bash", "-c", "tools/x.sh"]), ["tools/x.sh"]);
        assert_eq!(argv(&["node", "${workspaceFolder}/tools/new"]), ["tools/new"], "it is not there yet");
        assert_eq!(found_of(&NamedCommand::Loaded("-r ./notes.md".to_owned())), ["notes.md"]);
        assert_eq!(found_of(&NamedCommand::Place("./plugins".to_owned())), ["plugins"]);
        assert_eq!(found_of(&NamedCommand::Place("./".to_owned())), [""; 0]);
    }

    #[test]
    fn what_is_checked_or_written_or_is_data_is_no_script() {
        for text in [
            "npx prettier --check src/main.ts",
            "tsc --noEmit src/main.ts && eslint src/main.ts",
            "echo x >> logs/x.log",
            "date > src/main.ts",
            "date | tee -a src/main.ts",
            "cat notes.md",
            "jq . < plugins/p/hooks.json",
            "ls src tools",
        ] {
            assert_eq!(found_of(&NamedCommand::Text(text.to_owned())), [""; 0], "{text}");
        }
        assert_eq!(found_of(&NamedCommand::Words("plugins/p/hooks.json".to_owned())), [""; 0]);
        assert_eq!(found_of(&NamedCommand::Words("src".to_owned())), [""; 0]);
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
