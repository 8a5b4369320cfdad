//! Files of a git directory that name paths of the work tree: git writes to those paths, or reads them, without looking at
//! the paths again.
//!
//! git checks a path when it puts it into such a file (read-cache.c, `verify_path`), not when it reads it from there. A
//! file that was made by others may name `.git/hooks/post-checkout` or `../.bashrc`, which `git restore .` then writes.
//! Nothing here reads a file.

mod index;
mod merge_rr;

use crate::text::shown;

/// The most that is judged: an index of about two million files.
pub const MAX_BYTES: usize = 256 << 20;

/// What such a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GitPathsContent {
    /// An index of a repository whose object names have this format.
    Index(ObjectFormat),
    /// The files with conflicts that git-rerere(1) remembers.
    MergeRr,
}

/// The format of the names of objects (git-config(1), `extensions.objectFormat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ObjectFormat {
    /// 20 bytes.
    #[default]
    Sha1,
    /// 32 bytes.
    Sha256,
}

impl ObjectFormat {
    /// The length of a name in bytes.
    fn length(self) -> usize {
        match self {
            ObjectFormat::Sha1 => 20,
            ObjectFormat::Sha256 => 32,
        }
    }
}

/// Why git must not read a file that names paths, as a clause about the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GitPathsError {
    #[error("it is larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge,
    #[error("it names \"{path}\", which is not a file of the work tree", path = shown(.0))]
    Outside(Vec<u8>),
    #[error("it is cut short")]
    CutShort,
    #[error("a line has no path")]
    NoPath,
    #[error("a line does not begin with the name of a conflict")]
    NoConflict,
    #[error("it is not an index")]
    NotAnIndex,
    #[error("version {0} of the format is not known")]
    UnknownVersion(u32),
    #[error("an entry has flags that version 2 does not have")]
    UnknownFlags,
    #[error("the length of a path is wrong")]
    WrongLength,
    #[error("a number is too large")]
    LargeNumber,
    #[error(".gitmodules is a link in it")]
    LinkedModules,
    #[error("an extension of it is not known")]
    UnknownExtension,
    #[error("an extension follows the last one")]
    AfterTheEnd,
    #[error("it says that its entries are elsewhere")]
    EntriesElsewhere,
    #[error("it says that its entries end elsewhere")]
    EndsElsewhere,
    #[error("it hides where its entries end")]
    HiddenEnd,
    #[error(
        "its entries are in another file: `git update-index --no-split-index` outside the guard joins them"
    )]
    Split,
}

/// Checks that git may read this content.
///
/// # Errors
/// Why it must not.
pub(crate) fn check(content: GitPathsContent, bytes: &[u8]) -> Result<(), GitPathsError> {
    if bytes.len() > MAX_BYTES {
        return Err(GitPathsError::TooLarge);
    }
    match content {
        GitPathsContent::Index(format) => index::check(bytes, format.length()),
        GitPathsContent::MergeRr => merge_rr::check(bytes),
    }
}

/// Checks that a path stays in the work tree and out of its repository, as git does before it adds one.
///
/// # Errors
/// [`GitPathsError::Outside`].
fn check_path(path: &[u8]) -> Result<(), GitPathsError> {
    let is_inside = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git");
    if path.split(|byte| *byte == b'/').all(is_inside) {
        return Ok(());
    }
    Err(GitPathsError::Outside(path.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_in_the_work_tree_are_fine() {
        for fine in ["a", "a/b", ".github/x", "a/.gitignore", "..a/b", "a/..."] {
            assert_eq!(check_path(fine.as_bytes()), Ok(()), "{fine}");
        }
        for outside in
            ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/.", ".git/x", "a/.GIT", ".Git/hooks/x"]
        {
            assert!(check_path(outside.as_bytes()).is_err(), "{outside}");
        }
        assert!(check_path(b"../\x1b[2J").unwrap_err().to_string().contains("\\u{1B}"));
    }
}
