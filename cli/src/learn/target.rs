//! The target of a proposal.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard_policy::learn::{Merge, Proposal};
use guard_policy::text::shown;
use guard_policy::{Document, Problem};
use guard_supervisor::config::{SetupError, temporary};

use super::LearnError;
use crate::confirm;
use crate::edit::{Colour, replace, unified};

/// The target that `-o` names.
#[derive(Debug)]
pub enum OutputTarget {
    /// No `-o`, or `-`.
    Stdout,
    /// A file that does not exist yet.
    New(Spot),
    /// An existing policy.
    Existing {
        spot: Spot,
        /// Its text before the command ran.
        text: String,
    },
}

/// The place of the file. The command could replace a parent directory, or put a link there, to redirect the proposal.
#[derive(Debug)]
pub struct Spot {
    /// The path as given.
    pub path: PathBuf,
    /// Its real path before the command ran.
    real: PathBuf,
    /// Its directory, held open so that no other directory can be taken for it.
    directory: File,
}

impl Spot {
    /// Resolves the path.
    ///
    /// # Errors
    /// When its directory cannot be opened.
    fn find(path: PathBuf) -> Result<Spot, LearnError> {
        let real = guard_openclaw::real_path::real(&path);
        match File::open(parent(&real)) {
            Ok(directory) => Ok(Spot { path, real, directory }),
            Err(error) => Err(SetupError::Unreadable { path: parent(&real).to_owned(), error }.into()),
        }
    }

    /// Checks that the path still resolves to the same place.
    ///
    /// # Errors
    /// When the path resolves to another place.
    fn check(&self) -> Result<(), LearnError> {
        let is_there = guard_openclaw::real_path::real(&self.path) == self.real && {
            let (was, is) = (self.directory.metadata(), parent(&self.real).symlink_metadata());
            was.is_ok_and(|was| is.is_ok_and(|is| (was.dev(), was.ino()) == (is.dev(), is.ino())))
        };
        if is_there { Ok(()) } else { Err(LearnError::Moved(self.path.clone())) }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// What became of the proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOutcome {
    /// Written, or shown if that was requested.
    Done,
    /// The policy contains all of it already.
    Needless,
    /// The operator did not say yes.
    Refused,
}

impl OutputTarget {
    /// Checks the target before the command runs, so that a long session is not wasted.
    ///
    /// # Errors
    /// When the existing policy is invalid, or the directory does not exist.
    pub fn find(output: Option<&Path>) -> Result<OutputTarget, LearnError> {
        let Some(path) = output.filter(|path| *path != Path::new("-")) else {
            return Ok(OutputTarget::Stdout);
        };
        let path = std::path::absolute(path).map_err(SetupError::NoDirectory)?;
        match std::fs::read(&path) {
            Ok(text) => {
                let text = String::from_utf8(text).map_err(|_| SetupError::NotText { path: path.clone() })?;
                Document::parse(&path.to_string_lossy(), &text)
                    .map_err(|problems: Vec<Problem>| SetupError::Invalid(problems))?;
                Ok(OutputTarget::Existing { spot: Spot::find(path)?, text })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match path.parent() {
                Some(directory) if directory.is_dir() => Ok(OutputTarget::New(Spot::find(path)?)),
                directory => Err(LearnError::NoDirectory(directory.unwrap_or(&path).to_owned())),
            },
            Err(error) => Err(SetupError::Unreadable { path, error }.into()),
        }
    }

    /// The files that the command must not reach: they decide what it may do.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            OutputTarget::Stdout => Vec::new(),
            OutputTarget::New(spot) | OutputTarget::Existing { spot, .. } => {
                vec![spot.path.clone(), temporary(&spot.real)]
            }
        }
    }

    /// Writes the proposal, asking first where needed.
    ///
    /// # Errors
    /// When it cannot be written, or the policy was changed meanwhile.
    pub fn write(
        &self,
        yes: bool,
        proposal: &Proposal,
        merge: Option<&Merge>,
    ) -> Result<TargetOutcome, LearnError> {
        match self {
            OutputTarget::Stdout => Ok(TargetOutcome::Done),
            OutputTarget::New(spot) => {
                spot.check()?;
                replace(&spot.path, None, proposal.text.as_bytes())?;
                Ok(TargetOutcome::Done)
            }
            OutputTarget::Existing { spot, text } => {
                spot.check()?;
                let path = &spot.path;
                let new = merge.map_or(text, |merge| &merge.text);
                if new == text {
                    return Ok(TargetOutcome::Needless);
                }
                eprint!("{}", unified(&path.display().to_string(), text, new, Colour::No));
                let question = format!("openclaw-guard: change {}?", shown(path.as_os_str().as_bytes()));
                if !yes && !confirm::yes(&question).unwrap_or(false) {
                    return Ok(TargetOutcome::Refused);
                }
                replace(path, Some(text.as_bytes()), new.as_bytes())?;
                Ok(TargetOutcome::Done)
            }
        }
    }
}
