//! The words of a command that name scripts. Which program runs a script cannot be listed (`npx tsx X`, `nix develop -c X`, `sh < X`),
//! so each word counts that names a file which may be one, but for those of programs that only check or write files.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::shell_words::{BEFORE, is_assignment};

/// What the name of a script ends with.
const SCRIPTS: [&str; 24] = [
    "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "sh", "bash", "zsh", "fish", "nu", "ksh", "py",
    "rb", "pl", "lua", "php", "ps1", "exs", "jl", "r", "jar",
];
/// Programs that check, format or write the files that they are given, or tell something about them. What a checker loads with
/// its sources is the work itself.
const NOT_RUNNING: [&str; 29] = [
    "tee",
    "touch",
    "rm",
    "mkdir",
    "chmod",
    "ls",
    "stat",
    "wc",
    "grep",
    "rg",
    "diff",
    "echo",
    "printf",
    "prettier",
    "eslint",
    "biome",
    "tsc",
    "ruff",
    "black",
    "isort",
    "mypy",
    "pyright",
    "flake8",
    "rustfmt",
    "shellcheck",
    "shfmt",
    "pytest",
    "jest",
    "vitest",
];
/// Words before such a program, beside those before every command.
const STARTING: [&str; 9] = ["npx", "bunx", "uvx", "pnpm", "yarn", "uv", "poetry", "run", "dlx"];
/// How deep a substitution in a substitution is read.
const MAX_DEPTH: usize = 4;

/// Returns whether a file may be a script: by the end of its name, or because it may be executed.
pub fn is_script(path: &Path) -> bool {
    let has_end = || {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        SCRIPTS.contains(&end.to_ascii_lowercase().as_str())
    };
    path.metadata().is_ok_and(|meta| meta.is_file() && (meta.permissions().mode() & 0o111 != 0 || has_end()))
}

/// Returns the paths that the words of a command may stand for. A relative one may be in each of the directories.
pub fn in_text(text: &str, home: &Path, around: &[PathBuf]) -> Vec<PathBuf> {
    let mut words = Vec::new();
    add_words(text, &mut words, 0);
    words.sort();
    words.dedup();
    let places = |word: &String| match word.strip_prefix("~/") {
        Some(rest) => vec![home.join(rest)],
        None => around.iter().map(|directory| directory.join(word)).collect(),
    };
    // A path with `.` in it would be another text.
    let plain = |path: PathBuf| path.components().filter(|part| *part != Component::CurDir).collect();
    words.iter().flat_map(places).map(plain).collect()
}

fn add_words(text: &str, words: &mut Vec<String>, depth: usize) {
    let (text, inside) = without_substitutions(text);
    // A quote may end in the middle of a path, or separate one from other code.
    words_of(&text.replace(['"', '\''], ""), words);
    words_of(&text.replace(['"', '\''], " "), words);
    inside.iter().filter(|_| depth < MAX_DEPTH).for_each(|text| add_words(text, words, depth + 1));
}

/// Adds the words of a text without quotes, but for the targets of redirections and what programs are given that run nothing.
fn words_of(text: &str, words: &mut Vec<String>) {
    let (mut is_first, mut is_target, mut is_given) = (true, false, true);
    let is_between = |letter: char| letter.is_whitespace() || ";|&()<>{}[],=:!`\\".contains(letter);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if is_between(letter) {
            match letter {
                '\n' | ';' | '|' | '&' | '(' => (is_first, is_target, is_given) = (true, false, true),
                '>' => is_target = true,
                _ => {}
            }
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(rest.find(is_between).unwrap_or(rest.len()));
        rest = after;
        let name = word.rsplit('/').next().unwrap_or_default();
        if std::mem::take(&mut is_target) || word.starts_with('-') {
            continue;
        }
        let is_before = BEFORE.contains(&name)
            || STARTING.contains(&name)
            || after.starts_with('=') && is_assignment(&format!("{word}="));
        if is_first && !is_before {
            is_first = false;
            is_given = !NOT_RUNNING.contains(&name);
        }
        if is_given {
            words.push(word.to_owned());
        }
    }
}

/// Returns a text with `.` for each substitution before a slash, and nothing for others; and the texts inside of them.
pub fn without_substitutions(text: &str) -> (String, Vec<String>) {
    let (mut flat, mut inside) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let Some((inner, after)) = substitution(rest) else {
            flat.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        inside.push(inner.to_owned());
        let is_before_slash = after.trim_start_matches(['"', '\'']).starts_with('/');
        flat.push_str(if is_before_slash { "." } else { " " });
        rest = after;
    }
    (flat, inside)
}

/// Splits a substitution at the beginning of a text into what is in it, and what follows.
fn substitution(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('`') {
        return rest.split_once('`');
    }
    let rest = text.strip_prefix('$')?;
    for (open, close) in [('(', ')'), ('{', '}')] {
        let Some(rest) = rest.strip_prefix(open) else { continue };
        let mut depth = 1;
        let end = rest.find(|letter| {
            depth += usize::from(letter == open);
            depth -= usize::from(letter == close);
            depth == 0
        })?;
        return Some((&rest[..end], &rest[end + 1..]));
    }
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
    (end > 0).then(|| ("", &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutions_before_a_path_stand_for_a_directory() {
        for (text, expected) in [
            ("$A/b", "./b"),
            ("\"${A:-$(pwd)}\"/b", "\".\"/b"),
            ("$(x $(y))/b `z`/c", "./b ./c"),
            ("bash $f", "bash  "),
            ("$", "$"),
            ("$(", "$("),
            ("a`", "a`"),
        ] {
            assert_eq!(without_substitutions(text).0, expected, "{text}");
        }
        assert_eq!(without_substitutions("$(x $(y))/b").1, ["x $(y)"]);
    }
}
