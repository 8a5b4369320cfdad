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
    /// An index, of a repository with this format of names of objects.
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

/// Returns why git must not read this content: a clause.
pub(crate) fn refusal(content: GitPathsContent, bytes: &[u8]) -> Option<String> {
    if bytes.len() > MAX_BYTES {
        return Some(format!("it is larger than {} MiB", MAX_BYTES >> 20));
    }
    match content {
        GitPathsContent::Index(format) => index::check(bytes, format.length()).err(),
        GitPathsContent::MergeRr => merge_rr::check(bytes).err(),
    }
}

/// Checks that a path stays in the work tree and out of its repository, as git does before it adds one.
///
/// # Errors
/// A clause that names the path.
fn check_path(path: &[u8]) -> Result<(), String> {
    let is_inside = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.eq_ignore_ascii_case(b".git");
    if path.split(|byte| *byte == b'/').all(is_inside) {
        return Ok(());
    }
    Err(format!("it names \"{}\", which is not a file of the work tree", shown(path)))
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
        assert!(check_path(b"../\x1b[2J").unwrap_err().contains("\\u{1B}"));
    }
}
