//! Why the settings of an agent are not read.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::text::shown;

/// Settings of an agent that the guard cannot read as a whole. Whoever wrote the settings could name so much in them
/// that the guard would not find a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadSettings {
    /// The settings, or a directory of them, name too many files.
    #[error(
        "{path} names too many files, so the guard cannot tell which of them the agent starts outside the guard. \
         Remove what you do not know",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Many(PathBuf),
    /// The settings, or a command in them, are longer than any that people write.
    #[error(
        "{path} is too long, or a command in it is too long, so the guard cannot tell what these settings make the \
         agent start outside the guard. Shorten it, or move it away",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Long(PathBuf),
    /// The values in the settings nest deeper than anybody writes them.
    #[error(
        "{path} nests too deeply, so the guard cannot tell what these settings make the agent start outside the \
         guard. Remove what you do not know",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Deep(PathBuf),
}

impl UnreadSettings {
    /// The error for settings at this path that name too many files.
    pub fn many(path: &Path) -> UnreadSettings {
        UnreadSettings::Many(path.to_owned())
    }

    /// The error for settings at this path that nest too deeply.
    pub fn deep(path: &Path) -> UnreadSettings {
        UnreadSettings::Deep(path.to_owned())
    }

    /// The error for settings at this path that are too long.
    pub fn long(path: &Path) -> UnreadSettings {
        UnreadSettings::Long(path.to_owned())
    }
}
