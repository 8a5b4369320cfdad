use std::fs;

use serde_json::{Value, json};

use super::*;

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// What openclaw.json says, with these files.
fn read(files: &[(&str, &str)]) -> (Config, tempfile::TempDir) {
    let directory = directory(files);
    (Config::read(&directory.path().join("openclaw.json")), directory)
}

fn content(files: &[(&str, &str)]) -> Value {
    let (config, _directory) = read(files);
    config.content().unwrap_or_else(|| panic!("{}", config.problem().unwrap())).clone()
}

/// The results of OpenClaw 2026.9.6 (src/config/includes.ts), which its documentation states.
#[test]
fn included_files_are_merged() {
    let found = content(&[
        (
            "openclaw.json",
            "{gateway: {port: 1}, agents: {$include: './agents.json5'}, list: {$include: ['a.json', 'd/b.json'], own: 1}}",
        ),
        ("agents.json5", "{defaults: {workspace: '/w'}, entries: {$include: 'd/../d/entries.json'}}"),
        ("a.json", r#"{"x": {"y": 1, "z": [1]}, "own": 0}"#),
        ("d/b.json", r#"{"x": {"y": 2, "z": [2]}, "more": {"$include": "entries.json"}}"#),
        ("d/entries.json", "[{a: 1}]"),
    ]);
    let entries = json!([{"a": 1}]);
    let agents = json!({"defaults": {"workspace": "/w"}, "entries": entries});
    let list = json!({"x": {"y": 2, "z": [1, 2]}, "own": 1, "more": entries});
    assert_eq!(found, json!({"gateway": {"port": 1}, "agents": agents, "list": list}));
    let whole = [("openclaw.json", "{$include: 'base.json', a: 2}"), ("base.json", "{a: 1, b: 1}")];
    assert_eq!(content(&whole), json!({"a": 2, "b": 1}));
    // The gateway's port is looked for in this text.
    let (config, directory) = read(&whole);
    assert_eq!(config.source(), Some(r#"{"a":2,"b":1}"#));
    assert_eq!(config.included(), [directory.path().join("base.json")]);
}

#[test]
fn what_cannot_be_included_is_a_problem_and_leaves_the_rest_readable() {
    let deep = "{a: ".repeat(300) + "{$include: 'deep.json'}" + &"}".repeat(300);
    for (include, others, why) in [
        ("'none.json'", &[][..], "none.json: No such file"),
        ("'d'", &[("d/x", "")], "it is not a regular file"),
        ("'bad.json'", &[("bad.json", "{")], "bad.json: "),
        ("'openclaw.json'", &[], "the file includes itself"),
        ("'loop.json'", &[("loop.json", "[{$include: 'openclaw.json'}]")], "the file includes itself"),
        ("''", &[], "invalid filename"),
        ("1", &[], "invalid filename"),
        ("[1]", &[], "invalid filename"),
        ("'a\\0b'", &[], "invalid filename"),
        ("['many.json', 'many.json']", &[("many.json", "[]")], ""),
        ("'deep.json'", &[("deep.json", &deep)], "the file includes itself"),
    ] {
        let text = format!("{{a: 1, b: {{$include: {include}}}}}");
        let files: Vec<_> =
            [("openclaw.json", text.as_str())].into_iter().chain(others.iter().copied()).collect();
        let (config, _directory) = read(&files);
        if why.is_empty() {
            assert!(config.problem().is_none());
            continue;
        }
        let problem = config.problem().expect(include).to_string();
        assert!(problem.contains("$include of ") && problem.contains(why), "{problem}");
        assert!(config.content().is_none() && config.at("a").is_none(), "{include}");
        assert_eq!(config.expanded(Path::new("/none"))[0]["a"], 1, "{include}");
    }
}

#[test]
fn inclusions_have_a_bound() {
    // Each file includes the next one three times.
    let files: Vec<(String, String)> = (0..9)
        .map(|number| {
            let next = format!("{}.json", number + 1);
            (format!("{number}.json"), format!("{{$include: ['{next}', '{next}', '{next}']}}"))
        })
        .chain([
            ("9.json".to_owned(), "{}".to_owned()),
            ("openclaw.json".to_owned(), "{$include: '0.json'}".to_owned()),
        ])
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let (config, _directory) = read(&files);
    assert!(config.problem().unwrap().to_string().contains("too many files include each other"));
    // Files may include each other ten deep, and values lie in each other no deeper than in one file.
    let chain: Vec<(String, String)> = (0..12)
        .map(|number| (format!("{number}.json"), format!("{{a: {{$include: '{}.json'}}}}", number + 1)))
        .collect();
    let mut files: Vec<(&str, &str)> =
        chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("openclaw.json", "{$include: '0.json'}"));
    assert!(read(&files).0.problem().unwrap().to_string().contains("too many files"));
    let begin = "{a: ".repeat(200);
    let nested: Vec<(String, String)> = (0..5)
        .map(|number| {
            (
                format!("{number}.json"),
                format!("{begin}{{$include: '{}.json'}}{}", number + 1, "}".repeat(200)),
            )
        })
        .collect();
    let mut files: Vec<(&str, &str)> =
        nested.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("openclaw.json", "{$include: '0.json'}"));
    assert!(read(&files).0.problem().unwrap().to_string().contains("too deep"));
}

#[test]
fn all_of_json5_is_read() {
    let found = content(&[("openclaw.json", "\u{feff}{h\\u006foks: NaN, 'b\\\nc': +.5, /* x */ $d: 0x1F,}")]);
    assert_eq!(found, json!({"hooks": null, "bc": 0.5, "$d": 31}));
    // The gateway's port is looked for by a parser that cannot read all of it.
    let (config, _directory) = read(&[("openclaw.json", "{g\\u0061teway: {port: 19000, x: NaN}}")]);
    assert_eq!(config.source(), Some(r#"{"gateway":{"port":19000,"x":null}}"#));
    let deep = "[".repeat(100_000);
    let (config, _directory) = read(&[("openclaw.json", &deep)]);
    assert!(config.problem().is_some());
}
