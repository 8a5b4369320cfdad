//! The scripts that a command in the settings of an agent or an editor runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::looking_programs::{
    DIRECTORIES, FileUse, after_options, is_before, is_option, is_starting, name_of, use_of,
};
use super::mentioned_scripts::{self, add_all_parts, add_parts, has_end_of_script, is_script};
use super::packages;
use super::programs_of_words::programs_in;
use super::shell_commands::{HOLE, ShellCommand, commands_of, with_holes};
use super::shell_words::is_assignment;
use super::started_commands::{NamedCommand, StartedCommand};
use guard_policy::PersistenceSites;

/// The texts that stand for the project's directory.
const PROJECTS: [&str; 7] = [
    "${CLAUDE_PROJECT_DIR:-.}",
    "${CLAUDE_PROJECT_DIR}",
    "$CLAUDE_PROJECT_DIR",
    "${GEMINI_PROJECT_DIR}",
    "$GEMINI_PROJECT_DIR",
    "${workspaceFolder}",
    "${workspaceRoot}",
];
/// The texts that stand for the directory of a command: the project, or where `cd` has gone.
const HERE: [&str; 7] = [
    "${PWD}",
    "$PWD",
    "$(pwd)",
    "`pwd`",
    "$(git rev-parse --show-toplevel)",
    "`git rev-parse --show-toplevel`",
    "$(git rev-parse --show-cdup)",
];
/// The option by which a command asks git for the top of the repository.
const TOP: &str = "--show-toplevel";
/// The texts that stand for the home.
const HOME: [&str; 4] = ["${HOME}", "$HOME", "${env:HOME}", "${userHome}"];
/// How deep a text in a text is read (`bash -c "sh -c …"`).
const MAX_DEPTH: usize = 4;
/// The longest command that is read, and the most words of it that may be paths.
const MAX_COMMAND: usize = 64 << 10;
const MAX_PATHS: usize = 1024;
/// How many directories a command may start in.
const MAX_DIRECTORIES: usize = 8;
/// The directories in which the names in settings are looked for.
#[derive(Clone, Copy, Debug)]
pub struct NamePaths<'p> {
    pub home: &'p Path,
    /// The project that the settings are for. This is the home if names are looked for in the home.
    pub project: &'p Path,
    /// Directories of the user's beside the home and the project.
    pub roots: &'p [PathBuf],
}

impl NamePaths<'_> {
    fn of_word(&self, word: &str, around: &[PathBuf]) -> Vec<PathBuf> {
        mentioned_scripts::places(word, self.home, self.project, around)
    }

    /// Whether a path, as written, lies in the home, the project or a root.
    fn contain(&self, path: &Path) -> bool {
        let roots = self.roots.iter().map(PathBuf::as_path);
        [self.home, self.project].into_iter().chain(roots).any(|root| path.starts_with(root))
    }
}

/// A command is too long to be read.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

/// Returns the files of the home or the project that a command runs: its programs and the scripts of interpreters, even
/// if they are missing, and the script that any further word names. Other files that the command reads or writes are
/// left out.
///
/// # Errors
/// The command is too long.
pub fn scripts(started: &StartedCommand, places: NamePaths<'_>) -> Result<Vec<PathBuf>, TooLong> {
    if started.command.length() > MAX_COMMAND {
        return Err(TooLong);
    }
    let mut reader = CommandReader::new(places);
    if let Some(directory) = &started.directory {
        reader.enter(&with_holes(&with_places(directory)));
    }
    match &started.command {
        NamedCommand::Text(text) => {
            if text.contains(TOP) {
                reader.bases.extend(top_of(places.project));
            }
            reader.read(&with_places(text), 0);
        }
        NamedCommand::Argv(words) => {
            let words = words.iter().map(|word| with_holes(&with_places(word))).collect();
            reader.command(&ShellCommand { words, inputs: Vec::new() }, 0);
        }
        NamedCommand::Words(text) | NamedCommand::Loaded(text) | NamedCommand::Place(text) => {
            add_parts(&with_holes(&with_places(text)), &mut reader.mentioned);
        }
    }
    let count = reader.mentioned.len() + reader.passed.len() + reader.found.len();
    if count > MAX_PATHS { Err(TooLong) } else { Ok(reader.found_of(&started.command)) }
}

fn with_places(text: &str) -> String {
    if !text.contains(['$', '`']) {
        return text.to_owned();
    }
    let text = PROJECTS.iter().fold(text.to_owned(), |text, name| text.replace(name, "\u{2}"));
    HOME.iter().fold(with_directory(&text), |text, name| text.replace(name, "~"))
}

/// Writes a dot for each text that stands for the directory of a command.
pub fn with_directory(text: &str) -> String {
    HERE.iter().fold(text.to_owned(), |text, name| text.replace(name, "."))
}

/// The top of the repository around a project.
fn top_of(project: &Path) -> Option<PathBuf> {
    project.ancestors().find(|directory| directory.join(".git").exists()).map(Path::to_owned)
}

struct CommandReader<'p> {
    places: NamePaths<'p>,
    /// The directories that the command may start in. A missing file may be made later in each of them.
    bases: Vec<PathBuf>,
    /// The directory that `cd` has gone to.
    here: PathBuf,
    found: Vec<PathBuf>,
    /// Words that may name scripts.
    mentioned: BTreeSet<String>,
    /// Words that may name scripts, in commands that give the content of files to other programs.
    passed: BTreeSet<String>,
    /// Whether a program may run what another one gives it.
    runs: bool,
}

impl<'p> CommandReader<'p> {
    fn new(places: NamePaths<'p>) -> CommandReader<'p> {
        let here = places.project.to_owned();
        CommandReader {
            places,
            bases: vec![here.clone()],
            here,
            found: Vec::new(),
            mentioned: BTreeSet::new(),
            passed: BTreeSet::new(),
            runs: false,
        }
    }

    fn read(&mut self, text: &str, depth: usize) {
        let shell = commands_of(text);
        if !shell.is_understood {
            add_all_parts(text, &mut self.mentioned);
        }
        for command in &shell.commands {
            self.command(command, depth);
        }
    }

    fn command(&mut self, command: &ShellCommand, depth: usize) {
        self.directories_of(&command.words);
        let mut words = &command.words[..];
        let mut is_started = false;
        while let Some((first, rest)) = words.split_first() {
            if is_assignment(first) {
                self.assigned(first);
            } else if is_starting(name_of(first)) && !first.contains('/') {
                is_started = true;
            } else if !is_before(name_of(first), first) {
                break;
            }
            words = after_options(rest);
        }
        if let [first, rest @ ..] = words
            && matches!(first.as_str(), "cd" | "pushd")
            && let Some(to) = rest.iter().find(|word| !is_option(word))
        {
            self.enter(to);
        }
        if let Some(first) = words.first().filter(|first| first.contains('/')) {
            self.add(first);
        }
        let used = use_of(&command.words);
        if used == FileUse::Looks {
            // `tee < FILE | sh`
            command.inputs.iter().for_each(|file| add_parts(file, &mut self.passed));
            return;
        }
        let parts = if used == FileUse::Passes { &mut self.passed } else { &mut self.mentioned };
        command.words.iter().chain(&command.inputs).for_each(|word| add_parts(word, parts));
        if used == FileUse::Passes {
            return;
        }
        self.runs = true;
        for program in programs_in(&command.words, command.words.len() - words.len()) {
            program.files(&self.bases).iter().for_each(|file| self.add(file));
            program.directories(&self.bases).into_iter().for_each(|directory| self.found.push(directory));
        }
        if is_started {
            let scripts = words.iter().filter(|word| !is_option(word) && has_end_of_script(Path::new(word)));
            scripts.for_each(|word| self.add(word));
        }
        // These may be commands, too: `bash -c TEXT`, `env -S TEXT`, and an argument that a program of the project's may run.
        let is_program = usize::from(words.len() == command.words.len());
        let texts = words.iter().skip(is_program).filter(|word| word.contains(char::is_whitespace));
        texts.filter(|_| depth < MAX_DEPTH).for_each(|text| self.read(text, depth + 1));
    }

    /// Takes note of a variable. A program may be given its value later, or the value may be a directory of programs.
    fn assigned(&mut self, word: &str) {
        let (name, value) = word.split_once('=').unwrap_or_default();
        let is_code = PersistenceSites::names_of_variables().any(|variable| variable == name);
        add_parts(value, if is_code { &mut self.mentioned } else { &mut self.passed });
    }

    /// Takes note of the directories that a command names for itself, or for the commands after it.
    fn directories_of(&mut self, words: &[String]) {
        for (at, word) in words.iter().enumerate() {
            let next = || words.get(at + 1).cloned();
            let named = match word.split_once('=') {
                Some((option, value)) if DIRECTORIES.contains(&option) => Some(value.to_owned()),
                _ if DIRECTORIES.contains(&word.as_str()) => next(),
                Some(("PATH", value)) => {
                    let program =
                        words[at + 1..].iter().find(|word| !is_assignment(word) && !word.contains('/'));
                    for directory in value.split(':').filter(|directory| !directory.is_empty()) {
                        program.iter().for_each(|program| self.add(&format!("{directory}/{program}")));
                    }
                    None
                }
                _ => None,
            };
            if let Some(directory) = named {
                self.add_base(&directory);
            }
        }
    }

    /// Goes to a directory.
    fn enter(&mut self, to: &str) {
        if let Some(to) = self.add_base(to) {
            self.here = to;
        }
    }

    /// Takes note of a directory. A relative one starts where `cd` has gone.
    fn add_base(&mut self, to: &str) -> Option<PathBuf> {
        if to.contains(HOLE) || self.bases.len() >= MAX_DIRECTORIES {
            return None;
        }
        let [base] = &self.places.of_word(to, std::slice::from_ref(&self.here))[..] else {
            return None;
        };
        self.bases.push(base.clone());
        Some(base.clone())
    }

    fn add(&mut self, word: &str) {
        if word.is_empty() || word.contains(['*', HOLE]) || self.found.len() > MAX_PATHS {
            return;
        }
        let paths = self.places.of_word(word, &self.bases);
        self.found.extend(paths.into_iter().filter(|path| !path.is_dir()));
    }

    /// Returns the files that were found. Which of the mentioned names count depends on the kind of command.
    fn found_of(self, command: &NamedCommand) -> Vec<PathBuf> {
        let NamePaths { home, project, .. } = self.places;
        let is_meant = |path: &PathBuf| match command {
            // A word without a slash that is no file is the name of a package.
            NamedCommand::Loaded(text) => path.is_file() || text.contains('/') && !path.is_dir(),
            // A directory around the project holds the work, so it does not count. A directory that the settings of a
            // home name may hold the work, too.
            NamedCommand::Place(_) => path.exists() && project != home && !project.starts_with(path),
            _ => is_script(path),
        };
        let passed = self.passed.iter().filter(|_| self.runs);
        let words: BTreeSet<&String> = self.mentioned.iter().chain(passed).collect();
        let named = words.into_iter().flat_map(|word| self.places.of_word(word, &self.bases));
        let named = named.filter(|path| self.places.contain(path) && is_meant(path));
        // With a slash at its end, a directory stands for what is in it.
        let whole = |path: PathBuf| if path.is_dir() { path.join("") } else { path };
        let found = self.found.iter().filter(|path| self.places.contain(path)).cloned();
        let mut found: Vec<_> = found.chain(named.map(whole)).collect();
        found.retain(|path| !packages::contain(path, home));
        found.sort();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts_in(command: NamedCommand, home: &Path, project: &Path) -> Vec<PathBuf> {
        scripts(&StartedCommand { command, directory: None }, NamePaths { home, project, roots: &[] })
            .unwrap()
    }

    fn found(text: &str) -> Vec<String> {
        let (home, project) = (Path::new("/nowhere/u"), Path::new("/nowhere/u/p"));
        let name = |path: PathBuf| {
            path.strip_prefix(project).unwrap_or(&path).display().to_string().replace("./", "")
        };
        let command = NamedCommand::Text(text.to_owned());
        scripts_in(command, home, project).into_iter().map(name).collect()
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
        let in_tools = scripts_in(command, project.path(), project.path());
        assert!(in_tools.contains(&project.path().join("tools/x.py")));
        assert_eq!(found("~/bin/x; $HOME/y"), ["/nowhere/u/bin/x", "/nowhere/u/y"]);
    }

    /// Returns the files that a command runs in a project with some files.
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
            scripts_in(command.clone(), Path::new("/nowhere"), project).into_iter().map(name).collect();
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
            "cd -- tools && bash x.sh",
            "cd -P tools && ./x.sh",
            "command cd tools; ./x.sh",
            "if cd tools; then ./x.sh; fi",
            "{ cd tools; ./x.sh; }",
            "X=1 cd tools && ./x.sh",
            "bash \"$(realpath tools/x.sh)\"",
            "echo tools/x.sh | xargs bash",
            "bash $'tools/x.sh'",
            "git fetch --upload-pack=tools/x.sh",
        ] {
            let found = found_of(&NamedCommand::Text(text.to_owned()));
            assert!(found.contains(&"tools/x.sh".to_owned()), "{text}: {found:?}");
        }
        let argv = |words: &[&str]| {
            found_of(&NamedCommand::Argv(words.iter().map(|&word| word.to_owned()).collect()))
        };
        assert_eq!(argv(&["node", "root.js"]), ["root.js"]);
        assert_eq!(argv(&["bash", "-c", "tools/x.sh"]), ["tools/x.sh"]);
        let missing = argv(&["node", "${workspaceFolder}/tools/new"]);
        for name in ["tools/new", "tools/new.js", "tools/new/index.js"] {
            assert!(missing.contains(&name.to_owned()), "{name} is not there yet: {missing:?}");
        }
        assert_eq!(found_of(&NamedCommand::Loaded("-r ./notes.md".to_owned())), ["notes.md"]);
        assert_eq!(found_of(&NamedCommand::Place("./plugins".to_owned())), ["plugins"]);
        assert_eq!(found_of(&NamedCommand::Loaded("./tools/new".to_owned())), ["tools/new"]);
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
            "node --test src/main.ts",
            "bundle exec rspec src/main.ts",
            "uv run --group dev ruff check src/main.ts",
            "npx -p typescript tsc src/main.ts",
            "pnpm --filter web exec eslint src/main.ts",
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
