//! The places where a human has let a run write. Later runs know them, as they know the places that the run's rules let
//! it write.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::{EarlierRuns, Policy};
use parking_lot::Mutex;

use super::reload::stamp::Stamp;
use super::workspace_record::{self, RunRecord};

/// The number of names in one directory above which the directory itself is recorded.
const MAX_NAMES: usize = 16;
/// The number of lines of a run above which whole directories are recorded, [`COARSE`] deep.
const MAX_LINES: usize = 1024;
/// The number of parts in the path of such a directory, with the root: `/home/u/code` has 4.
const COARSE: usize = 4;

/// Records what answers let a run write. No run waits for another, except while both write to the record.
#[derive(Debug, Default)]
pub struct AnsweredWrites {
    /// The state directories with records.
    states: Vec<PathBuf>,
    known: Mutex<Option<Known>>,
    recorded: Mutex<AllRecords>,
}

/// What all runs have recorded.
#[derive(Debug, Default)]
struct AllRecords {
    stamps: Vec<Stamp>,
    runs: EarlierRuns,
    /// The runs that a policy knows that knows all of this.
    known_to: Option<EarlierRuns>,
}

#[derive(Debug)]
struct Known {
    record: RunRecord,
    /// What was recorded by this run.
    places: Vec<PathBuf>,
    /// How many names in a directory were recorded.
    names: HashMap<PathBuf, usize>,
}

impl AnsweredWrites {
    /// Creates a recorder for these state directories.
    pub fn new(states: Vec<PathBuf>) -> AnsweredWrites {
        AnsweredWrites { states, ..AnsweredWrites::default() }
    }

    /// Records a real path that is about to be written, unless the record has it already.
    ///
    /// # Errors
    /// If a line cannot be written: an I/O error.
    pub fn record(&self, path: &[u8]) -> io::Result<()> {
        let path = Path::new(OsStr::from_bytes(path));
        let mut known = self.known.lock();
        let known = known.get_or_insert_with(|| Known {
            record: RunRecord::read(&self.states),
            places: Vec::new(),
            names: HashMap::new(),
        });
        if self.states.is_empty() || known.record.may_be_written(path) {
            return Ok(());
        }
        let place = known.place(path);
        // This run knows it, whatever becomes of the record.
        known.places.push(place.clone());
        for state in &self.states {
            workspace_record::add(state, &place)?;
        }
        known.record.add(&place);
        Ok(())
    }

    /// Returns whether this run recorded a real path, or a directory above it.
    pub fn has(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        self.known.lock().iter().flat_map(|known| &known.places).any(|place| path.starts_with(place))
    }

    /// Returns the runs of which `policy` does not know everything: what this run recorded, and what others have recorded
    /// by now. `None` if the policy knows them.
    pub fn news(&self, policy: &Policy) -> Option<EarlierRuns> {
        let mut recorded = self.recorded.lock();
        if !self.states.is_empty() {
            // What is written while the records are read changes their stamps again.
            let stamps: Vec<Stamp> =
                self.states.iter().map(|state| Stamp::read(&workspace_record::path(state))).collect();
            if recorded.stamps != stamps {
                let runs = RunRecord::read(&self.states).to_earlier_runs();
                *recorded = AllRecords { stamps, runs, known_to: None };
            }
        }
        let known = self.known.lock();
        let own = known.iter().flat_map(|known| &known.places).map(|place| place.as_os_str().as_bytes());
        let own: Vec<Vec<u8>> =
            own.filter(|place| !recorded.runs.may_write(place)).map(<[u8]>::to_vec).collect();
        drop(known);
        if !own.is_empty() {
            // They could not be recorded.
            recorded.runs.extend(own);
            recorded.known_to = None;
        }
        let is_known = |runs: &EarlierRuns| runs.is_same(policy.earlier_runs());
        if recorded.known_to.as_ref().is_some_and(is_known) {
            return None;
        }
        if policy.earlier_runs().include(&recorded.runs) {
            recorded.known_to = Some(policy.earlier_runs().clone());
            return None;
        }
        Some(recorded.runs.clone())
    }
}

impl Known {
    /// Returns the place to record for a path: the path itself, or a directory around it where there would be too many
    /// names.
    fn place(&mut self, path: &Path) -> PathBuf {
        if self.places.len() >= MAX_LINES {
            return path.components().take(COARSE).collect();
        }
        let directory = path.parent().unwrap_or(path);
        let names = self.names.entry(directory.to_owned()).or_default();
        *names += 1;
        if *names > MAX_NAMES { directory.to_owned() } else { path.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(state: &Path) -> RunRecord {
        RunRecord::read(&[state.to_owned()])
    }

    #[test]
    fn what_was_answered_is_known_to_the_next_run() {
        let state = tempfile::tempdir().unwrap();
        let writes = AnsweredWrites::new(vec![state.path().to_owned()]);
        writes.record(b"/home/u/project/.git").unwrap();
        writes.record(b"/home/u/project/.git/config").unwrap();
        assert!(writes.has(b"/home/u/project/.git") && writes.has(b"/home/u/project/.git/hooks"));
        assert!(!writes.has(b"/home/u/project") && !writes.has(b"/home/u/project/.gitignore"));
        let record = recorded(state.path());
        assert!(record.may_be_written(Path::new("/home/u/project/.git/hooks")));
        assert!(!record.may_be_written(Path::new("/home/u/project/other")));
        assert!(!record.vouches_for(Path::new("/home/u/project")));
        assert!(record.vouches_for(Path::new("/home/u/other")));
    }

    #[test]
    fn many_names_of_a_directory_are_one_place() {
        let state = tempfile::tempdir().unwrap();
        let writes = AnsweredWrites::new(vec![state.path().to_owned()]);
        for i in 0..10_000 {
            writes.record(format!("/home/u/d/{i}").as_bytes()).unwrap();
        }
        let record = recorded(state.path());
        assert!(record.may_be_written(Path::new("/home/u/d/new")));
        assert!(!record.may_be_written(Path::new("/home/u/other")));
        let text = std::fs::read_to_string(state.path().join("guard/workspaces.jsonl")).unwrap();
        assert_eq!(text.lines().count(), MAX_NAMES + 1);
    }

    #[test]
    fn many_directories_are_one_place_and_no_more_than_that() {
        let state = tempfile::tempdir().unwrap();
        let writes = AnsweredWrites::new(vec![state.path().to_owned()]);
        for i in 0..10_000 {
            writes.record(format!("/home/u/d/{}/{i}/x", i % 100).as_bytes()).unwrap();
        }
        let record = recorded(state.path());
        assert!(record.may_be_written(Path::new("/home/u/d/new/x")));
        assert!(!record.may_be_written(Path::new("/home/u/other")));
        let recorded = writes.known.lock();
        assert_eq!(recorded.as_ref().map(|known| known.places.len()), Some(MAX_LINES + 1));
    }

    #[test]
    fn what_cannot_be_recorded_is_an_error() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join("file"), "").unwrap();
        let writes = AnsweredWrites::new(vec![state.path().join("file/state")]);
        // Such a record counts as incomplete: any run may be missing.
        assert!(writes.record(b"/home/u/x").is_ok());
        std::fs::create_dir_all(state.path().join("guard/workspaces.jsonl")).unwrap();
        let writes = AnsweredWrites::new(vec![state.path().to_owned()]);
        assert!(writes.record(b"/home/u/x").is_ok());
        assert!(recorded(state.path()).may_be_written(Path::new("/home/u/y")));
    }
}
