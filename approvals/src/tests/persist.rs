//! What "always" saves, and where.

use std::fs;

use guard_openclaw::approvals_store;
use guard_policy::Bits;
use guard_policy::approval::FileRule;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::outcome::{SaveError, SaveRequest};
use super::super::persist::GrantStore;
use super::*;

fn state() -> TempDir {
    tempfile::Builder::new().prefix("guard-keep-").tempdir().unwrap()
}

fn keep(state: &TempDir, saving: Saving) -> Result<String, SaveError> {
    let save = SaveRequest { questions: Vec::new(), agent: "main".to_owned(), saving };
    GrantStore::new(&state.path().canonicalize().unwrap()).save(&Manager::new(settings(), ()), &save)
}

fn rule(pattern: &str, bits: &str) -> Saving {
    Saving::Rule(FileRule { pattern: pattern.to_owned(), bits: Bits::parse(bits).unwrap() })
}

fn entry(pattern: &str) -> Saving {
    Saving::Entry(BoundEntry { pattern: pattern.to_owned(), arg_pattern: "sha256:cwd-argv:v1:x".to_owned() })
}

fn own(state: &TempDir) -> String {
    fs::read_to_string(approvals_store::own(state.path())).unwrap()
}

fn json_of(state: &TempDir) -> Value {
    serde_json::from_str(&own(state)).unwrap()
}

#[test]
fn a_rule_is_written_once_and_grows_by_bits() {
    let state = state();
    // OpenClaw's store cannot hold file rules.
    let theirs = state.path().join(approvals_store::NAME);
    fs::write(&theirs, r#"{"version": 1}"#).unwrap();
    let path = keep(&state, rule("/a", "r")).unwrap();
    assert!(path.ends_with("/guard/approvals.json"), "{path}");
    assert_eq!(
        json_of(&state),
        json!({"version": 1, "agents": {"main": {"permissions": {"filesystem": {"rules": {"/a": "r"}}}}}})
    );
    let before = own(&state);
    keep(&state, rule("/a", "r")).unwrap();
    assert_eq!(own(&state), before);
    keep(&state, rule("/a", "wx")).unwrap();
    keep(&state, rule("/a", "x")).unwrap();
    keep(&state, rule("/b/**", "w")).unwrap();
    let rules = &json_of(&state)["agents"]["main"]["permissions"]["filesystem"]["rules"];
    assert_eq!(*rules, json!({"/a": "rwx", "/b/**": "w"}));
    assert_eq!(fs::read_to_string(theirs).unwrap(), r#"{"version": 1}"#);
}

#[test]
fn saving_keeps_what_the_operator_wrote() {
    let state = state();
    fs::create_dir(state.path().join("guard")).unwrap();
    let text = json!({"version": 1, "note": "mine", "agents": {"main": {"permissions": {"base": true,
        "filesystem": {"rules": {"/z": "w"}, "other": 1}}}, "ci": {"allowlist": [{"pattern": "/x", "id": "1"}]}}});
    fs::write(approvals_store::own(state.path()), text.to_string()).unwrap();
    keep(&state, rule("/a", "r")).unwrap();
    keep(&state, entry("/bin/a")).unwrap();
    let mut now = json_of(&state);
    let rules = &mut now["agents"]["main"]["permissions"]["filesystem"]["rules"];
    assert_eq!(rules.as_object_mut().unwrap().remove("/a"), Some(json!("r")));
    let main = now["agents"]["main"].as_object_mut().unwrap();
    let added = main.remove("allowlist").unwrap();
    assert_eq!((&added[0]["pattern"], &added[0]["source"]), (&json!("/bin/a"), &json!("allow-always")));
    assert_eq!(now, text);
}

#[test]
fn a_store_that_cannot_be_read_is_not_written() {
    for (text, why) in [
        ("no store", "approvals.json:1:"),
        (r#"{"version": 2}"#, "must be 1"),
        (
            "{\"version\": 1, \"agents\": {\"main\": {\n  \"permissions\": []}}}",
            "approvals.json:2:18: agents.main.permissions: must be an object",
        ),
        (
            r#"{"version": 1, "agents": {"main": {"permissions": {"filesystem": {"rules": "x"}}}}}"#,
            "filesystem.rules: must be an object",
        ),
        (
            r#"{"version": 1, "agents": {"main": {"permissions": {"filesystem": {"rules": {"/a": "r--"}}}}}}"#,
            "a value of another type is where \"/a\" r would be",
        ),
    ] {
        let state = state();
        fs::create_dir(state.path().join("guard")).unwrap();
        fs::write(approvals_store::own(state.path()), text).unwrap();
        let error = keep(&state, rule("/a", "r")).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("repair it first"), "{text}: {error}");
        assert_eq!(own(&state), text);
    }
}

#[test]
fn two_guards_that_save_at_once_lose_nothing() {
    const EACH: usize = 12;
    for openclaws in [false, true] {
        let state = state();
        if openclaws {
            fs::write(state.path().join(approvals_store::NAME), r#"{"version": 1}"#).unwrap();
        }
        std::thread::scope(|scope| {
            for guard in 0..3 {
                let state = &state;
                scope.spawn(move || {
                    for n in 0..EACH {
                        keep(state, rule(&format!("/f/{guard}/{n}"), "r")).unwrap();
                        keep(state, entry(&format!("/bin/{guard}/{n}"))).unwrap();
                    }
                });
            }
        });
        let rules = &json_of(&state)["agents"]["main"]["permissions"]["filesystem"]["rules"];
        assert_eq!(rules.as_object().unwrap().len(), 3 * EACH);
        let stores = approvals_store::Stores::load(&state.path().canonicalize().unwrap());
        let file = if openclaws { stores.openclaw } else { stores.own };
        let approvals_store::File::Present(reading) = file else { panic!("{file:?}") };
        assert_eq!(reading.store.allowlist("main").len(), 3 * EACH);
    }
}
