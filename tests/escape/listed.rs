//! docs/known-bypasses.md names a test for each attack that is held off. These tests exist.

use std::fs;
use std::path::{Path, PathBuf};

use guard_tests::sources;

/// Collects the files of a test binary that may define this module, named after it or in a folder of that
/// name.
fn files_of(directory: &Path, module: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_of(&path, module, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let names = path.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy());
            if names.into_iter().any(|name| name.strip_suffix(".rs").unwrap_or(&name) == module) {
                found.push(path);
            }
        }
    }
}

/// Returns whether `binary/module::…::name` is a test.
fn is_there(test: &str) -> bool {
    let Some((binary, path)) = test.split_once('/') else { return false };
    let mut parts = path.rsplit("::");
    let (Some(name), Some(module)) = (parts.next(), parts.next()) else { return false };
    let mut files = Vec::new();
    files_of(&sources().join(binary), module, &mut files);
    files.iter().any(|file| {
        let text = fs::read_to_string(file).expect("a source");
        [format!("fn {name}("), format!(" {name} =>"), format!(" {name}: ")]
            .iter()
            .any(|form| text.contains(form))
    })
}

#[test]
fn every_test_that_is_named_is_there() {
    let text = fs::read_to_string(sources().join("../docs/known-bypasses.md")).expect("the list");
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| ") && !line.contains("---")).collect();
    let named: Vec<&str> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains("::") && word.contains('/') && !word.contains(char::is_whitespace))
        .collect();
    let missing: Vec<&str> = named.iter().copied().filter(|test| !is_there(test)).collect();
    assert!(missing.is_empty(), "docs/known-bypasses.md names what is no test: {missing:#?}");
    assert!(named.len() >= 60 && rows.len() >= 60, "{} tests in {} rows", named.len(), rows.len());
    // Every row that holds names its test.
    let unshown: Vec<&&str> =
        rows.iter().filter(|row| row.contains("| holds |") && !row.contains("::")).collect();
    assert!(unshown.is_empty(), "rows that hold without a test: {unshown:#?}");
    assert!(!is_there("escape/files::no_such_test"));
}
