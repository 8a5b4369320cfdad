//! docs/architecture.md, "Where is …?": each file is there, and each name is defined in the file beside it.

use std::fs;
use std::sync::LazyLock;

use guard_tests::sources;
use regex::Regex;

use crate::documents::document;

static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new("`([^`]+)`").expect("an expression"));

/// Whether Rust source defines this function or type; `Type::function` needs both words.
fn defines(source: &str, name: &str) -> bool {
    name.split("::").all(|word| {
        let definition =
            Regex::new(&format!(r"\b(?:fn|struct|enum|trait|impl) {word}\b")).expect("an expression");
        definition.is_match(source)
    })
}

/// Returns what is wrong with a row: its file's cell, and the cell with the functions.
fn problems(file: &str, functions: &str) -> Vec<String> {
    let quoted = |cell: &str| QUOTED.captures_iter(cell).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    let is_file = |text: &String| text.contains('/');
    let link =
        file.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(path, _)| path.to_owned());
    let Some(first) = quoted(file).into_iter().next().or(link) else {
        return vec![format!("no file in {file}")];
    };
    let (mut files, names): (Vec<String>, Vec<String>) = quoted(functions).into_iter().partition(is_file);
    files.push(first);
    let text = |path: &String| fs::read_to_string(sources().join("..").join(path)).ok();
    let missing = files.iter().filter(|path| text(path).is_none()).map(|path| format!("there is no {path}"));
    let is_undefined = |name: &&String| !files.iter().filter_map(text).any(|source| defines(&source, name));
    let undefined = names.iter().filter(is_undefined).map(|name| format!("{name} is not in {files:?}"));
    missing.chain(undefined).collect()
}

#[test]
fn every_path_in_the_architecture_exists() {
    let text = document("docs/architecture.md").text;
    let rows = text.lines().filter(|line| line.starts_with("| Where "));
    let cells: Vec<Vec<&str>> =
        rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect()).collect();
    assert!(cells.len() >= 12, "{cells:?}");
    let wrong: Vec<String> = cells.iter().flat_map(|cells| problems(cells[1], cells[2])).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_ne!(problems("`policy/src/decide.rs`", "`decides` answers"), Vec::<String>::new());
    assert_ne!(problems("`policy/src/decided.rs`", "`decide` answers"), Vec::<String>::new());
}
