//! The record of where guarded runs could write. It is `guard/workspaces.jsonl` in the state directory, which no
//! guarded program can reach.
//!
//! Lines are added before a run starts: for the start directory, for each directory above it that the policy lets the
//! run write, and for each other place that the policy names for writing. A line is also added before a human's answer
//! lets a run write at a further place. A line says whether the place had a `.git` by then that no earlier run could
//! have made: such a repository is the operator's for good. Lines are appended and never changed, so that two guards
//! may write at once. A run reads the record of OpenClaw's usual state directory, too: a variable may name another one.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foldhash::HashSet;
use guard_openclaw::approvals_store::Directory;
use guard_policy::{EarlierRuns, WritablePlace};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

/// The file in the guard's own directory.
pub(super) const NAME: &str = "workspaces.jsonl";
/// The size above which nothing is added. From then on, no directory above a start directory counts as a top.
const MAX_BYTES: u64 = 4 << 20;

/// Directories in which only root writes (hier(7)).
const OF_ROOT: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// The real path of the directory, or what stands before the first wildcard of a pattern.
    path: String,
    /// The pattern from its first wildcard on; empty for a directory.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pattern: String,
    /// Whether the directory had a `.git` of the operator's before the first run that could make one.
    repository: bool,
}

impl Line {
    /// Returns the line for a place that is no repository of the operator's. If JSON cannot express the name of the
    /// place, the line is for the directory around it: everything in there counts as open to the run.
    fn new(place: &Path) -> Option<Line> {
        let path = place.ancestors().find_map(Path::to_str)?.to_owned();
        Some(Line { path, pattern: String::new(), repository: false })
    }

    /// Returns the line for a place that a policy names.
    fn from_place(place: &WritablePlace) -> Option<Line> {
        let pattern = place.pattern.clone();
        match std::str::from_utf8(&place.literal) {
            Ok(path) => Some(Line { path: path.to_owned(), pattern, repository: false }),
            Err(_) => Line::new(Path::new(OsStr::from_bytes(&place.top()))),
        }
    }

    fn is_directory(&self, directory: &Path) -> bool {
        self.pattern.is_empty() && Path::new(&self.path) == directory
    }

    fn into_place(self) -> WritablePlace {
        WritablePlace { literal: self.path.into_bytes(), pattern: self.pattern }
    }
}

/// What is known of earlier runs.
#[derive(Clone, Debug)]
pub(super) struct RunRecord {
    lines: Vec<Line>,
    /// Where the runs could write: anywhere, if the file cannot be read or is full, since any run may be missing.
    places: EarlierRuns,
}

impl RunRecord {
    /// Reads the records of these state directories.
    pub(super) fn read(states: &[PathBuf]) -> RunRecord {
        RunRecord::joined(states.iter().map(|state| read_lines(state).ok()))
    }

    /// Joins the lines of records. If one record is lost, any place counts as open to earlier runs.
    fn joined(records: impl Iterator<Item = Option<Vec<Line>>>) -> RunRecord {
        let records: Vec<Option<Vec<Line>>> = records.collect();
        let is_whole = !records.is_empty() && records.iter().all(Option::is_some);
        let lines: Vec<Line> = records.into_iter().flatten().flatten().collect();
        let places = match is_whole {
            true => EarlierRuns::new(lines.iter().cloned().map(Line::into_place)),
            false => EarlierRuns::new([b"/".to_vec()]),
        };
        RunRecord { lines, places }
    }

    /// Adds a place that is no repository of the operator's.
    pub(super) fn add(&mut self, place: &Path) {
        let line = Line::new(place);
        self.places.extend(line.iter().cloned().map(Line::into_place));
        self.lines.extend(line);
    }

    /// Returns the places as a policy takes them.
    pub(super) fn to_earlier_runs(&self) -> EarlierRuns {
        let runs = self.places.clone();
        // A guarded program gets no other user's rights, so only a run of root's can write there.
        if rustix::process::geteuid().is_root() { runs } else { runs.outside_of(&OF_ROOT) }
    }

    /// Returns whether a directory has a line.
    pub(super) fn has(&self, directory: &Path) -> bool {
        self.lines.iter().any(|line| line.is_directory(directory))
    }

    /// Returns whether a directory was a repository of the operator's.
    pub(super) fn was_repository(&self, directory: &Path) -> bool {
        // The first line counts.
        let line = self.lines.iter().find(|line| line.is_directory(directory));
        line.is_some_and(|line| line.repository)
    }

    /// Returns whether no run could have made the `.git` of a directory.
    pub(super) fn vouches_for(&self, top: &Path) -> bool {
        self.was_repository(top) || !self.may_be_written(&top.join(".git"))
    }

    /// Returns whether an earlier run could write a path, or the record cannot tell.
    pub(super) fn may_be_written(&self, path: &Path) -> bool {
        path.to_str().is_none() || self.places.may_write(path.as_os_str().as_bytes())
    }
}

/// Returns where a run may write: the start directory and those above it in which `writable` lets it make a `.git`, and
/// `named`, the other places.
pub(super) fn of_run(
    start: &Path,
    home: &Path,
    writable: impl Fn(&[u8]) -> bool,
    named: &[WritablePlace],
) -> Vec<WritablePlace> {
    let is_open = |dir: &&Path| writable(dir.join(".git").as_os_str().as_bytes());
    let below_home: Vec<&Path> =
        start.ancestors().take_while(|dir| !home.starts_with(dir)).filter(is_open).collect();
    let paths = named.iter().filter(|place| place.pattern.is_empty()).map(|place| &*place.literal);
    let directories: HashSet<&Path> = paths.map(|path| Path::new(OsStr::from_bytes(path))).collect();
    let is_covered = |place: &WritablePlace| {
        let top = place.top();
        let top = Path::new(OsStr::from_bytes(&top));
        let mut around = top.ancestors().skip(usize::from(place.pattern.is_empty()));
        below_home.contains(&top)
            || around.any(|directory| below_home.contains(&directory) || directories.contains(directory))
    };
    let named = named.iter().filter(|place| !is_covered(place)).filter_map(Line::from_place);
    // As the record will have them.
    below_home.iter().copied().filter_map(Line::new).chain(named).map(Line::into_place).collect()
}

/// Records the places of a run.
///
/// # Errors
/// If a line cannot be written: an I/O error, with the file.
pub(super) fn write(states: &[PathBuf], places: &[WritablePlace]) -> Result<(), (PathBuf, io::Error)> {
    let records: Vec<Option<Vec<Line>>> = states.iter().map(|state| read_lines(state).ok()).collect();
    let record = RunRecord::joined(records.iter().cloned());
    let mut lines: Vec<Line> = places.iter().filter_map(Line::from_place).collect();
    for line in lines.iter_mut().filter(|line| line.pattern.is_empty()) {
        let directory = Path::new(&line.path);
        line.repository = is_repository(directory) && record.vouches_for(directory);
    }
    for (state, known) in states.iter().zip(&records) {
        let is_known = |line: &Line| {
            let mut known = known.iter().flatten();
            known.any(|known| known.path == line.path && known.pattern == line.pattern)
        };
        let new: Vec<&Line> = lines.iter().filter(|line| !is_known(line)).collect();
        append(state, &new).map_err(|error| (path(state), error))?;
    }
    Ok(())
}

/// Records a place that a run is about to write, in one state directory.
///
/// # Errors
/// If the line cannot be written: an I/O error.
pub(super) fn add(state: &Path, place: &Path) -> io::Result<()> {
    append(state, &Line::new(place).iter().collect::<Vec<_>>())
}

/// Returns whether there is a `.git` in a directory, or may be: a directory that cannot be searched could have anything
/// in it.
pub(super) fn is_repository(directory: &Path) -> bool {
    match directory.join(OsStr::new(".git")).symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

/// The record of a state directory.
pub(super) fn path(state: &Path) -> PathBuf {
    state.join("guard").join(NAME)
}

/// Why the lines of a record are not known.
#[derive(Debug, thiserror::Error)]
pub enum LostRecord {
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Nothing is added any more.
    #[error("it is full, at {MAX_BYTES} bytes")]
    Full,
    /// A line was not written by the guard, or has no end. Holds the line's number, counted from 1.
    #[error("line {0} is not whole")]
    Cut(usize),
}

/// Reads the lines of a state directory.
fn read_lines(state: &Path) -> Result<Vec<Line>, LostRecord> {
    let Some(text) = content(state)? else { return Ok(Vec::new()) };
    if text.len() as u64 >= MAX_BYTES {
        return Err(LostRecord::Full);
    }
    let mut lines = Vec::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        // A line without its newline may be cut, and name another directory.
        let whole = line.strip_suffix('\n').and_then(|line| serde_json::from_str(line).ok());
        lines.push(whole.ok_or(LostRecord::Cut(at + 1))?);
    }
    Ok(lines)
}

/// Returns the first lost record of these state directories, and why it is lost.
pub(super) fn lost(states: &[PathBuf]) -> Option<(PathBuf, LostRecord)> {
    states.iter().find_map(|state| read_lines(state).err().map(|why| (path(state), why)))
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
    // The lock keeps other guards from adding a line before this guard takes back a partly written one.
    flock(&file, FlockOperation::LockExclusive)?;
    let before = file.metadata()?.len();
    if before >= MAX_BYTES {
        // The record is full. Then no directory above a start directory counts, so the missing line does no harm.
        return Ok(());
    }
    let mut text = String::new();
    for line in new {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    // A part of a line would make the record useless for good.
    file.write_all(text.as_bytes()).inspect_err(|_| {
        let _ = file.set_len(before);
    })
}
