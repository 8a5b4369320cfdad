//! Reads the stores at startup.

use std::path::{Path, PathBuf};

use guard_policy::Problem;
use guard_policy::store::{Store, StoreContents};

use super::directory::{Directory, StoreKind};
use super::gateways::{self, Gateways};
use super::{DATABASE, GUARD, NAME, OWN, new_id};

/// The file of a store, as found.
#[derive(Clone, Debug, PartialEq)]
pub enum File {
    /// There is no file.
    Absent,
    /// There is no file, and OpenClaw 2026.8 or newer keeps its approvals in a database in the state directory.
    Elsewhere,
    /// A valid store.
    Present(StoreContents),
    /// A file that is not a valid store; holds a line that says where and why.
    Broken(String),
}

/// All stores.
#[derive(Clone, Debug, PartialEq)]
pub struct Stores {
    /// OpenClaw's.
    pub openclaw: File,
    /// The guard's own.
    pub own: File,
    /// The gateway's, as last reported.
    pub gateways: Gateways,
}

impl Stores {
    /// The value if no store exists.
    pub const ABSENT: Stores =
        Stores { openclaw: File::Absent, own: File::Absent, gateways: Gateways::Never };

    /// Loads the stores of a state directory, given by its real path.
    pub fn load(state: &Path) -> Stores {
        Stores { openclaw: load(state), own: load_own(state), gateways: gateways::load(state) }
    }
}

/// Loads OpenClaw's store from a state directory, given by its real path.
pub fn load(state: &Path) -> File {
    let path = state.join(NAME);
    let unreadable = |error: std::io::Error| File::Broken(format!("{}: {error}", path.display()));
    let directory = match Directory::open(state) {
        Ok(Some(directory)) => directory,
        Ok(None) => return File::Absent,
        Err(error) => return unreadable(error),
    };
    let bytes = match directory.read() {
        Ok(Some(content)) => content.bytes,
        // If the check fails, a database is assumed.
        Ok(None) if directory.has_database().unwrap_or(true) => return File::Elsewhere,
        Ok(None) => return File::Absent,
        Err(error) => return unreadable(error),
    };
    match parse(&path, bytes, StoreKind::OpenClaw) {
        Ok(mut reading) => {
            if directory.has_database().unwrap_or(true) {
                reading.notes.push(format!(
                    "OpenClaw 2026.8 and newer keep their approvals in {DATABASE} and refuse to run beside this file; \
                     run `openclaw doctor --fix`"
                ));
            }
            File::Present(reading)
        }
        Err(error) => File::Broken(error.to_string()),
    }
}

/// Loads the guard's own store from a state directory, given by its real path.
pub fn load_own(state: &Path) -> File {
    let path = state.join(GUARD).join(OWN);
    let unreadable = |error: std::io::Error| File::Broken(format!("{}: {error}", path.display()));
    match Directory::open_own(state).and_then(|directory| directory.map_or(Ok(None), |own| own.read())) {
        Ok(Some(content)) => {
            let parsed = parse(&path, content.bytes, StoreKind::Guard);
            parsed.map_or_else(|error| File::Broken(error.to_string()), File::Present)
        }
        Ok(None) => File::Absent,
        Err(error) => unreadable(error),
    }
}

/// Why a file's content is not a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The content is not text.
    #[error("{path}:{line}: not UTF-8 text", path = path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first line that is not text, from 1.
        line: usize,
    },
    /// The content does not have the format of a store.
    #[error(transparent)]
    Problem(#[from] Problem),
}

/// Parses a file's content as a store.
pub(super) fn parse(path: &Path, bytes: Vec<u8>, kind: StoreKind) -> Result<StoreContents, StoreError> {
    let shown = path.display().to_string();
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        StoreError::NotText { path: path.to_owned(), line }
    })?;
    let read = match kind {
        StoreKind::OpenClaw | StoreKind::Gateway => Store::parse,
        StoreKind::Guard => Store::parse_own,
    };
    Ok(read(&shown, &text, &mut new_id)?)
}
