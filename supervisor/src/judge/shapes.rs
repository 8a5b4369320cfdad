//! Protection by shape (persistence), at the time of a call.
//!
//! The policy recognises a shape by the path alone. This module looks at the disk: is a directory a git repository
//! under another name, did the tree itself make the directory that holds the shape, and may it be moved?

use std::os::fd::AsFd;

use guard_policy::{Access, GitLockedNames, Policy, Request, Shape, ShapeKind, Site};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::bound_sockets::BoundSockets;
use super::git_files::leads_to_others;
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
        let is_the_operators = |directory: &[u8]| !self.made.contains(directory);
        let is_config = is_let_through && shapes.iter().any(|shape| shape.kind == ShapeKind::GitLocked);
        let is_its_own = |directory: &&[u8]| {
            is_config && path.strip_suffix(last_name(path)) == Some(&[directory, &b"/"[..]].concat())
        };
        let mut directories =
            self.policy.git_directories(path).into_iter().filter(|directory| !is_its_own(directory));
        let is_part = |directory: &[u8]| look_of(directory).is_repository() && is_the_operators(directory);
        if directories.any(is_part) || subject != Subject::There && self.completes(path) {
            return Some(Site::Repository);
        }
        // This keeps the policy from looking for shapes again.
        Some(if is_config { Site::GitLocked } else { Site::Own })
    }

    /// Whether the tree made the directory that holds a shape, and nobody else put a `.git` file there.
    fn is_the_trees(&self, shape: &Shape<'_>, path: &[u8]) -> bool {
        self.made.contains(shape.holder) && !leads_to_others(path, self.made)
    }

    /// Whether a real path is that of a git configuration, or of its lock, and protected for that.
    pub fn protects_git_locked(&self, path: &[u8]) -> bool {
        self.policy.protects_shapes()
            && self.policy.shapes(path).iter().any(|shape| shape.kind == ShapeKind::GitLocked)
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
        let mut directories = self.policy.git_directories(path).into_iter();
        self.policy.protects_shapes()
            && (!self.policy.shapes(path).is_empty()
                || directories.any(|directory| look_of(directory).is_repository()))
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
        let mut around = self.policy.directories_around(path).into_iter();
        around.find(|shape| is_git(shape.holder) && !self.made.contains(shape.holder))
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
        let is_within = |git: &Shape<'_>| old.starts_with(&[git.holder, b"/"].concat());
        let arrives_in_git = self.git_directory_around(new).is_some_and(|git| !is_within(&git));
        may_arrive && self.is_free(old, arrives_in_git)
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

/// What a directory has of a git repository. It is asked for one name at a time: most directories have none of them.
struct Look<F>(F);

impl<F: Fn(&[u8]) -> bool> Look<F> {
    /// Whether git takes it for a repository (setup.c, `is_git_directory`), or would with one more name.
    fn is_repository(&self) -> bool {
        let Look(has) = self;
        has(b"objects") && (has(b"refs") || has(b"HEAD")) || has(b"commondir") && has(b"HEAD")
    }

    /// Whether it has what git would run or be configured by.
    fn is_configured(&self) -> bool {
        [&b"config"[..], b"config.worktree", b"commondir", b"hooks"].iter().any(|name| self.0(name))
    }

    fn has_head(&self) -> bool {
        self.0(b"HEAD")
    }
}

/// What the directory at a real path has of a git repository.
fn look_of(directory: &[u8]) -> Look<impl Fn(&[u8]) -> bool> {
    Look(move |name: &[u8]| {
        let path = [directory, b"/", name].concat();
        let found = rustix::fs::statat(CWD, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        // In a directory that cannot be searched, anything could be.
        !matches!(found, Err(Errno::NOENT | Errno::NOTDIR))
    })
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
