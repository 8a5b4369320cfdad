//! The recorded conversation: each call is read, and each answer and event is written, as it was recorded.

use serde_json::{Value, json};

use crate::gateway::GatewayEvent;
use crate::node::{
    Approval, Collector, Denied, Heard, Invoke, InvokeError, PairingDecision, Plan, PrepareParams, RunParams,
    RunReport, Stream, command_text, heard, result_params,
};

const RECORDED: &str = include_str!("../../../../policy/tests/data/node-2026.9.6.jsonl");
const NODE: &str = "0bb718c485a434b2fab95875309780a98a5fbc8ffe591d011a04eb8baf959781";

/// A call, and what OpenClaw's node sent for it.
struct Exchange {
    invoke: Invoke,
    result: Value,
    event: Option<Value>,
}

fn exchanges() -> Vec<Exchange> {
    let frames: Vec<Value> =
        RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["frame"].clone()).collect();
    let mut found = Vec::new();
    let mut last: Option<Invoke> = None;
    let mut event = None;
    for frame in frames {
        match (frame["event"].as_str(), frame["method"].as_str()) {
            (Some(name), _) => {
                let happened = GatewayEvent { event: name.to_owned(), payload: frame["payload"].clone() };
                if let Heard::Invoke(invoke) = heard(happened, NODE) {
                    (last, event) = (Some(invoke), None);
                }
            }
            (_, Some("node.event")) => event = Some(frame["params"].clone()),
            (_, Some("node.invoke.result")) => {
                // The record leaves out the call with the longest answer.
                let invoke = last.clone().filter(|invoke| frame["params"]["id"] == invoke.id);
                found.extend(invoke.map(|invoke| Exchange {
                    invoke,
                    result: frame["params"].clone(),
                    event: event.take(),
                }));
            }
            _ => {}
        }
    }
    found
}

fn decoded(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(text) = value["payloadJSON"].as_str() {
        value["payloadJSON"] = serde_json::from_str(text).unwrap();
    }
    value
}

fn report(invoke: &Invoke) -> (RunParams, RunReport) {
    let params = RunParams::read(invoke.params.as_deref()).unwrap();
    let report = RunReport {
        session_key: params.session_key.clone(),
        run_id: params.run_id.clone().unwrap(),
        command: command_text(&params.argv),
        is_silent: params.is_silent,
    };
    (params, report)
}

#[test]
fn runs_are_answered_as_by_openclaws_node() {
    let mut compared = 0;
    for Exchange { invoke, result, event } in exchanges() {
        if invoke.command != "system.run" || result["ok"] != true {
            continue;
        }
        let (_, report) = report(&invoke);
        let result = decoded(&result);
        let end = &result["payloadJSON"];
        let mut output = Collector::new(200_000);
        output.append(Stream::Stdout, end["stdout"].as_str().unwrap().as_bytes());
        output.append(Stream::Stderr, end["stderr"].as_str().unwrap().as_bytes());
        let mut captured =
            output.end(end["exitCode"].as_i64().map(|code| code as i32), end["timedOut"] == true);
        captured.error = end["error"].as_str().map(str::to_owned);
        assert_eq!(decoded(&result_params(&invoke.id, NODE, &Ok(captured.payload()))), result);
        let finished = report.finished(&captured, 20_000);
        assert_eq!(decoded(&finished.params()), decoded(&event.unwrap()));
        compared += 1;
    }
    assert_eq!(compared, 7);
}

#[test]
fn refusals_are_openclaws() {
    let mut compared = Vec::new();
    for Exchange { invoke, result, event } in exchanges() {
        if invoke.command != "system.run" || result["ok"] == true {
            continue;
        }
        let message = result["error"]["message"].as_str().unwrap();
        if result["error"]["code"] == "INVALID_REQUEST" {
            if let Err(error) = RunParams::read(invoke.params.as_deref()) {
                assert_eq!(result_params(&invoke.id, NODE, &Err(error)), result);
                compared.push("malformed");
            }
            continue;
        }
        let denied = match message {
            "SYSTEM_RUN_DISABLED: security=deny" => Denied::Security,
            "SYSTEM_RUN_DENIED: allowlist miss" => Denied::Miss,
            _ => Denied::ApprovalRequired,
        };
        let (_, report) = report(&invoke);
        let (told, answer) = denied.answer(&report);
        assert_eq!(result_params(&invoke.id, NODE, &answer), result);
        assert_eq!(decoded(&told.params()), decoded(&event.unwrap()));
        compared.push(denied.reason());
    }
    assert_eq!(compared, ["malformed", "malformed", "security=deny", "allowlist-miss", "approval-required"]);
}

#[test]
fn an_approved_run_is_for_its_plan() {
    let mut approved = 0;
    for Exchange { invoke, .. } in exchanges() {
        if invoke.command != "system.run" {
            continue;
        }
        let Ok(params) = RunParams::read(invoke.params.as_deref()) else { continue };
        let Approval::Given(plan) = params.approval else { continue };
        approved += 1;
        assert_eq!(plan.argv, ["/usr/bin/echo", "approved run"]);
        assert_eq!(plan.policy_snapshot.as_ref().unwrap().security, "allowlist");
        // After any change, the plan no longer matches.
        let whole: Value = serde_json::from_str(invoke.params.as_deref().unwrap()).unwrap();
        for (pointer, value) in [
            ("/command/1", json!("another")),
            ("/command/0", json!("/usr/bin/printf")),
            ("/cwd", json!("/")),
            ("/agentId", json!("other")),
            ("/sessionKey", json!("agent:other:main")),
            ("/systemRunPlan/argv/1", json!("another")),
            ("/systemRunPlan/cwd", Value::Null),
            ("/systemRunPlan/commandText", json!("/usr/bin/echo")),
        ] {
            let mut changed = whole.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            changed.as_object_mut().unwrap().remove("rawCommand");
            let error = RunParams::read(Some(&changed.to_string())).unwrap_err();
            assert_eq!(error.message, "explicit approval requires matching systemRunPlan", "{pointer}");
        }
    }
    assert_eq!(approved, 3);
}

#[test]
fn plans_are_written_as_openclaw_writes_them() {
    let mut compared = 0;
    for Exchange { invoke, result, .. } in exchanges() {
        if invoke.command != "system.run.prepare" {
            continue;
        }
        let params = PrepareParams::read(invoke.params.as_deref()).unwrap();
        let result = decoded(&result);
        let written = &result["payloadJSON"]["plan"];
        let plan = Plan::parse(written).unwrap();
        assert_eq!(json!(plan), *written);
        assert_eq!(plan.command_text, command_text(&plan.argv));
        assert_eq!((params.agent_id.as_deref(), params.cwd.as_deref()), (Some("main"), Some("/tmp")));
        compared += 1;
    }
    assert_eq!(compared, 6);
}

#[test]
fn what_is_not_offered_is_not_supported() {
    let params = result_params("1", NODE, &Err(InvokeError::unknown()));
    assert_eq!(params["error"], json!({"code": "UNAVAILABLE", "message": "command not supported"}));
}

#[test]
fn the_operators_decision_is_heard() {
    let event = |node: &str, request: &str, decision: &str| GatewayEvent {
        event: "node.pair.resolved".to_owned(),
        payload: json!({"requestId": request, "nodeId": node, "decision": decision, "ts": 1}),
    };
    for (request, text, decision) in [
        ("r", "approved", PairingDecision::Approved),
        ("r", "rejected", PairingDecision::Rejected),
        ("", "removed", PairingDecision::Removed),
        ("", "", PairingDecision::Rejected),
    ] {
        let request_id = Some(request.to_owned()).filter(|id| !id.is_empty());
        assert_eq!(heard(event(NODE, request, text), NODE), Heard::Paired { request: request_id, decision });
    }
    assert_eq!(heard(event("another", "r", "approved"), NODE), Heard::Nothing);
}
