//! Why the settings of an agent are not read.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::text::shown;

/// Settings of an agent that cannot be read as a whole. Whoever wrote them could name so much there that a file would
/// not be found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadSettings {
    /// The settings, or a directory of them.
    #[error(
        "{path} names too many files: the guard cannot tell which of them the agent starts outside of it. \
         Remove what you do not know",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Many(PathBuf),
    /// They are longer than any, or a command in them is.
    #[error(
        "{path} is too long, or a command in it is: the guard cannot tell what it has the agent start \
         outside of it. Shorten it, or move it away",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Long(PathBuf),
    /// They have values in values deeper than anybody writes.
    #[error(
        "{path} nests too deeply: the guard cannot tell what it has the agent start outside of it. Remove what you do \
         not know",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Deep(PathBuf),
}

impl UnreadSettings {
    /// Those at a path that name too much.
    pub fn many(path: &Path) -> UnreadSettings {
        UnreadSettings::Many(path.to_owned())
    }

    /// Those at a path that nest too deeply.
    pub fn deep(path: &Path) -> UnreadSettings {
        UnreadSettings::Deep(path.to_owned())
    }

    /// Those at a path that are too long.
    pub fn long(path: &Path) -> UnreadSettings {
        UnreadSettings::Long(path.to_owned())
    }
}
