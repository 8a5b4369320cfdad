//! Walks through all lines and compares each with the one before.

use std::path::PathBuf;

use guard_policy::text::counted;
use guard_supervisor::audit::chain::{ChainFields, Hash};
use guard_supervisor::audit::lines::LineBytes;
use guard_supervisor::audit::reader::{AuditEntry, EntryBody, OpenPart, ReadError};
use guard_supervisor::audit::record::{MISSING, OF_LOG};

use super::{FindingKind, LogFinding};

/// The line before the current one.
#[derive(Clone, Copy)]
struct Passed {
    /// The index of its file, and its line in that file.
    position: (usize, usize),
    hash: Hash,
    /// Its number; for a line without one, the number it should have.
    n: u64,
    /// Whether it has been reported already.
    is_reported: bool,
}

struct LogWalk<'l> {
    log: &'l OpenPart,
    findings: Vec<LogFinding>,
    before: Option<Passed>,
    /// The number and place of each line: a line missing in one place may stand in another.
    numbers: Vec<(u64, (usize, usize))>,
    /// Gaps in the numbers, until it is known whether the lines are elsewhere.
    gaps: Vec<Gap>,
    /// The file and end offset of the line that the head names, once it was seen.
    head: Option<(usize, u64)>,
    /// Whether a file begins with the line that the head names as the first of the log.
    is_rooted: bool,
}

/// Line numbers that are missing before a line.
struct Gap {
    finding: usize,
    from: u64,
    to: u64,
}

/// Returns the number of lines of a part, and the findings.
pub fn walk(log: &OpenPart) -> Result<(usize, Vec<LogFinding>), ReadError> {
    let (findings, numbers, gaps) = (Vec::new(), Vec::new(), Vec::new());
    let mut walk = LogWalk { log, findings, before: None, numbers, gaps, head: None, is_rooted: false };
    let mut lines = 0;
    for (file, part) in log.files.iter().enumerate() {
        for (index, line) in part.lines().enumerate() {
            lines += 1;
            walk.pass((file, index + 1), &line?);
        }
    }
    walk.end();
    Ok((lines, walk.findings))
}

impl LogWalk<'_> {
    fn file(&self, position: (usize, usize)) -> PathBuf {
        self.log.files[position.0].path.clone()
    }

    fn report(&mut self, position: (usize, usize), what: FindingKind, text: impl Into<String>) {
        let finding = LogFinding { file: self.file(position), line: position.1, what, text: text.into() };
        self.findings.push(finding);
    }

    fn pass(&mut self, position: (usize, usize), line: &LineBytes) {
        let hash = Hash::digest(&line.bytes);
        if self.log.head.as_ref().is_ok_and(|head| head.link().hash == hash) && line.is_whole {
            self.head = Some((position.0, line.at + line.bytes.len() as u64 + 1));
        }
        let following = self.before.map_or(1, |before| before.n + 1);
        let joint = ChainFields::parse(&line.bytes).filter(|_| line.is_whole);
        let Some(joint) = joint else {
            let (what, text) = if line.is_whole {
                (FindingKind::Changed, "this is not a line of an audit log".to_owned())
            } else {
                (
                    FindingKind::Unfinished,
                    format!(
                        "the line is incomplete: only {} of it are there",
                        counted(line.bytes.len(), "byte")
                    ),
                )
            };
            self.report(position, what, text);
            self.before = Some(Passed { position, hash, n: following, is_reported: true });
            return;
        };
        self.numbers.push((joint.n, position));
        let mut is_reported = false;
        if position.1 == 1 && self.log.head.as_ref().is_ok_and(|head| head.root == joint.prev) {
            self.is_rooted = true;
        }
        if let Some(before) = self.before.filter(|before| before.hash != joint.prev) {
            is_reported = self.broken(position, joint, before);
        }
        if let Some(noted) = noted(line) {
            self.noted(position, &noted);
        }
        self.before = Some(Passed { position, hash, n: joint.n, is_reported });
    }

    /// Handles a line that does not carry the hash of the one before. Returns whether this line itself is at fault.
    fn broken(&mut self, position: (usize, usize), joint: ChainFields, before: Passed) -> bool {
        let following = before.n + 1;
        if joint.n == following {
            if !before.is_reported {
                self.report(
                    before.position,
                    FindingKind::Changed,
                    "this line or the next one has been changed",
                );
            }
            return false;
        }
        if joint.n > following {
            self.gaps.push(Gap { finding: self.findings.len(), from: following, to: joint.n - 1 });
            let missing = joint.n - following;
            let text = if missing == 1 {
                format!("line {following} of the log is missing before this one, its line {}", joint.n)
            } else {
                format!(
                    "lines {following} to {} of the log are missing before this one, its line {}",
                    joint.n - 1,
                    joint.n
                )
            };
            self.report(position, FindingKind::Cut, text);
            return false;
        }
        self.report(
            position,
            FindingKind::Moved,
            format!("line {} of the log comes after its line {}", joint.n, before.n),
        );
        true
    }

    /// Handles a line that a guard wrote about the log itself.
    fn noted(&mut self, position: (usize, usize), noted: &(String, String)) {
        let (event, text) = noted;
        if event == "unfinished"
            && let Some(before) = self.before
            && let Some(finding) = self.findings.last_mut()
            && (finding.line, finding.what) == (before.position.1, FindingKind::Changed)
        {
            finding.what = FindingKind::Unfinished;
            "the line is incomplete: its writer was killed, or the disk was full"
                .clone_into(&mut finding.text);
            return;
        }
        if event != MISSING {
            self.report(position, FindingKind::Noted, text.clone());
        }
    }

    fn end(&mut self) {
        for gap in std::mem::take(&mut self.gaps) {
            let elsewhere = self.numbers.iter().find(|(n, _)| (gap.from..=gap.to).contains(n));
            let Some(&(n, position)) = elsewhere else { continue };
            let finding = &mut self.findings[gap.finding];
            finding.what = FindingKind::Moved;
            finding.text = format!(
                "line {n} of the log belongs before this one, but is at {}:{}",
                shown(&self.log.files[position.0].path),
                position.1
            );
        }
        let Ok(head) = &self.log.head else { return };
        if !self.is_rooted {
            self.start();
        }
        let Some(last) = self.before else {
            let text =
                format!("every line is missing up to line {}, the last one in the head", head.link().n);
            let file = self.log.files.last().map_or_else(PathBuf::new, |part| part.path.clone());
            self.findings.push(LogFinding { file, line: 0, what: FindingKind::CutAtEnd, text });
            return;
        };
        match self.head {
            Some((file, end)) => {
                // If the line is in an older file, a rotation was interrupted, which is no finding.
                if file + 1 == self.log.files.len() && end != head.length {
                    let text = format!(
                        "by the head the log ends at byte {}, but its last line ends at {end}",
                        head.length
                    );
                    self.report(last.position, FindingKind::Head, text);
                }
            }
            None if last.n < head.link().n => {
                let (from, to) = (last.n + 1, head.link().n);
                let what = if from == to { format!("line {to}") } else { format!("lines {from} to {to}") };
                self.report(
                    last.position,
                    FindingKind::CutAtEnd,
                    format!("{what} of the log should follow here, as the head shows"),
                );
            }
            None if last.is_reported => {}
            None => {
                let position = self
                    .numbers
                    .iter()
                    .rfind(|(n, _)| *n == head.link().n)
                    .map_or(last.position, |(_, position)| *position);
                if !self.findings.iter().any(|finding| finding.line == position.1) {
                    self.report(
                        position,
                        FindingKind::Changed,
                        "this line has been changed: the head has another hash for it",
                    );
                }
            }
        }
    }

    /// Reports that the log does not begin where the head says.
    fn start(&mut self) {
        let Some(&(n, position)) = self.numbers.first() else { return };
        self.findings.insert(
            0,
            LogFinding {
                file: self.file(position),
                line: position.1,
                what: FindingKind::CutAtStart,
                text: format!(
                    "lines of the log before this one, its line {n}, were removed, but not by a guard"
                ),
            },
        );
    }
}

fn shown(path: &std::path::Path) -> String {
    guard_policy::text::shown(path.as_os_str().as_encoded_bytes())
}

/// The event and the text of a line about the log itself.
fn noted(line: &LineBytes) -> Option<(String, String)> {
    // Skips most lines without parsing: within a JSON string the quotes would be escaped.
    memchr::memmem::find(&line.bytes, br#""operation":"log""#)?;
    let entry = AuditEntry::parse(&line.bytes).filter(|entry| entry.operation == OF_LOG)?;
    let EntryBody::Other(fields) = entry.what else { return None };
    let text = |key: &str| fields.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    Some((text("event"), guard_policy::text::shown(text("text").as_bytes())))
}
