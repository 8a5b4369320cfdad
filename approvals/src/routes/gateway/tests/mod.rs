//! The route against a scripted gateway.

mod answers;
mod lost;
mod shown;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use guard_openclaw::gateway::testing::{Client as Peer, Gateway, admin_hello, hello};
use guard_openclaw::gateway::{
    GatewayOwner, GatewayRejected, GatewaySettings, NoAccess, NoSecret, NotGateway, OpenError,
};
use guard_openclaw::ports::Warn;
use guard_policy::approval::Route;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::line::Down;
use super::*;
use crate::Surroundings;
use crate::decision::{Decision, GrantWidth, Resolution, ResolveError, RouteFailure, Span};
use crate::lifecycle::{DenyReason, Going, Lifecycle};
use crate::manager::{AskOutcome, Manager, Ticket};
use crate::persist::GrantStore;
use crate::question::{Always, Question, Subject};
use crate::settings::Settings;
use crate::tests::{ALWAYS, file, host, question, settings};

const SOON: Duration = Duration::from_secs(60);

/// A guard that asks a gateway.
struct GatewayFixture {
    gateway: Gateway,
    manager: Manager,
    client: GatewayAsker,
    warnings: Arc<Mutex<Vec<String>>>,
    state: TempDir,
}

impl GatewayFixture {
    async fn new(routes: Option<&[Route]>) -> GatewayFixture {
        GatewayFixture::patient(routes, Duration::from_secs(60)).await
    }

    async fn patient(routes: Option<&[Route]>, patience: Duration) -> GatewayFixture {
        let gateway = Gateway::new().await;
        let routes = routes.map(<[Route]>::to_vec);
        let manager = Manager::new(Settings { routes, ..settings() }, ());
        tokio::spawn(manager.clone().expire_loop());
        manager.reach(Route::Gateway, true);
        let state = tempfile::tempdir().unwrap();
        let access = gateway.access();
        let find: Find = Arc::new(move || Ok(access.clone()));
        let line = Arc::new(Connection::impatient(find, patience));
        let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&warnings);
        let warn: Warn = Arc::new(move |line| lines.lock().unwrap().push(line));
        let grant_store = GrantStore::new(state.path());
        let around = Surroundings {
            state: state.path().to_owned(),
            home: "/nonexistent/u".into(),
            sync: guard_openclaw::gateway::SyncThread::new(
                "/nowhere".into(),
                Arc::new(|_| false),
                Arc::new(|_| {}),
            ),
            session_key: Some("agent:main:main".to_owned()),
            node_id: None,
            is_member: Arc::new(|_| false),
            warn,
            terminal: None,
        };
        let client = GatewayAsker::new(manager.clone(), grant_store, line, &around);
        tokio::spawn(client.clone().run());
        GatewayFixture { gateway, manager, client, warnings, state }
    }

    fn ask(&self, question: &Question) -> Ticket {
        match self.manager.register(&Arc::new(self.manager.create(question.clone()))) {
            AskOutcome::Waiting(ticket) => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn find(&self) -> Find {
        let access = self.gateway.access();
        Arc::new(move || Ok(access.clone()))
    }

    fn warnings(&self) -> String {
        self.warnings.lock().unwrap().join("\n")
    }
}

/// The next call of this method.
async fn heard(peer: &mut Peer, method: &str) -> Value {
    let call = timeout(SOON, peer.hear()).await.expect("a call");
    assert_eq!(call["method"], method, "{call}");
    call
}

/// Accepts the next question, and returns the id of the guard's call that waits for the decision.
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

async fn ended(ticket: Ticket) -> Resolution {
    timeout(SOON, ticket.ended()).await.expect("an end")
}

const ONLY: Option<&[Route]> = Some(&[Route::Gateway]);
