//! Which files are read, written, and left alone.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use guard_policy::store::Added;

use super::{STORE, add, patterns, state, temporary_files, text};
use crate::approvals_store::NAME;
use crate::approvals_store::load::{File, load};
use crate::approvals_store::update::{UpdateError, apply};

#[test]
fn a_change_is_written_as_openclaw_writes() {
    let state = state();
    fs::set_permissions(state.path().join(NAME), fs::Permissions::from_mode(0o644)).expect("a mode");
    assert_eq!(apply(state.path(), |store| add(store, "/new")).expect("a change"), Added::New);
    assert_eq!(patterns(state.path()), ["/new", "/old"].map(str::to_owned).into());
    assert!(
        text(state.path()).starts_with(&STORE[..STORE.find("        {").expect("an entry")]),
        "the rest stays"
    );
    let metadata = fs::metadata(state.path().join(NAME)).expect("a store");
    assert_eq!(metadata.mode() & 0o7777, 0o600);
    assert_eq!(temporary_files(state.path()), Vec::<PathBuf>::new());
    // A change without effect writes nothing.
    assert_eq!(apply(state.path(), |store| add(store, "/new")).expect("no change"), Added::Known);
    assert_eq!(fs::metadata(state.path().join(NAME)).expect("a store").ino(), metadata.ino());
}

#[test]
fn no_store_is_created_where_there_is_none() {
    let state = tempfile::tempdir().expect("a directory");
    assert_eq!(load(state.path()), File::Absent);
    assert_eq!(load(&state.path().join("none")), File::Absent);
    let error = apply(state.path(), |store| add(store, "/new")).expect_err("no store");
    assert!(error.to_string().contains("the guard does not create it"), "{error}");
    assert!(apply(&state.path().join("none"), |store| add(store, "/new")).is_err());
    assert!(!state.path().join(NAME).exists() && !state.path().join("none").exists());
}

#[test]
fn beside_a_database_nothing_is_written() {
    for has_file in [false, true] {
        let state = state();
        fs::create_dir(state.path().join("state")).expect("a directory");
        fs::write(state.path().join("state/openclaw.sqlite"), "").expect("a database");
        if !has_file {
            fs::remove_file(state.path().join(NAME)).expect("a file");
        }
        match load(state.path()) {
            File::Present(reading) if has_file => assert!(reading.notes[0].contains("openclaw doctor --fix")),
            found => assert!(found == File::Elsewhere && !has_file, "{found:?}"),
        }
        let error = apply(state.path(), |store| add(store, "/new")).expect_err("refused");
        assert!(matches!(error, UpdateError::Database { .. }), "{error}");
        assert!(error.to_string().contains("refuse to run while there is an exec-approvals.json"), "{error}");
        let names: Vec<_> = fs::read_dir(state.path()).expect("a directory").collect();
        assert_eq!(names.len(), 1 + usize::from(has_file));
    }
}

#[test]
fn a_file_that_is_no_store_is_reported_and_left_alone() {
    let state = state();
    let path = state.path().join(NAME);
    for (content, message) in [
        (&b"{\n  \"version\": 1,\n}"[..], ":3:1: trailing comma"),
        (b"", ":1:1: EOF"),
        (b"{\"version\": 2}", ":1:13: version: must be 1"),
        (b"{\n\"version\": \"\xff\"}", ":2: not UTF-8 text"),
    ] {
        fs::write(&path, content).expect("a file");
        let File::Broken(line) = load(state.path()) else { panic!("{content:?}") };
        assert!(line.starts_with(&format!("{}{message}", path.display())), "{line}");
        let error = apply(state.path(), |store| add(store, "/new")).expect_err("broken");
        assert!(error.to_string().contains("repair it first"), "{error}");
        assert_eq!(fs::read(&path).expect("a file"), content);
    }
    fs::File::options().write(true).open(&path).and_then(|file| file.set_len(1 << 30)).expect("a hole");
    let File::Broken(line) = load(state.path()) else { panic!("a large file") };
    assert!(line.ends_with("larger than 16 MiB"), "{line}");
}

#[test]
fn links_are_not_followed_below_the_state_directory() {
    let elsewhere = state();
    let victim = elsewhere.path().join(NAME);
    // The store itself is a link.
    let state = tempfile::tempdir().expect("a directory");
    let path = state.path().join(NAME);
    symlink(&victim, &path).expect("a link");
    let File::Broken(line) = load(state.path()) else { panic!("a link was followed") };
    assert!(line.ends_with("it is a symbolic link, which OpenClaw refuses too"), "{line}");
    assert!(apply(state.path(), |store| add(store, "/new")).is_err());
    // First the directory of the lock is a link, and then the lock itself.
    fs::remove_file(&path).expect("a link");
    fs::write(&path, STORE).expect("a store");
    let guard = state.path().join("guard");
    let _ = fs::remove_dir_all(&guard);
    symlink(elsewhere.path(), &guard).expect("a link");
    assert!(matches!(apply(state.path(), |store| add(store, "/new")), Err(UpdateError::Lock { .. })));
    fs::remove_file(&guard).expect("a link");
    fs::create_dir(&guard).expect("a directory");
    symlink(&victim, guard.join("approvals.lock")).expect("a link");
    assert!(matches!(apply(state.path(), |store| add(store, "/new")), Err(UpdateError::Lock { .. })));
    fs::remove_file(guard.join("approvals.lock")).expect("a link");
    assert_eq!((text(state.path()), text(elsewhere.path())), (STORE.to_owned(), STORE.to_owned()));
    assert_eq!(fs::read_dir(elsewhere.path()).expect("a directory").count(), 1, "nothing was made there");
    // If the state directory itself is a link, the caller must resolve it first.
    let link = elsewhere.path().join("link");
    symlink(state.path(), &link).expect("a link");
    assert!(apply(&link, |store| add(store, "/new")).is_err());
    assert!(matches!(load(&link), File::Broken(_)));
    apply(&crate::real_path::real(&link), |store| add(store, "/new")).expect("a change");
    assert!(patterns(state.path()).contains("/new"));
}

#[test]
fn a_store_that_is_a_fifo_does_not_block() {
    let state = tempfile::tempdir().expect("a directory");
    let path = state.path().join(NAME);
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let File::Broken(line) = load(state.path()) else { panic!("a FIFO") };
    assert!(line.ends_with("it is not a regular file"), "{line}");
    fs::remove_file(&path).expect("a FIFO");
    fs::create_dir(&path).expect("a directory");
    assert!(matches!(load(state.path()), File::Broken(_)));
}

#[test]
fn the_owner_is_kept() {
    let state = state();
    let path = state.path().join(NAME);
    let is_root = nix::unistd::geteuid().is_root();
    let owner =
        if is_root { (4321, 4322) } else { (nix::unistd::getuid().as_raw(), nix::unistd::getgid().as_raw()) };
    for path in [state.path(), &path] {
        std::os::unix::fs::chown(path, Some(owner.0), Some(owner.1)).expect("an owner");
    }
    apply(state.path(), |store| add(store, "/new")).expect("a change");
    for path in [&path, &state.path().join("guard"), &state.path().join("guard/approvals.lock")] {
        let metadata = fs::metadata(path).expect("a file");
        assert_eq!((metadata.uid(), metadata.gid()), owner, "{}", path.display());
        assert_eq!(metadata.mode() & 0o077, 0, "{}", path.display());
    }
}
