//! Writers that fail, die and compete.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Child;

use super::{STORE, add, age, patterns, spawn, state, temporary_files, text};
use crate::approvals_store::stale;
use crate::approvals_store::testing::{MOMENTS, Meddled, Moment, Stopping};
use crate::approvals_store::update::{UpdateError, apply, apply_on};

#[test]
fn changes_of_a_writer_without_the_lock_stay() {
    let state = state();
    let disk = Meddled { state: state.path(), left: Cell::new(3) };
    apply_on(&disk, state.path(), |store| add(store, "/new")).expect("a change");
    let expected = ["/new", "/old", "/theirs/0", "/theirs/1", "/theirs/2"];
    assert_eq!(patterns(state.path()), expected.map(str::to_owned).into());
    assert_eq!(temporary_files(state.path()), Vec::<PathBuf>::new());
    let disk = Meddled { state: state.path(), left: Cell::new(usize::MAX) };
    let error = apply_on(&disk, state.path(), |store| add(store, "/never")).expect_err("a conflict");
    assert!(matches!(error, UpdateError::Conflict { .. }), "{error}");
    assert!(!patterns(state.path()).contains("/never"));
    assert_eq!(temporary_files(state.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_writer_that_fails_at_any_step_leaves_a_whole_store() {
    let mut reached = 0;
    for moment in MOMENTS {
        for step in 1.. {
            let state = state();
            let disk = Stopping::at(step, moment, false);
            let result = apply_on(&disk, state.path(), |store| add(store, "/new"));
            let found = patterns(state.path());
            assert!(found.contains("/old"), "{moment:?} step {step}: {found:?}");
            assert!(
                text(state.path()) == STORE || found.contains("/new"),
                "{moment:?} step {step}: {found:?}"
            );
            assert_eq!(temporary_files(state.path()).len(), 0, "{moment:?} step {step}");
            apply(state.path(), |store| add(store, "/next")).expect("the next writer");
            let both: BTreeSet<String> = found.into_iter().chain(["/next".to_owned()]).collect();
            assert_eq!(patterns(state.path()), both, "{moment:?} step {step}");
            if result.is_ok() {
                break;
            }
            assert!(matches!(result, Err(UpdateError::Disk { .. })), "{result:?}");
            reached += 1;
        }
    }
    println!("failing writers: {reached} of {}", 6 * MOMENTS.len());
    assert_eq!(reached, 6 * MOMENTS.len());
}

#[test]
fn a_writer_that_is_killed_at_any_step_leaves_a_whole_store() {
    let mut reached = 0;
    for (which, moment) in MOMENTS.iter().enumerate() {
        let state = state();
        for step in 1..=6 {
            let before = patterns(state.path());
            apply(state.path(), |store| add(store, &format!("/before/{which}/{step}"))).expect("a change");
            let whole = text(state.path());
            let status =
                spawn(&format!("die {} {step} {which}", state.path().display())).wait().expect("a child");
            assert_eq!(status.signal(), Some(9), "{moment:?} step {step}");
            let found = patterns(state.path());
            assert!(found.is_superset(&before), "{moment:?} step {step}: {found:?}");
            let is_new = found.contains(&format!("/new/{step}"));
            assert_eq!(text(state.path()) == whole, !is_new, "{moment:?} step {step}");
            assert_eq!(is_new, step == 6 || step == 5 && *moment == Moment::After, "{moment:?} step {step}");
            // The leftover file is young, and a writer in another pid namespace might still use it.
            let left = temporary_files(state.path());
            assert!(left.len() <= 1, "{left:?}");
            age(&left);
            apply(state.path(), |store| add(store, &format!("/after/{which}/{step}")))
                .expect("the next writer");
            assert_eq!(temporary_files(state.path()), Vec::<PathBuf>::new(), "{moment:?} step {step}");
            reached += 1;
        }
        // The store has its first entry, two entries for each of the six steps (one added before the step, one after
        // it), and the entry of each killed writer that had already replaced the store.
        let found = patterns(state.path());
        assert_eq!(found.len(), 12 + 1 + if *moment == Moment::After { 2 } else { 1 }, "{found:?}");
    }
    println!("killed writers: {reached} of {}", 6 * MOMENTS.len());
}

#[test]
fn old_temporary_files_of_dead_writers_are_removed() {
    let state = state();
    let mut dead = spawn("nothing");
    dead.wait().expect("a child");
    let path = |name: &str| state.path().join(name);
    let of_dead = path(&format!(".exec-approvals.{}.x.tmp", dead.id()));
    let of_living = path(&format!(".exec-approvals.{}.x.tmp", std::os::unix::process::parent_id()));
    let others = [path("notes.tmp"), path(".exec-approvals.tmp")];
    for file in [&of_dead, &of_living].into_iter().chain(&others) {
        fs::write(file, "left").expect("a file");
    }
    apply(state.path(), |store| add(store, "/a")).expect("a change");
    assert!(of_dead.exists(), "it is young");
    age(&[of_dead.clone(), of_living.clone(), others[0].clone(), others[1].clone()]);
    apply(state.path(), |store| add(store, "/b")).expect("a change");
    assert!(!of_dead.exists());
    assert!(of_living.exists() && others.iter().all(|file| file.exists()));
    assert!(stale::temporary().starts_with(".exec-approvals."));
}

#[test]
fn writers_that_compete_lose_nothing() {
    for writers in [2, 8] {
        let state = state();
        let names: Vec<String> = (0..writers).map(|i| format!("writer{i}")).collect();
        let mut children: Vec<Child> =
            names.iter().map(|name| spawn(&format!("apply {} {name} 50", state.path().display()))).collect();
        // At any time a reader finds a valid store, with all entries that it has found before.
        let mut seen = BTreeSet::new();
        while children.iter_mut().any(|child| child.try_wait().expect("a child").is_none()) {
            let now = patterns(state.path());
            assert!(now.is_superset(&seen));
            seen = now;
        }
        assert!(children.iter_mut().all(|child| child.wait().expect("a child").success()));
        let found = patterns(state.path());
        let expected = names.iter().flat_map(|name| (0..50).map(move |i| format!("/{name}/{i}")));
        let lost: Vec<String> = expected.filter(|pattern| !found.contains(pattern)).collect();
        println!("{writers} writers: {} of {}", found.len() - 1, writers * 50);
        assert_eq!((lost, found.len()), (vec![], writers * 50 + 1));
        assert_eq!(temporary_files(state.path()), Vec::<PathBuf>::new());
    }
}
