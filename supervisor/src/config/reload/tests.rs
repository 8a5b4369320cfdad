//! Tests that answers saved by another guard are in force at the next check.

use std::fs;
use std::path::PathBuf;

use clap::Parser;
use guard_openclaw::peer::process_tree::Tree;
use guard_policy::approval::FileRule;
use guard_policy::store::NewEntry;
use guard_policy::{Access, Bits, Exec, Outcome, Request, Role, decide};
use tempfile::TempDir;

use super::*;
use crate::audit::report::ReportOptions;
use crate::audit::{Context, Writer};
use crate::config::Disk;
use crate::config::files_of_runs::FileOfRun;
use crate::config::options::Options;
use crate::judge::guard::Guard;
use crate::judge::program_starts::ProgramStarts;
use crate::judge::session_context::SessionContext;
use crate::landlock;
use crate::resolve::Resolver;

const POLICY: &str = r#"{ "version": 1, "permissions": { "base": false, "filesystem": {
    "rules": { "/usr/**": "r-x", "/kept/**": "---" } } } }"#;

/// A command line with options only.
#[derive(Parser)]
struct OptionsOnly {
    #[command(flatten)]
    options: Options,
}

/// A state directory, and a guard that uses it.
struct ReloadFixture {
    directory: TempDir,
    current: Arc<Current>,
    reload: Reload,
}

impl ReloadFixture {
    fn new() -> ReloadFixture {
        ReloadFixture::with(POLICY, |_| ())
    }

    /// Creates a fixture with this policy, and a state directory filled by `prepare`.
    fn with(policy: &str, prepare: impl FnOnce(&Path)) -> ReloadFixture {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().canonicalize().unwrap();
        let file = state.join("guard.json");
        fs::write(&file, policy).unwrap();
        prepare(&state);
        let options = OptionsOnly::parse_from(["openclaw-guard", "--home", "/nowhere"]).options;
        let mut paths = Paths::find(&options).unwrap();
        (paths.state, paths.state_directory) = (state.clone(), state);
        (paths.policy, paths.policy_file) = (file.clone(), file);
        let stores = Stores::load(&paths.state_directory);
        let text = Some(policy.as_bytes().to_vec());
        let state = paths.state_directory.clone();
        let compiled = config::compile_followed(Links::default(), &options, &paths, text.as_deref(), &stores);
        let (policy, followed) = compiled.unwrap();
        let tree = Tree { reaper: 1, supervisor: 1, front: 1, leader: None };
        let manner = ReportOptions::default();
        let context = Context::default();
        let reporter = Reporter::start(manner, Writer::none(), context, tree).unwrap();
        let resolver = Resolver::new().unwrap();
        let guard = Guard::new(
            policy,
            landlock::LandlockPlan::default(),
            resolver,
            tree,
            reporter.clone(),
            SessionContext::default(),
            ProgramStarts::default(),
        );
        let current = Arc::new(Current::new(guard));
        let source = PolicySource { options, paths, text, stores, followed: Followed::new(followed) };
        let sync_thread = SyncThread::new(state, Arc::new(|_| false), Arc::new(|_| {}));
        let reload = Reload::new(source, Arc::clone(&current), reporter, sync_thread);
        current.read_again_by({
            let reload = reload.clone();
            move || reload.catch_up()
        });
        ReloadFixture { directory, current, reload }
    }

    fn state(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// Saves a rule as another guard would.
    fn save(&self, pattern: &str) {
        let rule = FileRule { pattern: pattern.to_owned(), bits: Bits::parse("r").unwrap() };
        approvals_store::apply_own(&self.state(), |store| store.add_rule("main", &rule)).unwrap();
    }

    fn outcome(&self, path: &str) -> Outcome {
        let guard = self.current.guard();
        decide(guard.policy(), &Request::File { path: path.as_bytes(), access: Access::READ }).outcome
    }
}

#[test]
fn a_saved_rule_is_in_force_at_the_next_look() {
    let ground = ReloadFixture::new();
    let judged = ground.current.guard();
    assert!(ground.current.newer(&judged).is_none());
    assert_eq!((ground.outcome("/a"), ground.outcome("/kept/a")), (Outcome::Ask, Outcome::Deny));
    ground.save("/a");
    ground.save("/kept/a");
    let newer = ground.current.newer(&judged).expect("another guard");
    assert_eq!((ground.outcome("/a"), ground.outcome("/kept/a")), (Outcome::Allow, Outcome::Deny));
    assert_eq!(ground.outcome("/b"), Outcome::Ask);
    assert!(ground.current.newer(&newer).is_none());
    // A caller that judged by the old guard gets the new one, whichever thread has read it.
    assert!(ground.current.newer(&judged).is_some());
    // Removing the file revokes the rule.
    fs::remove_file(approvals_store::own(&ground.state())).unwrap();
    assert!(ground.current.newer(&newer).is_some());
    assert_eq!(ground.outcome("/a"), Outcome::Ask);
}

#[test]
fn what_moves_elsewhere_is_no_reason_to_judge_again() {
    let ground = ReloadFixture::new();
    let judged = ground.current.guard();
    ground.current.update(crate::judge::guard::Guard::after_relocation);
    assert!(ground.current.newer(&judged).is_none());
    ground.save("/a");
    assert!(ground.current.newer(&judged).is_some());
}

#[test]
fn a_saved_entry_is_in_force_whichever_store_has_it() {
    let ground = ReloadFixture::new();
    let argv = [b"x".to_vec()];
    let outcome = |path: &str| {
        let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: b"/", role: Role::Program };
        decide(ground.current.guard().policy(), &Request::Exec(exec)).outcome
    };
    let entry = |pattern: &str| NewEntry::new(pattern).unwrap();
    assert_eq!((outcome("/usr/a"), outcome("/usr/b")), (Outcome::Ask, Outcome::Ask));
    approvals_store::apply_own(&ground.state(), |store| {
        store.add("main", entry("/usr/a"), 0, &mut approvals_store::new_id)
    })
    .unwrap();
    assert!(ground.current.newer(&ground.current.guard()).is_some());
    fs::write(ground.state().join(approvals_store::NAME), r#"{"version": 1}"#).unwrap();
    approvals_store::apply(&ground.state(), |store| {
        store.add("main", entry("/usr/b"), 0, &mut approvals_store::new_id)
    })
    .unwrap();
    assert!(ground.current.newer(&ground.current.guard()).is_some());
    assert_eq!((outcome("/usr/a"), outcome("/usr/b")), (Outcome::Allow, Outcome::Allow));
}

#[test]
fn a_broken_store_allows_nothing_once_it_rests() {
    let ground = ReloadFixture::new();
    ground.save("/a");
    assert!(ground.current.newer(&ground.current.guard()).is_some());
    let own = approvals_store::own(&ground.state());
    let whole = fs::read(&own).unwrap();
    fs::write(&own, &whole[..whole.len() / 2]).unwrap();
    // The file may still be in the middle of a write.
    assert!(ground.current.newer(&ground.current.guard()).is_none());
    assert_eq!(ground.outcome("/a"), Outcome::Allow);
    ground.reload.reader().check(ReloadCause::Changed);
    assert_eq!(ground.outcome("/a"), Outcome::Ask);
    let guard = ground.current.guard();
    let warnings = guard.policy().warnings();
    assert!(warnings.iter().any(|warning| warning.contains("approvals.json:")), "{warnings:?}");
    fs::write(&own, whole).unwrap();
    assert!(ground.current.newer(&guard).is_some());
    assert_eq!(ground.outcome("/a"), Outcome::Allow);
}

#[test]
fn many_threads_that_check_at_once_all_see_the_change() {
    let ground = ReloadFixture::new();
    for round in 0..10 {
        let judged = ground.current.guard();
        let path = format!("/f{round}");
        ground.save(&path);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    assert!(ground.current.newer(&judged).is_some());
                    assert_eq!(ground.outcome(&path), Outcome::Allow);
                });
            }
        });
    }
}

/// The places where another run may write count after the next look, whatever compiles the policy first.
#[test]
fn what_another_run_may_write_is_in_force_whatever_comes_between() {
    let ground = ReloadFixture::new();
    let another = |place: &str| {
        workspace_record::add(&ground.state(), Path::new(place)).unwrap();
    };
    let knows = |path: &str| ground.current.guard().policy().knows_written(path.as_bytes());
    another("/opt/a");
    ground.save("/x");
    assert!(ground.current.newer(&ground.current.guard()).is_some());
    ground.reload.reader().check(ReloadCause::Changed);
    assert!(knows("/opt/a/tool"));

    // A policy that is not yet whole.
    let file = ground.state().join("guard.json");
    fs::write(&file, &POLICY[..POLICY.len() / 2]).unwrap();
    another("/opt/b");
    ground.reload.reader().check(ReloadCause::Changing);
    assert!(!knows("/opt/b/tool"));
    fs::write(&file, POLICY).unwrap();
    ground.reload.reader().check(ReloadCause::Changed);
    assert!(knows("/opt/b/tool") && !knows("/opt/c/tool"));
}

/// A message says that a policy has changed; a use of an entry, which the guard notes itself, would bring one.
#[test]
fn what_a_run_records_of_itself_changes_no_policy() {
    let options = OptionsOnly::parse_from(["openclaw-guard", "--home", "/nowhere"]).options;
    let mut paths = Paths::find(&options).unwrap();
    let stores = Stores::load(&paths.state_directory);
    let explained =
        |paths: &Paths| config::compile(&options, paths, Disk::Used, None, &stores).unwrap().explain(None);
    let before = explained(&paths);
    for own in paths.state_forms() {
        paths.files_of_runs.add(FileOfRun::State(String::from_utf8(own).unwrap()));
    }
    assert_eq!(explained(&paths), before);
}

/// A policy that is also governed by a gateway, at an address where nothing listens.
fn governed(url: &str) -> String {
    format!(
        r#"{{ "version": 1, "exec": {{ "ask": "off" }}, "approvals": {{ "gateway": {{ "url": "{url}", "admin": true }} }},
            "permissions": {{ "filesystem": {{ "rules": {{ "/usr/**": "r-x" }} }} }},
            "agents": {{ "main": {{ "allowlist": [{{ "pattern": "/usr/own" }}] }} }} }}"#
    )
}

const URL: &str = "ws://127.0.0.1:1";

fn store_snapshot(state: &Path, url: &str, file: serde_json::Value) {
    let snapshot = approvals_store::Snapshot::new(Some(url.to_owned()), file.to_string(), file);
    approvals_store::save_gateways(state, &snapshot).unwrap();
}

fn listing(patterns: &[&str]) -> serde_json::Value {
    let entry = |pattern: &&str| serde_json::json!({ "pattern": pattern, "id": pattern });
    let list: Vec<_> = patterns.iter().map(entry).collect();
    serde_json::json!({ "version": 1, "agents": { "main": { "allowlist": list } } })
}

#[test]
fn the_gateways_approvals_are_in_force_at_the_next_look() {
    let ground =
        ReloadFixture::with(&governed(URL), |state| store_snapshot(state, URL, listing(&["/usr/a"])));
    let starts = || {
        let guard = ground.current.guard();
        ["/usr/own", "/usr/a", "/usr/b"].map(|path| {
            let argv = [path.as_bytes().to_vec()];
            let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: b"/", role: Role::Program };
            decide(guard.policy(), &Request::Exec(exec)).outcome == Outcome::Allow
        })
    };
    let look = || ground.current.newer(&ground.current.guard()).is_some();
    assert_eq!(starts(), [true, true, false]);
    assert!(!look());
    store_snapshot(&ground.state(), URL, listing(&["/usr/b"]));
    assert!(look());
    assert_eq!(starts(), [true, false, true]);
    store_snapshot(
        &ground.state(),
        URL,
        serde_json::json!({ "version": 1, "defaults": { "security": "deny" } }),
    );
    assert!(look());
    assert_eq!(starts(), [false; 3]);

    // A file that is missing, broken or of another gateway loosens nothing.
    let file = approvals_store::gateways(&ground.state());
    let whole = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert!(!look());
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(!look());
    store_snapshot(&ground.state(), "ws://127.0.0.1:2", listing(&["/usr/a", "/usr/b"]));
    assert!(!look());
    assert_eq!(starts(), [false; 3]);
    store_snapshot(&ground.state(), URL, listing(&["/usr/a"]));
    assert!(look());
    assert_eq!(starts(), [true, true, false]);
}

#[test]
fn nothing_starts_before_the_gateways_store_is_known() {
    let ground = ReloadFixture::with(&governed(URL), |_| ());
    let argv = [b"/usr/own".to_vec()];
    let exec = Exec { path: b"/usr/own", argv: &argv, cwd: b"/", role: Role::Program };
    let outcome = || decide(ground.current.guard().policy(), &Request::Exec(exec)).outcome;
    assert_eq!(outcome(), Outcome::Deny);
    store_snapshot(&ground.state(), URL, listing(&[]));
    assert!(ground.current.newer(&ground.current.guard()).is_some());
    assert_eq!(outcome(), Outcome::Allow);
    // A policy that names another gateway starts nothing until that gateway has answered.
    fs::write(ground.state().join("guard.json"), governed("ws://127.0.0.1:2")).unwrap();
    ground.reload.reader().check(ReloadCause::Changed);
    assert_eq!(outcome(), Outcome::Deny);
}
