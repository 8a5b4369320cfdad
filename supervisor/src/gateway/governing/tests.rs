//! What governs, against a gateway that says what a test wants.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use guard_policy::approval::GatewayUrl;
use guard_policy::store::NewEntry;
use guard_policy::{Document, Host, OpenclawStore, Outcome, Overrides, Policy};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::join;

use super::said::{Unsaid, add, fetch};
use super::*;
use crate::gateway::access::{ADMIN, APPROVALS};
use crate::gateway::tests::scripted::{Client, Gateway, hello};
use crate::gateway::{CallError, Link, Wanted};
use crate::store::{self, Gateways, Snapshot};

fn admin_hello() -> Value {
    let mut hello = hello();
    hello["auth"]["scopes"] = json!([ADMIN, APPROVALS]);
    hello
}

/// The next that connects, let in with these scopes.
async fn welcome(gateway: &Gateway, hello: Value) -> Client {
    let mut client = gateway.accept().await;
    client.challenge().await;
    let connect = client.hear().await;
    client.answer(&connect["id"], hello).await;
    client
}

async fn linked_as(hello: Value) -> (Link, Client) {
    let gateway = Gateway::new().await;
    let access = gateway.access();
    let (link, client) = join!(Link::open(&access), welcome(&gateway, hello));
    (link.unwrap(), client)
}

async fn linked() -> (Link, Client) {
    linked_as(admin_hello()).await
}

/// As 2026.9.6 says it; older releases leave `resolvedDefaults` out.
fn said(hash: &str, file: Value) -> Value {
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

/// A call of this method; returns its id and parameters.
async fn called(client: &mut Client, method: &str) -> (Value, Value) {
    let mut call = client.hear().await;
    assert_eq!(call["method"], method);
    (call["id"].take(), call["params"].take())
}

async fn answer_get(client: &mut Client, hash: &str, file: Value) {
    let (id, params) = called(client, "exec.approvals.get").await;
    assert_eq!(params, json!({}));
    client.answer(&id, said(hash, file)).await;
}

/// What both releases say where another hash is the store's.
async fn refuse_set(client: &mut Client) {
    let (id, _) = called(client, "exec.approvals.set").await;
    let message = "exec approvals changed since last load; re-run exec.approvals.get and retry";
    client.refuse(&id, json!({ "code": "INVALID_REQUEST", "message": message })).await;
}

#[tokio::test]
async fn what_the_gateway_says_is_read() {
    let (link, mut client) = linked().await;
    let talk = answer_get(&mut client, "h", store_with(&["/usr/bin/a"]));
    let (snapshot, ()) = join!(fetch(&link, Some("ws://h")), talk);
    let snapshot = snapshot.unwrap();
    assert_eq!((snapshot.gateway.as_deref(), &*snapshot.hash), (Some("ws://h"), "h"));
    assert_eq!(patterns(&snapshot), ["/usr/bin/a"]);
}

#[tokio::test]
async fn what_cannot_be_read_is_not_kept() {
    let (link, mut client) = linked().await;
    for wrong in [
        json!(null),
        json!({}),
        json!({ "hash": "h" }),
        json!({ "hash": 1, "file": { "version": 1 } }),
        json!({ "hash": "h", "file": [] }),
        json!({ "hash": "h", "file": { "version": 2 } }),
        json!({ "hash": "h", "file": { "version": 1, "agents": [] } }),
        json!({ "hash": "h", "file": { "version": 1, "agents": { "main": 1 } } }),
    ] {
        let talk = async {
            let (id, _) = called(&mut client, "exec.approvals.get").await;
            client.answer(&id, wrong.clone()).await;
        };
        let (outcome, ()) = join!(fetch(&link, None), talk);
        assert!(matches!(outcome, Err(Unsaid::Strange(_))), "{wrong}: {outcome:?}");
    }
}

#[tokio::test]
async fn without_the_scope_it_is_not_called() {
    let (link, mut client) = linked_as(hello()).await;
    let why = fetch(&link, None).await.unwrap_err();
    assert!(matches!(why, Unsaid::NoAdmin), "{why}");
    assert!(matches!(add(&link, None, "main", &always("/x"), 1).await, Err(Unsaid::NoAdmin)));
    drop(link);
    client.gone().await;
}

#[tokio::test]
async fn an_entry_is_added_to_what_is_there_now() {
    let (link, mut client) = linked().await;
    let talk = async {
        // Somebody else changes it in between, twice.
        answer_get(&mut client, "h1", store_with(&["/usr/bin/a"])).await;
        refuse_set(&mut client).await;
        answer_get(&mut client, "h2", store_with(&["/usr/bin/b"])).await;
        refuse_set(&mut client).await;
        let mut file = store_with(&["/usr/bin/c"]);
        file["agents"]["other"] = json!({ "security": "deny", "kept": [1] });
        file["kept"] = json!("as it is");
        answer_get(&mut client, "h3", file.clone()).await;
        let (id, params) = called(&mut client, "exec.approvals.set").await;
        assert_eq!(params["baseHash"], "h3");
        let mut added = params["file"]["agents"]["main"]["allowlist"][1].clone();
        let uuid = added["id"].take();
        assert_eq!(uuid.as_str().map(str::len), Some(36));
        let expected = json!({ "id": null, "pattern": "/usr/bin/new", "argPattern": "sha256:cwd-argv:v1:00",
                               "source": "allow-always", "lastUsedAt": 7 });
        assert_eq!(added, expected);
        let mut rest = params["file"].clone();
        rest["agents"]["main"]["allowlist"].as_array_mut().unwrap().truncate(1);
        assert_eq!(rest, file);
        client.answer(&id, said("h4", params["file"].clone())).await;
    };
    let entry = always("/usr/bin/new");
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), talk);
    let added = added.unwrap();
    assert_eq!(
        (&*added.hash, patterns(&added)),
        ("h4", vec!["/usr/bin/c".to_owned(), "/usr/bin/new".to_owned()])
    );
}

#[tokio::test]
async fn an_entry_that_is_there_is_not_added_again() {
    let (link, mut client) = linked().await;
    let mut file = store_with(&[]);
    file["agents"]["main"]["allowlist"] = json!([{ "pattern": "/x", "argPattern": "sha256:cwd-argv:v1:00", "source": "allow-always", "id": "1" }]);
    let entry = always("/x");
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), answer_get(&mut client, "h", file));
    assert_eq!(added.unwrap().hash, "h");
    drop(link);
    client.gone().await;
}

#[tokio::test]
async fn who_is_always_too_late_gives_up() {
    let (link, mut client) = linked().await;
    let talk = async {
        for _ in 0..5 {
            answer_get(&mut client, "h", store_with(&[])).await;
            refuse_set(&mut client).await;
        }
    };
    let entry = always("/x");
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), talk);
    assert!(matches!(added, Err(Unsaid::Contended)));
    // What is refused for another reason is refused.
    let talk = async {
        answer_get(&mut client, "h", store_with(&[])).await;
        let (id, _) = called(&mut client, "exec.approvals.set").await;
        client.refuse(&id, json!({ "code": "INVALID_REQUEST", "message": "unexpected property 'x'" })).await;
    };
    let (added, ()) = join!(add(&link, None, "main", &entry, 7), talk);
    assert!(matches!(added, Err(Unsaid::Call(CallError::Refused(_)))));
    drop(link);
    client.gone().await;
}

/// A state directory.
struct Ground {
    directory: TempDir,
    complaints: Arc<Mutex<Vec<String>>>,
}

impl Ground {
    fn new() -> Ground {
        let directory = tempfile::tempdir().unwrap();
        let token = directory.path().join("token");
        fs::write(&token, "X\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        Ground { directory, complaints: Arc::default() }
    }

    fn state(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn wanted(&self, gateway: &Gateway) -> Wanted {
        Wanted {
            url: Some(GatewayUrl::parse(&gateway.url()).unwrap()),
            token_file: Some(Ok(self.state().join("token"))),
            admin: true,
            ..Wanted::default()
        }
    }

    fn follower(&self) -> Follower {
        let complaints = Arc::clone(&self.complaints);
        let complain = move |line| complaints.lock().unwrap().push(line);
        Follower::new(self.state(), Arc::new(|_| false), Arc::new(complain))
    }

    fn known(&self) -> Vec<String> {
        match store::load_gateways(&self.state()) {
            Gateways::Said { reading, .. } => {
                let list = reading.store.allowlist("main");
                list.iter().map(|(_, entry)| entry.pattern().to_owned()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    async fn until(&self, what: impl Fn(&Ground) -> bool) {
        while !what(self) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

/// On a plain thread, as workers and those who save call it.
async fn plainly<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answered) = tokio::sync::oneshot::channel();
    // Not of the runtime's: neither the start nor a worker is one of those.
    std::thread::spawn(move || done.send(call()).map_err(drop));
    answered.await.unwrap()
}

/// The next visit: what is there, and then the guard is gone.
async fn visited(gateway: &Gateway, hash: &str, file: Value) {
    let mut client = welcome(gateway, admin_hello()).await;
    answer_get(&mut client, hash, file).await;
    client.gone().await;
}

#[tokio::test]
async fn the_follower_keeps_what_it_hears() {
    let (ground, gateway) = (Ground::new(), Gateway::new().await);
    let follower = ground.follower();
    let entry = always("/b");
    assert_eq!(follower.add("main", &entry), Err(Unsaved::Elsewhere));
    follower.want(ground.wanted(&gateway));
    visited(&gateway, "h1", store_with(&["/a"])).await;
    assert_eq!(ground.known(), ["/a"]);
    let mode = fs::metadata(store::gateways(&ground.state())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // Somebody is about to be asked: when the look has ended, what the gateway says is there.
    let looks = (0..8).map(|_| {
        let follower = follower.clone();
        plainly(move || follower.look())
    });
    let mut looks = std::pin::pin!(futures_util::future::join_all(looks));
    loop {
        tokio::select! {
            _ = &mut looks => break,
            () = visited(&gateway, "h2", store_with(&["/a", "/c"])) => {}
        }
    }
    assert_eq!(ground.known(), ["/a", "/c"]);

    let adding = follower.clone();
    let added = plainly(move || adding.add("main", &entry));
    let talk = async {
        let mut client = welcome(&gateway, admin_hello()).await;
        answer_get(&mut client, "h3", store_with(&["/a"])).await;
        let (id, params) = called(&mut client, "exec.approvals.set").await;
        client.answer(&id, said("h4", params["file"].clone())).await;
        answer_get(&mut client, "h4", params["file"].clone()).await;
        client.gone().await;
    };
    let (added, ()) = join!(added, talk);
    assert_eq!(added, Ok(()));
    assert_eq!(ground.known(), ["/a", "/b"]);
    assert!(ground.complaints.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_lost_gateway_is_found_again_and_nothing_is_forgotten() {
    let (ground, gateway) = (Ground::new(), Gateway::new().await);
    let follower = ground.follower();
    follower.want(ground.wanted(&gateway));
    visited(&gateway, "h1", store_with(&["/a"])).await;
    let adding = follower.clone();
    let adding = plainly(move || adding.add("main", &always("/x")));
    let lost = async {
        let mut client = welcome(&gateway, admin_hello()).await;
        let _ = called(&mut client, "exec.approvals.get").await;
        // It is gone without a word.
    };
    let (added, ()) = join!(adding, lost);
    assert!(matches!(added, Err(Unsaved::Failed(_))), "{added:?}");
    assert_eq!(ground.known(), ["/a"]);
    visited(&gateway, "h2", store_with(&["/b"])).await;
    assert_eq!(ground.known(), ["/b"]);
    let complaints = ground.complaints.lock().unwrap().clone();
    let [complaint] = complaints.as_slice() else { panic!("{complaints:?}") };
    assert!(complaint.ends_with("; what the gateway said last counts"), "{complaint}");
}

#[tokio::test]
async fn who_is_no_administrator_is_told_once() {
    let (ground, gateway) = (Ground::new(), Gateway::new().await);
    let follower = ground.follower();
    follower.want(ground.wanted(&gateway));
    let mut client = welcome(&gateway, hello()).await;
    client.gone().await;
    ground.until(|ground| !ground.complaints.lock().unwrap().is_empty()).await;
    let adding = follower.clone();
    let Err(Unsaved::Failed(why)) = plainly(move || adding.add("main", &always("/x"))).await else {
        panic!("it is nowhere")
    };
    assert!(why.contains("does not grant operator.admin"), "{why}");
    assert_eq!(ground.complaints.lock().unwrap().len(), 1);
    assert_eq!(store::load_gateways(&ground.state()), Gateways::Never);
    // What is not wanted any more is not tried any more.
    follower.want(Wanted::default());
    let (looking, adding) = (follower.clone(), follower);
    plainly(move || looking.look()).await;
    assert_eq!(plainly(move || adding.add("main", &always("/x"))).await, Err(Unsaved::Elsewhere));
}

fn governed(url: &str, token: &Path, state: &Path) -> Policy {
    let document = json!({ "version": 1, "exec": { "security": "full", "ask": "off" },
        "approvals": { "gateway": { "url": url, "tokenFile": token, "admin": true } },
        "permissions": { "filesystem": { "rules": { "/usr/**": "r-x" } } } });
    let document = Document::parse("guard.json", &document.to_string()).unwrap();
    let gateways = store::load_gateways(state);
    let gateways = store::governing(&gateways, Some(url));
    let host = Host {
        gateways: gateways
            .as_ref()
            .map_or_else(|why| OpenclawStore::Broken(why), |reading| OpenclawStore::Present(reading)),
        ..Host::bare(b"/home/u", b"/")
    };
    Policy::compile(&document, "main", &host, &Overrides::default()).unwrap()
}

fn starts(policy: &Policy) -> Outcome {
    let exec = guard_policy::Exec {
        path: b"/usr/bin/ls",
        argv: &[b"ls".to_vec()],
        cwd: b"/",
        role: guard_policy::Role::Program,
    };
    guard_policy::decide(policy, &guard_policy::Request::Exec(exec)).outcome
}

#[tokio::test]
async fn it_is_asked_before_the_tree_starts() {
    let (ground, gateway) = (Ground::new(), Gateway::new().await);
    let (state, token, url) = (ground.state(), ground.state().join("token"), gateway.url());
    // Nobody knows yet.
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Deny);
    let ask = || {
        let (policy, state) = (governed(&url, &token, &state), state.clone());
        plainly(move || ask_first(&policy, &state))
    };
    let talk = async {
        let mut client = welcome(&gateway, admin_hello()).await;
        answer_get(&mut client, "h1", store_with(&[])).await;
        client.gone().await;
    };
    assert_eq!(join!(ask(), talk).0, Ok(()));
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Allow);
    let talk = async {
        let mut client = welcome(&gateway, admin_hello()).await;
        let denying = json!({ "version": 1, "defaults": { "security": "deny" }, "agents": {} });
        answer_get(&mut client, "h2", denying).await;
    };
    assert_eq!(join!(ask(), talk).0, Ok(()));
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Deny);

    // Whoever keeps it away changes nothing of that.
    let talk = async {
        let mut client = welcome(&gateway, hello()).await;
        client.gone().await;
    };
    let why = join!(ask(), talk).0.unwrap_err();
    assert!(
        why.contains("does not grant operator.admin") && why.ends_with("what it said last counts"),
        "{why}"
    );
    let asked = ask();
    drop(gateway);
    let why = asked.await.unwrap_err();
    assert!(why.contains("nobody listens") || why.contains("closed") || why.contains("ended"), "{why}");
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Deny);
    // Nor is it another gateway's word.
    assert_eq!(starts(&governed("ws://127.0.0.1:1", &token, &state)), Outcome::Deny);
}

#[test]
fn what_is_kept_is_what_was_said() {
    let ground = Ground::new();
    let state = ground.state();
    assert_eq!(store::load_gateways(&state), Gateways::Never);
    let snapshot = Snapshot::new(None, "h".to_owned(), store_with(&["/a"]));
    store::keep_gateways(&state, &snapshot).unwrap();
    let file = store::gateways(&state);
    let inode = || fs::metadata(&file).unwrap().ino();
    let before = inode();
    store::keep_gateways(&state, &snapshot).unwrap();
    assert_eq!(inode(), before, "what says the same is not written again");
    let known = store::load_gateways(&state);
    assert!(store::governing(&known, None).is_ok());
    assert!(store::governing(&known, Some("ws://h")).is_err());
    let whole = fs::read_to_string(&file).unwrap();
    for broken in [
        String::new(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace("\"version\": 1,\n  \"gateway\"", "\"version\": 2,\n  \"gateway\""),
        whole.replace("\"hash\"", "\"hush\""),
        whole.replace("\"agents\": {", "\"agents\": [], \"x\": {"),
    ] {
        fs::write(&file, &broken).unwrap();
        let known = store::load_gateways(&state);
        assert!(
            matches!(&known, Gateways::Broken(why) if why.contains("gateway-policy.json")),
            "{broken}: {known:?}"
        );
        assert!(store::governing(&known, None).is_err());
    }
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(state.join("token"), &file).unwrap();
    assert!(matches!(store::load_gateways(&state), Gateways::Broken(_)));
}
