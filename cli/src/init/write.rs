//! Writes a new policy.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use guard_policy::{Document, Template};
use guard_supervisor::config::Paths;

use super::InitError;
use crate::edit::replace;

/// What to do when a policy exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it, and write nothing.
    Left,
    /// Rename it, and write the new one in its place.
    Kept,
}

/// Writes the policy, readable by its owner only; creates the state directory if it is missing. Returns the new path of
/// the policy that was there before.
///
/// # Errors
/// When there is a policy that must not be replaced, or an I/O error occurs.
pub fn write(paths: &Paths, text: &str, existing: Existing) -> Result<Option<PathBuf>, InitError> {
    let path = &paths.policy;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| InitError::Write { path, error }
    };
    if !paths.policy_named {
        DirBuilder::new().recursive(true).mode(0o700).create(&paths.state).map_err(failed(&paths.state))?;
    }
    if !path.is_file() {
        // A file that is not a policy stays; the error names it.
        replace(path, None, text.as_bytes())?;
        return Ok(None);
    }
    if existing == Existing::Left {
        let old = free_name(path);
        return Err(InitError::Exists { path: path.clone(), old, is_for_all: serves_all(paths) });
    }
    let was = fs::read(path).map_err(failed(path))?;
    let old = back_up(path, &was)?;
    replace(path, Some(&was), text.as_bytes())?;
    Ok(Some(old))
}

/// Whether there is a policy that names `${workspace}`.
pub fn serves_all(paths: &Paths) -> bool {
    let text =
        Some(&paths.policy).filter(|path| path.is_file()).and_then(|path| fs::read_to_string(path).ok());
    let document = text.and_then(|text| Document::parse("", &text).ok());
    document.is_some_and(|document| document.names_workspace())
}

/// Whether there is a policy that was written from a template, or extends it.
pub fn is_of(paths: &Paths, template: Template) -> bool {
    let Ok(text) = fs::read_to_string(&paths.policy) else { return false };
    let extends = || Document::parse("", &text).is_ok_and(|document| document.extends() == Some(template));
    text.starts_with(&format!("// {}: ", template.as_str())) || extends()
}

/// Saves the old policy under an unused name.
fn back_up(path: &Path, was: &[u8]) -> Result<PathBuf, InitError> {
    loop {
        let old = free_name(path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&old);
        match file.and_then(|mut file| file.write_all(was).and_then(|()| file.sync_all())) {
            Ok(()) => return Ok(old),
            // Another process was faster.
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
