//! Protection by shape (persistence), at the time of a call.
//!
//! The policy recognises a shape by the path alone. This module looks at the disk: is a directory a git repository
//! under another name, did the tree itself make the directory that holds the shape, and may it be moved?

use std::os::fd::AsFd;

use guard_policy::{Access, GitLockedNames, GitLook, GitPart, Policy, Request, Shape, ShapeKind, Site};
use rustix::fs::{AtFlags, statat};

use super::anchored_path::{AnchoredPath, last_name};
use super::created::Created;
use super::git_files::{is_git_file, is_of_others};
use super::git_look::{
    is_certainly_repository, is_in_work_tree, is_named_by_configuration, is_part_of_repository, look_of,
};
use super::linked_names::{LinkedNames, OtherName};
use super::made_directories::MadeDirectories;
use crate::resolve::Object;

/// The kind of an access, as far as it matters for shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A directory.
    Directory,
    /// The making of a directory.
    NewDirectory,
    /// Something else that is there.
    There,
    /// Something else that may be made.
    New,
    /// The lock of a git configuration that the tree made.
    OwnGitLock,
    /// A file of git's whose content the guard judges separately, or the lock that the tree makes of such a file.
    GitLocked,
}

impl Subject {
    fn is_directory(self) -> bool {
        matches!(self, Subject::Directory | Subject::NewDirectory)
    }
}

/// The shapes of a policy, and what the tree has created.
pub struct Shapes<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// What the tree has created.
    pub created: &'a Created,
    /// The protected names that are links.
    pub linked: &'a LinkedNames,
}

impl Shapes<'_> {
    /// The directories that the tree has made.
    pub(super) fn own_directories(&self) -> &MadeDirectories {
        &self.created.directories
    }

    /// Whether a protected name leads to a place at or below a path, so that no link may stand there.
    pub fn is_led_to(&self, path: &[u8]) -> bool {
        self.policy.protects_shapes() && self.linked.lead_below(self.policy, self.own_directories(), path)
    }

    /// Returns the question for an access to a place.
    pub fn request<'p>(&self, place: AnchoredPath<'p>, access: Access, subject: Subject) -> Request<'p> {
        let path = place.path;
        match access.contains(Access::WRITE).then(|| self.site_of(place, subject)).flatten() {
            Some(site) => Request::FileAt { path, access, site },
            None => Request::File { path, access },
        }
    }

    /// What is known of a place that is to be written; `None` if its shape alone decides, or nothing does.
    pub fn site_of(&self, place: AnchoredPath<'_>, subject: Subject) -> Option<Site> {
        self.policy.protects_shapes().then(|| self.site(place, subject)).flatten()
    }

    /// Whether the guard has to look at the disk to know what is protected at a path. Whether git takes a directory for
    /// a repository does not matter: the tree cannot move a repository of the operator's. A directory of packages may be moved out
    /// of them, and what it contains is protected then.
    pub fn looks_around(&self, path: &[u8]) -> bool {
        self.policy.protects_shapes()
            && (!self.policy.shapes(path).is_empty()
                || self.policy.is_shipped(path)
                || self.policy.git_parts(path).iter().any(|part| part.look == GitLook::Partial)
                || self.policy.marked_directory(path).is_some())
    }

    /// What is known of a place that is to be written; `None` if its shape alone decides.
    fn site(&self, place: AnchoredPath<'_>, subject: Subject) -> Option<Site> {
        let path = place.path;
        let shapes = self.policy.shapes(path);
        let is_let_through = match subject {
            Subject::GitLocked => true,
            Subject::OwnGitLock => GitLockedNames::of_lock(last_name(path)).is_some(),
            Subject::Directory | Subject::NewDirectory | Subject::There | Subject::New => false,
        };
        let is_own = |shape: &Shape<'_>| {
            let is_for_files = match subject {
                Subject::Directory => shape.kind.is_file(),
                Subject::NewDirectory => shape.kind.is_file() || shape.kind == ShapeKind::ModuleHooks,
                _ => false,
            };
            is_for_files || is_let_through && shape.kind == ShapeKind::GitLocked
        };
        if !shapes.iter().all(|shape| is_own(shape) || self.is_the_trees(shape, place)) {
            return None;
        }
        if let Some(site) = self.linked_site(path, is_own, subject) {
            return Some(site);
        }
        let parts = self.git_parts(place);
        // Because of a `.git`, a later run would take the directory around it for a work tree.
        let is_work_tree = subject.is_directory() && !is_git_file(last_name(path));
        let is_fine = |part: &GitPart<'_>| {
            // A directory runs nothing, and git makes the directories of new work trees.
            is_work_tree && part.may_be_work_tree
                || is_own(&part.shape)
                || self.is_the_trees(&part.shape, place)
        };
        if !parts.iter().all(is_fine) || subject != Subject::There && self.completes(place) {
            return Some(Site::Repository);
        }
        let mut all = shapes.iter().chain(parts.iter().map(|part| &part.shape));
        let is_locked = is_let_through && all.any(|shape| shape.kind == ShapeKind::GitLocked);
        // This keeps the policy from looking for shapes again.
        Some(if is_locked { Site::GitLocked } else { Site::Own })
    }

    /// What is known of a path because a protected name that is a link leads there, or a repository's configuration names it.
    fn linked_site(
        &self,
        path: &[u8],
        is_own: impl Fn(&Shape<'_>) -> bool,
        subject: Subject,
    ) -> Option<Site> {
        let protecting = |other: &OtherName| {
            let other = match other {
                OtherName::Way(set) => return Some(Site::Linked(*set)),
                OtherName::Configured(set) => return Some(Site::Configured(*set)),
                OtherName::Path(other) => AnchoredPath::path(other),
            };
            let parts = self.git_parts(other);
            let parts = parts.iter().filter(|part| !(subject.is_directory() && part.may_be_work_tree));
            let mut shapes = self.policy.shapes(other.path).into_iter().chain(parts.map(|part| part.shape));
            shapes
                .find(|shape| !is_own(shape) && !self.is_the_trees(shape, other))
                .map(|shape| Site::Linked(shape.linked()))
        };
        self.linked.other_names(self.policy, self.own_directories(), path).iter().find_map(protecting)
    }

    /// The parts of the operator's git directories, whatever their names, that a place belongs to. What lies in work
    /// trees there is left out.
    fn git_parts<'p>(&self, place: AnchoredPath<'p>) -> Vec<GitPart<'p>> {
        let mut parts = self.policy.git_parts(place.path);
        // The parent is found once for all directories on the way.
        let parent = if parts.is_empty() { None } else { place.parent_of_object() };
        let place = place.in_directory(parent.as_ref());
        parts.retain(|part| {
            is_part_of_repository(part, place)
                && !self.own_directories().has_above(place, part.directory)
                && !is_in_work_tree(part, place, self.own_directories())
        });
        // The tree may have made the directory itself, if the configuration names it.
        for part in parts.iter_mut().filter(|part| part.may_be_work_tree) {
            part.shape.holder = part.directory;
        }
        parts
    }

    /// Whether the tree made the directory that holds a shape, and nobody else put a `.git` file there.
    pub(super) fn is_the_trees(&self, shape: &Shape<'_>, place: AnchoredPath<'_>) -> bool {
        self.own_directories().has_above(place, shape.holder)
            && !is_of_others(place, self.own_directories(), &self.created.git_files)
    }

    /// Whether a place is that of a git configuration, or of its lock, and persistence protects it as such.
    pub fn protects_git_locked(&self, place: AnchoredPath<'_>) -> bool {
        let is_locked = |shape: &Shape<'_>| shape.kind == ShapeKind::GitLocked;
        self.policy.protects_shapes()
            && GitLockedNames::is_lock_or_file(last_name(place.path))
            && (self.policy.shapes(place.path).iter().any(is_locked)
                || self.git_parts(place).iter().any(|part| is_locked(&part.shape)))
            && self.site(place, Subject::There) != Some(Site::Own)
    }

    /// Whether a place is protected by its shape, but in a directory that the tree made.
    pub fn is_own(&self, place: AnchoredPath<'_>) -> bool {
        self.site_of(place, Subject::There) == Some(Site::Own)
    }

    /// Whether a new name at a place would turn a directory of the operator's into a git repository. The tree may have
    /// written that repository's configuration or hooks before.
    fn completes(&self, place: AnchoredPath<'_>) -> bool {
        let path = place.path;
        let Some(directory) = self.policy.marked_directory(path) else { return false };
        // Below a directory that is called `.git`, configuration and hooks are protected by their names.
        let is_named = !self.policy.shapes(&[directory, b"/config"].concat()).is_empty();
        let look = look_of(place, directory);
        // A `commondir` names a directory with a configuration.
        let is_configured = look.is_configured() || look.has_head() && path.ends_with(b"/commondir");
        !is_named
            && is_configured
            && !is_certainly_repository(place, directory)
            && !self.own_directories().has_above(place, directory)
    }

    /// Whether a directory is a git repository, or has a work tree, only because of this name in it. Without the name, the
    /// directory's hooks would lose their protection until somebody puts the name back, git would use the repository
    /// around the directory instead, or `git worktree prune` would remove what is left.
    pub fn breaks_repository(&self, place: AnchoredPath<'_>) -> bool {
        let marked =
            self.policy.protects_shapes().then(|| self.policy.marked_directory(place.path)).flatten();
        marked.is_some_and(|directory| {
            let look = look_of(place, directory);
            look.is_configured()
                && look.is_repository()
                && !self.own_directories().has_above(place, directory)
        })
    }

    /// Whether a directory is one of the operator's git directories, or lies in one. While nobody may search it, nothing
    /// shows where the links in it lead.
    pub fn is_of_repository(&self, place: AnchoredPath<'_>, directory: &Object) -> bool {
        let inside = [place.path, b"/HEAD"].concat();
        let inside = AnchoredPath::named(&inside, directory.fd.as_fd());
        let is_repository = || look_of(inside, place.path).is_repository();
        self.policy.protects_shapes()
            && !self.own_directories().contains_open(directory.fd.as_fd())
            && (is_repository() || self.git_directory_around(place).is_some())
    }

    /// Whether a directory that the tree has not made has a `.git`.
    pub fn is_work_tree(&self, directory: &Object) -> bool {
        self.policy.protects_shapes()
            && !self.own_directories().contains_open(directory.fd.as_fd())
            && statat(&directory.fd, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether this place is protected by its shape. A file must not get such a name as a second one: later, when the
    /// directory is not the tree's own any more, the tree could write the file by its first name.
    pub fn names(&self, place: AnchoredPath<'_>) -> bool {
        let is_part = |part: &GitPart<'_>| {
            is_part_of_repository(part, place) && !is_in_work_tree(part, place, self.own_directories())
        };
        self.policy.protects_shapes()
            && (!self.policy.shapes(place.path).is_empty()
                || self.policy.git_parts(place.path).iter().any(is_part))
    }

    /// Whether a place is protected, so that no other name for it may be made.
    pub fn protects(&self, place: AnchoredPath<'_>) -> bool {
        let is_protected =
            |site: Site| matches!(site, Site::Repository | Site::Linked(_) | Site::Configured(_));
        self.site_of(place, Subject::There).is_some_and(is_protected)
    }

    /// The protected path that a link at a place would lead away from: programs would look for the protected file
    /// where the link leads. In a git directory every link does that: git opens its files by name, for reading and
    /// writing. `text` is where the link leads, if it is made now.
    pub fn forbids_link<'p>(&self, place: AnchoredPath<'p>, text: Option<&[u8]>) -> Option<Shape<'p>> {
        // git tries out whether the file system has links (git's setup.c, `create_default_files`).
        let is_trial = text == Some(b"testing");
        let in_git = || if is_trial { None } else { self.git_directory_around(place) };
        self.leads_away(place).or_else(in_git)
    }

    /// The operator's git directory that a place is in, if it is in one.
    fn git_directory_around<'p>(&self, place: AnchoredPath<'p>) -> Option<Shape<'p>> {
        let is_git = |directory: &[u8]| {
            last_name(directory).eq_ignore_ascii_case(b".git") || look_of(place, directory).is_repository()
        };
        let parts = self.policy.git_parts(place.path);
        let is_apart = |directory: &[u8]| {
            let mut of_it = parts.iter().filter(|part| part.directory == directory);
            of_it.any(|part| is_in_work_tree(part, place, self.own_directories()))
        };
        let mut around = self.policy.directories_around(place.path).into_iter();
        around.find(|shape| {
            is_git(shape.holder)
                && !self.own_directories().has_above(place, shape.holder)
                && !is_apart(shape.holder)
        })
    }

    fn leads_away<'p>(&self, place: AnchoredPath<'p>) -> Option<Shape<'p>> {
        let path = place.path;
        self.policy.leads_to_shape(path).filter(|shape| {
            // A link does not hold files itself: its directory counts.
            let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default().max(1);
            let holder = if shape.holder == path { &path[..end] } else { shape.holder };
            !self.own_directories().has_above(place, holder)
        })
    }

    /// Whether a directory may be moved: not to a place where programs look for something protected, and not with
    /// something protected in it, because its old place would then be free.
    pub fn may_move(&self, old: AnchoredPath<'_>, new: AnchoredPath<'_>) -> bool {
        if !self.policy.protects_shapes() {
            return true;
        }
        if self.is_led_to(old.path) || self.is_led_to(new.path) {
            return false;
        }
        let may_arrive = self.policy.leads_to_shape(new.path).is_none_or(|shape| {
            // The new name does not exist yet. If it is the holder, the holder is the directory that is moved.
            match shape.holder == new.path {
                true => {
                    old.object.is_some_and(|moved| self.own_directories().contains_open(moved.fd.as_fd()))
                }
                false => self.own_directories().has_above(new, shape.holder),
            }
        });
        // A directory beside git's own could have links.
        let is_beside = |git: &Shape<'_>| {
            let parts = self.policy.git_parts(old.path);
            parts.iter().any(|part| part.directory == git.holder && part.may_be_work_tree)
        };
        let is_within =
            |git: &Shape<'_>| old.path.starts_with(&[git.holder, b"/"].concat()) && !is_beside(git);
        let arrives_in_git = self.git_directory_around(new).is_some_and(|git| !is_within(&git));
        may_arrive
            && self.may_lead_into_git(old, new)
            && self.is_no_part(old)
            && self.is_free(old, new, arrives_in_git)
    }

    /// Whether a directory, with what lies in it, may get a path in a git directory, whatever that is called. It may
    /// not get a path that a repository's configuration names, because nobody judges the files that come along.
    fn may_lead_into_git(&self, old: AnchoredPath<'_>, new: AnchoredPath<'_>) -> bool {
        let made = |holder: &[u8]| match holder == new.path {
            true => old.object.is_some_and(|moved| self.own_directories().contains_open(moved.fd.as_fd())),
            false => self.own_directories().has_above(new, holder),
        };
        let is_named = |part: &GitPart<'_>| {
            part.may_be_work_tree
                && is_part_of_repository(part, new)
                && !self.own_directories().has_above(new, part.directory)
                && is_named_by_configuration(part, new.path)
        };
        !self.policy.git_parts(new.path).iter().any(is_named)
            && self.policy.git_leads(new.path).into_iter().all(|(directory, holder)| {
                made(holder)
                    || self.own_directories().has_above(new, directory)
                    || !look_of(new, directory).is_whole()
            })
    }

    /// Whether the contents of a directory are no part of a repository around it. The state of a git operation is such
    /// a part.
    fn is_no_part(&self, directory: AnchoredPath<'_>) -> bool {
        let Some(moved) = directory.object else { return false };
        let inside = [directory.path, b"/x"].concat();
        let inside = AnchoredPath::named(&inside, moved.fd.as_fd());
        self.git_parts(inside)
            .iter()
            .all(|part| part.directory == directory.path || self.is_the_trees(&part.shape, inside))
    }
}
