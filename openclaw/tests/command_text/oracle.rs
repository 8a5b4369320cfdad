//! Compares results with the answers of OpenClaw's own code; see `data/README.md`.

use guard_openclaw::command_text::Evaluation;
use serde_json::{Value, json};

use super::{PREFIX, data, evaluated, of_cases};

/// The release to agree with.
const NEWEST: &str = "2026.9.6";

/// The commands for which the guard deliberately gives a stricter answer: none.
const DIFFERENT: [(&str, &str); 0] = [];

/// Returns an answer in the file's format.
fn answer(evaluation: &Evaluation) -> Value {
    let text = |text: &str| text.replace(PREFIX, "/oracle");
    let segments: Vec<_> = evaluation
        .segments
        .iter()
        .map(|segment| {
            json!({
                "argv": segment.argv,
                "by": segment.by.name(),
                "match": segment.matched.as_deref().map(text),
                "resolved": segment.resolved.as_ref().map(|found| text(&found.path)),
            })
        })
        .collect();
    let entries: Vec<_> = evaluation
        .allow_always
        .iter()
        .map(|entry| json!({ "pattern": text(&entry.pattern), "argPattern": entry.arg_pattern }))
        .collect();
    json!({
        "analysisOk": evaluation.analysis_ok(),
        "allowlistSatisfied": evaluation.satisfied(),
        "reason": evaluation.reason.map(|reason| reason.name()),
        "segments": segments,
        "allowAlways": entries,
    })
}

/// Returns the expected answer, with null for what the file leaves out.
fn expected(case: &Value) -> Value {
    let case = &case[NEWEST];
    let segments: Vec<_> = case["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| {
            json!({
                "argv": segment["argv"],
                "by": segment["by"],
                "match": segment["match"],
                "resolved": segment["resolved"],
            })
        })
        .collect();
    json!({
        "analysisOk": case["analysisOk"],
        "allowlistSatisfied": case["allowlistSatisfied"],
        "reason": case["reason"],
        "segments": segments,
        "allowAlways": case["allowAlways"],
    })
}

#[test]
fn shell_allowlist() {
    let data = data("shell-allowlist.json");
    let cases = data["cases"].as_array().unwrap();
    let policy = of_cases();
    let (mut agreed, mut wrong) = (0, Vec::new());
    for case in cases {
        let command = case["command"].as_str().unwrap();
        let (given, expected) = (answer(&evaluated(policy, command)), expected(case));
        let is_different = DIFFERENT.iter().any(|(different, _)| *different == command);
        if given == expected {
            agreed += 1;
        } else if !is_different {
            wrong.push(format!("{command:?}\n  given    {given}\n  expected {expected}"));
        }
        let is_open =
            given["allowlistSatisfied"] == json!(true) && expected["allowlistSatisfied"] == json!(false);
        assert!(!is_open, "yes where OpenClaw says no: {command}");
    }
    println!("shell allowlist: {agreed} of {}", cases.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(DIFFERENT.len() * 20 <= cases.len());
}
