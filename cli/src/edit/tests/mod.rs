//! Uses real directories, and real processes that write into them.

mod files;
mod writers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use guard_openclaw::approvals_store::testing::{MOMENTS, Stopping};
use tempfile::TempDir;

use super::replace::{EditError, replace, replace_on};

const NAME: &str = "guard.json";
const OLD: &str = "{\n  \"version\": 1 // one\n}\n";

/// A directory with a policy.
fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::Builder::new().prefix("guard-edit-").tempdir().expect("a directory");
    let path = directory.path().canonicalize().expect("a directory").join(NAME);
    fs::write(&path, OLD).expect("a policy");
    (directory, path)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a policy")
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

const ROLE: &str = "GUARD_TEST_EDITOR";

/// Runs in the processes that other tests start; on its own it does nothing.
#[test]
fn editor() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["die", path, step, moment] => {
            let moment = MOMENTS[moment.parse::<usize>().expect("a moment")];
            let disk = Stopping::at(step.parse().expect("a step"), moment, true);
            let was = text(path.as_ref());
            let new = format!("{was}// {step}\n");
            replace_on(&disk, path.as_ref(), Some(was.as_bytes()), new.as_bytes()).expect("a step");
        }
        ["append", path, name, count] => {
            for i in 0..count.parse().expect("a count") {
                loop {
                    let was = text(path.as_ref());
                    let new = format!("{was}// {name} {i}\n");
                    match replace(path.as_ref(), Some(was.as_bytes()), new.as_bytes()) {
                        Ok(()) => break,
                        Err(EditError::Changed { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
        _ => panic!("{role}"),
    }
}

fn spawn(role: &str) -> Child {
    Command::new(std::env::current_exe().expect("a test has a path"))
        .args(["edit::tests::editor", "--exact", "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::null())
        .spawn()
        .expect("an editor")
}
