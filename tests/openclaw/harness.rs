//! The gateways themselves, without the guard: what the other tests rely on.

use guard_tests::gateway::{Client, Login, Release, gateway};
use serde_json::json;

fn the_gateway_itself(release: Release) {
    let Some(mut gateway) = gateway(release) else { return };
    let (port, token) = (gateway.port(), gateway.token().to_owned());
    for case in 0..2 {
        let guard =
            Client::connect(port, &Login { identity: Some(Default::default()), ..Login::guard_like(&token) })
                .expect("to be let in");
        assert_eq!(guard.hello()["server"]["version"], release.version());
        let approver = if case == 0 {
            Client::connect(port, &Login::approver(&token))
        } else {
            Client::control_ui(port, &token)
        };
        let approver = approver.expect("to be let in");
        let id = format!("{case}-{}", Client::nonce());
        let asked = json!({"id": id, "command": format!("echo {id}"), "twoPhase": true, "timeoutMs": 60_000});
        let accepted = guard.call("exec.approval.request", asked).expect("to be taken");
        assert_eq!(
            (&accepted["status"], &accepted["deliveryRoute"]),
            (&json!("accepted"), &json!("approval-client"))
        );
        let card = approver.card(&id);
        if release.has_cli() {
            assert_eq!(gateway.cli_pending().with(&id).len(), 1);
        }
        let waits = guard.begin("exec.approval.waitDecision", json!({"id": id}));
        if case == 0 && release.has_cli() {
            let output = gateway.approvals(&["resolve", &id, "allow-once"]);
            assert_eq!(output.status, 0, "{output:?}");
        } else {
            approver.resolve(&card, "allow-once").expect("to answer");
        }
        assert_eq!(guard.reply(&waits).expect("an answer")["decision"], "allow-once");
        assert_eq!(approver.resolved(&card)["decision"], "allow-once");
    }
    gateway.end("-TERM");
    assert!(Client::connect(port, &Login::approver(&token)).is_err());
    gateway.ensure();
    assert!(Client::connect(port, &Login::approver("another")).is_err());
}

#[test]
fn the_gateway_itself_2026_9_6() {
    the_gateway_itself(Release::Current);
}

#[test]
fn the_gateway_itself_2026_7_35() {
    the_gateway_itself(Release::Older);
}
