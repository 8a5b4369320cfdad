//! Resolves a path as the caller wrote it to the object that it names, and to that object's real path.
//!
//! The kernel resolves whole stretches where it can do so without following a link. Symbolic links and /proc's own
//! links are walked here component by component, with one descriptor each. Nothing is looked up twice: the decision is
//! about the descriptor that the operation then uses, and its path is the one that the kernel reports
//! (`/proc/self/fd/N`), not the one that was written.

mod attached;
mod fast_path;
mod head_cache;
mod long_path;
mod proc_fd;
mod real;
mod removed;
mod restrictions;
pub(crate) mod special_files;
mod walk;

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_policy::Access;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

pub use fast_path::{FastLookup, FastPath};
pub use head_cache::HeadCache;
pub use proc_fd::link_to;
pub use real::real_path;
pub use restrictions::mount_of;

use crate::caller::Caller;
use proc_fd::KernelPath;
use real::whereabouts;
use removed::{OpenedFor, held_by};
use restrictions::Restrictions;
use walk::{Pending, Walk};

/// Whether a symbolic link at the end of the path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Followed (open, chmod, truncate …).
    Follow,
    /// Followed, except a name with a slash after it, in the path or at the end of a link's text (O_CREAT).
    Make,
    /// The link itself is the object, unless a slash follows it (lchown, O_NOFOLLOW, O_EXCL …).
    Keep,
    /// Not resolved at all: the call is about the name in its directory (unlink, rename, mkdir …).
    Name,
}

/// An object that exists.
#[derive(Debug)]
pub struct Object {
    /// An O_PATH descriptor of the object; of the symbolic link itself if it was not followed.
    pub fd: OwnedFd,
    /// Its metadata.
    pub stat: Stat,
    /// For a file that has been removed: what the descriptor that leads to it was opened for. The path says nothing about
    /// such a file, because the directory that had it may be anywhere by now.
    pub held: Option<OpenedFor>,
}

impl Object {
    /// Wraps a descriptor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn from_fd(fd: OwnedFd) -> Result<Object, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Object { fd, stat, held: None })
    }

    /// Wraps an open file of the caller's, whose attributes are to be changed; returns its real path, too.
    ///
    /// # Errors
    /// The kernel's, and those of [`real_path`].
    pub fn with_path(fd: OwnedFd) -> Result<(Object, Vec<u8>), Errno> {
        let KernelPath { path, is_removed } = whereabouts(fd.as_fd())?;
        let mut object = Object::from_fd(fd)?;
        // Those of a file without a name matter to nobody else.
        if is_removed && object.kind() != FileType::Directory && object.has_name() {
            object.held = Some(OpenedFor::from_file(object.fd.as_fd())?);
        }
        Ok((object, path))
    }

    /// Opens it to read.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open_to_read(&self) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(link_to(self.fd.as_fd()), flags, Mode::empty())?.into())
    }

    /// Whether it is a removed file, and the descriptor that leads to it was opened for less than this.
    pub fn is_withheld(&self, access: Access) -> bool {
        self.held.is_some_and(|held| !held.allows(access))
    }

    /// Whether it has a name.
    pub fn has_name(&self) -> bool {
        self.stat.st_nlink > 0
    }

    /// Whether it has more than one name.
    pub fn has_other_names(&self) -> bool {
        self.stat.st_nlink > 1
    }

    /// Its type.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// The identity of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The device number of its file system.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
}

impl Identity {
    /// Takes the identity from a stat.
    pub fn from_stat(stat: &Stat) -> Identity {
        Identity { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// A name in a directory: the subject of creating, removing, renaming and most opens.
#[derive(Debug)]
pub struct DirEntry {
    /// An O_PATH descriptor of the directory.
    pub parent: OwnedFd,
    /// The last component, without slashes; never empty, `.` or `..`.
    pub name: Vec<u8>,
    /// Whether a slash follows the name: then it must be a directory.
    pub slash: bool,
    /// The object there, if any.
    pub object: Option<Object>,
    /// The errno if nothing is there: ENOENT or ENAMETOOLONG.
    pub absent: Errno,
    /// The entry's real path: the directory's real path and the name.
    pub path: Vec<u8>,
    /// What the call has found of the directories around the entry.
    pub heads: HeadCache,
}

impl DirEntry {
    /// The object at this entry.
    ///
    /// # Errors
    /// The errno for the missing object.
    pub fn there(&self) -> Result<&Object, Errno> {
        self.object.as_ref().ok_or(self.absent)
    }

    /// Checks that the entry is free, so that something can be created there.
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

    /// The name as written, for operations whose errno depends on a trailing slash.
    pub fn written(&self) -> Vec<u8> {
        let mut name = self.name.clone();
        if self.slash {
            name.push(b'/');
        }
        name
    }
}

/// The result of resolving a path.
#[derive(Debug)]
pub enum Target {
    /// A name in a directory.
    Entry(DirEntry),
    /// An object reached without a name of its own: `/`, `.`, `..`, a descriptor, a link of /proc.
    Object {
        /// The object.
        object: Object,
        /// Its real path, or the kernel's text for an object without one (`pipe:[12]`).
        path: Vec<u8>,
        /// Whether the last component was `.` or `..`, for which rename and rmdir have their own errnos.
        dots: Dots,
    },
}

/// How a path that does not name an entry ended.
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

    /// The object.
    ///
    /// # Errors
    /// ENOENT if nothing is there.
    pub fn there(&self) -> Result<&Object, Errno> {
        match self {
            Target::Entry(entry) => entry.there(),
            Target::Object { object, .. } => Ok(object),
        }
    }

    /// The object, with its real path.
    ///
    /// # Errors
    /// ENOENT if nothing is there.
    pub fn into_object(self) -> Result<(Object, Vec<u8>), Errno> {
        match self {
            Target::Entry(entry) => Ok((entry.object.ok_or(entry.absent)?, entry.path)),
            Target::Object { object, path, .. } => Ok((object, path)),
        }
    }
}

/// Where paths start, and host settings that affect how they are walked.
#[derive(Debug)]
pub struct Resolver {
    root: OwnedFd,
    /// sysctl fs.protected_symlinks: links in sticky world-writable directories (proc_sys_fs(5)).
    protected_symlinks: bool,
    uid: u32,
}

impl Resolver {
    /// Reads the host's settings once.
    ///
    /// # Errors
    /// The kernel's, if `/` cannot be opened.
    pub fn new() -> Result<Resolver, Errno> {
        let protected = std::fs::read_to_string("/proc/sys/fs/protected_symlinks");
        Ok(Resolver {
            root: rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
            protected_symlinks: protected.map_or(true, |text| text.trim() != "0"),
            uid: rustix::process::geteuid().as_raw(),
        })
    }

    /// Whether this user may open device nodes in a directory by their mode: device nodes of an unpacked system are root's.
    pub fn opens_devices(&self) -> bool {
        self.uid == 0
    }

    /// Resolves `path` of `caller` from `dirfd`.
    ///
    /// # Errors
    /// As open(2): ENOENT, ENOTDIR, ELOOP, EACCES, ENAMETOOLONG, EBADF. EACCES also for links of /proc that lead out of
    /// the caller's own process.
    pub fn resolve(&self, caller: &Caller<'_>, dirfd: i32, path: &[u8], last: Last) -> Result<Target, Errno> {
        self.resolve_restricted(caller, dirfd, path, last, ResolveFlags::empty())
    }

    /// As [`Resolver::resolve`], with the restrictions of openat2(2).
    ///
    /// # Errors
    /// As openat2(2): EXDEV and ELOOP for what the restrictions exclude.
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

    /// Resolves a path of `caller` from a directory. For an absolute path, the directory is the root.
    ///
    /// # Errors
    /// As [`Resolver::resolve`].
    pub fn resolve_from(
        &self,
        caller: &Caller<'_>,
        directory: OwnedFd,
        path: &[u8],
        last: Last,
    ) -> Result<Target, Errno> {
        let scope = Restrictions::new(ResolveFlags::empty(), &directory, path.starts_with(b"/"))?;
        Walk { resolver: self, caller, directory, scope, pending: Pending::new(path), links: 0, last }.run()
    }

    /// Resolves a path in one call, following all links; returns the object and its real path. Returns `None` if the
    /// path must be walked: if nothing is found, or if it leads through or into /proc, which differs for each caller.
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
        // This stops at a /proc link to an open file. Everything else whose meaning depends on the process lies in
        // /proc.
        let Ok(fd) = rustix::fs::openat2(from, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
        else {
            return Ok(None);
        };
        // The kernel cannot report the path of an object this deep, so the path is walked.
        let Ok(real) = real_path(fd.as_fd()) else { return Ok(None) };
        if !real.starts_with(b"/") || real == b"/proc" || real.starts_with(b"/proc/") {
            return Ok(None);
        }
        Ok(Some((Object::from_fd(fd)?, real)))
    }

    /// The caller's descriptor as an object, for AT_EMPTY_PATH and the calls that take a descriptor.
    ///
    /// # Errors
    /// EBADF.
    pub fn descriptor(&self, caller: &Caller<'_>, fd: i32) -> Result<Target, Errno> {
        let mut object = Object::from_fd(caller.directory(fd)?)?;
        let KernelPath { path, is_removed } = whereabouts(object.fd.as_fd())?;
        // This is not for opens. What else a call does to a file without a name matters to nobody else.
        if is_removed && object.has_name() {
            object.held = held_by(caller, fd, &object);
        }
        Ok(Target::Object { object, path, dots: Dots::No })
    }

    fn open_root(&self) -> Result<OwnedFd, Errno> {
        self.root.try_clone().map_err(|_| Errno::MFILE)
    }
}
