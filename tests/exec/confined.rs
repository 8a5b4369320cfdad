//! Programs that would gain rights, hide, or confine themselves, and a guard in a guard.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use guard_tests::{World, guard, is_root, skip};

#[test]
fn a_program_that_loses_its_rights_is_reported_once() {
    let world = World::open();
    let program = if is_root() {
        let path = world.root().join("owned");
        fs::copy("/bin/true", &path).expect("a copy");
        chown(&path, Some(1), Some(1)).expect("another owner");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).expect("a mode");
        path
    } else {
        let known = ["/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount"].map(std::path::PathBuf::from);
        let is_set =
            |path: &std::path::PathBuf| fs::metadata(path).is_ok_and(|file| file.mode() & 0o4000 != 0);
        match known.into_iter().find(is_set) {
            Some(path) => path,
            None => return skip("no set-user-ID program is installed"),
        }
    };
    let program = program.to_str().expect("a plain path");
    let ended =
        world.sh(&format!("{program} --version > /dev/null 2>&1; {program} --version > /dev/null 2>&1"));
    let lines: Vec<_> = ended.guard_lines().into_iter().filter(|line| line.contains("set-user-ID")).collect();
    assert!(
        lines[0].starts_with(&format!("openclaw-guard: {program} starts without its owner's rights")),
        "{lines:?}"
    );
    assert!(lines.len() == 1 || lines[1].contains(" more time"), "{lines:?}");
}

/// The kernel hides such a program's memory from the guard, too, which could judge none of its calls.
#[test]
fn a_program_that_cannot_be_read_is_refused_with_a_line() {
    let world = World::open();
    let path = world.work().join("hidden");
    fs::copy("/bin/true", &path).expect("a copy");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o111)).expect("a mode");
    assert_eq!(world.native(&["./hidden"]).status, 0);
    let ended = world.guarded(&["sh", "-c", "./hidden"]);
    assert_eq!(ended.status, 126, "{}", ended.stderr);
    assert!(ended.stderr.contains("the program cannot be read, so it cannot be checked"), "{}", ended.stderr);
}

#[test]
fn a_guard_in_a_guard_says_what_is_wrong() {
    let world = World::open();
    let inner = guard();
    let ended = world.guarded(&[
        inner.to_str().expect("a plain path"),
        "--audit",
        "inner.jsonl",
        "--",
        "echo",
        "ran",
    ]);
    assert_eq!(ended.status, 125, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("another guard") && ended.stderr.contains("run outside of it"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stdout, "");
}

/// Programs that use Landlock continue without it, as on a kernel that has none.
#[test]
fn a_program_that_confines_itself_goes_on() {
    let same = World::open().same_script(
        "seq 10000 > f; xz -k f; xz -dc f.xz | cmp - f; xz -l f.xz | wc -l; gzip -k f; zcat f.gz | cmp - f; rm f.xz f.gz",
        &[],
    );
    assert_eq!(same.native.status, 0);
}
