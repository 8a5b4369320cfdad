//! The files that runs had as their policies, in `guard/policies.jsonl` of the state directory, which no guarded program can
//! reach: a run with another policy must not write a policy that lies in its workspace.
//!
//! A line is added before the first run with a policy starts. When the record is full, lines of files that are gone are
//! dropped, and then the oldest ones, which is reported.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::Directory;
use guard_policy::text::shown;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

/// The file in the guard's own directory.
const NAME: &str = "policies.jsonl";
/// How many files are remembered.
const MAX_FILES: usize = 1024;
/// The largest record that is read: so many lines never have more.
const MAX_BYTES: u64 = MAX_FILES as u64 * 8192;

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct UsedPolicy {
    /// The path of the file: as it was named, or the real one.
    policy: String,
}

/// Why a policy is not in the record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error(
        "cannot record the policy in {path}: {error}; a run with another policy may write this one",
        path = shown(.path.as_os_str().as_bytes())
    )]
    Unwritten {
        /// The record.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The oldest of too many policies are not protected any more.
    #[error(
        "the record of policies {path} is full: runs may now write {policy}, which was one",
        path = shown(.path.as_os_str().as_bytes()), policy = shown(.policy.as_bytes())
    )]
    Full {
        /// The record.
        path: PathBuf,
        /// The newest of those that were dropped.
        policy: String,
    },
}

/// Returns the files that were policies and are still there, oldest first.
pub(super) fn read(state: &Path) -> Vec<Vec<u8>> {
    let lines = open(state).and_then(|file| file.map_or(Ok(Vec::new()), |mut file| lines(&mut file)));
    let still_there = |line: &UsedPolicy| Path::new(&line.policy).symlink_metadata().is_ok();
    lines.unwrap_or_default().into_iter().filter(still_there).map(|line| line.policy.into_bytes()).collect()
}

/// Records the paths of a policy.
///
/// # Errors
/// If that is not possible, or another one had to go.
pub(super) fn write(state: &Path, policy: &[PathBuf]) -> Result<(), RecordError> {
    let path = state.join("guard").join(NAME);
    match add(state, policy) {
        Ok(None) => Ok(()),
        Ok(Some(dropped)) => Err(RecordError::Full { path, policy: dropped }),
        Err(error) => Err(RecordError::Unwritten { path, error }),
    }
}

/// Adds the paths that are missing. Returns the newest file that is there and was dropped.
fn add(state: &Path, policy: &[PathBuf]) -> io::Result<Option<String>> {
    // JSON cannot express other names, and nobody gives a policy such a name by accident.
    let mut new: Vec<UsedPolicy> =
        policy.iter().filter_map(|path| Some(UsedPolicy { policy: path.to_str()?.to_owned() })).collect();
    let is_known = |file: &mut File, new: &UsedPolicy| Ok::<_, io::Error>(lines(file)?.contains(new));
    if let Some(mut file) = open(state)? {
        let mut missing = Vec::new();
        for line in new {
            if !is_known(&mut file, &line)? {
                missing.push(line);
            }
        }
        new = missing;
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
        all.retain(|line| Path::new(&line.policy).symlink_metadata().is_ok());
        let too_many = all.len().saturating_sub(MAX_FILES);
        dropped = all.drain(..too_many).next_back().map(|line| line.policy);
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

/// Opens the record to read it; `None` if there is none.
fn open(state: &Path) -> io::Result<Option<File>> {
    Directory::open_own(state)?.map_or(Ok(None), |own| own.regular(NAME))
}

/// Reads all lines. One that does not parse was cut off when a guard died; it is left out.
fn lines(file: &mut File) -> io::Result<Vec<UsedPolicy>> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_a_policy_is_remembered_while_it_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let state = root.join("state");
        assert!(read(&state).is_empty());
        let homeless = root.join("missing/state");
        assert!(write(&homeless, &[root.join("a")]).is_err() && !root.join("missing").exists());
        let policy = |name: &str| {
            let path = root.join(name);
            std::fs::write(&path, "{}").unwrap();
            path
        };
        let (a, b) = (policy("a"), policy("b"));
        let known =
            || read(&state).into_iter().map(|path| String::from_utf8(path).unwrap()).collect::<Vec<_>>();
        let names =
            |paths: &[&PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        for _ in 0..2 {
            write(&state, &[a.clone(), b.clone()]).unwrap();
            assert_eq!(known(), names(&[&a, &b]));
        }
        std::fs::remove_file(&a).unwrap();
        assert_eq!(known(), names(&[&b]));
        // A line that was cut hides no other.
        let record = state.join("guard").join(NAME);
        let text = std::fs::read_to_string(&record).unwrap();
        std::fs::write(&record, format!("{text}{{\"policy\": \"/x")).unwrap();
        assert_eq!(known(), names(&[&b]));
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
        write(&state, &paths[..MAX_FILES]).unwrap();
        write(&state, &paths[MAX_FILES..]).unwrap();
        assert_eq!(read(&state).len(), MAX_FILES, "the first is gone, and made room");
        std::fs::write(root.join("more"), "").unwrap();
        let full = write(&state, &[root.join("more")]).unwrap_err().to_string();
        assert!(full.ends_with("1.json, which was one"), "{full}");
        assert_eq!(read(&state).len(), MAX_FILES);
    }
}
