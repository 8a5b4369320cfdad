//! Tests the synchronization against a gateway that sends what a test wants.

mod calls;
mod thread;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guard_policy::approval::GatewayUrl;
use guard_policy::store::NewEntry;
use guard_policy::{Document, Host, OpenclawStore, Outcome, Overrides, Policy};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::join;

use super::initial::ask_within;
use super::wire::{SyncError, add, fetch};
use super::*;
use crate::approvals_store::{self, Gateways, Snapshot};
use crate::gateway::testing::{Client, Gateway, admin_hello, hello};
use crate::gateway::{CallError, GatewaySettings, Link};

async fn linked_as(hello: Value) -> (Link, Client) {
    let gateway = Gateway::new().await;
    let access = gateway.access();
    let (link, client) = join!(Link::open(&access), gateway.welcome_by(hello));
    (link.unwrap(), client)
}

async fn linked() -> (Link, Client) {
    linked_as(admin_hello()).await
}

/// Returns the answer of 2026.9.6; older releases leave `resolvedDefaults` out.
fn get_answer(hash: &str, file: Value) -> Value {
    json!({ "path": "~/.openclaw/state/openclaw.sqlite#exec_approvals_config", "exists": true, "hash": hash,
            "file": file, "resolvedDefaults": { "security": "full", "ask": "off" } })
}

fn store_with(patterns: &[&str]) -> Value {
    let entry = |pattern: &&str| json!({ "pattern": pattern, "id": pattern });
    let list: Vec<Value> = patterns.iter().map(entry).collect();
    json!({ "version": 1, "socket": { "path": "/s" }, "defaults": {}, "agents": { "main": { "allowlist": list } } })
}

fn patterns(snapshot: &Snapshot) -> Vec<String> {
    let store = snapshot.reading().unwrap().store;
    store.allowlist("main").iter().map(|(_, entry)| entry.pattern().to_owned()).collect()
}

fn always(pattern: &str) -> NewEntry {
    NewEntry::new(pattern).unwrap().with_arg_pattern("sha256:cwd-argv:v1:00").from_allow_always()
}

/// Receives a call of this method; returns its id and parameters.
async fn called(client: &mut Client, method: &str) -> (Value, Value) {
    let mut call = client.hear().await;
    assert_eq!(call["method"], method);
    (call["id"].take(), call["params"].take())
}

async fn answer_get(client: &mut Client, hash: &str, file: Value) {
    let (id, params) = called(client, "exec.approvals.get").await;
    assert_eq!(params, json!({}));
    client.answer(&id, get_answer(hash, file)).await;
}

/// Refuses a change as both releases do when the hash is outdated.
async fn refuse_set(client: &mut Client) {
    let (id, _) = called(client, "exec.approvals.set").await;
    let message = "exec approvals changed since last load; re-run exec.approvals.get and retry";
    client.refuse(&id, json!({ "code": "INVALID_REQUEST", "message": message })).await;
}
