//! Protection by shape (persistence), at the time of a call.
//!
//! The policy recognises a shape by the path alone. This module looks at the disk: is a directory a git repository
//! under another name, did the tree itself make the directory that holds the shape, and may it be moved?

use std::os::fd::AsFd;

use guard_policy::{Access, GitLockedNames, GitPart, Policy, Request, Shape, ShapeKind, Site};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::bound_sockets::BoundSockets;
use super::git_files::leads_to_others;
use super::git_look::{Look, is_in_work_tree, is_part_of_repository, look_of};
use super::made_directories::MadeDirectories;
use crate::resolve::Object;

/// How many names are looked at below a directory that is to be moved. Beyond that, it stays.
const MAX_NAMES: usize = 200_000;
/// How deep directories are looked into.
const MAX_DEPTH: usize = 128;

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
    /// A file of git's whose content is judged by itself, or the lock that the tree makes of one.
    GitLocked,
}

/// The shapes of a policy, and the directories that the tree made.
pub struct Shapes<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// The directories that the tree made.
    pub made: &'a MadeDirectories,
    /// The sockets that the tree bound.
    pub sockets: &'a BoundSockets,
}

impl Shapes<'_> {
    /// Returns the question for an access to a real path.
    pub fn request<'p>(&self, path: &'p [u8], access: Access, subject: Subject) -> Request<'p> {
        let site = match access.contains(Access::WRITE) && self.policy.protects_shapes() {
            true => self.site(path, subject),
            false => None,
        };
        match site {
            Some(site) => Request::FileAt { path, access, site },
            None => Request::File { path, access },
        }
    }

    /// What is known of a path that is to be written; `None` if its shape alone decides.
    fn site(&self, path: &[u8], subject: Subject) -> Option<Site> {
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
            is_for_files
                || is_let_through && shape.kind == ShapeKind::GitLocked
                || self.is_the_trees(shape, path)
        };
        if !shapes.iter().all(is_own) {
            return None;
        }
        let parts = self.git_parts(path);
        // A directory runs nothing, and git makes those of new work trees.
        let is_directory = matches!(subject, Subject::Directory | Subject::NewDirectory);
        let is_fine = |part: &GitPart<'_>| is_directory && part.may_be_work_tree || is_own(&part.shape);
        if !parts.iter().all(is_fine) || subject != Subject::There && self.completes(path) {
            return Some(Site::Repository);
        }
        let mut all = shapes.iter().chain(parts.iter().map(|part| &part.shape));
        let is_locked = is_let_through && all.any(|shape| shape.kind == ShapeKind::GitLocked);
        // This keeps the policy from looking for shapes again.
        Some(if is_locked { Site::GitLocked } else { Site::Own })
    }

    /// What a path is part of in the operator's git directories of any name, without what lies in work trees there.
    fn git_parts<'p>(&self, path: &'p [u8]) -> Vec<GitPart<'p>> {
        let mut parts = self.policy.git_parts(path);
        parts.retain(|part| {
            is_part_of_repository(part)
                && !self.made.contains(part.directory)
                && !is_in_work_tree(part, path, self.made)
        });
        parts
    }

    /// Whether the tree made the directory that holds a shape, and nobody else put a `.git` file there.
    fn is_the_trees(&self, shape: &Shape<'_>, path: &[u8]) -> bool {
        self.made.contains(shape.holder) && !leads_to_others(path, self.made)
    }

    /// Whether a real path is that of a git configuration, or of its lock, and protected for that.
    pub fn protects_git_locked(&self, path: &[u8]) -> bool {
        let is_locked = |shape: &Shape<'_>| shape.kind == ShapeKind::GitLocked;
        self.policy.protects_shapes()
            && GitLockedNames::is_lock_or_file(last_name(path))
            && (self.policy.shapes(path).iter().any(is_locked)
                || self.git_parts(path).iter().any(|part| is_locked(&part.shape)))
            && self.site(path, Subject::There) != Some(Site::Own)
    }

    /// Whether a real path is protected by its shape, but in a directory that the tree made.
    pub fn is_own(&self, path: &[u8]) -> bool {
        self.policy.protects_shapes() && self.site(path, Subject::There) == Some(Site::Own)
    }

    /// Whether a new name at a path would turn a directory of the operator's into a git repository. The tree may have
    /// written that repository's configuration or hooks before.
    fn completes(&self, path: &[u8]) -> bool {
        let Some(directory) = self.policy.marked_directory(path) else { return false };
        // Below a directory that is called `.git`, these are protected by their names.
        let is_named = !self.policy.shapes(&[directory, b"/config"].concat()).is_empty();
        let look = look_of(directory);
        // The link names a directory with a configuration.
        let is_configured = look.is_configured() || look.has_head() && path.ends_with(b"/commondir");
        !is_named && is_configured && !look.is_repository() && !self.made.contains(directory)
    }

    /// Whether a directory is a git repository only because of this name in it. Without the name its hooks would lose
    /// their protection until somebody puts it back, or git would use the repository around the directory instead.
    pub fn breaks_repository(&self, path: &[u8]) -> bool {
        let marked = self.policy.protects_shapes().then(|| self.policy.marked_directory(path)).flatten();
        marked.is_some_and(|directory| {
            let look = look_of(directory);
            look.is_configured() && look.is_repository() && !self.made.contains(directory)
        })
    }

    /// Whether this path is protected by its shape. A file must not get such a name as a second one: later, when the
    /// directory is not the tree's own any more, the tree could write the file by its first name.
    pub fn names(&self, path: &[u8]) -> bool {
        let is_part =
            |part: &GitPart<'_>| is_part_of_repository(part) && !is_in_work_tree(part, path, self.made);
        self.policy.protects_shapes()
            && (!self.policy.shapes(path).is_empty() || self.policy.git_parts(path).iter().any(is_part))
    }

    /// Whether a real path is protected, so that no other name for it may be made.
    pub fn protects(&self, path: &[u8]) -> bool {
        self.policy.protects_shapes() && self.site(path, Subject::There) == Some(Site::Repository)
    }

    /// The protected path that a link at a real path would lead away from: programs would look for the protected file
    /// where the link leads. In a git directory every link does that: git opens its files by name, for reading and
    /// writing. `text` is where the link leads, if it is made now.
    pub fn forbids_link<'p>(&self, path: &'p [u8], text: Option<&[u8]>) -> Option<Shape<'p>> {
        // git tries out whether the file system has links (git's setup.c, `create_default_files`).
        let is_trial = text == Some(b"testing");
        let in_git = || if is_trial { None } else { self.git_directory_around(path) };
        self.leads_away(path).or_else(in_git)
    }

    /// The operator's git directory that a path is in, if it is in one.
    fn git_directory_around<'p>(&self, path: &'p [u8]) -> Option<Shape<'p>> {
        let is_git = |directory: &[u8]| {
            last_name(directory).eq_ignore_ascii_case(b".git") || look_of(directory).is_repository()
        };
        let parts = self.policy.git_parts(path);
        let is_apart = |directory: &[u8]| {
            let mut of_it = parts.iter().filter(|part| part.directory == directory);
            of_it.any(|part| is_in_work_tree(part, path, self.made))
        };
        let mut around = self.policy.directories_around(path).into_iter();
        around.find(|shape| {
            is_git(shape.holder) && !self.made.contains(shape.holder) && !is_apart(shape.holder)
        })
    }

    fn leads_away<'p>(&self, path: &'p [u8]) -> Option<Shape<'p>> {
        self.policy.leads_to_shape(path).filter(|shape| {
            // A link does not hold files itself: its directory counts.
            let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default().max(1);
            let holder = if shape.holder == path { &path[..end] } else { shape.holder };
            !self.made.contains(holder)
        })
    }

    /// Whether the socket at a real path may go away, so that the tree can put its own in its place.
    fn may_displace(&self, path: &[u8]) -> bool {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, path, flags, Mode::empty(), no_links) {
            Ok(socket) => {
                let socket = Object::from_fd(socket);
                socket.is_ok_and(|socket| self.sockets.may_displace(self.policy, &socket, path))
            }
            Err(error) => error == Errno::NOENT,
        }
    }

    /// Whether a directory may be moved: not to where something protected is looked for, and not with something
    /// protected in it, for its old place would be free.
    pub fn may_move(&self, old: &[u8], new: &[u8]) -> bool {
        if !self.policy.protects_shapes() {
            return true;
        }
        let may_arrive = self.policy.leads_to_shape(new).is_none_or(|shape| {
            // It is not there yet: what would be the holder is the directory that is moved.
            let holder = if shape.holder == new { old } else { shape.holder };
            self.made.contains(holder)
        });
        // A directory beside git's own could have links.
        let is_beside = |git: &Shape<'_>| {
            let parts = self.policy.git_parts(old);
            parts.iter().any(|part| part.directory == git.holder && part.may_be_work_tree)
        };
        let is_within = |git: &Shape<'_>| old.starts_with(&[git.holder, b"/"].concat()) && !is_beside(git);
        let arrives_in_git = self.git_directory_around(new).is_some_and(|git| !is_within(&git));
        // What lies in it is a part of the repository around it: the state of an operation.
        let inside = [old, b"/x"].concat();
        let is_apart = |part: &GitPart<'_>| part.directory == old || self.is_the_trees(&part.shape, &inside);
        let may_lead = self.policy.git_leads(new).into_iter().all(|(directory, holder)| {
            let holder = if holder == new { old } else { holder };
            self.made.contains(holder) || self.made.contains(directory) || !look_of(directory).is_whole()
        });
        may_arrive
            && may_lead
            && self.git_parts(&inside).iter().all(is_apart)
            && self.is_free(old, arrives_in_git)
    }

    /// Whether nothing that is protected lies in a directory, and no link if it must have none. False if that cannot be
    /// found out.
    fn is_free(&self, top: &[u8], must_have_no_link: bool) -> bool {
        let mut left = MAX_NAMES;
        let mut directories = vec![(top.to_vec(), 0)];
        while let Some((directory, depth)) = directories.pop() {
            let Some(names) = (depth <= MAX_DEPTH).then(|| names(&directory)).flatten() else { return false };
            let Some(rest) = left.checked_sub(names.len()) else { return false };
            left = rest;
            let has = |searched: &[u8]| names.iter().any(|(name, _)| name == searched);
            let look = Look(has);
            if look.is_repository() && look.is_configured() && !self.made.contains(&directory) {
                return false;
            }
            for (name, kind) in names {
                let path = [&*directory, b"/", &*name].concat();
                if must_have_no_link && matches!(kind, FileType::Symlink | FileType::Unknown) {
                    return false;
                }
                if kind == FileType::Socket && !self.may_displace(&path) {
                    return false;
                }
                let is_directory = kind == FileType::Directory;
                let is_protected = |shape: &Shape<'_>| {
                    let is_for_files = is_directory && shape.kind.is_file();
                    !is_for_files && !self.is_the_trees(shape, &path)
                };
                if self.policy.shapes(&path).iter().any(is_protected) {
                    return false;
                }
                if is_directory {
                    directories.push((path, depth + 1));
                }
            }
        }
        true
    }
}

fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The names in a directory with their types; `None` if it cannot be listed.
fn names(directory: &[u8]) -> Option<Vec<(Vec<u8>, FileType)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let open = rustix::fs::openat2(CWD, directory, flags, Mode::empty(), no_links).ok()?;
    let mut names = Vec::new();
    for entry in Dir::read_from(open.as_fd()).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push((name.to_vec(), entry.file_type()));
        }
    }
    Some(names)
}
