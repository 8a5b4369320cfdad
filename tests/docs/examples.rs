//! The policies and scripts that documents show.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use guard_tests::{World, ended, ended_with_input, guard};

use crate::documents::{document, documents};

/// The contexts in which a piece of a policy may be valid: the text before it and after it.
const CONTEXTS: [(&str, &str); 7] = [
    ("", ""),
    (r#""permissions": {"#, "}"),
    (r#""permissions": {"filesystem": {"#, "}}"),
    (r#""permissions": {"filesystem": {"rules": {"#, "}}}"),
    (r#""exec": {"#, "}"),
    (r#""approvals": {"#, "}"),
    (r#""audit": {"#, "}"),
];

/// The beginnings of JSON that belongs to no policy: OpenClaw's own, and other lines.
const OTHERS: [&str; 5] =
    [r#"{"type":"request""#, r#"{"prev":"#, r#""tools": "#, r#""operation": "#, r#""type":"#];

/// Returns what `policy validate` reports, unless the policy is valid.
fn problems(world: &World, text: &str) -> Option<String> {
    let mut validate = Command::new(guard());
    validate.args(["policy", "validate", "-"]).env("HOME", world.home()).current_dir(world.work());
    let output = ended_with_input(&mut validate, text.as_bytes());
    (output.status != 0).then(|| format!("{text}\n{}{}", output.stdout, output.stderr))
}

/// Returns which of a whole policy's own examples fail.
fn disproved(world: &World, text: &str) -> Option<String> {
    if !text.trim_start().starts_with('{') || !text.contains("\"examples\"") {
        return None;
    }
    let policy = world.write("tried.json", text);
    let mut test = Command::new(guard());
    test.args(["policy", "test"]).arg(policy).env("HOME", world.home()).current_dir(world.work());
    let output = ended(&mut test);
    (output.status != 0).then(|| format!("{}{}", output.stdout, output.stderr))
}

#[test]
fn every_policy_in_the_documents_is_valid() {
    let world = World::bare();
    let (mut wrong, mut right) = (Vec::new(), 0);
    for document in documents() {
        let blocks = document.blocks().into_iter().filter(|block| block.language.starts_with("json"));
        let blocks = blocks.map(|block| (block.line, block.text));
        let inline =
            document.inline().into_iter().filter(|(_, text)| text.starts_with('"') && text.contains("\": "));
        for (line, text) in blocks.chain(inline) {
            if OTHERS.iter().any(|other| text.starts_with(other)) || text.contains('…') {
                continue;
            }
            let is_whole = text.trim_start().starts_with('{');
            let whole =
                |(before, behind): (&str, &str)| format!("{{\"version\": 1, {before}{text}{behind}}}");
            let problem = if is_whole {
                problems(&world, &text)
            } else {
                let tried: Vec<_> =
                    CONTEXTS.into_iter().map_while(|context| problems(&world, &whole(context))).collect();
                (tried.len() == CONTEXTS.len()).then(|| tried.concat())
            };
            wrong.extend(disproved(&world, &text).map(|why| format!("{}:{line}: {why}", document.name)));
            match problem {
                Some(problem) => wrong.push(format!("{}:{line}: {problem}", document.name)),
                None => right += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > 8, "{right} policies");
}

/// Returns the cells of a table's row.
fn cells(row: &str) -> Vec<&str> {
    row.trim().trim_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn the_figures_of_the_readme_are_those_of_the_benchmarks() {
    let benchmarks = document("docs/benchmarks.md").text;
    let overhead = benchmarks.split("<!-- overhead -->").nth(1).expect("figures");
    let overhead = overhead.split("<!-- /overhead -->").next().expect("its end");
    let (mut known, mut label) = (HashMap::new(), "");
    for row in overhead.lines().filter(|line| line.starts_with('|')) {
        if let [name, way, median, ..] = cells(row)[..] {
            label = if name.is_empty() { label } else { name };
            known.insert((label, way), median);
        }
    }
    let readme = document("README.md").text;
    let table = readme.split("## What it costs").nth(1).expect("a table").lines();
    let mut rows =
        table.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).map(cells);
    let ways = rows.next().expect("a heading");
    let rows: Vec<_> = rows.skip(1).collect();
    assert!(rows.len() > 3, "{rows:?}");
    for row in rows {
        // Not every way is measured for each row.
        for (way, figure) in ways.iter().zip(&row).skip(1).filter(|(_, figure)| !figure.is_empty()) {
            assert_eq!(known.get(&(row[0], *way)), Some(figure), "{}, {way}", row[0]);
        }
    }
}

/// Runs the notification script of docs/approvals.md with a stub of notify-send.
#[test]
fn the_notification_script_shows_the_question() {
    let script = document("docs/approvals.md").blocks().into_iter().find(|block| block.language == "sh");
    let script = script.expect("a script").text;
    let world = World::bare();
    for (name, text) in [("bin/notify-send", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), ("bin/notify", &script)] {
        let path = world.write(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("to change a mode");
    }
    let bin = world.root().join("bin");
    let mut notify = Command::new(bin.join("notify"));
    notify.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let output = ended_with_input(&mut notify, br#"{"resolvedPath": "/usr/bin/curl", "more": 0}"#);
    assert_eq!(output.stdout, "the guard asks\n/usr/bin/curl\n", "{output:?}");
}
