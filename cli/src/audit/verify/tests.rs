//! Alters a log in every possible way.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use guard_supervisor::audit::files::Files;
use guard_supervisor::audit::{AuditLog, Limits};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const ROOMY: Limits = Limits { max_bytes: 1 << 20, keep: 8 };

struct LogFixture {
    directory: TempDir,
}

impl LogFixture {
    fn new(lines: usize, limits: Limits) -> LogFixture {
        let written = LogFixture { directory: tempfile::tempdir().unwrap() };
        written.write(0..lines, limits);
        written
    }

    fn write(&self, lines: impl Iterator<Item = usize>, limits: Limits) {
        let mut log = AuditLog::open(&self.path(), limits).unwrap();
        for line in lines {
            assert!(
                log.append(&format!(r#"{{"operation":"test","line":{line}}}"#), 0).unwrap().trouble.is_none()
            );
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn set(&self, text: impl AsRef<[u8]>) {
        fs::write(self.path(), text).unwrap();
    }

    /// The findings in a log of one file, as (line, kind).
    fn found(&self) -> Vec<(usize, FindingKind)> {
        let verified = verify(&self.path(), None).unwrap();
        assert_eq!(verified.whole, verified.findings.is_empty());
        verified.findings.iter().map(|finding| (finding.line, finding.what)).collect()
    }

    fn edit(&self, edit: impl FnOnce(&mut Vec<String>)) {
        let mut lines: Vec<_> = self.text().lines().map(str::to_owned).collect();
        edit(&mut lines);
        self.set(lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
}

#[test]
fn a_line_that_is_known_must_be_there() {
    let written = LogFixture::new(10, ROOMY);
    let log = Log::open(&written.path()).unwrap();
    let id = log.latest().next().unwrap().unwrap().id;
    assert!(verify(&written.path(), Some(&id.short())).unwrap().whole);
    // The whole log is rewritten, which cannot be detected.
    fs::remove_dir_all(written.directory.path().join("log.d")).unwrap();
    fs::remove_file(written.path()).unwrap();
    written.write(1..11, ROOMY);
    assert!(verify(&written.path(), None).unwrap().whole);
    let verified = verify(&written.path(), Some(&id.short())).unwrap();
    assert_eq!((verified.findings.len(), verified.findings[0].what), (1, FindingKind::Lost));
    assert!(verify(&written.path(), Some("xyz")).is_err());
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn an_unchanged_log_verifies_as_whole() {
    let written = LogFixture::new(0, ROOMY);
    assert_eq!(written.found(), [(0, FindingKind::Head)], "nobody has written yet");
    written.write(0..1, ROOMY);
    assert_eq!(written.found(), []);
    // Two guards write in turns, each with its own handle.
    let mut other = AuditLog::open(&written.path(), ROOMY).unwrap();
    let mut one = AuditLog::open(&written.path(), ROOMY).unwrap();
    for line in 0..5 {
        one.append(&format!(r#"{{"operation":"one","line":{line}}}"#), 0).unwrap();
        other.append(&format!(r#"{{"operation":"other","line":{line}}}"#), 0).unwrap();
    }
    let verified = verify(&written.path(), None).unwrap();
    assert_eq!((verified.whole, verified.lines), (true, 11));
}

#[test]
fn each_change_has_its_name_and_its_line() {
    type Edit = fn(&mut Vec<String>);
    let edits: [(Edit, &[(usize, FindingKind)]); 11] = [
        (|lines| lines[4] = lines[4].replace("test", "tost"), &[(5, FindingKind::Changed)]),
        (|lines| lines[0] = lines[0].replace("test", "tost"), &[(1, FindingKind::Changed)]),
        (|lines| lines[9] = lines[9].replace("test", "tost"), &[(10, FindingKind::Changed)]),
        (|lines| lines[4] = "x".to_owned(), &[(5, FindingKind::Changed)]),
        (|lines| drop(lines.remove(4)), &[(5, FindingKind::Cut)]),
        (|lines| drop(lines.drain(3..6)), &[(4, FindingKind::Cut)]),
        (|lines| drop(lines.remove(0)), &[(1, FindingKind::CutAtStart)]),
        (|lines| drop(lines.pop()), &[(9, FindingKind::CutAtEnd)]),
        (|lines| lines.truncate(4), &[(4, FindingKind::CutAtEnd)]),
        (
            |lines| lines.swap(4, 5),
            &[(5, FindingKind::Moved), (6, FindingKind::Moved), (7, FindingKind::Moved)],
        ),
        (|lines| lines.insert(5, lines[4].clone()), &[(6, FindingKind::Moved), (7, FindingKind::Changed)]),
    ];
    for (index, (edit, expected)) in edits.into_iter().enumerate() {
        let written = LogFixture::new(10, ROOMY);
        written.edit(edit);
        let found = written.found();
        assert_eq!(found.first(), expected.first(), "edit {index}: {found:?}");
        assert!(found.len() <= 3, "edit {index}: {found:?}");
    }
}

#[test]
fn a_truncated_last_line_is_found_and_does_not_break_what_follows() {
    let written = LogFixture::new(3, ROOMY);
    let text = written.text();
    for cut in [1, 2, 30] {
        written.set(&text[..text.len() - cut]);
        assert_eq!(written.found(), [(3, FindingKind::Unfinished)], "{cut}");
    }
    // A writer was killed within a line, before it updated the head.
    written.set(&text);
    append(&written.path(), "{\"prev\":\"12");
    assert_eq!(written.found(), [(4, FindingKind::Unfinished)]);
    written.write(3..6, ROOMY);
    assert_eq!(written.found(), [(4, FindingKind::Unfinished)], "{}", written.text());
    assert_eq!(written.text().lines().count(), 8, "a note of its own, and three lines");
    // The next line carries the hash of the unfinished line, so a change of that line is found.
    written.edit(|lines| lines[3].push('x'));
    assert_ne!(written.found(), [(4, FindingKind::Unfinished)]);
}

#[test]
fn a_cut_is_found_when_guards_have_written_since() {
    let written = LogFixture::new(10, ROOMY);
    written.edit(|lines| lines.truncate(7));
    written.write(10..12, ROOMY);
    assert_eq!(written.found(), [(8, FindingKind::Noted)]);
    assert!(written.text().contains("did not go on from line 10 "), "{}", written.text());
    // The log is longer than it was, with lines that no guard wrote.
    let written = LogFixture::new(10, ROOMY);
    written.edit(|lines| {
        lines.truncate(7);
        lines.resize(30, lines[6].clone());
    });
    written.write(10..12, ROOMY);
    assert!(written.found().iter().any(|found| found.1 == FindingKind::Noted), "{:?}", written.found());
}

#[test]
fn a_head_that_is_gone_is_found() {
    let written = LogFixture::new(10, ROOMY);
    let head = written.directory.path().join("log.d/head");
    let bytes = fs::read(&head).unwrap();
    fs::write(&head, "nonsense").unwrap();
    assert_eq!(written.found(), [(0, FindingKind::Head)]);
    fs::remove_file(&head).unwrap();
    assert_eq!(written.found(), [(0, FindingKind::Head)]);
    // An older head is put back.
    written.write(10..11, ROOMY);
    assert_eq!(written.found(), [(11, FindingKind::Noted)]);
    fs::write(&head, bytes).unwrap();
    assert!(!verify(&written.path(), None).unwrap().whole, "the note stays");
    // The whole directory is removed while a guard writes.
    let written = LogFixture::new(3, ROOMY);
    let mut log = AuditLog::open(&written.path(), ROOMY).unwrap();
    fs::remove_dir_all(written.directory.path().join("log.d")).unwrap();
    log.append(r#"{"operation":"test"}"#, 0).unwrap();
    assert_eq!(written.found(), [(4, FindingKind::Noted)]);
}

#[test]
fn a_log_that_is_gone_is_found() {
    let written = LogFixture::new(10, ROOMY);
    fs::remove_file(written.path()).unwrap();
    assert_eq!(written.found(), [(0, FindingKind::CutAtEnd)]);
    written.write(10..12, ROOMY);
    assert!(written.found().contains(&(1, FindingKind::Noted)), "{:?}", written.found());
    // The log is replaced while a guard writes.
    let written = LogFixture::new(3, ROOMY);
    let mut log = AuditLog::open(&written.path(), ROOMY).unwrap();
    fs::rename(written.path(), written.directory.path().join("away")).unwrap();
    log.append(r#"{"operation":"test"}"#, 0).unwrap();
    assert!(written.text().contains("\"event\":\"cut\""), "{}", written.text());
    assert!(verify(&written.directory.path().join("none"), None).is_err());
}

fn rotated(written: &LogFixture) -> Vec<PathBuf> {
    Files::new(&written.path()).olds().unwrap()
}

#[test]
fn older_files_are_part_of_the_chain() {
    let small = Limits { max_bytes: 1000, keep: 3 };
    let written = LogFixture::new(100, small);
    assert_eq!(rotated(&written).len(), 3);
    assert_eq!(written.found(), []);
    let verified = verify(&written.path(), None).unwrap();
    assert_eq!(verified.files.len(), 4);
    for file in &verified.files {
        assert!(fs::metadata(file).unwrap().len() <= 1000);
    }
    for lost in 0..3 {
        let written = LogFixture::new(100, small);
        fs::remove_file(&rotated(&written)[lost]).unwrap();
        let found = written.found();
        assert_eq!(
            found,
            [(1, if lost == 0 { FindingKind::CutAtStart } else { FindingKind::Cut })],
            "{lost}"
        );
    }
    // One file is truncated; in another the last line is incomplete.
    let written = LogFixture::new(100, small);
    let old = &rotated(&written)[1];
    let text = fs::read_to_string(old).unwrap();
    fs::write(old, &text[..text.len() - 1]).unwrap();
    assert_eq!(written.found()[0].1, FindingKind::Unfinished);
    let lines = text.lines().count();
    fs::write(old, text.split_inclusive('\n').take(lines - 1).collect::<String>()).unwrap();
    assert_eq!(written.found(), [(1, FindingKind::Cut)]);
    // No rotated file is kept.
    let written = LogFixture::new(50, Limits { keep: 0, ..small });
    assert_eq!((rotated(&written).len(), written.found()), (0, vec![]));
    // Fewer files are kept than before.
    let written = LogFixture::new(100, small);
    written.write(0..20, Limits { keep: 1, ..small });
    assert_eq!((rotated(&written).len(), written.found()), (1, vec![]));
}

#[test]
fn removed_and_rotated_lines_are_named() {
    let written = LogFixture::new(100, Limits { max_bytes: 1000, keep: 3 });
    let verified = verify(&written.path(), None).unwrap();
    let [removed] = &verified.removed[..] else { panic!("{:?}", verified.removed) };
    assert_eq!((removed.log == written.path(), removed.count() + 1), (true, verified.put_away[0].from));
    assert_eq!(verified.put_away.len(), 3);
    assert!(verified.put_away.windows(2).all(|two| two[0].to + 1 == two[1].from));
    assert_eq!(removed.count() + verified.lines as u64, 100);
    // Lines that somebody else removed are a finding, and do not count as removed by the guard.
    fs::remove_file(&verified.put_away[0].file).unwrap();
    let verified = verify(&written.path(), None).unwrap();
    assert_eq!((verified.removed.len(), verified.findings[0].what), (0, FindingKind::CutAtStart));
    let written = LogFixture::new(10, ROOMY);
    let verified = verify(&written.path(), None).unwrap();
    assert!(verified.removed.is_empty() && verified.put_away.is_empty());
}

#[test]
fn each_part_is_verified() {
    let written = LogFixture::new(3, ROOMY);
    let mut denials = AuditLog::open(&written.path(), ROOMY).unwrap().open_denials().unwrap().unwrap();
    assert_eq!(verify(&written.path(), None).unwrap().files.len(), 1, "the audit log has no denials");
    for _ in 0..3 {
        denials.append(r#"{"operation":"test"}"#, 0).unwrap();
    }
    let verified = verify(&written.path(), None).unwrap();
    assert_eq!((verified.lines, verified.files.len(), written.found()), (6, 2, vec![]));
    let path = denials.path();
    let text = fs::read_to_string(path).unwrap();
    let cut: String = text.split_inclusive('\n').take(2).collect();
    fs::write(path, cut).unwrap();
    assert_eq!(written.found(), [(2, FindingKind::CutAtEnd)]);
    fs::remove_file(path).unwrap();
    assert_eq!(written.found(), [(0, FindingKind::CutAtEnd)]);
}

#[test]
fn a_rotation_that_is_interrupted_loses_nothing() {
    let small = Limits { max_bytes: 1000, keep: 3 };
    let written = LogFixture::new(4, small);
    let files = Files::new(&written.path());
    // The log was rotated, but no new file has begun yet, and the head does not know of the rotation.
    fs::rename(written.path(), files.old(1)).unwrap();
    assert_eq!(written.found(), []);
    written.write(4..6, small);
    assert_eq!(written.found(), []);
    // A file is marked for removal, but not removed yet.
    let written = LogFixture::new(100, small);
    let head = fs::read(files_head(&written)).unwrap();
    let next = fs::read_to_string(&rotated(&written)[1]).unwrap();
    let root = &next[9..73];
    let text = String::from_utf8(head).unwrap();
    let at = text.find("\"root\":\"").unwrap() + 8;
    fs::write(files_head(&written), format!("{}{root}{}", &text[..at], &text[at + 64..])).unwrap();
    assert_eq!(written.found(), []);
}

fn files_head(written: &LogFixture) -> PathBuf {
    Files::new(&written.path()).head()
}

#[test]
fn guards_that_rotate_at_once_lose_nothing() {
    let written = LogFixture::new(0, ROOMY);
    let limits = Limits { max_bytes: 2000, keep: 1000 };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let written = &written;
            scope.spawn(move || written.write(writer * 100..writer * 100 + 100, limits));
        }
    });
    let verified = verify(&written.path(), None).unwrap();
    assert_eq!((verified.lines, &verified.findings[..]), (400, &[][..]));
}

proptest! {
    #[test]
    fn any_byte_that_is_changed_is_found(at in any::<prop::sample::Index>(), bit in 0..8u8, old in any::<bool>()) {
        let written = LogFixture::new(12, Limits { max_bytes: 900, keep: 9 });
        let path = if old { rotated(&written)[0].clone() } else { written.path() };
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        prop_assert!(!verify(&written.path(), None).unwrap().whole);
    }

    #[test]
    fn any_line_that_is_moved_or_removed_is_found(from in 0..12usize, to in 0..12usize, count in 1..12usize) {
        let written = LogFixture::new(12, ROOMY);
        written.edit(|lines| {
            let count = count.min(12 - from);
            let taken: Vec<_> = lines.drain(from..from + count).collect();
            if to < lines.len() && to != from {
                lines.splice(to..to, taken);
            }
        });
        prop_assert!(!verify(&written.path(), None).unwrap().whole);
    }

    #[test]
    fn any_cut_at_the_end_is_found(cut in 1..2000usize) {
        let written = LogFixture::new(12, ROOMY);
        let text = written.text();
        written.set(&text[..text.len().saturating_sub(cut)]);
        prop_assert!(!verify(&written.path(), None).unwrap().whole);
    }
}
