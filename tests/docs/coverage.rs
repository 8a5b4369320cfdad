//! docs/coverage.md says of each thing that OpenClaw's documents ask for where it is. Its tests exist.

use std::fs;
use std::path::Path;

use guard_tests::sources;

/// A row of a table: what, how it stands, where or why not, and the tests.
struct Row<'t> {
    what: &'t str,
    state: &'t str,
    place: &'t str,
    tests: Vec<&'t str>,
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what |"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [what, state, place, tests] = cells[..] else { panic!("not four cells: {line}") };
            Row { what, state, place, tests: tests.split('`').skip(1).step_by(2).collect() }
        })
        .collect()
}

/// Whether `FILE.rs::name` is a test of this repository.
fn is_there(test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else { return false };
    let text = fs::read_to_string(sources().join("..").join(file)).unwrap_or_default();
    let forms = [format!("fn {name}("), format!(" {name} =>"), format!(" {name}: "), format!(" {name},")];
    Path::new(file).extension().is_some_and(|extension| extension == "rs")
        && forms.iter().any(|form| text.contains(form))
}

#[test]
fn each_row_names_a_test_or_a_reason() {
    let text = fs::read_to_string(sources().join("../docs/coverage.md")).expect("the table");
    let rows = rows(&text);
    let mut wrong = Vec::new();
    for row in &rows {
        let is_shown = match row.state {
            "yes" | "stricter" => !row.tests.is_empty(),
            "OpenClaw's" | "no" => true,
            _ => false,
        };
        if !is_shown || row.place.is_empty() {
            wrong.push(format!("{} | {} | {}", row.what, row.state, row.place));
        }
        wrong.extend(row.tests.iter().filter(|test| !is_there(test)).map(|test| format!("no test: {test}")));
    }
    assert!(wrong.is_empty(), "docs/coverage.md: {wrong:#?}");
    let count = |state: &str| rows.iter().filter(|row| row.state == state).count();
    let [yes, stricter, theirs, no] = ["yes", "stricter", "OpenClaw's", "no"].map(count);
    let sum = format!("{} rows: {yes} yes, {stricter} stricter, {theirs} OpenClaw's, {no} no.", rows.len());
    assert!(text.contains(&sum), "the page does not say: {sum}");
    assert!(!is_there("tests/docs/coverage.rs::no_such_test"));
}
