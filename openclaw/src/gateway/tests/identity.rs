//! Tests the guard's identity for gateways.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Barrier;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::gateway::identity::{Claim, Identity, IdentityDefect, IdentityError, IdentityFault};

const VECTORS: &str = include_str!("../../../../policy/tests/data/device-auth-signature.json");

fn state() -> (TempDir, PathBuf) {
    let directory = tempdir().unwrap();
    let state = directory.path().canonicalize().unwrap().join("state");
    (directory, state)
}

#[test]
fn signs_as_openclaw_does() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let identity = Identity::of_seed(&HEXLOWER.decode(text(&vectors["seedHex"]).as_bytes()).unwrap());
    assert_eq!(identity.id(), vectors["deviceId"]);
    let mut right = 0;
    let cases: Vec<&Value> = vectors["cases"].as_array().unwrap().iter().collect();
    // The guard writes the third version only.
    let cases: Vec<&Value> = cases.into_iter().filter(|case| case["ver"] == "v3").collect();
    for case in &cases {
        let scopes: Vec<String> = case["scopes"].as_array().unwrap().iter().map(text).collect();
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let device = identity.sign(&Claim {
            client: &text(&case["clientId"]),
            mode: &text(&case["clientMode"]),
            role: &text(&case["role"]),
            scopes: &scopes,
            signed_at: case["signedAt"].as_i64().unwrap(),
            token: &text(&case["token"]),
            nonce: &text(&case["nonce"]),
            platform: &text(&case["platform"]),
            family: &text(&case["deviceFamily"]),
        });
        let expected = json!({
            "id": vectors["deviceId"],
            "publicKey": vectors["publicKey"],
            "signature": case["signature"],
            "signedAt": case["signedAt"],
            "nonce": case["nonce"],
        });
        assert_eq!(json!(device), expected);
        right += 1;
    }
    println!("device-auth-signature.json: {right} of {}", cases.len());
    assert!(right > 0);
}

#[test]
fn is_made_once_for_its_user_alone() {
    let (_directory, state) = state();
    let made = Identity::find(&state).unwrap();
    assert_eq!(Identity::find(&state).unwrap().id(), made.id());
    let file = state.join("guard/device.json");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(state.join("guard")).unwrap().mode() & 0o7777, 0o700);
    let seed = serde_json::from_slice::<Value>(&fs::read(&file).unwrap()).unwrap()["seed"].clone();
    assert!(!format!("{made:?}").contains(seed.as_str().unwrap()));
    let other = self::state();
    assert_ne!(Identity::find(&other.1).unwrap().id(), made.id());
}

#[test]
fn many_at_once_are_one() {
    let (_directory, state) = state();
    let start = Barrier::new(8);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let one = || {
            start.wait();
            Identity::find(&state).unwrap().id()
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let names = fs::read_dir(state.join("guard")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("new")), "{names:?}");
}

#[test]
fn keeps_what_a_gateway_issues() {
    let (_directory, state) = state();
    let before = Identity::find(&state).unwrap();
    before.save("ws://a:1", "one").unwrap();
    before.save("ws://b:1", "two").unwrap();
    let after = Identity::find(&state).unwrap();
    assert_eq!((after.token("ws://a:1"), after.token("ws://b:1")), (Some("one"), Some("two")));
    assert_eq!((after.token("ws://c:1"), after.id()), (None, before.id()));
    // The gateway has issued another token since.
    after.forget("ws://a:1", "before").unwrap();
    assert_eq!(Identity::find(&state).unwrap().token("ws://a:1"), Some("one"));
    after.forget("ws://a:1", "one").unwrap();
    assert_eq!(Identity::find(&state).unwrap().token("ws://a:1"), None);
    assert_eq!(fs::metadata(state.join("guard/device.json")).unwrap().mode() & 0o7777, 0o600);
    // A file that the operator has removed is not recreated until a guard starts.
    fs::remove_file(state.join("guard/device.json")).unwrap();
    after.save("ws://a:1", "three").unwrap();
    assert!(!state.join("guard/device.json").exists());
}

#[test]
fn a_broken_identity_file_is_reported_and_left_alone() {
    let (_directory, state) = state();
    Identity::find(&state).unwrap();
    let file = state.join("guard/device.json");
    let whole = fs::read_to_string(&file).unwrap();
    let half = &whole[..whole.len() / 2];
    let other = whole.replace("\"version\": 1", "\"version\": 2");
    let short = json!({"version": 1, "seed": "AAAA"}).to_string();
    let long = format!("{whole}{}", " ".repeat(70_000));
    for text in ["", half, "[]", &other, &short, &long, "{\"version\": 1, \"seed\": \"!\"}"] {
        fs::write(&file, text).unwrap();
        let why = Identity::find(&state).unwrap_err().to_string();
        assert!(why.contains("guard/device.json") && why.contains("remove it"), "{why}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let defect = || match Identity::find(&state).unwrap_err() {
        IdentityError { path, fault: IdentityFault::Unusable(defect) } if path == file => defect,
        error => panic!("{error}"),
    };
    fs::write(&file, &whole).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(defect(), IdentityDefect::Exposed));
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    Identity::find(&state).unwrap();
    fs::rename(&file, state.join("elsewhere")).unwrap();
    symlink(state.join("elsewhere"), &file).unwrap();
    assert!(matches!(defect(), IdentityDefect::Link));
    fs::remove_file(&file).unwrap();
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(defect(), IdentityDefect::NotRegular));
}
