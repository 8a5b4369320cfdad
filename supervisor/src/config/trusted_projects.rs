//! The record of the project files that the operator trusts, with the path and the SHA-256 of each. It is
//! `guard/trusted.json` in the state directory, which no guarded program can reach.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::Directory;
use guard_policy::ProjectTrust;
use guard_policy::text::shown;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, renameat};
use serde::{Deserialize, Serialize};

/// The file in the guard's own directory.
const NAME: &str = "trusted.json";
/// The temporary file that is renamed to it.
const NEW: &str = "trusted.json.new";
/// The largest record, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Why the record cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot use {path}: {error}; no project file is trusted until it is repaired or moved away",
    path = shown(path.as_os_str().as_bytes())
)]
pub struct TrustError {
    path: PathBuf,
    error: io::Error,
}

/// A file that the operator trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedProject {
    /// The real path of the file.
    pub path: PathBuf,
    /// The SHA-256 of its contents.
    pub sha256: String,
}

/// The record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedProjects {
    version: u64,
    files: Vec<TrustedProject>,
}

/// Returns the path of the record of a state directory.
pub(super) fn file(state: &Path) -> PathBuf {
    state.join("guard").join(NAME)
}

impl TrustedProjects {
    /// Reads the record of a state directory. If it cannot be read, nothing is trusted, and a line on stderr says so.
    pub(super) fn read(state: &Path) -> TrustedProjects {
        TrustedProjects::load(state).unwrap_or_else(|error| {
            eprintln!("openclaw-guard: {error}");
            TrustedProjects::default()
        })
    }

    /// Reads the record of a state directory.
    ///
    /// # Errors
    /// If there is one and it cannot be read.
    pub fn load(state: &Path) -> Result<TrustedProjects, TrustError> {
        content(state).map_err(|error| failed(state, error))
    }

    /// Returns what the record says of a file with these contents.
    pub(super) fn trust(&self, path: &Path, sha256: &str) -> ProjectTrust {
        match self.files.iter().find(|file| file.path == path) {
            Some(file) if file.sha256 == sha256 => ProjectTrust::Trusted,
            Some(_) => ProjectTrust::Changed,
            None => ProjectTrust::Untrusted,
        }
    }

    /// The files, by path.
    pub fn files(&self) -> &[TrustedProject] {
        &self.files
    }

    /// Adds a file. It replaces an earlier entry for its path.
    ///
    /// # Errors
    /// If the record cannot be read or written.
    pub fn add(state: &Path, file: TrustedProject) -> Result<(), TrustError> {
        change(state, |files| {
            files.retain(|other| other.path != file.path);
            files.push(file);
            files.sort_by(|a, b| a.path.cmp(&b.path));
        })
    }

    /// Removes a file. Returns whether it was there.
    ///
    /// # Errors
    /// If the record cannot be read or written.
    pub fn forget(state: &Path, path: &Path) -> Result<bool, TrustError> {
        let mut is_found = false;
        change(state, |files| {
            let before = files.len();
            files.retain(|other| other.path != path);
            is_found = files.len() < before;
        })?;
        Ok(is_found)
    }
}

fn failed(state: &Path, error: io::Error) -> TrustError {
    TrustError { path: file(state), error }
}

fn change(state: &Path, act: impl FnOnce(&mut Vec<TrustedProject>)) -> Result<(), TrustError> {
    let changed = || -> io::Result<()> {
        let directory = Directory::make_own(state)?;
        // Two commands may run at once. The lock ends with the descriptor.
        flock(&directory, FlockOperation::LockExclusive)?;
        let mut record = content(state)?;
        act(&mut record.files);
        record.version = 1;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NONBLOCK;
        let file = directory.below(NEW, flags, Mode::RUSR | Mode::WUSR)?;
        directory.hand_over(&file)?;
        let mut file = File::from(file);
        file.write_all(serde_json::to_string_pretty(&record)?.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        Ok(renameat(&directory, NEW, &directory, NAME)?)
    };
    changed().map_err(|error| failed(state, error))
}

fn content(state: &Path) -> io::Result<TrustedProjects> {
    let Some(directory) = Directory::open_own(state)? else { return Ok(TrustedProjects::default()) };
    let file = match directory.below(NAME, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TrustedProjects::default()),
        Err(error) => return Err(error),
    };
    let owner = fstat(&file)?.st_uid;
    let file = File::from(file);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if owner != directory.owner()?.uid {
        return Err(io::Error::other("it belongs to another user than its directory"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    let record: TrustedProjects = serde_json::from_str(&text)?;
    match record.version {
        1 => Ok(record),
        _ => Err(io::Error::other("its version is not 1")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn file(path: &str, sha256: &str) -> TrustedProject {
        TrustedProject { path: path.into(), sha256: sha256.to_owned() }
    }

    #[test]
    fn a_file_is_trusted_as_it_was_until_it_is_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let trust =
            |sha256: &str| TrustedProjects::load(state.path()).unwrap().trust(Path::new("/p/f"), sha256);
        assert_eq!(trust("a"), ProjectTrust::Untrusted);
        TrustedProjects::add(state.path(), file("/p/f", "a")).unwrap();
        TrustedProjects::add(state.path(), file("/o/f", "b")).unwrap();
        assert_eq!((trust("a"), trust("b")), (ProjectTrust::Trusted, ProjectTrust::Changed));
        TrustedProjects::add(state.path(), file("/p/f", "b")).unwrap();
        assert_eq!((trust("a"), trust("b")), (ProjectTrust::Changed, ProjectTrust::Trusted));
        let paths: Vec<_> = TrustedProjects::load(state.path()).unwrap().files;
        assert_eq!(paths, [file("/o/f", "b"), file("/p/f", "b")]);
        assert!(TrustedProjects::forget(state.path(), Path::new("/p/f")).unwrap());
        assert!(!TrustedProjects::forget(state.path(), Path::new("/p/f")).unwrap());
        assert_eq!(trust("b"), ProjectTrust::Untrusted);
        let record = state.path().join("guard/trusted.json");
        assert_eq!(fs::metadata(&record).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_record_that_cannot_be_read_trusts_nothing_and_is_not_replaced() {
        let state = tempfile::tempdir().unwrap();
        TrustedProjects::add(state.path(), file("/p/f", "a")).unwrap();
        let record = state.path().join("guard/trusted.json");
        let good = fs::read_to_string(&record).unwrap();
        let large = "x".repeat((MAX_BYTES + 1) as usize);
        for bad in ["", "[]", &good[..good.len() / 2], &good.replace("1,", "2,"), &large] {
            fs::write(&record, bad).unwrap();
            assert!(TrustedProjects::load(state.path()).is_err(), "{bad:.20}");
            assert!(TrustedProjects::add(state.path(), file("/p/f", "a")).is_err());
            assert_eq!(
                TrustedProjects::read(state.path()).trust(Path::new("/p/f"), "a"),
                ProjectTrust::Untrusted
            );
            assert_eq!(fs::read_to_string(&record).unwrap(), bad);
        }
        fs::remove_file(&record).unwrap();
        let elsewhere = state.path().join("elsewhere");
        fs::write(&elsewhere, &good).unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &record).unwrap();
        assert!(TrustedProjects::load(state.path()).is_err());
    }
}
