//! The words of a command that name scripts. Which program runs a script cannot be listed (`npx tsx X`, `nix develop -c
//! X`, `sh < X`), so each word counts if it names a file that may be a script. The words of programs that only check or
//! write files are left out.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::shell_commands::{HOLE, PROJECT};

/// The ends of the names of scripts.
const SCRIPTS: [&str; 25] = [
    "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "sh", "bash", "zsh", "fish", "nu", "ksh", "py",
    "rb", "pl", "lua", "php", "ps1", "exs", "jl", "r", "jar", "go",
];

/// Returns whether a name ends like a script's.
pub fn has_end_of_script(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    SCRIPTS.contains(&end.to_ascii_lowercase().as_str())
}

/// Returns whether a file may be a script: by the end of its name, or because it may be executed.
pub fn is_script(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| {
        meta.is_file() && (meta.permissions().mode() & 0o111 != 0 || has_end_of_script(path))
    })
}

/// Adds the parts of a text that may be paths.
pub fn add_parts(text: &str, parts: &mut BTreeSet<String>) {
    let is_quote = |letter: char| matches!(letter, '"' | '\'');
    let is_between =
        |letter: char| letter.is_whitespace() || letter == HOLE || ";|&()<>{}[],=:!`\\".contains(letter);
    let is_path = |part: &&str| !part.is_empty() && !part.starts_with('-');
    parts.extend(
        text.split(|letter| is_between(letter) || is_quote(letter)).filter(is_path).map(str::to_owned),
    );
    // A quote may end in the middle of a path.
    let quoted = text.split(is_between).filter(|part| part.contains(is_quote));
    let quoted = quoted.map(|part| part.replace(is_quote, ""));
    parts.extend(quoted.filter(|part| is_path(&part.as_str())));
}

/// Adds the parts of a text that cannot be understood. For a path after a variable, also adds the path without the
/// variable.
pub fn add_all_parts(text: &str, parts: &mut BTreeSet<String>) {
    let mut found = BTreeSet::new();
    add_parts(text, &mut found);
    let after = found.iter().filter(|part| part.starts_with(['/', '$']));
    let after: Vec<String> =
        after.filter_map(|part| part.split_once('/')).map(|(_, rest)| rest.to_owned()).collect();
    parts.extend(found);
    parts.extend(after);
}

/// Returns the paths that a word may stand for. A relative word may mean a path in each of the directories.
pub fn places(word: &str, home: &Path, project: &Path, around: &[PathBuf]) -> Vec<PathBuf> {
    let paths = match (word.strip_prefix("~/"), word.strip_prefix(PROJECT)) {
        (Some(rest), _) => vec![home.join(rest)],
        (_, Some(rest)) => vec![project.join(rest.trim_start_matches('/'))],
        _ if word.starts_with('/') => vec![PathBuf::from(word)],
        _ => around.iter().map(|directory| directory.join(word)).collect(),
    };
    paths.iter().map(|path| plain(path)).collect()
}

/// Returns a path without its `.` parts, so that equal paths are equal texts.
pub fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}
