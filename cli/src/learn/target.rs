//! Where a proposal goes.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard_policy::learn::{Merge, Proposal};
use guard_policy::text::shown;
use guard_policy::{Document, Problem};
use guard_supervisor::config::{SetupError, temporary};

use super::{LearnError, confirm};
use crate::edit::{Colour, replace, unified};

/// What `-o` names.
#[derive(Debug)]
pub enum OutputTarget {
    /// Nothing, or `-`.
    Stdout,
    /// A file that is not there.
    New(Spot),
    /// A policy.
    Existing {
        spot: Spot,
        /// As it was before the command ran.
        text: String,
    },
}

/// Where a file is to be. The command may write around it, and put another directory or a link on the way there: what it
/// did would be written to a place that it has chosen.
#[derive(Debug)]
pub struct Spot {
    /// As it is called.
    pub path: PathBuf,
    /// Where that was before the command ran.
    real: PathBuf,
    /// Its directory, held open so that no other one is taken for it.
    directory: File,
}

impl Spot {
    /// Where the path leads by now.
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

    /// That the path leads where it led.
    ///
    /// # Errors
    /// When it does not.
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

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOutcome {
    /// It was written, or shown where that was asked for.
    Done,
    /// The policy has all of it.
    Needless,
    /// Nobody said yes.
    Refused,
}

impl OutputTarget {
    /// Looks before the command runs what there is, so that a long session is not in vain.
    ///
    /// # Errors
    /// When what is there is no right policy, or there is no directory for it.
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

    /// What the command must not reach, for it would say what it is allowed.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            OutputTarget::Stdout => Vec::new(),
            OutputTarget::New(spot) | OutputTarget::Existing { spot, .. } => {
                vec![spot.path.clone(), temporary(&spot.real)]
            }
        }
    }

    /// Writes what is to be written, where that may be.
    ///
    /// # Errors
    /// When it cannot be written, or somebody else has changed the policy meanwhile.
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
