//! What the gateway is asked, and how it is worded.

use guard_policy::analysis::InputKind;

use super::*;
use crate::code_input::{CodeInput, InputSource};

#[tokio::test]
async fn a_program_is_shown_as_it_would_run() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a", "b c", "\u{1b}[31m"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "/bin/a 'b c' '\\u{1B}[31m'");
    assert_eq!(params["commandArgv"], json!(["/bin/a", "b c", "\\u{1B}[31m"]));
    assert_eq!((&params["cwd"], &params["resolvedPath"]), (&json!("/work"), &json!("/bin/a")));
    assert_eq!((&params["agentId"], &params["sessionKey"]), (&json!("main"), &json!("agent:main:main")));
    assert_eq!((&params["twoPhase"], &params["host"]), (&json!(true), &json!("openclaw-guard")));
    assert!(params["timeoutMs"].as_u64().is_some_and(|millis| (110_000..=120_000).contains(&millis)));
    let reason = params["warningText"].as_str().unwrap();
    assert!(reason.contains("because no entry names it") && reason.contains("bash 7"), "{reason}");
    // Nobody else could answer, so the gateway must report at once that nobody is connected.
    assert_eq!(params.get("requireDeliveryRoute"), None);
    assert_eq!(params.get("unavailableDecisions"), None);
    let call = ticket.call();
    decided(&mut peer, &wait, &params, json!("allow-once")).await;
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::AllowOnce));
    assert!(guard.manager.consume(call) && !guard.manager.consume(call));
}

/// The command's text stays OpenClaw's.
#[tokio::test]
async fn code_on_an_input_is_named_beside_the_command() {
    let guard = GatewayFixture::new(ONLY).await;
    let mut piped = question(&["/bin/python3", "-"]);
    let Subject::Exec(exec) = &mut piped.subject else { unreachable!() };
    let (source, kind) = (InputSource::StandardInput, InputKind::Pipe);
    exec.inputs.push(CodeInput { source, kind, path: b"pipe:[1]".to_vec(), sha256: None });
    let ticket = guard.ask(&piped);
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "/bin/python3 -");
    let reason = params["warningText"].as_str().unwrap();
    assert!(reason.starts_with("may run code from standard input: a pipe\n"), "{reason}");
}

#[tokio::test]
async fn a_file_is_shown_with_who_asks() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&file("/nonexistent/u/a b"));
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "[read] ~/a b by bash 7");
    assert_eq!(params.get("commandArgv"), None);
    assert_eq!(params["unavailableDecisions"], json!(["allow-always"]));
    decided(&mut peer, &wait, &params, json!("deny")).await;
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::Deny));
}

#[tokio::test]
async fn a_host_is_shown_with_who_asks() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&host("a.test:443"));
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "[connect] a.test:443 (TLS) by bash 7");
    assert_eq!(params["resolvedPath"], "a.test:443");
    assert_eq!(params["unavailableDecisions"], json!(["allow-always"]));
    decided(&mut peer, &wait, &params, json!("deny")).await;
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::Deny));
}

/// The name of a process or file cannot forge another one.
#[tokio::test]
async fn names_cannot_imitate_other_text() {
    let guard = GatewayFixture::new(ONLY).await;
    let mut named = file("/nonexistent/u/notes by vim 4 < sh 1");
    named.asked_by[0].name = "vim 4 < bash".to_owned();
    let ticket = guard.ask(&named);
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "[read] '~/notes by vim 4 < sh 1' by 'vim 4 < bash' 7");
    assert!(params["warningText"].as_str().unwrap().contains("asked by 'vim 4 < bash' 7 (agent"));
}

/// A secret that only the preceding argument reveals is masked in every parameter.
#[tokio::test]
async fn no_secret_leaves_in_an_argument() {
    let guard = GatewayFixture::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a", "--password", "hunter2hunter2"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "/bin/a --password '***'".replace('\'', ""));
    assert_eq!(params.get("commandArgv"), None);
    assert!(!params.to_string().contains("hunter2"), "{params}");
}

/// A long list of processes does not push what "always" saves off the card.
#[tokio::test]
async fn whoever_asks_hides_nothing() {
    let guard = GatewayFixture::new(ONLY).await;
    let mut crowded = question(&["/bin/a"]);
    let one = crowded.asked_by[0].clone();
    crowded.asked_by.extend(vec![one; 500]);
    let ticket = guard.ask(&crowded);
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    let reason = params["warningText"].as_str().unwrap();
    assert!(reason.contains("always would save") && reason.ends_with("[truncated]"), "{reason}");
}

/// A question is not sent if its directory is too long to be shown in full.
#[tokio::test]
async fn a_directory_that_nobody_could_read_is_not_asked_for() {
    let guard = GatewayFixture::new(ONLY).await;
    let mut deep = question(&["/bin/a"]);
    let Subject::Exec(exec) = &mut deep.subject else { unreachable!() };
    exec.cwd = b"/\x01".repeat(4000);
    assert_eq!(ended(guard.ask(&deep)).await, Resolution::Failed);
}

#[tokio::test]
async fn a_release_is_asked_by_the_parameters_that_it_knows() {
    let guard = GatewayFixture::new(None).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    for name in ["warningText", "requireDeliveryRoute"] {
        let request = heard(&mut peer, "exec.approval.request").await;
        assert!(request["params"].get(name).is_some(), "{name}");
        let message = format!("invalid exec.approval.request params: at root: unexpected property '{name}'");
        peer.refuse(&request["id"], json!({"code": "INVALID_REQUEST", "message": message})).await;
    }
    let (params, wait) = taken(&mut peer, &ticket).await;
    assert!(params.get("warningText").is_none() && params.get("requireDeliveryRoute").is_none());
    decided(&mut peer, &wait, &params, json!("allow-once")).await;
    assert_eq!(ended(ticket).await, Resolution::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn required_fields_are_sent_though_the_gateway_rejects_them() {
    for name in ["command", "id", "twoPhase", "timeoutMs", "nothing"] {
        let guard = GatewayFixture::new(ONLY).await;
        let ticket = guard.ask(&question(&["/bin/a"]));
        let mut peer = guard.gateway.welcome().await;
        let request = heard(&mut peer, "exec.approval.request").await;
        let message = format!("at root: unexpected property '{name}'");
        peer.refuse(&request["id"], json!({"code": "INVALID_REQUEST", "message": message})).await;
        assert_eq!(ended(ticket).await, Resolution::Failed, "{name}");
    }
}

#[tokio::test]
async fn names_of_the_environment_are_shown_and_not_what_they_hold() {
    let guard = GatewayFixture::new(ONLY).await;
    let mut preloaded = question(&["/bin/a"]);
    let Subject::Exec(exec) = &mut preloaded.subject else { unreachable!() };
    exec.program_variables = vec![b"LD_PRELOAD=./evil.so".to_vec()];
    preloaded.always = Always::Never("it is set by hand".to_owned());
    let ticket = guard.ask(&preloaded);
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    assert_eq!(params["env"], json!({"LD_PRELOAD": ""}));
    assert_eq!(params["command"], "'LD_PRELOAD=./evil.so' /bin/a");
    assert_eq!(params["unavailableDecisions"], json!(["allow-always"]));
}
