//! Tests what the guard saves, before the tree starts and while it runs.

use super::*;

/// Long enough for the gateway's answer, however slow the machine is.
const LONG: Duration = Duration::from_secs(60);

/// A state directory.
struct SyncFixture {
    directory: TempDir,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl SyncFixture {
    fn new() -> SyncFixture {
        let directory = tempfile::tempdir().unwrap();
        let token = directory.path().join("token");
        fs::write(&token, "X\n").unwrap();
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
        SyncFixture { directory, warnings: Arc::default() }
    }

    fn state(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    fn settings(&self, gateway: &Gateway) -> GatewaySettings {
        GatewaySettings {
            url: Some(GatewayUrl::parse(&gateway.url()).unwrap()),
            token_file: Some(Ok(self.state().join("token"))),
            admin: true,
            ..GatewaySettings::default()
        }
    }

    fn sync(&self) -> SyncThread {
        let warnings = Arc::clone(&self.warnings);
        let warn = move |line| warnings.lock().unwrap().push(line);
        SyncThread::patient(self.state(), Arc::new(|_| false), Arc::new(warn), LONG)
    }

    fn known(&self) -> Vec<String> {
        match approvals_store::load_gateways(&self.state()) {
            Gateways::Said { reading, .. } => {
                let list = reading.store.allowlist("main");
                list.iter().map(|(_, entry)| entry.pattern().to_owned()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    async fn until(&self, what: impl Fn(&SyncFixture) -> bool) {
        while !what(self) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Runs a call on a plain thread, as the guard's callers do.
async fn plainly<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answered) = tokio::sync::oneshot::channel();
    // This thread does not belong to the runtime: neither do the threads of the guard's callers.
    std::thread::spawn(move || done.send(call()).map_err(drop));
    answered.await.unwrap()
}

/// Serves this store to the guard's next visit, and waits until the guard disconnects.
async fn visited(gateway: &Gateway, hash: &str, file: Value) {
    let mut client = gateway.welcome_by(admin_hello()).await;
    answer_get(&mut client, hash, file).await;
    client.gone().await;
}

#[tokio::test]
async fn the_sync_thread_stores_what_it_receives() {
    let (fixture, gateway) = (SyncFixture::new(), Gateway::new().await);
    let sync = fixture.sync();
    let entry = always("/b");
    assert!(matches!(sync.add("main", &entry), Err(Unsaved::Elsewhere)));
    sync.want(fixture.settings(&gateway));
    visited(&gateway, "h1", store_with(&["/a"])).await;
    assert_eq!(fixture.known(), ["/a"]);
    let mode = fs::metadata(approvals_store::gateways(&fixture.state())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // `look` is called before a human is asked. When it returns, the gateway's store is saved.
    let looks = (0..8).map(|_| {
        let sync = sync.clone();
        plainly(move || sync.look())
    });
    let mut looks = std::pin::pin!(futures_util::future::join_all(looks));
    loop {
        tokio::select! {
            _ = &mut looks => break,
            () = visited(&gateway, "h2", store_with(&["/a", "/c"])) => {}
        }
    }
    assert_eq!(fixture.known(), ["/a", "/c"]);

    let adding = sync.clone();
    let added = plainly(move || adding.add("main", &entry));
    let talk = async {
        let mut client = gateway.welcome_by(admin_hello()).await;
        answer_get(&mut client, "h3", store_with(&["/a"])).await;
        let (id, params) = called(&mut client, "exec.approvals.set").await;
        client.answer(&id, get_answer("h4", params["file"].clone())).await;
        answer_get(&mut client, "h4", params["file"].clone()).await;
        client.gone().await;
    };
    let (added, ()) = join!(added, talk);
    assert!(added.is_ok(), "{added:?}");
    assert_eq!(fixture.known(), ["/a", "/b"]);
    assert!(fixture.warnings.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_lost_gateway_is_found_again_and_nothing_is_forgotten() {
    let (fixture, gateway) = (SyncFixture::new(), Gateway::new().await);
    let sync = fixture.sync();
    sync.want(fixture.settings(&gateway));
    visited(&gateway, "h1", store_with(&["/a"])).await;
    let adding = sync.clone();
    let adding = plainly(move || adding.add("main", &always("/x")));
    let lost = async {
        let mut client = gateway.welcome_by(admin_hello()).await;
        let _ = called(&mut client, "exec.approvals.get").await;
        // The gateway disconnects without an answer.
    };
    let (added, ()) = join!(adding, lost);
    assert!(matches!(added, Err(Unsaved::Failed(_))), "{added:?}");
    assert_eq!(fixture.known(), ["/a"]);
    visited(&gateway, "h2", store_with(&["/b"])).await;
    assert_eq!(fixture.known(), ["/b"]);
    let warnings = fixture.warnings.lock().unwrap().clone();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.ends_with("; the last approvals from the gateway stay in force"), "{warning}");
}

#[tokio::test]
async fn a_missing_admin_scope_is_reported_once() {
    let (fixture, gateway) = (SyncFixture::new(), Gateway::new().await);
    let sync = fixture.sync();
    sync.want(fixture.settings(&gateway));
    let mut client = gateway.welcome_by(hello()).await;
    client.gone().await;
    fixture.until(|fixture| !fixture.warnings.lock().unwrap().is_empty()).await;
    let adding = sync.clone();
    let Err(Unsaved::Failed(why)) = plainly(move || adding.add("main", &always("/x"))).await else {
        panic!("it is nowhere")
    };
    assert!(matches!(*why, SyncError::NoAdmin), "{why}");
    assert_eq!(fixture.warnings.lock().unwrap().len(), 1);
    assert_eq!(approvals_store::load_gateways(&fixture.state()), Gateways::Never);
    // Without the setting, nothing is tried.
    sync.want(GatewaySettings::default());
    let (looking, adding) = (sync.clone(), sync);
    plainly(move || looking.look()).await;
    let added = plainly(move || adding.add("main", &always("/x"))).await;
    assert!(matches!(added, Err(Unsaved::Elsewhere)), "{added:?}");
}

fn governed(url: &str, token: &Path, state: &Path) -> Policy {
    let document = json!({ "version": 1, "exec": { "security": "full", "ask": "off" },
        "approvals": { "gateway": { "url": url, "tokenFile": token, "admin": true } },
        "permissions": { "filesystem": { "rules": { "/usr/**": "r-x" } } } });
    let document = Document::parse("guard.json", &document.to_string()).unwrap();
    let gateways = approvals_store::load_gateways(state);
    let gateways = approvals_store::governing(&gateways, Some(url)).map_err(|error| error.to_string());
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
async fn the_gateway_is_asked_before_the_tree_starts() {
    let (fixture, gateway) = (SyncFixture::new(), Gateway::new().await);
    let (state, token, url) = (fixture.state(), fixture.state().join("token"), gateway.url());
    // The gateway's store is not known yet.
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Deny);
    let ask = || {
        let (policy, state) = (governed(&url, &token, &state), state.clone());
        plainly(move || ask_within(&policy, &state, LONG))
    };
    let talk = async {
        let mut client = gateway.welcome_by(admin_hello()).await;
        answer_get(&mut client, "h1", store_with(&[])).await;
        client.gone().await;
    };
    join!(ask(), talk).0.unwrap();
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Allow);
    let talk = async {
        let mut client = gateway.welcome_by(admin_hello()).await;
        let denying = json!({ "version": 1, "defaults": { "security": "deny" }, "agents": {} });
        answer_get(&mut client, "h2", denying).await;
    };
    join!(ask(), talk).0.unwrap();
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Deny);

    // The saved store still counts if the gateway is blocked.
    let talk = async {
        let mut client = gateway.welcome_by(hello()).await;
        client.gone().await;
    };
    let why = join!(ask(), talk).0.unwrap_err().to_string();
    assert!(
        why.contains("does not grant operator.admin") && why.ends_with("the last ones from it stay in force"),
        "{why}"
    );
    let asked = ask();
    drop(gateway);
    let why = asked.await.unwrap_err().to_string();
    assert!(why.contains("nobody listens") || why.contains("closed") || why.contains("ended"), "{why}");
    assert_eq!(starts(&governed(&url, &token, &state)), Outcome::Deny);
    // The store does not count for another gateway.
    assert_eq!(starts(&governed("ws://127.0.0.1:1", &token, &state)), Outcome::Deny);
}

#[test]
fn the_snapshot_is_read_back_as_it_was_stored() {
    let fixture = SyncFixture::new();
    let state = fixture.state();
    assert_eq!(approvals_store::load_gateways(&state), Gateways::Never);
    let snapshot = Snapshot::new(None, "h".to_owned(), store_with(&["/a"]));
    approvals_store::save_gateways(&state, &snapshot).unwrap();
    let file = approvals_store::gateways(&state);
    let inode = || fs::metadata(&file).unwrap().ino();
    let before = inode();
    approvals_store::save_gateways(&state, &snapshot).unwrap();
    assert_eq!(inode(), before, "what says the same is not written again");
    let known = approvals_store::load_gateways(&state);
    assert!(approvals_store::governing(&known, None).is_ok());
    assert!(approvals_store::governing(&known, Some("ws://h")).is_err());
    let whole = fs::read_to_string(&file).unwrap();
    for broken in [
        String::new(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace("\"version\": 1,\n  \"gateway\"", "\"version\": 2,\n  \"gateway\""),
        whole.replace("\"hash\"", "\"hush\""),
        whole.replace("\"agents\": {", "\"agents\": [], \"x\": {"),
    ] {
        fs::write(&file, &broken).unwrap();
        let known = approvals_store::load_gateways(&state);
        assert!(
            matches!(&known, Gateways::Broken(why) if why.contains("gateway-policy.json")),
            "{broken}: {known:?}"
        );
        assert!(approvals_store::governing(&known, None).is_err());
    }
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(state.join("token"), &file).unwrap();
    assert!(matches!(approvals_store::load_gateways(&state), Gateways::Broken(_)));
}
