//! Malformed calls, and the part of an output that is kept.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::gateway::GatewayEvent;
use crate::node::{
    Approval, Captured, Collector, Heard, PrepareParams, RunParams, RunReport, Stream, WhichParams,
    command_text, heard,
};

fn run(params: &Value) -> Result<RunParams, String> {
    RunParams::read(Some(&params.to_string())).map_err(|error| error.message)
}

#[test]
fn a_command_is_a_list_of_words() {
    for command in [
        json!(null),
        json!([]),
        json!("ls"),
        json!({}),
        json!([""]),
        json!([" "]),
        json!(["a", 1]),
        json!([["a"]]),
    ] {
        assert_eq!(run(&json!({"command": command})).unwrap_err(), "command required", "{command}");
    }
    assert!(run(&json!({"command": ["a\0b"]})).unwrap_err().contains("NUL"));
    assert!(run(&json!({"command": ["x".repeat(3 << 20)]})).unwrap_err().contains("too long"));
    assert!(run(&json!({"command": ["ls"], "rawCommand": "rm -rf /"})).unwrap_err().contains("rawCommand"));
    assert!(run(&json!({"command": ["ls", "-l"], "rawCommand": "ls -l"})).is_ok());
    assert!(run(&json!({"command": ["sh", "-c", "ls | wc"], "rawCommand": "ls | wc"})).is_ok());
}

#[test]
fn parameters_that_are_no_json_are_refused() {
    let refused = |text: Option<&str>| RunParams::read(text).unwrap_err().message;
    assert_eq!(refused(None), "Error: INVALID_REQUEST: paramsJSON required");
    assert_eq!(refused(Some("")), "Error: INVALID_REQUEST: paramsJSON required");
    for text in ["{", "nul", "{\"command\": [\"ls\"}", "\u{0}"] {
        assert_eq!(refused(Some(text)), "Error: INVALID_REQUEST: paramsJSON malformed JSON", "{text}");
    }
    for text in ["[]", "1", "\"ls\"", "null"] {
        assert!(refused(Some(text)).contains("must be an object"), "{text}");
    }
    // A list in place of the object, and numbers where texts are expected.
    assert!(run(&json!({"command": ["ls"], "cwd": 1})).is_err());
    assert!(run(&json!({"command": ["ls"], "env": []})).is_err());
    // The nesting is deeper than serde_json follows.
    assert!(RunParams::read(Some(&"[".repeat(100_000))).is_err());
}

#[test]
fn an_approval_needs_a_plan() {
    let message = "explicit approval requires matching systemRunPlan";
    assert_eq!(run(&json!({"command": ["ls"], "approved": true})).unwrap_err(), message);
    assert_eq!(run(&json!({"command": ["ls"], "approvalDecision": "allow-always"})).unwrap_err(), message);
    let invalid = json!({"command": ["ls"], "approved": true, "systemRunPlan": {"argv": []}});
    assert_eq!(run(&invalid).unwrap_err(), "systemRunPlan invalid");
    let plan = json!({"argv": ["ls"], "cwd": null, "commandText": "ls", "commandPreview": null, "agentId": null, "sessionKey": null});
    let unbound = json!({"command": ["ls"], "approved": true, "systemRunPlan": plan});
    // Whether a plan may lack the snapshot of the policy depends on the gateway.
    assert!(
        matches!(run(&unbound).unwrap().approval, Approval::Given(plan) if plan.policy_snapshot.is_none())
    );
    for (key, value) in [
        ("approved", json!(false)),
        ("approvalDecision", json!("deny")),
        ("approvalDecision", json!("allow")),
        ("approvalDecision", json!(true)),
    ] {
        let mut params = json!({"command": ["ls"], "systemRunPlan": plan});
        params[key] = value;
        assert_eq!(run(&params).unwrap().approval, Approval::None, "{params}");
    }
    let both =
        json!({"command": ["ls"], "approved": true, "approvalDecision": "deny", "systemRunPlan": plan});
    assert_eq!(run(&both).unwrap().approval, Approval::None);
    let sources = ["ask-fallback", "auto-review"]
        .map(|source| json!({"command": ["ls"], "approvalSource": source, "systemRunPlan": plan}));
    for params in sources {
        assert_eq!(run(&params).unwrap().approval, Approval::None);
    }
    let other = json!({"command": ["ls"], "approvalSource": "me", "systemRunPlan": plan});
    assert_eq!(run(&other).unwrap_err(), "approvalSource invalid");
}

#[test]
fn names_with_a_slash_are_not_looked_for() {
    let which =
        WhichParams::read(Some(r#"{"bins": ["ls", "/bin/sh", "../x", "", " wc ", 1, "a\\b"]}"#)).unwrap();
    assert_eq!(which.bins, ["ls", "wc"]);
    assert!(WhichParams::read(Some("{}")).unwrap_err().message.ends_with("bins required"));
}

#[test]
fn a_call_that_cannot_be_read_is_refused_where_it_has_an_id() {
    let event = |payload: Value| GatewayEvent { event: "node.invoke.request".to_owned(), payload };
    let bad = json!({"id": "1", "nodeId": "n", "command": 5});
    assert!(matches!(heard(event(bad), "n"), Heard::Unreadable { id, .. } if id == "1"));
    for nothing in [
        json!(null),
        json!([]),
        json!({"nodeId": "n"}),
        json!({"id": "1", "nodeId": "m", "command": "system.run"}),
    ] {
        assert_eq!(heard(event(nothing.clone()), "n"), Heard::Nothing, "{nothing}");
    }
    let cancel = |node: &str| GatewayEvent {
        event: "node.invoke.cancel".to_owned(),
        payload: json!({"invokeId": "1", "nodeId": node}),
    };
    assert!(matches!(heard(cancel("n"), "n"), Heard::Cancel(_)));
    assert_eq!(heard(cancel("m"), "n"), Heard::Nothing);
}

#[test]
fn commands_are_shown_with_double_quotes() {
    let text =
        |words: &[&str]| command_text(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(text(&["/bin/echo", "a b", "", "say \"x\""]), r#"/bin/echo "a b" "" "say \"x\"""#);
    assert_eq!(text(&["a'b", "$HOME", "x;y"]), "a'b $HOME x;y");
}

fn report() -> RunReport {
    RunReport { session_key: None, run_id: "r".to_owned(), command: "x".to_owned(), is_silent: false }
}

#[test]
fn output_is_kept_from_its_start_and_told_from_its_end() {
    let mut output = Collector::new(10);
    output.append(Stream::Stdout, b"12345678");
    output.append(Stream::Stderr, b"abcdef");
    output.append(Stream::Stdout, b"9");
    let end = output.end(Some(0), false);
    assert_eq!((end.stdout.as_str(), end.stderr.as_str()), ("12345678", "ab\n... (truncated)"));
    let mut output = Collector::new(4);
    output.append(Stream::Stdout, b"12345");
    let end = output.end(Some(0), false);
    assert_eq!(end.stdout, "1234\n... (truncated)");
    let told = report().finished(&end, 6).params()["payloadJSON"].to_string();
    assert!(told.contains("... (truncated) cated)"), "{told}");
}

#[test]
fn a_run_by_a_signal_has_no_status() {
    let payload = Collector::new(1).end(None, false).payload();
    assert_eq!(
        payload,
        json!({"timedOut": false, "success": false, "stdout": "", "stderr": "", "error": null})
    );
    let failed = Captured::failed("no".to_owned());
    assert_eq!(
        (failed.payload()["success"].clone(), failed.payload()["error"].clone()),
        (json!(false), json!("no"))
    );
}

proptest! {
    #[test]
    fn no_parameters_panic(text in ".*") {
        let _ = RunParams::read(Some(&text));
        let _ = PrepareParams::read(Some(&text));
        let _ = WhichParams::read(Some(&text));
    }

    #[test]
    fn no_more_than_asked_for_is_kept(most in 0..50_usize, parts in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..20)), 0..20)) {
        let mut output = Collector::new(most);
        let mut total = 0;
        for (is_error, bytes) in &parts {
            total += bytes.len();
            output.append(if *is_error { Stream::Stderr } else { Stream::Stdout }, bytes);
        }
        let end = output.end(Some(0), false);
        let is_cut = end.stdout.ends_with("... (truncated)") || end.stderr.ends_with("... (truncated)");
        prop_assert_eq!(is_cut, total > most);
        // A byte that is not UTF-8 becomes three bytes.
        prop_assert!(end.stdout.len() + end.stderr.len() <= 3 * most + 16);
    }
}
