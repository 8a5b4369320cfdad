//! The fixtures that OpenClaw shares among its own implementations; see `data/README.md`.

use guard_openclaw::command_text::{display, is_line_of};
use guard_policy::analysis::quoted;

use super::{data, evaluated, of_cases};

#[test]
fn shell_parser_parity() {
    let data = data("2026.4.12-beta.1/exec-allowlist-shell-parser-parity.json");
    let cases = data["cases"].as_array().unwrap();
    let policy = of_cases();
    let mut agreed = 0;
    for case in cases {
        let evaluation = evaluated(policy, case["command"].as_str().unwrap());
        assert_eq!(evaluation.analysis_ok(), case["ok"].as_bool().unwrap(), "{case}");
        if evaluation.analysis_ok() {
            let names: Vec<_> = evaluation.segments.iter().map(|segment| &segment.argv[0]).collect();
            let expected: Vec<String> = serde_json::from_value(case["executables"].clone()).unwrap();
            assert_eq!(names, expected.iter().collect::<Vec<_>>(), "{case}");
        }
        agreed += 1;
    }
    println!("shell parser parity: {agreed} of {}", cases.len());
}

#[test]
fn wrapper_resolution_parity() {
    let data = data("2026.4.12-beta.1/exec-wrapper-resolution-parity.json");
    let cases = data["cases"].as_array().unwrap();
    let policy = of_cases();
    let mut agreed = 0;
    for case in cases {
        let argv: Vec<String> = serde_json::from_value(case["argv"].clone()).unwrap();
        let evaluation = evaluated(policy, &quoted(&argv));
        let program = &evaluation.segments[0].program;
        assert_eq!(program[0], case["expectedRawExecutable"].as_str().unwrap(), "{case}");
        agreed += 1;
    }
    println!("wrapper resolution parity: {agreed} of {}", cases.len());
}

#[test]
fn system_run_command() {
    let data = data("2026.4.12-beta.1/system-run-command-contract.json");
    let cases = data["cases"].as_array().unwrap();
    let mut agreed = 0;
    for case in cases {
        let argv: Vec<String> = serde_json::from_value(case["command"].clone()).unwrap();
        let is_valid = case["rawCommand"].as_str().is_none_or(|line| is_line_of(line, &argv));
        assert_eq!(is_valid, case["expected"]["valid"].as_bool().unwrap(), "{case}");
        if let Some(expected) = case["expected"]["displayCommand"].as_str() {
            assert_eq!(display(&argv), expected, "{case}");
        }
        agreed += 1;
    }
    println!("system-run command: {agreed} of {}", cases.len());
}
