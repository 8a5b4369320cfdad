//! Where a new policy is put.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use guard_supervisor::config::Paths;

use super::InitError;
use crate::edit::replace;

/// What to do about a policy that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Nothing is written.
    Left,
    /// It gets another name, and its place is taken.
    Kept,
}

/// Writes the policy of these places, for its owner alone; the state directory is made where there is none. Returns where
/// the one is now that was there.
///
/// # Errors
/// When there is one and it was not to be replaced, or the disk says no.
pub fn write(places: &Paths, text: &str, existing: Existing) -> Result<Option<PathBuf>, InitError> {
    let path = &places.policy;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| InitError::Write { path, error }
    };
    if !places.policy_named {
        DirBuilder::new().recursive(true).mode(0o700).create(&places.state).map_err(failed(&places.state))?;
    }
    if !path.is_file() {
        // What is there and cannot be a policy stays, and is named.
        replace(path, None, text.as_bytes())?;
        return Ok(None);
    }
    if existing == Existing::Left {
        let old = free_name(path);
        return Err(InitError::Exists { path: path.clone(), old });
    }
    let was = fs::read(path).map_err(failed(path))?;
    let old = keep(path, &was)?;
    replace(path, Some(&was), text.as_bytes())?;
    Ok(Some(old))
}

/// Writes what was there under a name that nothing has.
fn keep(path: &Path, was: &[u8]) -> Result<PathBuf, InitError> {
    loop {
        let old = free_name(path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&old);
        match file.and_then(|mut file| file.write_all(was).and_then(|()| file.sync_all())) {
            Ok(()) => return Ok(old),
            // Somebody was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(InitError::Write { path: old, error }),
        }
    }
}

/// `guard.json.old`, `guard.json.old.1`, …
fn free_name(path: &Path) -> PathBuf {
    let named = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let numbered = (1_u64..).map(|number| named(&format!(".old.{number}")));
    let mut names = std::iter::once(named(".old")).chain(numbered);
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_else(|| named(".old"))
}
