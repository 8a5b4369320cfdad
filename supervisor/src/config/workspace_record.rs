//! Where guarded runs could write, in `guard/workspaces.jsonl` of the state directory, which no guarded program can reach.
//!
//! A line is added before a run starts, for the start directory and each directory above it that the policy lets the run
//! write, and for each other place that it names for writing; and before a human's answer lets a run write elsewhere, for
//! that place. It says whether there was a `.git` by then that no earlier run could have
//! made: such a repository is the operator's for good. Lines are appended and never changed, so that two guards may write
//! at once. A run reads the record of OpenClaw's usual state directory, too: a variable may name another one.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::Directory;
use guard_policy::EarlierRuns;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// The file in the guard's own directory.
pub(super) const NAME: &str = "workspaces.jsonl";
/// The size above which nothing is added. From then on, no further top counts.
const MAX_BYTES: u64 = 4 << 20;

/// Directories in which only root writes (hier(7)).
const OF_ROOT: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// The real path of the directory.
    path: String,
    /// Whether it had a `.git` of the operator's before the first run that could make one.
    repository: bool,
}

impl Line {
    /// Returns the line for a place that is no repository of the operator's. For a name that JSON cannot express it is the
    /// directory around it: everything in there counts as open to the run.
    fn new(place: &Path) -> Option<Line> {
        let path = place.ancestors().find_map(Path::to_str)?.to_owned();
        Some(Line { path, repository: false })
    }
}

/// What is known of earlier runs.
#[derive(Clone, Debug)]
pub(super) struct RunRecord {
    lines: Vec<Line>,
    /// False if the file cannot be read or is full: any run may be missing.
    is_whole: bool,
}

impl RunRecord {
    /// Reads the records of these state directories.
    pub(super) fn read(states: &[PathBuf]) -> RunRecord {
        RunRecord::joined(states.iter().map(|state| RunRecord::from_state(state)))
    }

    fn joined(records: impl Iterator<Item = RunRecord>) -> RunRecord {
        let joined = |mut all: RunRecord, more: RunRecord| {
            all.lines.extend(more.lines);
            RunRecord { is_whole: all.is_whole && more.is_whole, ..all }
        };
        records.reduce(joined).unwrap_or(RunRecord { lines: Vec::new(), is_whole: false })
    }

    fn from_state(state: &Path) -> RunRecord {
        let lost = || RunRecord { lines: Vec::new(), is_whole: false };
        match content(state) {
            Ok(None) => RunRecord { lines: Vec::new(), is_whole: true },
            Ok(Some(text)) if (text.len() as u64) < MAX_BYTES => {
                let lines: Option<Vec<Line>> =
                    text.lines().map(|line| serde_json::from_str(line).ok()).collect();
                // If the last line has no newline, it may be cut, and name another directory.
                let is_ended = text.is_empty() || text.ends_with('\n');
                lines.filter(|_| is_ended).map_or_else(lost, |lines| RunRecord { lines, is_whole: true })
            }
            Ok(Some(_)) | Err(_) => lost(),
        }
    }

    /// Adds a place that is no repository of the operator's.
    pub(super) fn add(&mut self, place: &Path) {
        self.lines.extend(Line::new(place));
    }

    /// Returns the places as a policy takes them.
    pub(super) fn to_earlier_runs(&self) -> EarlierRuns {
        let runs = match self.is_whole {
            true => EarlierRuns::new(self.lines.iter().map(|line| line.path.clone().into_bytes())),
            false => EarlierRuns::new([b"/".to_vec()]),
        };
        // A guarded program gets no other user's rights.
        if rustix::process::geteuid().is_root() { runs } else { runs.outside_of(&OF_ROOT) }
    }

    /// Returns whether a directory has a line.
    pub(super) fn has(&self, directory: &Path) -> bool {
        self.lines.iter().any(|line| Path::new(&line.path) == directory)
    }

    /// Returns whether a directory was a repository of the operator's.
    pub(super) fn was_repository(&self, directory: &Path) -> bool {
        // The first line counts.
        let line = self.lines.iter().find(|line| Path::new(&line.path) == directory);
        line.is_some_and(|line| line.repository)
    }

    /// Returns whether no run could have made the `.git` of a directory.
    pub(super) fn vouches_for(&self, top: &Path) -> bool {
        self.was_repository(top) || !self.may_be_written(&top.join(".git"))
    }

    /// Returns whether a path lies where an earlier run could write, or may: the record cannot tell.
    pub(super) fn may_be_written(&self, path: &Path) -> bool {
        !self.is_whole
            || path.to_str().is_none()
            || self.lines.iter().any(|line| path.starts_with(&line.path))
    }
}

/// Records where a run may write: the start directory and those above it in which `writable` lets it make a `.git`, and
/// `named`, the other places.
///
/// Returns what is known of the runs until now, with this one.
///
/// # Errors
/// If a line cannot be written: an I/O error, with the file.
pub(super) fn write(
    states: &[PathBuf],
    start: &Path,
    home: &Path,
    writable: impl Fn(&[u8]) -> bool,
    named: &[Vec<u8>],
) -> Result<RunRecord, (PathBuf, io::Error)> {
    let is_open = |dir: &&Path| writable(dir.join(".git").as_os_str().as_bytes());
    let below_home: Vec<&Path> =
        start.ancestors().take_while(|dir| !home.starts_with(dir)).filter(is_open).collect();
    let named: Vec<&Path> = named.iter().map(|place| Path::new(OsStr::from_bytes(place))).collect();
    let is_covered = |place: &Path| {
        let mut around = place.ancestors().skip(1);
        below_home.contains(&place)
            || around.any(|directory| below_home.contains(&directory) || named.contains(&directory))
    };
    let named = named.iter().copied().filter(|place| !is_covered(place));
    let records: Vec<RunRecord> = states.iter().map(|state| RunRecord::from_state(state)).collect();
    let mut record = RunRecord::joined(records.iter().cloned());
    let mut lines: Vec<Line> = below_home.iter().copied().chain(named).filter_map(Line::new).collect();
    for line in &mut lines {
        let directory = Path::new(&line.path);
        line.repository = is_repository(directory) && record.vouches_for(directory);
    }
    for (state, known) in states.iter().zip(&records) {
        let new: Vec<&Line> = lines.iter().filter(|line| !known.has(Path::new(&line.path))).collect();
        append(state, &new).map_err(|error| (path(state), error))?;
    }
    record.lines.extend(lines);
    Ok(record)
}

/// Records a place that a run is about to write, in one state directory.
///
/// # Errors
/// If the line cannot be written: an I/O error.
pub(super) fn add(state: &Path, place: &Path) -> io::Result<()> {
    append(state, &Line::new(place).iter().collect::<Vec<_>>())
}

/// Returns whether there is a `.git` in a directory, or may be: in one that cannot be searched, anything could be.
pub(super) fn is_repository(directory: &Path) -> bool {
    match directory.join(OsStr::new(".git")).symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

fn path(state: &Path) -> PathBuf {
    state.join("guard").join(NAME)
}

fn content(state: &Path) -> io::Result<Option<String>> {
    let own = Directory::open_own(state)?;
    let Some(file) = own.map_or(Ok(None), |own| own.regular(NAME))? else { return Ok(None) };
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn append(state: &Path, new: &[&Line]) -> io::Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let directory = Directory::make_own(state)?;
    let mut file = directory.make_regular(NAME, OFlags::WRONLY | OFlags::APPEND)?;
    if file.metadata()?.len() >= MAX_BYTES {
        // The record is full. Then no directory above a start directory counts, so the missing line does no harm.
        return Ok(());
    }
    let mut text = String::new();
    for line in new {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    // One write: lines of two guards never mix.
    let written = file.write(text.as_bytes())?;
    if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
