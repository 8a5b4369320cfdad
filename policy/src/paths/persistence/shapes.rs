//! Places that are protected wherever they are, by the components of their path.
//!
//! A search for repositories and workspaces can be misled: by the start directory, by an earlier session, by what was
//! moved away for a moment. A shape cannot. It consists of a *tail*, such as `.vscode/` or `hooks/`, and the directory
//! that holds it. Files that the tree puts into a holder that it made in the same session are its own; the caller of
//! [`crate::decide`] knows which directories those are.

use std::sync::Arc;

use super::Set;
use super::components::{
    Component, Components, GIT_ALTERNATES, GIT_FILES, GIT_GUESTS, GIT_REMOTES, GIT_UNFINISHED, Shape,
    ShapeKind,
};
use super::git_locked::{GIT_LOCKED, is_config_or_lock};
use super::git_parts::GitPart;
use super::tails::{OTHER_REPOSITORIES, ShapeTail, TAILS};
use super::{PersistenceSites, git_directory, git_parts};
use crate::Grant;
use crate::verdict::CompiledReason;

/// What makes a directory look like a git directory (git's setup.c, `is_git_directory`), and what says where its work tree
/// is: git forgets a work tree without it.
const GIT_MARKS: [&[u8]; 5] = [b"HEAD", b"objects", b"refs", b"commondir", b"gitdir"];

/// Directories of installed packages, by the names that npm and pip give them.
const PACKAGES: [&[u8]; 2] = [b"node_modules", b"site-packages"];

/// Returns whether a real path is a directory of installed packages, or lies in one.
pub(crate) fn lies_in_packages(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| PACKAGES.contains(&name))
}

/// The shapes that a policy protects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    /// The reason of each set that is on.
    reasons: Vec<(Set, Arc<CompiledReason>)>,
    /// The reason for git's configuration, which says what may change there.
    git_config: Option<Arc<CompiledReason>>,
    /// Home directories. Lists of their own say which names are protected in them.
    homes: Vec<Vec<u8>>,
    /// The directories of hooks that a configuration names relative to each work tree, as components.
    hooks: Vec<Vec<Vec<u8>>>,
    /// The sets about which the guard asks.
    asked: Vec<Set>,
    /// [`super::PersistenceSites::this_host`].
    this_host: Vec<Vec<u8>>,
}

impl Shapes {
    pub(super) fn new(
        reasons: Vec<(Set, Arc<CompiledReason>)>,
        git_config: Option<Arc<CompiledReason>>,
        homes: Vec<Vec<u8>>,
        sites: &PersistenceSites,
        asked: Vec<Set>,
    ) -> Shapes {
        let components = |path: &Vec<u8>| {
            let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
            names.map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        // A path without a name would be the work tree itself, and one with `..` a place outside of it.
        let is_plain = |path: &Vec<Vec<u8>>| !path.is_empty() && path.iter().all(|name| name != b"..");
        let hooks = sites.hook_directories.iter().map(components).filter(is_plain).collect();
        let has_shape = |set: Set| set == Set::Git || TAILS.all().any(|(_, tail)| tail.set == set);
        let reasons = reasons.into_iter().filter(|(set, _)| has_shape(*set)).collect();
        Shapes { reasons, git_config, homes, hooks, asked, this_host: sites.this_host.clone() }
    }

    /// Returns the names and addresses of this machine.
    pub(crate) fn this_host(&self) -> &[Vec<u8>] {
        &self.this_host
    }

    /// Returns whether nothing is protected by its shape.
    pub(crate) fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Returns the home directories.
    pub(crate) fn homes(&self) -> &[Vec<u8>] {
        &self.homes
    }

    /// Returns the reason of a set, if it is on.
    pub(crate) fn reason(&self, set: Set) -> Option<&CompiledReason> {
        self.reasons.iter().find(|(other, _)| *other == set).map(|(_, reason)| &**reason)
    }

    /// Returns a pattern for each shape, as the operator would write it, with the reason of its set.
    pub(crate) fn patterns(&self) -> Vec<(String, Set, &CompiledReason)> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let mut shapes: Vec<(String, Set)> = Vec::new();
        shapes.extend(TAILS.all().map(|(first, tail)| {
            // A pattern has no sign for a number, so a star takes its place.
            let names = [first].into_iter().chain(tail.rest.iter().copied()).map(text);
            let end = if tail.is_directory { "/**" } else { "" };
            (format!("**/{}{end}", names.collect::<Vec<_>>().join("/")).replace('#', "*"), tail.set)
        }));
        let git = |part: &str| (format!("**/{part}"), Set::Git);
        shapes.push(git(".git"));
        shapes.extend(GIT_REMOTES.map(|name| git(&format!(".git/{}/**", text(name)))));
        shapes.extend(GIT_GUESTS.map(|name| git(&format!(".git/{}/config", text(name)))));
        for top in ["", "modules/**/", "worktrees/**/"] {
            let names = GIT_FILES.iter().copied().chain(GIT_LOCKED.iter().flat_map(|config| config.names()));
            let files = names.map(text).chain(["info/attributes".into(), "hooks/**".into()]);
            let alternates = GIT_ALTERNATES.map(|file| format!("objects/{}", text(file)));
            let unfinished = GIT_UNFINISHED.map(|directory| format!("{}/**", text(directory)));
            let files = files.chain(alternates).chain(unfinished);
            shapes.extend(files.map(|file| git(&format!(".git/{top}{file}"))));
        }
        for (name, files) in OTHER_REPOSITORIES {
            shapes.extend(files.iter().map(|file| git(&format!("{}/{}", text(name), text(file)))));
        }
        let hooks =
            self.hooks.iter().map(|names| names.iter().map(|name| text(name)).collect::<Vec<_>>().join("/"));
        shapes.extend(hooks.map(|path| git(&format!("{path}/**"))));
        shapes.sort();
        let on = shapes.into_iter().filter_map(|(shape, set)| Some((shape, set, self.reason(set)?)));
        on.collect()
    }

    /// Returns whether the guard asks about a set.
    pub(crate) fn asks(&self, set: Set) -> bool {
        self.asked.contains(&set)
    }

    /// Returns what is left of `w` at a protected path, and the reason: that of the first set that denies the path,
    /// else that of a set that asks about it.
    pub(crate) fn first(&self, path: &[u8]) -> Option<(Grant, &CompiledReason)> {
        let mut found = None;
        self.each(path, &mut |shape| {
            let is_config = || path.rsplit(|byte| *byte == b'/').next().is_some_and(is_config_or_lock);
            let reason = match shape.kind {
                ShapeKind::GitLocked if is_config() => self.git_config.as_deref(),
                _ => None,
            };
            let w = if shape.may_be_asked && self.asks(shape.set) { Grant::Ask } else { Grant::No };
            if found.is_none() || w == Grant::No {
                found = reason.or_else(|| self.reason(shape.set)).map(|reason| (w, reason));
            }
            w == Grant::No
        });
        found
    }

    /// Returns every protected shape in a real path.
    pub(crate) fn all<'p>(&self, path: &'p [u8]) -> Vec<Shape<'p>> {
        let mut shapes = Vec::new();
        self.each(path, &mut |shape| {
            shapes.push(shape);
            false
        });
        shapes
    }

    /// Calls `found` for each protected shape until it returns true.
    fn each<'p>(&self, path: &'p [u8], found: &mut dyn FnMut(Shape<'p>) -> bool) {
        if self.is_empty() {
            return;
        }
        let is_on = |set| self.reason(set).is_some();
        for at in Components::all(path) {
            let (name, holder) = (at.name(), at.holder());
            let tail = TAILS
                .after(name)
                .find(|tail| is_on(tail.set) && at.matches(tail) && self.counts(tail, holder));
            if let Some(tail) = tail
                && found(Shape {
                    set: tail.set,
                    holder,
                    kind: if tail.is_directory { ShapeKind::All } else { ShapeKind::File },
                    may_be_asked: tail.may_be_asked,
                })
            {
                return;
            }
            if is_on(Set::Git) && self.repository(&at, found) {
                return;
            }
        }
    }

    /// Calls `found` for what the path is, if the component names a repository or a directory of hooks.
    fn repository<'p>(&self, at: &Component<'p>, found: &mut dyn FnMut(Shape<'p>) -> bool) -> bool {
        if at.name().eq_ignore_ascii_case(b".git") {
            return git_directory::parts(at, found);
        }
        for (name, files) in OTHER_REPOSITORIES {
            let inside = at.rest();
            if at.name().eq_ignore_ascii_case(name) && files.contains(&inside) {
                return found(Shape::of_git(at.itself(), ShapeKind::File, at));
            }
        }
        let leads = |hooks: &Vec<Vec<u8>>| {
            let mut names = at.onward();
            hooks.iter().all(|hook| names.next().is_some_and(|name| name.name() == hook))
        };
        self.hooks.iter().any(leads) && found(Shape::of_git(at.holder(), ShapeKind::All, at))
    }

    /// Whether a tail counts in a directory. Among installed packages, only the shapes of git count: a program that
    /// installs and removes packages writes all of their files.
    fn counts(&self, tail: &ShapeTail, holder: &[u8]) -> bool {
        let is_of_packages = tail.set != Set::Git && lies_in_packages(holder);
        !is_of_packages && self.counts_in_home(tail, holder)
    }

    /// In a home, the home's own lists come first.
    fn counts_in_home(&self, tail: &ShapeTail, holder: &[u8]) -> bool {
        tail.is_also_of_homes || self.homes.iter().all(|home| home != holder)
    }

    /// Returns whether a real path lies among installed packages, and a shape would protect it anywhere else.
    pub(crate) fn is_shipped(&self, path: &[u8]) -> bool {
        let is_on = |tail: &ShapeTail| self.reason(tail.set).is_some();
        let is_shape = |at: Component<'_>| {
            let mut tails = TAILS.after(at.name());
            tails.any(|tail| is_on(tail) && at.matches(tail) && self.counts_in_home(tail, at.holder()))
        };
        lies_in_packages(path) && Components::all(path).any(is_shape)
    }

    /// Returns the protected shape that a directory or a link at a path could have below it: the path ends before the
    /// shape's tail does. If a directory at the path would itself be the shape's holder, the path is the holder.
    pub(crate) fn leads_to<'p>(&self, path: &'p [u8]) -> Option<Shape<'p>> {
        if self.is_empty() {
            return None;
        }
        let is_on = |set| self.reason(set).is_some();
        let shape = |set, holder| Shape { set, holder, kind: ShapeKind::All, may_be_asked: false };
        Components::all(path).find_map(|at| {
            let holder = at.holder();
            if let Some(holder) = at.leads_into_repository().filter(|_| is_on(Set::Git)) {
                return Some(shape(Set::Git, holder));
            }
            let names: Vec<&[u8]> = at.onward().map(|name| name.name()).collect();
            let leads = |hooks: &Vec<Vec<u8>>| {
                names.len() < hooks.len() && hooks.iter().zip(&names).all(|(a, b)| a == b)
            };
            if is_on(Set::Git) && self.hooks.iter().any(leads) {
                return Some(shape(Set::Git, holder));
            }
            let mut leading = TAILS.after(at.name()).filter(|tail| is_on(tail.set) && at.leads(tail));
            let tail = leading.find(|tail| self.counts(tail, holder))?;
            Some(shape(tail.set, holder))
        })
    }

    /// Returns the directories around a path, each as the holder of everything in it that is git's.
    pub(crate) fn around<'p>(&self, path: &'p [u8]) -> Vec<Shape<'p>> {
        if self.reason(Set::Git).is_none() {
            return Vec::new();
        }
        let directories = Components::all(path).skip(1).map(|at| at.holder());
        let shape = |holder| Shape { set: Set::Git, holder, kind: ShapeKind::All, may_be_asked: false };
        directories.map(shape).collect()
    }

    /// Returns what a path is part of, if the directories on the way are git directories.
    pub(crate) fn git_parts<'p>(&self, path: &'p [u8]) -> Vec<GitPart<'p>> {
        if self.reason(Set::Git).is_none() {
            return Vec::new();
        }
        git_parts::all(path)
    }

    /// Returns each directory on the way in which a directory at the path would mean something to git, if it were a git
    /// directory. Each comes with the holder of what may lie below the path.
    pub(crate) fn git_leads<'p>(&self, path: &'p [u8]) -> Vec<(&'p [u8], &'p [u8])> {
        if self.reason(Set::Git).is_none() {
            return Vec::new();
        }
        git_parts::leads(path)
    }

    /// Returns the directory that may become a git directory by a name that is made in it.
    pub(crate) fn marked<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        self.reason(Set::Git)?;
        let last = Components::all(path).find(Component::is_last)?;
        GIT_MARKS.contains(&last.name()).then(|| last.holder())
    }
}

#[cfg(test)]
mod tests;
