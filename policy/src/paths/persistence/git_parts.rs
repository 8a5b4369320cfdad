//! What a path is part of, if a directory on the way is a git directory under any name: a bare repository, or the git
//! directory of a submodule or of a work tree. The path alone cannot tell: a caller that knows the disk looks at the
//! directories.

use super::components::{Component, Components, GIT_GUESTS, GIT_REMOTES, GIT_UNFINISHED, Shape, ShapeKind};
use super::git_data::is_known;
use super::{Set, git_directory};

/// How sure the guard must be that a directory is a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitLook {
    /// The directory has parts of a repository: git would run the file as soon as the other parts are there.
    Partial,
    /// git takes the directory for a repository. Needed for names that other directories have, too.
    Whole,
}

/// A protected part of a directory, if that is a git repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitPart<'p> {
    /// The directory.
    pub directory: &'p [u8],
    /// How sure the guard must be.
    pub look: GitLook,
    /// The part. Its holder is the directory, or a directory in it that may be the tree's own.
    pub shape: Shape<'p>,
    /// Whether the part may be a work tree, or lie in one: a bare repository can hold the work trees of its branches.
    pub may_be_work_tree: bool,
}

/// Returns each protected part that a real path could be.
pub(super) fn all(path: &[u8]) -> Vec<GitPart<'_>> {
    let mut parts = Vec::new();
    let mut is_in_git = false;
    for at in Components::all(path) {
        if let Some(kind) = at.git_part() {
            let shape = Shape::of_git(at.holder(), kind, &at);
            let directory = at.holder();
            parts.push(GitPart { directory, look: GitLook::Partial, shape, may_be_work_tree: false });
        }
        is_in_git |= at.name().eq_ignore_ascii_case(b".git");
        if !at.is_last() && !at.name().eq_ignore_ascii_case(b".git") {
            add_whole(&at, is_in_git, &mut parts);
        }
    }
    parts
}

/// Adds what a path is part of in a directory that git takes for a repository. `is_in_git` means that a directory of the name
/// `.git` is around it: no work trees lie in there.
fn add_whole<'p>(git: &Component<'p>, is_in_git: bool, parts: &mut Vec<GitPart<'p>>) {
    let directory = git.itself();
    let Some(first) = git.after().next() else { return };
    // git makes the tree's own submodules below `modules`, and nothing here says where their work trees may be.
    let ruled: [&[&[u8]]; 3] = [&GIT_GUESTS, &GIT_REMOTES, &GIT_UNFINISHED];
    if is_in_git && !is_known(first.name()) || ruled.iter().any(|names| names.contains(&first.name())) {
        // The path counts as if the directory were called `.git`.
        git_directory::parts(git, &mut |shape| {
            parts.push(GitPart { directory, look: GitLook::Whole, shape, may_be_work_tree: false });
            false
        });
    } else if !is_known(first.name()) {
        let kind = if first.is_last() { ShapeKind::File } else { ShapeKind::All };
        let shape = Shape { set: Set::Git, holder: first.itself(), kind, may_be_asked: true };
        parts.push(GitPart { directory, look: GitLook::Whole, shape, may_be_work_tree: true });
    }
}

/// Returns each directory on the way in which a directory at the path would mean something to git, if it were a git
/// directory. Each comes with the holder of what may lie below the path.
pub(super) fn leads(path: &[u8]) -> Vec<(&[u8], &[u8])> {
    let lead = |at: Component<'_>| Some((at.itself().len(), at.leads_into_git()?.len()));
    let found = Components::all(path).filter(|at| !at.is_last()).filter_map(lead);
    found.map(|(directory, holder)| (&path[..directory], &path[..holder])).collect()
}

impl<'p> GitPart<'p> {
    /// Returns the directories from the part down to the path, of which each may be a work tree.
    pub fn work_trees(&self, path: &'p [u8]) -> impl Iterator<Item = &'p [u8]> {
        let ends = (self.shape.holder.len()..path.len()).filter(|at| path[*at] == b'/');
        let is_any = self.may_be_work_tree;
        ends.filter(move |_| is_any).map(|end| &path[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By directory: the holder, and whether a directory of this name counts.
    fn parts(path: &str) -> Vec<(String, String, bool)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        all(path.as_bytes())
            .iter()
            .map(|part| (text(part.directory), text(part.shape.holder), !part.shape.kind.is_file()))
            .collect()
    }

    fn in_x(path: &str) -> Option<(String, bool)> {
        let found = parts(path).into_iter().find(|(directory, ..)| directory == "/a/x");
        found.map(|(_, holder, is_all)| (holder, is_all))
    }

    #[test]
    fn what_is_not_gits_own_is_protected_in_a_repository_of_any_name() {
        let is = |path: &str, holder: &str, is_all| {
            assert_eq!(in_x(path), Some((holder.to_owned(), is_all)), "{path}");
        };
        is("/a/x/config", "/a/x", false);
        is("/a/x/hooks/update", "/a/x", true);
        is("/a/x/remotes/origin", "/a/x", true);
        is("/a/x/sl/config", "/a/x", false);
        is("/a/x/rebase-merge/git-rebase-todo", "/a/x/rebase-merge", true);
        is("/a/x/MERGE_AUTOSTASH", "/a/x/MERGE_AUTOSTASH", false);
        is("/a/x/main/src/f", "/a/x/main", true);
        for own in [
            "HEAD",
            "FETCH_HEAD",
            "packed-refs.lock",
            "refs/heads/config",
            "logs/HEAD",
            "rebase-merge",
            "sl/x",
            "worktrees/w/HEAD",
            "modules/sub/config",
        ] {
            assert_eq!(in_x(&format!("/a/x/{own}")), None, "{own}");
        }
        let leads = |path: &'static str| {
            leads(path.as_bytes()).into_iter().find(|(directory, _)| *directory == b"/a/x")
        };
        for (path, holder) in [("/a/x/modules/sub", "/a/x"), ("/a/x/sl", "/a/x"), ("/a/x/info", "/a/x")] {
            assert_eq!(leads(path).map(|(_, holder)| holder), Some(holder.as_bytes()), "{path}");
        }
        assert!(leads("/a/x/refs").is_none() && leads("/a/x/main").is_none());
    }

    #[test]
    fn a_work_tree_may_lie_in_a_bare_repository_and_not_in_a_git_directory() {
        let work_trees = |path: &'static str| {
            let parts = all(path.as_bytes());
            let part = parts.iter().find(|part| part.directory == b"/a/x.git").unwrap();
            part.work_trees(path.as_bytes()).collect::<Vec<_>>()
        };
        assert_eq!(work_trees("/a/x.git/main/src/f"), [&b"/a/x.git/main"[..], b"/a/x.git/main/src"]);
        assert!(work_trees("/a/x.git/f").is_empty() && work_trees("/a/x.git/hooks/update").is_empty());
        let inside = "/a/.git/modules/x/main/f";
        let parts = all(inside.as_bytes());
        let part = parts.iter().find(|part| part.directory == b"/a/.git/modules/x").unwrap();
        assert!(part.shape.kind == ShapeKind::All && part.work_trees(inside.as_bytes()).next().is_none());
    }
}
