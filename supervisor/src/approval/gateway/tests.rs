//! The route against a gateway that says what a test wants.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use guard_policy::approval::Route;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::super::decision::{Decision, End, Lack, ResolveError, Span};
use super::super::keep::Keeper;
use super::super::lifecycle::{Going, Reason, Told};
use super::super::manager::{Asked, Manager, Settings, Ticket};
use super::super::request::{Always, Question};
use super::super::runtime::{Complain, Surroundings};
use super::super::tests::{ALWAYS, file, question, settings};
use super::line::Down;
use super::*;
use crate::gateway::tests::scripted::{Client as Peer, Gateway, hello};
use crate::gateway::{NoAccess, OpenError, Turned, Wanted};

const SOON: Duration = Duration::from_secs(20);

/// A guard that asks at a gateway.
struct Guard {
    gateway: Gateway,
    manager: Manager,
    client: Client,
    line: Arc<Line>,
    said: Arc<Mutex<Vec<String>>>,
    state: TempDir,
}

impl Guard {
    async fn new(routes: Option<&[Route]>) -> Guard {
        Guard::patient(routes, Duration::from_secs(60)).await
    }

    async fn patient(routes: Option<&[Route]>, patience: Duration) -> Guard {
        let gateway = Gateway::new().await;
        let routes = routes.map(<[Route]>::to_vec);
        let manager = Manager::new(Settings { routes, ..settings() }, ());
        tokio::spawn(manager.clone().keep_time());
        manager.reach(Route::Gateway, true);
        let state = tempfile::tempdir().unwrap();
        let access = gateway.access();
        let line = Arc::new(Line::impatient(Arc::new(move || Ok(access.clone())), patience));
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&said);
        let complain: Complain = Arc::new(move |line| lines.lock().unwrap().push(line));
        let keeper = Keeper::new(state.path());
        let around = Surroundings {
            state: state.path().to_owned(),
            home: "/home/u".into(),
            follower: crate::gateway::Follower::new("/nowhere".into(), Arc::new(|_| false), Arc::new(|_| {})),
            session_key: Some("agent:main:main".to_owned()),
            is_member: Arc::new(|_| false),
            complain,
            terminal: None,
        };
        let client = Client::new(manager.clone(), keeper, Arc::clone(&line), &around);
        tokio::spawn(client.clone().run());
        Guard { gateway, manager, client, line, said, state }
    }

    fn ask(&self, question: &Question) -> Ticket {
        match self.manager.register(&Arc::new(self.manager.create(question.clone()))) {
            Asked::Waiting(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }
}

/// The next call of this method.
async fn heard(peer: &mut Peer, method: &str) -> Value {
    let call = timeout(SOON, peer.hear()).await.expect("a call");
    assert_eq!(call["method"], method, "{call}");
    call
}

/// Takes the question that comes next, and hears what the guard waits for. The id of that call.
async fn taken(peer: &mut Peer, ticket: &Ticket) -> (Value, Value) {
    let request = heard(peer, "exec.approval.request").await;
    assert_eq!(request["params"]["id"], ticket.call().to_string());
    peer.answer(&request["id"], json!({"status": "accepted", "id": request["params"]["id"]})).await;
    let wait = heard(peer, "exec.approval.waitDecision").await;
    assert_eq!(wait["params"], json!({"id": request["params"]["id"]}));
    (request["params"].clone(), wait["id"].clone())
}

async fn decided(peer: &mut Peer, call: &Value, params: &Value, decision: Value) {
    peer.answer(call, json!({"id": params["id"], "decision": decision})).await;
}

async fn ended(ticket: Ticket) -> End {
    timeout(SOON, ticket.ended()).await.expect("an end")
}

const ONLY: Option<&[Route]> = Some(&[Route::Gateway]);

#[tokio::test]
async fn a_program_is_shown_as_it_would_run() {
    let guard = Guard::new(ONLY).await;
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
    assert!(reason.contains("no entry names it (allowlist miss)") && reason.contains("bash 7"), "{reason}");
    // Nobody else could answer: without anybody there, that is said at once.
    assert_eq!(params.get("requireDeliveryRoute"), None);
    assert_eq!(params.get("unavailableDecisions"), None);
    let call = ticket.call();
    decided(&mut peer, &wait, &params, json!("allow-once")).await;
    assert_eq!(ended(ticket).await, End::Resolved(Decision::AllowOnce));
    assert!(guard.manager.consume(call) && !guard.manager.consume(call));
}

#[tokio::test]
async fn a_file_is_shown_with_who_asks() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&file("/home/u/a b"));
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "[read] ~/a b by bash 7");
    assert_eq!(params.get("commandArgv"), None);
    assert_eq!(params["unavailableDecisions"], json!(["allow-always"]));
    decided(&mut peer, &wait, &params, json!("deny")).await;
    assert_eq!(ended(ticket).await, End::Resolved(Decision::Deny));
}

/// What a process or a file calls itself says nothing of another one.
#[tokio::test]
async fn no_name_looks_like_something_else() {
    let guard = Guard::new(ONLY).await;
    let mut named = file("/home/u/notes by vim 4 < sh 1");
    named.asked_by[0].name = "vim 4 < bash".to_owned();
    let ticket = guard.ask(&named);
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "[read] '~/notes by vim 4 < sh 1' by 'vim 4 < bash' 7");
    assert!(params["warningText"].as_str().unwrap().contains("asked by 'vim 4 < bash' 7 (agent"));
}

/// A secret that only the argument before it tells is one in each of the parameters.
#[tokio::test]
async fn no_secret_leaves_in_an_argument() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a", "--password", "hunter2hunter2"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    assert_eq!(params["command"], "/bin/a --password '***'".replace('\'', ""));
    assert_eq!(params.get("commandArgv"), None);
    assert!(!params.to_string().contains("hunter2"), "{params}");
}

/// Many processes do not push what "always" saves off the card.
#[tokio::test]
async fn whoever_asks_hides_nothing() {
    let guard = Guard::new(ONLY).await;
    let mut crowded = question(&["/bin/a"]);
    let one = crowded.asked_by[0].clone();
    crowded.asked_by.extend(vec![one; 500]);
    let ticket = guard.ask(&crowded);
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    let reason = params["warningText"].as_str().unwrap();
    assert!(reason.contains("always would save") && reason.ends_with("[truncated]"), "{reason}");
}

/// Nor does a directory that cannot be shown whole.
#[tokio::test]
async fn a_directory_that_nobody_could_read_is_not_asked_for() {
    let guard = Guard::new(ONLY).await;
    let mut deep = question(&["/bin/a"]);
    let super::super::request::Subject::Exec(exec) = &mut deep.subject else { unreachable!() };
    exec.cwd = b"/\x01".repeat(4000);
    assert_eq!(ended(guard.ask(&deep)).await, End::Failed);
}

#[tokio::test]
async fn always_is_saved_and_for_what_cannot_be_it_is_this_time() {
    let guard = Guard::new(ONLY).await;
    let (program, other) = (guard.ask(&question(&["/bin/a"])), guard.ask(&file("/x")));
    let mut peer = guard.gateway.welcome().await;
    let mut waits = Vec::new();
    while waits.len() < 2 {
        let call = timeout(SOON, peer.hear()).await.unwrap();
        if call["method"] == "exec.approval.request" {
            peer.answer(&call["id"], json!({"status": "accepted", "id": call["params"]["id"]})).await;
        } else {
            waits.push(call);
        }
    }
    for wait in waits {
        decided(&mut peer, &wait["id"], &wait["params"], json!("allow-always")).await;
    }
    assert_eq!(ended(program).await, End::Resolved(ALWAYS));
    assert_eq!(ended(other).await, End::Resolved(Decision::AllowOnce));
    let store = guard.state.path().join("guard/approvals.json");
    for _ in 0..200 {
        if store.exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(std::fs::read_to_string(store).unwrap().contains("/bin/a"));
    assert!(guard.said().contains("this time only"), "{}", guard.said());
}

#[tokio::test]
async fn without_anybody_there_it_is_no_route() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    decided(&mut peer, &request["id"], &request["params"], Value::Null).await;
    assert_eq!(ended(ticket).await, End::NoRoute);
    assert!(guard.said().contains("Control UI"), "{}", guard.said());
}

#[tokio::test]
async fn where_others_are_asked_it_waits_for_whoever_comes() {
    let guard = Guard::new(None).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    assert_eq!(request["params"]["requireDeliveryRoute"], false);
    // All the same a release that does not know that says so.
    decided(&mut peer, &request["id"], &request["params"], Value::Null).await;
    let call = ticket.call();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(guard.manager.resolve(&call.to_string(), None, Decision::AllowOnce, Route::Cli).is_ok());
    assert_eq!(ended(ticket).await, End::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn no_card_stays() {
    for (elsewhere, word) in [
        (Some(Decision::AllowFor(Span::Session)), "allow-once"),
        (Some(ALWAYS), "allow-once"),
        (Some(Decision::Deny), "deny"),
        (None, "deny"),
    ] {
        let guard = Guard::new(None).await;
        let ticket = guard.ask(&question(&["/bin/a"]));
        let mut peer = guard.gateway.welcome().await;
        let (params, _) = taken(&mut peer, &ticket).await;
        match elsewhere {
            Some(decision) => {
                guard.manager.resolve(&ticket.call().to_string(), None, decision, Route::Cli).unwrap();
            }
            // Its caller has gone.
            None => drop(ticket),
        }
        let resolve = heard(&mut peer, "exec.approval.resolve").await;
        assert_eq!(resolve["params"], json!({"id": params["id"], "decision": word}));
        peer.answer(&resolve["id"], json!({"ok": true})).await;
        timeout(SOON, guard.client.idle()).await.unwrap();
    }
}

#[tokio::test]
async fn a_guard_that_ends_takes_back_what_waits() {
    let guard = Guard::new(None).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    guard.manager.close("the guard is ending");
    let idle = guard.client.idle();
    let resolve = async {
        let resolve = heard(&mut peer, "exec.approval.resolve").await;
        assert_eq!(resolve["params"], json!({"id": params["id"], "decision": "deny"}));
        peer.answer(&resolve["id"], json!({"ok": true})).await;
    };
    timeout(SOON, async { tokio::join!(idle, resolve) }).await.unwrap();
    assert_eq!(ended(ticket).await, End::Withdrawn);
}

#[tokio::test]
async fn a_release_is_asked_by_the_parameters_that_it_knows() {
    let guard = Guard::new(None).await;
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
    assert_eq!(ended(ticket).await, End::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn what_it_must_know_is_not_left_out() {
    for name in ["command", "id", "twoPhase", "timeoutMs", "nothing"] {
        let guard = Guard::new(ONLY).await;
        let ticket = guard.ask(&question(&["/bin/a"]));
        let mut peer = guard.gateway.welcome().await;
        let request = heard(&mut peer, "exec.approval.request").await;
        let message = format!("at root: unexpected property '{name}'");
        peer.refuse(&request["id"], json!({"code": "INVALID_REQUEST", "message": message})).await;
        assert_eq!(ended(ticket).await, End::Failed, "{name}");
    }
}

#[tokio::test]
async fn a_lost_connection_is_made_again_and_the_same_question_awaited() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    for _ in 0..2 {
        drop(peer);
        peer = guard.gateway.welcome().await;
        // No second card: it is not asked again.
        let wait = heard(&mut peer, "exec.approval.waitDecision").await;
        assert_eq!(wait["params"]["id"], params["id"]);
    }
    drop(peer);
    let mut peer = guard.gateway.welcome().await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    decided(&mut peer, &wait["id"], &params, json!("allow-once")).await;
    assert_eq!(ended(ticket).await, End::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn one_that_was_lost_while_it_was_asked_is_asked_once() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    drop(peer);
    let mut peer = guard.gateway.welcome().await;
    // It was not heard of there.
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    let unknown = json!({"code": "INVALID_REQUEST", "message": "approval expired or not found"});
    peer.refuse(&wait["id"], unknown).await;
    let again = heard(&mut peer, "exec.approval.request").await;
    assert_eq!(again["params"]["id"], request["params"]["id"]);
    // It was, just then.
    peer.refuse(&again["id"], json!({"code": "INVALID_REQUEST", "message": "approval id already pending"}))
        .await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    decided(&mut peer, &wait["id"], &request["params"], json!("deny")).await;
    assert_eq!(ended(ticket).await, End::Resolved(Decision::Deny));
}

async fn restarted(gateway: &Gateway, boot: &str) -> Peer {
    let mut peer = gateway.accept().await;
    peer.challenge().await;
    let connect = peer.hear().await;
    let mut hello = hello();
    hello["server"]["bootId"] = json!(boot);
    peer.answer(&connect["id"], hello).await;
    peer
}

#[tokio::test]
async fn a_gateway_that_has_forgotten_by_starting_again_is_asked_again() {
    let guard = Guard::new(None).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    drop(peer);
    let mut peer = restarted(&guard.gateway, "boot-2").await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    let unknown = json!({"code": "INVALID_REQUEST", "message": "approval expired or not found"});
    peer.refuse(&wait["id"], unknown).await;
    let request = heard(&mut peer, "exec.approval.request").await;
    assert_eq!(request["params"]["id"], params["id"]);
    // 2026.9.6 takes no id twice.
    let used = json!({"code": "UNAVAILABLE", "message": "approval request unavailable"});
    peer.refuse(&request["id"], used).await;
    let request = heard(&mut peer, "exec.approval.request").await;
    assert_ne!(request["params"]["id"], params["id"]);
    peer.answer(&request["id"], json!({"status": "accepted", "id": request["params"]["id"]})).await;
    heard(&mut peer, "exec.approval.waitDecision").await;
    // It goes by that name, too.
    drop(ticket);
    let resolve = heard(&mut peer, "exec.approval.resolve").await;
    assert_eq!(resolve["params"]["id"], request["params"]["id"]);
}

#[tokio::test]
async fn an_answer_that_was_missed_is_none() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    taken(&mut peer, &ticket).await;
    drop(peer);
    // The same run of the gateway: somebody has answered meanwhile, and a second card would ask them again.
    let mut peer = guard.gateway.welcome().await;
    let wait = heard(&mut peer, "exec.approval.waitDecision").await;
    let unknown = json!({"code": "INVALID_REQUEST", "message": "approval expired or not found"});
    peer.refuse(&wait["id"], unknown).await;
    assert_eq!(ended(ticket).await, End::Failed);
}

#[tokio::test]
async fn a_gateway_that_stays_away_is_no_route() {
    let guard = Guard::patient(ONLY, Duration::from_secs(2)).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    taken(&mut peer, &ticket).await;
    let Guard { gateway, said, .. } = guard;
    drop((peer, gateway));
    assert_eq!(ended(ticket).await, End::NoRoute);
    assert!(said.lock().unwrap().join("\n").contains("nobody listens"));
}

#[tokio::test]
async fn one_that_was_never_there_is_none_at_once() {
    let mut guard = Guard::new(ONLY).await;
    // The old one does not listen any more.
    guard.gateway = Gateway::new().await;
    assert_eq!(ended(guard.ask(&question(&["/bin/a"]))).await, End::NoRoute);
    assert!(guard.said().contains("nobody listens"), "{}", guard.said());
}

/// Says that no connection is taken for now, to one that comes.
async fn busy(gateway: &Gateway) {
    let mut raw = gateway.raw().await;
    raw.write_all(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    // It is heard before the end.
    let _ = raw.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn one_that_takes_nobody_for_now_is_tried_again() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    for _ in 0..2 {
        busy(&guard.gateway).await;
    }
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    decided(&mut peer, &wait, &params, json!("allow-once")).await;
    assert!(matches!(ended(ticket).await, End::Resolved(_)), "{}", guard.said());
}

#[tokio::test]
async fn one_that_takes_nobody_for_long_is_none() {
    let guard = Guard::patient(ONLY, Duration::from_secs(1)).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let refusing = async {
        loop {
            busy(&guard.gateway).await;
        }
    };
    tokio::select! {
        () = refusing => {}
        end = ended(ticket) => assert_eq!(end, End::Failed),
    }
    assert!(guard.said().contains("503"), "{}", guard.said());
}

#[tokio::test]
async fn one_that_lets_nobody_in_is_none() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.accept().await;
    peer.challenge().await;
    let connect = peer.hear().await;
    let message = "unauthorized: gateway token mismatch";
    let error =
        json!({"code": "INVALID_REQUEST", "message": message, "details": {"code": "AUTH_TOKEN_MISMATCH"}});
    peer.refuse(&connect["id"], error).await;
    assert_eq!(ended(ticket).await, End::Failed);
    assert!(guard.said().contains(message), "{}", guard.said());
}

#[tokio::test]
async fn what_cannot_be_understood_is_no_answer() {
    let other = uuid::Uuid::nil().to_string();
    for (n, strange) in [
        json!(null),
        json!("allow-once"),
        json!({"decision": "allow-once"}),
        json!({"id": other, "decision": "allow-once"}),
        json!({"id": "ID", "decision": "allow"}),
        json!({"id": "ID", "decision": "ALLOW-ONCE"}),
        json!({"id": "ID", "decision": true}),
        json!({"id": "ID", "decision": ["allow-once"]}),
        json!({"id": "ID", "status": "accepted"}),
        json!({"id": "ID", "status": "resolved"}),
        json!({"id": "ID"}),
        json!({"ok": true}),
    ]
    .into_iter()
    .enumerate()
    {
        let guard = Guard::new(ONLY).await;
        let ticket = guard.ask(&question(&["/bin/a"]));
        let mut peer = guard.gateway.welcome().await;
        let (params, wait) = taken(&mut peer, &ticket).await;
        let mut strange = strange;
        if strange["id"] == "ID" {
            strange["id"] = params["id"].clone();
        }
        peer.answer(&wait, strange).await;
        assert_eq!(ended(ticket).await, End::Failed, "{n}");
    }
}

#[tokio::test]
async fn an_error_is_no_answer() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    let payload = json!({"id": params["id"], "decision": "allow-once"});
    peer.say(json!({"type": "res", "id": wait, "ok": false, "payload": payload,
        "error": {"code": "FORBIDDEN", "message": "allow-once"}}))
        .await;
    assert_eq!(ended(ticket).await, End::Failed);
}

#[tokio::test]
async fn what_is_not_taken_for_now_is_asked_again() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a"]));
    let mut peer = guard.gateway.welcome().await;
    let request = heard(&mut peer, "exec.approval.request").await;
    let busy =
        json!({"code": "UNAVAILABLE", "message": "unavailable during gateway restart", "retryable": true});
    peer.refuse(&request["id"], busy).await;
    let (params, wait) = taken(&mut peer, &ticket).await;
    decided(&mut peer, &wait, &params, json!("allow-once")).await;
    assert_eq!(ended(ticket).await, End::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn what_nobody_could_read_is_not_asked() {
    let guard = Guard::new(ONLY).await;
    let ticket = guard.ask(&question(&["/bin/a", &"x".repeat(20_000)]));
    assert_eq!(ended(ticket).await, End::Failed);
    assert!(guard.said().contains("too long"), "{}", guard.said());
}

/// What nobody was shown is not allowed for the lack of an answer, even if others could have been asked who stay silent.
#[tokio::test(start_paused = true)]
async fn silence_is_no_answer_where_a_route_has_failed() {
    let guard = Guard::new(Some(&[Route::Gateway, Route::Cli])).await;
    let long = guard.ask(&question(&["/bin/a", &"x".repeat(20_000)]));
    let call = long.call().to_string();
    let ended = tokio::time::timeout(Duration::from_secs(3600), long.ended()).await.unwrap();
    assert_eq!(ended, End::Failed);
    let late = guard.manager.resolve(&call, None, Decision::AllowOnce, Route::Cli);
    assert_eq!(late, Err(ResolveError::NoRoute));
    // Whoever is asked all the same may answer.
    let long = guard.ask(&question(&["/bin/b", &"x".repeat(20_000)]));
    tokio::time::sleep(Duration::from_millis(100)).await;
    guard.manager.resolve(&long.call().to_string(), None, Decision::AllowOnce, Route::Cli).unwrap();
    assert_eq!(long.ended().await, End::Resolved(Decision::AllowOnce));
}

#[tokio::test]
async fn a_question_that_is_nearly_over_fails_all_the_same() {
    let guard = Guard::new(ONLY).await;
    let short = Settings { timeout: Duration::from_millis(1500), ..settings() };
    guard.manager.configure(Settings { routes: ONLY.map(<[Route]>::to_vec), ..short });
    let ticket = guard.ask(&question(&["/bin/a", &"x".repeat(20_000)]));
    assert_eq!(ended(ticket).await, End::Failed);
}

/// Only where the kernel says that nobody is there is nobody there.
#[test]
fn what_hinders_the_guard_is_no_absence() {
    use std::io::{Error, ErrorKind};
    let at = || "ws://127.0.0.1:1".to_owned();
    let down = |error| Down::Open(Arc::new(error)).lack();
    assert_eq!(down(OpenError::Nobody { at: at() }), Lack::Nobody);
    for (kind, lack) in [
        (ErrorKind::HostUnreachable, Lack::Nobody),
        (ErrorKind::NetworkUnreachable, Lack::Nobody),
        (ErrorKind::TimedOut, Lack::Nobody),
        // Somebody has all the ports, descriptors or memory.
        (ErrorKind::AddrNotAvailable, Lack::Failed),
        (ErrorKind::OutOfMemory, Lack::Failed),
        (ErrorKind::PermissionDenied, Lack::Failed),
    ] {
        assert_eq!(down(OpenError::Unreachable { at: at(), error: Error::from(kind) }), lack, "{kind}");
    }
    let files = OpenError::Unreachable { at: at(), error: Error::from_raw_os_error(libc::EMFILE) };
    assert_eq!(down(files), Lack::Failed);
    assert_eq!(down(OpenError::Slow { at: at(), what: "an answer", seconds: 1 }), Lack::Failed);
    assert_eq!(down(OpenError::Turned { at: at(), turned: Turned::Member(1) }), Lack::Failed);
    assert_eq!(down(OpenError::NoGateway { at: at(), why: String::new() }), Lack::Failed);
    assert_eq!(Down::Broken.lack(), Lack::Failed);
    let missing = |why: &str| NoAccess::Secret { at: at(), why: why.to_owned() };
    assert_eq!(Down::Access(missing("others may read it")).lack(), Lack::Failed);
    let nowhere = NoAccess::Nowhere { at: at(), why: String::new() };
    assert_eq!(Down::Access(nowhere).lack(), Lack::Nobody);
}

async fn admitted(gateway: &Gateway) -> Peer {
    let mut peer = gateway.accept().await;
    peer.challenge().await;
    let connect = peer.hear().await;
    let mut hello = hello();
    hello["auth"]["scopes"] = json!(["operator.admin", "operator.approvals"]);
    peer.answer(&connect["id"], hello).await;
    peer
}

#[tokio::test]
async fn the_session_is_told_how_programs_go_on_where_that_may_be_told() {
    let guard = Guard::new(ONLY).await;
    let session = Session::new(guard.manager.clone(), Arc::clone(&guard.line), "agent:main:main".to_owned());
    tokio::spawn(session.run());
    let told = || Told {
        id: uuid::Uuid::nil(),
        command: "curl --token sk-abcdefghijklmnopqrstuvwxyz012345 \u{1b}[31m".to_owned(),
        going: Going::Denied(Reason::User),
    };
    tokio::task::yield_now().await;
    // Without `admin` nothing is said, and no connection made.
    guard.manager.tell(told());
    let gateway = Wanted { admin: true, ..Wanted::default() };
    tokio::time::sleep(Duration::from_millis(100)).await;
    guard.manager.configure(Settings { gateway, ..settings() });
    guard.manager.tell(told());
    let mut peer = admitted(&guard.gateway).await;
    let event = heard(&mut peer, "system-event").await;
    assert_eq!(event["params"]["sessionKey"], "agent:main:main");
    let text = event["params"]["text"].as_str().unwrap();
    assert!(text.starts_with("Exec denied (guard id="), "{text}");
    assert!(!text.contains("abcdefghijklmnop") && !text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn names_of_the_environment_are_shown_and_not_what_they_hold() {
    let guard = Guard::new(ONLY).await;
    let mut preloaded = question(&["/bin/a"]);
    let super::super::request::Subject::Exec(exec) = &mut preloaded.subject else { unreachable!() };
    exec.telling = vec![b"LD_PRELOAD=./evil.so".to_vec()];
    preloaded.always = Always::Never("it is set by hand".to_owned());
    let ticket = guard.ask(&preloaded);
    let mut peer = guard.gateway.welcome().await;
    let (params, _) = taken(&mut peer, &ticket).await;
    assert_eq!(params["env"], json!({"LD_PRELOAD": ""}));
    assert_eq!(params["command"], "'LD_PRELOAD=./evil.so' /bin/a");
    assert_eq!(params["unavailableDecisions"], json!(["allow-always"]));
}
