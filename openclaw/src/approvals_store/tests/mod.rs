//! Real directories, and real processes that write into them.

mod files;
mod writers;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::NAME;
use super::load::{File, load};
use super::testing::{add, text};
use super::update::{apply, apply_on};
use crate::approvals_store::testing::{MOMENTS, Stopping};

const STORE: &str = "{\n  \"version\": 1,\n  \"socket\": {\n    \"token\": \"t\"\n  },\n  \"agents\": {\n    \"main\": \
    {\n      \"allowlist\": [\n        {\n          \"pattern\": \"/old\",\n          \"id\": \"1\"\n        }\n      ]\n    }\n  }\n}\n";

/// A state directory with a store.
fn state() -> TempDir {
    let state = tempfile::Builder::new().prefix("guard-store-").tempdir().expect("a directory");
    fs::write(state.path().join(NAME), STORE).expect("a store");
    state
}

/// Returns the patterns of the store, which must be valid.
fn patterns(state: &Path) -> BTreeSet<String> {
    let File::Present(reading) = load(state) else { panic!("no store: {:?}", load(state)) };
    reading.store.allowlist("main").iter().map(|(_, entry)| entry.pattern().to_owned()).collect()
}

fn temporary_files(state: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(state).expect("a directory").map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "tmp")).collect()
}

/// Makes files look as if their writer had died long ago.
fn age(files: &[PathBuf]) {
    for file in files {
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        fs::File::options()
            .write(true)
            .open(file)
            .and_then(|file| file.set_modified(long_ago))
            .expect("a time");
    }
}

const ROLE: &str = "GUARD_TEST_STORE_WRITER";

/// Runs the writer in a process that another test has spawned. In any other process it does nothing.
#[test]
fn writer() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["die", state, step, moment] => {
            let moment = MOMENTS[moment.parse::<usize>().expect("a moment")];
            let disk = Stopping::at(step.parse().expect("a step"), moment, true);
            apply_on(&disk, state.as_ref(), |store| add(store, &format!("/new/{step}"))).expect("a step");
        }
        ["apply", state, name, count] => {
            for i in 0..count.parse().expect("a count") {
                apply(state.as_ref(), |store| add(store, &format!("/{name}/{i}"))).expect("a change");
            }
        }
        ["nothing"] => {}
        _ => panic!("{role}"),
    }
}

fn spawn(role: &str) -> Child {
    Command::new(std::env::current_exe().expect("a test has a path"))
        .args(["approvals_store::tests::writer", "--exact", "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::null())
        .spawn()
        .expect("a writer")
}
