//! The record of the files that runs had: their policies, audit logs, state directories and files with tokens. It is
//! `guard/policies.jsonl` in the state directory, which no guarded program can reach. A run with another policy must
//! not write these files or create a missing one.
//!
//! A line is added before the first run with such a file starts. When the record is full, the guard drops lines of
//! files that are gone, and then the oldest lines. It reports that.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::Directory;
use guard_policy::text::shown;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

/// The file in the guard's own directory.
pub(super) const NAME: &str = "policies.jsonl";
/// How many files are remembered.
const MAX_FILES: usize = 1024;
/// The most bytes of a record that are read: `MAX_FILES` lines never have more.
const MAX_BYTES: u64 = MAX_FILES as u64 * 8192;

/// A line of the record: the path of a file, as it was named, or its real path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileOfRun {
    /// A policy.
    Policy(String),
    /// An audit log, or the directory beside it.
    Audit(String),
    /// A state directory.
    State(String),
    /// An OpenClaw configuration outside of a state directory. It has tokens.
    Config(String),
    /// A file with the gateway's token.
    Token(String),
}

impl FileOfRun {
    fn path(&self) -> &Path {
        let (FileOfRun::Policy(path)
        | FileOfRun::Audit(path)
        | FileOfRun::State(path)
        | FileOfRun::Config(path)
        | FileOfRun::Token(path)) = self;
        Path::new(path)
    }
}

/// What earlier runs had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FilesOfRuns {
    /// Their policies, which no run writes.
    pub(super) policies: Vec<Vec<u8>>,
    /// Their logs, state directories and tokens, which no run reads or writes.
    pub(super) closed: Vec<Vec<u8>>,
    /// Their configurations of OpenClaw. No run reads them or copies of them.
    pub(super) configs: Vec<Vec<u8>>,
}

/// Why a file is not in the record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error(
        "cannot record the files of this run in {path}: {error}; a run with another policy may write its policy or its log",
        path = shown(.path.as_os_str().as_bytes())
    )]
    Unwritten {
        /// The record.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// There were too many files, so the oldest ones are no longer protected.
    #[error(
        "the record of runs {path} is full, so {dropped}, which was a policy or a log, is no longer protected",
        path = shown(.path.as_os_str().as_bytes()), dropped = shown(.dropped.as_os_str().as_bytes())
    )]
    Full {
        /// The record.
        path: PathBuf,
        /// The newest file whose line was dropped.
        dropped: PathBuf,
    },
}

impl FilesOfRuns {
    /// Adds a file, unless it is there.
    pub(super) fn add(&mut self, file: FileOfRun) {
        let (files, path) = match file {
            FileOfRun::Policy(path) => (&mut self.policies, path.into_bytes()),
            FileOfRun::Config(path) => (&mut self.configs, path.into_bytes()),
            FileOfRun::Audit(path) | FileOfRun::State(path) | FileOfRun::Token(path) => {
                (&mut self.closed, path.into_bytes())
            }
        };
        if !files.contains(&path) {
            files.push(path);
        }
    }
}

/// Reads the records of these state directories, oldest line first.
pub(super) fn read(states: &[PathBuf]) -> FilesOfRuns {
    let mut found = FilesOfRuns::default();
    for state in states {
        let lines = open(state).and_then(|file| file.map_or(Ok(Vec::new()), |mut file| lines(&mut file)));
        lines.unwrap_or_default().into_iter().for_each(|line| found.add(line));
    }
    found
}

/// Records the files of a run.
///
/// # Errors
/// If the files cannot be recorded, or the line of another file was dropped.
pub(super) fn write(state: &Path, files: &[FileOfRun]) -> Result<(), RecordError> {
    let path = state.join("guard").join(NAME);
    match add(state, files) {
        Ok(None) => Ok(()),
        Ok(Some(dropped)) => Err(RecordError::Full { path, dropped }),
        Err(error) => Err(RecordError::Unwritten { path, error }),
    }
}

/// Adds the files that the record lacks. Returns the newest file whose line was dropped.
fn add(state: &Path, files: &[FileOfRun]) -> io::Result<Option<PathBuf>> {
    let mut new = files.to_vec();
    if let Some(mut file) = open(state)? {
        let known = lines(&mut file)?;
        new.retain(|line| !known.contains(line));
    }
    if new.is_empty() {
        return Ok(None);
    }
    // A run makes its state directory, but no home around it.
    if let Some(home) = state.parent() {
        home.metadata()?;
    }
    let own = Directory::make_own(state)?;
    let mut file = own.make_regular(NAME, OFlags::RDWR)?;
    // Two guards that start at once do not lose each other's lines.
    flock(&file, FlockOperation::LockExclusive)?;
    let mut all = lines(&mut file)?;
    new.retain(|line| !all.contains(line));
    all.extend(new);
    let mut dropped = None;
    if all.len() > MAX_FILES {
        // Lines of files that are gone come first. Otherwise the order stays.
        all.sort_by_key(|line| line.path().symlink_metadata().is_ok());
        dropped = all.drain(..all.len() - MAX_FILES).next_back().map(|line| line.path().to_owned());
    }
    let mut text = String::new();
    for line in &all {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)?;
    Ok(dropped)
}

/// Opens the record to read it. Returns `None` if the record is missing.
fn open(state: &Path) -> io::Result<Option<File>> {
    Directory::open_own(state)?.map_or(Ok(None), |own| own.regular(NAME))
}

/// Reads all lines. A line that does not parse is left out: it was cut off when a guard died.
fn lines(file: &mut File) -> io::Result<Vec<FileOfRun>> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(path: &Path) -> FileOfRun {
        FileOfRun::Policy(path.to_str().unwrap().to_owned())
    }

    #[test]
    fn what_a_run_had_is_remembered_also_when_it_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let state = root.join("state");
        assert_eq!(read(std::slice::from_ref(&state)), FilesOfRuns::default());
        let homeless = root.join("missing/state");
        assert!(write(&homeless, &[policy(&root.join("a"))]).is_err() && !root.join("missing").exists());
        let (a, log) = (root.join("a"), root.join("log").to_str().unwrap().to_owned());
        std::fs::write(&a, "{}").unwrap();
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let closed = vec![log.clone().into_bytes()];
        let expected = FilesOfRuns { policies: vec![bytes(&a)], closed, configs: Vec::new() };
        for _ in 0..2 {
            write(&state, &[policy(&a), FileOfRun::Audit(log.clone())]).unwrap();
            assert_eq!(read(std::slice::from_ref(&state)), expected);
        }
        std::fs::remove_file(&a).unwrap();
        assert_eq!(read(std::slice::from_ref(&state)), expected);
        // A line that was cut hides no other.
        let record = state.join("guard").join(NAME);
        let text = std::fs::read_to_string(&record).unwrap();
        assert!(text.starts_with("{\"policy\":"), "as earlier versions wrote it: {text}");
        std::fs::write(&record, format!("{text}{{\"policy\": \"/x")).unwrap();
        assert_eq!(read(&[state]), expected);
    }

    #[test]
    fn a_full_record_drops_what_is_gone_and_then_the_oldest() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let state = root.join("state");
        let paths: Vec<PathBuf> = (0..=MAX_FILES).map(|number| root.join(format!("{number}.json"))).collect();
        for path in &paths[1..] {
            std::fs::write(path, "").unwrap();
        }
        let lines: Vec<FileOfRun> = paths.iter().map(|path| policy(path)).collect();
        write(&state, &lines[..MAX_FILES]).unwrap();
        let dropped = |line: &FileOfRun| write(&state, std::slice::from_ref(line)).unwrap_err().to_string();
        let first = dropped(&lines[MAX_FILES]);
        assert!(first.contains("/0.json, which was a policy or a log"), "it is gone: {first}");
        std::fs::write(root.join("more"), "").unwrap();
        let full = dropped(&policy(&root.join("more")));
        assert!(full.contains("/1.json, which was"), "{full}");
        assert_eq!(read(&[state]).policies.len(), MAX_FILES);
    }
}
