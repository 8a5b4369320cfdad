//! The components of a path, and what can begin at each: a protected end of a path (`tails`), or a part of a repository.

use super::git_locked::{is_config, is_lock_or_file, is_locked_name};
use super::tails::{ShapeTail, is_named};
use super::{LinkedSet, Set};

/// Files that git reads directly in a git directory (gitrepository-layout(5)), beside its configuration.
pub(super) const GIT_FILES: [&[u8]; 1] = [b"commondir"];
/// Directories of a git directory whose files say where git fetches from and pushes to (gitrepository-layout(5)).
pub(super) const GIT_REMOTES: [&[u8]; 2] = [b"remotes", b"branches"];
/// Directories of a git directory that hold git directories: those of submodules and of worktrees.
pub(super) const GIT_NESTS: [&[u8]; 2] = [b"modules", b"worktrees"];
/// Files below `objects` that say which other repositories git reads, even ones that the tree may not read.
pub(super) const GIT_ALTERNATES: [&[u8]; 2] = [b"info/alternates", b"info/http-alternates"];
/// Directories of a git directory with the state of an operation that is not finished. git runs the `exec` lines of a
/// list there when the operation goes on (git-rebase(1)).
pub(super) const GIT_UNFINISHED: [&[u8]; 3] = [b"rebase-merge", b"rebase-apply", b"sequencer"];
/// Directories of a git directory in which other tools keep a configuration that runs programs: Arcanist ("User Guide:
/// Configuration", `load`), git-branchless (its `init` includes the file in git's), Sapling ("Git support modes", `.git/sl`).
pub(super) const GIT_GUESTS: [&[u8]; 3] = [b"arc", b"branchless", b"sl"];

/// What the tail of a shape names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeKind {
    /// Everything there: a directory is protected with all that is in it.
    All,
    /// A file, with which the path ends: a directory of that name is not protected.
    File,
    /// A file that git changes by renaming its lock, or the lock. The guard judges the new content.
    GitLocked,
    /// The directory of a submodule's hooks itself: git runs nothing for a directory without hooks.
    ModuleHooks,
}

impl ShapeKind {
    /// Whether a directory of this name is not protected.
    pub fn is_file(self) -> bool {
        matches!(self, ShapeKind::File | ShapeKind::GitLocked)
    }
}

/// A protected shape in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<'p> {
    pub(crate) set: Set,
    /// The directory that holds the tail.
    pub holder: &'p [u8],
    /// What the tail names.
    pub kind: ShapeKind,
    /// Whether the guard can ask about the shape.
    pub(crate) may_be_asked: bool,
}

impl<'p> Shape<'p> {
    /// A part of a repository, in the path of the component `at`. git replaces some files by renaming a lock. Of those
    /// files and their locks, the guard asks only about a configuration: to show how a lock changes, or a file that holds
    /// paths, would say nothing.
    pub(super) fn of_git(holder: &'p [u8], kind: ShapeKind, at: &Component<'p>) -> Shape<'p> {
        let is_lock = at.last_name().is_some_and(|name| is_locked_name(name) && !is_config(name));
        Shape { set: Set::Git, holder, kind, may_be_asked: !is_lock }
    }

    /// The set that protects the target of a name of this shape, if the name is a link.
    pub fn linked(&self) -> LinkedSet {
        LinkedSet(self.set)
    }

    /// The same shape, but the guard asks nobody about it.
    pub(super) fn unasked(self) -> Shape<'p> {
        Shape { may_be_asked: false, ..self }
    }
}

/// The components of a path.
pub(super) struct Components;

impl Components {
    pub(super) fn all(path: &[u8]) -> impl Iterator<Item = Component<'_>> {
        Components::from(path, 0)
    }

    /// The components after the slash at `slash`.
    pub(super) fn from(path: &[u8], slash: usize) -> impl Iterator<Item = Component<'_>> {
        let mut next = slash;
        std::iter::from_fn(move || {
            if next >= path.len() {
                return None;
            }
            let start = next + 1;
            let length = path[start..].iter().position(|byte| *byte == b'/').unwrap_or(path.len() - start);
            next = start + length;
            Some(Component { path, start, end: next })
        })
    }
}

/// A component of a path, by where it begins and ends.
#[derive(Clone, Copy)]
pub(super) struct Component<'p> {
    path: &'p [u8],
    start: usize,
    end: usize,
}

impl<'p> Component<'p> {
    pub(super) fn name(&self) -> &'p [u8] {
        &self.path[self.start..self.end]
    }

    /// The directory that the component is in.
    pub(super) fn holder(&self) -> &'p [u8] {
        &self.path[..(self.start - 1).max(1)]
    }

    /// The path that ends with the component.
    pub(super) fn itself(&self) -> &'p [u8] {
        &self.path[..self.end]
    }

    pub(super) fn is_last(&self) -> bool {
        self.end == self.path.len()
    }

    /// The last name of the path.
    pub(super) fn last_name(&self) -> Option<&'p [u8]> {
        self.path.rsplit(|byte| *byte == b'/').next()
    }

    /// The path below the component, without a leading slash; empty for the last one.
    pub(super) fn rest(&self) -> &'p [u8] {
        self.path.get(self.end + 1..).unwrap_or_default()
    }

    /// The component, and those after it.
    pub(super) fn onward(&self) -> impl Iterator<Item = Component<'p>> {
        Components::from(self.path, self.start - 1)
    }

    pub(super) fn after(&self) -> impl Iterator<Item = Component<'p>> {
        Components::from(self.path, self.end)
    }

    /// Whether a tail begins here and reaches, or contains, the end of the path.
    pub(super) fn matches(&self, tail: &ShapeTail) -> bool {
        let mut after = self.after();
        tail.rest.iter().all(|name| after.next().is_some_and(|other| is_named(other.name(), name)))
            && (tail.is_directory || after.next().is_none())
    }

    /// Whether the path ends before a tail that begins here does.
    pub(super) fn leads(&self, tail: &ShapeTail) -> bool {
        let after: Vec<&[u8]> = self.after().map(|other| other.name()).collect();
        after.len() < tail.rest.len() && tail.rest.iter().zip(&after).all(|(name, other)| name == other)
    }

    /// Returns the holder of a protected part of a repository, if this component is the repository's name and the path
    /// leads to the part.
    pub(super) fn leads_into_repository(&self) -> Option<&'p [u8]> {
        let is = |name: &[u8]| self.name().eq_ignore_ascii_case(name);
        let inside = self.after().next().map(|part| part.name());
        match inside {
            None if is(b".git") || is(b".hg") || is(b".jj") => Some(self.path),
            Some(_) if is(b".git") => self.leads_into_git(),
            Some(b"repo") if is(b".jj") && [&b"repo"[..], b"repo/store"].contains(&self.rest()) => {
                Some(self.path)
            }
            _ => None,
        }
    }

    /// Returns the holder of a protected part of a git directory, if this component is the git directory, under any
    /// name, and the path leads to the part.
    pub(super) fn leads_into_git(&self) -> Option<&'p [u8]> {
        match self.after().next()?.name() {
            b"info" if self.rest() == b"info" => Some(self.itself()),
            // git takes a directory here for the submodule's, no matter who made it. Deeper, git itself makes links, to
            // see whether the file system has them.
            b"modules" if self.after().count() < 3 => Some(self.itself()),
            b"worktrees" if self.leads_to_worktrees_modules() => {
                self.after().nth(1).map(|worktree| worktree.itself())
            }
            nest if GIT_NESTS.contains(&nest) => Some(self.path),
            guest if GIT_GUESTS.contains(&guest) && self.rest() == guest => Some(self.itself()),
            _ => None,
        }
    }

    /// Whether the path below this git directory is `worktrees/NAME/modules` or `worktrees/NAME/modules/SUBMODULE`, for a
    /// caller that has found `worktrees`.
    fn leads_to_worktrees_modules(&self) -> bool {
        let inside: Vec<&[u8]> = self.after().map(|part| part.name()).collect();
        matches!(inside[..], [_, _, b"modules"] | [_, _, b"modules", _])
    }

    /// Whether this is a directory of hooks, and the path ends in a sample there, which git does not run (githooks(5)).
    /// git makes the samples with each repository.
    pub(super) fn is_hook_sample(&self) -> bool {
        let sample = self.rest().strip_suffix(b".sample").unwrap_or_default();
        self.name() == b"hooks" && !sample.is_empty() && !sample.contains(&b'/')
    }

    /// The kind of part that this component is, if git runs such a file in a git directory or reads its configuration from it.
    pub(super) fn git_part(&self) -> Option<ShapeKind> {
        match self.name() {
            b"hooks" => Some(ShapeKind::All),
            b"info" if self.rest() == b"attributes" => Some(ShapeKind::File),
            // Where git looks for more objects (gitrepository-layout(5)).
            b"objects" if GIT_ALTERNATES.contains(&self.rest()) => Some(ShapeKind::File),
            // git prefers a `.git` to the directory around it (git's path.c, `enter_repo`).
            name if name.eq_ignore_ascii_case(b".git") && self.is_last() => Some(ShapeKind::All),
            name if is_lock_or_file(name) && self.is_last() => Some(ShapeKind::GitLocked),
            name if (GIT_FILES.contains(&name) || is_locked_name(name)) && self.is_last() => {
                Some(ShapeKind::File)
            }
            _ => None,
        }
    }
}
