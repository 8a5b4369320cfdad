//! The programs of a command that run files, and the files that they run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use guard_policy::analysis::script_operands;

use super::looking_programs::{is_option, name_of};
use super::mentioned_scripts::plain;
use super::shell_commands::HOLE;

/// How many programs of one command are looked at.
const MAX_PROGRAMS: usize = 4;
/// The ends that node, bun and the like add to a name, or to `index` in a directory.
const OF_NODE: [&str; 8] = ["js", "mjs", "cjs", "ts", "tsx", "mts", "cts", "jsx"];
const NODES: [&str; 8] = ["node", "nodejs", "bun", "deno", "tsx", "ts-node", "vite-node", "nodemon"];
/// The largest `package.json` that is read.
const MAX_PACKAGE: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Node,
    Python,
    /// It runs a directory as a whole (`go run ./cmd/x`).
    Directory,
    Other,
}

/// A program that runs files, with its arguments.
#[derive(Debug)]
pub struct ProgramOfWords<'w> {
    words: &'w [String],
    language: Language,
}

/// Returns the programs among the words of a command: the one at `first`, and interpreters before and after it.
pub fn programs_in(words: &[String], first: usize) -> impl Iterator<Item = ProgramOfWords<'_>> {
    let is_program = move |at: &usize| *at == first || language(&words[*at..]) != Language::Other;
    let program = |at: usize| ProgramOfWords { words: &words[at..], language: language(&words[at..]) };
    (0..words.len()).filter(is_program).take(MAX_PROGRAMS).map(program)
}

fn language(words: &[String]) -> Language {
    let name = words.first().map(|word| name_of(word)).unwrap_or_default();
    let next = words.get(1).map(String::as_str);
    match name {
        _ if name.starts_with("python") || name.starts_with("pypy") => {
            if name.contains('.') && !name.ends_with(|letter: char| letter.is_ascii_digit()) {
                return Language::Other;
            }
            Language::Python
        }
        "go" | "dotnet" if next == Some("run") => Language::Directory,
        _ if NODES.contains(&name) => Language::Node,
        _ => Language::Other,
    }
}

impl ProgramOfWords<'_> {
    /// The files that it runs, even if they are missing.
    pub fn files(&self, bases: &[PathBuf]) -> Vec<String> {
        let argv: Vec<Vec<u8>> = self.words.iter().map(|word| word.clone().into_bytes()).collect();
        let name = self.words.first().map(|word| name_of(word)).unwrap_or_default();
        if name.is_empty() || name.contains(HOLE) {
            return Vec::new();
        }
        let operands = script_operands(format!("/usr/bin/{name}").as_bytes(), &argv);
        let script = operands.script_path(&argv);
        let of_module = operands.module.iter().flat_map(|module| files_of_module(module));
        let mut files: Vec<String> = script
            .into_iter()
            .chain(operands.others)
            .filter(|file| !file.starts_with(b"-"))
            .filter_map(|file| String::from_utf8(file).ok())
            .collect();
        files.extend(of_module);
        if matches!(name, "." | "source") {
            files.extend(self.words.get(1).cloned());
        }
        let script = self.script();
        files.extend(script.into_iter().flat_map(|script| self.files_of(script, bases)));
        files
    }

    /// The directories that it runs as a whole.
    pub fn directories(&self, bases: &[PathBuf]) -> Vec<PathBuf> {
        if self.language != Language::Directory {
            return Vec::new();
        }
        let directories = self.words.iter().skip(2).filter(|word| !is_option(word) && !word.contains(HOLE));
        let places = directories.flat_map(|word| bases.iter().map(move |base| (base, base.join(word))));
        // A directory around the project holds the work, so it does not count.
        places
            .filter(|(base, place)| place.is_dir() && !base.starts_with(plain(place)))
            .map(|(_, place)| place.join(""))
            .collect()
    }

    /// The first word after an interpreter that is not an option.
    fn script(&self) -> Option<&str> {
        if matches!(self.language, Language::Other | Language::Directory) {
            return None;
        }
        let mut words = self.words.iter().skip(1).filter(|word| !is_option(word) && *word != "run");
        let is_module = self.words.iter().any(|word| word == "-m");
        let has_commands = self.words.first().is_some_and(|word| matches!(name_of(word), "bun" | "deno"));
        // `bun install` names no script.
        let is_script = |word: &&str| !has_commands || word.contains(['/', '.']);
        let script = words.next().map(String::as_str).filter(is_script);
        script.filter(|word| !is_module && !word.contains(char::is_whitespace))
    }

    /// Returns the files that a script's name may stand for: the name may be that of a directory, or lack its end.
    fn files_of(&self, script: &str, bases: &[PathBuf]) -> Vec<String> {
        let below = |name: &str| format!("{}/{name}", script.trim_end_matches('/'));
        if self.language == Language::Python {
            let is_directory = !script.ends_with(".py");
            return if is_directory {
                vec![script.to_owned(), below("__main__.py")]
            } else {
                vec![script.to_owned()]
            };
        }
        let mut files = vec![script.to_owned()];
        let is_plain =
            Path::new(script).extension().is_some_and(|end| OF_NODE.map(OsStr::new).contains(&end));
        if is_plain {
            return files;
        }
        files.extend(OF_NODE.iter().map(|end| below(&format!("index.{end}"))));
        if !script.trim_matches(['.', '/']).is_empty() {
            files.extend(OF_NODE.iter().map(|end| format!("{script}.{end}")));
        }
        files.extend(bases.iter().filter_map(|base| main_of(&base.join(script))).map(|main| below(&main)));
        files
    }
}

fn files_of_module(module: &str) -> Vec<String> {
    let path = module.replace('.', "/");
    let mut files = vec![format!("{path}.py"), format!("{path}/__main__.py"), format!("{path}/__init__.py")];
    let packages = path.match_indices('/').map(|(at, _)| format!("{}/__init__.py", &path[..at]));
    files.extend(packages);
    files
}

/// Returns the program that the `package.json` of a directory names.
fn main_of(directory: &Path) -> Option<String> {
    let text = guard_openclaw::plain_file::read_at_most(&directory.join("package.json"), MAX_PACKAGE).ok()?;
    let package: serde_json::Value = serde_json::from_slice(&text).ok()?;
    package.get("main")?.as_str().map(str::to_owned)
}
