//! From a path as the caller wrote it to the object that it names, and that object's real path.
//!
//! The kernel resolves whole stretches where it can do so without following a link; where a symbolic link or
//! /proc's own links come in, the components are walked here, one descriptor each. Nothing is looked at twice:
//! the decision is about the descriptor that the operation then uses, and its path is what the kernel says of
//! it (`/proc/self/fd/N`), not what was written.

mod fast_path;
mod long_path;
mod proc_fd;
mod real;
mod restrictions;
pub(crate) mod special_files;
mod walk;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

pub use fast_path::{FastLookup, FastPath};
pub use proc_fd::link_to;
pub use real::real_path;
pub use restrictions::mount_of;

use crate::caller::Caller;
use restrictions::Restrictions;
use walk::{Pending, Walk};

/// Whether a symbolic link at the end of the path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Followed (open, chmod, truncate …).
    Follow,
    /// The same, but a name with a slash behind it, at the end of a link too, is not looked through (O_CREAT).
    Make,
    /// Itself the object, unless a slash is written behind it (lchown, O_NOFOLLOW, O_EXCL …).
    Keep,
    /// Not looked through at all: the call is about the name in its directory (unlink, rename, mkdir …).
    Name,
}

/// An object that exists.
#[derive(Debug)]
pub struct Object {
    /// An O_PATH descriptor of it; of a symbolic link itself where the link was kept.
    pub fd: OwnedFd,
    /// What it is.
    pub stat: Stat,
}

impl Object {
    /// Of a descriptor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn from_fd(fd: OwnedFd) -> Result<Object, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Object { fd, stat })
    }

    /// Its type.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// A file, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The number of its file system.
    pub device: u64,
    /// Its own number there.
    pub inode: u64,
}

impl Identity {
    /// Of a stat.
    pub fn from_stat(stat: &Stat) -> Identity {
        Identity { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// A name in a directory: what creating, removing, renaming and most opens are about.
#[derive(Debug)]
pub struct DirEntry {
    /// An O_PATH descriptor of the directory.
    pub parent: OwnedFd,
    /// The last component, without slashes; never empty, `.` or `..`.
    pub name: Vec<u8>,
    /// Whether a slash was written behind it: it must be a directory then.
    pub slash: bool,
    /// What is there, if anything.
    pub object: Option<Object>,
    /// Why nothing is there: ENOENT, or ENAMETOOLONG.
    pub absent: Errno,
    /// The entry's real path: the directory's, and the name.
    pub path: Vec<u8>,
}

impl DirEntry {
    /// What is there.
    ///
    /// # Errors
    /// Why nothing is.
    pub fn there(&self) -> Result<&Object, Errno> {
        self.object.as_ref().ok_or(self.absent)
    }

    /// Whether something can be made there.
    ///
    /// # Errors
    /// EEXIST, ENAMETOOLONG.
    pub fn free(&self) -> Result<(), Errno> {
        match self.there() {
            Ok(_) => Err(Errno::EXIST),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The name as written, for the operations whose errno depends on a slash at the end.
    pub fn written(&self) -> Vec<u8> {
        let mut name = self.name.clone();
        if self.slash {
            name.push(b'/');
        }
        name
    }
}

/// What a path leads to.
#[derive(Debug)]
pub enum Target {
    /// A name in a directory.
    Entry(DirEntry),
    /// An object reached without a name of its own: `/`, `.`, `..`, a descriptor, a link of /proc.
    Object {
        /// The object.
        object: Object,
        /// Its real path, or what the kernel says of an object without one (`pipe:[12]`).
        path: Vec<u8>,
        /// Whether the last component was `.` or `..`, for which rename and rmdir have errnos of their own.
        dots: Dots,
    },
}

/// How a path that names no entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dots {
    /// `/`, a descriptor, or a link of /proc.
    No,
    /// `.`
    One,
    /// `..`
    Two,
}

impl Target {
    /// The directory in which the path ended.
    pub fn directory(&self) -> BorrowedFd<'_> {
        match self {
            Target::Entry(entry) => entry.parent.as_fd(),
            Target::Object { object, .. } => object.fd.as_fd(),
        }
    }

    /// What is there, with its real path.
    ///
    /// # Errors
    /// ENOENT when nothing is there.
    pub fn into_object(self) -> Result<(Object, Vec<u8>), Errno> {
        match self {
            Target::Entry(entry) => Ok((entry.object.ok_or(entry.absent)?, entry.path)),
            Target::Object { object, path, .. } => Ok((object, path)),
        }
    }
}

/// Where paths start, and what of the host changes how they are walked.
#[derive(Debug)]
pub struct Resolver {
    root: OwnedFd,
    /// sysctl fs.protected_symlinks: links in sticky world-writable directories (proc_sys_fs(5)).
    protected_symlinks: bool,
    uid: u32,
}

impl Resolver {
    /// Looks at the host once.
    ///
    /// # Errors
    /// When `/` cannot be opened.
    pub fn new() -> Result<Resolver, Errno> {
        let protected = std::fs::read_to_string("/proc/sys/fs/protected_symlinks");
        Ok(Resolver {
            root: rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
            protected_symlinks: protected.map_or(true, |text| text.trim() != "0"),
            uid: rustix::process::geteuid().as_raw(),
        })
    }

    /// Resolves `path` of `caller` from `dirfd`.
    ///
    /// # Errors
    /// As open(2): ENOENT, ENOTDIR, ELOOP, EACCES, ENAMETOOLONG, EBADF. EACCES too for links of /proc that lead
    /// out of the caller's own process.
    pub fn resolve(&self, caller: &Caller<'_>, dirfd: i32, path: &[u8], last: Last) -> Result<Target, Errno> {
        self.resolve_restricted(caller, dirfd, path, last, ResolveFlags::empty())
    }

    /// The same with the restrictions of openat2(2).
    ///
    /// # Errors
    /// As openat2(2): EXDEV and ELOOP for what they exclude.
    pub fn resolve_restricted(
        &self,
        caller: &Caller<'_>,
        dirfd: i32,
        path: &[u8],
        last: Last,
        restrictions: ResolveFlags,
    ) -> Result<Target, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let absolute = path[0] == b'/';
        if absolute && restrictions.contains(ResolveFlags::BENEATH) {
            return Err(Errno::XDEV);
        }
        let directory = if absolute && !restrictions.contains(ResolveFlags::IN_ROOT) {
            self.open_root()?
        } else {
            caller.directory(dirfd)?
        };
        let scope = Restrictions::new(restrictions, &directory, absolute)?;
        Walk { resolver: self, caller, directory, scope, pending: Pending::new(path), links: 0, last }.run()
    }

    /// What exists at a path, all links followed, as far as the kernel can tell by itself, with its real path. None where
    /// the path must be walked: where nothing is found, and where it leads through or into /proc, which is another to each
    /// caller.
    ///
    /// # Errors
    /// EBADF; ESRCH when the caller is gone.
    pub fn lookup_once(
        &self,
        caller: &Caller<'_>,
        dirfd: i32,
        path: &[u8],
    ) -> Result<Option<(Object, Vec<u8>)>, Errno> {
        let directory = match path.first() {
            Some(b'/') => None,
            Some(_) => Some(caller.directory(dirfd)?),
            None => return Ok(None),
        };
        let from = directory.as_ref().map_or(CWD, |directory| directory.as_fd());
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        // A link of /proc to an open file stops it here. What is another file to each process otherwise lies in /proc.
        let Ok(fd) = rustix::fs::openat2(from, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
        else {
            return Ok(None);
        };
        // What is deeper than the kernel can tell is walked to.
        let Ok(real) = real_path(fd.as_fd()) else { return Ok(None) };
        if !real.starts_with(b"/") || real == b"/proc" || real.starts_with(b"/proc/") {
            return Ok(None);
        }
        Ok(Some((Object::from_fd(fd)?, real)))
    }

    /// The caller's descriptor as an object: AT_EMPTY_PATH and the calls that take a descriptor.
    ///
    /// # Errors
    /// EBADF.
    pub fn descriptor(&self, caller: &Caller<'_>, fd: i32) -> Result<Target, Errno> {
        let object = Object::from_fd(caller.directory(fd)?)?;
        let path = real_path(object.fd.as_fd())?;
        Ok(Target::Object { object, path, dots: Dots::No })
    }

    fn open_root(&self) -> Result<OwnedFd, Errno> {
        self.root.try_clone().map_err(|_| Errno::MFILE)
    }
}
