//! Which files are replaced, and which stay.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use guard_supervisor::config::temporary;

use super::{NAME, OLD, directory, names, text};
use crate::edit::replace::{EditError, replace};

#[test]
fn mode_and_owner_stay() {
    let (_directory, path) = directory();
    if nix::unistd::geteuid().is_root() {
        chown(&path, Some(4321), Some(4322)).expect("an owner");
    }
    for mode in [0o600, 0o644, 0o640, 0o400] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        let before = fs::metadata(&path).expect("a policy");
        let (was, new) = (text(&path), format!("new {mode:o}"));
        replace(&path, Some(was.as_bytes()), new.as_bytes()).expect("a change");
        let after = fs::metadata(&path).expect("a policy");
        assert_eq!(text(&path), new);
        assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
        assert_ne!(after.ino(), before.ino(), "who has it open keeps the old one");
    }
    assert_eq!(names(path.parent().expect("a directory")), [NAME]);
}

#[test]
fn a_new_one_is_its_owners_alone() {
    let (directory, path) = directory();
    let path = path.with_file_name("other.json");
    replace(&path, None, b"new").expect("a policy");
    assert_eq!(text(&path), "new");
    assert_eq!(fs::metadata(&path).expect("a policy").mode() & 0o7777, 0o600);
    let owner = fs::metadata(directory.path()).expect("a directory").uid();
    assert_eq!(fs::metadata(&path).expect("a policy").uid(), owner);
    // Another process was faster.
    assert!(matches!(replace(&path, None, b"newer"), Err(EditError::Changed { .. })));
    assert_eq!(text(&path), "new");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_left_alone() {
    let (_directory, path) = directory();
    let error = replace(&path, Some(b"another"), b"new").expect_err("another text");
    assert!(error.to_string().contains("has changed since it was read"), "{error}");
    assert_eq!(text(&path), OLD);
    fs::remove_file(&path).expect("a policy");
    assert!(matches!(replace(&path, Some(OLD.as_bytes()), b"new"), Err(EditError::Changed { .. })));
    assert!(!path.exists());
}

#[test]
fn where_there_is_a_link_its_target_is_replaced() {
    let (directory, path) = directory();
    let other = tempfile::tempdir().expect("a directory");
    let target = other.path().canonicalize().expect("a directory").join("real.json");
    fs::rename(&path, &target).expect("a move");
    symlink(&target, &path).expect("a link");
    replace(&path, Some(OLD.as_bytes()), b"new").expect("a change");
    assert_eq!((text(&target).as_str(), fs::read_link(&path).expect("a link")), ("new", target.clone()));
    assert_eq!(names(directory.path()), [NAME]);
    assert_eq!(names(other.path()), ["real.json"]);
    // A parent directory may be a symbolic link, too.
    let way = directory.path().join("way");
    symlink(other.path(), &way).expect("a link");
    replace(&way.join("real.json"), Some(b"new"), b"newer").expect("a change");
    assert_eq!(text(&target), "newer");
}

#[test]
fn links_that_lead_nowhere_are_reported() {
    let (directory, path) = directory();
    let link = path.with_file_name("link");
    symlink("none.json", &link).expect("a link");
    for was in [None, Some(&b"x"[..])] {
        let error = replace(&link, was, b"new").expect_err("dangling");
        assert!(
            error.to_string().contains("is a symbolic link to none.json, which does not exist"),
            "{error}"
        );
    }
    symlink("circle", path.with_file_name("circle")).expect("a link");
    let error = replace(&path.with_file_name("circle"), None, b"new").expect_err("a circle");
    assert!(matches!(error, EditError::Circle { .. }), "{error}");
    let error = replace(&path.with_file_name("none").join(NAME), None, b"new").expect_err("no directory");
    assert!(error.to_string().starts_with("cannot open the directory of "), "{error}");
    assert_eq!(names(directory.path()), ["circle", NAME, "link"]);
}

#[test]
fn only_plain_files_are_replaced() {
    let (directory, path) = directory();
    let special = path.with_file_name("special");
    nix::unistd::mkfifo(&special, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let error = replace(&special, Some(b""), b"new").expect_err("a FIFO");
    assert!(matches!(error, EditError::NotPlain { .. }), "{error}");
    fs::remove_file(&special).expect("a FIFO");
    fs::create_dir(&special).expect("a directory");
    assert!(replace(&special, Some(b""), b"new").is_err());
    assert!(matches!(replace("/".as_ref(), None, b"new"), Err(EditError::NotPlain { .. })));
    assert_eq!(names(directory.path()), [NAME, "special"]);
}

#[test]
fn no_name_writes_to_the_terminal_as_it_likes() {
    let (_directory, path) = directory();
    let error = replace(&path.with_file_name("x\u{1b}[31m"), Some(b"x"), b"new").expect_err("none");
    assert!(!error.to_string().contains('\u{1b}'), "{error}");
}

/// A temporary file that a dead writer left is not written to: a link there must not be followed.
#[test]
fn a_link_at_the_temporary_name_is_replaced_and_not_followed() {
    let (directory, path) = directory();
    let victim = path.with_file_name("victim");
    fs::write(&victim, "mine").expect("a file");
    symlink(&victim, temporary(&path)).expect("a link");
    replace(&path, Some(OLD.as_bytes()), b"new").expect("a change");
    assert_eq!((text(&path).as_str(), text(&victim).as_str()), ("new", "mine"));
    assert_eq!(names(directory.path()), [NAME, "victim"]);
}
