//! Editors that fail, are killed, or compete.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Child;

use guard_openclaw::approvals_store::testing::{MOMENTS, Moment, Stopping};
use guard_supervisor::config::temporary;
use rustix::fs::{FlockOperation, flock};

use super::{NAME, OLD, directory, names, spawn, text};
use crate::edit::replace::{EditError, replace, replace_on};

/// Removing a leftover file, creating, owning, writing, syncing, renaming, and syncing the directory.
const STEPS: usize = 7;

/// Leaves the file of an editor that died.
fn write_leftover(path: &Path) {
    std::fs::write(temporary(path), "half").expect("a file");
}

#[test]
fn an_editor_that_fails_at_any_step_leaves_a_whole_policy() {
    let mut reached = 0;
    for moment in MOMENTS {
        for step in 1.. {
            let (directory, path) = directory();
            write_leftover(&path);
            let disk = Stopping::at(step, moment, false);
            let result = replace_on(&disk, &path, Some(OLD.as_bytes()), b"new");
            assert!([OLD, "new"].contains(&text(&path).as_str()), "{moment:?} step {step}");
            assert_eq!(
                temporary(&path).exists(),
                step == 1 && moment != Moment::After,
                "{moment:?} step {step}"
            );
            let was = text(&path);
            replace(&path, Some(was.as_bytes()), b"next").expect("the next editor");
            assert_eq!(names(directory.path()), [NAME], "{moment:?} step {step}");
            if result.is_ok() {
                assert_eq!(was, "new");
                break;
            }
            reached += 1;
        }
    }
    println!("failing editors: {reached} of {}", STEPS * MOMENTS.len());
    assert_eq!(reached, STEPS * MOMENTS.len());
}

#[test]
fn an_editor_that_is_killed_at_any_step_leaves_a_whole_policy() {
    let mut killed = 0;
    for (which, moment) in MOMENTS.iter().enumerate() {
        for step in 1..=STEPS {
            let (directory, path) = directory();
            write_leftover(&path);
            let role = format!("die {} {step} {which}", path.display());
            assert_eq!(spawn(&role).wait().expect("a child").signal(), Some(9), "{moment:?} step {step}");
            let new = format!("{OLD}// {step}\n");
            let is_renamed = step == 7 || step == 6 && *moment == Moment::After;
            let expected = if is_renamed { new.as_str() } else { OLD };
            assert_eq!(text(&path), expected, "{moment:?} step {step}");
            replace(&path, Some(expected.as_bytes()), b"next").expect("the next editor");
            assert_eq!(names(directory.path()), [NAME], "{moment:?} step {step}: what it left is gone");
            killed += 1;
        }
    }
    println!("killed editors: {killed} of {}", STEPS * MOMENTS.len());
}

#[test]
fn no_change_of_many_editors_is_lost() {
    const EDITORS: usize = 4;
    const CHANGES: usize = 8;
    let (directory, path) = directory();
    let start = |editor| spawn(&format!("append {} {editor} {CHANGES}", path.display()));
    let children: Vec<Child> = (0..EDITORS).map(start).collect();
    for mut child in children {
        assert!(child.wait().expect("a child").success());
    }
    let found: BTreeSet<String> = text(&path).lines().skip(3).map(str::to_owned).collect();
    let all = (0..EDITORS).flat_map(|editor| (0..CHANGES).map(move |i| format!("// {editor} {i}")));
    assert_eq!(found, all.collect());
    assert_eq!(names(directory.path()), [NAME]);
}

#[test]
fn a_lock_that_stays_is_reported() {
    let (_directory, path) = directory();
    let held = File::open(path.parent().unwrap_or(Path::new("/"))).expect("a directory");
    flock(&held, FlockOperation::LockExclusive).expect("a lock");
    let error = replace(&path, Some(OLD.as_bytes()), b"new").expect_err("locked");
    assert!(matches!(error, EditError::Busy { .. }), "{error}");
    assert_eq!(text(&path), OLD);
}
